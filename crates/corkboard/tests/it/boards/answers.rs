//! Four questions that the design answers: long runs, simultaneous writers, dead holders, and who receives which
//! events.

use std::time::Duration;

use corkboard::boards::{
    BoardEdit, BoardEvent, NewArtifact, NewDecision, NewDiscovery, NewTask, TaskEdit, TaskId, TaskStatus, Unfinished,
};
use corkboard::store::StoreError;
use corkboard::{
    Actor, ActorKind, Board, Corkboard, Error, Options, Refusal, Retention, Role, SnapshotPolicy, Watched,
};

use super::{LEASE, chain, done, new_board, worker};
use crate::common::{Home, in_time, on_every_store, refusal};

fn chief(name: &str) -> Actor {
    Actor::new(name, ActorKind::Agent, Role::Orchestrator)
}

/// A day's work: tasks are added, claimed, lost and completed, and records of all kinds are written.
async fn a_day(board: &Board, day: u64, home: &Home) {
    let [ann, bob] = ["ann", "bob"].map(|name| board.acting_as(worker(name)));
    let tasks = (0..3).map(|index| NewTask::new(format!("{day}.{index}"))).collect();
    board.add_tasks(tasks, vec![]).await.unwrap();
    let first = ann.claim_task(None, LEASE).await.unwrap().unwrap();
    let question = format!("day {day}?");
    let decision =
        NewDecision { question, choice: "yes".into(), affects_tasks: vec![first.task], ..Default::default() };
    ann.record_decision(decision).await.unwrap();
    ann.complete_task(first.task, done(), Some(first.epoch)).await.unwrap();
    let second = bob.claim_task(None, LEASE).await.unwrap().unwrap();
    bob.record_discovery(NewDiscovery { content: format!("day {day}"), ..Default::default() }).await.unwrap();
    home.clock.advance(Duration::from_secs(24 * 3600));
    // Bob's lease expired overnight.
    let again = ann.claim_task(Some(second.task), LEASE).await.unwrap().unwrap();
    ann.record_artifact(NewArtifact { path: "log.txt".into(), ..Default::default() }).await.unwrap();
    ann.complete_task(again.task, done(), Some(again.epoch)).await.unwrap();
}

/// After weeks, snapshots and retention have dropped almost all of the log, and every view is still complete.
#[tokio::test]
async fn answer_2_weeks_of_work_lose_no_view() {
    let (kept, dropped) = (Home::sqlite(), Home::sqlite());
    let snapshots = SnapshotPolicy { events: 20, bytes: u64::MAX };
    let options = Options { snapshots, retention: Some(Retention::Revisions(2)), ..dropped.options() };
    let (keeps, drops) = (kept.open().await, dropped.open_with(options).await);
    let mut boards = Vec::new();
    for (home, corkboard) in [(&kept, &keeps), (&dropped, &drops)] {
        let board = corkboard.create_board(new_board("long")).id("long").await.unwrap();
        for day in 0..21 {
            a_day(&board, day, home).await;
        }
        boards.push(board);
    }
    in_time(async {
        while boards[1].watch(0).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(boards[0].watch(0).await.is_ok());
    drops.close().await.unwrap();
    // From the snapshot and the rest of the log.
    let reopened = dropped.open().await;
    let board = reopened.board("long").unwrap();
    let (whole, left) = (boards[0].view().await.unwrap(), board.view().await.unwrap());
    assert_eq!(left.state(), whole.state());
    let json = |view: &corkboard::BoardView| serde_json::to_string(&view.document().unwrap()).unwrap();
    assert_eq!(json(&left), json(&whole));
    assert_eq!(left.state().count(TaskStatus::Completed), 42);
    assert_eq!(left.contributions()[0].contribution.tasks_completed.len(), 42);
    assert_eq!(left.contributions().len(), 2);
    assert_eq!(left.state().artifact_at("log.txt").unwrap().version, 21);
    assert_eq!(board.at(2).await.unwrap_err().code(), "compacted");
    // Work continues.
    a_day(&board, 21, &dropped).await;
    assert_eq!(board.view().await.unwrap().state().count(TaskStatus::Completed), 44);
}

#[tokio::test]
async fn answer_3_the_second_of_two_writers_gets_the_current_value() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 1).await;
        let task = TaskId(1);
        let title = |title: &str| TaskEdit { title: Some(title.into()), ..TaskEdit::default() };
        let version = board.view().await.unwrap().task(task).unwrap().version;
        let (first, second) = tokio::join!(
            board.edit_task(task, title("mine"), Some(version)),
            board.edit_task(task, title("yours"), Some(version))
        );
        let (won, lost) = if first.is_ok() { (first, second) } else { (second, first) };
        match refusal(lost) {
            Refusal::TaskConflict { expected, current } => {
                assert_eq!((expected, current.version), (version, won.unwrap()));
                assert!(["mine", "yours"].contains(&&*current.title));
            }
            other => panic!("{other:?}"),
        }
        let goal = |goal: &str| BoardEdit { goal: Some(goal.into()), ..BoardEdit::default() };
        let rev = board.edit(goal("a"), Some(1)).await.unwrap();
        match refusal(board.edit(goal("b"), Some(1)).await) {
            Refusal::BoardConflict { expected: 1, current } => {
                assert_eq!((current.version, &*current.goal), (rev, "a"))
            }
            other => panic!("{other:?}"),
        }
        // A condition on the whole board.
        let late = board.if_rev(rev - 1).add_task(NewTask::new("late")).await;
        assert_eq!(refusal(late), Refusal::RevConflict { expected: rev - 1, current: rev });
        board.if_rev(rev).add_task(NewTask::new("in time")).await.unwrap();
        // Appends never conflict.
        let all: Vec<_> = (0..50)
            .map(|index| {
                let board = board.acting_as(worker(&format!("w{index}")));
                tokio::spawn(async move {
                    board.record_discovery(NewDiscovery { content: format!("{index}"), ..Default::default() }).await
                })
            })
            .collect();
        for one in all {
            one.await.unwrap().unwrap();
        }
        assert_eq!(board.view().await.unwrap().state().discoveries().count(), 50);
        // A repeated request gets the same answer, without a second effect, in every process. Another key is another
        // request.
        let add = async |board: &Board, title: &str| board.idempotency_key("k").add_task(NewTask::new(title)).await;
        let id = add(&board, "once").await.unwrap();
        let before = board.view().await.unwrap().rev();
        assert_eq!(add(&board, "once").await.unwrap(), id);
        assert!(matches!(refusal(add(&board, "other").await), Refusal::IdempotencyMismatch { .. }));
        if home.is_shared() {
            let elsewhere = home.open().await.board(board.id().as_str()).unwrap();
            assert_eq!(add(&elsewhere, "once").await.unwrap(), id);
        }
        assert_eq!(board.view().await.unwrap().rev(), before);
        assert_ne!(add(&board.acting_as(chief("ann")), "once").await.unwrap(), id);
    })
    .await;
}

#[tokio::test]
async fn answer_5_a_dead_worker_and_a_dead_orchestrator_are_replaced_and_fenced() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 2).await;
        let [ann, bob] = ["ann", "bob"].map(|name| board.acting_as(worker(name)));
        let first = board.acting_as(chief("first")).acquire_orchestrator(LEASE).await.unwrap();
        let claimed = ann.claim_task(None, LEASE).await.unwrap().unwrap();
        assert_eq!(claimed.deadline, home.clock_now() + LEASE);
        // Assignment has no lease.
        board.assign_task(TaskId(2), "bob").await.unwrap();
        // A heartbeat that moves the deadline by a tenth or less is not logged. Every call of the holder renews the
        // lease.
        let rev = async || board.view().await.unwrap().rev();
        let before = rev().await;
        home.clock.advance(LEASE / 10);
        assert_eq!(ann.heartbeat(TaskId(1), Some(1)).await.unwrap(), claimed.deadline);
        assert_eq!(rev().await, before);
        home.clock.advance(LEASE / 3);
        assert_eq!(ann.heartbeat(TaskId(1), Some(1)).await.unwrap(), home.clock_now() + LEASE);
        first.board().add_task(NewTask::new("by the first")).await.unwrap();
        home.clock.advance(LEASE * 2 / 3);
        let affects_tasks = vec![TaskId(1)];
        ann.record_discovery(NewDiscovery { content: "alive".into(), affects_tasks, ..Default::default() })
            .await
            .unwrap();
        assert_eq!(board.view().await.unwrap().task(TaskId(1)).unwrap().status, TaskStatus::InProgress);
        assert!(board.view().await.unwrap().state().orchestrator().is_some());
        // No heartbeat arrives. The ticker of another process, which never loaded the board, writes the expiry.
        home.clock.advance(LEASE);
        assert_eq!(board.view().await.unwrap().in_progress().len(), 0, "expired, even before the expiry is written");
        let ticker = if home.is_shared() { home.open().await } else { corkboard.clone() };
        assert_eq!(ticker.tick().await.unwrap(), 1);
        assert_eq!(ticker.tick().await.unwrap(), 0);
        let view = board.view().await.unwrap();
        let task = view.task(TaskId(1)).unwrap();
        assert_eq!((task.status, task.attempt, &task.assigned_to), (TaskStatus::Pending, 1, &None));
        assert_eq!(view.task(TaskId(2)).unwrap().status, TaskStatus::Assigned);
        assert!(view.state().orchestrator().is_none());
        // The new holders have new epochs, and the old ones are refused when they return.
        let second = board.acting_as(chief("second")).acquire_orchestrator(LEASE).await.unwrap();
        assert_eq!(second.epoch(), 2);
        let next = bob.claim_task(Some(TaskId(1)), LEASE).await.unwrap().unwrap();
        assert_eq!((next.epoch, next.attempt), (2, 2));
        let fenced = |result: corkboard::Result<()>| match refusal(result) {
            Refusal::Fenced { holder, epoch, .. } => (holder.map(|holder| holder.to_string()), epoch),
            other => panic!("{other:?}"),
        };
        let bobs = (Some("bob".to_owned()), 2);
        assert_eq!(fenced(ann.complete_task(TaskId(1), done(), Some(1)).await.map(|_| ())), bobs);
        assert_eq!(fenced(ann.complete_task(TaskId(1), done(), None).await.map(|_| ())), bobs);
        assert_eq!(fenced(ann.heartbeat(TaskId(1), Some(1)).await.map(|_| ())), bobs);
        // The epoch distinguishes a new process from an old one with the same name.
        assert_eq!(fenced(bob.complete_task(TaskId(1), done(), Some(1)).await.map(|_| ())), bobs);
        let seconds = (Some("second".to_owned()), 2);
        assert_eq!(fenced(first.board().add_task(NewTask::new("late")).await.map(|_| ())), seconds);
        assert_eq!(fenced(first.release().await), seconds);
        bob.complete_task(TaskId(1), done(), Some(2)).await.unwrap();
        second.board().complete(None, Unfinished::Cancel).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn answer_9_a_watcher_gets_every_revision_in_order_and_whole() {
    on_every_store(async |home| {
        let options = Options { bookmark_interval: Duration::from_millis(5), max_watch_lag: 20, ..home.options() };
        let corkboard = home.open_with(options).await;
        let board = chain(&corkboard, 5).await;
        // Watch from another process, if the store can be shared.
        let watcher = if home.is_shared() { home.open().await } else { corkboard.clone() };
        let watched = watcher.board(board.id().as_str()).unwrap();
        let mut watch = watched.watch(0).await.unwrap();
        let ann = board.acting_as(worker("ann"));
        let working = tokio::spawn(async move {
            while let Some(claimed) = ann.claim_task(None, LEASE).await.unwrap() {
                ann.complete_task(claimed.task, done(), Some(claimed.epoch)).await.unwrap();
            }
        });
        let mut whole = Vec::new();
        while whole.len() < 12 {
            match watch.next().await.unwrap() {
                Watched::Revision { rev, commit, .. } => {
                    assert_eq!(rev, whole.len() as u64 + 1);
                    whole.push(commit.events);
                }
                Watched::Bookmark { rev } => assert_eq!(rev, whole.len() as u64),
            }
        }
        working.await.unwrap();
        assert_eq!(whole[1].len(), 5, "a batch is one revision");
        let [BoardEvent::TaskStarted { task: TaskId(1), agent, epoch: 1, .. }] = &whole[2][..] else {
            panic!("{whole:?}")
        };
        assert_eq!(agent.as_ref(), Some(&corkboard_agent("ann")));
        // An idle watcher gets a bookmark with the current revision. A watch from the middle gets the revisions after
        // it.
        let mut resumed = board.watch(10).await.unwrap();
        let next = resumed.next().await.unwrap();
        assert!(matches!(&next, Watched::Revision { rev: 11, commit, .. } if commit.events == whole[10]));
        assert!(matches!(resumed.next().await.unwrap(), Watched::Revision { rev: 12, .. }));
        assert_eq!(resumed.next().await.unwrap(), Watched::Bookmark { rev: 12 });
        // A future revision, and a watcher that falls behind.
        let future = board.watch(13).await.err();
        assert!(matches!(future, Some(Error::Store(StoreError::Future { asked: 13, head: 12 }))), "{future:?}");
        for index in 0..21 {
            board.add_task(NewTask::new(format!("more {index}"))).await.unwrap();
        }
        assert!(matches!(resumed.next().await, Err(Error::Lagged { resume_from: 12 })));
        assert!(board.watch(12).await.is_ok());
    })
    .await;
    // Revisions that were dropped.
    let home = Home::sqlite();
    let snapshots = SnapshotPolicy { events: 10, bytes: u64::MAX };
    let options = Options { snapshots, retention: Some(Retention::Revisions(3)), ..home.options() };
    let corkboard = home.open_with(options).await;
    let board = chain(&corkboard, 2).await;
    let compacted = loop {
        board.add_task(NewTask::new("more")).await.unwrap();
        if let Some(error) = board.watch(1).await.err() {
            break error;
        }
    };
    assert!(matches!(compacted, Error::Store(StoreError::Compacted { oldest }) if oldest > 2), "{compacted:?}");
}

fn corkboard_agent(name: &str) -> corkboard::AgentId {
    corkboard::AgentId::new(name, &corkboard::Limits::default()).unwrap()
}

/// The ticker serves all boards and agents of a store.
#[tokio::test]
async fn answer_5_one_tick_serves_boards_and_agents() {
    let home = Home::sqlite();
    let corkboard: Corkboard = home.open().await;
    let boards = [chain(&corkboard, 1).await, chain(&corkboard, 1).await];
    for board in &boards {
        board.acting_as(worker("ann")).claim_task(None, LEASE).await.unwrap().unwrap();
    }
    let memory = corkboard.agent("A").unwrap().working();
    memory.set("soon", &1).metadata(crate::common::days(1)).await.unwrap();
    home.clock.advance(Duration::from_secs(2 * 24 * 3600));
    assert_eq!(home.open().await.tick().await.unwrap(), 3);
    for board in &boards {
        assert_eq!(board.view().await.unwrap().ready().len(), 1);
    }
}
