//! Boards in their store: copied, checked, flushed, evicted.

use std::time::Duration;

use corkboard::boards::{NewTask, TaskStatus, Unfinished};
use corkboard::store::{Append, Record, Store};
use corkboard::transfer::{ImportMode, MigrateOptions, Spaces, export, import, migrate};
use corkboard::{Board, BoardView, CommitId, Options, SavePolicy, SnapshotPolicy, SpaceId};

use super::{LEASE, chain, done, new_board, worker};
use crate::common::{Home, in_time};

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(3600);

async fn open_store(home: &Home) -> std::sync::Arc<dyn Store> {
    corkboard::store::open(home.url(), &home.options()).await.unwrap()
}

/// A board in the middle of its work, with a snapshot and some log after it.
async fn busy(home: &Home) -> (Board, BoardView) {
    let snapshots = SnapshotPolicy { events: 5, bytes: u64::MAX };
    let corkboard = home.open_with(Options { snapshots, ..home.options() }).await;
    let board = chain(&corkboard, 4).await;
    let ann = board.acting_as(worker("ann"));
    for _ in 0..2 {
        let claimed = ann.claim_task(None, LEASE).await.unwrap().unwrap();
        ann.complete_task(claimed.task, done(), Some(claimed.epoch)).await.unwrap();
    }
    ann.claim_task(None, LEASE).await.unwrap().unwrap();
    let view = board.view().await.unwrap();
    corkboard.close().await.unwrap();
    (board, view)
}

/// The copy has the same state, log, claims and due dates.
async fn is_the_same(copy: &Home, board: &Board, view: &BoardView) {
    let corkboard = copy.open().await;
    assert!(corkboard.check().await.unwrap().is_empty());
    let copied = corkboard.board(board.id().as_str()).unwrap();
    assert_eq!(copied.view().await.unwrap().state(), view.state());
    assert_eq!(copied.at(4).await.unwrap().state().count(TaskStatus::Completed), 1);
    assert_eq!(corkboard.boards(None, 9).await.unwrap()[0].summary["by_status"]["completed"], 2);
    copy.clock.advance(LEASE);
    assert_eq!(corkboard.tick().await.unwrap(), 1);
    assert_eq!(copied.view().await.unwrap().ready().len(), 1);
}

#[tokio::test]
async fn a_board_is_exported_and_imported() {
    let (from, to) = (Home::sqlite(), Home::sqlite());
    let (board, view) = busy(&from).await;
    let mut bytes = Vec::new();
    let exported = export(&*open_store(&from).await, &Spaces::All, &mut bytes, &mut |_| {}).await.unwrap();
    assert_eq!(exported.spaces, 1);
    let store = open_store(&to).await;
    let imported = import(&*store, &bytes[..], ImportMode::Write, &mut |_| {}).await.unwrap();
    assert!(imported.problems.is_empty(), "{:?}", imported.problems);
    store.close().await.unwrap();
    is_the_same(&to, &board, &view).await;
}

#[tokio::test]
async fn a_board_is_migrated() {
    let (from, to) = (Home::sqlite(), Home::sqlite());
    let (board, view) = busy(&from).await;
    let (source, target) = (open_store(&from).await, open_store(&to).await);
    let migrated = migrate(&*source, &*target, MigrateOptions::default(), &mut |_| {}).await.unwrap();
    assert!(migrated.problems.is_empty(), "{:?}", migrated.problems);
    assert_eq!(migrated.spaces.len(), 1);
    target.close().await.unwrap();
    is_the_same(&to, &board, &view).await;
}

#[tokio::test]
async fn a_board_saved_at_intervals_is_complete_after_closing() {
    let home = Home::sqlite();
    let options = Options { save: SavePolicy::Interval(NEVER), ..home.options() };
    let corkboard = home.open_with(options.clone()).await;
    let board = chain(&corkboard, 2).await;
    let ann = board.acting_as(worker("ann"));
    let claim = ann.work_on(None, LEASE).await.unwrap().unwrap();
    claim.complete(done()).await.unwrap();
    let view = board.view().await.unwrap();
    assert_eq!(view.rev(), 4);
    // Past revisions include changes that are not yet flushed.
    assert_eq!(board.at(3).await.unwrap().in_progress().len(), 1);
    board.add_task(NewTask::new("after that")).await.unwrap();
    corkboard.close().await.unwrap();
    let reopened = home.open_with(options).await;
    let board = reopened.board(board.id().as_str()).unwrap();
    assert_eq!(board.view().await.unwrap().rev(), 5);
    assert_eq!(board.view().await.unwrap().state().count(TaskStatus::Completed), 1);
}

#[tokio::test]
async fn boards_and_agents_share_one_memory_budget() {
    let home = Home::sqlite();
    let budget = 300_000;
    let corkboard = home.open_with(Options { memory_budget: budget, ..home.options() }).await;
    let text = "x".repeat(20_000);
    let filled = async |index: usize| {
        if index.is_multiple_of(2) {
            let board = corkboard.create_board(new_board("large")).id(format!("board-{index}")).await.unwrap();
            board.add_task(NewTask { description: text.clone(), ..NewTask::new("large") }).await.unwrap();
        } else {
            corkboard.agent(&format!("agent-{index}")).unwrap().working().set("large", &text).await.unwrap();
        }
    };
    for index in 0..40 {
        filled(index).await;
    }
    in_time(async {
        while corkboard.resident().1 > budget {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (loaded, bytes) = corkboard.resident();
    assert!(loaded < 20 && bytes > 100_000, "{loaded} loaded, {bytes} bytes");
    // Evicted boards are loaded again.
    for index in (0..40).step_by(2) {
        let board = corkboard.board(&format!("board-{index}")).unwrap();
        assert_eq!(board.view().await.unwrap().state().task_count(), 1);
        let claimed = board.claim_task(None, LEASE).await.unwrap().unwrap();
        board.complete_task(claimed.task, done(), None).await.unwrap();
        board.complete(None, Unfinished::Refuse).await.unwrap();
    }
    assert!(corkboard.agent("agent-1").unwrap().working().get::<String>("large").await.unwrap().is_some());
}

#[tokio::test]
async fn a_damaged_board_is_reported_and_does_not_affect_others() {
    let home = Home::sqlite();
    let (board, _) = busy(&home).await;
    let store = open_store(&home).await;
    let space = SpaceId::board(board.id());
    let expected = store.head(&space).await.unwrap();
    let nonsense = Record {
        rev: expected.rev + 1,
        commit: CommitId(uuid::Uuid::new_v4()),
        at: home.clock_now(),
        body: b"nonsense".to_vec(),
    };
    let (next_due, summary) = (None, b"{}".to_vec());
    store.append(Append { space, expected, records: vec![nonsense], next_due, summary }).await.unwrap();
    store.close().await.unwrap();
    let corkboard = home.open().await;
    let damaged = corkboard.board(board.id().as_str()).unwrap();
    assert_eq!(damaged.view().await.unwrap_err().code(), "damaged");
    assert_eq!(damaged.claim_task(None, LEASE).wait(NEVER).await.unwrap_err().code(), "damaged");
    let other = chain(&corkboard, 1).await;
    assert!(other.claim_task(None, LEASE).await.unwrap().is_some());
}
