//! Checks entries that claim to come from a promotion.

use corkboard_core::board::LearningStatus;
use corkboard_core::knowledge::{CoreCommand, NewCoreEntry};
use corkboard_core::{BoardId, CoreId, Refusal};

use crate::{Corkboard, Result};

impl Corkboard {
    /// Refuses an entry that names a promotion, unless its board has begun that promotion with that text for this core.
    /// A core accepts each promotion once, so a forged entry would keep out the real one.
    pub(crate) async fn check_promotion(&self, core: &CoreId, command: &CoreCommand) -> Result<()> {
        let (CoreCommand::Add { entries } | CoreCommand::Exchange { add: entries, .. }) = command else {
            return Ok(());
        };
        for new in entries {
            let Some(board_rev) = new.board_rev else { continue };
            let is_begun = match &new.board {
                Some(board) => self.has_begun(board, board_rev, core, new).await?,
                None => false,
            };
            // A late repeat of a promotion that has arrived already adds nothing.
            if !is_begun && !self.has_come(core, new).await? {
                let item = new.item.clone().unwrap_or_default();
                return Err(Refusal::NoPromotion { item, board_rev }.into());
            }
        }
        Ok(())
    }

    async fn has_begun(&self, board: &BoardId, board_rev: u64, core: &CoreId, new: &NewCoreEntry) -> Result<bool> {
        let entry = NewCoreEntry { board: None, board_rev: None, ..new.clone() };
        let open = self.board_of(board.clone()).view().await?.state().open_learnings();
        Ok(open.iter().any(|verdict| match &verdict.status {
            LearningStatus::Begun(begun) => (begun.begun_rev, &begun.core, &begun.entry) == (board_rev, core, &entry),
            _ => false,
        }))
    }

    async fn has_come(&self, core: &CoreId, new: &NewCoreEntry) -> Result<bool> {
        let current = self.core_of(core.clone()).current().await?.0;
        let mut origins = current.state.entries().values().flat_map(|entry| &entry.provenance);
        let mark = (&new.board, new.item.as_deref(), new.board_rev);
        Ok(origins.any(|origin| (&origin.board, origin.item.as_deref(), origin.board_rev) == mark))
    }
}
