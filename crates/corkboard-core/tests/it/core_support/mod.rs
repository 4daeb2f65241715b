//! A memory core to send commands to, with a clock and limits that the test controls. After every revision its counts
//! and indexes are compared with a scan of its entries.

use std::collections::BTreeSet;
use std::sync::Arc;

use corkboard_core::knowledge::{
    Added, CoreCommand, CoreEntry, CoreEntryId, CoreEvent, CoreReply, CoreState, NewCoreEntry,
};
use corkboard_core::{
    Actor, ActorKind, AgentId, Commit, CommitId, Context, CoreId, LimitWarning, Limits, Refusal, Request,
    RequestOutcome, Revisioned, Role, Space, SpaceId,
};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

pub(crate) type CoreCommit = Commit<CoreEvent, CoreReply>;

#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    pub live: Revisioned<CoreState>,
    pub limits: Limits,
    /// The core's space, where it matters.
    pub space: Option<SpaceId>,
    pub now: Timestamp,
    /// All commits so far, as a store would keep them.
    pub log: Vec<Arc<[u8]>>,
    /// The warnings of the last command.
    pub warnings: Vec<LimitWarning>,
}

impl Shelf {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let (live, now, log, warnings) = (Revisioned::default(), at(1_000), Vec::new(), Vec::new());
        Self { live, limits, space: None, now, log, warnings }
    }

    /// The agent's private core.
    pub(crate) fn of_agent(name: &str) -> Self {
        let agent = AgentId::new(name, &Limits::default()).unwrap();
        Self { space: Some(SpaceId::core(&CoreId::of_agent(&agent))), ..Self::new() }
    }

    pub(crate) fn request(&mut self, actor: &Actor, request: &Request<CoreCommand>) -> Result<CoreReply, Refusal> {
        let mut context = Context::new(self.now, actor, &self.limits, Uuid::nil());
        context.space = self.space.as_ref();
        let decided = self.live.decide(&crate::wire::arrived_request::<CoreState>(request), &context);
        crate::wire::check_answer(&decided);
        assert_eq!(format!("{decided:?}"), format!("{:?}", self.live.decide(request, &context)));
        match decided? {
            RequestOutcome::Unchanged { reply, .. } => Ok(reply),
            RequestOutcome::Commit { commit, reply, warnings } => {
                self.live.apply(&commit, commit_id(self.rev() + 1), &self.limits).unwrap();
                self.log.push(commit.encode().unwrap().into());
                self.warnings = warnings;
                check(self.state(), self.now);
                Ok(reply)
            }
        }
    }

    pub(crate) fn ask(&mut self, actor: &Actor, command: CoreCommand) -> Result<CoreReply, Refusal> {
        self.request(actor, &Request::new(command))
    }

    /// Sends a command that must succeed, as a person.
    pub(crate) fn tell(&mut self, command: CoreCommand) -> CoreReply {
        self.ask(&human("ann"), command).unwrap()
    }

    /// The refusal of a command that must be refused and change nothing.
    pub(crate) fn refused(&mut self, actor: &Actor, command: CoreCommand) -> Refusal {
        let before = (self.live.clone(), self.log.len());
        let refusal = self.ask(actor, command).unwrap_err();
        assert_eq!((&self.live, self.log.len()), (&before.0, before.1));
        refusal
    }

    pub(crate) fn add(&mut self, actor: &Actor, entry: impl Into<NewCoreEntry>) -> Added {
        match self.ask(actor, add(entry)).unwrap() {
            CoreReply::Added { entries } => entries[0],
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn entry(&self, id: CoreEntryId) -> &CoreEntry {
        &self.state().entries()[&id]
    }

    pub(crate) fn state(&self) -> &CoreState {
        &self.live.state
    }

    pub(crate) fn rev(&self) -> u64 {
        self.live.head.rev
    }

    pub(crate) fn pass(&mut self, milliseconds: i64) {
        self.now += SignedDuration::from_millis(milliseconds);
    }
}

/// Compares a state's counts and indexes with a scan of its entries.
pub(crate) fn check(state: &CoreState, now: Timestamp) {
    let entries: Vec<_> = state.entries().values().collect();
    let live: Vec<_> = entries.iter().filter(|entry| entry.expires_at.is_none_or(|at| at > now)).collect();
    let forgotten = live.iter().filter(|entry| entry.forgotten.is_some()).count() as u64;
    assert_eq!(state.counts(now), (live.len() as u64 - forgotten, forgotten));
    assert_eq!(state.usage().entries, entries.len() as u64);
    assert_eq!(state.usage().bytes, entries.iter().map(|entry| entry.bytes()).sum::<u64>());
    assert_eq!(state.next_due(), entries.iter().filter_map(|entry| entry.expires_at).min());
    let texts: BTreeSet<String> = entries.iter().map(|entry| plain(&entry.content)).collect();
    assert_eq!(texts.len(), entries.len(), "two entries must not have the same text");
    for entry in entries {
        assert_eq!(state.saying(&plain(&entry.content)), Some(entry.id));
        assert!(!entry.provenance.is_empty() && entry.id <= state.last());
    }
}

/// A second implementation of the text normalization.
pub(crate) fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn replay(mut state: Revisioned<CoreState>, log: &[Arc<[u8]>], limits: &Limits) -> Revisioned<CoreState> {
    for line in log {
        let commit = CoreCommit::decode(line).unwrap();
        state.apply(&commit, commit_id(state.head.rev + 1), limits).unwrap();
    }
    state
}

pub(crate) fn add(entry: impl Into<NewCoreEntry>) -> CoreCommand {
    CoreCommand::Add { entries: vec![entry.into()] }
}

pub(crate) fn commit_id(rev: u64) -> CommitId {
    CommitId(Uuid::from_u128(rev.into()))
}

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn human(name: &str) -> Actor {
    Actor::new(name, ActorKind::Human, Role::Human)
}

/// An agent with all the rights that agents can have on a shared core.
pub(crate) fn agent(name: &str) -> Actor {
    Actor::new(name, ActorKind::Agent, Role::Reviewer)
}
