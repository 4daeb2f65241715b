//! `examples/auth-system.sh`: an orchestrator, a developer, a reviewer and a person, each in a separate process, follow
//! the eight steps of the specification's example and its learnings. `examples/interrupted-worker.sh`: a worker that is
//! interrupted, sent back and killed does not lose its task.

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox, run};

/// An event of the log: its revision, actor, type and details.
struct Happened {
    rev: u64,
    by: String,
    what: String,
    body: Value,
}

/// A store in which an example ran.
struct Played {
    sandbox: Sandbox,
    ran: Ran,
    log: Vec<Happened>,
}

impl Played {
    /// Runs an example, which has the name of its board.
    fn new(example: &str) -> Self {
        let sandbox = Sandbox::new();
        let script = format!("{}/../../examples/{example}.sh", env!("CARGO_MANIFEST_DIR"));
        let mut command = sandbox.command("bash");
        command.arg(script).arg(format!("sqlite:{}", sandbox.database().display())).env("TMPDIR", sandbox.path());
        let ran = run(command, b"");
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        let log = log(&sandbox, example);
        Self { sandbox, ran, log }
    }

    /// The first event of that type from this revision on. It must exist.
    fn after(&self, rev: u64, by: &str, what: &str, holds: impl Fn(&Value) -> bool) -> &Happened {
        let found = self.log.iter().find(|happened| {
            happened.rev >= rev && happened.by == by && happened.what == what && holds(&happened.body)
        });
        found.unwrap_or_else(|| panic!("no event {what} by {by} from revision {rev} on: {}", self.ran.stdout))
    }

    /// The output between two lines of the script.
    fn printed(&self, from: &str, to: &str) -> &str {
        let rest = self.ran.stdout.split_once(from).unwrap_or_else(|| panic!("{from}: {}", self.ran.stdout)).1;
        rest.split_once(to).unwrap_or_else(|| panic!("{to}: {rest}")).0
    }
}

fn log(sandbox: &Sandbox, board: &str) -> Vec<Happened> {
    let lines = sandbox.ok(&["board", "watch", board, "--from-rev", "0", "--json"]);
    let revisions = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events = revisions.flat_map(|revision| {
        let (rev, by) =
            (revision["rev"].as_u64().unwrap(), revision["actor"]["principal"].as_str().unwrap().to_owned());
        let events = revision["events"].as_array().unwrap().clone();
        events.into_iter().map(move |event| {
            let what = event["type"].as_str().unwrap().to_owned();
            Happened { rev, by: by.clone(), what, body: event }
        })
    });
    events.collect()
}

#[test]
fn the_eight_steps_of_the_example_happen_in_order_and_the_learning_is_rolled_back() {
    let played = Played::new("auth-system");

    // 1. Orchestrator creates working memory, queries the cores, creates initial tasks based on a pattern.
    let created =
        played.after(0, "conductor", "board_created", |board| board["goal"] == "Build auth system for the API");
    assert_eq!(created.body["cores"], json!(["auth-jwt", "acme-app"]));
    assert!(!created.body["drawn"].as_array().unwrap().is_empty(), "{}", created.body);
    for (id, title) in [("T-1", "Design token schema"), ("T-2", "Implement token service"), ("T-3", "Write the tests")]
    {
        let added = played.after(created.rev, "conductor", "task_added", |task| task["id"] == id);
        assert_eq!(
            (added.rev, &added.body["task"]["title"]),
            (created.rev, &json!(title)),
            "the pattern's tasks should be in the same revision"
        );
    }

    // 2. Orchestrator assigns "Design token schema" to the developer.
    let assigned = played
        .after(created.rev + 1, "conductor", "task_assigned", |task| task["task"] == "T-1" && task["agent"] == "dev");

    // 3. The developer reads the context, discovers a constraint, decides, and the task's status follows.
    let started = played.after(assigned.rev + 1, "dev", "task_started", |task| task["task"] == "T-1");
    let found = played.after(started.rev + 1, "dev", "discovery_recorded", |_| true);
    assert_eq!(found.body["discovery"]["content"], "User table has no refresh_token column");
    assert_eq!(found.body["discovery"]["type"], "constraint");
    let decided = played.after(found.rev + 1, "dev", "decision_recorded", |decision| decision["id"] == "D-1");
    assert_eq!(decided.body["decision"]["choice"], "Add migration to add column");

    // 4. A person injects a nudge.
    let nudged = played.after(decided.rev + 1, "grace", "nudge_sent", |_| true);
    assert_eq!(nudged.body["nudge"]["message"], "Don't modify user table, use separate token table");

    // 5. The developer sees it on the next turn, updates the decision with a new rationale, adjusts.
    let delivered = played.after(nudged.rev + 1, "dev", "nudge_delivered", |nudge| nudge["agent"] == "dev");
    let heeded = played.after(delivered.rev + 1, "dev", "nudge_acknowledged", |nudge| nudge["agent"] == "dev");
    let anew = played.after(heeded.rev + 1, "dev", "decision_recorded", |decision| decision["id"] == "D-2");
    assert_eq!(anew.body["decision"]["supersedes"], "D-1");
    assert_eq!(anew.body["decision"]["choice"], "A separate token table");

    // 6. The developer creates the artifact and completes the task, which is then ready for review.
    let made = played.after(anew.rev + 1, "dev", "artifact_recorded", |_| true);
    assert_eq!(made.body["artifact"]["path"], "schema/tokens.sql");
    assert_eq!(made.body["artifact"]["checksum"].as_str().unwrap().len(), 64, "the file's checksum should be recorded");
    let submitted = played.after(made.rev + 1, "dev", "task_submitted", |task| task["task"] == "T-1");

    // 7. Orchestrator sees completion, assigns the review.
    let reviewing = played.after(submitted.rev + 1, "conductor", "review_assigned", |review| review["agent"] == "qa");

    // 8. The reviewer approves, the orchestrator continues with the next tasks.
    let reviewed = played.after(reviewing.rev + 1, "qa", "task_reviewed", |review| review["task"] == "T-1");
    assert_eq!(reviewed.body["verdict"], "approved");
    let mut rev = reviewed.rev;
    for task in ["T-2", "T-3"] {
        rev = played.after(rev + 1, "conductor", "task_assigned", |assigned| assigned["task"] == task).rev;
        rev = played.after(rev + 1, "dev", "task_completed", |completed| completed["task"] == task).rev;
    }
    let ended = played.after(rev + 1, "conductor", "board_ended", |_| true);
    assert_eq!((&ended.body["status"], &ended.body["outcome"]), (&json!("completed"), &json!("success")));

    // The next board's context shows the learning until it is rolled back.
    let known = played.printed("Its context knows:", "took it back");
    assert!(known.contains("A separate token table") && known.contains("<cores>"), "{known}");
    let left = played.printed("The next board's context now knows:", "everything is in");
    assert!(!left.contains("A separate token table"), "{left}");
    assert!(left.contains("in front of PostgreSQL"), "other entries should stay: {left}");
    let archived = played.sandbox.json(&["board", "show", "auth-system"]);
    assert_eq!(archived["status"], "archived");
}

#[test]
fn a_worker_that_is_interrupted_sent_back_and_killed_does_not_lose_its_task() {
    let played = Played::new("interrupted-worker");
    let of_task = |event: &Value| event["task"] == "T-1";
    let started = played.after(0, "dev", "task_started", of_task);
    assert_eq!(started.body["epoch"], 1);
    // The refusal of complete_task delivers the nudge. Nothing is submitted before it is acknowledged.
    let nudged = played.after(started.rev + 1, "grace", "nudge_sent", |event| event["nudge"]["priority"] == "urgent");
    let delivered = played.after(nudged.rev + 1, "dev", "nudge_delivered", |_| true);
    let followed = played.after(delivered.rev + 1, "dev", "nudge_acknowledged", |_| true);
    let submitted = played.after(0, "dev", "task_submitted", of_task);
    assert!(submitted.rev > followed.rev, "{}", played.ran.stdout);
    assert_eq!(submitted.body["result"]["summary"], "A separate token table");
    // After rework, its holder claims it again. After the crash, the same name reclaims it with task and epoch.
    let reviewed =
        played.after(submitted.rev + 1, "grace", "task_reviewed", |event| event["verdict"] == "needs_rework");
    let reworked = played.after(reviewed.rev + 1, "dev", "task_resumed", |event| event["epoch"] == 2);
    let restarted = played.after(reworked.rev + 1, "dev", "task_resumed", |event| event["epoch"] == 3);
    let done = played.after(restarted.rev + 1, "dev", "task_submitted", of_task);
    assert_eq!(done.body["result"]["summary"], "A separate token table, with an index");
    let ended = played.after(done.rev + 1, "grace", "board_ended", |_| true);
    assert_eq!(ended.body["outcome"], "success");
    // The worker never lost the task, and nobody else claimed it.
    for lost in ["lease_expired", "task_released", "task_failed"] {
        assert!(!played.log.iter().any(|happened| happened.what == lost), "{lost}: {}", played.ran.stdout);
    }
    assert_eq!(played.log.iter().filter(|happened| happened.what == "task_started").count(), 1);
    let task = played.sandbox.json(&["--board", "interrupted-worker", "task", "show", "T-1"]);
    assert_eq!((&task["status"], &task["attempt"], &task["epoch"]), (&json!("completed"), &json!(2), &json!(3)));
}
