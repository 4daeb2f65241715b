//! Claims that wait, and claims whose callers stopped waiting.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use corkboard::boards::{BoardEvent, NewTask, TaskStatus, Unfinished};
use corkboard::{Board, Options, SavePolicy, Watched};

use super::{LEASE, chain, done, new_board, worker};
use crate::common::{Home, in_time, on_every_store};

/// Longer than any test takes.
const WAIT: Duration = Duration::from_secs(600);

/// Counts how often a future is polled.
struct Counted<F> {
    future: Pin<Box<F>>,
    polls: Arc<AtomicUsize>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        self.polls.fetch_add(1, Ordering::Relaxed);
        self.future.as_mut().poll(context)
    }
}

/// The events of a board's log, in order.
async fn events(board: &Board) -> Vec<BoardEvent> {
    let head = board.view().await.unwrap().rev();
    let mut watch = board.watch(0).await.unwrap();
    let mut events = Vec::new();
    while watch.rev() < head {
        if let Watched::Revision { commit, .. } = watch.next().await.unwrap() {
            events.extend(commit.events);
        }
    }
    events
}

#[tokio::test]
async fn a_waiting_claim_is_woken_by_a_completion_here_and_on_another_handle() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 3).await;
        let (ann, bob) = (board.acting_as(worker("ann")), board.acting_as(worker("bob")));
        let claimed = ann.claim_task(None, LEASE).await.unwrap().unwrap();
        let waits = bob.claim_task(None, LEASE).wait(WAIT);
        let waiting = tokio::spawn(waits.into_future());
        tokio::task::yield_now().await;
        ann.complete_task(claimed.task, done(), Some(claimed.epoch)).await.unwrap();
        let second = waiting.await.unwrap().unwrap().unwrap();
        assert_eq!(second.task.to_string(), "T-2");
        if home.is_shared() {
            let elsewhere = home.open().await;
            let waits = elsewhere.board(board.id().as_str()).unwrap().acting_as(worker("carol"));
            let waiting = tokio::spawn(waits.claim_task(None, LEASE).wait(WAIT).into_future());
            tokio::task::yield_now().await;
            bob.complete_task(second.task, done(), Some(second.epoch)).await.unwrap();
            assert_eq!(waiting.await.unwrap().unwrap().unwrap().task.to_string(), "T-3");
        }
    })
    .await;
}

#[tokio::test]
async fn a_waiting_claim_gives_up_when_its_time_is_over_and_does_not_poll_meanwhile() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 2).await;
        board.acting_as(worker("ann")).claim_task(None, LEASE).await.unwrap().unwrap();
        let rev = board.view().await.unwrap().rev();
        let polls = Arc::new(AtomicUsize::new(0));
        let bob = board.acting_as(worker("bob"));
        let future = Box::pin(bob.claim_task(None, LEASE).wait(Duration::from_millis(400)).into_future());
        assert_eq!(Counted { future, polls: polls.clone() }.await.unwrap(), None);
        assert!(polls.load(Ordering::Relaxed) < 40, "{polls:?} polls");
        let named = bob.claim_task(Some("T-2".parse().unwrap()), LEASE).wait(Duration::from_millis(1));
        assert_eq!(named.await.unwrap_err().code(), "not_ready");
        assert_eq!(board.view().await.unwrap().rev(), rev, "waiting writes nothing");
    })
    .await;
}

/// Nobody ticks and nobody writes: the waiting claim itself knows when a lease or a backoff ends.
#[tokio::test]
async fn a_waiting_claim_is_woken_by_a_lease_and_a_backoff_that_end() {
    let options = Options { tick_interval: WAIT, ..Options::default() };
    let corkboard = corkboard::Corkboard::open_with("memory:", options).await.unwrap();
    let board = chain(&corkboard, 1).await;
    let (ann, bob) = (board.acting_as(worker("ann")), board.acting_as(worker("bob")));
    ann.claim_task(None, Duration::from_millis(50)).await.unwrap().unwrap();
    let claimed = in_time(bob.claim_task(None, LEASE).wait(WAIT).into_future()).await.unwrap().unwrap();
    assert_eq!((claimed.epoch, claimed.attempt), (2, 2));
    bob.release_task(claimed.task, Some(2)).await.unwrap();
    board.cancel_task(claimed.task, None).await.unwrap();
    let retried = NewTask { retry_limit: 1, retry_backoff_s: 1, ..NewTask::new("again") };
    board.add_task(retried).await.unwrap();
    let claimed = bob.claim_task(None, LEASE).await.unwrap().unwrap();
    assert_eq!(bob.fail_task(claimed.task, "flaky", Some(1)).await.unwrap(), TaskStatus::Pending);
    assert_eq!(bob.claim_task(None, LEASE).await.unwrap(), None);
    let again = in_time(bob.claim_task(None, LEASE).wait(WAIT).into_future()).await.unwrap().unwrap();
    assert_eq!((again.task, again.epoch), (claimed.task, 2));
}

#[tokio::test]
async fn a_waiting_claim_is_woken_by_another_ticker() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 1).await;
        board.acting_as(worker("ann")).claim_task(None, LEASE).await.unwrap().unwrap();
        let bob = board.acting_as(worker("bob"));
        let waiting = tokio::spawn(bob.claim_task(None, LEASE).wait(WAIT).into_future());
        tokio::task::yield_now().await;
        home.clock.advance(LEASE);
        let ticker = if home.is_shared() { home.open().await } else { corkboard.clone() };
        assert_eq!(ticker.tick().await.unwrap(), 1);
        assert_eq!(waiting.await.unwrap().unwrap().unwrap().epoch, 2);
    })
    .await;
}

#[tokio::test]
async fn a_waiting_claim_takes_a_task_assigned_to_its_caller_only() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 2).await;
        let [ann, bob, carol] = ["ann", "bob", "carol"].map(|name| board.acting_as(worker(name)));
        let first = carol.claim_task(None, LEASE).await.unwrap().unwrap();
        board.assign_task("T-2".parse().unwrap(), "bob").await.unwrap();
        let anns = tokio::spawn(ann.claim_task(None, LEASE).wait(Duration::from_millis(200)).into_future());
        let bobs = tokio::spawn(bob.claim_task(None, LEASE).wait(WAIT).into_future());
        tokio::task::yield_now().await;
        carol.complete_task(first.task, done(), Some(1)).await.unwrap();
        assert_eq!(bobs.await.unwrap().unwrap().unwrap().task.to_string(), "T-2");
        assert_eq!(anns.await.unwrap().unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_board_that_ends_ends_the_wait() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 1).await;
        board.acting_as(worker("ann")).claim_task(None, LEASE).await.unwrap().unwrap();
        let waiting = tokio::spawn(board.claim_task(None, LEASE).wait(WAIT).into_future());
        let named = tokio::spawn(board.claim_task(Some("T-1".parse().unwrap()), LEASE).wait(WAIT).into_future());
        tokio::task::yield_now().await;
        board.complete(None, Unfinished::Cancel).await.unwrap();
        assert_eq!(waiting.await.unwrap().unwrap_err().code(), "board_ended");
        assert_eq!(named.await.unwrap().unwrap_err().code(), "board_ended");
        let closing = {
            let idle = corkboard.create_board(new_board("idle")).await.unwrap();
            tokio::spawn(idle.claim_task(None, LEASE).wait(WAIT).into_future())
        };
        tokio::task::yield_now().await;
        corkboard.close().await.unwrap();
        assert_eq!(closing.await.unwrap().unwrap_err().code(), "closed");
        let never = home.open().await.board("never").unwrap();
        assert_eq!(never.claim_task(None, LEASE).wait(WAIT).await.unwrap_err().code(), "no_board");
    })
    .await;
}

/// A change that is acknowledged but not yet flushed wakes the claims that wait in the same process.
#[tokio::test]
async fn a_waiting_claim_does_not_wait_for_a_flush() {
    let home = Home::sqlite();
    let options = Options { save: SavePolicy::Interval(WAIT), ..home.options() };
    let corkboard = home.open_with(options).await;
    let board = corkboard.create_board(new_board("unflushed")).await.unwrap();
    let waiting = tokio::spawn(board.claim_task(None, LEASE).wait(WAIT).into_future());
    tokio::task::yield_now().await;
    board.add_task(NewTask::new("soon")).await.unwrap();
    assert_eq!(in_time(waiting).await.unwrap().unwrap().unwrap().epoch, 1);
}

#[tokio::test]
async fn a_claim_whose_caller_stopped_waiting_is_released() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 1).await;
        let ann = board.acting_as(worker("ann"));
        for round in 1..=20 {
            let from = board.view().await.unwrap().rev();
            let mut watch = board.watch(from).await.unwrap();
            {
                let mut claim = pin!(ann.claim_task(None, LEASE).into_future());
                // The command was sent, but its answer is not awaited.
                if let Poll::Ready(claimed) = poll_once(claim.as_mut()).await {
                    let claimed = claimed.unwrap().unwrap();
                    ann.release_task(claimed.task, Some(claimed.epoch)).await.unwrap();
                }
            }
            let mut seen = Vec::new();
            while seen.len() < 2 {
                if let Watched::Revision { commit, .. } = watch.next().await.unwrap() {
                    seen.extend(commit.events);
                }
            }
            assert!(matches!(seen[0], BoardEvent::TaskStarted { epoch, .. } if epoch == round), "{seen:?}");
            assert!(matches!(seen[1], BoardEvent::TaskReleased { .. }), "{seen:?}");
        }
        // A future that was never polled claims nothing.
        drop(ann.claim_task(None, LEASE).into_future());
        assert_eq!(board.view().await.unwrap().state().task("T-1".parse().unwrap()).unwrap().epoch, 20);
        assert_eq!(events(&board).await.len(), 2 + 20 * 2);
    })
    .await;
}

async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

#[tokio::test]
async fn a_claim_with_a_key_can_be_repeated_and_waits_until_there_is_a_task() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = corkboard.create_board(new_board("named")).await.unwrap();
        let ann = board.acting_as(worker("ann")).idempotency_key("claim 1");
        let waiting = tokio::spawn(ann.claim_task(None, LEASE).wait(WAIT).into_future());
        tokio::task::yield_now().await;
        board.edit(corkboard::boards::BoardEdit::default(), None).await.unwrap();
        board.add_task(NewTask::new("soon")).await.unwrap();
        let claimed = waiting.await.unwrap().unwrap().unwrap();
        // A repeat gets the same answer at once, although no task is ready, and has no second effect.
        assert_eq!(ann.claim_task(None, LEASE).wait(WAIT).await.unwrap(), Some(claimed));
        assert_eq!(ann.claim_task(None, LEASE).await.unwrap(), Some(claimed));
        // With a key, the caller can still ask for the answer, so the claim is not released.
        board.add_task(NewTask::new("another")).await.unwrap();
        let key = board.acting_as(worker("bob")).idempotency_key("claim 2");
        {
            let mut claim = pin!(key.claim_task(None, LEASE).into_future());
            let _ = poll_once(claim.as_mut()).await;
        }
        let again = key.claim_task(None, LEASE).await.unwrap().unwrap();
        let view = board.view().await.unwrap();
        assert_eq!(view.task(again.task).unwrap().status, TaskStatus::InProgress);
        assert_eq!(again.epoch, 1);
    })
    .await;
}
