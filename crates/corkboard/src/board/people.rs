//! Operations of people on a board: nudge agents, approve or reject decisions, pause the work.

use std::sync::Arc;

use corkboard_core::board::{
    ApprovalId, ApprovalVerdict, BoardAction, BoardCommand, BoardReply, DecisionId, NewDecision, NewNudge, Nudge,
    NudgeId,
};

use super::{Board, BoardView, expect_reply, unexpected};
use crate::{Error, Result, context};

impl Board {
    /// Sends a nudge to an agent, to the orchestrator or to everyone who works on the board. Recipients see it in their
    /// context and in [`Board::receive_nudges`] until they acknowledge it. The board's log records each delivery.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// use corkboard::boards::{NewBoard, NewNudge, NudgePriority, NudgeTarget};
    /// use corkboard::{Actor, ActorKind, Corkboard, Role};
    ///
    /// let corkboard = Corkboard::open("memory:").await?;
    /// let board = corkboard.create_board(NewBoard { name: "Release".into(), ..NewBoard::default() }).await?;
    /// let (to, priority) = (NudgeTarget::All, NudgePriority::Urgent);
    /// board.send_nudge(NewNudge { to, message: "Mind the budget".into(), priority, expires_at: None }).await?;
    ///
    /// let ann = Actor::new("ann", ActorKind::Agent, Role::Worker);
    /// let ann = board.acting_as(ann);
    /// let told = ann.receive_nudges().await?;
    /// assert_eq!(&*told[0].message, "Mind the budget");
    /// ann.acknowledge(&[told[0].id]).await?;
    /// assert!(ann.receive_nudges().await?.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn send_nudge(&self, nudge: NewNudge) -> Result<NudgeId> {
        expect_reply!(self.ask(BoardCommand::SendNudge(nudge)).await?, BoardReply::Nudge(id) => id)
    }

    /// Returns the unacknowledged nudges to this handle's actor, urgent ones first, and records their delivery. Refused
    /// if the actor's role cannot read nudges.
    pub async fn receive_nudges(&self) -> Result<Vec<Arc<Nudge>>> {
        self.nudges_fitting(<[_]>::len).await
    }

    /// Returns the same nudges as [`Board::receive_nudges`], but writes nothing: they do not count as delivered.
    pub async fn preview_nudges(&self) -> Result<Vec<Arc<Nudge>>> {
        Ok(self.told(&self.view().await?))
    }

    /// Returns and delivers the first nudges, as many as `fit` says.
    pub(crate) async fn nudges_fitting(&self, fit: impl FnOnce(&[Arc<Nudge>]) -> usize) -> Result<Vec<Arc<Nudge>>> {
        BoardAction::HearNudges.check(&self.actor)?;
        let mut told = self.told(&self.view().await?);
        told.truncate(fit(&told));
        self.delivered(&told).await?;
        Ok(told)
    }

    /// Acknowledges nudges for this handle's actor: all of them, or none. Returns the newly acknowledged ones.
    pub async fn acknowledge(&self, nudges: &[NudgeId]) -> Result<Vec<NudgeId>> {
        expect_reply!(self.ask(BoardCommand::AcknowledgeNudges { nudges: nudges.to_vec() }).await?, BoardReply::Nudges(acknowledged) => acknowledged)
    }

    /// Approves a decision. Tasks that wait for it can proceed.
    pub async fn approve(&self, decision: DecisionId, comment: Option<String>) -> Result<ApprovalId> {
        self.judge(decision, ApprovalVerdict::Approved, comment).await
    }

    /// Rejects a decision, which makes it invalid. Tasks that wait for it can proceed without it.
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

    /// Supersedes a decision with a new one; both are kept. Authors can supersede their own decisions, those who run
    /// the board any. Only a person can supersede an irreversible decision, with [`NewDecision::force`].
    pub async fn supersede(&self, old: DecisionId, decision: NewDecision) -> Result<DecisionId> {
        self.record_decision(NewDecision { supersedes: Some(old), ..decision }).await
    }

    /// Pauses the board: no task can be started, and nothing expires. Holders can finish their tasks.
    pub async fn pause(&self, reason: Option<String>) -> Result<()> {
        self.ask(BoardCommand::Pause { reason }).await.map(|_| ())
    }

    /// Resumes a paused board. Every deadline moves by the length of the pause.
    pub async fn resume(&self) -> Result<()> {
        self.ask(BoardCommand::Resume).await.map(|_| ())
    }

    /// The unacknowledged nudges to this handle's actor.
    pub(crate) fn told(&self, view: &BoardView) -> Vec<Arc<Nudge>> {
        view.state().nudges_for(&self.actor.principal, self.actor.role).into_iter().cloned().collect()
    }

    /// Records that the actor read these nudges.
    pub(crate) async fn delivered(&self, told: &[Arc<Nudge>]) -> Result<()> {
        let new = told.iter().filter(|nudge| !nudge.is_delivered_to(&self.actor.principal));
        let nudges: Vec<NudgeId> = new.map(|nudge| nudge.id).collect();
        let at_once = usize::try_from(self.options().limits.lines_per_list).unwrap_or(usize::MAX).max(1);
        // Reading has no conditions: the handle's conditions apply to its writes.
        let board = self.unconditional();
        for nudges in nudges.chunks(at_once) {
            match board.ask(BoardCommand::DeliverNudges { nudges: nudges.to_vec() }).await {
                // The actor has read the nudge even if it is no longer addressed to them or the board ended meanwhile.
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Records that the actor read those nudges that the text shows in full. Some may be missing or cut off for lack of
    /// space.
    pub(crate) async fn shown(&self, told: &[Arc<Nudge>], text: &str) -> Result<()> {
        let shown: Vec<Arc<Nudge>> = told.iter().filter(|nudge| context::shows(text, nudge)).cloned().collect();
        self.delivered(&shown).await
    }
}
