//! Nudges, approvals, pauses and permissions.

use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;

use super::super::id::next_id;
use super::super::{
    ApprovalVerdict, BoardAction, BoardEvent, BoardReply, DecisionId, NewNudge, Nudge, NudgeId, NudgeTarget, TaskId,
};
use super::{BoardDecider, ReplyResult, not_on_board};
use crate::id::check_visible;
use crate::{ActorKind, AgentId, Refusal};

impl BoardDecider<'_> {
    /// Refuses an actor whose role does not allow the action.
    pub(super) fn check_role(&self, action: BoardAction) -> Result<(), Refusal> {
        action.check(self.context.actor)
    }

    /// The clock for leases and retry delays. It stops while the board is paused.
    pub(super) fn clock(&self) -> Timestamp {
        self.state.clock(self.context.now)
    }

    pub(super) fn check_running(&self) -> Result<(), Refusal> {
        match &self.info()?.paused {
            Some(pause) => Err(Refusal::Paused { by: pause.by.to_string(), at: pause.at }),
            None => Ok(()),
        }
    }

    pub(super) fn pause(&mut self, reason: Option<&str>) -> ReplyResult {
        self.check_comment(reason)?;
        if self.info()?.paused.is_none() {
            self.push(BoardEvent::Paused { reason: reason.map(Into::into) });
        }
        Ok(BoardReply::Done)
    }

    pub(super) fn resume(&mut self) -> ReplyResult {
        if self.info()?.paused.is_some() {
            self.push(BoardEvent::Resumed);
        }
        Ok(BoardReply::Done)
    }

    pub(super) fn send_nudge(&mut self, nudge: &NewNudge) -> ReplyResult {
        if let NudgeTarget::Agent(agent) = &nudge.to {
            AgentId::check(agent.as_str(), self.limits())?;
            check_visible("agent ID", agent.as_str())?;
        }
        self.check_text("message", &nudge.message)?;
        if nudge.expires_at.is_some_and(|at| at <= self.context.now) {
            return Err(Refusal::Expiry { reason: "it must be in the future".into() });
        }
        let id = next_id(&self.state.nudges);
        self.push(BoardEvent::NudgeSent { id, nudge: nudge.clone().into() });
        Ok(BoardReply::Nudge(id))
    }

    /// Records each delivery once per reader.
    pub(super) fn deliver_nudges(&mut self, nudges: &[NudgeId]) -> ReplyResult {
        self.check_count(nudges.len())?;
        for id in nudges {
            self.check_target(*id)?;
        }
        let mut delivered = Vec::new();
        for id in nudges {
            if self.deliver(*id)? {
                delivered.push(*id);
            }
        }
        Ok(BoardReply::Nudges(delivered))
    }

    pub(super) fn acknowledge_nudges(&mut self, nudges: &[NudgeId]) -> ReplyResult {
        self.check_count(nudges.len())?;
        for id in nudges {
            self.check_target(*id)?;
        }
        let mut acknowledged = Vec::new();
        for id in nudges {
            // Acknowledging a nudge implies having read it.
            self.deliver(*id)?;
            let by = self.context.actor.principal.as_str();
            if !self.nudge(*id)?.is_acknowledged_by(by) {
                self.push(BoardEvent::NudgeAcknowledged { nudge: *id, agent: by.into() });
                acknowledged.push(*id);
            }
        }
        Ok(BoardReply::Nudges(acknowledged))
    }

    fn deliver(&mut self, id: NudgeId) -> Result<bool, Refusal> {
        let to = self.context.actor.principal.as_str();
        let is_new = !self.nudge(id)?.is_delivered_to(to);
        if is_new {
            self.push(BoardEvent::NudgeDelivered { nudge: id, agent: to.into() });
        }
        Ok(is_new)
    }

    /// Refuses to complete a task while its holder has unread urgent nudges.
    pub(super) fn check_nudges_delivered(&self, task: TaskId) -> Result<(), Refusal> {
        let actor = self.context.actor;
        let waits = |nudge: &&Arc<Nudge>| nudge.waits_undelivered(&actor.principal);
        let nudges = self.state.nudges_for(&actor.principal, actor.role).into_iter().filter(waits);
        let nudges: Vec<NudgeId> = nudges.map(|nudge| nudge.id).collect();
        if nudges.is_empty() { Ok(()) } else { Err(Refusal::UrgentNudges { task, nudges }) }
    }

    fn nudge(&self, id: NudgeId) -> Result<&Nudge, Refusal> {
        self.state.nudge(id).ok_or_else(|| not_on_board("nudge", id))
    }

    fn check_target(&self, id: NudgeId) -> Result<(), Refusal> {
        let (nudge, actor) = (self.nudge(id)?, self.context.actor);
        // An actor that received the nudge may acknowledge it, even after losing the role.
        if nudge.is_delivered_to(&actor.principal) || self.state.is_target(nudge, &actor.principal, actor.role) {
            return Ok(());
        }
        Err(Refusal::NotForYou { nudge: id, to: nudge.to.to_string() })
    }

    pub(super) fn judge(&mut self, id: DecisionId, verdict: ApprovalVerdict, comment: Option<&str>) -> ReplyResult {
        self.check_comment(comment)?;
        let decision = self.state.decision(id).ok_or_else(|| not_on_board("decision", id))?;
        if decision.superseded_by.is_some() {
            return Err(self.superseded(id));
        }
        let last = self.state.approvals().rev().find(|approval| approval.decision == id);
        let is_same = |by: &str, said: ApprovalVerdict| by == self.context.actor.principal && said == verdict;
        if let Some(last) = last.filter(|last| is_same(&last.created_by, last.verdict) && comment.is_none()) {
            return Ok(BoardReply::Approval(last.id));
        }
        let approval = next_id(&self.state.approvals);
        let comment = comment.map(Into::into);
        self.push(BoardEvent::DecisionJudged { id: approval, decision: id, verdict, comment });
        Ok(BoardReply::Approval(approval))
    }

    /// A decision may be replaced by its author and by actors that run the board. Only a person may replace an
    /// irreversible one, with `force`.
    pub(super) fn check_may_supersede(&self, id: DecisionId, force: bool) -> Result<(), Refusal> {
        let old = self.state.decision(id).ok_or_else(|| not_on_board("decision", id))?;
        let actor = self.context.actor;
        if *old.created_by != *actor.principal && !BoardAction::Supersede.is_allowed_to(actor.role) {
            return Err(Refusal::NotAuthor { decision: id, author: old.created_by.to_string() });
        }
        let is_forced = force && actor.kind == ActorKind::Human;
        if !old.reversible && !is_forced {
            return Err(Refusal::Irreversible { decision: id });
        }
        match old.superseded_by {
            Some(_) => Err(self.superseded(id)),
            None => Ok(()),
        }
    }

    /// The refusal for a replaced decision. It names the last one in the chain of replacements.
    fn superseded(&self, decision: DecisionId) -> Refusal {
        let next = |id: &DecisionId| self.state.decision(*id)?.superseded_by.filter(|by| by > id);
        let by = core::iter::successors(Some(decision), next).last().unwrap_or(decision);
        Refusal::Superseded { decision, by }
    }

    /// A task cannot be completed while a decision that it waits for is neither approved nor rejected.
    pub(super) fn check_approved(&self, task: TaskId) -> Result<(), Refusal> {
        let decisions: Vec<DecisionId> = self.state.awaits(task).collect();
        if decisions.is_empty() { Ok(()) } else { Err(Refusal::AwaitsApproval { task, decisions }) }
    }
}
