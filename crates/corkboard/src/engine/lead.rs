//! Leads a space's queue: one caller or task at a time commits what waits in it.
//!
//! A caller that finds the queue without a leader leads it inside its own future, which saves two thread switches per
//! write. That future may stop being polled at any time. The work therefore lives in the slot, where anyone who depends
//! on it can hand it to a task.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use corkboard_core::Space;
use parking_lot::Mutex;

use super::ask::Proposal;
use super::commit::SpentBatch;
use super::{Engine, Slot};

const BATCH: usize = 256;

/// How often a caller that waits for the leader checks that the work is still being driven.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The work that a caller drives itself, if any. Others that depend on it find it here.
#[derive(Default)]
pub(super) struct Inline(Mutex<Option<Arc<WorkHandle>>>);

/// The work of one leader. It is never polled under a lock, because it partly runs callers' code.
struct WorkHandle(Mutex<PendingWork>);

struct PendingWork {
    /// `None` while it is being polled, and once it is done or belongs to a task.
    work: Option<Work>,
    polling: bool,
    /// Another caller needs this work to continue, and asked while it was being polled.
    wanted: bool,
    /// Waker of the leader that last polled it; woken when a task takes the work over.
    leader: Option<Waker>,
}

impl WorkHandle {
    fn new(work: Work) -> Self {
        Self(Mutex::new(PendingWork { work: Some(work), polling: false, wanted: false, leader: None }))
    }

    /// Moves the work to a task. If it is being polled, this happens right after the poll.
    fn hand_to_task(&self, runtime: &tokio::runtime::Handle) {
        let (work, leader) = {
            let mut held = self.0.lock();
            held.wanted |= held.polling;
            (held.work.take(), held.leader.take())
        };
        if let Some(work) = work {
            runtime.spawn(work);
            leader.into_iter().for_each(Waker::wake);
        }
    }

    /// Polls the work. Ready if it is done, or if a task has taken it over.
    fn poll(&self, context: &mut Context<'_>, runtime: &tokio::runtime::Handle) -> Poll<()> {
        let mut work = {
            let mut held = self.0.lock();
            let Some(work) = held.work.take() else { return Poll::Ready(()) };
            held.polling = true;
            work
        };
        let polled = work.as_mut().poll(context);
        let mut held = self.0.lock();
        held.polling = false;
        if polled.is_pending() && !held.wanted {
            held.work = Some(work);
            held.leader = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(held);
        if polled.is_pending() {
            runtime.spawn(work);
        }
        Poll::Ready(())
    }
}

/// A caller's hold on the work that it drives itself. Dropping it moves the work to a task.
pub(super) struct Leader {
    handle: Arc<WorkHandle>,
    runtime: tokio::runtime::Handle,
}

impl<S: Space> Engine<S> {
    /// Adds a command to the queue. If the queue has no leader, the caller becomes the leader.
    pub(super) fn enqueue(self: &Arc<Self>, slot: &Arc<Slot<S>>, mut proposal: Box<Proposal<S>>) -> Option<Leader> {
        let mut queue = slot.queue.lock();
        // Checked under the queue's lock, so nothing enters the queue after closing.
        if let Err(error) = self.check_usable() {
            drop(queue);
            proposal.answer(Err(error));
            return None;
        }
        queue.waiting.push(proposal);
        let leads = !queue.led;
        queue.led = true;
        drop(queue);
        // The current leader may stop being polled. Others now depend on its work, so a task takes it over.
        self.hand_to_task(slot);
        if !leads {
            return None;
        }
        let handle = Arc::new(WorkHandle::new(Box::pin(lead(self.clone(), slot.clone()))));
        *slot.inline.0.lock() = Some(handle.clone());
        // A command that arrived before the work was stored in the slot could not hand it to a task.
        if slot.queue.lock().waiting.len() > 1 {
            handle.hand_to_task(&self.runtime);
        }
        Some(Leader { handle, runtime: self.runtime.clone() })
    }

    /// Acquires a lock that the queue's work may hold, and keeps that work running while waiting.
    pub(super) async fn lock_beside_leader<'a>(
        &self,
        slot: &Slot<S>,
        lock: &'a tokio::sync::Mutex<()>,
    ) -> tokio::sync::MutexGuard<'a, ()> {
        loop {
            self.hand_to_task(slot);
            // A new leader may have started in between: check again.
            if let Ok(guard) = tokio::time::timeout(LOOK_AGAIN, lock.lock()).await {
                return guard;
            }
        }
    }

    /// Makes the queue's work continue even if the caller that drives it is not polled again. Call this before waiting
    /// for that work.
    pub(super) fn hand_to_task(&self, slot: &Slot<S>) {
        let handle = slot.inline.0.lock().clone();
        if let Some(handle) = handle {
            handle.hand_to_task(&self.runtime);
        }
    }

    pub(super) async fn drained(&self, slot: &Slot<S>) {
        loop {
            self.hand_to_task(slot);
            {
                let queue = slot.queue.lock();
                if !queue.led && queue.waiting.is_empty() {
                    return;
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Waits until the queue has no leader, then leads it. This process commits nothing to the space until the
    /// leadership is handed over.
    pub(super) async fn lead_alone(&self, slot: &Arc<Slot<S>>) -> Leadership<S> {
        loop {
            self.hand_to_task(slot);
            {
                let mut queue = slot.queue.lock();
                if !queue.led {
                    queue.led = true;
                    return Leadership { slot: slot.clone(), held: true };
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Future for Leader {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.handle.poll(context, &self.runtime)
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.handle.hand_to_task(&self.runtime);
    }
}

/// Commits everything in a space's queue, then ends. The leadership begins with the call, not with the first poll: if a
/// runtime that is shutting down drops the work unpolled, the queue must not wait for it.
fn lead<S: Space>(engine: Arc<Engine<S>>, slot: Arc<Slot<S>>) -> impl Future<Output = ()> + Send {
    let mut leadership = Leadership { slot: slot.clone(), held: true };
    async move {
        let mut spent = SpentBatch::nothing();
        loop {
            let batch: Vec<_> = {
                let mut queue = slot.queue.lock();
                if queue.waiting.is_empty() {
                    leadership.give_up(&mut queue.led);
                    break;
                }
                let count = queue.waiting.len().min(BATCH);
                queue.waiting.drain(..count).collect()
            };
            let count = batch.len();
            engine.commit(&slot, batch, &mut spent).await;
            if count > 1 {
                gather(&slot, count).await;
            }
        }
        drop(spent);
        engine.keep_budget();
        engine.snapshot_if_due(&slot).await;
    }
}

/// Lets the callers that were just answered run: they may send more commands, which can be committed together.
async fn gather<S: Space>(slot: &Slot<S>, answered: usize) {
    let mut waiting = 0;
    loop {
        tokio::task::yield_now().await;
        let now = slot.queue.lock().waiting.len();
        if now == waiting || now >= answered.min(BATCH) {
            return;
        }
        waiting = now;
    }
}

/// Releases the leadership on drop, even after a panic; otherwise the queue would wait forever.
pub(super) struct Leadership<S: Space> {
    slot: Arc<Slot<S>>,
    held: bool,
}

impl<S: Space> Leadership<S> {
    fn give_up(&mut self, led: &mut bool) {
        *led = false;
        self.held = false;
    }

    /// Hands the queue to a task, which commits the commands that arrived in the meantime.
    pub(super) fn hand_over(mut self, engine: &Arc<Engine<S>>, slot: &Arc<Slot<S>>) {
        self.held = false;
        engine.runtime.spawn(lead(engine.clone(), slot.clone()));
    }
}

impl<S: Space> Drop for Leadership<S> {
    fn drop(&mut self) {
        if self.held {
            let left = {
                let mut queue = self.slot.queue.lock();
                queue.led = false;
                std::mem::take(&mut queue.waiting)
            };
            // Dropping the proposals tells their callers that the committing task ended.
            drop(left);
        }
    }
}
