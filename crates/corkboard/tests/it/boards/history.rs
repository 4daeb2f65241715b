//! Boards at earlier revisions, differences, and forks.

use std::time::Duration;

use corkboard::boards::{
    BoardEdit, BoardStatus, DiscoveryType, NewArtifact, NewBranch, NewChoice, NewDecision, NewDiscovery, NewTask,
    ReviewVerdict, TaskEdit, TaskId, TaskStatus, Unfinished,
};
use corkboard::store::StoreError;
use corkboard::{Actor, ActorKind, Board, BoardChange, Corkboard, Error, Options, Retention, Role, SnapshotPolicy};

use super::{LEASE, chain, done, new_board, worker};
use crate::common::{Home, in_time, on_every_store};

/// A board with some history, and a handle that acts as its owner.
async fn story(corkboard: &Corkboard) -> Board {
    let owner = Actor::new("olga", ActorKind::Human, Role::Human);
    let board = corkboard.create_board(new_board("auth")).acting_as(owner).await.unwrap();
    let keyed = |key: &str| NewTask { key: Some(key.into()), ..NewTask::new(format!("the {key}")) };
    let tasks = vec![
        NewTask { needs_review: true, ..keyed("design") },
        NewTask { depends_on: vec!["design".into()], ..keyed("jose") },
        NewTask { depends_on: vec!["design".into()], ..keyed("own") },
    ];
    let branch = |name: &str| NewBranch { name: name.into(), tasks: vec![name.into()] };
    let choice = NewChoice { question: "Which library?".into(), options: vec![branch("jose"), branch("own")] };
    board.add_tasks(tasks, vec![choice]).await.unwrap();
    board
}

#[tokio::test]
async fn a_board_can_be_seen_at_every_revision() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 3).await;
        let ann = board.acting_as(worker("ann"));
        let mut views = vec![board.at(1).await.unwrap(), board.view().await.unwrap()];
        while let Some(claimed) = ann.claim_task(None, LEASE).await.unwrap() {
            views.push(board.view().await.unwrap());
            home.clock.advance(Duration::from_secs(1));
            ann.complete_task(claimed.task, done(), Some(claimed.epoch)).await.unwrap();
            views.push(board.view().await.unwrap());
        }
        for (rev, view) in (1..).zip(&views) {
            let then = board.at(rev).await.unwrap();
            assert_eq!((then.rev(), then.state()), (rev, view.state()));
            assert!(then.at() <= view.at());
        }
        let last = views.len() as u64;
        let future = board.at(last + 1).await.unwrap_err();
        assert!(
            matches!(future, Error::Store(StoreError::Future { asked, head }) if asked == head + 1 && head == last)
        );
        assert_eq!(board.at(0).await.unwrap_err().code(), "no_board");
        assert_eq!(corkboard.board("never").unwrap().at(1).await.unwrap_err().code(), "no_board");
        assert_eq!(corkboard.board("never").unwrap().diff(0, 1).await.unwrap_err().code(), "no_board");
        // A view shows a lease as it was at that revision, even if it has expired since.
        board.add_task(NewTask::new("more")).await.unwrap();
        ann.claim_task(None, LEASE).await.unwrap().unwrap();
        let rev = board.view().await.unwrap().rev();
        home.clock.advance(LEASE);
        assert_eq!(board.at(rev).await.unwrap().in_progress().len(), 1);
        assert_eq!(board.view().await.unwrap().in_progress().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_dropped_revision_is_refused_with_the_oldest_available_one() {
    let home = Home::sqlite();
    let snapshots = SnapshotPolicy { events: 10, bytes: u64::MAX };
    let options = Options { snapshots, retention: Some(Retention::Revisions(4)), ..home.options() };
    let corkboard = home.open_with(options).await;
    let board = chain(&corkboard, 2).await;
    let mut oldest = 0;
    while oldest < 20 {
        board.add_task(NewTask::new("one more")).await.unwrap();
        oldest = match board.at(1).await {
            Ok(_) => 0,
            Err(Error::Store(StoreError::Compacted { oldest })) => oldest,
            Err(error) => panic!("{error}"),
        };
    }
    // Retention can drop more while the test reads. Then the error names a newer oldest revision.
    let (mut asked, mut seen) = (oldest - 1, 0);
    while seen < 2 {
        match board.at(asked).await {
            Ok(view) => {
                assert_eq!(view.rev(), asked);
                assert_eq!(view.state().task_count() as u64, asked, "two tasks in the second revision, then one each");
                seen += 1;
                asked += 1;
            }
            Err(Error::Store(StoreError::Compacted { oldest })) => {
                assert!(oldest > asked);
                asked = oldest;
            }
            Err(Error::Store(StoreError::Future { .. })) => drop(board.add_task(NewTask::new("later")).await.unwrap()),
            Err(error) => panic!("{error}"),
        }
    }
    let last = asked - 1;
    assert_eq!(board.diff(1, last).await.unwrap_err().code(), "compacted");
    assert!(board.diff(last, last).await.unwrap().is_empty());
    assert_eq!(board.diff(last - 1, last).await.unwrap().changes.len(), 1);
}

#[tokio::test]
async fn a_difference_describes_each_change_and_who_made_it() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = story(&corkboard).await;
        let (ann, qa) =
            (board.acting_as(worker("ann")), board.acting_as(Actor { role: Role::Reviewer, ..worker("qa") }));
        let created = board.diff(0, 2).await.unwrap().to_string();
        assert_eq!(
            created,
            "olga created the board \"auth\".\n\
             olga added T-1 \"the design\".\n\
             olga added T-2 \"the jose\".\n\
             olga added T-3 \"the own\".\n\
             C-1 was added: Which library? Options: \"jose\" and \"own\".\n"
        );
        let claim = ann.work_on(None, LEASE).await.unwrap().unwrap();
        let decision = NewDecision {
            question: "Which algorithm?".into(),
            choice: "RS256".into(),
            affects_tasks: vec![TaskId(1)],
            ..NewDecision::default()
        };
        let first = claim.record_decision(decision.clone()).await.unwrap();
        let again = NewDecision { choice: "HS256".into(), supersedes: Some(first), ..decision };
        claim.record_decision(again).await.unwrap();
        let kind = DiscoveryType::Constraint;
        let found = NewDiscovery { content: "No such column.".into(), kind, ..NewDiscovery::default() };
        claim.record_discovery(found).await.unwrap();
        let artifact = NewArtifact { path: "schema/tokens.sql".into(), ..NewArtifact::default() };
        claim.record_artifact(artifact).await.unwrap();
        claim.complete(done()).await.unwrap();
        let middle = board.view().await.unwrap().rev();
        let work = board.diff(2, middle).await.unwrap();
        assert_eq!(
            work.to_string(),
            "ann moved T-1 \"the design\" from pending to review.\n\
             T-1 is assigned to ann.\n\
             ann decided D-1: Which algorithm? \"RS256\".\n\
             D-1 was superseded by D-2.\n\
             ann decided D-2: Which algorithm? \"HS256\".\n\
             ann found F-1 (constraint): No such column.\n\
             ann recorded A-1: \"schema/tokens.sql\", version 1.\n"
        );
        qa.review_task(TaskId(1), ReviewVerdict::Approved, Some("looks good".into())).await.unwrap();
        board.choose("C-1".parse().unwrap(), "jose", None).await.unwrap();
        board.edit(BoardEdit { goal: Some("JWT".into()), ..BoardEdit::default() }, None).await.unwrap();
        board.edit_task(TaskId(2), TaskEdit { priority: Some(3), ..TaskEdit::default() }, None).await.unwrap();
        let third = board.add_task(NewTask::new("the tests")).await.unwrap();
        board.add_dependency(third, TaskId(2)).await.unwrap();
        let end = board.view().await.unwrap().rev();
        assert_eq!(
            board.diff(middle, end).await.unwrap().to_string(),
            "The board's goal changed.\n\
             qa moved T-1 \"the design\" from review to completed: \"done\".\n\
             T-1 was approved by qa: looks good.\n\
             T-2's priority changed.\n\
             olga moved T-3 \"the own\" from pending to cancelled: \"branch not taken\".\n\
             olga added T-4 \"the tests\".\n\
             olga chose \"jose\" in C-1.\n"
        );
        let json = serde_json::to_value(&work).unwrap();
        let moved = &json["changes"][0];
        assert_eq!((moved["type"].as_str(), moved["task"].as_str()), (Some("task_moved"), Some("T-1")));
        assert_eq!((moved["from"].as_str(), moved["to"].as_str()), (Some("pending"), Some("review")));
        assert!(board.diff(end, end).await.unwrap().is_empty());
        assert_eq!(board.diff(3, 3).await.unwrap().to_string(), "Nothing changed from revision 3 to 3.\n");
        assert_eq!(board.diff(3, 2).await.unwrap_err().code(), "backwards");
        assert_eq!(board.diff(3, end + 1).await.unwrap_err().code(), "future_revision");
    })
    .await;
}

#[tokio::test]
async fn a_difference_describes_leases_and_the_end_of_a_board() {
    let home = Home::memory();
    let corkboard = home.open().await;
    let board = chain(&corkboard, 2).await;
    let chief = Actor::new("chief", ActorKind::Agent, Role::Orchestrator);
    board.acting_as(chief).acquire_orchestrator(LEASE).await.unwrap();
    board.acting_as(worker("ann")).claim_task(None, LEASE).await.unwrap();
    let held = board.view().await.unwrap().rev();
    home.clock.advance(LEASE);
    corkboard.tick().await.unwrap();
    assert_eq!(
        board.diff(held, held + 1).await.unwrap().to_string(),
        "chief is no longer the orchestrator.\n\
         corkboard moved T-1 \"task 0\" from in_progress to pending.\n\
         T-1 is no longer assigned to ann.\n"
    );
    // Claimed and released again: the difference shows only that an attempt was started.
    let again = board.diff(held - 2, held + 1).await.unwrap().to_string();
    assert_eq!(again, "T-1 is pending again (latest attempt: 1).\n");
    board.complete(Some("enough".into()), Unfinished::Cancel).await.unwrap();
    let ended = board.diff(held + 1, held + 2).await.unwrap();
    assert_eq!(ended.changes[0].to_string(), "The board has ended; outcome: failed.");
    let reasons = ended.changes[1..].iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(
        reasons.iter().all(|line| line.contains("to cancelled: ") && line.ends_with("\"board ended\".")),
        "{reasons:?}"
    );
    assert!(matches!(ended.changes[0], BoardChange::BoardEnded { status: BoardStatus::Completed, .. }));
}

#[tokio::test]
async fn a_fork_is_a_new_board_from_a_revision_of_another() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 2).await;
        let ann = board.acting_as(worker("ann"));
        let claim = ann.work_on(None, LEASE).await.unwrap().unwrap();
        let held = board.view().await.unwrap().rev();
        claim.complete(done()).await.unwrap();
        board.complete(None, Unfinished::Cancel).await.unwrap();
        // From the middle: a claimed task becomes pending, and nobody holds it.
        let fork = board.fork().at(held).name("second try").id("second").await.unwrap();
        let view = fork.view().await.unwrap();
        let info = view.info().unwrap();
        let from = info.forked_from.as_ref().unwrap();
        assert_eq!(
            (fork.id().as_str(), view.rev(), &*info.name, info.status),
            ("second", 1, "second try", BoardStatus::Active)
        );
        assert_eq!((from.board.as_str(), from.rev), (board.id().as_str(), held));
        let task = view.task(TaskId(1)).unwrap();
        assert_eq!((task.status, &task.claim, &task.assigned_to), (TaskStatus::Pending, &None, &None));
        assert_eq!(view.ready().len(), 1);
        // The former holder has no rights in the fork, before and after another claim.
        let late = async || fork.acting_as(worker("ann")).complete_task(TaskId(1), done(), Some(1)).await.unwrap_err();
        assert_eq!(late().await.code(), "fenced");
        assert_eq!(fork.claim_task(None, LEASE).await.unwrap().unwrap().epoch, 2);
        assert_eq!(late().await.code(), "fenced");
        // From the end: completed tasks stay completed, and tasks that the end cancelled become pending.
        let whole = board.fork().await.unwrap();
        let view = whole.view().await.unwrap();
        assert_eq!((&*view.info().unwrap().name, view.state().count(TaskStatus::Completed)), ("chain", 1));
        assert!(view.ready().map(|task| task.id).eq([TaskId(2)]));
        assert_eq!(
            board.view().await.unwrap().info().unwrap().status,
            BoardStatus::Completed,
            "a fork does not change its source"
        );
        let taken = board.fork().id("second").await.unwrap_err();
        assert_eq!(taken.code(), "board_exists");
        assert_eq!(board.fork().name(" ").await.unwrap_err().code(), "blank");
        assert_eq!(board.fork().at(held + 9).await.unwrap_err().code(), "future_revision");
        assert_eq!(corkboard.board("never").unwrap().fork().await.unwrap_err().code(), "no_board");
    })
    .await;
}

#[tokio::test]
async fn repeating_a_fork_with_its_key_returns_the_same_fork() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 2).await;
        let first = board.fork().idempotency_key("f").await.unwrap();
        // The source changes, but a repeated request still refers to the same revision.
        board.add_task(NewTask::new("more")).await.unwrap();
        let again = board.fork().idempotency_key("f").await.unwrap();
        assert_eq!((again.id(), again.view().await.unwrap().state().task_count()), (first.id(), 2));
        let other = board.fork().name("another").idempotency_key("f").await.unwrap_err();
        assert_eq!(other.code(), "idempotency_mismatch");
        let other = board.fork().at(1).idempotency_key("f").await.unwrap_err();
        assert_eq!(other.code(), "idempotency_mismatch");
        assert_ne!(in_time(board.fork().into_future()).await.unwrap().id(), first.id());
    })
    .await;
}
