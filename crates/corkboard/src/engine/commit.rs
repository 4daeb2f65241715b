//! Commands become revisions: decided in order, appended together, each answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use corkboard_core::{Revisioned, Space};

use super::ask::{Answer, Proposal, lost_answer};
use super::decide::{DecidedBatch, IdentifiedCommit};
use super::{CaughtUp, Collect, Engine, LandedCommit, Publish, Slot};
use crate::backoff::Backoff;
use crate::store::{Append, Appended, StoreError};
use crate::{Error, Result};

/// Between two attempts to find out whether an append landed.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));

/// What is left of a batch that was answered. To let go of it takes as long as it took to make, so that is done while the
/// next batch is on its way to the disk, not while its callers wait for their turn.
#[expect(dead_code, reason = "it is only let go")]
pub(super) struct SpentBatch<S: Space> {
    batch: Vec<Box<Proposal<S>>>,
    commits: Vec<IdentifiedCommit<S>>,
    state: Option<Arc<Revisioned<S>>>,
}

impl<S: Space> SpentBatch<S> {
    pub(super) fn nothing() -> Self {
        Self { batch: Vec::new(), commits: Vec::new(), state: None }
    }

    fn clear(&mut self) {
        *self = Self::nothing();
    }
}

impl<S: Space> Engine<S> {
    pub(super) async fn commit(&self, slot: &Slot<S>, mut batch: Vec<Box<Proposal<S>>>, spent: &mut SpentBatch<S>) {
        if let Err(error) = self.try_commit(slot, &mut batch, spent).await {
            for mut proposal in batch {
                proposal.answer(Err(again(&error)));
            }
        }
    }

    /// Empties the batch by answering it, or fails for what is left in it.
    async fn try_commit(
        &self,
        slot: &Slot<S>,
        batch: &mut Vec<Box<Proposal<S>>>,
        spent: &mut SpentBatch<S>,
    ) -> Result<()> {
        let started = Instant::now();
        if slot.unflushed.lock().is_full() {
            // Acknowledging more than can be written would only make the loss larger.
            self.flush_slot(slot, slot.flushing.lock().await).await?;
        }
        let mut state = self.loaded_for_commit(slot).await?;
        // What was sent and never answered. While the log is where it was, that may yet land: so the very same is sent again,
        // and whichever attempt lands, its callers are told the truth.
        let mut unsure: Option<DecidedBatch<S>> = None;
        let mut backoff = BACKOFF;
        while !batch.is_empty() {
            let sent_before = unsure.is_some();
            let mut decided = match unsure.take() {
                Some(decided) => decided,
                None => {
                    refuse_ended(batch).await;
                    self.decide_batch(slot, &state, batch)
                }
            };
            if let Some(error) = decided.broken.take() {
                return Err(error);
            }
            if decided.commits.is_empty() {
                // "No" and "nothing to do" are answers about the present. Make sure that it is the present.
                if self.is_sole() || self.store.head(&slot.id).await? == state.head {
                    drop(answer(batch, decided.answers));
                    return Ok(());
                }
                state = self.overtaken(slot, batch, &state, Collect::Nothing).await?;
                continue;
            }
            let append = decided.append(&slot.id, state.head)?;
            if !self.options.save.is_on_change() {
                slot.unflushed.lock().push(append);
                *spent = self.committed(slot, batch, decided, state);
                return Ok(());
            }
            let asked_at = self.clock();
            *slot.in_flight.lock() = Some(decided.state.clone());
            let appended = self.send(&mut decided, append, spent).await;
            if appended == Ok(Appended::Committed) {
                *spent = self.committed(slot, batch, decided, state);
                slot.current_at.fetch_max(asked_at, Ordering::Relaxed);
                // After the new state is published: a reader finds it here or there.
                *slot.in_flight.lock() = None;
                return Ok(());
            }
            *slot.in_flight.lock() = None;
            let waited = started.elapsed();
            let message = match appended {
                Ok(_) if !sent_before => {
                    state = self.overtaken(slot, batch, &state, Collect::Nothing).await?;
                    if waited > self.options.busy_timeout {
                        return Err(StoreError::Busy { waited }.into());
                    }
                    continue;
                }
                Ok(_) => "it may have been written".into(),
                Err(StoreError::OutcomeUnknown(message)) => message,
                Err(error) if !sent_before => return Err(error.into()),
                Err(error) => error.to_string(),
            };
            // This attempt or one before it may have landed, or may yet.
            if waited > self.options.busy_timeout {
                return Err(lost_answer(&message));
            }
            let seen = self.look_for(slot, batch, &state, started, &message).await?;
            if seen.head == state.head {
                backoff.sleep().await;
                unsure = Some(decided);
            }
            state = seen;
        }
        Ok(())
    }

    /// Appends, or ends the append that took the first records while the last were being decided.
    async fn send(
        &self,
        decided: &mut DecidedBatch<S>,
        append: Append,
        spent: &mut SpentBatch<S>,
    ) -> std::result::Result<Appended, StoreError> {
        let Some(appending) = decided.appending.take() else { return self.store.append(append).await };
        let finished = appending.finish(append);
        // While the disk works.
        spent.clear();
        finished.await
    }

    /// A state to decide against. It may be behind: then the append conflicts.
    async fn loaded_for_commit(&self, slot: &Slot<S>) -> Result<Arc<Revisioned<S>>> {
        match slot.peek() {
            Some(state) => Ok(state),
            None => self.refresh(slot, slot.loading.lock().await).await,
        }
    }

    /// Makes the new state the current one, and answers the batch that led to it.
    fn committed(
        &self,
        slot: &Slot<S>,
        batch: &mut Vec<Box<Proposal<S>>>,
        decided: DecidedBatch<S>,
        before: Arc<Revisioned<S>>,
    ) -> SpentBatch<S> {
        self.publish(slot, &decided.state, Publish::IfNewer);
        slot.log.add(decided.events, decided.bytes);
        let commits: Vec<_> = decided.commits.iter().map(|(_, commit)| commit).collect();
        self.observer.committed(&slot.id, &commits, &before.state, &decided.state.state);
        SpentBatch { batch: answer(batch, decided.answers), commits: decided.commits, state: Some(before) }
    }

    /// Someone else was first: catch up, so that the batch can be decided again.
    async fn overtaken(
        &self,
        slot: &Slot<S>,
        batch: &mut Vec<Box<Proposal<S>>>,
        state: &Arc<Revisioned<S>>,
        collect: Collect,
    ) -> Result<Arc<Revisioned<S>>> {
        let _one_at_a_time = slot.loading.lock().await;
        let caught_up = self.catch_up(slot, state, collect).await?;
        if collect == Collect::Commits {
            self.settle(slot, batch, &caught_up)?;
        }
        Ok(caught_up.state)
    }

    /// The answer to an append was lost: look in the log for our own commit ids before anything is decided again. A store
    /// that is away may come back, so it is looked for as long as a busy one is waited for.
    async fn look_for(
        &self,
        slot: &Slot<S>,
        batch: &mut Vec<Box<Proposal<S>>>,
        state: &Arc<Revisioned<S>>,
        started: Instant,
        message: &str,
    ) -> Result<Arc<Revisioned<S>>> {
        let mut backoff = BACKOFF;
        loop {
            match self.overtaken(slot, batch, state, Collect::Commits).await {
                Ok(state) => return Ok(state),
                Err(error) if error.is_retryable() && started.elapsed() < self.options.busy_timeout => {
                    backoff.sleep().await;
                }
                Err(_) => return Err(lost_answer(message)),
            }
        }
    }

    /// Answers those in the batch whose revisions are in the log.
    fn settle(&self, slot: &Slot<S>, batch: &mut Vec<Box<Proposal<S>>>, caught_up: &CaughtUp<S>) -> Result<()> {
        let Some(landed) = &caught_up.commits else {
            return Err(lost_answer("the log was replaced meanwhile"));
        };
        for (id, rev, commit) in landed as &[LandedCommit<S>] {
            let Some(found) = batch.iter().position(|proposal| proposal.commit == *id) else { continue };
            let mut proposal = batch.remove(found);
            self.observer.committed(&slot.id, &[commit], &caught_up.state.state, &caught_up.state.state);
            if let Some(reply) = proposal.reply.take() {
                proposal.answer(Ok(Answer {
                    reply,
                    rev: *rev,
                    commit: Some(*id),
                    replayed: None,
                    warnings: Vec::new(),
                }));
            }
        }
        Ok(())
    }
}

/// Refuses the commands whose token ended while they waited.
async fn refuse_ended<S: Space>(batch: &mut Vec<Box<Proposal<S>>>) {
    let mut index = 0;
    while let Some(proposal) = batch.get_mut(index) {
        match proposal.actor.check_token().await {
            Ok(()) => index += 1,
            Err(error) => {
                proposal.answer(Err(error));
                batch.remove(index);
            }
        }
    }
}

/// Answers a batch. What is left of it is returned.
fn answer<S: Space>(
    batch: &mut Vec<Box<Proposal<S>>>,
    answers: Vec<Result<Answer<S::Reply>>>,
) -> Vec<Box<Proposal<S>>> {
    for (proposal, answer) in batch.iter_mut().zip(answers) {
        proposal.answer(answer);
    }
    std::mem::take(batch)
}

/// The same error for one more caller.
pub(crate) fn again(error: &Error) -> Error {
    match error {
        Error::Store(error) => Error::Store(error.clone()),
        Error::NewerFormat { space, found } => Error::NewerFormat { space: space.clone(), found: *found },
        Error::Damaged { space, message } => Error::Damaged { space: space.clone(), message: message.clone() },
        Error::Closed => Error::Closed,
        other => Error::Damaged { space: String::new(), message: other.to_string() },
    }
}
