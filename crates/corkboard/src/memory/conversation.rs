//! A conversation's scratchpad (seed 000): a space with one scope, which expires when nobody uses it.
//!
//! `Options::conversations` says which store holds these spaces: the memory of this process, or the shared store. A client of a
//! server reads and writes them there, as it does with all spaces.

use std::sync::Arc;

use corkboard_core::agent::{AgentCommand, AgentEvent, AgentReply, AgentState, Forget};
use corkboard_core::{
    Actor, Commit, ConversationId, Entry, Key, LimitName, Limits, Note, NoteId, Request, Revisioned, ScopeId,
    ScopeState, Space, SpaceId, SpaceKind, Usage,
};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use uuid::Builder;

use super::agent::AgentRuntime;
use super::batch::Batch;
use super::place::{Place, Reach};
use super::write::{AddNote, Append, Remove, Set, Write, unexpected};
use super::{AgentView, MemoryEvent, observer};
use crate::access::Acting;
use crate::engine::{Answer, Engine, RequestSource, Slot};
use crate::store::ListedSpace;
use crate::{Error, Options, Result, scratchpad};

/// Spaces listed at a time.
const PAGE: usize = 1000;

/// A conversation in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationInfo {
    /// Its id.
    pub id: ConversationId,
    /// How many entries it has.
    pub entries: u64,
    /// How many notes it has.
    pub notes: u64,
    /// When it was last read or written, to 1 % of [`Options::conversation_idle`](crate::Options::conversation_idle).
    pub used_at: Timestamp,
}

/// What a list of spaces says about a conversation.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Summary {
    entries: u64,
    notes: u64,
    used_at_ms: i64,
}

/// One conversation's space.
#[derive(Clone)]
pub(super) struct Talk {
    pub(super) id: ConversationId,
    pub(super) scope: ScopeId,
    slot: Arc<Slot<AgentState>>,
}

impl AgentRuntime {
    pub(super) fn talk(&self, id: ConversationId) -> Talk {
        let slot = self.conversations.slot(&SpaceId::conversation(&self.id, &id));
        Talk { scope: scope_of(&id), id, slot }
    }

    /// Has a command decided in a conversation, which begins with it if need be.
    pub(super) async fn ask_conversation(
        &self,
        actor: &Acting,
        talk: &Talk,
        asked: RequestSource<AgentState>,
    ) -> Result<Answer<AgentReply>> {
        let engine = &self.conversations;
        if engine.remote().is_none() {
            self.check_conversation_limit(talk).await?;
        }
        engine.ask(&talk.slot, actor.clone(), Usage::default(), self.conversing(talk, asked)).await
    }

    /// A new conversation needs room among the others. Two that begin at the same instant may pass the limit together.
    async fn check_conversation_limit(&self, talk: &Talk) -> Result<()> {
        let engine = &self.conversations;
        let current = engine.current(&talk.slot).await?;
        if current.state.conversation(talk.scope, engine.now(&talk.slot, &current)).is_some() {
            return Ok(());
        }
        let allowed = engine.options.limits.conversations_per_agent;
        let listed = self.listed_conversations(engine, usize::try_from(allowed).unwrap_or(usize::MAX)).await?;
        Ok(Limits::check(LimitName::ConversationsPerAgent, listed.len() as u64 + 1, allowed)?)
    }

    /// What is asked of a conversation, so that it begins and is renewed with it. A server does that by itself.
    fn conversing(&self, talk: &Talk, asked: RequestSource<AgentState>) -> RequestSource<AgentState> {
        let is_kept_here = self.conversations.remote().is_none();
        let Talk { id, scope, .. } = talk.clone();
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

    /// A conversation's space as it is now, and the time in it. Reading is a use: it renews the conversation, at most 100 times
    /// within the idle time. Where a server keeps it, the server renews it.
    pub(super) async fn conversation_now(&self, talk: &Talk) -> Result<(Arc<Revisioned<AgentState>>, Timestamp)> {
        let (engine, slot) = (&self.conversations, &talk.slot);
        let current = engine.current(slot).await?;
        let now = engine.now(slot, &current);
        let is_kept_here = engine.remote().is_none();
        let used = match current.state.idle_expiry().filter(|_| is_kept_here) {
            Some(idle) if idle.until <= now => end(engine, slot, &self.events, End::IfIdle).await.map(|_| ()),
            Some(idle) if idle.is_stale(now, self.idle_ms()) => {
                let renew = self.conversing(talk, RequestSource::Request(Request::new(AgentCommand::Tick)));
                engine.ask(slot, Actor::system(), Usage::default(), renew).await.map(|_| ())
            }
            _ => return Ok((current, now)),
        };
        if let Err(error) = used {
            tracing::debug!(space = %slot.id, %error, "the conversation could not be renewed or ended yet");
        }
        let current = engine.current(slot).await?;
        let now = engine.now(slot, &current);
        Ok((current, now))
    }

    /// Hands a conversation's scope, as it is now, to `read`. One that has not begun is empty.
    pub(super) async fn view_conversation<R>(
        &self,
        talk: &Talk,
        read: impl FnOnce(&AgentState, &ScopeState, Timestamp) -> R,
    ) -> Result<R> {
        let (current, now) = self.conversation_now(talk).await?;
        let state = current.state.with_conversation(talk.scope, &talk.id, now);
        let missing = || unexpected(AgentReply::Done);
        Ok(read(&state, state.scope(talk.scope).ok_or_else(missing)?, now))
    }

    /// The agent's conversations, in the order of their ids.
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
            let summary: Summary = serde_json::from_slice(&listed.summary).unwrap_or_default();
            let used_at = Timestamp::from_millisecond(summary.used_at_ms).unwrap_or_default();
            Some(ConversationInfo { id, entries: summary.entries, notes: summary.notes, used_at })
        };
        let listed = self.listed_conversations(&self.conversations, usize::MAX).await?;
        Ok(listed.into_iter().filter_map(info).collect())
    }

    /// The engines that may hold conversations of the agent: the one in use, and the store's, which other processes may use.
    fn conversation_engines(&self) -> impl Iterator<Item = &Arc<Engine<AgentState>>> {
        let others = Some(&self.engine).filter(|engine| !Arc::ptr_eq(engine, &self.conversations));
        std::iter::once(&self.conversations).chain(others)
    }

    /// Ends all conversations of the agent. Returns how many entries went.
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

    /// Forgets something in all conversations of the agent, for good. Returns how much went.
    pub(super) async fn forget_in_conversations(&self, actor: &Acting, forget: &Forget) -> Result<u64> {
        let mut removed = 0;
        for engine in self.conversation_engines() {
            for listed in self.listed_conversations(engine, usize::MAX).await? {
                let (slot, mut forget) = (engine.slot(&listed.space), forget.clone());
                engine.survey(&slot, &mut forget).await?;
                let command = Request::new(AgentCommand::Forget { forget: forget.clone() });
                let answer =
                    engine.ask(&slot, actor.clone(), Usage::default(), RequestSource::Request(command)).await?;
                match answer.reply {
                    AgentReply::Cleared { entries } => removed += entries,
                    other => return Err(unexpected(other)),
                }
                engine.forget(&slot, forget, answer.rev).await?;
            }
        }
        Ok(removed)
    }
}

/// When to end a conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Now,
    IfIdle,
}

/// Deletes a conversation's space if its idle time is over. Returns whether it did.
pub(crate) async fn end_if_idle(
    engine: &Arc<Engine<AgentState>>,
    slot: &Arc<Slot<AgentState>>,
    events: &broadcast::Sender<MemoryEvent>,
) -> Result<bool> {
    Ok(end(engine, slot, events, End::IfIdle).await?.is_some())
}

/// Deletes a conversation's space, and tells subscribers. Returns how many entries went; none: there was nothing to end.
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
    observer::tell(events, &agent, &commit, [&current.state, &current.state]);
    Ok(Some(current.state.usage().entries))
}

/// A conversation's scope has an id that follows from the conversation's, so that it is known before there is one.
fn scope_of(id: &ConversationId) -> ScopeId {
    let hash = blake3::derive_key("corkboard 2026 conversation scope", id.as_str().as_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    ScopeId(Builder::from_custom_bytes(bytes).into_uuid())
}

/// A conversation's scratchpad. It begins with the first write and ends when it is deleted, when nobody has used it for
/// [`Options::conversation_idle`](crate::Options::conversation_idle), or, unless conversations are
/// [shared](crate::Conversations::Shared), with the process that keeps it. Reads never fall back to the agent's memory.
#[derive(Clone)]
pub struct Conversation {
    pub(super) place: Place,
    pub(super) talk: Talk,
}

/// What a conversation holds.
#[derive(Default)]
pub(crate) struct Remembered {
    /// By key.
    pub(crate) entries: Vec<(Key, Arc<Entry>)>,
    /// In the order they were added.
    pub(crate) notes: Vec<Note>,
}

impl Conversation {
    /// Its id.
    pub fn id(&self) -> &ConversationId {
        &self.talk.id
    }

    /// All of it, as a value that goes into a prompt.
    pub async fn contents(&self) -> Result<scratchpad::WorkingMemory> {
        self.place
            .view(|_, scope, now| {
                let mut contents = scratchpad::WorkingMemory::default();
                for (key, entry) in scope.live_entries(now) {
                    let text = entry.value.as_text().unwrap_or_else(|| entry.value.as_json().into());
                    contents.set(key.as_str(), text);
                }
                scope.notes.values().for_each(|note| contents.add_note(&*note.text));
                contents
            })
            .await
    }

    /// All of it, each with how far it may be trusted.
    pub(crate) async fn remembered(&self) -> Result<Remembered> {
        self.place
            .view(|_, scope, now| Remembered {
                entries: scope.live_entries(now).map(|(key, entry)| (key.clone(), entry.clone())).collect(),
                notes: scope.notes.values().cloned().collect(),
            })
            .await
    }

    /// Stores a value, overwriting what is there.
    pub fn set<'a, T: Serialize + ?Sized>(&'a self, key: &'a str, value: &T) -> Set<'a> {
        self.place.set(key, value)
    }

    /// Adds text at the end of a text, or starts one.
    pub fn append<'a>(&'a self, key: &'a str, text: &'a str) -> Append<'a> {
        self.place.append(key, text)
    }

    /// The value under a key.
    pub async fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.place.get(key, Reach::Local).await
    }

    /// The entry under a key.
    pub async fn get_entry(&self, key: &str) -> Result<Option<Arc<Entry>>> {
        self.place.entry(key, Reach::Local).await
    }

    /// Removes an entry; answers whether there was one.
    pub fn remove<'a>(&'a self, key: &'a str) -> Remove<'a> {
        self.place.remove(key)
    }

    /// Changes several entries in one revision: all of it, or nothing.
    pub fn batch(&self) -> Batch<'_> {
        self.place.batch()
    }

    /// All entries, by key.
    pub async fn entries(&self) -> Result<Vec<(Key, Arc<Entry>)>> {
        self.place.entries().await
    }

    /// Adds a note; answers its number.
    pub fn add_note<'a>(&'a self, text: &'a str) -> AddNote<'a> {
        self.place.add_note(text)
    }

    /// All notes, in the order they were added.
    pub async fn notes(&self) -> Result<Vec<Note>> {
        self.place.notes().await
    }

    /// Removes a note; answers whether there was one.
    pub fn remove_note(&self, id: NoteId) -> Write<'_, bool> {
        self.place.remove_note(id)
    }

    /// Removes all entries and notes. Returns how many entries there were.
    pub fn clear(&self) -> Write<'_, u64> {
        self.place.clear()
    }

    /// The ID of its scope, in its own space.
    pub fn scope_id(&self) -> ScopeId {
        self.talk.scope
    }

    /// All of it as it is now: several reads that agree with one another. A conversation is a space of its own: its revisions
    /// count its own changes. One that has never begun has no scope and is at revision 0.
    pub async fn view(&self) -> Result<AgentView> {
        let agent = &self.place.agent;
        let (current, now) = agent.conversation_now(&self.talk).await?;
        Ok(AgentView::new(current, now, agent.engine.options.clone()))
    }

    /// Ends the conversation and deletes its scratchpad. Returns whether there was one.
    pub async fn delete(&self) -> Result<bool> {
        let Place { agent, actor, .. } = &self.place;
        actor.check_writes()?;
        actor.check_token().await?;
        Ok(end(&agent.conversations, &self.talk.slot, &agent.events, End::Now).await?.is_some())
    }

    pub(crate) fn options(&self) -> &Options {
        &self.place.agent.engine.options
    }

    /// Has a command decided that came as text.
    pub(crate) async fn ask(&self, request: Request<AgentCommand>) -> Result<Answer<AgentReply>> {
        if request.command.changed_scope() != Some(self.talk.scope) {
            let message = format!("a conversation takes changes of its own scope, {}", self.talk.scope);
            return Err(Error::Command { message });
        }
        self.place.ask(request).await
    }
}
