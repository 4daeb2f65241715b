//! The end of a board's life: archived, discarded, purged.

use std::time::Duration;

use corkboard_core::board::{BoardCommand, BoardReply, BoardStatus, RetainFor};
use jiff::Timestamp;

use super::orchestrate::milliseconds;
use super::{Board, expect_reply, unexpected};
use crate::Result;

impl Board {
    /// Puts a board that has ended away: it can be read, and nothing on it changes. It is kept at least for so long;
    /// nothing said: for [`Options::board_retention`](crate::Options::board_retention), or for as long as was said before.
    /// Again, with a time: changes it. Returns until when it is kept.
    pub async fn archive(&self, retain: Option<Duration>) -> Result<Timestamp> {
        let retain = match retain {
            Some(retain) => RetainFor::Said { ms: milliseconds(retain) },
            None => RetainFor::Unsaid { ms: milliseconds(self.options().board_retention) },
        };
        self.retained(BoardCommand::Archive { retain }).await
    }

    /// Puts a board that has ended away, gives up what it taught, and lets it be purged at once.
    pub async fn discard(&self, reason: Option<String>) -> Result<()> {
        self.retained(BoardCommand::Discard { reason }).await.map(|_| ())
    }

    /// Deletes the board with its log, if nothing keeps it: it is archived, its time is over, and what it taught was
    /// extracted or waived. Otherwise the refusal says all that does. What a crash leaves, purging again finishes;
    /// [`Corkboard::garbage`](crate::Corkboard::garbage) finds it.
    pub async fn purge(&self) -> Result<()> {
        // Something that was begun with a core keeps the board, and may only wait for whoever finishes it.
        self.finish_open_learnings().await?;
        self.after_the_end().ask(BoardCommand::Purge).await?;
        let current = self.engine.current(&self.slot).await?;
        // Whoever was faster may have deleted it, and somebody made another board of that name since.
        if current.state.info().is_none_or(|info| info.status != BoardStatus::Purged) {
            return Ok(());
        }
        self.engine.delete_at(&self.slot, current.head).await?;
        Ok(())
    }

    /// The same board without a role or a claim: both went when it ended.
    fn after_the_end(&self) -> Self {
        Self { orchestrator: None, claim: None, ..self.clone() }
    }

    async fn retained(&self, command: BoardCommand) -> Result<Timestamp> {
        expect_reply!(self.after_the_end().ask(command).await?, BoardReply::Retained { until } => until)
    }
}
