//! The whole board as one document.

use corkboard::boards::{NewArtifact, NewBoard, NewBranch, NewChoice, NewDecision, NewDiscovery, NewTask, TaskId};
use serde_json::json;

use super::{LEASE, done, worker};
use crate::common::{Home, start};

#[tokio::test]
async fn a_board_is_one_json_document() {
    let corkboard = Home::memory().open().await;
    let new = NewBoard {
        name: "auth".into(),
        goal: "JWT".into(),
        constraints: vec!["no breaking changes".into()],
        cores: vec!["auth-jwt".into()],
        ..NewBoard::default()
    };
    let board = corkboard.create_board(new).id("auth-1").await.unwrap();
    let keyed = |key: &str| NewTask { key: Some(key.into()), ..NewTask::new(key) };
    let tasks = vec![
        keyed("design"),
        NewTask { depends_on: vec!["design".into()], priority: 2, ..keyed("build") },
        NewTask { needs_review: true, ..keyed("check") },
        NewTask { depends_on: vec!["design".into(), "build".into()], ..keyed("ship") },
        keyed("free"),
        keyed("other"),
    ];
    let branch = |name: &str| NewBranch { name: name.into(), tasks: vec![name.into()] };
    let choices = vec![NewChoice { question: "how?".into(), options: vec![branch("other"), branch("ship")] }];
    board.add_tasks(tasks, choices).await.unwrap();
    let ann = board.acting_as(worker("ann"));
    ann.claim_task(Some(TaskId(3)), LEASE).await.unwrap();
    ann.complete_task(TaskId(3), done(), None).await.unwrap();
    ann.claim_task(Some(TaskId(1)), LEASE).await.unwrap();
    let question = NewDecision { question: "which?".into(), choice: "this".into(), ..NewDecision::default() };
    ann.record_decision(question).await.unwrap();
    ann.record_discovery(NewDiscovery { content: "a door".into(), ..NewDiscovery::default() }).await.unwrap();
    ann.record_artifact(NewArtifact { path: "src/a.rs".into(), ..NewArtifact::default() }).await.unwrap();

    let view = board.view().await.unwrap();
    let document = serde_json::to_value(view.document().unwrap()).unwrap();
    let keys: Vec<_> = document.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "agent_contributions",
        "approvals",
        "archived_at",
        "artifacts",
        "at",
        "choices",
        "constraints",
        "cores",
        "created_at",
        "created_by",
        "decisions",
        "discoveries",
        "ended_at",
        "forked_from",
        "goal",
        "id",
        "learnings_extracted",
        "name",
        "nudges",
        "on_failure",
        "orchestrator",
        "outcome",
        "paused",
        "reason",
        "retain_until",
        "rev",
        "status",
        "task_graph",
        "tasks",
        "updated_at",
        "version",
        "waived",
    ];
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert_eq!(
        (&document["id"], &document["name"], &document["status"]),
        (&json!("auth-1"), &json!("auth"), &json!("active"))
    );
    assert_eq!(document["created_at"], json!(start()));
    assert_eq!((&document["rev"], &document["nudges"], &document["approvals"]), (&json!(8), &json!([]), &json!([])));
    assert_eq!(document["cores"], json!(["auth-jwt"]));
    let graph = &document["task_graph"];
    assert_eq!(graph["nodes"], json!(["T-1", "T-2", "T-3", "T-4", "T-5", "T-6"]));
    assert_eq!(
        graph["edges"],
        json!([
            { "from": "T-1", "to": "T-2", "type": "blocks" },
            { "from": "T-1", "to": "T-4", "type": "blocks" },
            { "from": "T-2", "to": "T-1", "type": "depends_on" },
            { "from": "T-2", "to": "T-4", "type": "blocks" },
            { "from": "T-4", "to": "T-1", "type": "depends_on" },
            { "from": "T-4", "to": "T-2", "type": "depends_on" },
        ])
    );
    assert_eq!(graph["ready"], json!(["T-5"]));
    assert_eq!(graph["blocked"], json!(["T-2", "T-4", "T-6"]));
    assert_eq!(graph["in_progress"], json!(["T-1"]));
    assert_eq!(graph["needs_review"], json!(["T-3"]));
    let first = &document["tasks"][0];
    assert_eq!(
        (&first["id"], &first["status"], &first["assigned_to"]),
        (&json!("T-1"), &json!("in_progress"), &json!("ann"))
    );
    assert_eq!((&first["blocks"], &first["hindrances"]), (&json!(["T-2", "T-4"]), &json!([])));
    assert_eq!(document["tasks"][1]["hindrances"], json!([{ "type": "dependencies", "depends_on": ["T-1"] }]));
    assert_eq!(document["tasks"][5]["hindrances"], json!([{ "type": "choice", "choice": "C-1" }]));
    assert_eq!(document["tasks"][2]["result"], json!({ "summary": "done", "next_steps": [], "trust": null }));
    assert_eq!(document["artifacts"][0]["path"], json!("src/a.rs"));
    assert_eq!(
        document["agent_contributions"],
        json!([{
            "agent": "ann",
            "role": "worker",
            "tasks_completed": [],
            "decisions_made": ["D-1"],
            "discoveries": ["F-1"],
            "artifacts_created": ["A-1"],
            "first_contribution": start(),
            "last_contribution": start(),
            "first_rev": 6,
            "last_rev": 8,
            "log_ref": "board/auth-1#6..8@ann",
        }])
    );
    assert_eq!(board.contributions().await.unwrap(), view.contributions());
    let fork = board.fork().await.unwrap();
    let forked = fork.view().await.unwrap();
    let document = serde_json::to_value(forked.document().unwrap()).unwrap();
    assert_eq!(document["forked_from"], json!({ "board": "auth-1", "rev": 8 }));
}

#[tokio::test]
async fn a_large_boards_progress_lists_a_hundred_tasks_and_counts_all() {
    let corkboard = Home::memory().open().await;
    let board = corkboard.create_board(NewBoard { name: "large".into(), ..NewBoard::default() }).await.unwrap();
    let ready =
        (0..120).map(|number| NewTask { key: Some(format!("k{number}")), ..NewTask::new(format!("t{number}")) });
    let blocked =
        (0..110).map(|number| NewTask { depends_on: vec!["k0".into()], ..NewTask::new(format!("b{number}")) });
    board.add_tasks(ready.chain(blocked).collect(), vec![]).await.unwrap();
    let progress = board.view().await.unwrap().progress().unwrap();
    assert_eq!((progress.ready.len(), progress.counts.ready), (100, 120));
    assert_eq!((progress.blocked.len(), progress.counts.blocked), (100, 110));
    assert_eq!(progress.ready[..], (1..=100).map(TaskId).collect::<Vec<_>>()[..], "the first ones");
    assert_eq!((progress.tasks, progress.failed.len(), progress.counts.failed), (230, 0, 0));
}
