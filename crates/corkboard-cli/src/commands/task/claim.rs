use std::time::Duration;

use clap::Args;
use corkboard::boards::{ReviewVerdict, Task, TaskId};
use corkboard::{Board, Error, ErrorKind, Refusal};

use crate::board_args::LeaseArgument;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::{one_line, time};
use crate::value_parsers::seconds;

/// Claim a task to work on it
///
/// Prints the task's ID; with --json also the epoch and the lease's end. If you name no task, you get one that was sent back
/// to you for rework, then one assigned to you, then the one with the highest priority, then the oldest. A restarted worker
/// gets its unfinished task back with --epoch. Exits with 3 if no task is ready, and with 4 if the board has ended.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task claim --principal ada
  cork task claim T-3 --principal ada
  cork task claim --wait-s 60 --lease-s 30 --principal ada
  cork task claim --json --principal ada
  cork task claim T-3 --epoch 1 --principal ada    # after a restart")]
pub(crate) struct Claim {
    /// Task ID [default: the next ready task]
    task: Option<TaskId>,

    /// Your earlier claim's epoch (a number that grows with each claim), to take your task back after a restart. You get a
    /// new epoch; a process that uses the old one gets the error `fenced`
    #[arg(long, value_name = "NUMBER", requires = "task")]
    epoch: Option<u64>,

    /// How long to wait for a ready task, or for the named one
    #[arg(long, alias = "wait", value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds, allow_negative_numbers = true)]
    wait_s: f64,

    #[command(flatten)]
    lease: LeaseArgument,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Claim {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        session.sends_epoch(self.epoch);
        let board = self.conditions.open(session)?;
        let wait = Duration::try_from_secs_f64(self.wait_s).unwrap_or(Duration::MAX);
        let claim = board.claim_task(self.task, self.lease.duration()).wait(wait);
        let claim = match self.epoch {
            Some(epoch) => claim.epoch(epoch),
            None => claim,
        };
        match claim.await {
            Ok(Some(claimed)) => session.output.answer(&claimed, || claimed.task.to_string()),
            Ok(None) => Err(nothing_ready(self.wait_s, &board).await),
            Err(error @ Error::Refused(Refusal::TaskHeld { task, .. })) => match sent_back(&board, Some(task)).await {
                Some(hint) => Err(CliError::Explained { error: error.into(), message: None, hint: Some(hint) }),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }
}

/// The hint if a task cannot be claimed because its earlier worker is to rework it.
async fn sent_back(board: &Board, task: Option<TaskId>) -> Option<String> {
    let view = board.view().await.ok()?;
    let is_sent_back = |found: &&Task| {
        found.review_verdict == Some(ReviewVerdict::NeedsRework) && task.is_none_or(|task| found.id == task)
    };
    let found = view.in_progress().find(is_sent_back)?;
    let (task, worker, until) = (found.id, found.assigned_to.as_ref()?, found.claim.as_ref()?.deadline);
    let (worker, until) = (one_line(worker.as_str()), time(until));
    Some(format!(
        "{task} was sent back for rework and waits for its earlier worker, {worker}, until {until}; \
         `cork task release {task}` frees it now"
    ))
}

async fn nothing_ready(wait: f64, board: &Board) -> CliError {
    let (message, then) = match wait > 0.0 {
        true => (format!("no task became ready within {wait} s"), "wait longer"),
        false => ("no task is ready".into(), "wait for one with --wait-s SECONDS"),
    };
    let hint = match (sent_back(board, None).await, board.view().await) {
        (Some(sent_back), _) => sent_back,
        (None, Ok(view)) if view.state().task_count() == 0 => {
            "the board has no tasks; add one with `cork task add TITLE`".into()
        }
        (None, Ok(view)) if view.state().tasks().all(|task| task.status.is_finished()) => {
            "all tasks are finished; complete the board with `cork board complete`, or add a task with `cork task add TITLE`"
                .into()
        }
        (None, Ok(view)) if view.blocked().len() == 0 => format!("{then}; `cork task list` shows all tasks"),
        (None, _) => format!("{then}; `cork task list --view blocked` shows why the others cannot start"),
    };
    CliError::Own { code: "nothing_ready", kind: ErrorKind::Gone, message, hint: Some(hint) }
}
