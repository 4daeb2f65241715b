//! Commands that are not decided in this process, but by a server that keeps the store.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use corkboard_core::agent::Forget;
use corkboard_core::{Actor, AgentId, CommitId, Refusal, Request, Space, SpaceId};
use futures_util::future::BoxFuture;

use super::ask::{Answer, RequestSource};
use super::decide::warn;
use super::{Engine, Slot};
use crate::log::{AnswerDocument, CommandDocument};
use crate::store::{Cursor, StoreError};
use crate::{Error, Forgotten, Result};

/// How often a command is made anew because somebody else was first.
const ATTEMPTS: usize = 64;

pub(crate) trait RemoteEngine: Send + Sync + 'static {
    /// Sends a [`CommandDocument`] as JSON. What has a name may be sent again.
    fn ask(
        &self,
        space: SpaceId,
        actor: Actor,
        command: Vec<u8>,
        has_name: bool,
    ) -> BoxFuture<'_, Result<AnswerDocument>>;

    /// Has something forgotten for good, if the memory is at that revision.
    fn forget(
        &self,
        agent: AgentId,
        actor: Actor,
        forget: Forget,
        if_rev: Option<u64>,
    ) -> BoxFuture<'_, Result<Forgotten>>;

    /// Has everything of an agent deleted, if its memory is at that revision. Returns whether there was something.
    fn delete_agent(
        &self,
        agent: AgentId,
        actor: Actor,
        if_rev: Option<u64>,
        deletion: Deletion,
    ) -> BoxFuture<'_, Result<bool>>;
}

/// How thoroughly something is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    WithLog,
    /// And out of the store's files, tables and keys.
    ForGood,
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
            // What is held here is older than the answer: the next read asks.
            slot.current_at.store(0, Ordering::Relaxed);
            match (answer, created_at) {
                // What the command was made from was overtaken.
                (Err(Error::Refused(Refusal::RevConflict { .. })), Some(_)) if if_rev.is_none() => {}
                (answer, _) => {
                    let AnswerDocument { reply, rev, commit, warnings } = answer?;
                    let reply = serde_json::from_str(reply.get()).map_err(senseless)?;
                    warn(&warnings);
                    if let Some(commit) = commit
                        && self.observer.is_heard()
                        && let Err(error) = self.tell_of(slot, rev, commit).await
                    {
                        tracing::debug!(space = %slot.id, rev, %error, "what was done could not be read");
                    }
                    return Ok(Answer { reply, rev, commit, replayed: None, warnings });
                }
            }
        }
        Err(StoreError::Unavailable("others were first, again and again".into()).into())
    }

    /// Tells the observer of a revision that was made elsewhere for this process.
    async fn tell_of(self: &Arc<Self>, slot: &Arc<Slot<S>>, rev: u64, commit: CommitId) -> Result<()> {
        let current = self.current(slot).await?;
        let before = Cursor { rev: rev.saturating_sub(1), commit: None };
        let page = self.store.read_after(&slot.id, before, 1).await?;
        // Whoever deleted it meanwhile took it out of the log.
        let Some(record) = page.records.iter().find(|record| record.commit == commit) else { return Ok(()) };
        let commit = self.decode(&slot.id, record)?;
        self.observer.committed(&slot.id, &[&commit], &current.state, &current.state);
        Ok(())
    }
}
