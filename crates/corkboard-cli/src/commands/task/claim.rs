use std::time::Duration;

use clap::Args;
use corkboard::ErrorKind;
use corkboard::boards::TaskId;

use crate::board_args::{BoardConditions, LeaseArgument};
use crate::command_session::Session;
use crate::error::CliError;
use crate::value_parsers::seconds;

/// Take a task to work on it
///
/// Prints its id; with --json also the epoch and until when it is yours. Without a task: what was sent back to you for
/// rework, then what is assigned to you, then the highest priority, then the oldest. A worker that was restarted gets its
/// unfinished task back with --epoch. Exit code 3 if nothing is ready, 4 if the board has ended.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task claim --principal ada
  cork task claim T-3 --principal ada
  cork task claim --wait-s 60 --lease-s 30 --principal ada
  cork task claim --json --principal ada
  cork task claim T-3 --epoch 1 --principal ada    # after a restart")]
pub(crate) struct Claim {
    /// The task [default: the next that is ready]
    task: Option<TaskId>,

    /// Take back a task of yours after a restart: the epoch that you had. You get a new one; the old one is fenced
    #[arg(long, value_name = "NUMBER", requires = "task")]
    epoch: Option<u64>,

    /// How long to wait for a task to become ready, or for the named one
    #[arg(long, alias = "wait", value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds, allow_negative_numbers = true)]
    wait_s: f64,

    #[command(flatten)]
    lease: LeaseArgument,

    #[command(flatten)]
    conditions: BoardConditions,
}

impl Claim {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let wait = Duration::try_from_secs_f64(self.wait_s).unwrap_or(Duration::MAX);
        let claim = board.claim_task(self.task, self.lease.duration()).wait(wait);
        let claim = match self.epoch {
            Some(epoch) => claim.epoch(epoch),
            None => claim,
        };
        match claim.await? {
            Some(claimed) => session.output.answer(&claimed, || claimed.task.to_string()),
            None => Err(nothing_ready(self.wait_s)),
        }
    }
}

fn nothing_ready(wait: f64) -> CliError {
    let message = match wait > 0.0 {
        true => format!("nothing became ready within {wait} s"),
        false => "nothing is ready".into(),
    };
    CliError::Own { code: "nothing_ready", kind: ErrorKind::Gone, message, hint: None }
        .hint("--wait-s SECONDS waits; `cork task list --view blocked` shows what hinders the rest")
}
