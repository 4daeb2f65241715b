//! Shared arguments of commands about boards: board, revision and conditions.

use clap::Args;
use corkboard::boards::Lease;
use corkboard::{Board, BoardView};

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::value_parsers::seconds;

/// The board as a positional argument.
#[derive(Args)]
pub(crate) struct BoardArgument {
    /// Board ID [default: --board or CORK_BOARD]
    #[arg(value_name = "BOARD")]
    board: Option<String>,
}

impl BoardArgument {
    pub(crate) fn open(&self, session: &Session) -> Result<Board, CliError> {
        match &self.board {
            Some(id) => session.board_named(id),
            None => session.open_board(),
        }
    }
}

/// The revision to show.
#[derive(Args)]
pub(crate) struct RevisionArgument {
    /// Show it as of this revision
    #[arg(long, value_name = "REV", value_parser = clap::value_parser!(u64).range(1..))]
    at: Option<u64>,
}

impl RevisionArgument {
    pub(crate) async fn view(&self, board: &Board) -> Result<BoardView, CliError> {
        Ok(match self.at {
            Some(rev) => board.at(rev).await?,
            None => board.view().await?,
        })
    }
}

#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct ClaimConditions {
    /// Epoch of your claim, from `cork task claim --json`; fails if you have lost the claim
    #[arg(long, value_name = "NUMBER")]
    pub(crate) epoch: Option<u64>,

    #[command(flatten)]
    request: RequestConditions,
}

impl ClaimConditions {
    /// The board that the command line names, under these conditions.
    pub(crate) fn open(&self, session: &Session) -> Result<Board, CliError> {
        session.sends_epoch(self.epoch);
        self.request.open(session)
    }
}

/// The lease duration of a claim.
#[derive(Args)]
pub(crate) struct LeaseArgument {
    /// Lease duration; without a heartbeat the task is released
    #[arg(long, alias = "lease", value_name = "SECONDS", default_value_t = Lease::CLAIM.as_secs_f64(), value_parser = seconds, allow_negative_numbers = true)]
    lease_s: f64,
}

impl LeaseArgument {
    pub(crate) fn duration(&self) -> std::time::Duration {
        std::time::Duration::try_from_secs_f64(self.lease_s).unwrap_or(std::time::Duration::MAX)
    }
}
