//! Settings: sources and precedence. All sandboxes are local, because a server's URL is a setting, too.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{CORK, Ran, Sandbox, run};

fn with(sandbox: &Sandbox, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut command = sandbox.command(CORK);
    command.env_remove("CORK_STORE").envs(variables.iter().copied()).args(arguments);
    run(command, b"")
}

fn write(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A setting as `cork config show --json` shows it.
fn shown(document: &Value, key: &str) -> (Value, Value) {
    let settings = document["items"].as_array().unwrap();
    let setting = settings.iter().find(|setting| setting["key"] == key).unwrap_or_else(|| panic!("{key}"));
    (setting["value"].clone(), setting["origin"].clone())
}

#[test]
fn flags_before_the_environment_before_the_file_before_the_defaults() {
    let sandbox = Sandbox::local();
    write(
        &sandbox,
        "c.toml",
        "# settings\nagent = \"of the file\"\nlisten = \"127.0.0.1:1\"\nidle_after = \"3d\"\n\n[limits]\nnote_bytes = 7\n",
    );
    let variables = [("CORK_CONFIG", "c.toml"), ("CORK_LISTEN", "127.0.0.1:2"), ("CORK_AGENT", "of the environment")];
    let ran =
        with(&sandbox, &variables, &["--agent", "of the flag", "--setting", "tier=core", "config", "show", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(document["file"], "c.toml");
    for (key, value, origin) in [
        ("agent", "of the flag", json!({ "kind": "flag", "flag": "--agent" })),
        ("tier", "core", json!({ "kind": "flag", "flag": "--setting" })),
        ("listen", "127.0.0.1:2", json!({ "kind": "environment", "variable": "CORK_LISTEN" })),
        ("idle_after", "3d", json!({ "kind": "file", "path": "c.toml", "line": 4 })),
        ("limits.note_bytes", "7", json!({ "kind": "file", "path": "c.toml", "line": 7 })),
        ("body_bytes", "8MiB", json!({ "kind": "default" })),
    ] {
        assert_eq!(shown(&document, key), (json!(value), origin), "{key}");
    }
    let text = with(&sandbox, &variables, &["config", "show", "--changed"]).stdout;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(
        rows,
        [
            vec!["agent", "of the environment", "CORK_AGENT"],
            vec!["listen", "127.0.0.1:2", "CORK_LISTEN"],
            vec!["idle_after", "3d", "c.toml:4"],
            vec!["limits.note_bytes", "7", "c.toml:7"],
            vec!["file: c.toml"],
        ]
    );
}

#[test]
fn the_users_file_is_found_and_every_command_honours_it() {
    let sandbox = Sandbox::local();
    let settings = "store = \"sqlite:of-the-file.db\"\nagent = \"ada\"\n[limits]\nentries_per_agent = 1\n";
    write(&sandbox, ".config/corkboard/config.toml", settings);
    let ran = with(&sandbox, &[], &["memory", "set", "a", "1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = with(&sandbox, &[], &["memory", "set", "b", "2"]);
    assert_eq!(ran.code, 5, "the file's limit should apply: {ran:?}");
    assert!(sandbox.path().join("of-the-file.db").exists());
    let ran = with(&sandbox, &[("CORK_AGENT", "")], &["--store", "sqlite:of-the-file.db", "memory", "get", "a"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1\n"), "an empty value should count as unset: {ran:?}");
    write(&sandbox, "elsewhere/corkboard/config.toml", "agent = \"bob\"\n");
    let elsewhere = sandbox.path().join("elsewhere");
    let folder = [("XDG_CONFIG_HOME", elsewhere.to_str().unwrap())];
    let ran = with(&sandbox, &folder, &["config", "show", "--changed"]);
    assert!(ran.stdout.contains("bob") && !ran.stdout.contains("of-the-file"), "{ran:?}");
    let ran = with(&sandbox, &[("CORK_CONFIG", "missing.toml")], &["memory", "list"]);
    assert!(ran.code == 2 && ran.stderr.contains("missing.toml"), "{ran:?}");
}

#[test]
fn an_invalid_setting_is_reported_with_its_place_and_the_allowed_values() {
    let sandbox = Sandbox::local();
    for (text, place, allowed) in [
        ("store = \"memory:\"\nlissten = \"x\"", "c.toml:2: unknown setting \"lissten\"", "did you mean listen?"),
        ("note_bytes = 7", "c.toml:1: unknown setting \"note_bytes\"", "did you mean limits.note_bytes?"),
        (
            "zebra = 7",
            "c.toml:1: unknown setting \"zebra\"",
            "run `cork config show` without this setting to list all settings",
        ),
        ("url = \"\"", "c.toml:1: invalid value for url: (not shown", "a URL"),
        ("[limits]\nentries = 1", "c.toml:2: unknown setting \"limits.entries\"", "limits.entries_per_agent"),
        ("[serve]\nlisten = \"x\"", "c.toml:2: unknown setting \"serve.listen\"", "did you mean listen?"),
        ("idle_after = 3", "c.toml:1: invalid value for idle_after: 3", "30s"),
        ("idle_after = \"soon\"", "c.toml:1: invalid value for idle_after: \"soon\"", "7d"),
        ("tick_interval = \"0s\"", "invalid value for tick_interval: \"0s\"", "at least 1ms"),
        ("requests_per_second = -1", "invalid value for requests_per_second: -1", "a whole number, at least 1"),
        ("busy_timeout =", "c.toml:1: busy_timeout has no value", ""),
        ("listen = 7117", "invalid value for listen: 7117", "an address, such as 127.0.0.1:7117; put it in quotes"),
        ("[limits]\nentry_bytes = -5", "invalid value for limits.entry_bytes: -5", "a whole number, at least 0"),
        ("hosts = [1]", "invalid value for hosts: a TOML array", "a list"),
        ("no_auth = \"perhaps\"", "invalid value for no_auth: \"perhaps\"", "true or false"),
        ("tier = \"gold\"", "invalid value for tier: \"gold\"", "writer_pro"),
        ("log = \"a=b=c\"", "invalid value for log: ", "trace"),
        ("token = \"s3cret\"", "unknown setting \"token\"", "CORK_TOKEN"),
        ("store = 5", "invalid value for store: (not shown", "a URL"),
        ("store = \"postgres://a:s3cret@host/db", "c.toml:1: ", ""),
        ("agent = 1\nagent = 2", "c.toml:2: duplicate key", ""),
    ] {
        write(&sandbox, "c.toml", text);
        for arguments in [&["config", "show"][..], &["memory", "list"]] {
            let ran = with(&sandbox, &[], &[&["--config", "c.toml"], arguments].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{text}: {ran:?}");
            assert!(ran.stderr.contains(place) && ran.stderr.contains(allowed), "{text}: {ran:?}");
            assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
        }
        let ran = with(&sandbox, &[], &["--config", "c.toml", "--json", "config", "show"]);
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!(error["code"], "config", "{ran:?}");
    }
    let ran = with(&sandbox, &[("CORK_BODY_BYTES", "many")], &["config", "show"]);
    assert!(ran.code == 2 && ran.stderr.contains("CORK_BODY_BYTES: invalid value for body_bytes: \"many\""), "{ran:?}");
    let ran = with(&sandbox, &[], &["--setting", "host=a", "config", "show"]);
    assert!(ran.code == 2 && ran.stderr.contains("hint: did you mean hosts?"), "{ran:?}");
    let ran = with(&sandbox, &[], &["--setting", "nothing=1", "config", "show"]);
    assert!(ran.code == 2 && ran.stderr.contains("--setting: unknown setting \"nothing\""), "{ran:?}");
}

/// A mistyped variable must not be ignored silently.
#[test]
fn unknown_variables_are_refused() {
    let sandbox = Sandbox::local();
    for (variable, hint) in [
        ("CORK_HOST", "did you mean CORK_HOSTS?"),
        ("CORK_ORIGIN", "did you mean CORK_ORIGINS?"),
        ("CORK_TLS_CRT", "did you mean CORK_TLS_CERT?"),
        ("CORK_LISTN", "did you mean CORK_LISTEN?"),
        ("CORK_TOKN", "did you mean CORK_TOKEN?"),
        ("CORK_TLS", "did you mean CORK_TLS_CERT or CORK_TLS_KEY?"),
        ("CORK_LIMITS_FOO", "run `cork config show` without this variable to list all settings"),
        ("CORK_PORT", "hint: "),
    ] {
        for arguments in [&["config", "show", "--changed"][..], &["memory", "list"], &["serve"]] {
            let ran = with(&sandbox, &[(variable, "s3cret")], arguments);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{variable}: {ran:?}");
            let named = format!("error: unknown environment variable {variable}: there is no setting of this name\n");
            assert!(ran.stderr.starts_with(&named) && ran.stderr.contains(hint), "{ran:?}");
            assert!(!ran.stderr.contains("s3cret"), "{ran:?}");
        }
        assert_eq!(
            with(&sandbox, &[(variable, "")], &["config", "show"]).code,
            0,
            "an empty value should count as unset"
        );
    }
    let for_others = [
        ("CORK_TEST_REMOTE", "1"),
        ("CORK_TEST_SEED", "1"),
        ("CORK_SOAK_ROUNDS", "1"),
        ("CORK_BENCH_URL", "1"),
        ("CORK_CORE_ENTRIES", "1"),
        ("CORK_WRITE_FIXTURES", "1"),
        ("CORK_CONVERSATION", "c-1"),
        ("CORK_MODEL_TIMEOUT", "30"),
        ("CORK_MODEL_KEY_ENV", "CORK_KEY_OF_OURS"),
        ("CORK_KEY_OF_OURS", "s3cret"),
        ("CORK_SNAPSHOT_PASSPHRASE", "s3cret"),
        ("CORK_SERVICE_HOST", "10.0.0.1"),
        ("CORK_PORT", "tcp://10.0.0.1:7117"),
        ("CORK_PORT_7117_TCP_ADDR", "10.0.0.1"),
        ("CORKSCREW", "1"),
    ];
    let ran = with(&sandbox, &for_others, &["config", "show", "--changed"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
}

/// Every variable in the documentation, the tests or the tools of this repository is known.
#[test]
fn the_variables_of_the_documentation_are_known() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = vec![root.join("README.md"), root.join("Makefile"), root.join("deploy/Containerfile")];
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|file| file.unwrap().path());
    texts.extend(docs.filter(|path| path.is_file()));
    let sandbox = Sandbox::local();
    let mut found = std::collections::BTreeSet::new();
    for text in texts {
        let text = std::fs::read_to_string(text).unwrap();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        // A name with a trailing underscore is a prefix.
        let names = words.filter(|word| word.starts_with("CORK_") && !word.ends_with('_'));
        found.extend(names.map(ToOwned::to_owned));
    }
    assert!(found.len() > 60, "{found:?}");
    for name in found {
        let ran = with(&sandbox, &[(&name, "tcp://\u{1}")], &["config", "show"]);
        assert!(!ran.stderr.contains("there is no setting of this name"), "{name}: {ran:?}");
    }
}

/// `--url "$UNSET"` must not fall back to a default store.
#[test]
fn an_empty_server_url_is_refused() {
    let sandbox = Sandbox::local();
    for empty in ["", " "] {
        let ran = with(&sandbox, &[], &["--url", empty, "memory", "list"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.contains("expected a server") && ran.stderr.contains("http://127.0.0.1:7117"), "{ran:?}");
    }
    let ran = with(&sandbox, &[], &["--setting", "url=", "memory", "list"]);
    assert!(ran.code == 2 && ran.stderr.contains("invalid value for url: "), "{ran:?}");
    assert_eq!(
        with(&sandbox, &[("CORK_URL", "")], &["memory", "list"]).code,
        0,
        "an empty value should count as unset"
    );
    let ran = with(&sandbox, &[], &["--url", "http://127.0.0.1:9", "serve", "--listen", "127.0.0.1:0"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("needs a store") && ran.stderr.contains("--store"), "{ran:?}");
}

/// `--agent "$UNSET" memory clear --yes` must not clear the default agent.
#[test]
fn empty_names_are_refused() {
    let sandbox = Sandbox::local();
    with(&sandbox, &[], &["memory", "set", "k", "v"]);
    for (flag, said) in
        [("--agent", "expected an agent"), ("--board", "expected a board"), ("--store", "expected a store")]
    {
        for empty in ["", " "] {
            let ran = with(&sandbox, &[], &[flag, empty, "memory", "clear", "--yes"]);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{flag}: {ran:?}");
            assert!(ran.stderr.contains(&format!("{flag} is empty; {said}\nhint: without {flag}")), "{ran:?}");
        }
    }
    let ran = with(&sandbox, &[], &["--setting", "board=", "memory", "clear", "--yes"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    for variable in ["CORK_AGENT", "CORK_BOARD", "CORK_STORE"] {
        let ran = with(&sandbox, &[(variable, "")], &["memory", "get", "k"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "v\n"), "an empty {variable} should count as unset: {ran:?}");
    }
}

/// A store on the command line takes precedence over a server in a file.
#[test]
fn a_store_with_higher_precedence_overrides_a_server() {
    let sandbox = Sandbox::local();
    write(&sandbox, "c.toml", "url = \"http://127.0.0.1:1\"\n");
    let file = ["--config", "c.toml"];
    let ran = with(&sandbox, &[], &[&file[..], &["memory", "list"]].concat());
    assert_eq!(ran.code, 7, "the server should be used, which does not exist: {ran:?}");
    let ran = with(&sandbox, &[], &[&file[..], &["--store", "sqlite:x.db", "memory", "set", "a", "1"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let variables = [("CORK_STORE", "sqlite:x.db"), ("CORK_URL", "http://127.0.0.1:1")];
    let ran = with(&sandbox, &variables, &["memory", "list"]);
    assert_eq!(ran.code, 7, "with equal precedence, the server should be used: {ran:?}");
}

#[test]
fn secrets_are_not_shown() {
    let sandbox = Sandbox::local();
    let variables = [
        ("CORK_TOKEN", "s3cret"),
        ("CORK_STORE", "postgres://ada:s3cret@host/db?password=s3cret"),
        ("CORK_URL", "https://ada:s3cret@host"),
    ];
    for arguments in [&["config", "show"][..], &["config", "show", "--json"]] {
        let ran = with(&sandbox, &variables, arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(!ran.stdout.contains("s3cret") && ran.stdout.contains("set by CORK_TOKEN"), "{ran:?}");
        assert!(ran.stdout.contains("postgres://ada@host/db"), "{ran:?}");
    }
}

/// A row of the table in the documentation.
fn row(setting: &Value) -> String {
    let text = |name: &str| setting[name].as_str().unwrap_or("").to_owned();
    let quoted = |name: &str| setting[name].as_str().map_or_else(String::new, |text| format!("`{text}`"));
    let (key, variable, flag, default) = (quoted("key"), quoted("variable"), quoted("flag"), quoted("default"));
    format!("| {key} | {variable} | {flag} | {default} | {} | {} |", text("about"), text("allowed"))
}

#[test]
fn the_documentation_lists_every_setting_correctly() {
    let sandbox = Sandbox::local();
    let document = sandbox.json(&["config", "show"]);
    let settings = document["items"].as_array().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = settings.iter().map(row).collect();
    assert!(expected.len() > 60);
    assert_eq!(rows, expected);
}
