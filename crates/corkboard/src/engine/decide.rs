//! A batch of commands, decided in order on a state. What is decided first is on its way to the store while the rest is not.

use std::sync::Arc;

use corkboard_core::{
    Commit, CommitId, Context, FormatError, Head, LimitWarning, PerformError, RequestOutcome, Revisioned, Space,
    SpaceId,
};

use super::ask::{Answer, Proposal};
use super::commit::again;
use super::{Engine, Slot};
use crate::replay::replayed_key;
use crate::store::{Append, Appending, Record, Store};
use crate::{Error, Result};

/// So many records are sent ahead at a time while a batch is decided.
const AHEAD: usize = 8;

pub(super) type IdentifiedCommit<S> = (CommitId, Commit<<S as Space>::Event, <S as Space>::Reply>);

/// A whole batch, decided against one state.
pub(super) struct DecidedBatch<S: Space> {
    pub(super) answers: Vec<Result<Answer<S::Reply>>>,
    records: Vec<Record>,
    pub(super) commits: Vec<IdentifiedCommit<S>>,
    pub(super) events: u64,
    pub(super) bytes: u64,
    pub(super) state: Arc<Revisioned<S>>,
    /// The append that takes the first records while the last are being decided.
    pub(super) appending: Option<Box<dyn Appending>>,
    /// What the batch began with, or led to so far; and how many of its revisions that includes.
    sound: (Arc<Revisioned<S>>, usize),
    pub(super) broken: Option<Error>,
}

impl<S: Space> DecidedBatch<S> {
    /// Gives the store what was decided so far, but for the last record: what goes with that is known at the end.
    fn send_ahead(&mut self, store: &dyn Store, space: &SpaceId, expected: Head) {
        if self.appending.is_none() {
            self.appending = store.begin_append(space, expected);
        }
        if let Some(appending) = &mut self.appending {
            appending.add(self.records.drain(..self.records.len().saturating_sub(1)).collect());
        }
    }

    /// What is still to be appended. Asked again, it is the whole batch, the very same.
    pub(super) fn append(&mut self, space: &SpaceId, expected: Head) -> Result<Append> {
        let summary = self.state.state.summary(self.state.last_at).into_bytes();
        Ok(Append {
            space: space.clone(),
            expected,
            records: self.take_records(expected)?,
            next_due: self.state.state.next_due(),
            summary: if summary.len() <= Append::SUMMARY_BYTES { summary } else { b"{}".to_vec() },
        })
    }

    fn take_records(&mut self, after: Head) -> Result<Vec<Record>> {
        if !self.records.is_empty() {
            return Ok(std::mem::take(&mut self.records));
        }
        let again = (after.rev + 1..).zip(&self.commits).map(|(rev, (commit, content))| {
            let body = S::encode(content).map_err(malformed)?;
            Ok(Record { rev, commit: *commit, at: content.at, body })
        });
        again.collect()
    }
}

fn malformed(error: FormatError) -> Error {
    Error::Damaged { space: "the new revision".into(), message: error.to_string() }
}

impl<S: Space> Engine<S> {
    /// Decides a whole batch, each command on the result of the one before.
    pub(super) fn decide_batch(
        &self,
        slot: &Slot<S>,
        state: &Arc<Revisioned<S>>,
        batch: &mut [Box<Proposal<S>>],
    ) -> DecidedBatch<S> {
        let mut decided = DecidedBatch {
            answers: Vec::with_capacity(batch.len()),
            records: Vec::with_capacity(batch.len()),
            commits: Vec::with_capacity(batch.len()),
            events: 0,
            bytes: 0,
            state: state.clone(),
            appending: None,
            sound: (state.clone(), 0),
            broken: None,
        };
        // What a caller computes may take its time, and an append that is begun may keep others waiting.
        let sends_ahead = self.options.save.is_on_change() && batch.iter().all(|proposal| proposal.asked.is_made());
        let mut new = Revisioned::clone(state);
        for proposal in batch {
            let answer = self.decide_one(slot, &mut decided, &mut new, proposal);
            decided.answers.push(answer);
            if sends_ahead && decided.records.len() > AHEAD {
                decided.send_ahead(&*self.store, &slot.id, state.head);
            }
        }
        decided.state = Arc::new(new);
        decided
    }

    fn decide_one(
        &self,
        slot: &Slot<S>,
        decided: &mut DecidedBatch<S>,
        state: &mut Revisioned<S>,
        proposal: &mut Proposal<S>,
    ) -> Result<Answer<S::Reply>> {
        let now = self.now(slot, state);
        let request = proposal.asked.request(&state.state, now)?;
        let mut context = Context::new(now, &proposal.actor, &self.options.limits, proposal.first_id);
        context.outside = proposal.outside;
        context.space = Some(&slot.id);
        // In place: only what the batch's first change touches is copied.
        let (commit, reply, warnings) = match state.perform(&request, &context, proposal.commit) {
            Ok(RequestOutcome::Unchanged { reply, rev }) => {
                let replayed = replayed_key(state, &request, &context);
                return Ok(Answer { replayed, ..Answer::unlogged(reply, rev) });
            }
            Ok(RequestOutcome::Commit { commit, reply, warnings }) => (commit, reply, warnings),
            Err(PerformError::Refused(refusal)) => return Err(refusal.into()),
            Err(PerformError::Spoilt(refusal)) => {
                *state = self.sound(decided);
                return Err(refusal.into());
            }
            Err(PerformError::Misfit(error)) => {
                let error = malformed(error);
                decided.broken = Some(again(&error));
                return Err(error);
            }
        };
        let rev = state.head.rev;
        let body = match S::encode(&commit) {
            Ok(body) => body,
            Err(error) => {
                *state = self.sound(decided);
                return Err(malformed(error));
            }
        };
        decided.bytes += body.len() as u64;
        decided.events += commit.events.len() as u64;
        decided.records.push(Record { rev, commit: proposal.commit, at: commit.at, body });
        decided.commits.push((proposal.commit, commit));
        warn(&warnings);
        proposal.reply = Some(reply.clone());
        Ok(Answer { reply, rev, commit: Some(proposal.commit), replayed: None, warnings })
    }

    /// The state before a command that was refused half-way. What came before it is applied again, none of it twice.
    fn sound(&self, decided: &mut DecidedBatch<S>) -> Revisioned<S> {
        let (before, included) = &decided.sound;
        let mut state = Revisioned::clone(before);
        for (id, commit) in decided.commits.iter().skip(*included) {
            // What was decided fits; if it did not, the batch would be worth nothing.
            if let Err(error) = state.apply(commit, *id, &self.options.limits) {
                decided.broken = Some(malformed(error));
            }
        }
        decided.sound = (Arc::new(state.clone()), decided.commits.len());
        state
    }
}

pub(super) fn warn(warnings: &[LimitWarning]) {
    for LimitWarning { limit, used, allowed } in warnings {
        tracing::warn!(?limit, used, allowed, "limit nearly reached");
    }
}
