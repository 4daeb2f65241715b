//! The complete example of the boards' specification: an orchestrator, two workers and a person, each with a separate
//! token.

use corkboard::cores::NewCoreEntry;
use corkboard::{ActorKind, Role};
use serde_json::json;

use super::{grants, text, with_grants};
use crate::support::Running;

#[tokio::test]
async fn an_authentication_system_is_built() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Running::on(&format!("sqlite:{}", folder.path().join("corkboard.db").display())).await;
    let jwt = server.corkboard.core("auth-jwt").expect("a core");
    jwt.add(NewCoreEntry::new("Auth tokens expire after an hour")).await.expect("an entry");
    let pattern = "How we build an auth system\n1. Design token schema [review] ~30m\n2. Write the routes (after 1)";
    let pattern = NewCoreEntry { tags: vec!["task-pattern".into(), "auth".into()], ..NewCoreEntry::new(pattern) };
    server.corkboard.core("acme-app").expect("a core").add(pattern).await.expect("a pattern");

    let on_boards = || grants(json!({"boards": ["auth-*"], "cores": ["auth-jwt", "acme-app"]}));
    let boss = with_grants(&server, "orchestrator", ActorKind::Agent, Role::Orchestrator, on_boards()).await;
    let work = || grants(json!({"boards": ["auth-*"]}));
    let dev = with_grants(&server, "dev", ActorKind::Agent, Role::Worker, work()).await;
    let qa = with_grants(&server, "qa", ActorKind::Agent, Role::Reviewer, work()).await;
    let human = with_grants(&server, "human", ActorKind::Human, Role::Human, work()).await;

    // 1. The orchestrator creates the board from knowledge in the cores.
    let goal = "Build auth system for the API";
    let new = json!({"name": goal, "cores": ["auth-jwt", "acme-app"], "pattern": "best"});
    let made = boss.post("/v1/boards", &new).await.ok();
    assert_eq!((&made["pattern"], &made["tasks"]), (&json!("acme-app:E-1"), &json!(["T-1", "T-2"])));
    let board = format!("/v1/boards/{}", text(&made["id"]));
    assert!(board.starts_with("/v1/boards/auth-build-auth-system"), "{board}");
    assert_eq!(made["drawn"].as_array().map(Vec::is_empty), Some(false));
    // 2. It assigns the first task.
    boss.post(&format!("{board}/tasks/T-1/assign"), &json!({"agent": "dev"})).await.ok();
    // 3. The agent starts, reads, finds a constraint and decides.
    let claimed = dev.post_nothing(&format!("{board}/tasks/claim")).await.ok();
    assert_eq!(claimed["task"], "T-1");
    let context = dev.post_nothing(&format!("{board}/tasks/T-1/context")).await.ok();
    assert!(
        text(&context["text"]).contains(goal) && text(&context["text"]).contains("expire after an hour"),
        "{context}"
    );
    let found =
        json!({"content": "User table has no refresh_token column", "type": "constraint", "affects_tasks": ["T-1"]});
    dev.post(&format!("{board}/discoveries"), &found).await.ok();
    let first = json!({"question": "Where do refresh tokens live?", "choice": "Add migration to add column", "affects_tasks": ["T-1"]});
    dev.post(&format!("{board}/decisions"), &first).await.ok();
    // 4. A person disagrees.
    let nudge = json!({"to": {"agent": "dev"}, "message": "Don't modify user table, use separate token table", "priority": "urgent"});
    human.post(&format!("{board}/nudges"), &nudge).await.ok();
    // 5. The agent sees the nudge on its next turn and changes the decision.
    let context = dev.post_nothing(&format!("{board}/tasks/T-1/context")).await.ok();
    assert!(text(&context["text"]).contains("use separate token table"), "{context}");
    let second = json!({"question": "Where do refresh tokens live?", "choice": "A table of their own",
        "rationale": "The user table is not to be modified", "affects_tasks": ["T-1"]});
    dev.post(&format!("{board}/decisions/D-1/supersede"), &second).await.ok();
    dev.post_nothing(&format!("{board}/nudges/N-1/ack")).await.ok();
    // 6. It creates the schema and completes the task.
    let schema = json!({"type": "code", "path": "schema/tokens.sql", "task": "T-1", "content": "create table tokens (id integer);"});
    dev.post(&format!("{board}/artifacts"), &schema).await.ok();
    let result = json!({"summary": "A table for tokens", "epoch": claimed["epoch"]});
    assert_eq!(dev.post(&format!("{board}/tasks/T-1/complete"), &result).await.ok()["status"], "review");
    dev.post(&format!("{board}/tasks/T-1/review"), &json!({"verdict": "approved"})).await.problem(403, "role_denied");
    // 7. The orchestrator sees the result and assigns a reviewer.
    let waiting = boss.get(&format!("{board}/tasks?view=needs_review")).await.ok();
    assert_eq!(
        (&waiting["items"][0]["id"], &waiting["items"][0]["result"]["summary"]),
        (&json!("T-1"), &json!("A table for tokens"))
    );
    boss.post(&format!("{board}/tasks/T-1/assign"), &json!({"agent": "qa", "review": true})).await.ok();
    // 8. It is approved, and the next task is ready.
    assert_eq!(
        qa.post(&format!("{board}/tasks/T-1/review"), &json!({"verdict": "approved"})).await.ok()["status"],
        "completed"
    );
    assert_eq!(boss.get(&format!("{board}/status")).await.ok()["ready"], json!(["T-2"]));
    assert_eq!(dev.post_nothing(&format!("{board}/tasks/claim")).await.ok()["task"], "T-2");
    dev.post(&format!("{board}/tasks/T-2/complete"), &json!({"summary": "Three routes"})).await.ok();
    assert_eq!(boss.post_nothing(&format!("{board}/complete")).await.ok()["outcome"], "success");
    // The board's learnings are promoted to a core.
    let taught = boss.post_nothing(&format!("{board}/learnings/extract")).await.ok();
    assert!(taught["items"].as_array().expect("learnings").iter().any(|learning| learning["id"] == "D-2"), "{taught}");
    boss.post(&format!("{board}/learnings/D-2/promote"), &json!({"core": "auth-jwt"})).await.ok();
    let archived = boss.post_nothing(&format!("{board}/archive")).await.ok();
    assert!(archived["retain_until"].is_string());

    let all = human.get(&board).await.ok();
    assert_eq!((&all["status"], &all["outcome"]), (&json!("archived"), &json!("success")));
    let by = |name: &str| {
        all["agent_contributions"].as_array().expect("contributions").iter().find(|by| by["agent"] == name).cloned()
    };
    let dev_did = by("dev").expect("what dev did");
    assert_eq!(
        (&dev_did["tasks_completed"], &dev_did["decisions_made"]),
        (&json!(["T-1", "T-2"]), &json!(["D-1", "D-2"]))
    );
    assert_eq!(all["nudges"][0]["acknowledged"][0]["agent"], "dev");
    server.stop().await;
}
