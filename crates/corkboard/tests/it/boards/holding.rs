//! Programs that hold tasks and the orchestrator's role.

use std::time::Duration;

use corkboard::boards::{
    BoardEvent, NewArtifact, NewDecision, NewDiscovery, NewTask, ReviewVerdict, TaskId, TaskStatus, Unfinished,
};
use corkboard::{Actor, ActorKind, Board, Corkboard, Options, Role, Watched};

use super::{LEASE, chain, done, worker};
use crate::common::{in_time, on_every_store};

const WAIT: Duration = Duration::from_secs(600);
const FIRST: TaskId = TaskId(1);

fn chief(name: &str) -> Actor {
    Actor::new(name, ActorKind::Agent, Role::Orchestrator)
}

/// Waits for an event of a board.
async fn until(board: &Board, happened: impl Fn(&BoardEvent) -> bool) {
    let mut watch = board.watch(0).await.unwrap();
    loop {
        if let Watched::Revision { commit, .. } = watch.next().await.unwrap()
            && commit.events.iter().any(&happened)
        {
            return;
        }
    }
}

/// Uses the system clock, with short leases that must be renewed.
async fn in_real_time() -> (Corkboard, Board) {
    let options = Options { tick_interval: Duration::from_millis(20), ..Options::default() };
    let corkboard = Corkboard::open_with("memory:", options).await.unwrap();
    let board = chain(&corkboard, 1).await;
    (corkboard, board)
}

#[tokio::test]
async fn a_held_task_is_kept_by_heartbeats_for_longer_than_its_lease() {
    let (_corkboard, board) = in_real_time().await;
    let lease = Duration::from_millis(1500);
    let claim = board.acting_as(worker("ann")).work_on(None, lease).await.unwrap().unwrap();
    assert_eq!((claim.task(), claim.epoch(), claim.attempt()), (FIRST, 1, 1));
    let deadline = async || board.view().await.unwrap().task(FIRST).unwrap().claim.clone().map(|held| held.deadline);
    let first = deadline().await;
    let mut watch = board.watch(board.view().await.unwrap().rev()).await.unwrap();
    for _ in 0..2 {
        let Watched::Revision { commit, .. } = in_time(watch.next()).await.unwrap() else {
            panic!("expected a revision, found a bookmark")
        };
        assert!(matches!(commit.events[..], [BoardEvent::LeaseRenewed { task: FIRST, .. }]), "{commit:?}");
    }
    assert!(deadline().await > first);
    assert!(!claim.is_lost());
    let version = board.view().await.unwrap().task(FIRST).unwrap().version;
    assert_eq!(version, 3, "heartbeats change no version");
    assert_eq!(claim.complete(done()).await.unwrap(), TaskStatus::Completed);
    assert!(!claim.is_lost());
}

#[tokio::test]
async fn a_worker_that_lost_its_task_is_notified_and_cannot_write() {
    let (_corkboard, board) = in_real_time().await;
    let ann = board.acting_as(worker("ann"));
    let claim = ann.work_on(None, Duration::from_millis(300)).await.unwrap().unwrap();
    // The board's owner releases the task.
    board.release_task(FIRST, None).await.unwrap();
    in_time(claim.lost()).await;
    assert!(claim.is_lost());
    let rival = board.acting_as(worker("bob")).work_on(None, LEASE).await.unwrap().unwrap();
    let rev = board.view().await.unwrap().rev();
    let decision = NewDecision { question: "?".into(), choice: "!".into(), ..NewDecision::default() };
    let discovery = NewDiscovery { content: "late".into(), ..NewDiscovery::default() };
    let artifact = NewArtifact { path: "late".into(), ..NewArtifact::default() };
    let codes = [
        claim.complete(done()).await.unwrap_err().code(),
        claim.fail("late").await.unwrap_err().code(),
        claim.block(None).await.unwrap_err().code(),
        claim.unblock().await.unwrap_err().code(),
        claim.release().await.unwrap_err().code(),
        claim.record_decision(decision).await.unwrap_err().code(),
        claim.record_discovery(discovery).await.unwrap_err().code(),
        claim.record_artifact(artifact).await.unwrap_err().code(),
        claim.board().add_task(NewTask::new("late")).await.unwrap_err().code(),
    ];
    assert_eq!(codes, ["fenced"; 9]);
    drop(claim);
    tokio::task::yield_now().await;
    assert_eq!(board.view().await.unwrap().rev(), rev);
    assert_eq!(rival.complete(done()).await.unwrap(), TaskStatus::Completed);
}

/// The first refused write reveals the loss, even without a heartbeat.
#[tokio::test]
async fn a_refused_write_reveals_that_the_task_is_lost() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 1).await;
        let claim = board.acting_as(worker("ann")).work_on(None, LEASE).await.unwrap().unwrap();
        home.clock.advance(LEASE);
        assert_eq!(claim.complete(done()).await.unwrap_err().code(), "fenced");
        in_time(claim.lost()).await;
        // The expiry is not written yet, because a refusal writes nothing. The next write will write it.
        assert!(board.view().await.unwrap().ready().map(|task| task.id).eq([FIRST]));
    })
    .await;
}

#[tokio::test]
async fn dropping_a_claim_releases_the_task_unless_it_is_done() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 2).await;
        let ann = board.acting_as(worker("ann"));
        drop(ann.work_on(None, LEASE).await.unwrap().unwrap());
        until(&board, |event| matches!(event, BoardEvent::TaskReleased { task: FIRST })).await;
        let claim = ann.work_on(Some(FIRST), LEASE).await.unwrap().unwrap();
        assert_eq!((claim.epoch(), claim.attempt()), (2, 2));
        claim.block(Some("no key".into())).await.unwrap();
        assert_eq!(board.view().await.unwrap().task(FIRST).unwrap().status, TaskStatus::Blocked);
        claim.unblock().await.unwrap();
        let found = claim.record_discovery(NewDiscovery { content: "a door".into(), ..NewDiscovery::default() }).await;
        assert_eq!(found.unwrap().to_string(), "F-1");
        // If completing is refused for another reason, the task stays held.
        let blank = corkboard::boards::TaskResult::default();
        assert_eq!(claim.complete(blank).await.unwrap_err().code(), "blank");
        claim.complete(done()).await.unwrap();
        drop(claim);
        let second = ann.work_on(None, LEASE).wait(WAIT).await.unwrap().unwrap();
        assert_eq!(second.fail("broken").await.unwrap(), TaskStatus::Failed);
        drop(second);
        board.complete(None, Unfinished::Refuse).await.unwrap();
        let mut released = 0;
        let head = board.view().await.unwrap().rev();
        let mut watch = board.watch(0).await.unwrap();
        while watch.rev() < head {
            let Watched::Revision { commit, .. } = watch.next().await.unwrap() else {
                panic!("expected a revision, found a bookmark")
            };
            released += commit.events.iter().filter(|event| matches!(event, BoardEvent::TaskReleased { .. })).count();
        }
        assert_eq!(released, 1);
    })
    .await;
}

#[tokio::test]
async fn a_task_that_needs_rework_returns_to_its_current_holder() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 1).await;
        let edit = corkboard::boards::TaskEdit { needs_review: Some(true), ..Default::default() };
        board.edit_task(FIRST, edit, None).await.unwrap();
        let claim = board.acting_as(worker("ann")).work_on(None, LEASE).await.unwrap().unwrap();
        assert_eq!(claim.complete(done()).await.unwrap(), TaskStatus::Review);
        let rework = board.review_task(FIRST, ReviewVerdict::NeedsRework, Some("once more".into())).await.unwrap();
        assert_eq!(rework, TaskStatus::InProgress);
        assert_eq!(claim.complete(done()).await.unwrap(), TaskStatus::Review);
        board.review_task(FIRST, ReviewVerdict::Approved, None).await.unwrap();
        let task = board.view().await.unwrap().task(FIRST).unwrap().clone();
        assert_eq!((task.status, task.attempt, task.epoch), (TaskStatus::Completed, 2, 1));
    })
    .await;
}

#[tokio::test]
async fn an_orchestrator_is_kept_and_a_standby_takes_over() {
    let (_corkboard, board) = in_real_time().await;
    let first = board.acting_as(chief("first")).orchestrate(Duration::from_millis(1500)).await.unwrap();
    let refused = board.acting_as(chief("second")).orchestrate(LEASE).await.unwrap_err();
    assert_eq!(refused.code(), "orchestrator_held");
    until(&board, |event| matches!(event, BoardEvent::OrchestratorRenewed { .. })).await;
    let standby = tokio::spawn(board.acting_as(chief("second")).orchestrate(LEASE).wait(WAIT).into_future());
    tokio::task::yield_now().await;
    first.board().add_task(NewTask::new("by the first")).await.unwrap();
    drop(first);
    let second = in_time(standby).await.unwrap().unwrap();
    assert_eq!(second.epoch(), 2);
    // A new holder with the same name fences the old one.
    let third = board.acting_as(chief("second")).orchestrate(LEASE).wait(WAIT).await.unwrap();
    assert_eq!(second.board().add_task(NewTask::new("late")).await.unwrap_err().code(), "fenced");
    assert_eq!(second.release().await.unwrap_err().code(), "fenced");
    in_time(second.lost()).await;
    assert!(second.is_lost() && !third.is_lost());
    third.release().await.unwrap();
    assert!(board.view().await.unwrap().state().orchestrator().is_none());
}

#[tokio::test]
async fn the_role_of_an_orchestrator_that_died_is_free_when_its_lease_ends() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 1).await;
        // Nobody renews this lease.
        let dead = board.acting_as(chief("first")).acquire_orchestrator(LEASE).await.unwrap();
        let standby = tokio::spawn(board.acting_as(chief("second")).orchestrate(LEASE).wait(WAIT).into_future());
        tokio::task::yield_now().await;
        home.clock.advance(LEASE);
        corkboard.tick().await.unwrap();
        let second = standby.await.unwrap().unwrap();
        assert_eq!(second.epoch(), 2);
        assert_eq!(dead.board().add_task(NewTask::new("late")).await.unwrap_err().code(), "fenced");
        second.board().add_task(NewTask::new("in time")).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_role_whose_caller_stopped_waiting_is_released() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 1).await;
        let asked = tokio::spawn(board.acting_as(chief("gone")).orchestrate(LEASE).into_future());
        let mut watch = board.watch(2).await.unwrap();
        loop {
            tokio::task::yield_now().await;
            if board.view().await.unwrap().rev() > 2 || asked.is_finished() {
                break;
            }
        }
        // Nobody took the role, whether the answer was still on its way or had arrived.
        asked.abort();
        drop(asked);
        for expected in ["orchestrator_acquired", "orchestrator_released"] {
            let Watched::Revision { commit, .. } = in_time(watch.next()).await.unwrap() else {
                panic!("expected a revision, found a bookmark")
            };
            let event = serde_json::to_value(&commit.events[0]).unwrap();
            let name = event.as_str().map(str::to_owned);
            let name = name.or_else(|| event.as_object().and_then(|event| event.keys().next().cloned()));
            assert_eq!(name.as_deref(), Some(expected));
        }
    })
    .await;
}
