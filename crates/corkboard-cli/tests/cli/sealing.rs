//! `cork snapshot` as bytes: compact, checked, sealed.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{CORK, Ran, Sandbox, run};

const PASSPHRASE: &str = "correct horse battery staple";
const KEY: &[u8; 32] = b"0123456789abcdefGHIJKLMNOPQRSTU!";
const HEX_KEY: &str = "303132333435363738396162636465664748494a4b4c4d4e4f50515253545521";
const BASE64_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZkdISUpLTE1OT1BRUlNUVSE=";

/// A sandbox with an agent's memory and files with secrets.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(&["memory", "set", "user_name", "Ada Lovelace"]);
    sandbox.ok(&["memory", "note", "add", "note"]);
    write(&sandbox, "passphrase", PASSPHRASE.as_bytes());
    write(&sandbox, "key", KEY);
    sandbox
}

fn path(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.path().join(name)
}

fn write(sandbox: &Sandbox, name: &str, content: &[u8]) {
    std::fs::write(path(sandbox, name), content).unwrap();
}

fn read(sandbox: &Sandbox, name: &str) -> Vec<u8> {
    std::fs::read(path(sandbox, name)).unwrap()
}

fn with_variable(sandbox: &Sandbox, passphrase: &str, arguments: &[&str]) -> Ran {
    let mut command = sandbox.command(CORK);
    command.args(arguments).env("CORK_SNAPSHOT_PASSPHRASE", passphrase);
    run(command, b"")
}

fn rev(sandbox: &Sandbox) -> Value {
    sandbox.json(&["stats"])["rev"].clone()
}

fn contains(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

#[test]
fn sealed_with_a_passphrase() {
    let sandbox = sandbox();
    assert_eq!(
        sandbox.ok(&["snapshot", "save", "a.cork", "--passphrase-file", "passphrase"]),
        "saved agent default at revision 2, 1 entry, to a.cork, encrypted with a passphrase"
    );
    let saved = read(&sandbox, "a.cork");
    for seen in ["{", "format", "default", "Ada", "Lovelace", PASSPHRASE] {
        assert!(seen.len() < 2 || !contains(&saved, seen), "{seen}");
    }
    sandbox.ok(&["memory", "clear", "--all", "--yes"]);
    let ran = with_variable(&sandbox, PASSPHRASE, &["snapshot", "restore", "a.cork", "--yes"]);
    assert_eq!(ran.stdout, "restored agent default, 1 entry, at revision 4\n", "{ran:?}");
    assert_eq!(sandbox.ok(&["memory", "get", "user_name"]), "Ada Lovelace");
    // One newline at the end of the file, as editors add it, is not part of the passphrase. Everything else is.
    for (content, code) in [("{}\n", 0), ("{}\r\n", 0), ("{}\n\n", 6), (" {}", 6)] {
        write(&sandbox, "other", content.replace("{}", PASSPHRASE).as_bytes());
        let ran = sandbox.cork(&["snapshot", "restore", "a.cork", "--yes", "--passphrase-file", "other"]);
        assert_eq!(ran.code, code, "{content:?} {ran:?}");
    }
}

#[test]
fn sealed_with_a_key() {
    let sandbox = sandbox();
    assert_eq!(
        sandbox.json(&["snapshot", "save", "a.cork", "--key-file", "key"]),
        json!({"agent": "default", "rev": 2, "entries": 1, "file": "a.cork", "sealed": "key"})
    );
    assert!(!contains(&read(&sandbox, "a.cork"), "Lovelace"));
    sandbox.ok(&["memory", "clear", "--all", "--yes"]);
    for (form, content) in [("hex", HEX_KEY.to_owned()), ("base64", format!("{BASE64_KEY}\n"))] {
        write(&sandbox, form, content.as_bytes());
        sandbox.ok(&["snapshot", "restore", "a.cork", "--key-file", form, "--yes"]);
        assert_eq!(sandbox.ok(&["memory", "get", "user_name"]), "Ada Lovelace");
    }
    for wrong in [&b""[..], b"short", &[0; 33], &[0; 5000]] {
        write(&sandbox, "wrong", wrong);
        let error = sandbox.fails(&["snapshot", "save", "b.cork", "--key-file", "wrong"], 2, "error: wrong ");
        assert!(error["code"] == "key_file" || error["code"] == "secret_too_long", "{error}");
    }
    sandbox.fails(&["snapshot", "save", "b.cork", "--key-file", "none"], 2, "cannot read none: No such file");
    assert!(!path(&sandbox, "b.cork").exists());
}

#[test]
fn only_the_right_secret_opens_it() {
    let sandbox = sandbox();
    sandbox.ok(&["snapshot", "save", "p.cork", "--passphrase-file", "passphrase"]);
    sandbox.ok(&["snapshot", "save", "k.cork", "--key-file", "key"]);
    write(&sandbox, "other", b"another passphrase");
    write(&sandbox, "other key", &[1; 32]);
    let before = rev(&sandbox);
    for (file, secret, code, said) in [
        ("p.cork", &["--passphrase-file", "other"][..], "snapshot_wrong_key", "or it was changed"),
        ("k.cork", &["--key-file", "other key"], "snapshot_wrong_key", "or it was changed"),
        ("p.cork", &[], "snapshot_needs_key", "hint: give it with --passphrase-file or in CORK_SNAPSHOT_PASSPHRASE"),
        (
            "k.cork",
            &[],
            "snapshot_needs_key",
            "encrypted with a key, which was not given\nhint: give it with --key-file",
        ),
        ("p.cork", &["--key-file", "key"], "snapshot_needs_key", "encrypted with a passphrase"),
        ("k.cork", &["--passphrase-file", "passphrase"], "snapshot_needs_key", "encrypted with a key"),
    ] {
        let error = sandbox.fails(&[&["snapshot", "restore", file, "--yes"], secret].concat(), 6, said);
        assert_eq!((&error["code"], &error["kind"]), (&json!(code), &json!("denied")));
    }
    // An unsealed snapshot proves nothing about its author, so a secret does not open it.
    sandbox.ok(&["snapshot", "save", "plain.cork", "--format", "bytes"]);
    sandbox.ok(&["snapshot", "save", "plain.json"]);
    for file in ["plain.cork", "plain.json"] {
        let arguments = ["snapshot", "restore", file, "--yes", "--key-file", "key"];
        assert_eq!(sandbox.fails(&arguments, 2, "anyone could have written it")["code"], "snapshot_not_sealed");
        assert_eq!(with_variable(&sandbox, PASSPHRASE, &["snapshot", "restore", file, "--yes"]).code, 2);
    }
    assert_eq!(rev(&sandbox), before);
    // An option takes precedence over the environment.
    assert_eq!(with_variable(&sandbox, PASSPHRASE, &["snapshot", "restore", "k.cork", "--yes"]).code, 6);
    let arguments = ["snapshot", "restore", "k.cork", "--yes", "--key-file", "key"];
    assert_eq!(with_variable(&sandbox, PASSPHRASE, &arguments).code, 0);
    let both = ["snapshot", "restore", "k.cork", "--key-file", "key", "--passphrase-file", "passphrase"];
    sandbox.fails(&both, 2, "cannot be used with");
}

#[test]
fn an_empty_passphrase_does_not_mean_none() {
    let sandbox = sandbox();
    let ran = with_variable(&sandbox, "", &["snapshot", "save", "a.cork"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("the passphrase from CORK_SNAPSHOT_PASSPHRASE is empty"), "{ran:?}");
    for empty in ["", "\n", "\r\n"] {
        write(&sandbox, "empty", empty.as_bytes());
        let arguments = ["snapshot", "save", "a.cork", "--passphrase-file", "empty"];
        assert_eq!(sandbox.fails(&arguments, 2, "is empty")["code"], "empty_passphrase");
    }
    assert!(!path(&sandbox, "a.cork").exists());
}

#[test]
fn the_form_is_chosen_when_saving_and_detected_when_restoring() {
    let sandbox = sandbox();
    sandbox.ok(&["snapshot", "save", "default"]);
    sandbox.ok(&["snapshot", "save", "json", "--format", "json"]);
    sandbox.ok(&["snapshot", "save", "bytes", "--format", "bytes"]);
    for (file, is_json) in [("default", true), ("json", true), ("bytes", false)] {
        assert_eq!(serde_json::from_slice::<Value>(&read(&sandbox, file)).is_ok(), is_json, "{file}");
        sandbox.ok(&["memory", "clear", "--all", "--yes"]);
        sandbox.ok(&["snapshot", "restore", file, "--yes"]);
        assert_eq!(sandbox.ok(&["memory", "get", "user_name"]), "Ada Lovelace");
    }
    let arguments = ["snapshot", "save", "sealed", "--format", "json", "--key-file", "key"];
    assert_eq!(sandbox.fails(&arguments, 2, "a JSON snapshot cannot be encrypted")["code"], "sealed_json");
    assert!(!path(&sandbox, "sealed").exists());
}

#[test]
fn a_damaged_snapshot_restores_nothing() {
    let sandbox = sandbox();
    sandbox.ok(&["snapshot", "save", "plain", "--format", "bytes"]);
    sandbox.ok(&["snapshot", "save", "key.cork", "--key-file", "key"]);
    sandbox.ok(&["snapshot", "save", "passphrase.cork", "--passphrase-file", "passphrase"]);
    let before = rev(&sandbox);
    for (file, secret) in [
        ("plain", &[][..]),
        ("key.cork", &["--key-file", "key"]),
        ("passphrase.cork", &["--passphrase-file", "passphrase"]),
    ] {
        let whole = read(&sandbox, file);
        let cut = [whole.len() - 1, 9].map(|length| whole[..length].to_vec());
        let flipped = [8, 9, 10, 12, whole.len() / 2, whole.len() - 1].map(|place| {
            let mut flipped = whole.clone();
            flipped[place] ^= 0x10;
            flipped
        });
        for damaged in cut.iter().chain(&flipped) {
            write(&sandbox, "damaged", damaged);
            let arguments = [&["snapshot", "restore", "damaged", "--yes"], secret].concat();
            let error = sandbox.fails(&arguments, 1, "the snapshot is damaged: its checksum does not match");
            assert_eq!((&error["code"], &error["kind"]), (&json!("snapshot_damaged"), &json!("damaged")));
        }
        assert_eq!(sandbox.fails(&["snapshot", "inspect", "damaged"], 1, "damaged")["code"], "snapshot_damaged");
    }
    write(&sandbox, "newer", b"{\"format\":9}");
    let error = sandbox.fails(
        &["snapshot", "restore", "newer", "--yes"],
        1,
        "hint: a newer version of Corkboard wrote it; upgrade cork",
    );
    assert_eq!(error["code"], "newer_format");
    assert_eq!(rev(&sandbox), before);
}

#[test]
fn inspect_shows_what_is_readable() {
    let sandbox = sandbox();
    sandbox.ok(&["scope", "create", "task"]);
    sandbox.ok(&["snapshot", "save", "json"]);
    sandbox.ok(&["snapshot", "save", "bytes", "--format", "bytes"]);
    sandbox.ok(&["snapshot", "save", "key.cork", "--key-file", "key"]);
    sandbox.ok(&["snapshot", "save", "passphrase.cork", "--passphrase-file", "passphrase"]);
    std::fs::remove_file(sandbox.database()).unwrap();
    let inspect = |file: &str, secret: &[&str]| {
        let mut view = sandbox.json(&[&["snapshot", "inspect", file], secret].concat());
        assert_eq!(view["bytes"], read(&sandbox, file).len(), "{view}");
        let content = view["snapshot"].take();
        if !content.is_null() {
            for (field, value) in [("agent", json!("default")), ("rev", json!(3)), ("format", json!(3))] {
                assert_eq!(content[field], value, "{content}");
            }
            for (field, value) in [("entries", 1), ("notes", 1), ("scopes", 1)] {
                assert_eq!(content[field], value, "{content}");
            }
            assert!(content["taken_at"].is_string(), "{content}");
        }
        ((view["form"].clone(), view["version"].clone(), view["sealed"].clone()), !content.is_null())
    };
    let about = |form: &str, version: Option<u8>, sealed: Option<&str>| (json!(form), json!(version), json!(sealed));
    let (key, passphrase) = (&["--key-file", "key"], &["--passphrase-file", "passphrase"]);
    assert_eq!(inspect("json", &[]), (about("json", None, None), true));
    assert_eq!(inspect("bytes", &[]), (about("bytes", Some(1), None), true));
    assert_eq!(inspect("bytes", key), (about("bytes", Some(1), None), true));
    assert_eq!(inspect("key.cork", &[]), (about("bytes", Some(1), Some("key")), false));
    assert_eq!(inspect("key.cork", key), (about("bytes", Some(1), Some("key")), true));
    assert_eq!(inspect("passphrase.cork", &[]), (about("bytes", Some(1), Some("passphrase")), false));
    assert_eq!(inspect("passphrase.cork", passphrase), (about("bytes", Some(1), Some("passphrase")), true));
    let text = sandbox.ok(&["snapshot", "inspect", "passphrase.cork"]);
    for line in ["form      bytes, version 1", "sealed    with a passphrase", "argon2id  65536 KiB, 3 passes, 1 lanes"]
    {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    let text = sandbox.ok(&["snapshot", "inspect", "json"]);
    for line in ["form      json", "sealed    no", "agent     default", "revision  3", "entries   1", "scopes    1"] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    sandbox.fails(&["snapshot", "inspect", "key.cork", "--key-file", "passphrase"], 2, "does not contain a key");
    sandbox.fails(&["snapshot", "inspect", "key.cork", "--passphrase-file", "passphrase"], 6, "encrypted with a key");
    write(&sandbox, "text", b"hello");
    assert_eq!(sandbox.fails(&["snapshot", "inspect", "text"], 2, "not a memory snapshot")["code"], "not_a_snapshot");
    assert!(!sandbox.database().exists(), "`inspect` should open no store");
}

#[test]
fn bytes_go_through_pipes_but_not_to_a_terminal() {
    let sandbox = sandbox();
    let mut shell = sandbox.command("bash");
    shell.args(["-euc", "\"$CORK\" snapshot save - --format bytes | \"$CORK\" snapshot inspect - --json"]);
    let ran = run(shell, b"");
    assert_eq!(ran.code, 0, "{ran:?}");
    let view: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&view["form"], &view["snapshot"]["agent"]), (&json!("bytes"), &json!("default")));
    for sealed in [&["--format", "bytes"][..], &["--key-file", "key"]] {
        let ran = at_terminal(&sandbox, &[], &[&["snapshot", "save", "-"], sealed].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(
            ran.stdout.contains("refusing to write a binary snapshot to the terminal")
                && !ran.stdout.contains("CORK\r"),
            "{ran:?}"
        );
    }
    assert_eq!(at_terminal(&sandbox, &[], &["snapshot", "save", "-"]).code, 0, "JSON should be allowed on a terminal");
}

#[test]
fn a_passphrase_is_asked_for_at_a_terminal() {
    let sandbox = sandbox();
    let new = |first: &'static str, second: &'static str| {
        [("for the snapshot: ", first), ("Repeat the passphrase: ", second)]
    };
    let save = ["snapshot", "save", "a.cork", "--passphrase"];
    let ran = at_terminal(&sandbox, &new("one", "another"), &save);
    assert!(ran.code == 2 && ran.stdout.contains("the passphrases do not match"), "{ran:?}");
    let ran = at_terminal(&sandbox, &new("", ""), &save);
    assert!(ran.code == 2 && ran.stdout.contains("is empty"), "{ran:?}");
    assert!(!path(&sandbox, "a.cork").exists());
    let ran = at_terminal(&sandbox, &new(PASSPHRASE, PASSPHRASE), &save);
    assert!(ran.code == 0 && ran.stdout.contains("encrypted with a passphrase"), "{ran:?}");
    assert!(!ran.stdout.contains("horse"), "{ran:?}");
    let ran = at_terminal(&sandbox, &[], &save);
    assert!(
        ran.code == 2 && ran.stdout.contains("already exists"),
        "it should fail before asking for a passphrase: {ran:?}"
    );

    sandbox.ok(&["memory", "clear", "--all", "--yes"]);
    let restore = ["snapshot", "restore", "a.cork"];
    let ran = at_terminal(&sandbox, &[("of the snapshot: ", "wrong")], &restore);
    assert!(ran.code == 6 && ran.stdout.contains("cannot open the snapshot"), "{ran:?}");
    let ran = at_terminal(&sandbox, &[("of the snapshot: ", PASSPHRASE), ("Continue? [y/N]", "y")], &restore);
    assert!(ran.code == 0 && ran.stdout.contains("restored agent default"), "{ran:?}");
    assert!(!ran.stdout.contains("horse"), "{ran:?}");
    assert_eq!(sandbox.ok(&["memory", "get", "user_name"]), "Ada Lovelace");
    let error = sandbox.fails(&["snapshot", "save", "b.cork", "--passphrase"], 2, "stdin is not a terminal");
    assert_eq!(error["code"], "no_terminal");
}

#[test]
fn secrets_are_never_printed() {
    let sandbox = sandbox();
    let secrets = [PASSPHRASE, std::str::from_utf8(KEY).unwrap(), HEX_KEY, BASE64_KEY];
    let check = |ran: &Ran| {
        for secret in secrets {
            assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{secret} in {ran:?}");
        }
    };
    for (name, content) in [("hex", HEX_KEY), ("base64", BASE64_KEY), ("no key", &HEX_KEY[..62])] {
        write(&sandbox, name, content.as_bytes());
    }
    sandbox.ok(&["snapshot", "save", "json"]);
    let (mut saved, mut failed) = (0, 0);
    for option in ["--passphrase-file", "--key-file"] {
        for secret in ["passphrase", "key", "hex", "base64", "no key"] {
            for (verb, file) in [("save", "a.cork"), ("inspect", "a.cork"), ("restore", "a.cork"), ("restore", "json")]
            {
                for more in [&["-vvv"][..], &["--json"]] {
                    let ran = sandbox.cork(&[more, &["snapshot", verb, file, option, secret]].concat());
                    check(&ran);
                    *if ran.code == 0 { &mut saved } else { &mut failed } += 1;
                    check(&with_variable(&sandbox, secrets[0], &[more, &["snapshot", verb, file]].concat()));
                }
            }
            let content = std::fs::read(path(&sandbox, "a.cork")).unwrap_or_default();
            assert!(secrets.iter().all(|secret| !contains(&content, secret)), "{option} {secret}");
            let _ = std::fs::remove_file(path(&sandbox, "a.cork"));
        }
    }
    assert!(saved > 20 && failed > 20, "{saved} {failed}");
    check(&with_variable(&sandbox, PASSPHRASE, &["snapshot", "save", "--help"]));
    check(&with_variable(&sandbox, PASSPHRASE, &["snapshot", "save"]));
    let names = std::fs::read_dir(sandbox.path()).unwrap().map(|file| file.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().contains("tmp")).collect();
    assert_eq!(left, Vec::<std::ffi::OsString>::new());
}

/// Runs `cork` on a terminal and answers each question. The stdout is the terminal's output.
fn at_terminal(sandbox: &Sandbox, dialogue: &[(&str, &str)], arguments: &[&str]) -> Ran {
    let mut python = sandbox.command("python3");
    let dialogue = serde_json::to_string(dialogue).unwrap();
    python.args(["-c", DIALOGUE, &dialogue, CORK]).args(arguments);
    run(python, b"")
}

const DIALOGUE: &str = "
import json, os, pty, sys, termios, time
dialogue = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown = b''
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:
        break
    if not more:
        break
    os.write(1, more)
    shown += more
    while dialogue and dialogue[0][0].encode() in shown:
        question, answer = dialogue.pop(0)
        shown = shown.split(question.encode(), 1)[1]
        # Nobody types so fast that the terminal still echoes; a machine does.
        deadline = time.monotonic() + 30
        while question.endswith(': ') and termios.tcgetattr(terminal)[3] & termios.ECHO and time.monotonic() < deadline:
            time.sleep(0.005)
        os.write(terminal, answer.encode() + b'\\n')
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(99 if dialogue else code)
";
