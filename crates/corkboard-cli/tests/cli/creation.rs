//! Which commands create a store, and what the others print if none exists.

use crate::support::{Ran, Sandbox, run};

/// Commands that only read, of every kind.
const READING: [&[&str]; 16] = [
    &["memory", "list"],
    &["memory", "get", "key"],
    &["memory", "search", "key"],
    &["memory", "note", "list"],
    &["memory", "watch", "--from-rev", "0"],
    &["scope", "list"],
    &["notebook", "show"],
    &["board", "list"],
    &["core", "list"],
    &["token", "list"],
    &["handoff"],
    &["activity"],
    &["context"],
    &["stats"],
    &["gc"],
    &["doctor"],
];

#[test]
fn a_mistyped_store_is_not_created_by_reading() {
    // Only with local stores, because a server has already created its store.
    let sandbox = Sandbox::without_store();
    for (store, name) in [("sqlite:typo.db", "typo.db"), ("file:typo", "typo")] {
        let path = sandbox.path().join(name);
        for command in READING {
            let arguments = [&["--store", store], command].concat();
            let error = sandbox.fails(&arguments, 3, &format!("there is no store at {}", path.display()));
            assert_eq!(error["code"], "store_missing", "{command:?}");
            assert!(error["hint"].as_str().unwrap().contains("cork memory set"), "{error}");
            assert!(!path.exists(), "{command:?}");
        }
        // Listing the tools needs no store.
        assert!(sandbox.ok(&["--store", store, "tools", "list"]).contains("memory_read"));
        assert!(!path.exists());
    }
    assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 0);
}

/// SQLite keeps its log next to the file that a link leads to. Corkboard's files must be there, too.
#[test]
#[cfg(unix)]
fn a_link_to_a_store_is_the_store() {
    let sandbox = Sandbox::local();
    sandbox.ok(&["memory", "set", "color", "green"]);
    let link = sandbox.path().join("link.db");
    std::os::unix::fs::symlink(sandbox.database(), &link).unwrap();
    let ran = sandbox.cork(&["--store", "sqlite:link.db", "memory", "set", "color", "red"]);
    assert_eq!((ran.code, &*ran.stderr), (0, ""), "{ran:?}");
    assert_eq!(sandbox.ok(&["memory", "get", "color"]), "red");
    let files = std::fs::read_dir(sandbox.path()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let beside: Vec<String> = files.filter(|name| name.starts_with("link.db-")).collect();
    assert!(beside.is_empty(), "{beside:?}");
}

#[test]
fn a_folder_without_a_store_is_left_as_it_is() {
    let sandbox = Sandbox::without_store();
    std::fs::create_dir(sandbox.path().join("empty")).unwrap();
    sandbox.fails(&["--store", "file:empty", "memory", "list"], 3, "there is no store at");
    assert_eq!(std::fs::read_dir(sandbox.path().join("empty")).unwrap().count(), 0);
}

#[test]
fn writing_creates_a_store_but_not_the_folder_around_it() {
    let sandbox = Sandbox::without_store();
    for (store, name) in [("sqlite:new.db", "new.db"), ("file:new", "new")] {
        sandbox.ok(&["--store", store, "memory", "set", "key", "value"]);
        assert!(sandbox.path().join(name).exists());
        assert_eq!(sandbox.ok(&["--store", store, "memory", "get", "key"]), "value");
    }
    for store in ["sqlite:typo/new.db", "file:typo/new"] {
        for command in [&["memory", "set", "key", "value"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let error = sandbox.fails(&[&["--store", store], command].concat(), 3, "does not exist");
            assert_eq!(error["code"], "folder_missing", "{store} {command:?}");
            let folder = sandbox.path().join("typo");
            assert!(error["hint"].as_str().unwrap().contains(&folder.display().to_string()), "{error}");
            assert!(!folder.exists(), "{store} {command:?}");
        }
    }
}

#[test]
fn the_default_store_is_empty_until_the_first_write_creates_it_with_its_folder() {
    let sandbox = Sandbox::without_store();
    let cork = |arguments: &[&str]| -> Ran {
        let mut command = sandbox.command(crate::support::CORK);
        command.env_remove("CORK_STORE").args(arguments);
        run(command, b"")
    };
    let path = sandbox.path().join(".local/share/corkboard/corkboard.db");
    let ran = cork(&["memory", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "agent default has no entries\n"), "{ran:?}");
    assert!(ran.stderr.contains(&format!("the first write creates {}", path.display())), "{ran:?}");
    let ran = cork(&["memory", "list", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    // There is nothing to wait for and nothing to check.
    for command in [&["memory", "watch"][..], &["doctor"]] {
        assert_eq!(cork(command).code, 3, "{command:?}");
    }
    assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 0);
    assert_eq!(cork(&["memory", "set", "key", "value"]).code, 0);
    assert!(path.exists());
    let ran = cork(&["memory", "get", "key"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("value\n", ""));
}
