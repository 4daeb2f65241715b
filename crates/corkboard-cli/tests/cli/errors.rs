//! Exit codes and errors that several commands share.

use std::process::Stdio;
use std::time::Duration;

use corkboard::{Corkboard, Options, SavePolicy};
use serde_json::{Value, json};

use crate::support::{CORK, Ran, Sandbox, finish, run};

#[test]
fn usage_errors_are_2() {
    // Locally, because a server already has the store open.
    let sandbox = Sandbox::without_store();
    for (arguments, said) in [
        (&["memory", "set", "key"][..], "<VALUE>"),
        (&["memory", "frobnicate"][..], "unrecognized subcommand 'frobnicate'"),
        (&["memory", "set", "a", "b", "--importance", "high"][..], "expected a number from 0 to 1"),
        (&["memory", "set", "a", "b", "--kind", "rumour"][..], "possible values: fact"),
        (&["memory", "set", "a", "b", "--custom", "[1]"][..], "expected a JSON object, found an array"),
        (&["memory", "set", "a", "b", "--if-version=-1"][..], "must not be negative"),
        (&["memory", "watch", "--limit", "0"][..], "must be at least 1"),
        (&["--role", "king", "stats"][..], "possible values: orchestrator"),
        (&["--principal", "", "stats"][..], "--principal"),
        (&["--principal", " ", "stats"][..], "must not be blank"),
        (&["--principal", "a\nb", "stats"][..], "control characters"),
        (&["completions", "tcsh"][..], "possible values: bash"),
    ] {
        let error = sandbox.fails(arguments, 2, said);
        assert_eq!((&error["code"], &error["kind"]), (&json!("usage"), &json!("invalid")), "{error}");
    }
    assert_eq!(sandbox.cork(&[]).code, 2);
    let not_utf_8 = std::os::unix::ffi::OsStringExt::from_vec(vec![0xff]);
    let mut command = sandbox.command(CORK);
    command.args(["memory", "set", "key"]).arg::<std::ffi::OsString>(not_utf_8).arg("--json");
    let ran = run(command, b"");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.starts_with("{\"type\":\"urn:corkboard:problem:usage\","), "{ran:?}");
    assert!(!sandbox.database().exists(), "an invalid command should open no store");
}

#[test]
fn invalid_values_are_2() {
    let sandbox = Sandbox::new();
    for (arguments, code, said) in [
        (&["memory", "set", "", "x"][..], "blank", "key must not be blank"),
        (&["memory", "set", "a\tb", "x"][..], "control_character", "control or invisible characters"),
        (&["memory", "set", "a", "x", "--importance", "1.5"][..], "out_of_range", "from 0 to 1"),
        (&["memory", "set", "a", "x", "--importance", "-1"][..], "out_of_range", "from 0 to 1"),
        (&["memory", "set", "a", "x", "--importance", "NaN"][..], "out_of_range", "from 0 to 1"),
        (&["memory", "set", "a", "x", "--tag", ""][..], "blank", "tag must not be blank"),
        (&["memory", "set", "a", "x", "--idempotency-key", ""][..], "blank", "idempotency key must not be blank"),
        (&["memory", "watch", "--from-rev", "7"][..], "future_revision", "hint: nothing has been written there yet"),
    ] {
        assert_eq!(sandbox.fails(arguments, 2, said)["code"], code);
    }
}

#[test]
fn limits_are_5() {
    let sandbox = Sandbox::new();
    let long = "k".repeat(513);
    let error =
        sandbox.fails(&["memory", "set", &long, "x"], 5, "limit reached: key bytes would be 513; the maximum is 512");
    assert_eq!((&error["code"], &error["kind"]), (&json!("limit"), &json!("limit")));
    assert_eq!((&error["limit"], &error["used"], &error["allowed"]), (&json!("key_bytes"), &json!(513), &json!(512)));
    for (arguments, bytes, limit) in [
        (&["memory", "set", "a", "-"][..], 1024 * 1024 + 1, "entry bytes"),
        (&["memory", "append", "a", "-"][..], 5 * 1024 * 1024, "command bytes"),
        (&["memory", "note", "add", "-"][..], 64 * 1024 + 1, "note bytes"),
    ] {
        let ran = sandbox.cork_with_stdin(arguments, &vec![b'x'; bytes]);
        assert_eq!(ran.code, 5, "{ran:?}");
        assert!(ran.stderr.contains(limit) && ran.stderr.contains("\nhint: "), "{ran:?}");
    }
    let most = vec![b'x'; 1024 * 1024 - 2];
    assert_eq!(sandbox.cork_with_stdin(&["memory", "set", "a", "-"], &most).code, 0);
    for number in 1..=100 {
        let ran = sandbox.cork(&["scope", "create", &format!("scope {number}")]);
        assert_eq!((ran.code, ran.stderr.contains("limit nearly reached")), (0, number == 80), "{ran:?}");
    }
    let ran = sandbox.cork(&["scope", "create", "one more"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stderr.contains("make room with `cork scope dispose`"), "{ran:?}");
}

#[test]
fn a_wrong_store_is_2() {
    let sandbox = Sandbox::new();
    let error = sandbox.fails(&["--store", "corkboard.db", "stats"], 2, "did you mean --store sqlite:corkboard.db?");
    assert_eq!(error["code"], "store_url");
    sandbox.fails(&["--store", "mysql://x", "stats"], 2, "expect a URL like sqlite:corkboard.db");
    sandbox.fails(&["--store", "sqlite:", "stats"], 2, "the path is missing");
    sandbox.fails(&["--store", "file:", "stats"], 2, "expect a URL like file:memory");
    std::fs::create_dir(sandbox.path().join("full")).unwrap();
    std::fs::write(sandbox.path().join("full/other"), "").unwrap();
    sandbox.fails(&["--store", "file:full", "stats"], 2, "name an empty folder, or a new one");
    sandbox.fails(&["--store", "sqlite:full", "stats"], 2, "full is a folder; sqlite: needs a file");
    let left = std::fs::read_dir(sandbox.path()).unwrap().map(|file| file.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().starts_with("full")).collect::<Vec<_>>(), ["full"]);
    std::fs::write(sandbox.path().join("file"), "").unwrap();
    let error = sandbox.fails(&["--store", "sqlite:file/cork.db", "stats"], 2, "cannot create file");
    assert_eq!((&error["kind"], &error["retryable"]), (&json!("invalid"), &json!(false)));
    assert!(error["hint"].as_str().unwrap().contains("allowed to write"), "the hint should not blame the URL: {error}");
}

#[test]
fn an_invalid_server_is_2_and_an_unavailable_one_7() {
    let sandbox = Sandbox::local();
    for (url, said) in [
        ("127.0.0.1:7117", "a server URL begins with http:// or https://"),
        ("sqlite:corkboard.db", "a server URL begins with http:// or https://"),
        ("corkboard", "did you mean --store?"),
        ("http://", "empty host"),
    ] {
        let error = sandbox.fails(&["--url", url, "stats"], 2, said);
        assert_eq!((&error["code"], &error["kind"]), (&json!("server_url"), &json!("invalid")));
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.starts_with("--url and CORK_URL expect a URL like http://127.0.0.1:7117"), "{hint}");
    }
    let away = "the server at http://127.0.0.1:1 is not available: ";
    let error = sandbox.fails(&["--url", "http://127.0.0.1:1", "stats"], 7, away);
    assert_eq!((&error["code"], &error["retryable"]), (&json!("unavailable"), &json!(true)));
    assert!(error["hint"].as_str().unwrap().contains("`cork serve`"), "{error}");
}

/// If several are configured, the message must say which one failed.
#[cfg(feature = "redis")]
#[test]
fn an_unavailable_redis_is_named() {
    let sandbox = Sandbox::local();
    let error =
        sandbox.fails(&["--store", "redis://ada:s3cret@127.0.0.1:1/2", "stats"], 7, "redis://ada@127.0.0.1:1/2");
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[test]
fn a_locked_store_is_7() {
    // Locally, because a client of a server opens no store.
    let sandbox = Sandbox::local();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = Options { save: SavePolicy::Interval(Duration::from_secs(3600)), ..Options::default() };
    let url = format!("sqlite:{}", sandbox.database().display());
    let corkboard = runtime.block_on(Corkboard::open_with(&url, options)).unwrap();
    let holder = format!("locked by process {}\nhint: ", std::process::id());
    let error = sandbox.fails(&["memory", "set", "a", "1"], 7, &holder);
    assert_eq!((&error["code"], &error["retryable"]), (&json!("locked"), &json!(true)));
    runtime.block_on(corkboard.close()).unwrap();
    drop(corkboard);
    sandbox.ok(&["memory", "set", "a", "1"]);
}

#[test]
fn the_default_store_is_in_the_data_folder() {
    // Locally, because a client of a server names no store.
    let sandbox = Sandbox::local();
    let run_with = |variables: &[(&str, Option<&str>)]| {
        let mut command = sandbox.command(CORK);
        command.args(["memory", "set", "a", "1"]).env_remove("CORK_STORE");
        for (name, value) in variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        run(command, b"")
    };
    let file = |folder: &str| sandbox.path().join(folder).join("corkboard/corkboard.db");
    assert_eq!(run_with(&[("XDG_DATA_HOME", Some("relative"))]).code, 0);
    assert!(file(".local/share").exists());
    let data = sandbox.path().join("data");
    assert_eq!(run_with(&[("XDG_DATA_HOME", data.to_str()), ("CORK_STORE", Some(""))]).code, 0);
    assert!(file("data").exists());
    let ran = run_with(&[("HOME", None)]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("neither XDG_DATA_HOME nor HOME is set\nhint: name a store"), "{ran:?}");
}

#[test]
fn the_author_is_the_user() {
    // Locally, because a server takes the author from the token.
    let sandbox = Sandbox::local();
    for (user, author) in [(Some("ada"), "ada"), (Some(" "), "local"), (None, "local")] {
        let mut command = sandbox.command(CORK);
        command.args(["memory", "set", "a", "1"]).env_remove("USER");
        if let Some(user) = user {
            command.env("USER", user);
        }
        assert_eq!(run(command, b"").code, 0);
        assert_eq!(sandbox.json(&["memory", "get", "a"])["metadata"]["author"], author);
    }
    let sandbox = Sandbox::remote();
    let mut command = sandbox.command(CORK);
    command.args(["memory", "set", "a", "1"]).env("USER", "ada");
    assert_eq!(run(command, b"").code, 0);
    assert_eq!(sandbox.json(&["memory", "get", "a"])["metadata"]["author"], "tester");
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", &"x".repeat(100_000)]);
    for arguments in [
        &["memory", "get", "a"][..],
        &["memory", "list", "--json"][..],
        &["memory", "watch", "--from-rev", "0"][..],
        &["doctor"][..],
        &["completions", "bash"][..],
        &["--help"][..],
    ] {
        let ran = read_by_nobody(&sandbox, arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    }
}

/// Runs a command whose stdout is closed.
fn read_by_nobody(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let mut command = sandbox.cork_command(arguments);
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    drop(child.stdout.take());
    finish(child)
}

/// `cork export | ssh elsewhere …`: half a backup is worthless, so the script must get an error.
#[test]
fn a_closed_stdout_during_an_export_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", &"x".repeat(100_000)]);
    for arguments in [
        &["export"][..],
        &["export", "--all", "-o", "-"][..],
        &["snapshot", "save", "-"][..],
        &["snapshot", "save", "-", "--format", "bytes"][..],
    ] {
        let ran = read_by_nobody(&sandbox, arguments);
        assert_eq!(ran.code, 1, "{arguments:?} {ran:?}");
        assert!(ran.stderr.starts_with("error: the copy on stdout is not complete: "), "{arguments:?} {ran:?}");
        let ran = read_by_nobody(&sandbox, &[arguments, &["--json"]].concat());
        assert_eq!(ran.code, 1, "{arguments:?} {ran:?}");
        let problem: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!(problem["code"], "output");
    }
}

#[test]
fn a_full_disk_under_stdout_is_an_error() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "a", "1"]);
    let (answer, copy) = ("cannot write the answer to stdout", "the copy on stdout is not complete");
    for (arguments, said) in
        [(&["memory", "get", "a"][..], answer), (&["export"], copy), (&["snapshot", "save", "-"], copy)]
    {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = sandbox.cork_command(arguments);
        let child = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let ran = finish(child);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains(said), "{ran:?}");
    }
}

#[test]
fn logs_go_to_stderr_when_asked_for() {
    let sandbox = Sandbox::new();
    let ran = sandbox.cork(&["-v", "memory", "set", "a", "1"]);
    assert_eq!(ran.stdout, "version 1\n");
    // Through a server, writing loads nothing, but reading does.
    let ran = sandbox.cork(&["-v", "memory", "get", "a"]);
    assert_eq!(ran.stdout, "1\n");
    assert!(ran.stderr.contains("Working memory initialized for agent default"), "{ran:?}");
    let ran = sandbox.cork(&["-vv", "memory", "set", "a", "1", "--json"]);
    assert!(ran.stderr.contains("Working memory updated for key a"), "{ran:?}");
    let mut command = sandbox.command(CORK);
    command.env("CORK_LOG", "corkboard=debug").args(["memory", "set", "a", "1"]);
    assert!(run(command, b"").stderr.contains("Working memory updated for key a"));
}
