//! Searching a board: an item is found by its words as soon as it is written, by any author.

use std::time::Duration;

use corkboard::boards::{
    NewArtifact, NewBoard, NewBranch, NewChoice, NewDecision, NewDiscovery, NewTask, TaskEdit, TaskId, TaskResult,
};
use corkboard::{Board, Corkboard, Search};

use crate::common::{Home, on_every_store};

async fn a_board(corkboard: &Corkboard) -> Board {
    let new = NewBoard { name: "b".into(), goal: "g".into(), ..NewBoard::default() };
    corkboard.create_board(new).await.unwrap()
}

/// The IDs of the hits, best first.
async fn found(board: &Board, query: &str) -> Vec<String> {
    board.search(query).words_only(true).await.unwrap().into_iter().map(|hit| hit.item.name()).collect()
}

#[tokio::test]
async fn everything_on_a_board_is_found_by_its_words() {
    on_every_store(async |home: Home| {
        let board = a_board(&home.open().await).await;
        assert_eq!(found(&board, "anything").await, [""; 0]);
        let schema = NewTask { description: "Claims of the tokens".into(), ..NewTask::new("Design the schema") };
        let tasks = vec![schema, NewTask::new("Paint the fence"), NewTask::new("Mow the lawn")];
        board.add_tasks(tasks, vec![]).await.unwrap();
        let branch = |name: &str, task: &str| NewBranch { name: name.into(), tasks: vec![task.into()] };
        let options = vec![branch("brush", "T-2"), branch("scythe", "T-3")];
        let choice = NewChoice { question: "Which chore?".into(), options };
        board.add_tasks(vec![], vec![choice]).await.unwrap();
        let decision = NewDecision {
            question: "Which library?".into(),
            choice: "jose".into(),
            alternatives: vec!["jsonwebtoken".into()],
            rationale: "it is maintained".into(),
            ..NewDecision::default()
        };
        board.record_decision(decision).await.unwrap();
        let content = "The users table has no refresh column\nand never had".to_owned();
        board.record_discovery(NewDiscovery { content, ..NewDiscovery::default() }).await.unwrap();
        let artifact = |description: &str| NewArtifact {
            path: "src/token_service.rs".into(),
            description: description.into(),
            ..NewArtifact::default()
        };
        board.record_artifact(artifact("signs things")).await.unwrap();

        for (query, expected) in [
            ("claims", "T-1"),
            ("designing schemas", "T-1"),
            ("painted", "T-2"),
            ("jsonwebtoken", "D-1"),
            ("maintained library", "D-1"),
            ("refresh columns", "F-1"),
            ("token_service", "A-1"),
            ("signing", "A-1"),
            ("scythe", "C-1"),
        ] {
            assert_eq!(found(&board, query).await.first().map(String::as_str), Some(expected), "{query}");
        }
        let hit = board.search("refresh").await.unwrap().remove(0);
        assert!(hit.score > 0.0 && hit.snippet.contains("refresh column"), "{hit:?}");
        let json = serde_json::to_value(&hit).unwrap();
        assert_eq!((&json["id"], &json["kind"]), (&"F-1".into(), &"discovery".into()));
        assert_eq!(json["title"], "The users table has no refresh column");

        // Search finds the newest version of an artifact. The title of a superseded decision says so.
        board.record_artifact(artifact("signs and verifies")).await.unwrap();
        assert_eq!(found(&board, "service").await, ["A-2"]);
        let instead = NewDecision {
            question: "Which library now?".into(),
            choice: "ring".into(),
            supersedes: Some("D-1".parse().unwrap()),
            ..NewDecision::default()
        };
        board.record_decision(instead).await.unwrap();
        let old = board.search("jsonwebtoken").await.unwrap().remove(0);
        let old = serde_json::to_value(old).unwrap();
        assert_eq!(old["title"], "Which library? (superseded by D-2)");
    })
    .await;
}

#[tokio::test]
async fn every_handle_finds_a_write_with_its_next_search() {
    let home = Home::sqlite();
    let (mine, theirs) = (home.open().await, home.open().await);
    let board = a_board(&mine).await;
    let other = theirs.board(board.id().as_str()).unwrap();
    board.add_task(NewTask::new("Water the plants")).await.unwrap();
    for searching in [&board, &other] {
        assert_eq!(found(searching, "plants").await, ["T-1"]);
    }
    // An edit replaces the old words in the index.
    let edit = TaskEdit { title: Some("Feed the cat".into()), ..TaskEdit::default() };
    other.edit_task(TaskId(1), edit, None).await.unwrap();
    for searching in [&board, &other] {
        assert_eq!(found(searching, "plants").await, [""; 0]);
        assert_eq!(found(searching, "cats").await, ["T-1"]);
    }
    board.claim_task(None, Duration::from_secs(60)).await.unwrap();
    let result =
        TaskResult { summary: "It ate the herring".into(), next_steps: vec!["Buy sardines".into()], trust: None };
    board.complete_task(TaskId(1), result, None).await.unwrap();
    assert_eq!(found(&other, "herring").await, ["T-1"]);
    assert_eq!(found(&other, "sardines").await, ["T-1"]);
}

#[tokio::test]
async fn a_recreated_board_contains_nothing_of_the_old_one() {
    let home = Home::sqlite();
    let (mine, theirs) = (home.open().await, home.open().await);
    let board = a_board(&mine).await;
    board.add_tasks(vec![NewTask::new("old apples"), NewTask::new("plums, plums")], vec![]).await.unwrap();
    assert_eq!(found(&board, "apples plums").await.len(), 2);
    assert!(theirs.delete_board(board.id().as_str()).await.unwrap());
    let new = NewBoard { name: "b".into(), goal: "g".into(), ..NewBoard::default() };
    let again = theirs.create_board(new).id(board.id().as_str()).await.unwrap();
    let description = "Nothing else. ".repeat(500);
    again.add_task(NewTask { description, ..NewTask::new("what is known of new plums") }).await.unwrap();
    assert_eq!(found(&board, "apples").await, [""; 0]);
    // Deleted items do not use up the limit.
    let best = board.search("plums").limit(1).await.unwrap();
    assert_eq!(best.first().map(|hit| hit.item.name()).as_deref(), Some("T-1"));
    assert!(theirs.delete_board(board.id().as_str()).await.unwrap());
    assert_eq!(board.search("plums").await.unwrap_err().code(), "no_board");
}

#[tokio::test]
async fn a_query_must_not_be_blank_and_hits_are_limited() {
    let board = a_board(&Home::memory().open().await).await;
    board.add_tasks((0..80).map(|at| NewTask::new(format!("same task {at}"))).collect(), vec![]).await.unwrap();
    assert_eq!(board.search("same").await.unwrap().len(), Search::LIMIT);
    for limit in [3, Search::MAX_LIMIT] {
        assert_eq!(board.search("same").limit(limit).await.unwrap().len(), limit);
    }
    for limit in [0, Search::MAX_LIMIT + 1] {
        assert_eq!(board.search("same").limit(limit).await.unwrap_err().code(), "out_of_range");
    }
    assert_eq!(board.search(" \n").await.unwrap_err().code(), "blank");
    assert_eq!(board.search(&"x".repeat(1 << 20)).await.unwrap_err().code(), "limit");
    let nowhere = Home::memory().open().await.board("nowhere").unwrap();
    assert_eq!(nowhere.search("x").await.unwrap_err().code(), "no_board");
}
