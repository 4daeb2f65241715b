//! Forgetting for good: out of the state by a command, out of the log and the snapshot by rewriting them.

use std::sync::Arc;

use corkboard_core::{Head, Space};

use super::{Collect, Engine, PAGE, Slot, joined};
use crate::store::{Appended, Cursor, Record, Rewrite, Snapshot, StoreError};
use crate::{Error, Result};

impl<S: Space> Engine<S> {
    /// Goes through the log without changing it, so that `forget` learns all that there is to look for. What cannot be
    /// read is found out now, before anything is changed.
    pub(crate) async fn survey(&self, slot: &Slot<S>, forget: &mut S::Forget) -> Result<()> {
        self.redacted(slot, forget, u64::MAX).await.map(|_| ())
    }

    /// Takes something, which was removed from the state by the revision `removed`, out of the log and the snapshot. What
    /// was written since is new, and stays. Returns how many revisions changed. In the end nothing is left of it in the
    /// store's files.
    pub(crate) async fn forget(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        mut forget: S::Forget,
        removed: u64,
    ) -> Result<u64> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let (engine, slot) = (self.clone(), slot.clone());
        // In a task: a caller who stops waiting must not leave the space's queue without a leader.
        joined(self.spawn(async move {
            // A snapshot that this process writes meanwhile could be of a state that still has it.
            let alone = engine.lead_alone(&slot).await;
            let rewritten = engine.rewrite_without(&slot, &mut forget, removed).await;
            slot.index.discard();
            alone.hand_over(&engine, &slot);
            let rewritten = rewritten?;
            // In any case: an earlier attempt may have come this far and no further.
            engine.store.scrub().await?;
            Ok(rewritten)
        }))
        .await
    }

    async fn rewrite_without(&self, slot: &Slot<S>, forget: &mut S::Forget, removed: u64) -> Result<u64> {
        self.flush_slot(slot, self.lock_beside_leader(slot, &slot.flushing).await).await?;
        let _one_at_a_time = slot.loading.lock().await;
        loop {
            let state = match slot.peek() {
                Some(held) => self.catch_up(slot, &held, Collect::Nothing).await?.state,
                None => self.load(slot).await?,
            };
            // What came to be since the survey must be known before the first revision is looked at.
            self.redacted(slot, forget, removed).await?;
            let (head, records) = self.redacted(slot, forget, removed).await?;
            if head != state.head {
                continue;
            }
            let loaded = self.store.load(&slot.id).await?;
            if loaded.head == loaded.born {
                // Never written, or deleted and not written since: there is nothing to rewrite.
                return Ok(0);
            }
            let changed = records.len() as u64;
            let body = state.encode().map_err(|error| Error::format(&slot.id, error))?;
            // Even where there was none: an older one that another process is about to write cannot take its place.
            let snapshot = Some(Snapshot { head, body });
            let rewrite = Rewrite { space: slot.id.clone(), expected: head, records, snapshot };
            match self.store.rewrite(rewrite).await? {
                Appended::Committed => return Ok(changed),
                Appended::Conflict { head: found } if found == head => {
                    let message = "its log cannot be rewritten, though nobody wrote to it".into();
                    return Err(Error::Damaged { space: slot.id.to_string(), message });
                }
                Appended::Conflict { .. } => {}
            }
        }
    }

    /// The revisions up to `until` that change, as they shall be, and the head of the log they are part of.
    async fn redacted(&self, slot: &Slot<S>, forget: &mut S::Forget, until: u64) -> Result<(Head, Vec<Record>)> {
        let mut cursor = Cursor { rev: self.store.load(&slot.id).await?.born.rev, commit: None };
        let mut changed = Vec::new();
        S::begin_redaction(forget);
        loop {
            let page = match self.store.read_after(&slot.id, cursor, PAGE).await {
                Err(StoreError::Compacted { oldest }) => {
                    cursor = Cursor { rev: oldest - 1, commit: None };
                    continue;
                }
                page => page?,
            };
            for record in page.records {
                cursor = Cursor { rev: record.rev, commit: Some(record.commit) };
                if record.rev > until {
                    continue;
                }
                let mut commit = self.decode(&slot.id, &record)?;
                // Not `any`: every event must be gone through.
                let found = commit.events.iter_mut().filter_map(|event| S::redact(event, forget).then_some(())).count();
                if found > 0 {
                    let body = commit.encode().map_err(|error| Error::format(&slot.id, error))?;
                    changed.push(Record { body, ..record });
                }
            }
            if cursor.rev >= page.head.rev {
                return Ok((page.head, changed));
            }
        }
    }
}
