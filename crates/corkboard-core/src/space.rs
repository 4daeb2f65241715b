//! What all spaces share: commands are decided in order, and each committed command is one revision.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::forget::VisitText;
use crate::id::{check_principal, check_visible};
use crate::{
    Actor, Commit, CommitId, Context, FormatError, IdempotencyKey, LimitWarning, Limits, Refusal, RememberedAnswers,
    Role, SpaceKind, Usage,
};

/// A kind of space: pure rules over an immutable state. Cloning a state is cheap (persistent maps).
pub trait Space: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static {
    const KIND: SpaceKind;
    /// The commands that the space accepts.
    type Command: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The events that commands lead to.
    type Event: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The answers to commands.
    type Reply: Clone + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// What can be removed from the log for good.
    type Forget: Send + Sync + 'static;

    /// The events that expire all items that are due at `now`.
    fn expire(&self, now: Timestamp) -> Vec<Self::Event>;

    /// Checks a command that was deserialized from outside input, and removes from it what this actor cannot claim. The
    /// parts of a command that was created in this process were checked when they were created.
    fn check(_command: &mut Self::Command, _actor: &Actor, _limits: &Limits) -> Result<(), Refusal> {
        Ok(())
    }

    /// Decides the command: the events it leads to, or a refusal. The state does not change.
    fn decide(
        &self,
        command: &Self::Command,
        context: &Context<'_>,
    ) -> Result<CommandEffects<Self::Event, Self::Reply>, Refusal>;

    /// Applies a decided event to the state. Fails only if the log is damaged.
    fn apply(&mut self, event: &Self::Event, stamp: Stamp<'_>) -> Result<(), FormatError>;

    /// Decides the command and applies its events, like [`Space::decide`] followed by [`Space::apply`]. A space can
    /// override this with a faster way.
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

    /// Whether a command with an idempotency key is written and remembered even if it changes nothing in this space,
    /// because something outside the space depends on it. Other commands that change nothing are not remembered.
    fn is_always_remembered(_command: &Self::Command) -> bool {
        false
    }

    /// The stored bytes, equal to those of [`Commit::encode`]. A space can override this with a faster way.
    fn encode(commit: &Commit<Self::Event, Self::Reply>) -> Result<Vec<u8>, FormatError> {
        commit.encode()
    }

    /// Called before the events of a log are redacted in order.
    fn begin_redaction(_forget: &mut Self::Forget) {}

    /// Removes the data to forget from an event and returns whether it contained any. `forget` can collect more to look
    /// for on the way, so a log is redacted in two passes. Afterwards the log must still be valid, and lead to the same
    /// state without the forgotten data.
    fn redact(_event: &mut Self::Event, _forget: &mut Self::Forget) -> bool {
        false
    }

    /// Whether summaries of earlier revisions may contain what is to be forgotten. A store drops the old summaries of
    /// all revisions that are rewritten.
    fn is_in_summaries(_forget: &Self::Forget) -> bool {
        false
    }

    /// Calls `visit` with every free text of an event. Names, keys and IDs are not free text.
    fn each_text_of(_event: &Self::Event, _visit: &mut VisitText<'_>) {}

    /// Calls `visit` with every free text of the state.
    fn each_text(&self, _visit: &mut VisitText<'_>) {}

    fn next_due(&self) -> Option<Timestamp>;

    /// A few facts for lists, as JSON. `updated_at` is the time of the last event.
    fn summary(&self, updated_at: Timestamp) -> String;

    fn usage(&self) -> Usage;
}

/// The events of one command and its answer. Without events, nothing changes.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandEffects<E, R> {
    /// The events, in order.
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
    /// The command was refused. The state is unchanged.
    Refused(Refusal),
    /// The command was refused after some events were applied. Discard the state.
    Spoilt(Refusal),
    /// An event did not fit the state, which is a defect. Discard the state.
    Misfit(FormatError),
}

impl From<Refusal> for PerformError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The revision, time and author of an event.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'a> {
    /// The revision of the event, which becomes the version of everything it changes.
    pub rev: u64,
    pub at: Timestamp,
    pub principal: &'a str,
    pub role: Role,
}

/// The end of a log: its last revision and that revision's commit ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Head {
    /// The number of committed commands.
    pub rev: u64,
    /// The commit ID of the last one.
    pub commit: CommitId,
}

impl Head {
    /// The head of an empty log.
    pub const EMPTY: Self = Self { rev: 0, commit: CommitId::NONE };
}

/// A command with its conditions.
#[derive(Debug, Clone)]
pub struct Request<C> {
    pub command: C,
    /// The revision that the space must be at.
    pub if_rev: Option<u64>,
    /// The idempotency key.
    pub idempotency: Option<IdempotencyKey>,
}

impl<C> Request<C> {
    pub fn new(command: C) -> Self {
        Self { command, if_rev: None, idempotency: None }
    }
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestOutcome<E, R> {
    /// Nothing to write: the command changes nothing, or repeats an earlier request.
    Unchanged { reply: R, rev: u64 },
    Commit {
        commit: Commit<E, R>,
        /// The answer for the caller, once the commit is durable.
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
    /// Decides a request. Due items expire first, in the same revision.
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
            // These events come from the state itself, so they fit.
            expired.retain(|event| swept.apply(event, context.stamp()).is_ok());
            swept.decide(&request.command, context)?
        };
        Ok(self.outcome(request, context, expired, decision))
    }

    /// Decides a request and applies it with that commit ID, like [`Revisioned::decide`] followed by
    /// [`Revisioned::apply`], but faster.
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

    /// Checks whether the request may be decided. For a repeated request, returns the earlier answer.
    fn check(&self, request: &Request<S::Command>, context: &Context<'_>) -> Result<Option<(S::Reply, u64)>, Refusal> {
        let principal = &context.actor.principal;
        check_principal("principal", principal, context.limits)?;
        check_visible("principal", principal)?;
        if let Some(via) = &context.actor.via {
            check_principal("via", via, context.limits)?;
            check_visible("via", via)?;
        }
        // The first revision creates the space, so its name is checked now.
        if let Some(space) = context.space.filter(|_| self.last_at == Timestamp::UNIX_EPOCH) {
            check_visible("name", space.name())?;
        }
        // All commands write.
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

    /// The outcome of a decision, with the expired items first. The answer is remembered if the command changed
    /// something.
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

    /// Applies one more revision.
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

    /// Updates the head, clock and answers after the events of a revision were applied.
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
