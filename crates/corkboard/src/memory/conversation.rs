//! A conversation's scratchpad: a space with one scope, which expires when nobody uses it.
//!
//! `Options::conversations` chooses the store for these spaces: the memory of this process, or the shared store. A
//! client of a server reads and writes them on the server, like all spaces.

use std::ops::Deref;
use std::sync::Arc;

use corkboard_core::agent::{AgentCommand, AgentEvent, AgentReply, AgentState, Forget};
use corkboard_core::{
    Actor, Commit, ConversationId, Entry, Key, LimitName, Limits, Note, Request, Revisioned, ScopeId, ScopeState,
    Space, SpaceId, SpaceKind, Usage,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use uuid::Builder;

use super::agent::AgentRuntime;
use super::handle::MemoryHandle;
use super::write::unexpected;
use super::{Forgotten, MemoryEvent, listener};
use crate::access::AuthenticatedActor;
use crate::engine::{Answer, Engine, RequestSource, Slot};
use crate::scratchpad::ScratchpadContents;
use crate::store::ListedSpace;
use crate::{Error, Options, Result};

/// Number of spaces listed per page.
const PAGE: usize = 1000;

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationInfo {
    /// The conversation's ID.
    pub id: ConversationId,
    /// Number of entries.
    pub entries: u64,
    /// Number of notes.
    pub notes: u64,
    /// When it was last read or written, accurate to 1 % of
    /// [`Options::conversation_idle`](crate::Options::conversation_idle).
    pub used_at: Timestamp,
}

/// The counts in a conversation's stored summary.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ConversationSummary {
    entries: u64,
    notes: u64,
    used_at_ms: i64,
}

#[derive(Clone)]
pub(super) struct ConversationSpace {
    pub(super) id: ConversationId,
    pub(super) scope: ScopeId,
    slot: Arc<Slot<AgentState>>,
}

impl AgentRuntime {
    pub(super) fn conversation_space(&self, id: ConversationId) -> ConversationSpace {
        let slot = self.conversations.slot(&SpaceId::conversation(&self.id, &id));
        ConversationSpace { scope: scope_of(&id), id, slot }
    }

    /// Submits a request to a conversation, which starts with its first write.
    pub(super) async fn ask_conversation(
        &self,
        actor: &AuthenticatedActor,
        space: &ConversationSpace,
        asked: RequestSource<AgentState>,
    ) -> Result<Answer<AgentReply>> {
        let engine = &self.conversations;
        if engine.remote().is_none() {
            self.check_conversation_limit(space).await?;
        }
        engine.ask(&space.slot, actor.clone(), Usage::default(), self.conversing(space, asked)).await
    }

    /// Checks that the agent may start another conversation. Two that start at the same instant can exceed the limit
    /// together.
    async fn check_conversation_limit(&self, space: &ConversationSpace) -> Result<()> {
        let engine = &self.conversations;
        let current = engine.current(&space.slot).await?;
        if current.state.conversation(space.scope, engine.now(&space.slot, &current)).is_some() {
            return Ok(());
        }
        let allowed = engine.options.limits.conversations_per_agent;
        let listed = self.listed_conversations(engine, usize::try_from(allowed).unwrap_or(usize::MAX)).await?;
        Ok(Limits::check(LimitName::ConversationsPerAgent, listed.len() as u64 + 1, allowed)?)
    }

    /// Wraps a request so that it starts or renews the conversation. A server does this itself.
    fn conversing(&self, space: &ConversationSpace, asked: RequestSource<AgentState>) -> RequestSource<AgentState> {
        let is_kept_here = self.conversations.remote().is_none();
        let ConversationSpace { id, scope, .. } = space.clone();
        let (idle_ms, conversation) = (self.idle_ms(), id.clone());
        let wrap = move |request: Request<AgentCommand>| match is_kept_here {
            true => {
                let (conversation, command) = (conversation.clone(), Box::new(request.command));
                Request { command: AgentCommand::Converse { conversation, scope, idle_ms, command }, ..request }
            }
            false => request,
        };
        match asked {
            RequestSource::Request(request) => RequestSource::Request(wrap(request)),
            RequestSource::Computed(mut compute) => {
                RequestSource::Computed(Box::new(move |state: &AgentState, now| {
                    compute(&state.with_conversation(scope, &id, now), now).map(&wrap)
                }))
            }
        }
    }

    fn idle_ms(&self) -> u64 {
        u64::try_from(self.conversations.options.conversation_idle.as_millis()).unwrap_or(u64::MAX)
    }

    /// The current state of a conversation's space, and the current time on its clock. Reading counts as use: it renews
    /// the conversation, at most 100 times per idle time. For a conversation on a server, the server renews it.
    pub(super) async fn conversation_now(
        &self,
        space: &ConversationSpace,
    ) -> Result<(Arc<Revisioned<AgentState>>, Timestamp)> {
        let (engine, slot) = (&self.conversations, &space.slot);
        let current = engine.current(slot).await?;
        let now = engine.now(slot, &current);
        let is_kept_here = engine.remote().is_none();
        let used = match current.state.idle_expiry().filter(|_| is_kept_here) {
            Some(idle) if idle.until <= now => end(engine, slot, &self.events, End::IfIdle).await.map(|_| ()),
            Some(idle) if idle.is_stale(now, self.idle_ms()) => {
                let renew = self.conversing(space, RequestSource::Request(Request::new(AgentCommand::Tick)));
                engine.ask(slot, Actor::system(), Usage::default(), renew).await.map(|_| ())
            }
            _ => return Ok((current, now)),
        };
        if let Err(error) = used {
            tracing::debug!(space = %slot.id, %error, "could not renew or end the conversation; will retry on the next use");
        }
        let current = engine.current(slot).await?;
        let now = engine.now(slot, &current);
        Ok((current, now))
    }

    /// Calls `read` with the current scope of a conversation. A conversation that has not started is empty.
    pub(super) async fn view_conversation<R>(
        &self,
        space: &ConversationSpace,
        read: impl FnOnce(&AgentState, &ScopeState, Timestamp) -> R,
    ) -> Result<R> {
        let (current, now) = self.conversation_now(space).await?;
        let state = current.state.with_conversation(space.scope, &space.id, now);
        let missing = || unexpected(AgentReply::Done);
        Ok(read(&state, state.scope(space.scope).ok_or_else(missing)?, now))
    }

    /// The agent's conversations, ordered by ID.
    async fn listed_conversations(&self, engine: &Engine<AgentState>, limit: usize) -> Result<Vec<ListedSpace>> {
        let prefix = SpaceId::conversations_of(&self.id);
        let (mut found, mut after) = (Vec::new(), prefix.clone());
        loop {
            let page = engine.store.list(SpaceKind::Conversation, Some(&after), PAGE).await?;
            let is_last = page.len() < PAGE;
            let Some(last) = page.last() else { return Ok(found) };
            after = last.space.clone();
            let own = page.into_iter().take_while(|listed| listed.space.as_str().starts_with(prefix.as_str()));
            found.extend(own.take(limit - found.len()));
            if is_last || found.len() >= limit || !after.as_str().starts_with(prefix.as_str()) {
                return Ok(found);
            }
        }
    }

    pub(super) async fn list_conversations(&self) -> Result<Vec<ConversationInfo>> {
        let info = |listed: ListedSpace| {
            let (_, id) = listed.space.as_conversation()?;
            let summary: ConversationSummary = serde_json::from_slice(&listed.summary).unwrap_or_default();
            let used_at = Timestamp::from_millisecond(summary.used_at_ms).unwrap_or_default();
            Some(ConversationInfo { id, entries: summary.entries, notes: summary.notes, used_at })
        };
        let listed = self.listed_conversations(&self.conversations, usize::MAX).await?;
        Ok(listed.into_iter().filter_map(info).collect())
    }

    /// The engines that may hold conversations of the agent: the one in use, and the store's, which other processes may
    /// use.
    fn conversation_engines(&self) -> impl Iterator<Item = &Arc<Engine<AgentState>>> {
        let others = Some(&self.engine).filter(|engine| !Arc::ptr_eq(engine, &self.conversations));
        std::iter::once(&self.conversations).chain(others)
    }

    /// Ends all conversations of the agent. Returns how many entries were removed.
    pub(crate) async fn end_conversations(&self) -> Result<u64> {
        let mut entries = 0;
        for engine in self.conversation_engines() {
            for listed in self.listed_conversations(engine, usize::MAX).await? {
                let slot = engine.slot(&listed.space);
                entries += end(engine, &slot, &self.events, End::Now).await?.unwrap_or(0);
            }
        }
        Ok(entries)
    }

    /// Permanently forgets something in all conversations of the agent. Returns how many entries and notes were
    /// removed.
    pub(super) async fn forget_in_conversations(&self, actor: &AuthenticatedActor, forget: &Forget) -> Result<u64> {
        let mut removed = 0;
        for engine in self.conversation_engines() {
            for listed in self.listed_conversations(engine, usize::MAX).await? {
                removed += forget_in(engine, &engine.slot(&listed.space), actor, forget.clone()).await?.removed;
                engine.store.scrub().await?;
            }
        }
        Ok(removed)
    }
}

/// Permanently forgets something in a conversation, without scrubbing the store.
pub(crate) async fn forget_in(
    engine: &Arc<Engine<AgentState>>,
    slot: &Arc<Slot<AgentState>>,
    actor: &AuthenticatedActor,
    mut forget: Forget,
) -> Result<Forgotten> {
    engine.survey(slot, &mut forget).await?;
    forget.collect(&engine.current(slot).await?.state);
    let command = Request::new(AgentCommand::Forget { forget: forget.clone() });
    let answer = engine.ask(slot, actor.clone(), Usage::default(), RequestSource::Request(command)).await?;
    let removed = match answer.reply {
        AgentReply::Cleared { entries } => entries,
        other => return Err(unexpected(other)),
    };
    let revisions = engine.rewrite(slot, forget, answer.rev).await?;
    Ok(Forgotten { removed, revisions, copies: Vec::new() })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Now,
    IfIdle,
}

/// Deletes a conversation's space if its idle time is over. Returns whether it was deleted.
pub(crate) async fn end_if_idle(
    engine: &Arc<Engine<AgentState>>,
    slot: &Arc<Slot<AgentState>>,
    events: &broadcast::Sender<MemoryEvent>,
) -> Result<bool> {
    Ok(end(engine, slot, events, End::IfIdle).await?.is_some())
}

/// Deletes a conversation's space and notifies subscribers. Returns how many entries were removed, or `None` if there
/// was nothing to end.
async fn end(
    engine: &Arc<Engine<AgentState>>,
    slot: &Arc<Slot<AgentState>>,
    events: &broadcast::Sender<MemoryEvent>,
    when: End,
) -> Result<Option<u64>> {
    let current = match when {
        End::IfIdle => engine.current(slot).await?,
        // While working memory is disabled, conversations cannot be read, but they can be deleted.
        End::Now => engine.current(slot).await.unwrap_or_default(),
    };
    let now = engine.now(slot, &current);
    let is_over = current.state.idle_expiry().is_some_and(|idle| idle.until <= now);
    let ended = match when {
        End::IfIdle => is_over && engine.delete_at(slot, current.head).await?,
        End::Now => engine.delete(slot).await?,
    };
    if !ended {
        return Ok(None);
    }
    let Some((agent, _)) = slot.id.as_conversation() else { return Ok(None) };
    let disposed = current.state.scopes().map(|(scope, found)| {
        let (name, entries) = (found.name.clone(), found.entries.len() as u64);
        AgentEvent::ScopeDisposed { scope, name, entries }
    });
    let commit = Commit::new(now, Actor::system(), None, disposed.collect());
    listener::tell(events, &agent, &commit, [&current.state, &current.state]);
    Ok(Some(current.state.usage().entries))
}

/// The ID of a conversation's scope, derived from the conversation's ID so that it is known before the scope exists.
fn scope_of(id: &ConversationId) -> ScopeId {
    let hash = blake3::derive_key("corkboard 2026 conversation scope", id.as_str().as_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    ScopeId(Builder::from_custom_bytes(bytes).into_uuid())
}

/// A conversation's scratchpad. It starts with the first write. It ends when it is deleted or when nobody has used it
/// for [`Options::conversation_idle`](crate::Options::conversation_idle). Unless conversations are
/// [shared](crate::Conversations::Shared), it also ends with the process that holds it. Reads never fall back to the
/// agent's memory.
#[derive(Clone)]
pub struct Conversation {
    pub(super) handle: MemoryHandle,
    pub(super) space: ConversationSpace,
}

impl Deref for Conversation {
    type Target = MemoryHandle;

    fn deref(&self) -> &MemoryHandle {
        &self.handle
    }
}

#[derive(Default)]
pub(crate) struct EntriesAndNotes {
    /// Sorted by key.
    pub(crate) entries: Vec<(Key, Arc<Entry>)>,
    /// In the order in which they were added.
    pub(crate) notes: Vec<Note>,
}

impl Conversation {
    /// The conversation's ID.
    pub fn id(&self) -> &ConversationId {
        &self.space.id
    }

    /// The whole scratchpad, as a value for a prompt.
    pub async fn contents(&self) -> Result<ScratchpadContents> {
        self.handle
            .read_scope(|_, scope, now| {
                let mut contents = ScratchpadContents::default();
                for (key, entry) in scope.live_entries(now) {
                    let text = entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into());
                    contents.set(key.as_str(), text);
                }
                scope.notes.values().for_each(|note| contents.add_note(&*note.text));
                contents
            })
            .await
    }

    /// All entries and notes, each with its trust.
    pub(crate) async fn entries_and_notes(&self) -> Result<EntriesAndNotes> {
        self.handle
            .read_scope(|_, scope, now| EntriesAndNotes {
                entries: scope.live_entries(now).map(|(key, entry)| (key.clone(), entry.clone())).collect(),
                notes: scope.notes.values().cloned().collect(),
            })
            .await
    }

    /// Ends the conversation and deletes its scratchpad. Returns whether there was one.
    pub async fn delete(&self) -> Result<bool> {
        let MemoryHandle { agent, actor, .. } = &self.handle;
        actor.check_writes()?;
        actor.check_token().await?;
        Ok(end(&agent.conversations, &self.space.slot, &agent.events, End::Now).await?.is_some())
    }

    pub(crate) fn options(&self) -> &Options {
        &self.agent.engine.options
    }

    /// Submits a command that came as text; it must change this conversation's scope.
    pub(crate) async fn ask(&self, request: Request<AgentCommand>) -> Result<Answer<AgentReply>> {
        if request.command.changed_scope() != Some(self.space.scope) {
            let message =
                format!("a command for a conversation must change the conversation's scope {}", self.space.scope);
            return Err(Error::Command { message });
        }
        self.handle.ask(RequestSource::Request(request)).await
    }
}
