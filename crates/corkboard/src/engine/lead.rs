//! Who works off a space's queue.
//!
//! The caller who finds it without a leader leads it inside his own future, which spares two thread changes per write. He
//! may stop being polled at any moment, so the work lies in the slot: whoever comes to depend on it hands it to a task.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use corkboard_core::Space;
use parking_lot::Mutex;

use super::commit::Proposal;
use super::{Engine, Slot};
use crate::{Error, Result};

/// The most commands in one append.
const BATCH: usize = 256;

/// How often it is made sure, while waiting for a leader, that his work goes on.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The work that a caller does himself for as long as he is polled, and its number.
#[derive(Default)]
pub(super) struct Inline(Mutex<(u64, Option<Work>)>);

/// A caller's hold on the work that he does himself. Dropping it leaves the work to a task.
pub(super) struct Led<'a, S: Space> {
    engine: &'a Arc<Engine<S>>,
    slot: &'a Arc<Slot<S>>,
    number: u64,
}

impl<S: Space> Engine<S> {
    /// Puts a command into the queue. If nobody leads the queue, the caller does.
    pub(super) fn enqueue<'a>(
        self: &'a Arc<Self>,
        slot: &'a Arc<Slot<S>>,
        proposal: Proposal<S>,
    ) -> Result<Option<Led<'a, S>>> {
        let mut queue = slot.queue.lock();
        // Under the queue's lock: after closing, nothing enters.
        if self.is_closed() {
            return Err(Error::Closed);
        }
        queue.waiting.push(proposal);
        let leads = !queue.led;
        queue.led = true;
        drop(queue);
        // A leader who has a follower, or who is only tidying up, is no longer alone.
        self.hand_to_task(slot);
        if !leads {
            return Ok(None);
        }
        let work = Box::pin(lead(self.clone(), slot.clone()));
        let number = {
            let mut inline = slot.inline.0.lock();
            inline.0 += 1;
            inline.1 = Some(work);
            inline.0
        };
        // Who came before the work lay there could not hand it to a task, and depends on it.
        if slot.queue.lock().waiting.len() > 1 {
            self.hand_to_task(slot);
        }
        Ok(Some(Led { engine: self, slot, number }))
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
        if let Some(work) = slot.inline.0.lock().1.take() {
            self.runtime.spawn(work);
        }
    }

    /// Waits until nothing waits in the queue.
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
    pub(super) async fn lead_alone<'a>(&self, slot: &'a Slot<S>) -> Leadership<'a, S> {
        loop {
            self.hand_to_task(slot);
            {
                let mut queue = slot.queue.lock();
                if !queue.led {
                    queue.led = true;
                    return Leadership { slot, held: true };
                }
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl<S: Space> Future for Led<'_, S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut inline = self.slot.inline.0.lock();
        let (number, work) = &mut *inline;
        let Some(own) = work.as_mut().filter(|_| *number == self.number) else { return Poll::Ready(()) };
        let polled = own.as_mut().poll(context);
        if polled.is_ready() {
            *work = None;
        }
        polled
    }
}

impl<S: Space> Drop for Led<'_, S> {
    fn drop(&mut self) {
        let mut inline = self.slot.inline.0.lock();
        if inline.0 == self.number
            && let Some(work) = inline.1.take()
        {
            self.engine.runtime.spawn(work);
        }
    }
}

/// Works off a space's queue and ends.
async fn lead<S: Space>(engine: Arc<Engine<S>>, slot: Arc<Slot<S>>) {
    let mut leadership = Leadership { slot: &slot, held: true };
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
        let several = batch.len() > 1;
        engine.commit(&slot, batch).await;
        if several {
            gather(&slot).await;
        }
    }
    engine.keep_budget();
    engine.snapshot_if_due(&slot).await;
}

/// Lets those who were just answered run: they may have more to say, and it can be committed together.
async fn gather<S: Space>(slot: &Slot<S>) {
    let mut waiting = 0;
    loop {
        tokio::task::yield_now().await;
        let now = slot.queue.lock().waiting.len();
        if now == waiting || now >= BATCH {
            return;
        }
        waiting = now;
    }
}

/// Whoever leads must say when he stops, even by a panic; else the queue would wait for ever.
pub(super) struct Leadership<'a, S: Space> {
    slot: &'a Slot<S>,
    held: bool,
}

impl<S: Space> Leadership<'_, S> {
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

impl<S: Space> Drop for Leadership<'_, S> {
    fn drop(&mut self) {
        if self.held {
            let mut queue = self.slot.queue.lock();
            queue.led = false;
            // Their callers hear that the task ended.
            queue.waiting.clear();
        }
    }
}
