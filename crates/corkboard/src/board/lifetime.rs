//! The end of a board's life: archive, discard, purge.

use std::time::Duration;

use corkboard_core::board::{BoardCommand, BoardReply, BoardStatus, RetainFor};
use jiff::Timestamp;

use super::orchestrate::milliseconds;
use super::{Board, expect_reply, unexpected};
use crate::{Limits, Result};

impl Board {
    /// The longest retention of an archived board, in days: about a century.
    pub const MOST_RETAIN_DAYS: u64 = 36_500;

    /// Archives a board that has ended: it can be read, but not changed. Returns the time until which it is kept at
    /// least.
    ///
    /// Without `retain`, keeps the earlier retention, or uses
    /// [`Options::board_retention`](crate::Options::board_retention). Archiving again with a duration changes the
    /// retention.
    pub async fn archive(&self, retain: Option<Duration>) -> Result<Timestamp> {
        const DAY: u64 = 24 * 60 * 60;
        let days = retain.map_or(0, |retain| retain.as_secs().div_ceil(DAY));
        Limits::check_range("retain_days", days, 0..=Self::MOST_RETAIN_DAYS)?;
        let retain = match retain {
            Some(retain) => RetainFor::Said { ms: milliseconds(retain) },
            None => RetainFor::Unsaid { ms: milliseconds(self.options().board_retention) },
        };
        self.retained(BoardCommand::Archive { retain }).await
    }

    /// Archives a board that has ended, waives its learnings, and allows it to be purged at once.
    pub async fn discard(&self, reason: Option<String>) -> Result<()> {
        self.retained(BoardCommand::Discard { reason }).await.map(|_| ())
    }

    /// Deletes the board and its log if nothing keeps it: it is archived, its retention has ended, and its learnings
    /// were extracted or waived. Otherwise the refusal lists everything that keeps it.
    ///
    /// Repeat an interrupted purge to finish it; [`Corkboard::garbage`](crate::Corkboard::garbage) finds such boards.
    pub async fn purge(&self) -> Result<()> {
        // An open promotion or rollback keeps the board, so finish those first.
        self.finish_open_learnings().await?;
        self.after_the_end().ask(BoardCommand::Purge).await?;
        let current = self.engine.current(&self.slot).await?;
        // Another process may have deleted the board, and a new one may have its ID by now.
        if current.state.info().is_none_or(|info| info.status != BoardStatus::Purged) {
            return Ok(());
        }
        self.engine.delete_at(&self.slot, current.head).await?;
        Ok(())
    }

    /// The same board without role or claim: both ended with the board.
    fn after_the_end(&self) -> Self {
        Self { orchestrator: None, claim: None, ..self.clone() }
    }

    async fn retained(&self, command: BoardCommand) -> Result<Timestamp> {
        expect_reply!(self.after_the_end().ask(command).await?, BoardReply::Retained { until } => until)
    }
}
