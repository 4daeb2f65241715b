//! Who works off a space's queue.
//!
//! The caller who finds it without a leader leads it inside his own future, which spares two thread changes per write. He
//! may stop being polled at any moment, so the work lies in the slot: whoever comes to depend on it hands it to a task.

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

/// How often it is made sure, while waiting for a leader, that his work goes on.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a caller's own work lies: whoever comes to depend on it finds it here.
#[derive(Default)]
pub(super) struct Inline(Mutex<Option<Arc<WorkHandle>>>);

/// The work of one leader. It is never polled under a lock: what it runs is partly the callers' code.
struct WorkHandle(Mutex<PendingWork>);

struct PendingWork {
    /// None while it is polled, and once it is done or a task's.
    work: Option<Work>,
    polling: bool,
    /// Someone came to depend on it while it was polled.
    wanted: bool,
    /// Whoever polled it last: told when it becomes a task's.
    leader: Option<Waker>,
}

impl WorkHandle {
    fn new(work: Work) -> Self {
        Self(Mutex::new(PendingWork { work: Some(work), polling: false, wanted: false, leader: None }))
    }

    /// Leaves the work to a task; if it is being polled, as soon as that is over.
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

    /// Polls the work here. Ready if it is done, or no longer ours to do.
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

/// A caller's hold on the work that he does himself. Dropping it leaves the work to a task.
pub(super) struct Leader {
    handle: Arc<WorkHandle>,
    runtime: tokio::runtime::Handle,
}

impl<S: Space> Engine<S> {
    /// Puts a command into the queue. If nobody leads the queue, the caller does.
    pub(super) fn enqueue(self: &Arc<Self>, slot: &Arc<Slot<S>>, mut proposal: Box<Proposal<S>>) -> Option<Leader> {
        let mut queue = slot.queue.lock();
        // Under the queue's lock: after closing, nothing enters.
        if let Err(error) = self.check_usable() {
            drop(queue);
            proposal.answer(Err(error));
            return None;
        }
        queue.waiting.push(proposal);
        let leads = !queue.led;
        queue.led = true;
        drop(queue);
        // A leader who has a follower, or who is only tidying up, is no longer alone.
        self.hand_to_task(slot);
        if !leads {
            return None;
        }
        let handle = Arc::new(WorkHandle::new(Box::pin(lead(self.clone(), slot.clone()))));
        *slot.inline.0.lock() = Some(handle.clone());
        // Who came before the work lay there could not hand it to a task, and depends on it.
        if slot.queue.lock().waiting.len() > 1 {
            handle.hand_to_task(&self.runtime);
        }
        Some(Leader { handle, runtime: self.runtime.clone() })
    }

    /// Takes a lock that the queue's work may hold, and sees to it that the work goes on meanwhile.
    pub(super) async fn lock_beside_leader<'a>(
        &self,
        slot: &Slot<S>,
        lock: &'a tokio::sync::Mutex<()>,
    ) -> tokio::sync::MutexGuard<'a, ()> {
        loop {
            self.hand_to_task(slot);
            // A leader may have begun in between: then look again.
            if let Ok(guard) = tokio::time::timeout(LOOK_AGAIN, lock.lock()).await {
                return guard;
            }
        }
    }

    /// Sees to it that the queue's work goes on even if the caller who does it is not polled again. Whoever is about to
    /// wait for it calls this first.
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

    /// Waits for the queue to be without a leader, and leads it: nothing is committed here until it is handed over.
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

/// Works off a space's queue and ends. The leadership begins with the call, not with the first poll: if a runtime that is
/// ending drops the work unpolled, the queue must not wait for it.
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

/// Lets those who were just answered run: they may have more to say, and it can be committed together.
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

/// Whoever leads must say when he stops, even by a panic; else the queue would wait for ever.
pub(super) struct Leadership<S: Space> {
    slot: Arc<Slot<S>>,
    held: bool,
}

impl<S: Space> Leadership<S> {
    fn give_up(&mut self, led: &mut bool) {
        *led = false;
        self.held = false;
    }

    /// Leaves the queue to a task, which works off what came meanwhile.
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
            // Their callers hear that the task ended.
            drop(left);
        }
    }
}
