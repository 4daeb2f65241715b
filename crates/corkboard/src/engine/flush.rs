//! `save_interval`: acknowledge first, write shortly after.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use corkboard_core::{Head, Space, SpaceId};
use jiff::Timestamp;
use tokio::sync::MutexGuard;

use super::{Engine, Slot, joined};
use crate::store::{Append, Appended, Record, StoreError};
use crate::{Error, Result};

/// How many times a flush continues after finding out how much an earlier one wrote.
const FLUSHES: usize = 4;

/// Revisions that were acknowledged but are not yet in the store.
#[derive(Debug, Default)]
pub(crate) struct Unflushed {
    records: Vec<Record>,
    bytes: usize,
    before: Option<Head>,
    next_due: Option<Timestamp>,
    summary: Vec<u8>,
}

impl Unflushed {
    /// Above this size, the next commit flushes first.
    const BYTES: usize = 4 * 1024 * 1024;

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes > Self::BYTES
    }

    fn append(&self, space: &SpaceId) -> Option<Append> {
        let (space, records, summary) = (space.clone(), self.records.clone(), self.summary.clone());
        self.before.map(|expected| Append { space, expected, records, next_due: self.next_due, summary })
    }

    /// Drops the records up to this head. Returns false if this process did not write that head.
    fn is_written_up_to(&mut self, head: Head) -> bool {
        if self.before == Some(head) {
            return true;
        }
        let Some(last) = self.records.iter().position(|record| record.rev == head.rev && record.commit == head.commit)
        else {
            return false;
        };
        self.records.drain(..=last);
        self.bytes = self.records.iter().map(|record| record.body.len()).sum();
        self.before = (!self.records.is_empty()).then_some(head);
        true
    }

    pub(super) fn push(&mut self, append: Append) {
        self.before.get_or_insert(append.expected);
        self.bytes += append.records.iter().map(|record| record.body.len()).sum::<usize>();
        self.records.extend(append.records);
        self.next_due = append.next_due;
        self.summary = append.summary;
    }
}

impl<S: Space> Engine<S> {
    /// Writes the acknowledged revisions of this space that are not yet in the store.
    pub(crate) async fn flush_now(self: &Arc<Self>, slot: &Arc<Slot<S>>) -> Result<()> {
        // Records stay in `unflushed` until their write has succeeded.
        if slot.unflushed.lock().is_empty() {
            return Ok(());
        }
        let (engine, slot) = (self.clone(), slot.clone());
        // Runs in a task: a caller that starts the write and is then not polled must not block others.
        joined(self.spawn(async move {
            let one_at_a_time = engine.lock_beside_leader(&slot, &slot.flushing).await;
            engine.flush_slot(&slot, one_at_a_time).await
        }))
        .await
    }

    /// Writes all acknowledged revisions that are not yet in the store. Keeps those that fail, for the next attempt.
    pub(crate) async fn flush(&self) -> Result<()> {
        let slots: Vec<Arc<Slot<S>>> =
            self.slots.lock().values().filter(|slot| !slot.unflushed.lock().is_empty()).cloned().collect();
        let mut result = Ok(());
        for slot in slots {
            let one_at_a_time = self.lock_beside_leader(&slot, &slot.flushing).await;
            if let Err(error) = self.flush_slot(&slot, one_at_a_time).await {
                tracing::error!(space = %slot.id, %error, "failed to write acknowledged revisions; will retry");
                result = Err(error);
            }
        }
        result
    }

    pub(super) async fn flush_slot(&self, slot: &Slot<S>, _one_at_a_time: MutexGuard<'_, ()>) -> Result<()> {
        for _ in 0..FLUSHES {
            let Some(append) = slot.unflushed.lock().append(&slot.id) else { return Ok(()) };
            let head = append.new_head();
            let now = match self.store.append(append).await {
                Ok(Appended::Committed) => head,
                // An earlier flush whose answer was lost may have written up to this head.
                Ok(Appended::Conflict { head }) => head,
                Err(StoreError::OutcomeUnknown(message)) => {
                    self.store.head(&slot.id).await.map_err(|_| StoreError::OutcomeUnknown(message))?
                }
                Err(error) => return Err(error.into()),
            };
            if !slot.unflushed.lock().is_written_up_to(now) {
                return Err(Error::Damaged {
                    space: slot.id.to_string(),
                    message: format!("another process wrote revision {} to a store in exclusive use", now.rev),
                });
            }
        }
        if slot.unflushed.lock().is_empty() {
            return Ok(());
        }
        Err(StoreError::Unavailable("cannot determine how much was written".into()).into())
    }

    /// Refuses new commands, waits until every queue is empty, and writes what is not yet in the store.
    pub(crate) async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        self.closing.notify_waiters();
        let slots: Vec<Arc<Slot<S>>> = self.slots.lock().values().cloned().collect();
        for slot in slots {
            self.drained(&slot).await;
        }
        self.flush().await
    }
}
