//! What people do on a board: they say something to those who work, approve or reject decisions, and pause the work.

use std::sync::Arc;

use corkboard_core::board::{
    ApprovalId, ApprovalVerdict, BoardAction, BoardCommand, BoardReply, DecisionId, NewDecision, NewNudge, Nudge,
    NudgeId,
};

use super::{Board, BoardView, expect_reply, unexpected};
use crate::{Error, Result, context};

impl Board {
    /// Says something to an agent, to the orchestrator or to all who work on the board. It is shown to each of them, in their
    /// context and by [`Board::nudges_for`], until they acknowledge it; that it was read is proved by the board's log.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// use corkboard::boards::{NewBoard, NewNudge, NudgePriority, NudgeTarget};
    /// use corkboard::{Actor, ActorKind, Corkboard, Role};
    ///
    /// let corkboard = Corkboard::open("memory:").await?;
    /// let board = corkboard.create_board(NewBoard { name: "Release".into(), ..NewBoard::default() }).await?;
    /// let (to, priority) = (NudgeTarget::All, NudgePriority::Urgent);
    /// board.inject_nudge(NewNudge { to, message: "Mind the budget".into(), priority, expires_at: None }).await?;
    ///
    /// let ann = Actor::new("ann", ActorKind::Agent, Role::Worker);
    /// let ann = board.acting_as(ann);
    /// let told = ann.nudges_for().await?;
    /// assert_eq!(&*told[0].message, "Mind the budget");
    /// ann.acknowledge(&[told[0].id]).await?;
    /// assert!(ann.nudges_for().await?.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn inject_nudge(&self, nudge: NewNudge) -> Result<NudgeId> {
        expect_reply!(self.ask(BoardCommand::InjectNudge(nudge)).await?, BoardReply::Nudge(id) => id)
    }

    /// What is said to this handle's actor and not acknowledged: the urgent first, then in order. That they read it is
    /// written down. Whoever may not read nudges in their role is told so.
    pub async fn nudges_for(&self) -> Result<Vec<Arc<Nudge>>> {
        self.nudges_fitting(<[_]>::len).await
    }

    /// What [`Board::nudges_for`] would tell: nothing counts as read, and nothing is written.
    pub async fn preview_nudges(&self) -> Result<Vec<Arc<Nudge>>> {
        Ok(self.told(&self.view().await?))
    }

    /// The first of them: as many as are said to fit.
    pub(crate) async fn nudges_fitting(&self, fit: impl FnOnce(&[Arc<Nudge>]) -> usize) -> Result<Vec<Arc<Nudge>>> {
        BoardAction::HearNudges.check(&self.actor)?;
        let mut told = self.told(&self.view().await?);
        told.truncate(fit(&told));
        self.delivered(&told).await?;
        Ok(told)
    }

    /// Says that this handle's actor heeds what was said to them: all of these, or none. Returns those for which that is new.
    pub async fn acknowledge(&self, nudges: &[NudgeId]) -> Result<Vec<NudgeId>> {
        expect_reply!(self.ask(BoardCommand::AcknowledgeNudges { nudges: nudges.to_vec() }).await?, BoardReply::Nudges(acknowledged) => acknowledged)
    }

    /// Approves a decision. What waits for it may go on.
    pub async fn approve(&self, decision: DecisionId, comment: Option<String>) -> Result<ApprovalId> {
        self.judge(decision, ApprovalVerdict::Approved, comment).await
    }

    /// Rejects a decision: it does not hold. What waits for it may go on without it.
    pub async fn reject(&self, decision: DecisionId, comment: Option<String>) -> Result<ApprovalId> {
        self.judge(decision, ApprovalVerdict::Rejected, comment).await
    }

    async fn judge(
        &self,
        decision: DecisionId,
        verdict: ApprovalVerdict,
        comment: Option<String>,
    ) -> Result<ApprovalId> {
        expect_reply!(self.ask(BoardCommand::Judge { decision, verdict, comment }).await?, BoardReply::Approval(id) => id)
    }

    /// Replaces a decision by another: one's own, or anyone's if the actor runs the board. Both are kept; the new one holds.
    /// An irreversible decision is replaced only by a person, with [`NewDecision::force`].
    pub async fn supersede(&self, old: DecisionId, decision: NewDecision) -> Result<DecisionId> {
        self.record_decision(NewDecision { supersedes: Some(old), ..decision }).await
    }

    /// Pauses the board: nobody begins a task, and nothing expires. Whoever holds a task may finish it.
    pub async fn pause(&self, reason: Option<String>) -> Result<()> {
        self.ask(BoardCommand::Pause { reason }).await.map(|_| ())
    }

    /// Lets a paused board go on: every deadline moves by the length of the pause.
    pub async fn resume(&self) -> Result<()> {
        self.ask(BoardCommand::Resume).await.map(|_| ())
    }

    /// What a view has to tell this handle's actor.
    pub(crate) fn told(&self, view: &BoardView) -> Vec<Arc<Nudge>> {
        view.state().nudges_for(&self.actor.principal, self.actor.role).into_iter().cloned().collect()
    }

    /// Writes down that the actor read these.
    pub(crate) async fn delivered(&self, told: &[Arc<Nudge>]) -> Result<()> {
        let new = told.iter().filter(|nudge| !nudge.is_delivered_to(&self.actor.principal));
        let nudges: Vec<NudgeId> = new.map(|nudge| nudge.id).collect();
        let at_once = usize::try_from(self.options().limits.lines_per_list).unwrap_or(usize::MAX).max(1);
        // Reading has no conditions: those of the handle are for what is written by it.
        let board = self.unconditional();
        for nudges in nudges.chunks(at_once) {
            match board.ask(BoardCommand::DeliverNudges { nudges: nudges.to_vec() }).await {
                // Whoever is not addressed any more, or reads what ended meanwhile, has read it all the same.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes down that the actor read what a text shows of these: where room was short, not all, nor what was cut.
    pub(crate) async fn shown(&self, told: &[Arc<Nudge>], text: &str) -> Result<()> {
        let shown: Vec<Arc<Nudge>> = told.iter().filter(|nudge| context::shows(text, nudge)).cloned().collect();
        self.delivered(&shown).await
    }
}
