//! Applies events to the state, and updates the views.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{
    Approval, BoardEvent, BoardInfo, BoardState, BoardStatus, Extraction, Lease, Pause, Receipt, ReviewVerdict,
    SetbackKind, Task, TaskId, TaskRef, TaskStatus, Waiver,
};
use crate::FormatError;
use crate::space::{Stamp, misfit};

pub(super) fn apply(state: &mut BoardState, event: &BoardEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
    state.count_contribution(event, stamp);
    match event {
        BoardEvent::Created(board) => {
            if state.info.is_some() {
                return Err(misfit("the board already exists"));
            }
            state.put_info(BoardInfo::new(board, stamp));
        }
        BoardEvent::Edited(edit) => state.change_info(stamp, |info| info.edit(edit))?,
        BoardEvent::TaskAdded { id, task } => {
            let depends_on: Option<Vec<TaskId>> = task
                .depends_on
                .iter()
                .map(|on| match on {
                    TaskRef::Task(on) => Some(*on),
                    TaskRef::Member(_) => None,
                })
                .collect();
            let depends_on = depends_on.ok_or_else(|| misfit(format!("{id} depends on a task without an ID")))?;
            state.add_task(Task::new(*id, task, depends_on.into(), stamp))?;
        }
        BoardEvent::DependencyAdded { task, depends_on } => state.add_dependency(*task, *depends_on, stamp)?,
        BoardEvent::DependencyRemoved { task, depends_on } => state.remove_dependency(*task, *depends_on, stamp)?,
        BoardEvent::TaskEdited { task, edit } => state.change(*task, stamp, |task| task.edit(edit))?,
        BoardEvent::TaskAssigned { task, agent } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::Assigned;
            task.assigned_to = Some(agent.clone());
            task.assigned_at = Some(stamp.at);
        })?,
        BoardEvent::TaskStarted { task, agent, epoch, deadline, lease } => {
            let holder = agent.clone().or_else(|| state.task(*task)?.assigned_to.clone());
            let holder = holder.ok_or_else(|| misfit(format!("{task} is not assigned")))?;
            state.change(*task, stamp, |task| {
                if agent.is_some() {
                    task.assigned_to = Some(holder.clone());
                    task.assigned_at = Some(stamp.at);
                }
                task.status = TaskStatus::InProgress;
                task.claim = Some(Lease { holder, epoch: *epoch, deadline: *deadline, lease: *lease });
                task.epoch = *epoch;
                task.attempt = task.attempt.saturating_add(1);
                task.started_at = Some(stamp.at);
            })?;
        }
        BoardEvent::TaskResumed { task, epoch, deadline, lease } => {
            if state.expect(*task)?.claim.is_none() {
                return Err(misfit(format!("nobody holds {task}")));
            }
            state.change(*task, stamp, |task| {
                task.epoch = *epoch;
                task.rework = false;
                if let Some(claim) = &mut task.claim {
                    (claim.epoch, claim.deadline, claim.lease) = (*epoch, *deadline, *lease);
                }
            })?;
        }
        BoardEvent::LeaseRenewed { task, deadline } => {
            // The version stays the same, so a renewal does not conflict with an edit of the task.
            let renewed = state.expect(*task)?;
            if renewed.claim.is_none() {
                return Err(misfit(format!("nobody holds {task}")));
            }
            let unchanged = Stamp { rev: renewed.version, at: renewed.updated_at, ..stamp };
            state.change(*task, unchanged, |task| {
                if let Some(claim) = &mut task.claim {
                    claim.deadline = *deadline;
                }
            })?;
        }
        BoardEvent::LeaseExpired { task } => state.change(*task, stamp, |task| match task.status {
            TaskStatus::Review => task.claim = None,
            _ => task.give_back(),
        })?,
        BoardEvent::TaskReleased { task } | BoardEvent::TaskReopened { task } => {
            state.change(*task, stamp, Task::give_back)?
        }
        BoardEvent::TaskBlocked { task, reason } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::Blocked;
            task.blocked_reason = reason.clone();
        })?,
        BoardEvent::TaskUnblocked { task } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::InProgress;
            task.blocked_reason = None;
        })?,
        BoardEvent::TaskSubmitted { task, result } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::Review;
            task.result = result.clone();
            task.worked_as = Some(stamp.role);
        })?,
        BoardEvent::TaskCompleted { task, result } => state.change(*task, stamp, |task| {
            complete(task, stamp);
            task.result = result.clone();
        })?,
        BoardEvent::ReviewAssigned { task, agent } => {
            state.change(*task, stamp, |task| task.reviewer = Some(agent.clone()))?;
        }
        BoardEvent::TaskReviewed { task, verdict, comment, remembered } => state.change(*task, stamp, |task| {
            task.reviewed_by = Some(stamp.principal.into());
            task.review_verdict = Some(*verdict);
            task.review_comment = comment.clone();
            if let Some(kind) = SetbackKind::of(*verdict).filter(|_| *remembered) {
                task.set_back(kind, comment.clone(), stamp);
            }
            match verdict {
                ReviewVerdict::Approved => complete(task, stamp),
                ReviewVerdict::NeedsRework if task.claim.is_some() => {
                    task.status = TaskStatus::InProgress;
                    task.attempt = task.attempt.saturating_add(1);
                    task.started_at = Some(stamp.at);
                    task.rework = true;
                }
                ReviewVerdict::NeedsRework => task.give_back(),
                ReviewVerdict::Rejected => fail(task, comment.clone().unwrap_or_else(|| "rejected in review".into())),
            }
        })?,
        BoardEvent::TaskFailed { task, reason, remembered } => state.change(*task, stamp, |task| {
            if *remembered {
                task.set_back(SetbackKind::Failed, Some(reason.clone()), stamp);
            }
            fail(task, reason.clone());
        })?,
        BoardEvent::TaskRetried { task, not_before, by_hand } => state.change(*task, stamp, |task| {
            task.give_back();
            task.not_before = *not_before;
            if *by_hand {
                task.failures = 0;
            }
        })?,
        BoardEvent::RetryDue { task } => state.change(*task, stamp, |task| task.not_before = None)?,
        BoardEvent::TaskCancelled { task, cancellation } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::Cancelled;
            task.claim = None;
            task.not_before = None;
            task.blocked_reason = None;
            task.cancellation = Some(cancellation.clone());
        })?,
        BoardEvent::DecisionRecorded { id, decision } => state.add_decision(*id, decision, stamp)?,
        BoardEvent::DiscoveryRecorded { id, discovery } => state.add_discovery(*id, discovery, stamp)?,
        BoardEvent::ArtifactRecorded { id, artifact } => state.add_artifact(*id, artifact, stamp)?,
        BoardEvent::ChoiceAdded { id, choice } => state.add_choice(*id, choice, stamp)?,
        BoardEvent::BranchChosen { choice, option, rationale } => {
            state.change_choice(*choice, |choice| {
                choice.chosen = Some(option.clone());
                choice.chosen_by = Some(stamp.principal.into());
                choice.chosen_at = Some(stamp.at);
                choice.rationale = rationale.clone();
                choice.version = stamp.rev;
                choice.updated_at = stamp.at;
            })?;
        }
        BoardEvent::OrchestratorAcquired { agent, epoch, deadline, lease } => {
            let (epoch, deadline, lease) = (*epoch, *deadline, *lease);
            state.orchestrator_epoch = epoch;
            state.set_orchestrator(Some(Lease { holder: agent.clone(), epoch, deadline, lease }));
        }
        BoardEvent::OrchestratorRenewed { deadline } => {
            let lease = state.orchestrator.clone().ok_or_else(|| misfit("nobody is the orchestrator"))?;
            state.set_orchestrator(Some(Lease { deadline: *deadline, ..lease }));
        }
        BoardEvent::OrchestratorReleased | BoardEvent::OrchestratorExpired => state.set_orchestrator(None),
        BoardEvent::DecisionJudged { id, decision, verdict, comment } => {
            let (created_by, created_at) = (stamp.principal.into(), stamp.at);
            let (id, decision, verdict, comment) = (*id, *decision, *verdict, comment.clone());
            let updated_at = created_at;
            state.judge(Approval { id, decision, created_by, created_at, updated_at, verdict, comment }, stamp)?;
        }
        BoardEvent::NudgeSent { id, nudge } => state.add_nudge(*id, nudge, stamp)?,
        BoardEvent::NudgeDelivered { nudge, agent } => state.change_nudge(*nudge, stamp, |nudge| {
            nudge.delivered.push(Receipt { agent: agent.clone(), at: stamp.at });
        })?,
        BoardEvent::NudgeAcknowledged { nudge, agent } => state.change_nudge(*nudge, stamp, |nudge| {
            nudge.acknowledged.push(Receipt { agent: agent.clone(), at: stamp.at });
        })?,
        BoardEvent::NudgeExpired { nudge } => state.change_nudge(*nudge, stamp, |nudge| nudge.expired = true)?,
        BoardEvent::Paused { reason } => state.change_info(stamp, |info| {
            info.paused = Some(Pause { at: stamp.at, by: stamp.principal.into(), reason: reason.clone() });
        })?,
        BoardEvent::Resumed => state.resume(stamp)?,
        BoardEvent::Ended { status, outcome, reason } => {
            state.set_orchestrator(None);
            state.change_info(stamp, |info| {
                info.status = *status;
                info.paused = None;
                info.outcome = Some(*outcome);
                info.ended_at = Some(stamp.at);
                info.reason = reason.clone();
            })?;
        }
        BoardEvent::Archived { retain_until } => state.change_info(stamp, |info| {
            info.archive(*retain_until, stamp);
        })?,
        BoardEvent::Discarded { reason } => state.change_info(stamp, |info| {
            info.archive(stamp.at, stamp);
            info.waived = Some(Waiver { by: stamp.principal.into(), at: stamp.at, reason: reason.clone() });
        })?,
        BoardEvent::Purged => state.change_info(stamp, |info| info.status = BoardStatus::Purged)?,
        BoardEvent::LearningsExtracted { candidates } => state.change_info(stamp, |info| {
            let (at, by, candidates) = (stamp.at, stamp.principal.into(), *candidates);
            info.learnings_extracted = Some(Extraction { at, by, candidates });
        })?,
        BoardEvent::PromotionBegun { .. }
        | BoardEvent::LearningPromoted { .. }
        | BoardEvent::PromotionRefused { .. }
        | BoardEvent::PromotionAbandoned { .. }
        | BoardEvent::LearningRefused { .. }
        | BoardEvent::RollBackBegun { .. }
        | BoardEvent::LearningsRolledBack { .. } => state.apply_learning(event, stamp)?,
        BoardEvent::RecordForgotten { id, fields } => state.forget_record(id, fields, stamp)?,
        BoardEvent::Forked { image, from } => {
            if state.info.is_some() {
                return Err(misfit("the board already exists"));
            }
            let mut forked = BoardState::from(image.renewed(stamp));
            forked.change_info(stamp, |info| {
                info.status = BoardStatus::Active;
                info.outcome = None;
                info.ended_at = None;
                info.reason = None;
                info.forked_from = Some(from.clone());
                info.created_at = stamp.at;
                info.created_by = stamp.principal.into();
            })?;
            *state = forked;
        }
    }
    Ok(())
}

fn complete(task: &mut Task, stamp: Stamp<'_>) {
    task.status = TaskStatus::Completed;
    task.completed_at = Some(stamp.at);
    task.claim = None;
    task.failure = None;
}

fn fail(task: &mut Task, reason: Arc<str>) {
    task.status = TaskStatus::Failed;
    task.claim = None;
    task.not_before = None;
    task.blocked_reason = None;
    task.failure = Some(reason);
    task.failures = task.failures.saturating_add(1);
}
