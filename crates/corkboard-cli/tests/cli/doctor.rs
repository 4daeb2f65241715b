//! `cork doctor`.

use std::sync::Arc;
use std::time::Duration;

use corkboard::boards::{NewBoard, NewTask};
use corkboard::{Corkboard, ManualClock, Options};
use serde_json::{Value, json};

use crate::sandbox_server::{ADMIN, SandboxServer};
use crate::support::{CORK, Ran, Sandbox, run};

#[test]
fn a_healthy_store() {
    // Locally. The checks of a server are tested below.
    let sandbox = Sandbox::local();
    sandbox.ok(&["memory", "set", "a", "1"]);
    sandbox.ok(&["board", "create", "Plan"]);
    let text = sandbox.ok(&["doctor"]);
    assert!(text.lines().all(|line| line.starts_with("✓ ") || line.starts_with("  ")), "{text}");
    for part in [
        "✓ the sqlite store opens",
        "location: ",
        "a durable write takes",
        "no damage",
        "1 agent loads",
        "1 board loads",
        "✓ no agent, board or core has times in the future",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let report = sandbox.json(&["doctor"]);
    assert_eq!(report["ok"], true);
    assert_eq!(report["store"]["kind"], "sqlite");
    let agents = sandbox.json(&["stats", "--all"])["agents"].take();
    assert_eq!(agents.as_array().unwrap().len(), 1, "the scratch agents should be gone: {agents}");
}

/// A process with its clock a year ahead wrote to the store. The real `cork` must continue there.
#[test]
fn a_store_written_a_year_ahead_still_works_and_doctor_warns() {
    let sandbox = Sandbox::local();
    let year = Duration::from_secs(365 * 24 * 3600);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let corkboard = runtime.block_on(async {
        let clock = Arc::new(ManualClock::new(jiff::Timestamp::now() + year));
        let options = Options { clock, ..Options::default() };
        let corkboard = Corkboard::open_with(&sandbox.store(), options).await.unwrap();
        let board = corkboard.create_board(NewBoard { name: "Plan".into(), ..NewBoard::default() }).await.unwrap();
        board.add_task(NewTask::new("one")).await.unwrap();
        corkboard.close().await.unwrap();
        board.id().to_string()
    });
    let claim = |agent: &str, arguments: &[&str]| {
        sandbox.ok(&[&["--board", &corkboard, "--principal", agent, "task", "claim"], arguments].concat())
    };
    claim("ada", &["--lease-s", "1"]);
    // If the board's clock stood still, this would take a year.
    let claimed = claim("grace", &["--wait-s", "30"]);
    assert!(claimed.contains("T-1"), "{claimed}");

    let text = sandbox.ok(&["doctor"]);
    let expected = format!("! warning: times in the future: board/{corkboard} by 315");
    assert!(text.lines().any(|line| line.starts_with(&expected)), "{text}");
    let report = sandbox.json(&["doctor"]);
    let checks = report["checks"].as_array().unwrap();
    let time = checks.iter().find(|check| check["check"] == "time").unwrap();
    assert_eq!((&report["ok"], &time["ok"]), (&json!(true), &json!(true)));
    assert!(time["detail"].as_str().unwrap().contains(&corkboard), "{time}");
}

/// Settings that can lose data give a warning, but the store is healthy.
#[test]
fn warnings_are_shown() {
    let sandbox = Sandbox::new();
    let memory = ["--store", "memory:"];
    let text = sandbox.ok(&[&memory[..], &["doctor"]].concat());
    assert!(text.lines().any(|line| line == "! everything is lost when the process ends"), "{text}");
    let report = sandbox.json(&[&memory[..], &["doctor"]].concat());
    let warnings = json!(["everything is lost when the process ends"]);
    assert_eq!((&report["ok"], &report["store"]["warnings"]), (&json!(true), &warnings));
    for arguments in [&["stats"][..], &["stats", "--all"]] {
        let text = sandbox.ok(&[&memory[..], arguments].concat());
        assert_eq!(text.lines().last(), Some("! everything is lost when the process ends"), "{text}");
    }
    assert_eq!(sandbox.json(&[&memory[..], &["stats"]].concat())["warnings"], warnings);
    assert_eq!(sandbox.json(&["stats"])["warnings"], json!([]), "the default settings should lose nothing");
}

#[test]
fn a_damaged_board_is_reported() {
    let mut sandbox = Sandbox::new();
    sandbox.ok(&["board", "create", "Whole"]);
    sandbox.ok(&["board", "create", "Broken", "--id", "broken"]);
    let damage = "UPDATE log SET body = x'7b' WHERE space = (SELECT id FROM spaces WHERE name = 'board/broken')";
    assert_eq!(sandbox.tamper(damage), 1);
    let ran = sandbox.cork(&["doctor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stdout.contains("✗ cannot load board broken: space board/broken is damaged: "), "{ran:?}");
    assert!(sandbox.ok(&["board", "list"]).contains("Whole"), "other boards should not be affected");
}

#[test]
fn a_damaged_agent_is_reported_and_others_load() {
    let mut sandbox = Sandbox::new();
    for agent in ["ada", "bob", "eve"] {
        sandbox.ok(&["--agent", agent, "memory", "set", "a", "1"]);
    }
    let damage = "UPDATE log SET body = x'7b' WHERE space = (SELECT id FROM spaces WHERE name = 'agent/bob')";
    assert_eq!(sandbox.tamper(damage), 1);
    let ran = sandbox.cork(&["doctor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stdout.contains("✗ cannot load agent bob: space agent/bob is damaged: "), "{ran:?}");
    let ran = sandbox.cork(&["doctor", "--json"]);
    assert_eq!(ran.code, 1);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let failed: Vec<_> = report["checks"].as_array().unwrap().iter().filter(|check| check["ok"] == false).collect();
    assert_eq!((&report["ok"], failed.len(), &failed[0]["check"]), (&json!(false), 1, &json!("agents")));
    assert_eq!(sandbox.ok(&["--agent", "ada", "memory", "get", "a"]), "1");
    let error =
        sandbox.fails(&["--agent", "bob", "memory", "get", "a"], 1, "hint: run `cork doctor` to check the whole store");
    assert!(error["detail"].as_str().unwrap().starts_with("space agent/bob is damaged: "), "{error}");
    assert_eq!((&error["code"], &error["kind"]), (&json!("damaged"), &json!("damaged")));
}

#[test]
fn a_record_changed_by_the_disk_is_reported_and_others_load() {
    let mut sandbox = Sandbox::new();
    for agent in ["ada", "bob"] {
        sandbox.ok(&["--agent", agent, "memory", "set", "a", "\"word\""]);
    }
    let damage = "UPDATE log SET body = CAST(replace(CAST(body AS TEXT), 'word', 'ward') AS BLOB)
        WHERE space = (SELECT id FROM spaces WHERE name = 'agent/bob')";
    assert_eq!(sandbox.damage(damage), 1);
    let said = "the store is damaged: space agent/bob, revision 1: the checksum of the record does not match";
    let ran = sandbox.cork(&["doctor"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stdout.contains(&format!("\n✗ {said}\n")), "{ran:?}");
    assert!(ran.stdout.contains(&format!("\n✗ cannot load agent bob: {said}\n")), "{ran:?}");
    assert_eq!(sandbox.ok(&["--agent", "ada", "memory", "get", "a"]), "word");
    let error = sandbox.fails(&["--agent", "bob", "memory", "get", "a"], 1, said);
    assert_eq!((&error["code"], &error["kind"]), (&json!("corrupt"), &json!("damaged")));
}

#[test]
fn a_write_ahead_log_changed_by_the_disk_is_reported() {
    // Locally, because a server would have the store open.
    let sandbox = Sandbox::local();
    let mut command = sandbox.command(CORK);
    command.args(["memory", "watch"]).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut holder = command.spawn().unwrap();
    // The open watcher keeps SQLite from emptying the log.
    let log = format!("{}-wal", sandbox.database().display());
    crate::support::eventually("the log", || std::path::Path::new(&log).exists());
    for value in ["1", "2", "3"] {
        sandbox.ok(&["memory", "set", "a", value]);
    }
    holder.kill().unwrap();
    holder.wait().unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let ran = sandbox.cork(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.starts_with("✗ the store is damaged: the write-ahead log "), "{ran:?}");
    sandbox.fails(&["memory", "get", "a"], 1, "the changes in them would be lost");
}

#[test]
fn a_store_that_other_users_can_open_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::local();
    sandbox.ok(&["memory", "set", "a", "1"]);
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(sandbox.database(), readable).unwrap();
    let text = sandbox.ok(&["doctor"]);
    let said = format!("! other users can open {}; to prevent this, run: chmod 600 ", sandbox.database().display());
    assert!(text.contains(&said), "{text}");
}

#[test]
fn a_gap_in_a_log_is_found() {
    let mut sandbox = Sandbox::new();
    for value in ["1", "2", "3"] {
        sandbox.ok(&["memory", "set", "a", value]);
    }
    assert_eq!(
        sandbox
            .tamper("DELETE FROM log WHERE rev = 2 AND space = (SELECT id FROM spaces WHERE name = 'agent/default')"),
        1
    );
    let ran = sandbox.cork(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("✗ the store is damaged: space agent/default"), "{ran:?}");
}

#[test]
fn a_store_that_does_not_open() {
    // Locally, because no server starts on it.
    let sandbox = Sandbox::local();
    std::fs::write(sandbox.database(), [b"SQLite format 3\0".as_slice(), &[b'x'; 4080]].concat()).unwrap();
    let ran = sandbox.cork(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.starts_with("✗ the store is damaged: "), "{ran:?}");
    assert_eq!(
        ran.stderr, "hint: check the disk, and restore a backup of the store\n",
        "the problem should be reported once"
    );
    let ran = sandbox.cork(&["doctor", "--json"]);
    assert_eq!(ran.code, 1);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["ok"], &report["store"]), (&json!(false), &json!(null)));
}

#[test]
fn a_healthy_server() {
    // Locally, because the test starts a separate server.
    let sandbox = Sandbox::local();
    sandbox.ok(&["memory", "set", "a", "1"]);
    let server = SandboxServer::start(&sandbox, &[]);
    let ran = through(&sandbox, &server.url, ADMIN, &["doctor"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in [
        format!("✓ {} answers in ", server.url),
        format!(": Corkboard {}", env!("CARGO_PKG_VERSION")),
        "  encrypted: no".into(),
        "✓ the server is ready".into(),
        "✓ the server's clock is ".into(),
        "✓ you are admin with role admin; the token has access to everything".into(),
        "✓ a read takes ".into(),
        "✓ a durable write takes ".into(),
        "✓ no damage found".into(),
        "✓ 1 agent loads".into(),
    ] {
        assert!(ran.stdout.contains(&part), "{part} in {}", ran.stdout);
    }
    let report: Value =
        serde_json::from_str(&through(&sandbox, &server.url, ADMIN, &["doctor", "--json"]).stdout).unwrap();
    let checks: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(&checks[..7], ["server", "ready", "clock", "token", "read", "write", "integrity"]);
}

/// A token with few permissions must not make a server look unhealthy.
#[test]
fn a_server_with_a_limited_token() {
    // Locally, because the test starts a separate server.
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    let request =
        r#"{"principal":"ada","kind":"agent","role":"worker","grants":{"agents":["ada"],"boards":["team-*"]}}"#;
    let created = server.ask("POST", "/v1/tokens", &[], request).json();
    let secret = created["secret"].as_str().or(created["token"].as_str()).unwrap_or_else(|| panic!("{created}"));
    let ran = through(&sandbox, &server.url, secret, &["doctor"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in [
        "✓ you are ada with role worker; the token has access to agents: ada; boards: team-*; cores: none",
        "  writes not timed: the token has no access to agent",
        "  not checked for damage: this needs an admin's token",
        "✓ a read takes ",
    ] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
}

#[test]
fn a_server_that_does_not_answer_or_rejects_the_token() {
    // Locally, because the test starts a separate server.
    let sandbox = Sandbox::local();
    let server = SandboxServer::start(&sandbox, &[]);
    let ran = through(&sandbox, &server.url, "wrong", &["doctor"]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.stdout.contains("✓ the server is ready") && ran.stdout.contains("✗ "), "{ran:?}");
    assert!(ran.stdout.contains("✗ this token is unknown, revoked or expired"), "{ran:?}");
    assert!(ran.stderr.starts_with("hint: set a token in CORK_TOKEN"), "the problem should not be repeated: {ran:?}");
    let ran = through(&sandbox, &server.url, "wrong", &["doctor", "--quick"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 4), "`--quick` should need no token: {ran:?}");
    let url = server.url.clone();
    server.signal("TERM");
    assert_eq!(server.ended().code, 0);
    let ran = through(&sandbox, &url, ADMIN, &["doctor"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.stdout.starts_with("✗ ") && ran.stdout.contains("refused"), "{ran:?}");
}

fn through(sandbox: &Sandbox, url: &str, token: &str, arguments: &[&str]) -> Ran {
    let mut command = sandbox.command(CORK);
    command.args(arguments).env("CORK_URL", url).env("CORK_TOKEN", token);
    run(command, b"")
}
