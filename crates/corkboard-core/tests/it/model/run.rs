//! Runs a plan on the core.

use corkboard_core::agent::{AgentCommand, AgentImage, AgentReply, AgentState, EntryChange, Forget, ParentLocation};
use corkboard_core::knowledge::Trust;
use corkboard_core::{
    EntryData, EntryId, EntryMetadata, IdempotencyKey, Note, NoteId, Refusal, Request, RequestOutcome, ScopeId, Usage,
};
use jiff::{SignedDuration, Timestamp};
use proptest::sample::Index;
use uuid::Uuid;

use crate::model::steps::{Absorbed, Ask, Change, Condition, Forgotten, Metadata, Plan, Step};
use crate::support::{AgentOutcome, Memory, actor, notebook_name, reply, scope_name};

pub(crate) struct Run {
    pub core: Memory,
    created: Vec<ScopeId>,
    /// The states after every step, starting with the empty one.
    moments: Vec<AgentState>,
    sent: Vec<Sent>,
}

#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub request: Request<AgentCommand>,
    /// The step whose image a `Restore` carries.
    pub moment: Option<usize>,
}

/// One executed step.
pub(crate) struct Turn {
    /// The core before the request, with the request's time and actor.
    pub before: Memory,
    pub sent: Sent,
    pub outcome: Result<AgentOutcome, Refusal>,
}

impl Run {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut core = Memory::new(plan.limits.clone());
        core.outside = plan.outside;
        let moments = vec![core.state().clone()];
        Self { core, created: Vec::new(), moments, sent: Vec::new() }
    }

    pub(crate) fn step(&mut self, step: &Step) -> Turn {
        self.core.now += SignedDuration::from_millis(step.wait);
        self.core.actor = actor(step.principal);
        let sent = self.next(step);
        let before = self.core.clone();
        let outcome = self.core.request(&sent.request);
        if let Ok(AgentReply::ScopeCreated { id }) = outcome.as_ref().map(reply) {
            self.created.push(id);
        }
        // Restoring a memory disposes the content outside it.
        if matches!(sent.request.command, AgentCommand::Restore { .. })
            && matches!(outcome, Ok(RequestOutcome::Commit { .. }))
        {
            self.core.outside = Usage::default();
        }
        self.moments.push(self.core.state().clone());
        self.sent.push(sent.clone());
        Turn { before, sent, outcome }
    }

    fn next(&self, step: &Step) -> Sent {
        let named: Vec<_> = self.sent.iter().filter(|sent| sent.request.idempotency.is_some()).collect();
        if let Ask::Again { request } = &step.ask
            && !named.is_empty()
        {
            return (*request.get(&named)).clone();
        }
        let (command, moment) = self.command(&step.ask);
        let rev = self.core.rev();
        let if_rev = match step.if_rev {
            Condition::None | Condition::MustNotExist => None,
            Condition::Right => Some(rev),
            Condition::Wrong => Some(rev + 1),
        };
        let name = |key| IdempotencyKey::new(key, &command, &self.core.limits).unwrap();
        let idempotency = step.idempotency.map(name);
        Sent { request: Request { command, if_rev, idempotency }, moment }
    }

    fn command(&self, ask: &Ask) -> (AgentCommand, Option<usize>) {
        let now = self.core.now;
        let command = match ask.clone() {
            Ask::Set { scope, key, value, metadata, if_version } => {
                let scope = self.scope(scope);
                let if_version = self.version(scope, key.as_str(), if_version);
                let metadata = Box::new(absolute(metadata, now));
                AgentCommand::Set { scope, key, value, type_name: "any".into(), metadata, if_version }
            }
            Ask::Append { scope, key, text, separator, if_version } => {
                let scope = self.scope(scope);
                let if_version = self.version(scope, key.as_str(), if_version);
                AgentCommand::Append { scope, key, text, separator, if_version }
            }
            Ask::Remove { scope, key, if_version } => {
                let scope = self.scope(scope);
                let if_version = self.version(scope, key.as_str(), if_version);
                AgentCommand::Remove { scope, key, if_version }
            }
            Ask::Batch { scope, changes } => {
                let scope = self.scope(scope);
                let changes = changes.into_iter().map(|change| self.change(scope, change)).collect();
                AgentCommand::Batch { scope, changes }
            }
            Ask::Clear { scope } => AgentCommand::Clear { scope: self.scope(scope) },
            Ask::AddNote { scope, text } => {
                let trust = text.len().is_multiple_of(2).then_some(Trust::Outside);
                AgentCommand::AddNote { scope: self.scope(scope), text, trust }
            }
            Ask::RemoveNote { scope, note } => {
                let scope = self.scope(scope);
                AgentCommand::RemoveNote { scope, id: self.note(scope, note) }
            }
            Ask::CreateScope { parent } => {
                let parent_kept = if parent.is_some() { ParentLocation::Here } else { ParentLocation::Elsewhere };
                let parent = parent.map_or(ScopeId(Uuid::from_u128(7)), |parent| self.scope(parent));
                AgentCommand::CreateScope { name: scope_name("task"), parent, parent_kept }
            }
            Ask::MergeScope { scope, overwrite } => AgentCommand::MergeScope { scope: self.scope(scope), overwrite },
            Ask::Absorb { scope, entries, notes, overwrite } => {
                let entries = entries.into_iter().map(|entry| (entry.key.clone(), from_elsewhere(entry, now)));
                let notes = notes.into_iter().map(|text| Note {
                    id: NoteId(1),
                    text: text.into(),
                    author: "cy".into(),
                    at: Timestamp::UNIX_EPOCH,
                    trust: Some(Trust::Outside),
                });
                let (entries, notes) = (entries.collect(), notes.collect());
                AgentCommand::Absorb { scope: self.scope(scope), entries, notes, overwrite }
            }
            Ask::MarkMerged { scope, note } => {
                let scope = self.scope(scope);
                AgentCommand::MarkMerged { scope, notes: self.note(scope, note) }
            }
            Ask::DisposeScope { scope } => AgentCommand::DisposeScope { scope: self.scope(scope) },
            Ask::UpdateNotebook { name, block, unknown_ids, if_version } => {
                let if_version = self.notebook_version(name, if_version);
                let (notebook, block) = (notebook_name(name), Box::new(block));
                AgentCommand::UpdateNotebook { notebook, block, unknown_ids, if_version }
            }
            Ask::RestoreNotebook { name, moment, if_version } => {
                let moment = moment.index(self.moments.len());
                let shown = self.moments[moment].notebook(name).map(|notebook| notebook.content(moment as u64));
                let if_version = self.notebook_version(name, if_version);
                let (notebook, content) = (notebook_name(name), Box::new(shown.unwrap_or_default()));
                AgentCommand::RestoreNotebook { notebook, content, if_version }
            }
            Ask::ClearNotebook { name } => AgentCommand::ClearNotebook { notebook: notebook_name(name) },
            Ask::ClearAll => AgentCommand::ClearAll,
            Ask::Restore { moment } => {
                let moment = moment.index(self.moments.len());
                let image = Box::new(AgentImage::from(self.moments[moment].clone()));
                return (AgentCommand::Restore { image }, Some(moment));
            }
            Ask::Forget { what } => AgentCommand::Forget { forget: self.forget(&what) },
            Ask::Tick | Ask::Again { .. } => AgentCommand::Tick,
        };
        (command, None)
    }

    fn change(&self, scope: ScopeId, change: Change) -> EntryChange {
        match change {
            Change::Set { key, value, metadata, if_version } => {
                let if_version = self.version(scope, key.as_str(), if_version);
                let metadata = Box::new(absolute(metadata, self.core.now));
                EntryChange::Set { key, value, type_name: "any".into(), metadata, if_version }
            }
            Change::Append { key, text, separator, if_version } => {
                let if_version = self.version(scope, key.as_str(), if_version);
                EntryChange::Append { key, text, separator, if_version }
            }
            Change::Remove { key, if_version } => {
                let if_version = self.version(scope, key.as_str(), if_version);
                EntryChange::Remove { key, if_version }
            }
            Change::Move { from, to } => EntryChange::Move { from, to },
        }
    }

    pub(crate) fn forget(&self, what: &Forgotten) -> Forget {
        match what {
            Forgotten::Entry(key) => Forget::entry(key.clone()),
            Forgotten::Note { scope, note } => Forget::note(self.note(self.scope(*scope), *note)),
            Forgotten::Notebook { name, item } => Forget::notebook(notebook_name(name), *item),
        }
    }

    /// An existing scope or, rarely, a former one.
    fn scope(&self, index: Index) -> ScopeId {
        let exists = |id: &&ScopeId| self.core.state().scope(**id).is_some();
        let there = self.created.iter().filter(exists);
        let gone = self.created.iter().rfind(|id| !exists(id));
        **index.get(&[ScopeId::ROOT].iter().chain(there).chain(gone).collect::<Vec<_>>())
    }

    fn version(&self, scope: ScopeId, key: &str, condition: Condition) -> Option<u64> {
        let current = self.core.entry(scope, key).map_or(0, |entry| entry.version);
        match condition {
            Condition::None => None,
            Condition::Right => Some(current),
            Condition::Wrong => Some(current + 1),
            Condition::MustNotExist => Some(0),
        }
    }

    fn notebook_version(&self, name: &str, condition: Condition) -> Option<u64> {
        let current = self.core.state().notebook(name).map_or(0, |notebook| notebook.version);
        match condition {
            Condition::None => None,
            Condition::Right => Some(current),
            Condition::Wrong => Some(current + 1),
            Condition::MustNotExist => Some(0),
        }
    }

    /// A note of the scope, or a missing one.
    fn note(&self, scope: ScopeId, index: Index) -> NoteId {
        let notes = self.core.state().scope(scope).into_iter().flat_map(|scope| scope.notes.keys().copied());
        *index.get(&notes.chain([NoteId(0)]).collect::<Vec<_>>())
    }
}

fn absolute(metadata: Metadata, now: Timestamp) -> EntryMetadata {
    let Metadata { expires_in, said_before, rest } = metadata;
    EntryMetadata {
        expires_at: expires_in.map(|millis| now + SignedDuration::from_millis(millis)),
        at: said_before.map(|millis| now - SignedDuration::from_millis(millis)),
        ..rest
    }
}

fn from_elsewhere(entry: Absorbed, now: Timestamp) -> EntryData {
    EntryData {
        id: EntryId(Uuid::from_u128(1)),
        value: entry.value,
        type_name: "any".into(),
        kind: Default::default(),
        importance: EntryMetadata::IMPORTANCE,
        tags: Vec::new(),
        custom: None,
        at: now,
        expires_at: entry.expires_in.map(|millis| now + SignedDuration::from_millis(millis)),
        author: "cy".into(),
        session: None,
        trust: None,
    }
}
