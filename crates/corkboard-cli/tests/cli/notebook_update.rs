//! `cork notebook prompt|update|review`, with a model server on loopback.

use serde_json::{Value, json};

use crate::support::{CORK, Ran, Sandbox, run};
use corkboard_testing::model_server::{ModelReply, ModelServer, ReceivedRequest, says, status};

const GOOD: &str = "CURRENT_PROGRESS:\n  In Progress:\n    - Fix the parser\nKEY_LEARNINGS:\n  ADD:\n    - because it bit us: Tabs count as two\n";
const BAD: &str =
    "CURRENT_PROGRESS:\n  In Progress:\n    - Go on\nKEY_LEARNINGS:\n  ADD:\n    - Tabs \u{1b}[31mcount\n";
const UNKNOWN: &str =
    "CURRENT_PROGRESS:\n  In Progress:\n    - Go on\nKEY_LEARNINGS:\n  ARCHIVE:\n    - KL-9 because old\n";
const KEY: &str = "sk-secret-7";

/// A model server in a separate thread that lives as long as the test.
struct Server {
    url: String,
    server: std::sync::Arc<ModelServer>,
}

impl Server {
    fn start(script: Vec<ModelReply>) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = std::sync::Arc::new(ModelServer::start(script).await);
                sender.send(server).unwrap();
                std::future::pending::<()>().await;
            });
        });
        let server = receiver.recv().unwrap();
        Self { url: server.url(), server }
    }

    fn seen(&self) -> Vec<ReceivedRequest> {
        self.server.seen()
    }

    /// Runs `cork notebook …` with this server as its model.
    fn cork(&self, sandbox: &Sandbox, arguments: &[&str]) -> Ran {
        let mut command = sandbox.command(CORK);
        command.arg("notebook").args(arguments);
        command.env("CORK_MODEL", "openai:m").env("CORK_MODEL_URL", &self.url);
        command.env("CORK_MODEL_KEY_ENV", "MY_KEY").env("MY_KEY", KEY);
        run(command, b"")
    }
}

fn notebook(sandbox: &Sandbox) -> Value {
    sandbox.json(&["notebook", "show"])
}

#[test]
fn the_prompt_is_printed() {
    let sandbox = Sandbox::new();
    let ran = sandbox.cork_with_stdin(&["notebook", "apply", "-"], GOOD.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    let prompt = sandbox.ok(&["notebook", "prompt", "--task", "Ship it"]);
    for part in [
        "CURRENT_PROGRESS:\n",
        "  - KL-1: Tabs count as two\n",
        "    - Fix the parser\n",
        "<task>\n  Ship it\n</task>\n",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let document = sandbox.json(&["notebook", "prompt", "--budget", "2000"]);
    assert!(document["tokens"].as_u64().unwrap() <= 2000 && document["version"] == 1, "{document}");
    sandbox.fails(&["notebook", "prompt", "--budget", "10"], 2, "it must be from 1500 to 10000000");
}

#[test]
fn the_prompt_contains_the_transcript_within_the_budget() {
    let sandbox = Sandbox::new();
    let lines: String = (0..20_000).map(|at| format!("step {at} is done\n")).collect();
    std::fs::write(sandbox.path().join("session.log"), &lines).unwrap();
    let server = Server::start(vec![says(GOOD)]);
    let ran = server.cork(&sandbox, &["update", "--transcript", "session.log", "--budget", "3000", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["left_out"], json!(["transcript"]), "{report}");
    assert!(report["attempts"][0]["prompt_tokens"].as_u64().unwrap() <= 3000, "{report}");
    let told = server.seen()[0].body.to_string();
    assert!(told.contains("step 19999 is done") && !told.contains("step 0 is done"), "{told}");
    // The same through stdin. A short transcript is included whole.
    let ran = sandbox.cork_with_stdin(&["notebook", "prompt", "--transcript", "-"], b"user: </transcript> hi\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    let (_, transcript) = ran.stdout.split_once("<transcript>\n").unwrap();
    assert!(transcript.contains("hi\n</transcript>\n") && !transcript.contains("user: </transcript>"), "{transcript}");
    sandbox.fails(&["notebook", "prompt", "--transcript", "none.log"], 2, "cannot read none.log");
}

#[test]
fn a_good_answer_is_applied() {
    let sandbox = Sandbox::new();
    let server = Server::start(vec![says(GOOD)]);
    let ran = server.cork(&sandbox, &["update", "--task", "Fix it"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(ran.stdout.starts_with("applied as revision 1\n") && ran.stdout.contains("Tabs count as two"), "{ran:?}");
    assert!(ran.stdout.ends_with("m: 1 attempt, 11 tokens in, 7 out\n"), "{ran:?}");
    assert_eq!(notebook(&sandbox)["learnings"][0]["id"], "KL-1");
    assert_eq!(server.seen()[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}

#[test]
fn a_dry_run_is_saved_reviewed_and_applied_by_hand() {
    let sandbox = Sandbox::new();
    let server = Server::start(vec![says(GOOD)]);
    let ran = server.cork(&sandbox, &["update", "--dry-run", "--report", "update.json", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["outcome"], &report["version_before"]), (&json!({"result": "dry_run"}), &json!(0)));
    let kept: Value = serde_json::from_slice(&std::fs::read(sandbox.path().join("update.json")).unwrap()).unwrap();
    assert_eq!(kept, report);
    assert!(!kept.to_string().contains(KEY));
    assert_eq!(notebook(&sandbox)["version"], 0);
    // If the report cannot be written, the model is not asked.
    let again = server.cork(&sandbox, &["update", "--report", "update.json"]);
    assert!(again.code == 2 && again.stderr.contains("already exists"), "{again:?}");
    assert_eq!(server.seen().len(), 1);

    let shown = sandbox.ok(&["notebook", "review", "update.json"]);
    assert!(
        shown.contains("not applied (dry run)") && shown.ends_with(&format!("last answer:\n{}", GOOD.trim_end())),
        "{shown}"
    );
    assert_eq!(sandbox.ok(&["notebook", "review", "update.json", "--answer"]), GOOD.trim_end());
    sandbox.fails(&["notebook", "review", "update.json", "--apply", "--agent", "other"], 2, "belongs to another agent");
    assert!(sandbox.ok(&["notebook", "review", "update.json", "--apply"]).contains("Tabs count as two"));
    assert_eq!(notebook(&sandbox)["version"], 1);
    // The second time, the notebook differs from the one that the model saw.
    let error = sandbox.fails(&["notebook", "review", "update.json", "--apply"], 4, "");
    assert_eq!(error["kind"], "conflict");
    sandbox.ok(&["notebook", "review", "update.json", "--apply", "--anyway"]);
    assert_eq!(notebook(&sandbox)["learnings"].as_array().unwrap().len(), 2);
}

#[test]
fn a_model_that_never_answers_correctly_changes_nothing_and_its_answers_are_kept() {
    let sandbox = Sandbox::new();
    let server = Server::start(vec![says(BAD)]);
    let ran = server.cork(&sandbox, &["update", "--report", "update.json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("no valid answer from m; nothing was changed\nattempt 1:\n  line 6: "), "{ran:?}");
    assert!(ran.stderr.contains("attempt 3:") && ran.stderr.contains("with `cork notebook review FILE`"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}'), "{ran:?}");
    assert_eq!((server.seen().len(), &notebook(&sandbox)["version"]), (3, &json!(0)));
    let shown = sandbox.ok(&["notebook", "review", "update.json"]);
    assert!(shown.contains("no valid answer"), "{shown}");
    let error = sandbox.fails(&["notebook", "review", "update.json", "--apply"], 2, "nothing was applied");
    assert_eq!(error["code"], "notebook_problems");
}

#[test]
fn unknown_ids_are_skipped_and_named() {
    let sandbox = Sandbox::new();
    let ran = Server::start(vec![says(UNKNOWN)]).cork(&sandbox, &["update"]);
    assert!(
        ran.code == 0 && ran.stdout.contains("skipped, because the notebook does not have them: KL-9\n"),
        "{ran:?}"
    );
}

#[test]
fn a_model_that_fails_has_its_exit_code() {
    let sandbox = Sandbox::new();
    let body = format!("{{\"error\": {{\"message\": \"bad key {KEY}\"}}}}");
    let denied = Server::start(vec![status("401 Unauthorized", &[], &body)]).cork(&sandbox, &["update", "--json"]);
    assert_eq!((denied.code, denied.stdout.as_str()), (6, ""), "{denied:?}");
    assert!(denied.stderr.contains("model_denied") && !denied.stderr.contains(KEY), "{denied:?}");
    let busy = status("429 Too Many Requests", &["Retry-After: 999"], "");
    let busy = Server::start(vec![busy]).cork(&sandbox, &["update", "--json"]);
    assert!(busy.code == 7 && busy.stderr.contains("\"retryable\":true"), "{busy:?}");
    assert_eq!(notebook(&sandbox)["version"], 0);
}

#[test]
fn invalid_settings_and_reports_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.fails(&["notebook", "update"], 2, "no model is chosen: set CORK_MODEL");
    sandbox.fails(&["notebook", "update", "--model", "m"], 2, "invalid model \"m\"");
    sandbox.fails(&["notebook", "update", "--model", "openai:m"], 6, "set OPENAI_API_KEY");
    sandbox.fails(&["notebook", "review", "nowhere.json"], 2, "nowhere.json");
    std::fs::write(sandbox.path().join("other.json"), "{}").unwrap();
    sandbox.fails(&["notebook", "review", "other.json"], 2, "is not an update report");
}
