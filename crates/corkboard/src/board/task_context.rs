//! The context of a task, for the agent that works on it.

use corkboard_core::board::TaskId;

use super::{Board, BoardView};
use crate::context::{self, Composition, LEAST_BUDGET};
use crate::{Error, Result};

impl Board {
    /// Composes the context for working on a task within a token budget (default:
    /// [`Options::context_tokens`](crate::Options::context_tokens)). It contains the board's goal and constraints,
    /// knowledge from its memory cores, valid decisions, relevant discoveries, results and artifacts of the task's
    /// dependencies, and the board's progress.
    ///
    /// The same content gives the same bytes, and content that seldom changes comes first. If the task's holder reads
    /// it with less than half of the lease left, the claim is renewed. The reader's unacknowledged nudges come last and
    /// are recorded as delivered.
    pub async fn context_for_task(&self, task: TaskId, budget: Option<u64>) -> Result<Composition> {
        self.context_of_bytes(task, budget, usize::MAX).await
    }

    /// Like [`Board::context_for_task`], limited to `most` bytes: a nudge that was cut off would not have been read.
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

    /// Composes the same text as [`Board::context_for_task`], but writes nothing: nudges do not count as delivered.
    pub async fn preview_for_task(&self, task: TaskId, budget: Option<u64>) -> Result<Composition> {
        let budget = budget.unwrap_or(self.options().context_tokens.max(LEAST_BUDGET));
        let view = self.view().await?;
        let knowledge = self.knowledge(&view, Some(task)).await?;
        context::for_task(&view, task, (&self.told(&view), &knowledge), budget)
    }

    /// The board for the reader of a task. If the reader holds the task, this counts as a heartbeat.
    pub(crate) async fn view_for(&self, id: TaskId) -> Result<BoardView> {
        let view = self.view().await?;
        let claim = view.task(id)?.claim.as_ref().filter(|claim| claim.holder.as_str() == self.actor.principal);
        if claim.is_none_or(|claim| claim.renewed(view.at()).is_none()) {
            return Ok(view);
        }
        match self.heartbeat(id, None).await {
            // The reader may have lost the task meanwhile, or the board may have ended: it can be read all the same.
            Ok(_) | Err(Error::Refused(_)) => self.view().await,
            Err(error) => Err(error),
        }
    }
}
