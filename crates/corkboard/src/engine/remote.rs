//! Commands that a server decides, not this process.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use corkboard_core::agent::Forget;
use corkboard_core::{Actor, AgentId, CommitId, Refusal, Request, Space, SpaceId};
use futures_util::future::BoxFuture;

use super::ask::{Answer, RequestSource};
use super::decide::warn;
use super::{Engine, Slot};
use crate::embed::{Reindex, VectorStatus};
use crate::log::{AnswerDocument, CommandDocument};
use crate::store::{Cursor, StoreError};
use crate::{Error, Forgotten, ForgottenText, Result, SearchAnswer};

/// How many times to recompute a command after losing to a concurrent change.
const ATTEMPTS: usize = 64;

pub(crate) trait RemoteEngine: Send + Sync + 'static {
    /// Sends a [`CommandDocument`] as JSON. A command with an idempotency key (`has_name`) may be sent again.
    fn ask(
        &self,
        space: SpaceId,
        actor: Actor,
        command: Vec<u8>,
        has_name: bool,
    ) -> BoxFuture<'_, Result<AnswerDocument>>;

    /// Permanently forgets something, if the memory is at revision `if_rev`.
    fn forget(
        &self,
        agent: AgentId,
        actor: Actor,
        forget: Forget,
        if_rev: Option<u64>,
    ) -> BoxFuture<'_, Result<Forgotten>>;

    /// Permanently forgets a record of a board or an entry of a core.
    fn forget_record(&self, space: SpaceId, actor: Actor, id: String) -> BoxFuture<'_, Result<Forgotten>>;

    /// Finds a text in the whole store, and forgets it unless this is a dry run.
    fn forget_text(&self, actor: Actor, text: String, dry_run: bool) -> BoxFuture<'_, Result<ForgottenText>>;

    /// Deletes everything of an agent, if its memory is at revision `if_rev`. Returns whether there was anything to
    /// delete.
    fn delete_agent(
        &self,
        agent: AgentId,
        actor: Actor,
        if_rev: Option<u64>,
        deletion: Deletion,
    ) -> BoxFuture<'_, Result<bool>>;

    /// Whether the server has an embedding model, so that searches are sent to it.
    fn has_embedder(&self) -> bool;

    fn search<'a>(&'a self, space: &'a SpaceId, search: RemoteSearch<'a>) -> BoxFuture<'a, Result<SearchAnswer>>;

    fn vector_status(&self, space: SpaceId) -> BoxFuture<'_, Result<VectorStatus>>;

    fn reindex(&self, space: SpaceId, actor: Actor, reindex: Reindex) -> BoxFuture<'_, Result<VectorStatus>>;
}

/// The options of a search that a server performs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RemoteSearch<'a> {
    pub(crate) query: &'a str,
    pub(crate) limit: usize,
    pub(crate) budget: Option<u64>,
    pub(crate) is_explained: bool,
}

/// How thoroughly something is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    WithLog,
    /// Also erase the content from the store's files, tables and keys.
    Hard,
}

impl<S: Space> Engine<S> {
    pub(crate) fn remote(&self) -> Option<&Arc<dyn RemoteEngine>> {
        self.remote.as_ref()
    }

    pub(super) async fn ask_remote(
        self: &Arc<Self>,
        remote: &Arc<dyn RemoteEngine>,
        slot: &Arc<Slot<S>>,
        actor: Actor,
        mut asked: RequestSource<S>,
    ) -> Result<Answer<S::Reply>> {
        for _ in 0..ATTEMPTS {
            let (request, created_at) = match &asked {
                RequestSource::Request(request) => (request.clone(), None),
                RequestSource::Computed(_) => {
                    let current = self.current(slot).await?;
                    let now = self.now(slot, &current);
                    (asked.request(&current.state, now)?.into_owned(), Some(current.head.rev))
                }
            };
            let Request { command, if_rev, idempotency } = request;
            let has_name = idempotency.is_some();
            let (idempotency_key, idempotency_body) = idempotency.map(|name| (name.key, name.body)).unzip();
            let if_rev_now = if_rev.or(created_at);
            let document = CommandDocument { command, if_rev: if_rev_now, idempotency_key, idempotency_body };
            let senseless = |error: serde_json::Error| Error::Command { message: error.to_string() };
            let json = serde_json::to_vec(&document).map_err(senseless)?;
            let answer = remote.ask(slot.id.clone(), actor.clone(), json, has_name).await;
            // The state in memory is older than the answer, so the next read must ask the server.
            slot.current_at.store(0, Ordering::Relaxed);
            match (answer, created_at) {
                // The state that the command was computed from is outdated: compute it again.
                (Err(Error::Refused(Refusal::RevConflict { .. })), Some(_)) if if_rev.is_none() => {}
                (answer, _) => {
                    let AnswerDocument { reply, rev, commit, warnings } = answer?;
                    let reply = serde_json::from_str(reply.get()).map_err(senseless)?;
                    warn(&warnings);
                    if let Some(commit) = commit
                        && self.observer.is_heard()
                        && let Err(error) = self.tell_of(slot, rev, commit).await
                    {
                        tracing::debug!(space = %slot.id, rev, %error, "failed to read the committed revision");
                    }
                    return Ok(Answer { reply, rev, commit, replayed: None, warnings });
                }
            }
        }
        Err(StoreError::Unavailable("gave up after repeated conflicts with concurrent changes".into()).into())
    }

    /// Notifies the observer of a revision that the server committed for this process.
    async fn tell_of(self: &Arc<Self>, slot: &Arc<Slot<S>>, rev: u64, commit: CommitId) -> Result<()> {
        let current = self.current(slot).await?;
        let before = Cursor { rev: rev.saturating_sub(1), commit: None };
        let page = self.store.read_after(&slot.id, before, 1).await?;
        // If the space was deleted in the meantime, the revision is no longer in the log.
        let Some(record) = page.records.iter().find(|record| record.commit == commit) else { return Ok(()) };
        let commit = self.decode(&slot.id, record)?;
        self.observer.committed(&slot.id, &[&commit], &current.state, &current.state);
        Ok(())
    }
}
