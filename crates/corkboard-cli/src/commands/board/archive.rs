//! `cork board archive` and `cork board discard`.

use std::time::Duration;

use clap::Args;

use crate::board_args::{BoardArgument, BoardConditions};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{count, json_object, now, one_line, time};

/// Put a board away that has ended: it can be read, and nothing on it changes
///
/// It is kept for a while; `cork gc` then says whether it can go. Again, with --retain-days: changes for how long. Learnings
/// that nobody has decided on are told; they still can be promoted and refused.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board archive
  cork board archive add-login-1a2b3c4d --retain-days 365")]
pub(crate) struct Archive {
    #[command(flatten)]
    board: BoardArgument,

    /// For how long it is kept at least, from now on [default: 30 days, or what was said before]
    #[arg(long, alias = "retain", value_name = "DAYS", value_parser = days)]
    retain_days: Option<Duration>,

    #[command(flatten)]
    conditions: BoardConditions,
}

/// Give up a board that has ended, with all that it taught: `cork gc --yes` then purges it
///
/// Nothing is deleted by this alone. Whoever thinks better of it before that: `cork board archive --retain-days DAYS` keeps it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board discard
  cork board discard add-login-1a2b3c4d --reason 'it was only a try'")]
pub(crate) struct Discard {
    #[command(flatten)]
    board: BoardArgument,

    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    conditions: BoardConditions,
}

impl Archive {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.on(self.board.open(session)?);
        let retain_until = board.archive(self.retain_days).await?;
        let view = board.view().await?;
        let is_waived = view.info()?.waived.is_some();
        let open_learnings = if is_waived { 0 } else { view.state().undecided_learnings() };
        let board = board.id().as_str();
        session.output.answer(&json_object! { board, status: "archived", retain_until, open_learnings }, || {
            let kept = match retain_until > now() {
                true => format!(", and kept until {} at least", time(retain_until)),
                false => String::new(),
            };
            format!("{} is archived{kept}{}", one_line(board), open(board, open_learnings))
        })
    }
}

/// What is to be done about learnings that nobody has decided on.
fn open(board: &str, learnings: u64) -> String {
    if learnings == 0 {
        return String::new();
    }
    let (wait, board) = (count(learnings, "learning waits", "learnings wait"), one_line(board));
    format!(
        "\n{wait} for a decision, and the board is not purged before:\n  \
         cork --board {board} learn extract      shows them\n  \
         cork --board {board} learn promote ID   takes one into a memory core\n  \
         cork --board {board} learn refuse ID    says that one is not wanted\n  \
         cork board discard {board}              gives all of them up"
    )
}

impl Discard {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.on(self.board.open(session)?);
        board.discard(self.reason).await?;
        let board = board.id().as_str();
        session.output.answer(&json_object! { board, status: "archived" }, || {
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
        _ => Err("not a number of days".into()),
    }
}
