//! Commands become revisions: decided in order, appended together, each answered.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use corkboard_core::{Commit, CommitId, Context, FormatError, Head, Outcome, Revisioned, Space, Unperformed};

use super::ask::{Answer, Proposal, lost_answer};
use super::{CaughtUp, Collect, Engine, Landed, Ownership, Publish, Slot};
use crate::store::{Append, Appended, Record, StoreError};
use crate::{Error, Result};

/// How long is waited before a lost answer is looked for again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// How one proposal was decided.
enum Decided<R> {
    Refused(Error),
    Answered(Answer<R>),
}

/// A revision and its id.
type Named<S> = (CommitId, Commit<<S as Space>::Event, <S as Space>::Reply>);

/// A whole batch, decided against one state.
struct Draft<S: Space> {
    decided: Vec<Decided<S::Reply>>,
    records: Vec<Record>,
    commits: Vec<Named<S>>,
    events: u64,
    bytes: u64,
    /// What the batch leads to.
    state: Arc<Revisioned<S>>,
    /// What the batch began with, or led to so far; and how many of its revisions that includes.
    sound: (Arc<Revisioned<S>>, usize),
    broken: Option<Error>,
}

impl<S: Space> Draft<S> {
    /// The revisions to append. Asked again, the very same.
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
    /// Commits a batch and answers it.
    pub(super) async fn commit(&self, slot: &Slot<S>, batch: Vec<Box<Proposal<S>>>) {
        let mut batch = batch;
        if let Err(error) = self.try_commit(slot, &mut batch).await {
            for proposal in batch {
                let _ = proposal.answer.send(Err(again(&error)));
            }
        }
    }

    /// Empties the batch by answering it, or fails for what is left in it.
    async fn try_commit(&self, slot: &Slot<S>, batch: &mut Vec<Box<Proposal<S>>>) -> Result<()> {
        let started = Instant::now();
        if slot.unflushed.lock().is_full() {
            // Acknowledging more than can be written would only make the loss larger.
            self.flush_slot(slot, slot.flushing.lock().await).await?;
        }
        let mut state = self.loaded_for_commit(slot).await?;
        // What was sent and never answered. While the log is where it was, that may yet land: so the very same is sent again,
        // and whichever attempt lands, its callers are told the truth.
        let mut unsure: Option<Draft<S>> = None;
        let mut pause = FIRST_PAUSE;
        while !batch.is_empty() {
            let sent_before = unsure.is_some();
            let mut draft = unsure.take().unwrap_or_else(|| self.draft(slot, &state, batch));
            if let Some(error) = draft.broken.take() {
                return Err(error);
            }
            if draft.commits.is_empty() {
                // "No" and "nothing to do" are answers about the present. Make sure that it is the present.
                if self.ownership == Ownership::Sole || self.store.head(&slot.id).await? == state.head {
                    answer(batch, draft.decided);
                    return Ok(());
                }
                state = self.overtaken(slot, batch, &state, Collect::Nothing).await?;
                continue;
            }
            let append = Append {
                space: slot.id.clone(),
                expected: state.head,
                records: draft.take_records(state.head)?,
                next_due: draft.state.state.next_due(),
                summary: summary(&draft.state),
            };
            if !self.options.save.is_on_change() {
                slot.unflushed.lock().push(append);
                self.committed(slot, batch, draft, &state);
                return Ok(());
            }
            let asked_at = self.clock();
            *slot.in_flight.lock() = Some(draft.state.clone());
            let appended = self.store.append(append).await;
            if appended == Ok(Appended::Committed) {
                self.committed(slot, batch, draft, &state);
                slot.current_at.fetch_max(asked_at, Ordering::Relaxed);
                // After the new state is published: a reader finds it here or there.
                *slot.in_flight.lock() = None;
                return Ok(());
            }
            *slot.in_flight.lock() = None;
            let waited = started.elapsed();
            match appended {
                Ok(_) if !sent_before => {
                    state = self.overtaken(slot, batch, &state, Collect::Nothing).await?;
                    if waited > self.options.busy_timeout {
                        return Err(StoreError::Busy { waited }.into());
                    }
                }
                Err(error) if !sent_before && !matches!(error, StoreError::OutcomeUnknown(_)) => {
                    return Err(error.into());
                }
                // This attempt or one before it may have landed, or may yet.
                unclear => {
                    let message = match unclear {
                        Err(StoreError::OutcomeUnknown(message)) => message,
                        Err(error) => error.to_string(),
                        Ok(_) => "it may have been written".into(),
                    };
                    if waited > self.options.busy_timeout {
                        return Err(lost_answer(&message));
                    }
                    let seen = self.look_for(slot, batch, &state, started, &message).await?;
                    if seen.head == state.head {
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                        unsure = Some(draft);
                    }
                    state = seen;
                }
            }
        }
        Ok(())
    }

    /// A state to decide against. It may be behind: then the append conflicts.
    async fn loaded_for_commit(&self, slot: &Slot<S>) -> Result<Arc<Revisioned<S>>> {
        match slot.peek() {
            Some(state) => Ok(state),
            None => self.refresh(slot, slot.loading.lock().await).await,
        }
    }

    fn draft(&self, slot: &Slot<S>, state: &Arc<Revisioned<S>>, batch: &mut [Box<Proposal<S>>]) -> Draft<S> {
        let mut draft = Draft {
            decided: Vec::with_capacity(batch.len()),
            records: Vec::with_capacity(batch.len()),
            commits: Vec::with_capacity(batch.len()),
            events: 0,
            bytes: 0,
            state: state.clone(),
            sound: (state.clone(), 0),
            broken: None,
        };
        let mut new = Revisioned::clone(state);
        for proposal in batch {
            let decided = self.draft_one(slot, &mut draft, &mut new, proposal).unwrap_or_else(Decided::Refused);
            draft.decided.push(decided);
        }
        draft.state = Arc::new(new);
        draft
    }

    fn draft_one(
        &self,
        slot: &Slot<S>,
        draft: &mut Draft<S>,
        state: &mut Revisioned<S>,
        proposal: &mut Proposal<S>,
    ) -> Result<Decided<S::Reply>> {
        let now = self.now(state);
        let request = proposal.asked.request(&state.state, now)?;
        let mut context = Context::new(now, &proposal.actor, &self.options.limits, proposal.first_id);
        context.outside = proposal.outside;
        context.space = Some(&slot.id);
        // In place: only what the batch's first change touches is copied.
        let (commit, reply, warnings) = match state.perform(&request, &context, proposal.commit) {
            Ok(Outcome::Unchanged { reply, rev }) => return Ok(Decided::Answered(Answer { reply, rev })),
            Ok(Outcome::Commit { commit, reply, warnings }) => (commit, reply, warnings),
            Err(Unperformed::Refused(refusal)) => return Err(refusal.into()),
            Err(Unperformed::Spoilt(refusal)) => {
                *state = self.sound(draft);
                return Err(refusal.into());
            }
            Err(Unperformed::Misfit(error)) => {
                let error = malformed(error);
                draft.broken = Some(again(&error));
                return Err(error);
            }
        };
        let rev = state.head.rev;
        let body = match S::encode(&commit) {
            Ok(body) => body,
            Err(error) => {
                *state = self.sound(draft);
                return Err(malformed(error));
            }
        };
        draft.bytes += body.len() as u64;
        draft.events += commit.events.len() as u64;
        draft.records.push(Record { rev, commit: proposal.commit, at: commit.at, body });
        draft.commits.push((proposal.commit, commit));
        for warning in warnings {
            tracing::warn!(limit = ?warning.limit, used = warning.used, allowed = warning.allowed, "limit nearly reached");
        }
        proposal.drafted = Some(reply.clone());
        Ok(Decided::Answered(Answer { reply, rev }))
    }

    /// The state before a command that was refused half-way. What came before it is applied again, none of it twice.
    fn sound(&self, draft: &mut Draft<S>) -> Revisioned<S> {
        let (before, included) = &draft.sound;
        let mut state = Revisioned::clone(before);
        for (id, commit) in draft.commits.iter().skip(*included) {
            // What was decided fits; if it did not, the draft would be worth nothing.
            if let Err(error) = state.apply(commit, *id, &self.options.limits) {
                draft.broken = Some(malformed(error));
            }
        }
        draft.sound = (Arc::new(state.clone()), draft.commits.len());
        state
    }

    /// Makes the new state the current one, and answers the batch that led to it.
    fn committed(&self, slot: &Slot<S>, batch: &mut Vec<Box<Proposal<S>>>, draft: Draft<S>, before: &Revisioned<S>) {
        self.publish(slot, &draft.state, Publish::IfNewer);
        slot.log.add(draft.events, draft.bytes);
        let commits: Vec<_> = draft.commits.iter().map(|(_, commit)| commit).collect();
        self.observer.committed(&slot.id, &commits, &before.state, &draft.state.state);
        answer(batch, draft.decided);
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
        let mut pause = FIRST_PAUSE;
        loop {
            match self.overtaken(slot, batch, state, Collect::Commits).await {
                Ok(state) => return Ok(state),
                Err(error) if error.is_retryable() && started.elapsed() < self.options.busy_timeout => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
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
        for (id, rev, commit) in landed as &[Landed<S>] {
            let Some(found) = batch.iter().position(|proposal| proposal.commit == *id) else { continue };
            let proposal = batch.remove(found);
            self.observer.committed(&slot.id, &[commit], &caught_up.state.state, &caught_up.state.state);
            if let Some(reply) = proposal.drafted {
                let _ = proposal.answer.send(Ok(Answer { reply, rev: *rev }));
            }
        }
        Ok(())
    }
}

fn answer<S: Space>(batch: &mut Vec<Box<Proposal<S>>>, decided: Vec<Decided<S::Reply>>) {
    for (proposal, decided) in batch.drain(..).zip(decided) {
        // A caller who has stopped waiting is no error.
        let _ = proposal.answer.send(match decided {
            Decided::Refused(error) => Err(error),
            Decided::Answered(answer) => Ok(answer),
        });
    }
}

/// The same error for one more caller.
fn again(error: &Error) -> Error {
    match error {
        Error::Store(error) => Error::Store(error.clone()),
        Error::NewerFormat { space, found } => Error::NewerFormat { space: space.clone(), found: *found },
        Error::Closed => Error::Closed,
        other => Error::Damaged { space: String::new(), message: other.to_string() },
    }
}

fn summary<S: Space>(current: &Revisioned<S>) -> Vec<u8> {
    let summary = current.state.summary(current.last_at).into_bytes();
    if summary.len() <= Append::SUMMARY_BYTES { summary } else { b"{}".to_vec() }
}
