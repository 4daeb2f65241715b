//! What was begun with a memory core is finished, by whoever meets it, once.
//!
//! Whoever finishes asks the core for its revision first and the board second, and writes to the core only if it is still at
//! that revision. So nothing is added or withdrawn on account of something that others have finished and perhaps undone
//! since: that has moved the core. What a promotion brings in carries the board's revision in which it was begun, by which the
//! core takes it once, for ever. What takes something out has an idempotency key, and such a withdrawal moves the core even
//! where there is nothing to take (`CoreState::is_always_remembered`): whoever wants to put it in late finds the core moved.

use std::collections::BTreeSet;
use std::sync::Arc;

use corkboard_core::board::{
    BoardCommand, BoardState, LearningId, LearningState, LearningVerdict, Promotion, RollBack,
};
use corkboard_core::knowledge::{CoreEntryId, CoreState, NewCoreEntry, Withdrawal};
use corkboard_core::{Actor, BoardId, Head, Refusal};
use jiff::Timestamp;

use super::{ATTEMPTS, warn_unfinished};
use crate::{Board, Corkboard, Error, Result};

impl Corkboard {
    /// Finishes what was begun with memory cores on these boards, where whoever began it has had the time to.
    pub(crate) async fn finish_learnings(&self, boards: impl Iterator<Item = BoardId>) {
        for id in boards {
            let board = self.board_of(id);
            warn_unfinished(&board, board.finish_due_learnings().await);
        }
    }
}

impl Board {
    /// Finishes everything that was begun with a memory core.
    pub(crate) async fn finish_open_learnings(&self) -> Result<()> {
        self.finish_learnings(|_| true).await
    }

    /// Where the board is when nothing is on its way into a core or out of it. None if there is no board, or that cannot be
    /// had: whoever deletes a board does not let something come into a core that no board knows of.
    pub(in super::super) async fn settled_head(&self) -> Option<Head> {
        for _ in 0..ATTEMPTS {
            if let Err(error) = self.finish_open_learnings().await {
                warn_unfinished(self, Err(error));
                return None;
            }
            let current = self.engine.current(&self.slot).await.ok()?;
            current.state.info()?;
            if !current.state.has_open_promotion() {
                return Some(current.head);
            }
        }
        None
    }

    /// The same, but leaves alone what was begun just now.
    async fn finish_due_learnings(&self) -> Result<()> {
        let now = self.engine.now_in(&self.slot);
        let is_due = |since: Timestamp| now.duration_since(since) >= BoardState::LEARNING_PATIENCE;
        self.finish_learnings(|verdict| verdict.state.open_since().is_some_and(is_due)).await
    }

    /// Finishes those that are meant. What cannot be finished does not keep the others from it; the first error is returned.
    pub(super) async fn finish_learnings(&self, is_meant: impl Fn(&LearningVerdict) -> bool) -> Result<()> {
        let open = self.engine.current(&self.slot).await?.state.open_learnings();
        let (mut finished, mut revs) = (Ok(()), BTreeSet::new());
        for verdict in open.iter().filter(|verdict| is_meant(verdict)) {
            let result = match &verdict.state {
                LearningState::Begun(promotion) => self.finish_promotion(&verdict.id, promotion).await,
                LearningState::RollingBack(roll_back) if revs.insert(roll_back.begun_rev) => {
                    self.finish_roll_back(&open, roll_back.begun_rev).await
                }
                _ => Ok(()),
            };
            finished = finished.and(result);
        }
        finished
    }

    /// All that one command rolls back is said in one revision, once all of it is out.
    async fn finish_roll_back(&self, open: &[Arc<LearningVerdict>], begun_rev: u64) -> Result<()> {
        for verdict in open {
            if let LearningState::RollingBack(roll_back) = &verdict.state
                && roll_back.begun_rev == begun_rev
            {
                self.withdraw_learning(&verdict.id, roll_back).await?;
            }
        }
        self.as_system().ask(BoardCommand::FinishRollBack { begun_rev }).await.map(|_| ())
    }

    async fn finish_promotion(&self, learning: &LearningId, begun: &Promotion) -> Result<()> {
        let core = self.core_of(begun.core.clone()).acting_as(begun.by.clone());
        let (board, board_rev) = (Some(self.id.clone()), Some(begun.begun_rev));
        let entry = NewCoreEntry { board, board_rev, ..begun.entry.clone() };
        loop {
            let rev = core.current().await?.0.head.rev;
            match self.current_promotion(learning, begun).await? {
                None => return Ok(()),
                Some(promotion) if promotion.refused.is_some() => {
                    return self.finish_abandonment(learning, begun).await;
                }
                Some(_) => {}
            }
            match core.if_rev(rev).promote(entry.clone()).await {
                Ok(added) => return self.say_promoted(learning, begun, added.id).await,
                Err(Error::Refused(Refusal::RevConflict { .. })) => {}
                Err(Error::Refused(refusal)) => {
                    self.abandon_promotion(learning, begun, &refusal).await?;
                    return Err(refusal.into());
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn say_promoted(&self, learning: &LearningId, begun: &Promotion, entry: CoreEntryId) -> Result<()> {
        let command = BoardCommand::FinishPromotion { learning: learning.clone(), begun_rev: begun.begun_rev, entry };
        match self.as_system().ask(command).await {
            // Given up by another, whom the core refused what it took from us.
            Err(Error::Refused(Refusal::PromotionOver { .. })) => self.finish_abandonment(learning, begun).await,
            answer => answer.map(|_| ()),
        }
    }

    /// Gives up what the core did not take. Another may be about to get it in, or has: that it is given up is said first, and
    /// is open until the core has moved and holds nothing of it.
    async fn abandon_promotion(&self, learning: &LearningId, begun: &Promotion, refusal: &Refusal) -> Result<()> {
        let (begun_rev, reason) = (begun.begun_rev, refusal.to_string());
        let command = BoardCommand::AbandonPromotion { learning: learning.clone(), begun_rev, reason };
        self.as_system().ask(command).await?;
        self.finish_abandonment(learning, begun).await
    }

    /// What was refused once is never finished any more, so that taking out what came in by it is right at any revision.
    async fn finish_abandonment(&self, learning: &LearningId, begun: &Promotion) -> Result<()> {
        if self.current_promotion(learning, begun).await?.is_none_or(|promotion| promotion.refused.is_none()) {
            return Ok(());
        }
        let (board, item, begun_rev) = (self.id.clone(), learning.to_string(), begun.begun_rev);
        let core = self.as_system().core_of(begun.core.clone());
        let core = core.idempotency_key(self.step_key("back", learning, begun_rev));
        core.withdraw(Withdrawal::Promotion { board, item, board_rev: begun_rev }).await?;
        let command = BoardCommand::FinishAbandonment { learning: learning.clone(), begun_rev };
        self.as_system().ask(command).await.map(|_| ())
    }

    async fn withdraw_learning(&self, learning: &LearningId, begun: &RollBack) -> Result<()> {
        let key = self.step_key("out", learning, begun.begun_rev);
        let core = self.core_of(begun.core.clone()).acting_as(begun.by.clone());
        loop {
            let current = core.current().await?.0;
            match self.current_learning(learning).await? {
                LearningState::RollingBack(roll_back) if roll_back.begun_rev == begun.begun_rev => {}
                _ => return Ok(()),
            }
            // A core that was deleted has nothing to withdraw, and is not made anew for it.
            if is_gone(&current.state) {
                return Ok(());
            }
            match core.if_rev(current.head.rev).idempotency_key(&key).withdraw(self.item(learning)).await {
                Err(Error::Refused(Refusal::RevConflict { .. })) => {}
                answer => return answer.map(|_| ()),
            }
        }
    }

    /// The promotion as the board has it now, if it is still open.
    async fn current_promotion(&self, learning: &LearningId, begun: &Promotion) -> Result<Option<Promotion>> {
        Ok(match self.current_learning(learning).await? {
            LearningState::Begun(promotion) if promotion.begun_rev == begun.begun_rev => Some(promotion),
            _ => None,
        })
    }

    async fn current_learning(&self, learning: &LearningId) -> Result<LearningState> {
        Ok(self.engine.current(&self.slot).await?.state.learning_state(learning))
    }

    fn item(&self, learning: &LearningId) -> Withdrawal {
        Withdrawal::Item { board: self.id.clone(), item: learning.to_string() }
    }

    /// The same board in the name of Corkboard itself, which may finish what anybody began.
    fn as_system(&self) -> Self {
        Self { actor: Actor::system().into(), ..self.unconditional() }
    }

    /// The idempotency key of one step in a core. Ids may be long, and a key may not.
    fn step_key(&self, step: &str, learning: &LearningId, begun_rev: u64) -> String {
        const DIGITS: usize = 32;
        let mut hash = blake3::Hasher::new_derive_key("corkboard step of a learning in a memory core");
        let board = self.id.as_str();
        // With its length, so that no two of them read the same.
        hash.update(&(board.len() as u64).to_le_bytes()).update(board.as_bytes());
        hash.update(&begun_rev.to_le_bytes()).update(learning.to_string().as_bytes());
        let hash = hash.finalize().to_hex();
        format!("learning-{step}-{}", hash.get(..DIGITS).unwrap_or(&hash))
    }
}

/// Whether a core was never written, or was deleted.
fn is_gone(core: &CoreState) -> bool {
    core.entries().is_empty() && core.last() == CoreEntryId::default()
}
