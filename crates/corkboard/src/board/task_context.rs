//! What whoever works on a task is told.

use corkboard_core::board::TaskId;

use super::{Board, BoardView};
use crate::context::{self, Composition, LEAST_BUDGET};
use crate::{Error, Result};

impl Board {
    /// What to tell whoever works on a task, within a budget of tokens (nothing said:
    /// [`Options::context_tokens`](crate::Options::context_tokens)): the board's goal and constraints, what its
    /// memory cores know, the decisions that hold and the discoveries that concern it, what came of those it depends on, what
    /// was made for them, and how far it is.
    ///
    /// The same content gives the same bytes, and what seldom changes comes first. When the holder of the task reads it, the
    /// claim is renewed if less than half of its lease is left. What was said to the reader and is not acknowledged comes last;
    /// that it was read is written down.
    pub async fn context_for_task(&self, task: TaskId, budget: Option<u64>) -> Result<Composition> {
        self.context_of_bytes(task, budget, usize::MAX).await
    }

    /// The same in no more bytes than these: what would be cut off was not read.
    pub(crate) async fn context_of_bytes(&self, task: TaskId, budget: Option<u64>, most: usize) -> Result<Composition> {
        let mut budget = budget.unwrap_or(self.options().context_tokens.max(LEAST_BUDGET));
        let view = self.view_for(task).await?;
        let told = self.told(&view);
        let knowledge = self.knowledge(&view, Some(task)).await?;
        let mut composition = context::for_task(&view, task, (&told, &knowledge), budget)?;
        while composition.text.len() > most && budget > LEAST_BUDGET {
            let fitting = composition.tokens * most as u64 / composition.text.len() as u64;
            budget = (fitting * 9 / 10).clamp(LEAST_BUDGET, budget - 1);
            composition = context::for_task(&view, task, (&told, &knowledge), budget)?;
        }
        self.shown(&told, &composition.text).await?;
        Ok(composition)
    }

    /// What [`Board::context_for_task`] would tell: nobody has read it then, and nothing is written.
    pub async fn preview_for_task(&self, task: TaskId, budget: Option<u64>) -> Result<Composition> {
        let budget = budget.unwrap_or(self.options().context_tokens.max(LEAST_BUDGET));
        let view = self.view().await?;
        let knowledge = self.knowledge(&view, Some(task)).await?;
        context::for_task(&view, task, (&self.told(&view), &knowledge), budget)
    }

    /// The board as whoever works on a task sees it: the holder was heard of.
    pub(crate) async fn view_for(&self, id: TaskId) -> Result<BoardView> {
        let view = self.view().await?;
        let claim = view.task(id)?.claim.as_ref().filter(|claim| claim.holder.as_str() == self.actor.principal);
        if claim.is_none_or(|claim| claim.renewed(view.at()).is_none()) {
            return Ok(view);
        }
        match self.heartbeat(id, None).await {
            // Whoever has lost it meanwhile, or works on a board that has ended, reads all the same.
            Ok(_) | Err(Error::Refused(_)) => self.view().await,
            Err(error) => Err(error),
        }
    }
}
