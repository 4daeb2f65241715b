//! What every space shares: commands are decided in order, each committed one is a revision.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::id::{check_principal, check_visible};
use crate::{
    Actor, Commit, CommitId, Context, FormatError, IdempotencyKey, LimitWarning, Limits, Refusal, RememberedAnswers,
    Role, SpaceKind, Usage,
};

/// A kind of space: pure rules over an immutable state. Cloning a state is cheap (persistent maps).
pub trait Space: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static {
    const KIND: SpaceKind;
    /// What can be asked.
    type Command: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What can happen.
    type Event: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What is answered.
    type Reply: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What can be forgotten for good.
    type Forget: Send + Sync + 'static;

    /// The events by which everything due at `now` expires.
    fn expire(&self, now: Timestamp) -> Vec<Self::Event>;

    /// Whether a command that came as text from outside may be decided, and takes out of it what this actor cannot say. One that
    /// was made here consists of parts that were checked when they were made.
    fn check(_command: &mut Self::Command, _actor: &Actor, _limits: &Limits) -> Result<(), Refusal> {
        Ok(())
    }

    /// What the command leads to. Nothing happens by deciding.
    fn decide(
        &self,
        command: &Self::Command,
        context: &Context<'_>,
    ) -> Result<CommandEffects<Self::Event, Self::Reply>, Refusal>;

    /// Makes the event part of the state. It was decided; only a damaged log makes it fail.
    fn apply(&mut self, event: &Self::Event, stamp: Stamp<'_>) -> Result<(), FormatError>;

    /// Decides the command and makes its events part of the state: what [`Space::decide`] and [`Space::apply`] do one after
    /// the other, by a shorter way where a space has one.
    fn perform(
        &mut self,
        command: &Self::Command,
        context: &Context<'_>,
    ) -> Result<CommandEffects<Self::Event, Self::Reply>, PerformError> {
        let decision = self.decide(command, context)?;
        for event in &decision.events {
            self.apply(event, context.stamp()).map_err(PerformError::Misfit)?;
        }
        Ok(decision)
    }

    /// Whether a command with an idempotency key is written and remembered even if it changes nothing here, because
    /// something outside this space depends on that. Any other command that changes nothing is not remembered.
    fn is_always_remembered(_command: &Self::Command) -> bool {
        false
    }

    /// The bytes that a store keeps: those that [`Commit::encode`] gives, by a shorter way where a space has one.
    fn encode(commit: &Commit<Self::Event, Self::Reply>) -> Result<Vec<u8>, FormatError> {
        commit.encode()
    }

    /// Called at the start of a log, before its events are redacted in order.
    fn begin_redaction(_forget: &mut Self::Forget) {}

    /// Takes something out of an event for good. Returns whether there was something to take. It may learn what else to
    /// look for: whoever redacts a log goes through it twice. The log must still fit together afterwards, and lead to the
    /// same state once what is forgotten was removed from that.
    fn redact(_event: &mut Self::Event, _forget: &mut Self::Forget) -> bool {
        false
    }

    fn next_due(&self) -> Option<Timestamp>;

    /// A few facts for lists, as JSON; the time is that of the last event.
    fn summary(&self, updated_at: Timestamp) -> String;

    fn usage(&self) -> Usage;
}

/// The events of one command, and its answer. No events: nothing changes.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandEffects<E, R> {
    /// What happens, in order.
    pub events: Vec<E>,
    pub reply: R,
    pub warnings: Vec<LimitWarning>,
}

impl<E, R> CommandEffects<E, R> {
    pub fn new(events: Vec<E>, reply: R) -> Self {
        Self { events, reply, warnings: Vec::new() }
    }
}

/// Why a command was not performed.
#[derive(Debug, Clone, PartialEq)]
pub enum PerformError {
    /// It was refused. The state is as it was.
    Refused(Refusal),
    /// It was refused after some of its events were applied: discard the state.
    Spoilt(Refusal),
    /// An event did not fit the state: discard the state. This is a defect.
    Misfit(FormatError),
}

impl From<Refusal> for PerformError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Where and when an event happened, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// The revision it is part of: the version of all that it changes.
    pub rev: u64,
    pub at: Timestamp,
    pub principal: &'a str,
    pub role: Role,
}

/// The end of a log: its last revision and that revision's commit id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Head {
    /// How many commands were committed.
    pub rev: u64,
    /// The id of the last of them.
    pub commit: CommitId,
}

impl Head {
    /// The head of a log that was never written.
    pub const EMPTY: Self = Self { rev: 0, commit: CommitId::NONE };
}

/// A command with its conditions.
#[derive(Debug, Clone)]
pub struct Request<C> {
    pub command: C,
    /// The revision that the space must be at.
    pub if_rev: Option<u64>,
    /// The caller's name for this request.
    pub idempotency: Option<IdempotencyKey>,
}

impl<C> Request<C> {
    pub fn new(command: C) -> Self {
        Self { command, if_rev: None, idempotency: None }
    }
}

/// What a request leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestOutcome<E, R> {
    /// Nothing to write: the command changes nothing, or was answered before.
    Unchanged { reply: R, rev: u64 },
    Commit {
        commit: Commit<E, R>,
        /// What the caller is told once it is durable.
        reply: R,
        warnings: Vec<LimitWarning>,
    },
}

/// A space's state at one revision of its log.
#[derive(Debug, Clone, PartialEq)]
pub struct Revisioned<S: Space> {
    pub head: Head,
    /// The time of the last event: the space's clock never runs backwards.
    pub last_at: Timestamp,
    pub answered: RememberedAnswers<S::Reply>,
    pub state: S,
}

impl<S: Space> Default for Revisioned<S> {
    fn default() -> Self {
        Self {
            head: Head::EMPTY,
            last_at: Timestamp::UNIX_EPOCH,
            answered: RememberedAnswers::default(),
            state: S::default(),
        }
    }
}

impl<S: Space> Revisioned<S> {
    /// Decides a request. First, everything due expires, in the same revision.
    pub fn decide(
        &self,
        request: &Request<S::Command>,
        context: &Context<'_>,
    ) -> Result<RequestOutcome<S::Event, S::Reply>, Refusal> {
        if let Some((reply, rev)) = self.check(request, context)? {
            return Ok(RequestOutcome::Unchanged { reply, rev });
        }
        let mut expired = self.state.expire(context.now);
        let decision = if expired.is_empty() {
            self.state.decide(&request.command, context)?
        } else {
            let mut swept = self.state.clone();
            // The state itself named these events, so they fit it.
            expired.retain(|event| swept.apply(event, context.stamp()).is_ok());
            swept.decide(&request.command, context)?
        };
        Ok(self.outcome(request, context, expired, decision))
    }

    /// Decides a request and becomes what it leads to, with that commit id: the same as [`Revisioned::decide`] and
    /// [`Revisioned::apply`], in less time.
    pub fn perform(
        &mut self,
        request: &Request<S::Command>,
        context: &Context<'_>,
        id: CommitId,
    ) -> Result<RequestOutcome<S::Event, S::Reply>, PerformError> {
        if let Some((reply, rev)) = self.check(request, context)? {
            return Ok(RequestOutcome::Unchanged { reply, rev });
        }
        let expired = self.state.expire(context.now);
        for event in &expired {
            self.state.apply(event, context.stamp()).map_err(PerformError::Misfit)?;
        }
        let decision = self.state.perform(&request.command, context).map_err(|unperformed| match unperformed {
            PerformError::Refused(refusal) if !expired.is_empty() => PerformError::Spoilt(refusal),
            other => other,
        })?;
        let outcome = self.outcome(request, context, expired, decision);
        if let RequestOutcome::Commit { commit, .. } = &outcome {
            self.advance(commit, id, context.limits);
        }
        Ok(outcome)
    }

    /// Whether the request may be decided. If it was before, the answer that it got then.
    fn check(&self, request: &Request<S::Command>, context: &Context<'_>) -> Result<Option<(S::Reply, u64)>, Refusal> {
        let principal = &context.actor.principal;
        check_principal("principal", principal, context.limits)?;
        check_visible("principal", principal)?;
        if let Some(via) = &context.actor.via {
            check_principal("via", via, context.limits)?;
            check_visible("via", via)?;
        }
        // With its first revision a space comes to be, and its name with it.
        if let Some(space) = context.space.filter(|_| self.last_at == Timestamp::UNIX_EPOCH) {
            check_visible("name", space.name())?;
        }
        // Every command writes.
        context.actor.check_writes()?;
        if let Some(key) = &request.idempotency
            && let Some((rev, reply)) = self.answered.find(principal, key, context.now, context.limits)?
        {
            return Ok(Some((reply, rev)));
        }
        if let Some(expected) = request.if_rev
            && expected != self.head.rev
        {
            return Err(Refusal::RevConflict { expected, current: self.head.rev });
        }
        context.set_rev(self.head.rev + 1);
        Ok(None)
    }

    /// What a decision leads to, after what expired first. An answer is remembered if the command changed something.
    fn outcome(
        &self,
        request: &Request<S::Command>,
        context: &Context<'_>,
        expired: Vec<S::Event>,
        decision: CommandEffects<S::Event, S::Reply>,
    ) -> RequestOutcome<S::Event, S::Reply> {
        let CommandEffects { mut events, reply, warnings } = decision;
        let is_remembered = !events.is_empty() || S::is_always_remembered(&request.command);
        let answered = request.idempotency.clone().filter(|_| is_remembered).map(|key| (key, reply.clone()));
        if !expired.is_empty() {
            events.splice(..0, expired);
        }
        if events.is_empty() && answered.is_none() {
            return RequestOutcome::Unchanged { reply, rev: self.head.rev };
        }
        let commit = Commit::new(context.now, context.actor.clone(), answered, events);
        RequestOutcome::Commit { commit, reply, warnings }
    }

    /// The state after one more revision.
    pub fn apply(
        &mut self,
        commit: &Commit<S::Event, S::Reply>,
        id: CommitId,
        limits: &Limits,
    ) -> Result<(), FormatError> {
        let rev = self.head.rev + 1;
        let stamp = Stamp { rev, at: commit.at, principal: &commit.actor.principal, role: commit.actor.role };
        for event in &commit.events {
            self.state.apply(event, stamp)?;
        }
        self.advance(commit, id, limits);
        Ok(())
    }

    /// The state has the revision's events already.
    fn advance(&mut self, commit: &Commit<S::Event, S::Reply>, id: CommitId, limits: &Limits) {
        let rev = self.head.rev + 1;
        if let Some((key, reply)) = &commit.answered {
            self.answered.remember(rev, commit.at, &commit.actor.principal, key, reply.clone());
        }
        self.answered.forget_old(commit.at, limits);
        self.head = Head { rev, commit: id };
        self.last_at = self.last_at.max(commit.at);
    }
}

pub(crate) fn misfit(what: impl Into<String>) -> FormatError {
    FormatError::Misfit(what.into())
}
