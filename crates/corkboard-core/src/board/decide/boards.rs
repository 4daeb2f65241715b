//! Creates, edits and ends a board, and manages the orchestrator's role.

use alloc::boxed::Box;
use alloc::string::ToString;
use core::time::Duration;

use super::super::{
    BoardEdit, BoardEvent, BoardOutcome, BoardReply, BoardStatus, CancelCause, Lease, NewBoard, TaskStatus, Unfinished,
};
use super::{BoardDecider, ReplyResult};
use crate::Refusal;
use crate::id::check_visible;

impl BoardDecider<'_> {
    pub(super) fn create(&mut self, board: &NewBoard) -> ReplyResult {
        if self.state.info().is_some() {
            return Err(Refusal::BoardExists);
        }
        self.check_line("board name", &board.name)?;
        check_visible("board name", &board.name)?;
        self.check_length(&board.goal)?;
        self.check_list("constraint", &board.constraints)?;
        self.check_names("memory core", &board.cores)?;
        self.check_drawn(&board.drawn, board.pattern.as_ref(), &board.cores)?;
        self.push(BoardEvent::Created(Box::new(board.clone())));
        Ok(BoardReply::Done)
    }

    pub(super) fn edit(&mut self, edit: &BoardEdit, if_version: Option<u64>) -> ReplyResult {
        let info = self.info()?;
        if let Some(expected) = if_version
            && expected != info.version
        {
            return Err(Refusal::BoardConflict { expected, current: Box::new(info.clone()) });
        }
        if let Some(name) = &edit.name {
            self.check_line("board name", name)?;
            check_visible("board name", name)?;
        }
        self.check_comment(edit.goal.as_deref())?;
        edit.constraints.as_ref().map_or(Ok(()), |list| self.check_list("constraint", list))?;
        edit.cores.as_ref().map_or(Ok(()), |list| self.check_names("memory core", list))?;
        let mut edited = info.clone();
        edited.edit(edit);
        if edit.drawn.is_some() {
            self.check_drawn(&edited.drawn, None, &edited.cores)?;
        }
        if edited != *info {
            self.push(BoardEvent::Edited(Box::new(edit.clone())));
        }
        Ok(BoardReply::Done)
    }

    pub(super) fn complete(&mut self, reason: Option<&str>, unfinished: Unfinished) -> ReplyResult {
        let open = self.state.unfinished();
        if unfinished == Unfinished::Refuse && open > 0 {
            return Err(Refusal::Unfinished { unfinished: open });
        }
        self.end(BoardStatus::Completed, reason)
    }

    pub(super) fn cancel(&mut self, reason: Option<&str>) -> ReplyResult {
        self.end(BoardStatus::Cancelled, reason)
    }

    fn end(&mut self, status: BoardStatus, reason: Option<&str>) -> ReplyResult {
        self.check_comment(reason)?;
        self.cancel_unfinished(CancelCause::BoardEnded, None);
        let outcome = self.outcome();
        self.push(BoardEvent::Ended { status, outcome, reason: reason.map(Into::into) });
        Ok(BoardReply::Ended { outcome })
    }

    fn outcome(&self) -> BoardOutcome {
        let is_missing = |task: &&super::Task| match task.status {
            TaskStatus::Completed => false,
            TaskStatus::Cancelled => {
                task.cancellation.as_ref().is_none_or(|cancelled| cancelled.cause != CancelCause::BranchNotTaken)
            }
            _ => true,
        };
        if !self.state.tasks().any(|task| is_missing(&task)) {
            BoardOutcome::Success
        } else if self.state.count(TaskStatus::Completed) > 0 {
            BoardOutcome::Partial
        } else {
            BoardOutcome::Failed
        }
    }

    /// A holder that acquires the role again gets a new epoch; the old one is fenced.
    pub(super) fn acquire_orchestrator(&mut self, lease: Duration) -> ReplyResult {
        let lease = self.check_lease(lease)?;
        let agent = self.caller()?;
        if let Some(lease) = self.state.orchestrator()
            && lease.holder != agent
        {
            return Err(Refusal::OrchestratorHeld { holder: lease.holder.clone(), deadline: lease.deadline });
        }
        let epoch = self.state.orchestrator_epoch + 1;
        let deadline = Lease::deadline_from(self.clock(), lease);
        self.push(BoardEvent::OrchestratorAcquired { agent, epoch, deadline, lease });
        Ok(BoardReply::Held { epoch, deadline })
    }

    pub(super) fn renew_orchestrator(&mut self, epoch: u64) -> ReplyResult {
        let lease = self.expect_orchestrator(epoch)?;
        let (deadline, renewed) = (lease.deadline, lease.renewed(self.clock()));
        if let Some(deadline) = renewed {
            self.push(BoardEvent::OrchestratorRenewed { deadline });
        }
        Ok(BoardReply::Held { epoch, deadline: renewed.unwrap_or(deadline) })
    }

    pub(super) fn release_orchestrator(&mut self, epoch: u64) -> ReplyResult {
        self.expect_orchestrator(epoch)?;
        self.push(BoardEvent::OrchestratorReleased);
        Ok(BoardReply::Done)
    }

    fn expect_orchestrator(&self, epoch: u64) -> Result<&Lease, Refusal> {
        let caller = &self.context.actor.principal;
        match self.state.orchestrator() {
            Some(lease) if lease.epoch == epoch && lease.holder.as_str() == caller => Ok(lease),
            lease => Err(Refusal::Fenced {
                what: "orchestrator".to_string(),
                holder: lease.map(|lease| lease.holder.clone()),
                epoch: self.state.orchestrator_epoch,
                sent: Some(epoch),
                status: None,
            }),
        }
    }
}
