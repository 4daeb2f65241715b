//! An agent's memory: the root scope and the durable scopes below it with their entries and notes, and the notebooks.

mod activity;
mod apply;
mod check;
mod command;
mod conversation;
mod decide;
mod encode;
mod entries;
mod event;
mod forget;
mod forget_notebook;
mod image;
mod notebooks;
mod texts;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::{OrdMap, OrdSet};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::forget::VisitText;
use crate::json::JsonText;
use crate::notebook::Notebook;
use crate::space::{CommandEffects, Space, Stamp};
use crate::{
    Actor, Commit, Context, FormatError, Key, Limits, NoteId, NotebookName, Refusal, ScopeId, ScopeName, ScopeState,
    SpaceKind, Usage,
};

pub use activity::{Activity, ActivityKind, ActivityLine, DayActivity};
pub use command::{AgentCommand, AgentReply, EntryChange, ParentLocation, Separator};
pub use conversation::IdleExpiry;
pub use event::AgentEvent;
pub use forget::{Forget, Trail};
pub use image::{AgentImage, EntryImage, MemorySnapshot, ScopeImage};

/// An agent's memory at one revision. A process keeps its ephemeral scopes in a second state, which is never stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "AgentImage", into = "AgentImage")]
pub struct AgentState {
    root: ScopeState,
    scopes: OrdMap<ScopeId, ScopeState>,
    /// Every entry that expires, soonest first.
    expiries: OrdSet<(Timestamp, ScopeId, Key)>,
    last_note: NoteId,
    entries: u64,
    notes: u64,
    bytes: u64,
    /// None if the state records no activity.
    activity: Option<Activity>,
    notebooks: OrdMap<NotebookName, Arc<Notebook>>,
    /// When the scope of a conversation expires, in the space of a conversation.
    idle: Option<IdleExpiry>,
}

impl Default for AgentState {
    fn default() -> Self {
        Self {
            root: ScopeState::new(ScopeName::root(), ScopeId::ROOT, Timestamp::UNIX_EPOCH),
            scopes: OrdMap::new(),
            expiries: OrdSet::new(),
            last_note: NoteId::default(),
            entries: 0,
            notes: 0,
            bytes: 0,
            activity: Some(Activity::default()),
            notebooks: OrdMap::new(),
            idle: None,
        }
    }
}

impl AgentState {
    pub fn scope(&self, id: ScopeId) -> Option<&ScopeState> {
        if id.is_root() { Some(&self.root) } else { self.scopes.get(&id) }
    }

    /// All scopes except the root, in ID order.
    pub fn scopes(&self) -> impl Iterator<Item = (ScopeId, &ScopeState)> {
        self.scopes.iter().map(|(id, scope)| (*id, scope))
    }

    /// All scopes, the root first.
    pub fn all_scopes(&self) -> impl Iterator<Item = (ScopeId, &ScopeState)> {
        core::iter::once((ScopeId::ROOT, &self.root)).chain(self.scopes())
    }

    /// The scope's descendants, children before their own children.
    pub fn descendants(&self, id: ScopeId) -> Vec<ScopeId> {
        let mut found = alloc::vec![id];
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            found.extend(self.scopes().filter(|(_, scope)| scope.parent == parent).map(|(child, _)| child));
            next += 1;
        }
        found.split_off(1)
    }

    /// All scopes, every parent before its children, the root first.
    fn parents_first(&self) -> Vec<ScopeId> {
        let elsewhere = self.scopes().filter(|(_, scope)| self.scope(scope.parent).is_none()).map(|(id, _)| id);
        let heads = core::iter::once(ScopeId::ROOT).chain(elsewhere);
        heads.flat_map(|id| core::iter::once(id).chain(self.descendants(id))).collect()
    }

    /// The number of the scope's entries that have not expired.
    pub fn live_len(&self, id: ScopeId, now: Timestamp) -> usize {
        let all = self.scope(id).map_or(0, |scope| scope.entries.len());
        let expired = self.expiries.iter().take_while(|(at, ..)| *at <= now).filter(|(_, scope, _)| *scope == id);
        all - expired.count()
    }

    /// The number of notes in all scopes.
    pub fn note_count(&self) -> u64 {
        self.notes
    }
}

impl Space for AgentState {
    const KIND: SpaceKind = SpaceKind::Agent;
    type Command = AgentCommand;
    type Event = AgentEvent;
    type Reply = AgentReply;
    type Forget = Forget;

    fn expire(&self, now: Timestamp) -> Vec<AgentEvent> {
        let over = self.idle.filter(|idle| idle.until <= now).map(|idle| idle.scope);
        let due = self.expiries.iter().take_while(|(at, ..)| *at <= now).filter(|(_, scope, _)| Some(*scope) != over);
        let mut events: Vec<_> =
            due.map(|(_, scope, key)| AgentEvent::EntryExpired { scope: *scope, key: key.clone() }).collect();
        events.extend(decide::dispose_all(self, over.into_iter()));
        events
    }

    fn check(command: &mut AgentCommand, actor: &Actor, limits: &Limits) -> Result<(), Refusal> {
        check::check(command, actor, limits)
    }

    fn decide(
        &self,
        command: &AgentCommand,
        context: &Context<'_>,
    ) -> Result<CommandEffects<AgentEvent, AgentReply>, Refusal> {
        decide::decide(self, command, context)
    }

    fn apply(&mut self, event: &AgentEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
        apply::apply(self, event, stamp)
    }

    /// Clearing an agent's memory also clears data outside this space: ephemeral scopes and long-term memory.
    fn is_always_remembered(command: &AgentCommand) -> bool {
        matches!(command, AgentCommand::ClearAll)
    }

    fn encode(commit: &Commit<AgentEvent, AgentReply>) -> Result<Vec<u8>, FormatError> {
        encode::encode(commit).map_or_else(|| commit.encode(), Ok)
    }

    fn begin_redaction(forget: &mut Forget) {
        forget.begin();
    }

    fn redact(event: &mut AgentEvent, forget: &mut Forget) -> bool {
        forget.redact(event)
    }

    fn each_text_of(event: &AgentEvent, visit: &mut VisitText<'_>) {
        texts::each_text_of(event, visit);
    }

    fn each_text(&self, visit: &mut VisitText<'_>) {
        texts::each_text(&AgentImage::from(self.clone()), visit);
    }

    fn next_due(&self) -> Option<Timestamp> {
        let entry = self.expiries.get_min().map(|(at, ..)| *at);
        entry.into_iter().chain(self.idle.map(|idle| idle.until)).min()
    }

    fn summary(&self, _changed_at: Timestamp) -> String {
        // Every append writes the summary, so it must be fast.
        let notebooks = self.notebooks().count();
        let counts = [
            ("{\"entries\":", Some(self.entries)),
            (",\"notes\":", Some(self.notes)),
            (",\"scopes\":", Some(self.scopes.len() as u64)),
            (",\"notebooks\":", (notebooks > 0).then_some(notebooks as u64)),
            (",\"bytes\":", Some(self.bytes)),
            (",\"used_at_ms\":", self.idle.and_then(|idle| u64::try_from(idle.used_at.as_millisecond()).ok())),
        ];
        let mut json = JsonText::with_capacity(96);
        for (name, count) in counts.into_iter().filter_map(|(name, count)| Some((name, count?))) {
            json.raw(name);
            json.number(count);
        }
        json.raw("}");
        json.into_text()
    }

    fn usage(&self) -> Usage {
        Usage { entries: self.entries, scopes: self.scopes.len() as u64, bytes: self.bytes }
    }
}
