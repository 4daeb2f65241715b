//! `cork board archive` and `cork board discard`.

use std::time::Duration;

use clap::Args;

use crate::board_args::BoardArgument;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::{count, json_object, now, one_line, time};

/// Archive an ended board; it stays readable and no longer changes
///
/// The board is kept for the retention period. After that, `cork gc` says whether it can be purged. To change the period,
/// archive the board again with --retain-days. The answer counts open learnings; you can still promote or refuse them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board archive
  cork board archive add-login-1a2b3c4d --retain-days 365")]
pub(crate) struct Archive {
    #[command(flatten)]
    board: BoardArgument,

    /// Keep the board at least this long from now [default: 30, or the earlier value]
    #[arg(long, alias = "retain", value_name = "DAYS", value_parser = days)]
    retain_days: Option<Duration>,

    #[command(flatten)]
    conditions: RequestConditions,
}

/// Discard an ended board and its open learnings; `cork gc --yes` purges it
///
/// This alone deletes nothing. Until the purge, `cork board archive --retain-days DAYS` keeps the board after all.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board discard
  cork board discard add-login-1a2b3c4d --reason 'it was only a try'")]
pub(crate) struct Discard {
    #[command(flatten)]
    board: BoardArgument,

    /// Reason for discarding the board
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Archive {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?.conditions(&self.conditions);
        let retain_until = board.archive(self.retain_days).await?;
        let view = board.view().await?;
        let is_waived = view.info()?.waived.is_some();
        let open_learnings = if is_waived { 0 } else { view.state().undecided_learnings() };
        let board = board.id().as_str();
        session.output.answer(&json_object! { id: board, status: "archived", retain_until, open_learnings }, || {
            let kept = match retain_until > now() {
                true => format!(" and kept until at least {}", time(retain_until)),
                false => String::new(),
            };
            format!("{} is archived{kept}{}", one_line(board), open(board, open_learnings))
        })
    }
}

/// What to do about open learnings.
fn open(board: &str, learnings: u64) -> String {
    if learnings == 0 {
        return String::new();
    }
    let (wait, board) = (count(learnings, "learning waits", "learnings wait"), one_line(board));
    format!(
        "\n{wait} for a decision; the board is not purged before that:\n  \
         cork --board {board} learn extract      show them\n  \
         cork --board {board} learn promote ID   keep one in a memory core\n  \
         cork --board {board} learn refuse ID    refuse one\n  \
         cork board discard {board}              waive all of them"
    )
}

impl Discard {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?.conditions(&self.conditions);
        board.discard(self.reason).await?;
        let board = board.id().as_str();
        session.output.answer(&json_object! { id: board, status: "archived" }, || {
            format!("{} is discarded: `cork gc --yes` purges it", one_line(board))
        })
    }
}

fn days(argument: &str) -> Result<Duration, String> {
    const DAY: f64 = 24.0 * 60.0 * 60.0;
    match argument.parse::<f64>() {
        Ok(days) if days.is_finite() && days >= 0.0 => {
            Ok(Duration::try_from_secs_f64(days * DAY).unwrap_or(Duration::MAX))
        }
        _ => Err("expected a number of days".into()),
    }
}
