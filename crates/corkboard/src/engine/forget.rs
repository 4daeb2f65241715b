//! Permanent forgetting: a command removes something from the state, then a rewrite removes it from log and snapshot.

use std::sync::Arc;

use corkboard_core::{Head, Space};

use super::{CommitCollection, Engine, PAGE, Slot, joined};
use crate::store::{Appended, Cursor, Record, Rewrite, Snapshot, StoreError};
use crate::{Error, Result};

impl<S: Space> Engine<S> {
    /// Reads the log without changing it, so that `forget` collects everything to search for. A log that cannot be read
    /// fails here, before anything is changed.
    pub(crate) async fn survey(&self, slot: &Slot<S>, forget: &mut S::Forget) -> Result<()> {
        self.redacted(slot, forget, u64::MAX).await.map(|_| ())
    }

    /// Removes something from the log and the snapshot, after revision `removed` removed it from the state. Later
    /// revisions are not changed. Returns how many revisions changed. Afterwards the store's files contain no trace of
    /// it.
    pub(crate) async fn forget(self: &Arc<Self>, slot: &Arc<Slot<S>>, forget: S::Forget, removed: u64) -> Result<u64> {
        let rewritten = self.rewrite(slot, forget, removed).await?;
        // Always scrub: an earlier attempt may have rewritten the log and failed before this.
        self.store.scrub().await?;
        Ok(rewritten)
    }

    /// Like [`Engine::forget`], but leaves traces in the store's files, for a caller that scrubs after several spaces.
    pub(crate) async fn rewrite(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        mut forget: S::Forget,
        removed: u64,
    ) -> Result<u64> {
        if self.is_closed() {
            return Err(Error::Closed);
        }
        let (engine, slot) = (self.clone(), slot.clone());
        // Runs in a task: a caller that stops waiting must not leave the space's queue without a leader.
        joined(self.spawn(async move {
            // A concurrent snapshot by this process could contain a state from before the removal.
            let alone = engine.lead_alone(&slot).await;
            let mut rewritten = engine.rewrite_without(&slot, &mut forget, removed).await;
            if rewritten.is_ok()
                && let Err(error) = engine.erase_vectors(&slot.id).await
            {
                rewritten = Err(error);
            }
            slot.index.discard();
            engine.indexer.wake(&slot.id);
            alone.hand_over(&engine, &slot);
            rewritten
        }))
        .await
    }

    async fn rewrite_without(&self, slot: &Slot<S>, forget: &mut S::Forget, removed: u64) -> Result<u64> {
        self.flush_slot(slot, self.lock_beside_leader(slot, &slot.flushing).await).await?;
        let _one_at_a_time = slot.loading.lock().await;
        loop {
            let state = match slot.peek() {
                Some(held) => self.catch_up(slot, &held, CommitCollection::Nothing).await?.state,
                None => self.load(slot).await?,
            };
            // First collect what was added since the survey; it must be known before redacting the first revision.
            let collected = self.redacted(slot, forget, removed).await?;
            let Redacted { first, head, records, changed } = self.redacted(slot, forget, removed).await?;
            // If the log was trimmed in between, the first pass counted from another revision.
            if head != state.head || first != collected.first {
                continue;
            }
            let loaded = self.store.load(&slot.id).await?;
            if loaded.head == loaded.born {
                // Never written, or deleted and not written since: nothing to rewrite.
                return Ok(0);
            }
            let body = state.encode().map_err(|error| Error::format(&slot.id, error))?;
            // Write a snapshot even if there was none, so that another process cannot store an older one.
            let snapshot = Some(Snapshot { head, body });
            let rewrite = Rewrite { space: slot.id.clone(), expected: head, records, snapshot };
            match self.store.rewrite(rewrite).await? {
                Appended::Committed => return Ok(changed),
                Appended::Conflict { head: found } if found == head => {
                    let message = "its log cannot be rewritten, although its head did not change".into();
                    return Err(Error::Damaged { space: slot.id.to_string(), message });
                }
                Appended::Conflict { .. } => {}
            }
        }
    }

    /// Redacts the revisions up to `until`.
    async fn redacted(&self, slot: &Slot<S>, forget: &mut S::Forget, until: u64) -> Result<Redacted> {
        let mut cursor = Cursor { rev: self.store.load(&slot.id).await?.born.rev, commit: None };
        let (mut first, mut records, mut changed) = (None, Vec::new(), 0);
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
                first.get_or_insert(record.rev);
                if record.rev > until {
                    continue;
                }
                let mut commit = self.decode(&slot.id, &record)?;
                // Not `any`: every event must be visited.
                let found = commit.events.iter_mut().filter_map(|event| S::redact(event, forget).then_some(())).count();
                if found > 0 {
                    let body = commit.encode().map_err(|error| Error::format(&slot.id, error))?;
                    records.push(Record { body, ..record });
                    changed += 1;
                } else if S::is_in_summaries(forget) {
                    records.push(record);
                }
            }
            if cursor.rev >= page.head.rev {
                return Ok(Redacted { first, head: page.head, records, changed });
            }
        }
    }
}

/// A log without what is to be forgotten.
struct Redacted {
    /// The oldest revision that the log still had.
    first: Option<u64>,
    head: Head,
    /// The revisions to rewrite.
    records: Vec<Record>,
    /// How many of them contained what is to be forgotten.
    changed: u64,
}
