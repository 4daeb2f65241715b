//! Turns commands into revisions: decides them in order, appends them together, answers each caller.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use corkboard_core::{Revisioned, Space};

use super::ask::{Answer, Proposal, lost_answer};
use super::decide::{DecidedBatch, IdentifiedCommit};
use super::{CaughtUp, CommitCollection, Engine, LandedCommit, Publish, Slot};
use crate::backoff::Backoff;
use crate::store::{Append, Appended, StoreError};
use crate::{Error, Result};

/// Delay between attempts to find out whether an append landed.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500));

/// The remains of an answered batch. Dropping them takes as long as creating them did. This happens while the next
/// batch is being written, so callers do not wait for it.
#[expect(dead_code, reason = "held only to be dropped later")]
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

    /// Empties the batch by answering its proposals, or fails for those that remain in it.
    async fn try_commit(
        &self,
        slot: &Slot<S>,
        batch: &mut Vec<Box<Proposal<S>>>,
        spent: &mut SpentBatch<S>,
    ) -> Result<()> {
        let started = Instant::now();
        if slot.unflushed.lock().is_full() {
            // Acknowledging more than can be written would only increase the possible loss.
            self.flush_slot(slot, slot.flushing.lock().await).await?;
        }
        let mut state = self.loaded_for_commit(slot).await?;
        // A batch that was sent and never answered. It may still land while the log's head is unchanged, so the same
        // batch is sent again. Its callers then get the right answer, whichever attempt lands.
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
                // A refusal or "nothing to do" must be decided on the current state, so check the head.
                if self.is_sole() || self.store.head(&slot.id).await? == state.head {
                    drop(answer(batch, decided.answers));
                    return Ok(());
                }
                state = self.overtaken(slot, batch, &state, CommitCollection::Nothing).await?;
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
                // After publishing: a reader finds the new state in one place or the other.
                *slot.in_flight.lock() = None;
                return Ok(());
            }
            *slot.in_flight.lock() = None;
            let waited = started.elapsed();
            let message = match appended {
                Ok(_) if !sent_before => {
                    state = self.overtaken(slot, batch, &state, CommitCollection::Nothing).await?;
                    if waited > self.options.busy_timeout {
                        return Err(StoreError::Busy { waited }.into());
                    }
                    continue;
                }
                Ok(_) => "the append may have been written".into(),
                Err(StoreError::OutcomeUnknown(message)) => message,
                Err(error) if !sent_before => return Err(error.into()),
                Err(error) => error.to_string(),
            };
            // This attempt or an earlier one may have landed, or may still land.
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

    /// Appends the batch, or finishes the append that already received its first records.
    async fn send(
        &self,
        decided: &mut DecidedBatch<S>,
        append: Append,
        spent: &mut SpentBatch<S>,
    ) -> std::result::Result<Appended, StoreError> {
        let Some(appending) = decided.appending.take() else { return self.store.append(append).await };
        let finished = appending.finish(append);
        // Drop the previous batch while the disk is busy.
        spent.clear();
        finished.await
    }

    /// Returns a state to decide on. If it is outdated, the append conflicts.
    async fn loaded_for_commit(&self, slot: &Slot<S>) -> Result<Arc<Revisioned<S>>> {
        match slot.peek() {
            Some(state) => Ok(state),
            None => self.refresh(slot, slot.loading.lock().await).await,
        }
    }

    /// Publishes the new state and answers the batch that led to it.
    fn committed(
        &self,
        slot: &Slot<S>,
        batch: &mut Vec<Box<Proposal<S>>>,
        decided: DecidedBatch<S>,
        before: Arc<Revisioned<S>>,
    ) -> SpentBatch<S> {
        self.publish(slot, &decided.state, Publish::IfNewer);
        self.indexer.wake(&slot.id);
        slot.log.add(decided.events, decided.bytes);
        let commits: Vec<_> = decided.commits.iter().map(|(_, commit)| commit).collect();
        self.observer.committed(&slot.id, &commits, &before.state, &decided.state.state);
        SpentBatch { batch: answer(batch, decided.answers), commits: decided.commits, state: Some(before) }
    }

    /// Another process committed first: catches up, so that the batch can be decided again.
    async fn overtaken(
        &self,
        slot: &Slot<S>,
        batch: &mut Vec<Box<Proposal<S>>>,
        state: &Arc<Revisioned<S>>,
        collect: CommitCollection,
    ) -> Result<Arc<Revisioned<S>>> {
        let _one_at_a_time = slot.loading.lock().await;
        let caught_up = self.catch_up(slot, state, collect).await?;
        if collect == CommitCollection::Commits {
            self.settle(slot, batch, &caught_up)?;
        }
        Ok(caught_up.state)
    }

    /// The answer to an append was lost: looks for this batch's commit IDs in the log before anything is decided again.
    /// Retries while the store is unavailable, for up to `busy_timeout`.
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
            match self.overtaken(slot, batch, state, CommitCollection::Commits).await {
                Ok(state) => return Ok(state),
                Err(error) if error.is_retryable() && started.elapsed() < self.options.busy_timeout => {
                    backoff.sleep().await;
                }
                Err(_) => return Err(lost_answer(message)),
            }
        }
    }

    /// Answers the proposals whose revisions are in the log.
    fn settle(&self, slot: &Slot<S>, batch: &mut Vec<Box<Proposal<S>>>, caught_up: &CaughtUp<S>) -> Result<()> {
        let Some(landed) = &caught_up.commits else {
            return Err(lost_answer("the log was replaced in the meantime"));
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

/// Refuses the commands whose token was revoked or expired while they waited.
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

/// Answers a batch and returns it, so that the caller decides when to drop it.
fn answer<S: Space>(
    batch: &mut Vec<Box<Proposal<S>>>,
    answers: Vec<Result<Answer<S::Reply>>>,
) -> Vec<Box<Proposal<S>>> {
    for (proposal, answer) in batch.iter_mut().zip(answers) {
        proposal.answer(answer);
    }
    std::mem::take(batch)
}

/// Copies an error for another caller.
pub(crate) fn again(error: &Error) -> Error {
    match error {
        Error::Store(error) => Error::Store(error.clone()),
        Error::NewerFormat { space, found } => Error::NewerFormat { space: space.clone(), found: *found },
        Error::Damaged { space, message } => Error::Damaged { space: space.clone(), message: message.clone() },
        Error::Closed => Error::Closed,
        other => Error::Damaged { space: String::new(), message: other.to_string() },
    }
}
