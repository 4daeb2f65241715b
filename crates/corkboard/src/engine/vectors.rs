//! A space's vectors: read from their log into the index, computed where they are missing, and erased.
//!
//! A vector must never be stored after its text was forgotten. Forgetting first removes the text from the state, then
//! deletes the log of vectors. A process therefore reads the log's head first, then the state, and appends only if the
//! head is still the same. An empty log gets the record that names the model before the state is read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use corkboard_core::{Head, SpaceId, SpaceKind};
use futures_util::future::BoxFuture;

use super::search::SpaceIndex;
use super::{Engine, PAGE, Slot};
use crate::embed::{EmbedError, TextCounts, TextHash, Vector, VectorIndex, VectorRecord, vectors_of};
use crate::search::{Change, Index, Searchable, embedded_text};
use crate::store::{Append, Appended, Cursor, Record, Rewrite, StoreError};
use crate::{Error, Result, ids};

/// Texts per request to the model.
const BATCH: usize = 64;
/// Maximum number of texts, and of their bytes, that wait for the model in memory.
const MAX_WAITING: usize = 4096;
const MAX_WAITING_BYTES: usize = 8 * 1024 * 1024;
/// A log with more records than this, and more than [`SPARSE`] times as many as it has vectors, is written anew.
const MAX_RECORDS: usize = 1024;
const SPARSE: usize = 4;
/// Vectors per record of a log that is written anew.
const PACKED: usize = 256;

/// What is known of the log of a space's vectors.
pub(super) struct VectorLog {
    /// How far it was read; `None`: not at all.
    head: Option<Head>,
    model: Option<String>,
    /// The revision with the vector of each text.
    revs: HashMap<TextHash, u64>,
    records: usize,
    /// Whether this process wrote the model's name.
    is_ours: bool,
}

impl VectorLog {
    pub(super) fn new() -> Self {
        Self { head: None, model: None, revs: HashMap::new(), records: 0, is_ours: false }
    }

    pub(super) fn is_read(&self) -> bool {
        self.head.is_some()
    }
}

/// A pass over a space ended early because another process wrote to the log of vectors.
struct Overtaken;

impl<S: Searchable> Engine<S> {
    /// Reads what is new in the log of a space's vectors into the index.
    pub(super) async fn read_vectors(&self, slot: &Slot<S>, index: &mut SpaceIndex<S>) -> Result<()> {
        let space = vectors_of(&slot.id);
        loop {
            let from = match index.vectors.head {
                Some(head) => head,
                None => {
                    // Whether this process named the model stays known.
                    index.vectors = VectorLog { is_ours: index.vectors.is_ours, ..VectorLog::new() };
                    index.index.forget_vectors();
                    self.store.load(&space).await?.born
                }
            };
            index.vectors.head = Some(from);
            let page = match self.store.read_after(&space, Cursor::from(from), PAGE).await {
                Err(StoreError::Compacted { .. } | StoreError::Diverged | StoreError::Future { .. }) => {
                    index.vectors.head = None;
                    continue;
                }
                page => page?,
            };
            let is_last = page.records.last().map_or(from.rev, |record| record.rev) >= page.head.rev;
            for record in page.records {
                self.take_vectors(index, &space, &record)?;
            }
            if is_last {
                index.count_bytes();
                return Ok(());
            }
        }
    }

    fn take_vectors(&self, index: &mut SpaceIndex<S>, space: &SpaceId, record: &Record) -> Result<()> {
        let invalid = || Error::Damaged { space: space.to_string(), message: "it has an unknown record".into() };
        let head = Head { rev: record.rev, commit: record.commit };
        match VectorRecord::decode(&record.body).ok_or_else(invalid)? {
            VectorRecord::Model(model) => index.vectors.model = Some(model),
            VectorRecord::Vectors(vectors) => {
                let is_ours = index.vectors.model.as_deref() == self.model();
                index.take_vectors(head, vectors, if is_ours { UseVectors::Yes } else { UseVectors::No });
            }
        }
        index.vectors.head = Some(head);
        Ok(())
    }

    fn model(&self) -> Option<&str> {
        self.indexer.embedder().map(|embedder| embedder.model())
    }

    async fn compute_vectors(self: &Arc<Self>, slot: &Arc<Slot<S>>) -> Result<(), EmbedError> {
        while let Err(Overtaken) = self.try_compute_vectors(slot).await? {}
        Ok(())
    }

    async fn try_compute_vectors(self: &Arc<Self>, slot: &Arc<Slot<S>>) -> Result<Result<(), Overtaken>, EmbedError> {
        let Some(model) = self.model() else { return Ok(Ok(())) };
        let space = vectors_of(&slot.id);
        let shared = self.index_of(slot);
        let state = self.current(slot).await.map_err(stored)?;
        let mut index = self.update_index(shared.clone().write_owned().await, state).await.map_err(stored)?;
        self.read_vectors(slot, &mut index).await.map_err(stored)?;
        // Again, because the state must be newer than the log of vectors that was read.
        let state = self.as_stored(slot).await.map_err(stored)?;
        let mut index = self.update_index(index, state).await.map_err(stored)?;
        let Some(mut head) = index.vectors.head else { return Ok(Err(Overtaken)) };
        let gone = index.gone_texts();
        if !gone.is_empty() {
            let is_sparse = index.vectors.records > MAX_RECORDS.max(SPARSE * (index.vectors.revs.len() - gone.len()));
            let packed = is_sparse.then(|| (index.vectors.model.clone().unwrap_or_default(), index.index.vectors()));
            drop(index);
            let is_done = match packed {
                Some((model, vectors)) => self.pack_vectors(&space, head, model, vectors).await,
                None => self.remove_vectors(&space, head, &gone).await,
            };
            if is_done.map_err(stored)? {
                shared.write().await.vectors.revs.retain(|hash, _| !gone.contains_key(hash));
            }
            return Ok(Err(Overtaken));
        }
        let MissingTexts { texts, are_all } = index.missing_texts();
        if texts.is_empty() {
            return Ok(Ok(()));
        }
        if index.vectors.model.as_deref() != Some(model) {
            if let Some(found) = index.vectors.model.clone() {
                if index.vectors.is_ours {
                    return Err(EmbedError::OtherModel { found });
                }
                tracing::info!(space = %slot.id, old = found, new = model, "the embedding model changed");
                self.erase_vectors(&slot.id).await.map_err(stored)?;
            } else {
                // Whether this is written or another process was first: start again with reading the log.
                let named = vec![VectorRecord::Model(model.to_owned())];
                index.vectors.is_ours = self.append_vectors(&space, head, named).await.map_err(stored)?.is_some();
            }
            return Ok(Err(Overtaken));
        }
        if texts.iter().any(|(hash, _)| index.vectors.revs.contains_key(hash)) {
            // Their vectors were read before the texts were in the index.
            index.vectors.head = None;
            return Ok(Err(Overtaken));
        }
        let mut dimensions = index.index.dimensions();
        drop(index);
        for batch in texts.chunks(BATCH) {
            let embedded = self.indexer.documents(batch, dimensions).await?;
            dimensions = embedded.vectors.first().map(|(_, vector)| vector.values().len()).or(dimensions);
            if !embedded.refused.is_empty() {
                let mut index = shared.write().await;
                embedded.refused.iter().for_each(|hash| index.index.refuse(*hash));
            }
            if embedded.vectors.is_empty() {
                continue;
            }
            let record = VectorRecord::Vectors(embedded.vectors.clone());
            let Some(new) = self.append_vectors(&space, head, vec![record]).await.map_err(stored)? else {
                return Ok(Err(Overtaken));
            };
            let mut index = shared.write().await;
            // A search may have read the record already.
            if index.vectors.head == Some(head) {
                index.take_vectors(new, embedded.vectors, UseVectors::Yes);
                index.count_bytes();
            }
            head = new;
        }
        self.keep_budget();
        Ok(if are_all { Ok(()) } else { Err(Overtaken) })
    }

    /// Appends to a log of vectors; `None` if another process was first.
    async fn append_vectors(
        &self,
        space: &SpaceId,
        expected: Head,
        records: Vec<VectorRecord>,
    ) -> Result<Option<Head>> {
        let at = self.time();
        let numbered = (expected.rev + 1..).zip(records);
        let records = numbered.map(|(rev, record)| Record { rev, commit: ids::commit(), at, body: record.encode() });
        let append =
            Append { space: space.clone(), expected, records: records.collect(), next_due: None, summary: Vec::new() };
        let head = append.new_head();
        Ok((self.store.append(append).await? == Appended::Committed).then_some(head))
    }

    /// Removes vectors from the log. Returns whether it did: another process may have written to the log.
    async fn remove_vectors(&self, space: &SpaceId, head: Head, gone: &HashMap<TextHash, u64>) -> Result<bool> {
        let revs: HashSet<u64> = gone.values().copied().collect();
        let mut records = Vec::new();
        for rev in revs {
            let page = match self.store.read_after(space, Cursor { rev: rev - 1, commit: None }, 1).await {
                Err(StoreError::Compacted { .. } | StoreError::Future { .. }) => return Ok(false),
                page => page?,
            };
            let Some(record) = page.records.into_iter().find(|record| record.rev == rev) else { continue };
            if let Some(VectorRecord::Vectors(mut vectors)) = VectorRecord::decode(&record.body) {
                vectors.retain(|(hash, _)| !gone.contains_key(hash));
                records.push(Record { body: VectorRecord::Vectors(vectors).encode(), ..record });
            }
        }
        let rewrite = Rewrite { space: space.clone(), expected: head, records, snapshot: None };
        Ok(self.store.rewrite(rewrite).await? == Appended::Committed)
    }

    /// Replaces a log that has mostly empty records. If this is interrupted, the vectors are computed again.
    async fn pack_vectors(
        &self,
        space: &SpaceId,
        head: Head,
        model: String,
        vectors: Vec<(TextHash, Vector)>,
    ) -> Result<bool> {
        let tombstone = ids::commit();
        if self.store.delete(space, head, tombstone).await? != Appended::Committed {
            return Ok(false);
        }
        let head = Head { rev: head.rev + 1, commit: tombstone };
        let packed = vectors.chunks(PACKED).map(|part| VectorRecord::Vectors(part.to_vec()));
        let records = std::iter::once(VectorRecord::Model(model)).chain(packed).collect();
        Ok(self.append_vectors(space, head, records).await?.is_some())
    }
}

impl<S: Searchable> SpaceIndex<S> {
    /// Notes a record of the log of vectors.
    fn take_vectors(&mut self, at: Head, vectors: Vec<(TextHash, Vector)>, use_vectors: UseVectors) {
        for (hash, vector) in vectors {
            self.vectors.revs.insert(hash, at.rev);
            if use_vectors == UseVectors::Yes {
                self.index.set_vector(&hash, &vector);
            }
        }
        self.vectors.records += 1;
        self.vectors.head = Some(at);
    }

    /// The stored texts that are no longer in the space, with the revisions of their vectors.
    fn gone_texts(&self) -> HashMap<TextHash, u64> {
        let gone = self.vectors.revs.iter().filter(|(hash, _)| !self.index.has_text(hash));
        gone.map(|(hash, rev)| (*hash, *rev)).collect()
    }

    /// Texts without a vector, as many as may wait in memory.
    fn missing_texts(&self) -> MissingTexts {
        let (mut texts, mut known, mut bytes, mut are_all) = (Vec::new(), HashSet::new(), 0, true);
        let Some(state) = self.of.as_ref().filter(|_| self.index.without_vector() > 0) else {
            return MissingTexts { texts, are_all };
        };
        S::changes(None, &state.state, |id, change| {
            let Change::Put(document) = change else { return };
            let Some(hash) = self.index.lacks_vector(&id).filter(|hash| known.insert(*hash)) else { return };
            if texts.len() >= MAX_WAITING || bytes >= MAX_WAITING_BYTES {
                are_all = false;
                return;
            }
            let text = embedded_text(&document);
            bytes += text.len();
            texts.push((hash, text));
        });
        MissingTexts { texts, are_all }
    }
}

struct MissingTexts {
    texts: Vec<(TextHash, String)>,
    are_all: bool,
}

/// Whether vectors are of the configured model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UseVectors {
    Yes,
    No,
}

fn stored(error: Error) -> EmbedError {
    EmbedError::Store(error.to_string())
}

impl<S: corkboard_core::Space> Engine<S> {
    /// Erases the vectors of a space. Afterwards, no process stores vectors of texts that are gone now.
    pub(super) async fn erase_vectors(&self, space: &SpaceId) -> Result<()> {
        let has_vectors = matches!(space.kind(), Some(SpaceKind::Agent | SpaceKind::Board | SpaceKind::Core));
        if !has_vectors || self.remote.is_some() {
            return Ok(());
        }
        let vectors = vectors_of(space);
        loop {
            let loaded = self.store.load(&vectors).await?;
            if loaded.head == loaded.born {
                return Ok(());
            }
            if self.store.delete(&vectors, loaded.head, ids::commit()).await? == Appended::Committed {
                return Ok(());
            }
        }
    }
}

impl<S: Searchable> VectorIndex for Engine<S> {
    fn compute(self: Arc<Self>, space: SpaceId) -> BoxFuture<'static, Result<(), EmbedError>> {
        Box::pin(async move {
            let slot = self.slot(&space);
            self.compute_vectors(&slot).await
        })
    }

    fn count(self: Arc<Self>, space: SpaceId) -> BoxFuture<'static, Result<TextCounts>> {
        Box::pin(async move {
            let slot = self.slot(&space);
            let count = |index: &Index<S::DocumentId>| TextCounts {
                texts: index.len(),
                without_vector: index.without_vector(),
                refused: index.refused(),
            };
            self.search(&slot, |_| 0, move |_, index, _| count(index)).await
        })
    }

    fn erase(self: Arc<Self>, space: SpaceId) -> BoxFuture<'static, Result<()>> {
        Box::pin(async move {
            let slot = self.slot(&space);
            self.erase_vectors(&space).await?;
            slot.index.discard();
            Ok(())
        })
    }
}
