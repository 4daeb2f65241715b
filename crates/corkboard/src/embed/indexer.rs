//! Computes missing vectors in the background: one task for all spaces of a process.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::mem::{Discriminant, discriminant};
use std::sync::{Arc, Weak};
use std::time::Duration;

use corkboard_core::{SpaceId, SpaceKind};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{EmbedError, Embedder, Reindex, TextHash, TextKind, Vector, VectorStatus, embed};
use crate::backoff::Backoff;
use crate::options::{Options, Tier};
use crate::{Error, Result};

/// How long to wait after a wake-up, so that a burst of writes is one batch and a short command ends before it begins.
const GATHER: Duration = Duration::from_millis(100);
/// Pauses after failures, for each space.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(5 * 60));
/// A model that refuses this many texts, and accepts none, refuses all.
const MAX_REFUSED: usize = 8;

/// Spaces of a kind, and the vectors of their texts.
pub(crate) trait VectorIndex: Send + Sync {
    /// Computes and stores all missing vectors of a space.
    fn compute(self: Arc<Self>, space: SpaceId) -> BoxFuture<'static, Result<(), EmbedError>>;

    fn count(self: Arc<Self>, space: SpaceId) -> BoxFuture<'static, Result<TextCounts>>;

    /// Erases the stored vectors of a space.
    fn erase(self: Arc<Self>, space: SpaceId) -> BoxFuture<'static, Result<()>>;
}

/// The texts of a space.
pub(crate) struct TextCounts {
    pub(crate) texts: usize,
    pub(crate) without_vector: usize,
    pub(crate) refused: usize,
}

/// The configured embedding model, if any, and the spaces that wait for it.
pub(crate) struct Indexer {
    embedder: Option<Arc<dyn Embedder>>,
    query_timeout: Duration,
    indexes: Mutex<Vec<(SpaceKind, Weak<dyn VectorIndex>)>>,
    waiting: Mutex<BTreeSet<SpaceId>>,
    woken: Notify,
    /// The spaces that failed: when to try again, and the pauses so far.
    failed: Mutex<HashMap<SpaceId, (Instant, Backoff)>>,
    /// Why the last attempt failed, of the spaces where it did.
    problems: Mutex<HashMap<SpaceId, String>>,
    logged: Mutex<HashSet<Discriminant<EmbedError>>>,
}

/// The vectors of some texts, and the texts that the model refused.
#[derive(Default)]
pub(crate) struct EmbeddedBatch {
    pub(crate) vectors: Vec<(TextHash, Vector)>,
    pub(crate) refused: Vec<TextHash>,
}

impl Indexer {
    /// Clients of a server have no indexer: the server's computes the vectors.
    pub(crate) fn new(options: &Options, is_client: bool) -> Arc<Self> {
        let is_available = !is_client && options.tier > Tier::Core;
        Arc::new(Self {
            embedder: options.embedder.clone().filter(|_| is_available),
            query_timeout: options.embedder_query_timeout,
            indexes: Mutex::default(),
            waiting: Mutex::default(),
            woken: Notify::new(),
            failed: Mutex::default(),
            problems: Mutex::default(),
            logged: Mutex::default(),
        })
    }

    pub(crate) fn embedder(&self) -> Option<&Arc<dyn Embedder>> {
        self.embedder.as_ref()
    }

    pub(crate) fn add(&self, kind: SpaceKind, index: &Arc<impl VectorIndex + 'static>) {
        let index: Weak<dyn VectorIndex> = Arc::downgrade(index) as Weak<dyn VectorIndex>;
        self.indexes.lock().push((kind, index));
    }

    fn index(&self, space: &SpaceId) -> Option<Arc<dyn VectorIndex>> {
        let kind = space.kind()?;
        self.indexes.lock().iter().find(|(of, _)| *of == kind)?.1.upgrade()
    }

    /// Notes that vectors of a space may be missing.
    pub(crate) fn wake(&self, space: &SpaceId) {
        let has_index = matches!(space.kind(), Some(SpaceKind::Agent | SpaceKind::Board | SpaceKind::Core));
        if self.embedder.is_some() && has_index && self.waiting.lock().insert(space.clone()) {
            self.woken.notify_one();
        }
    }

    /// Computes vectors until it is aborted.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            let now = Instant::now();
            let waiting = std::mem::take(&mut *self.waiting.lock());
            let ready: BTreeSet<SpaceId> = {
                let failed = self.failed.lock();
                let may_begin = |space: &SpaceId| failed.get(space).is_none_or(|(at, _)| *at <= now);
                let retried = failed.iter().filter(|(_, (at, _))| *at <= now).map(|(space, _)| space.clone());
                waiting.into_iter().filter(may_begin).chain(retried).collect()
            };
            for space in &ready {
                let Some(index) = self.index(space) else { continue };
                match index.compute(space.clone()).await {
                    Ok(()) => {
                        self.failed.lock().remove(space);
                        self.problems.lock().remove(space);
                    }
                    Err(error) => {
                        self.note(space, &error);
                        let mut failed = self.failed.lock();
                        let (at, pauses) = failed.entry(space.clone()).or_insert((now, BACKOFF));
                        *at = Instant::now() + pauses.next_pause().max(error.retry_after().unwrap_or_default());
                    }
                }
            }
            if ready.is_empty() {
                let next = self.failed.lock().values().map(|(at, _)| *at).min();
                let retry = async {
                    match next {
                        Some(at) => tokio::time::sleep_until(at).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    () = self.woken.notified() => tokio::time::sleep(GATHER).await,
                    () = retry => {}
                }
            }
        }
    }

    /// Keeps a problem for [`Indexer::status`], and logs the first of its kind.
    pub(crate) fn note(&self, space: &SpaceId, error: &EmbedError) {
        self.problems.lock().insert(space.clone(), error.to_string());
        if self.logged.lock().insert(discriminant(error)) {
            tracing::warn!(%space, %error, "cannot compute vectors yet");
        }
    }

    /// The vector of a query, or why there is none. Without a model there is neither.
    pub(crate) async fn query(&self, text: &str) -> Result<Option<Vector>, EmbedError> {
        let (Some(embedder), text) = (&self.embedder, text.trim()) else { return Ok(None) };
        if text.is_empty() {
            return Ok(None);
        }
        let texts = [text.to_owned()];
        let vectors = tokio::time::timeout(self.query_timeout, embed(embedder, &texts, TextKind::Query, None)).await;
        let vectors = vectors.unwrap_or(Err(EmbedError::TimedOut { after: self.query_timeout }));
        match &vectors {
            Ok(_) => self.logged.lock().clear(),
            Err(error) if self.logged.lock().insert(discriminant(error)) => {
                tracing::warn!(%error, "searching without the configured embedding model");
            }
            Err(_) => {}
        }
        Ok(vectors?.pop())
    }

    /// Embeds texts. If the model refuses some of them, finds out which.
    pub(crate) async fn documents(
        &self,
        texts: &[(TextHash, String)],
        mut dimensions: Option<usize>,
    ) -> Result<EmbeddedBatch, EmbedError> {
        let mut done = EmbeddedBatch::default();
        let Some(embedder) = &self.embedder else { return Ok(done) };
        let mut left = vec![texts];
        while let Some(part) = left.pop() {
            let only_texts: Vec<String> = part.iter().map(|(_, text)| text.clone()).collect();
            match embed(embedder, &only_texts, TextKind::Document, dimensions).await {
                Ok(vectors) => {
                    dimensions = vectors.first().map(|vector| vector.values().len()).or(dimensions);
                    done.vectors.extend(part.iter().map(|(hash, _)| *hash).zip(vectors));
                }
                Err(error) if error.may_be_about_a_text() => {
                    if let [(hash, _)] = part {
                        done.refused.push(*hash);
                        if self.logged.lock().insert(discriminant(&error)) {
                            tracing::warn!(%error, "the embedding model refused a text");
                        }
                    } else {
                        let (first, second) = part.split_at(part.len() / 2);
                        left.extend([second, first]);
                    }
                    let is_last = left.is_empty() || done.refused.len() >= MAX_REFUSED;
                    if is_last && done.vectors.is_empty() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if done.refused.is_empty() {
            self.logged.lock().clear();
        }
        Ok(done)
    }

    pub(crate) async fn status(&self, space: &SpaceId) -> Result<VectorStatus> {
        let index = self.index(space).ok_or(Error::Closed)?;
        let TextCounts { texts, without_vector, refused } = index.count(space.clone()).await?;
        let model = self.embedder.as_ref().map(|embedder| embedder.model().to_owned());
        if without_vector > refused {
            self.wake(space);
        }
        let problem = self.problems.lock().get(space).cloned();
        let without_vector = if model.is_some() { without_vector } else { texts };
        let [entries, without_vector, refused_texts] = [texts, without_vector, refused].map(|count| count as u64);
        Ok(VectorStatus { model, entries, without_vector, refused_texts, problem })
    }

    /// Tries again at once to compute the vectors of a space, all or only the missing ones.
    pub(crate) async fn restart(&self, space: &SpaceId, reindex: Reindex) -> Result<()> {
        let index = self.index(space).ok_or(Error::Closed)?;
        if self.embedder.is_none() {
            return Err(Error::NoEmbedder);
        }
        if reindex == Reindex::All {
            index.erase(space.clone()).await?;
        }
        self.failed.lock().remove(space);
        self.problems.lock().remove(space);
        self.wake(space);
        Ok(())
    }
}
