//! `save_interval`: acknowledged first, written soon.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use corkboard_core::{Head, Space};
use jiff::Timestamp;

use super::{Engine, Slot};
use crate::store::{Append, Appended, Record, StoreError};
use crate::{Error, Result};

/// Revisions that were acknowledged and are not yet in the store.
#[derive(Debug, Default)]
pub(crate) struct Unflushed {
    records: Vec<Record>,
    bytes: usize,
    before: Option<Head>,
    next_due: Option<Timestamp>,
    summary: Vec<u8>,
}

impl Unflushed {
    /// So much waits at most; then it is written at once.
    const BYTES: usize = 4 * 1024 * 1024;

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes > Self::BYTES
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
    /// Writes all that was acknowledged and not yet written. What fails is kept and tried again.
    pub(crate) async fn flush(&self) -> Result<()> {
        let slots: Vec<Arc<Slot<S>>> =
            self.slots.lock().values().filter(|slot| !slot.unflushed.lock().is_empty()).cloned().collect();
        let mut result = Ok(());
        for slot in slots {
            self.hand_to_task(&slot);
            if let Err(error) = self.flush_slot(&slot).await {
                tracing::error!(space = %slot.id, %error, "what was acknowledged could not be written yet");
                result = Err(error);
            }
        }
        result
    }

    pub(super) async fn flush_slot(&self, slot: &Slot<S>) -> Result<()> {
        let _one_at_a_time = slot.flushing.lock().await;
        let (expected, records, next_due, summary) = {
            let unflushed = slot.unflushed.lock();
            let Some(before) = unflushed.before else { return Ok(()) };
            (before, unflushed.records.clone(), unflushed.next_due, unflushed.summary.clone())
        };
        let count = records.len();
        let append = Append { space: slot.id.clone(), expected, records, next_due, summary };
        let head = append.new_head();
        let appended = match self.store.append(append).await {
            // The answer was lost: if our last commit is the head now, it was written.
            Err(StoreError::OutcomeUnknown(message)) => match self.store.head(&slot.id).await {
                Ok(found) if found == head => Ok(Appended::Committed),
                _ => Err(StoreError::OutcomeUnknown(message)),
            },
            other => other,
        };
        match appended? {
            Appended::Committed => {
                let mut unflushed = slot.unflushed.lock();
                unflushed.records.drain(..count);
                unflushed.bytes = unflushed.records.iter().map(|record| record.body.len()).sum();
                unflushed.before = (!unflushed.records.is_empty()).then_some(head);
                Ok(())
            }
            Appended::Conflict { head } => Err(Error::Damaged {
                space: slot.id.to_string(),
                message: format!("someone else wrote revision {} to a store that was ours alone", head.rev),
            }),
        }
    }

    /// Waits for every queue to empty, writes what is not yet written, and refuses what comes after.
    pub(crate) async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        let slots: Vec<Arc<Slot<S>>> = self.slots.lock().values().cloned().collect();
        for slot in slots {
            self.drained(&slot).await;
        }
        self.flush().await
    }
}
