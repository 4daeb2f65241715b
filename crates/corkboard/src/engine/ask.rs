//! Send a command and wait for its answer.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use corkboard_core::{Actor, CommitId, LimitWarning, Request, Space, Usage};
use jiff::Timestamp;
use tokio::sync::oneshot::{self, error::TryRecvError};
use uuid::Uuid;

use super::lead::Leader;
use super::observer::QueuedCommand;
use super::{Engine, Slot};
use crate::access::AuthenticatedActor;
use crate::replay::replayed;
use crate::store::StoreError;
use crate::{Error, Result, ids};

pub(crate) enum RequestSource<S: Space> {
    Request(Request<S::Command>),
    /// A closure that creates the request from the state it is decided on. It runs again if another commit overtakes
    /// that state.
    Computed(Compute<S>),
}

impl<S: Space> RequestSource<S> {
    pub(super) fn is_made(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    /// Returns the request, computing it from the state if necessary. If the caller's closure panics, only that caller
    /// gets the error.
    pub(crate) fn request(&mut self, state: &S, now: Timestamp) -> Result<Cow<'_, Request<S::Command>>> {
        match self {
            Self::Request(request) => Ok(Cow::Borrowed(request)),
            Self::Computed(compute) => catch_unwind(AssertUnwindSafe(|| compute(state, now)))
                .unwrap_or_else(|panic| Err(Error::Panicked { message: panic_text(&*panic) }))
                .map(Cow::Owned),
        }
    }
}

type Compute<S> = Box<dyn FnMut(&S, Timestamp) -> Result<Request<<S as Space>::Command>> + Send>;

pub(crate) struct Proposal<S: Space> {
    /// The ID of its revision, unchanged over all attempts. It identifies the commit if an answer is lost.
    pub(super) commit: CommitId,
    pub(super) first_id: Uuid,
    pub(super) actor: AuthenticatedActor,
    pub(super) outside: Usage,
    pub(super) asked: RequestSource<S>,
    /// `None` once it is answered.
    pub(super) answer: Option<oneshot::Sender<Result<Answer<S::Reply>>>>,
    /// The reply for the caller if the last attempt landed.
    pub(super) reply: Option<S::Reply>,
    /// Counts the waiting command. `None` once it is answered.
    pub(super) queued: Option<QueuedCommand>,
}

impl<S: Space> Proposal<S> {
    /// Answers the caller. A caller that has stopped waiting is not an error.
    pub(super) fn answer(&mut self, answer: Result<Answer<S::Reply>>) {
        self.queued = None;
        if let Some(caller) = self.answer.take() {
            let _ = caller.send(answer);
        }
    }
}

/// The answer to a command.
#[derive(Debug, Clone)]
pub(crate) struct Answer<R> {
    pub(crate) reply: R,
    /// The revision that the answer refers to.
    pub(crate) rev: u64,
    /// The ID of that revision, if this command created it.
    pub(crate) commit: Option<CommitId>,
    /// The idempotency key, if this is the stored answer of an earlier request.
    pub(crate) replayed: Option<Box<str>>,
    pub(crate) warnings: Vec<LimitWarning>,
}

impl<R> Answer<R> {
    /// An answer that added nothing to the log.
    pub(crate) fn unlogged(reply: R, rev: u64) -> Self {
        Self { reply, rev, commit: None, replayed: None, warnings: Vec::new() }
    }
}

/// Future that resolves to the answer of a sent command.
pub(crate) struct PendingAnswer<R> {
    /// The queue's work, if this caller is the leader.
    led: Option<Leader>,
    answered: oneshot::Receiver<Result<Answer<R>>>,
}

impl<S: Space> Engine<S> {
    /// Sends a command. It runs to completion even if nobody waits for the answer.
    pub(crate) fn ask(
        self: &Arc<Self>,
        slot: &Arc<Slot<S>>,
        actor: impl Into<AuthenticatedActor>,
        outside: Usage,
        asked: RequestSource<S>,
    ) -> PendingAnswer<S::Reply> {
        let (actor, (answer, answered)) = (actor.into(), oneshot::channel());
        if let Some(remote) = self.remote().cloned() {
            let (engine, slot) = (self.clone(), slot.clone());
            self.spawn(async move {
                let answered = engine.ask_remote(&remote, &slot, Actor::clone(&actor), asked).await;
                // The caller may have stopped waiting.
                let _ = answer.send(answered);
            });
            return PendingAnswer { led: None, answered };
        }
        let (commit, first_id) = (ids::commit(), ids::at(self.time()));
        let queued = Some(self.observer.queued());
        let proposal = Proposal { commit, first_id, actor, outside, asked, answer: Some(answer), reply: None, queued };
        PendingAnswer { led: self.enqueue(slot, Box::new(proposal)), answered }
    }
}

impl<R> Future for PendingAnswer<R> {
    type Output = Result<Answer<R>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.poll_answer(context);
        if let Poll::Ready(Ok(Answer { replayed: Some(key), .. })) = &polled {
            replayed(key);
        }
        polled
    }
}

impl<R> PendingAnswer<R> {
    fn poll_answer(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Answer<R>>> {
        let lost = || Err(lost_answer("the committing task ended before it answered"));
        if let Some(leading) = &mut self.led
            && Pin::new(leading).poll(context).is_pending()
        {
            // The leader answers itself. Polling the receiver too would wake it twice.
            return match self.answered.try_recv() {
                Err(TryRecvError::Empty) => Poll::Pending,
                Err(TryRecvError::Closed) => Poll::Ready(lost()),
                Ok(answer) => Poll::Ready(answer),
            };
        }
        self.led = None;
        Pin::new(&mut self.answered).poll(context).map(|answer| answer.unwrap_or_else(|_| lost()))
    }
}

pub(super) fn lost_answer(message: &str) -> Error {
    StoreError::OutcomeUnknown(message.into()).into()
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown panic".into())
}
