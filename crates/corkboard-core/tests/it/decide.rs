//! Decisions by example: refusals with their data, and the rules that are easiest to get wrong.

mod entries;
mod images;
mod limits;
mod refusals;
mod scopes;
mod timing;

use corkboard_core::agent::{AgentCommand, AgentEvent, AgentImage, AgentState, Separator};
use corkboard_core::{
    Entry, EntryMetadata, IdempotencyKey, LimitWarning, Limits, Note, NoteId, Refusal, Request, RequestOutcome,
    ScopeId, Usage,
};
use jiff::SignedDuration;
use uuid::Uuid;

use crate::support::{AgentOutcome, Memory, at, events, key, set};

/// A text that adds one learning.
const LEARNED: &str = "KEY_LEARNINGS:\n  ADD:\n    - because it came up: it is so\n";
const ROOT: ScopeId = ScopeId::ROOT;
const NOWHERE: ScopeId = ScopeId(Uuid::max());

/// The refusal of a command that must leave the memory unchanged.
fn refused(before: &[AgentCommand], command: AgentCommand) -> Refusal {
    refused_within(Limits::default(), Usage::default(), before, command)
}

fn refused_within(limits: Limits, outside: Usage, before: &[AgentCommand], command: AgentCommand) -> Refusal {
    let mut memory = Memory::new(limits);
    memory.outside = outside;
    for command in before {
        memory.tell(command.clone());
    }
    let untouched = memory.live.clone();
    let refusal = memory.send(command).unwrap_err();
    assert_eq!(memory.live, untouched);
    refusal
}

fn warnings(outcome: &AgentOutcome) -> Vec<LimitWarning> {
    match outcome {
        RequestOutcome::Commit { warnings, .. } => warnings.clone(),
        RequestOutcome::Unchanged { .. } => Vec::new(),
    }
}

fn disposed(outcome: &AgentOutcome) -> Vec<ScopeId> {
    let disposed = events(outcome).iter().filter_map(|event| match event {
        AgentEvent::ScopeDisposed { scope, .. } => Some(*scope),
        _ => None,
    });
    disposed.collect()
}

/// An entry as the first request of a memory writes it, with a later version.
fn entry_at(name: &str, value: &str, version: u64) -> Entry {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, name, value));
    Entry { version, ..Entry::clone(memory.entry(ROOT, name).unwrap()) }
}

fn named(name: &str, command: AgentCommand) -> Request<AgentCommand> {
    let idempotency = Some(IdempotencyKey::new(name, &command, &Limits::default()).unwrap());
    Request { command, if_rev: None, idempotency }
}

fn if_version(mut command: AgentCommand, version: u64) -> AgentCommand {
    match &mut command {
        AgentCommand::Set { if_version, .. } | AgentCommand::Append { if_version, .. } => *if_version = Some(version),
        other => panic!("{other:?} has no version"),
    }
    command
}

fn append(name: &str, text: &str, separator: Separator) -> AgentCommand {
    append_to(ROOT, name, text, separator)
}

fn append_to(scope: ScopeId, name: &str, text: &str, separator: Separator) -> AgentCommand {
    AgentCommand::Append { scope, key: key(name), text: text.into(), separator, if_version: None }
}

/// Entries and notes from elsewhere for the root.
fn absorb(entries: &[(&str, &str)], notes: &[&str]) -> AgentCommand {
    let entries = entries.iter().map(|(name, value)| (key(name), entry_at(name, value, 1).data)).collect();
    let notes = notes.iter().map(|text| Note {
        id: NoteId(1),
        text: (*text).into(),
        author: "cy".into(),
        at: at(1),
        trust: None,
    });
    AgentCommand::Absorb { scope: ROOT, entries, notes: notes.collect(), overwrite: true }
}

fn restore(state: &AgentState) -> AgentCommand {
    AgentCommand::Restore { image: Box::new(AgentImage::from(state.clone())) }
}

fn tagged(tags: &[&str]) -> EntryMetadata {
    EntryMetadata { tags: Some(tags.iter().map(|tag| (*tag).into()).collect()), ..EntryMetadata::default() }
}

/// An expiry in seconds from the start of a memory's clock.
fn expiring(seconds: i64) -> EntryMetadata {
    EntryMetadata { expires_at: Some(at(1_000) + SignedDuration::from_secs(seconds)), ..EntryMetadata::default() }
}
