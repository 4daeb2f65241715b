//! Decides a batch of commands in order on a state. The first records go to the store while later ones are being
//! decided.

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

/// Send decided records ahead when more than this many have accumulated.
const AHEAD: usize = 8;

pub(super) type IdentifiedCommit<S> = (CommitId, Commit<<S as Space>::Event, <S as Space>::Reply>);

/// A batch, decided on one state.
pub(super) struct DecidedBatch<S: Space> {
    pub(super) answers: Vec<Result<Answer<S::Reply>>>,
    records: Vec<Record>,
    pub(super) commits: Vec<IdentifiedCommit<S>>,
    pub(super) events: u64,
    pub(super) bytes: u64,
    pub(super) state: Arc<Revisioned<S>>,
    /// The append that receives the first records while later ones are still being decided.
    pub(super) appending: Option<Box<dyn Appending>>,
    /// The last known valid state (the initial one, or one rebuilt by [`Engine::sound`]), and how many of the batch's
    /// revisions it includes.
    sound: (Arc<Revisioned<S>>, usize),
    pub(super) broken: Option<Error>,
}

impl<S: Space> DecidedBatch<S> {
    /// Sends the records decided so far to the store, except the last one: its metadata is only known at the end.
    fn send_ahead(&mut self, store: &dyn Store, space: &SpaceId, expected: Head) {
        if self.appending.is_none() {
            self.appending = store.begin_append(space, expected);
        }
        if let Some(appending) = &mut self.appending {
            appending.add(self.records.drain(..self.records.len().saturating_sub(1)).collect());
        }
    }

    /// Returns the records that are still to be appended. A repeated call returns the whole batch, unchanged.
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
    /// Decides a batch, each command on the result of the previous one.
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
        // A caller's closure may run long, and an append in progress may block others.
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
        // Changes the state in place; only the parts that the batch touches first are copied.
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

    /// Rebuilds the state from before a command that failed halfway, by re-applying the earlier commits of the batch.
    fn sound(&self, decided: &mut DecidedBatch<S>) -> Revisioned<S> {
        let (before, included) = &decided.sound;
        let mut state = Revisioned::clone(before);
        for (id, commit) in decided.commits.iter().skip(*included) {
            // A decided commit always applies. If it does not, the whole batch is invalid.
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
