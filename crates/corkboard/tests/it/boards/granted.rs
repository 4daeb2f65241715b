//! A handle limited to granted spaces: board operations that use a memory core need access to that core.

use corkboard::boards::{BoardCommand, LearningId, LearningStatus, NewBoard, NewDiscovery, WhichLearnings};
use corkboard::cores::NewCoreEntry;
use corkboard::tokens::{Grant, Grants};
use corkboard::tools::{ToolContext, ToolRegistry, ToolSet};
use corkboard::{
    Actor, ActorKind, Board, CommandDocument, Corkboard, Error, Head, Result, Role, SpaceKind, TaskPattern,
};
use serde_json::json;

use super::new_board;

/// A handle with access to all boards and one core.
fn limited(corkboard: &Corkboard, core: &str) -> Corkboard {
    let grants = |name: &str| vec![Grant::new(name)];
    let grants = Grants { agents: grants("boss"), boards: grants("*"), cores: grants(core) };
    corkboard.acting_as(Actor::new("boss", ActorKind::Human, Role::Orchestrator)).limited_to(grants)
}

fn is_not_granted<T: std::fmt::Debug>(answered: Result<T>, core: &str) {
    match answered {
        Err(Error::NotGranted { principal, kind: "core", name }) => assert_eq!((&*principal, &*name), ("boss", core)),
        other => panic!("{core} is not granted: {other:?}"),
    }
}

async fn heads(corkboard: &Corkboard) -> Vec<(String, Head)> {
    let mut heads = Vec::new();
    for kind in [SpaceKind::Board, SpaceKind::Core] {
        let listed = corkboard.logs(kind, None, 100).await.unwrap();
        heads.extend(listed.into_iter().map(|listed| (listed.space.to_string(), listed.head)));
    }
    heads
}

/// A board with an insight, F-1, suggested for the core `secrets`.
async fn taught(corkboard: &Corkboard) -> Board {
    let board = corkboard.create_board(new_board("login")).id("login").await.unwrap();
    let (content, core) = ("users has no column".into(), Some("secrets".into()));
    board.record_discovery(NewDiscovery { content, promote_to_core: core, ..NewDiscovery::default() }).await.unwrap();
    board
}

fn first() -> LearningId {
    "F-1".parse().unwrap()
}

/// Sends a command as JSON, as clients do.
async fn command(corkboard: &Corkboard, command: BoardCommand) -> Result<()> {
    let document = CommandDocument { command, if_rev: None, idempotency_key: None, idempotency_body: None };
    let json = serde_json::to_vec(&document).unwrap();
    corkboard.log(SpaceKind::Board, "login").unwrap().command(&json).await.map(|_| ())
}

#[tokio::test]
async fn a_forged_promotion_cannot_add_another_text() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let board = taught(&corkboard).await;
    let (id, begun_rev) = (board.id().clone(), board.view().await.unwrap().rev() + 1);
    let planted = NewCoreEntry {
        board: Some(id),
        item: Some("F-1".into()),
        board_rev: Some(begun_rev),
        ..NewCoreEntry::new("users has every column")
    };
    let add = async |entry: &NewCoreEntry| {
        let json = serde_json::to_vec(&json!({ "command": { "add": { "entries": [entry] } } })).unwrap();
        corkboard.log(SpaceKind::Core, "secrets").unwrap().command(&json).await
    };
    assert_eq!(add(&planted).await.unwrap_err().code(), "no_promotion");
    let of_no_board = NewCoreEntry { board: None, ..planted.clone() };
    assert_eq!(add(&of_no_board).await.unwrap_err().code(), "no_promotion");

    board.promote_learning(first()).await.unwrap();
    let core = corkboard.core("secrets").unwrap();
    let said = core.entries().await.unwrap().items;
    assert!(said.iter().map(|entry| &*entry.content).eq(["users has no column"]), "{said:?}");
    assert_eq!(said[0].provenance[0].board_rev, Some(begun_rev));
    // A promotion counts once. The same origin added by hand is an ordinary entry.
    add(&planted).await.unwrap();
    add(&NewCoreEntry { board_rev: None, ..planted }).await.unwrap();
    assert_eq!(core.entries().await.unwrap().items.len(), 2);
}

#[tokio::test]
async fn reading_a_pattern_needs_access_to_its_core() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let core = corkboard.core("secrets").unwrap();
    // The entry is not a pattern. A caller who cannot read it must not learn that.
    core.add(NewCoreEntry::new("The safe is behind the picture")).await.unwrap();
    let before = heads(&corkboard).await;
    let pattern: TaskPattern = "secrets:E-1".parse().unwrap();
    let make = |core: &str| limited(&corkboard, core).create_board(new_board("x")).tasks_from_pattern(pattern.clone());
    is_not_granted(make("rules").await, "secrets");
    let refs = NewBoard { cores: vec!["secrets".into()], ..new_board("x") };
    let drawing = |core: &str| limited(&corkboard, core).create_board(refs.clone());
    is_not_granted(drawing("rules").tasks_from_pattern(TaskPattern::Best).await, "secrets");
    is_not_granted(drawing("rules").await, "secrets");
    assert_eq!(heads(&corkboard).await, before);
    assert_eq!(make("secrets").await.unwrap_err().code(), "task_pattern");
    drawing("secrets").await.unwrap();
}

#[tokio::test]
async fn promoting_needs_access_to_the_core_whether_named_or_suggested() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    taught(&corkboard).await;
    let before = heads(&corkboard).await;
    let boss = limited(&corkboard, "rules");
    let promote = |corkboard: &Corkboard| corkboard.board("login").unwrap().promote_learning(first());
    is_not_granted(promote(&boss).await, "secrets");
    is_not_granted(promote(&boss).core("secrets").await, "secrets");
    let suggested = BoardCommand::PromoteLearning { learning: first(), core: None, changes: Box::default() };
    is_not_granted(command(&boss, suggested.clone()).await, "secrets");
    let held = BoardCommand::AsOrchestrator { epoch: 1, command: Box::new(suggested) };
    is_not_granted(command(&boss, held).await, "secrets");
    let tools = ToolRegistry::with_sets(&boss, &ToolSet::ALL);
    let context = ToolContext { actor: Some(boss.actor().clone()), ..ToolContext::agent("boss").on_board("login") };
    let called = tools.call("promote_learning", json!({"learning": "F-1", "action": "promote"}), &context).await;
    let refused = called.unwrap_err().to_string();
    assert!(refused.contains("has no access to the core \"secrets\""), "{refused}");
    assert_eq!(heads(&corkboard).await, before);

    assert_eq!(promote(&boss).core("rules").await.unwrap().core.as_str(), "rules");
    corkboard.board("login").unwrap().roll_back_learnings(WhichLearnings::All, None).await.unwrap();
    assert_eq!(promote(&limited(&corkboard, "secrets")).await.unwrap().core.as_str(), "secrets");
}

#[tokio::test]
async fn rolling_back_needs_access_to_the_cores() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let board = taught(&corkboard).await;
    board.promote_learning(first()).await.unwrap();
    let before = heads(&corkboard).await;
    let boss = limited(&corkboard, "rules");
    for which in [WhichLearnings::All, WhichLearnings::These(vec![first()])] {
        let refused = boss.board("login").unwrap().roll_back_learnings(which.clone(), None).await;
        is_not_granted(refused, "secrets");
        is_not_granted(command(&boss, BoardCommand::RollBackLearnings { which, reason: None }).await, "secrets");
    }
    assert_eq!(heads(&corkboard).await, before);
    let state = board.learnings().await.unwrap().remove(0).status;
    assert!(matches!(state, LearningStatus::Promoted { .. }), "{state:?}");

    // Access is needed only for the cores of the selected learnings.
    let others = WhichLearnings::These(Vec::new());
    assert_eq!(boss.board("login").unwrap().roll_back_learnings(others, None).await.unwrap(), []);
    let insider = limited(&corkboard, "secrets").board("login").unwrap();
    assert_eq!(insider.roll_back_learnings(WhichLearnings::All, None).await.unwrap(), [first()]);
}
