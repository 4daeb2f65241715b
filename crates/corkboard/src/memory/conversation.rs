//! A conversation's scratchpad (seed 000): entries and notes of their own in this process, gone with it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, Forget, Kept};
use corkboard_core::{
    AgentId, ConversationId, Entry, Key, LimitName, Limits, Note, NoteId, Refusal, Request, ScopeId, ScopeName,
    ScopeState,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Builder;

use super::AgentView;
use super::agent::AgentRuntime;
use super::batch::Batch;
use super::ephemeral::{Circumstances, Ephemeral};
use super::place::{Place, Reach};
use super::write::{AddNote, Append, Remove, Set, Write};
use crate::clock::Clock;
use crate::engine::{Answer, Asked};
use crate::{Result, scratchpad};

/// The conversations of all agents in this process. They do not keep their agents' handles, nor the Corkboard, alive.
#[derive(Default)]
pub(crate) struct Conversations {
    agents: Mutex<HashMap<AgentId, HashMap<ConversationId, Arc<Talk>>>>,
}

/// One conversation: a state with one scope.
struct Talk {
    memory: Ephemeral,
    /// In milliseconds.
    used_at: AtomicI64,
    /// The same by the monotonic clock.
    idle_since: AtomicU64,
}

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
    /// When it was last written to or read.
    pub used_at: Timestamp,
}

impl Conversations {
    fn find(&self, agent: &AgentId, id: &ConversationId) -> Option<Arc<Talk>> {
        self.agents.lock().get(agent)?.get(id).cloned()
    }

    fn of(&self, agent: &AgentId) -> Vec<(ConversationId, Arc<Talk>)> {
        let agents = self.agents.lock();
        let talks = agents.get(agent).into_iter().flatten();
        talks.map(|(id, talk)| (id.clone(), talk.clone())).collect()
    }

    fn find_or_begin(&self, id: &ConversationId, circumstances: &Circumstances<'_>) -> Result<Arc<Talk>> {
        let mut agents = self.agents.lock();
        let talks = agents.entry(circumstances.agent.clone()).or_default();
        if let Some(talk) = talks.get(id) {
            return Ok(talk.clone());
        }
        let allowed = circumstances.limits.conversations_per_agent;
        Limits::check(LimitName::ConversationsPerAgent, talks.len() as u64 + 1, allowed)?;
        let talk = Arc::new(Talk {
            memory: Ephemeral::default(),
            used_at: AtomicI64::default(),
            idle_since: AtomicU64::default(),
        });
        let (name, parent) = (ScopeName::from(id), ScopeId::ROOT);
        let create = AgentCommand::CreateScope { name, parent, parent_kept: Kept::Elsewhere };
        let circumstances = Circumstances { first_id: scope_of(id).0, ..*circumstances };
        talk.memory.ask(&circumstances, &mut Asked::Request(Request::new(create)))?;
        talks.insert(id.clone(), talk.clone());
        Ok(talk)
    }

    /// Decides and applies a command in a conversation, which begins with it if need be.
    pub(super) fn ask(
        &self,
        id: &ConversationId,
        circumstances: &Circumstances<'_>,
        asked: &mut Asked<AgentState>,
    ) -> Result<Answer<AgentReply>> {
        loop {
            let talk = self.find_or_begin(id, circumstances)?;
            talk.touch(circumstances.now, circumstances.clock);
            match talk.memory.ask(circumstances, asked) {
                // It was ended meanwhile: this is the next one.
                Err(crate::Error::Refused(Refusal::ScopeGone { scope })) if scope == scope_of(id) => {}
                answer => return answer,
            }
        }
    }

    /// Hands a conversation's state, as it is now, and the time in it to `read`. One that has not begun is empty.
    pub(super) fn view<R>(
        &self,
        agent: &AgentId,
        id: &ConversationId,
        time: Timestamp,
        clock: &dyn Clock,
        read: impl FnOnce(&AgentState, &ScopeState, Timestamp) -> R,
    ) -> R {
        let empty = || ScopeState::new(ScopeName::from(id), ScopeId::ROOT, time);
        match self.find(agent, id) {
            Some(talk) => {
                talk.touch(time, clock);
                let now = talk.memory.now(time, clock);
                talk.memory.with(|state| match state.scope(scope_of(id)) {
                    Some(scope) => read(state, scope, now),
                    None => read(state, &empty(), now),
                })
            }
            None => read(&AgentState::without_activity(), &empty(), time),
        }
    }

    fn end(&self, id: &ConversationId, circumstances: &Circumstances<'_>) -> Option<u64> {
        let ended = {
            let mut agents = self.agents.lock();
            let talks = agents.get_mut(circumstances.agent)?;
            let ended = talks.remove(id);
            if talks.is_empty() {
                agents.remove(circumstances.agent);
            }
            ended?
        };
        Some(ended.dispose(id, circumstances))
    }

    /// Ends all conversations of an agent. Returns how many entries went.
    pub(super) fn end_all(&self, circumstances: &Circumstances<'_>) -> u64 {
        let talks = self.agents.lock().remove(circumstances.agent).unwrap_or_default();
        talks.into_iter().map(|(id, talk)| talk.dispose(&id, circumstances)).sum()
    }

    /// Forgets something in all conversations of an agent. Returns how much went.
    pub(super) fn forget(&self, forget: &Forget, circumstances: &Circumstances<'_>) -> Result<u64> {
        let mut removed = 0;
        for (_, talk) in self.of(circumstances.agent) {
            let forget = Request::new(AgentCommand::Forget { forget: forget.clone() });
            if let AgentReply::Cleared { entries } = talk.memory.ask(circumstances, &mut Asked::Request(forget))?.reply
            {
                removed += entries;
            }
        }
        Ok(removed)
    }

    /// The agents that have conversations.
    pub(crate) fn agents(&self) -> Vec<AgentId> {
        self.agents.lock().keys().cloned().collect()
    }

    /// Expires entries that are due, and ends the conversations that nobody used for so long.
    pub(super) fn expire(&self, idle: Duration, circumstances: &Circumstances<'_>) {
        // By the time that passed, not by the clock, which somebody may set.
        let last = circumstances.clock.monotonic().checked_sub(idle).map(|last| last.as_millis() as u64);
        for (id, talk) in self.of(circumstances.agent) {
            let _ = talk.memory.ask(circumstances, &mut Asked::Request(Request::new(AgentCommand::Tick)));
            drop(talk);
            let over = {
                let mut agents = self.agents.lock();
                let Some(talks) = agents.get_mut(circumstances.agent) else { return };
                // One that someone holds at this moment is in use.
                let is_over = |talk: &Arc<Talk>| {
                    Some(talk.idle_since.load(Ordering::Relaxed)) <= last && Arc::strong_count(talk) == 1
                };
                let over = talks.get(&id).is_some_and(is_over).then(|| talks.remove(&id)).flatten();
                if talks.is_empty() {
                    agents.remove(circumstances.agent);
                }
                over
            };
            if let Some(talk) = over {
                tracing::debug!(agent_id = %circumstances.agent, conversation = %id, "conversation idled out");
                talk.dispose(&id, circumstances);
            }
        }
    }

    pub(super) fn list(&self, agent: &AgentId) -> Vec<ConversationInfo> {
        let info = |(id, talk): (ConversationId, Arc<Talk>)| {
            let (entries, notes) = talk.memory.with(|state| {
                let scope = state.scope(scope_of(&id));
                scope.map_or((0, 0), |scope| (scope.entries.len() as u64, scope.notes.len() as u64))
            });
            let used_at = Timestamp::from_millisecond(talk.used_at.load(Ordering::Relaxed));
            ConversationInfo { id, entries, notes, used_at: used_at.unwrap_or_default() }
        };
        let mut listed: Vec<_> = self.of(agent).into_iter().map(info).collect();
        listed.sort_by(|one, other| one.id.cmp(&other.id));
        listed
    }
}

impl Talk {
    fn touch(&self, time: Timestamp, clock: &dyn Clock) {
        self.used_at.fetch_max(time.as_millisecond(), Ordering::Relaxed);
        self.idle_since.fetch_max(clock.monotonic().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns how many entries went.
    fn dispose(&self, id: &ConversationId, circumstances: &Circumstances<'_>) -> u64 {
        let dispose = Request::new(AgentCommand::DisposeScope { scope: scope_of(id) });
        match self.memory.ask(circumstances, &mut Asked::Request(dispose)).map(|answer| answer.reply) {
            Ok(AgentReply::Cleared { entries }) => entries,
            _ => 0,
        }
    }
}

/// A conversation's scope has an id that follows from the conversation's, so that it is known before there is one.
pub(super) fn scope_of(id: &ConversationId) -> ScopeId {
    let hash = blake3::derive_key("corkboard 2026 conversation scope", id.as_str().as_bytes());
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    ScopeId(Builder::from_custom_bytes(bytes).into_uuid())
}

/// A conversation's scratchpad. It begins with the first write, and is gone when it is ended, when nobody used it for
/// [`Options::conversation_idle`](crate::Options::conversation_idle), and with the process. Reads never fall back to the
/// agent's memory.
#[derive(Clone)]
pub struct Conversation {
    pub(super) place: Place,
    pub(super) id: ConversationId,
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
        &self.id
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

    /// The id of the scope that it is in its own state, which is no part of the agent's.
    pub fn scope_id(&self) -> ScopeId {
        self.place.scope_id()
    }

    /// All of it as it is now: several reads that agree with one another. Its revisions count its own writes, as it is no part
    /// of the agent's log. One that has not begun has no scope and is at revision 0.
    pub fn view(&self) -> AgentView {
        let AgentRuntime { conversations, id: agent, engine, .. } = &*self.place.agent;
        let (time, clock) = (engine.time(), &*engine.options.clock);
        let (current, now) = match conversations.find(agent, &self.id) {
            Some(talk) => {
                talk.touch(time, clock);
                (talk.memory.shared(), talk.memory.now(time, clock))
            }
            None => (Arc::default(), time),
        };
        AgentView::new(current, now, engine.options.clone())
    }

    /// Ends the conversation: its scratchpad is gone. Returns whether there was one.
    pub async fn delete(&self) -> Result<bool> {
        let agent = &self.place.agent;
        self.place.actor.check_writes()?;
        let ended = agent.circumstances(&self.place.actor, |it| agent.conversations.end(&self.id, it))?;
        Ok(ended.is_some())
    }
}
