//! Which board a command works on, and what must hold for it to write.

use clap::{Args, ValueEnum};
use corkboard::boards::{
    BoardState, CancelReason, CoreRef, FailurePolicy, Hindrance, Lease, Task, TaskId, TaskStatus, TriggerRule,
};
use corkboard::{Board, BoardView, Error, Refusal};

use crate::exit::Failure;
use crate::hint::hint;
use crate::output::{Room, clip, count, one_line, table};
use crate::session::Session;

/// The most characters of a remark about a task in a list.
const SHOWN_REMARK: usize = 200;

/// The board as an argument of its own, for commands that have no other.
#[derive(Args)]
pub(crate) struct BoardArgument {
    /// Which board [default: --board, or CORK_BOARD]
    #[arg(value_name = "BOARD")]
    board: Option<String>,
}

impl BoardArgument {
    pub(crate) fn open(&self, session: &Session) -> Result<Board, Failure> {
        match &self.board {
            Some(id) => session.board_named(id),
            None => session.open_board(),
        }
    }
}

/// That a board has that id already, with the id.
pub(crate) fn exists_already(error: Error, id: Option<&str>) -> Failure {
    match (&error, id) {
        (Error::Refused(Refusal::BoardExists), Some(id)) => {
            let message = format!("the board {id} exists already");
            Failure::Own { code: error.code(), kind: error.kind(), message, hint: hint(&error) }
        }
        _ => error.into(),
    }
}

/// A moment to look at.
#[derive(Args)]
pub(crate) struct Moment {
    /// As it was at this revision
    #[arg(long, value_name = "REV")]
    at: Option<u64>,
}

impl Moment {
    pub(crate) async fn view(&self, board: &Board) -> Result<BoardView, Failure> {
        Ok(match self.at {
            Some(rev) => board.at(rev).await?,
            None => board.view().await?,
        })
    }
}

#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct BoardConditions {
    /// Only if the board is at this revision
    #[arg(long, value_name = "REV")]
    if_rev: Option<u64>,

    /// A name for this request: sent again within a day, it has no second effect
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
}

impl BoardConditions {
    /// The same board; what is written by it is written under these conditions.
    pub(crate) fn on(&self, board: Board) -> Board {
        let board = match self.if_rev {
            Some(rev) => board.if_rev(rev),
            None => board,
        };
        match &self.idempotency_key {
            Some(name) => board.idempotency_key(name),
            None => board,
        }
    }

    /// The board that the command line names, under these conditions.
    pub(crate) fn open(&self, session: &Session) -> Result<Board, Failure> {
        Ok(self.on(session.open_board()?))
    }
}

#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct ClaimConditions {
    /// The epoch of your claim, as `cork task claim --json` told it: refused if the claim was lost meanwhile
    #[arg(long, value_name = "NUMBER")]
    pub(crate) epoch: Option<u64>,

    #[command(flatten)]
    pub(crate) board: BoardConditions,
}

/// How long a claim holds.
#[derive(Args)]
pub(crate) struct LeaseArgument {
    /// For how long it is yours if you are not heard of
    #[arg(long, value_name = "SECONDS", default_value_t = Lease::TOOL_MS as f64 / 1000.0, value_parser = seconds, allow_negative_numbers = true)]
    lease: f64,
}

impl LeaseArgument {
    pub(crate) fn duration(&self) -> std::time::Duration {
        std::time::Duration::try_from_secs_f64(self.lease).unwrap_or(std::time::Duration::MAX)
    }
}

/// A number of seconds, fractions allowed.
pub(crate) fn seconds(argument: &str) -> Result<f64, String> {
    match argument.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(seconds),
        Ok(seconds) if seconds < 0.0 => Err("a length of time is not negative".into()),
        _ => Err("not a number of seconds".into()),
    }
}

/// When a task may begin, as an argument.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum RuleName {
    /// All succeeded (branches not taken do not count)
    AllSuccess,
    /// All are finished, however
    AllDone,
    /// One succeeded
    OneSuccess,
    /// One failed
    OneFailed,
    /// All are finished and none failed
    NoneFailed,
    /// All are finished, none failed and one succeeded
    NoneFailedMinOneSuccess,
}

impl From<RuleName> for TriggerRule {
    fn from(name: RuleName) -> Self {
        match name {
            RuleName::AllSuccess => Self::AllSuccess,
            RuleName::AllDone => Self::AllDone,
            RuleName::OneSuccess => Self::OneSuccess,
            RuleName::OneFailed => Self::OneFailed,
            RuleName::NoneFailed => Self::NoneFailed,
            RuleName::NoneFailedMinOneSuccess => Self::NoneFailedMinOneSuccess,
        }
    }
}

/// What becomes of the rest when a task fails, as an argument.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum PolicyName {
    /// What can no longer begin because of it is cancelled
    SkipDependents,
    /// All that is unfinished is cancelled
    FailFast,
    /// What depends on it goes on as if it had succeeded
    Continue,
}

impl From<PolicyName> for FailurePolicy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::SkipDependents => Self::SkipDependents,
            PolicyName::FailFast => Self::FailFast,
            PolicyName::Continue => Self::Continue,
        }
    }
}

/// An enum as its JSON writes it.
pub(crate) fn written(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The tasks as a list of ids: "T-1, T-2".
pub(crate) fn ids(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::to_string).collect::<Vec<_>>().join(", ")
}

/// Entries of memory cores as a list: "house-rules:E-1, house-rules:E-4".
pub(crate) fn references(entries: &[CoreRef]) -> String {
    one_line(&entries.iter().map(CoreRef::to_string).collect::<Vec<_>>().join(", "))
}

/// Tasks, a line each.
pub(crate) fn task_table<'a>(state: &BoardState, tasks: impl Iterator<Item = &'a Task>) -> String {
    let rows = tasks.map(|task| {
        let who = task.assigned_to.as_ref().map_or_else(String::new, |agent| one_line(agent.as_str()));
        [task.id.to_string(), task.status.to_string(), who, one_line(&task.title), remark(state, task)]
    });
    let header = [
        ("TASK", Room::Whole),
        ("STATUS", Room::Whole),
        ("WHO", Room::Percent(15)),
        ("TITLE", Room::Rest),
        ("REMARK", Room::Percent(35)),
    ];
    table(header, rows)
}

/// What there is to say of a task beside its state.
pub(crate) fn remark(state: &BoardState, task: &Task) -> String {
    let text = match task.status {
        TaskStatus::Pending | TaskStatus::Assigned | TaskStatus::Blocked => {
            let hindrances = state.hindrances(task.id);
            match hindrances.is_empty() {
                true if task.status == TaskStatus::Pending => ready(state).to_owned(),
                true => String::new(),
                false => hindered(&hindrances),
            }
        }
        TaskStatus::InProgress if task.attempt > 1 => format!("attempt {}", task.attempt),
        TaskStatus::InProgress => String::new(),
        TaskStatus::Review => task.reviewer.as_ref().map_or_else(String::new, |reviewer| format!("for {reviewer}")),
        TaskStatus::Completed => task
            .result
            .as_ref()
            .map_or_else(String::new, |result| [result.trust().mark(), result.summary.trim_start()].concat()),
        TaskStatus::Failed => task.failure.as_deref().unwrap_or_default().to_owned(),
        TaskStatus::Cancelled => task.cancellation.as_ref().map_or_else(String::new, |cancelled| {
            match (&cancelled.comment, cancelled.cause) {
                (Some(comment), _) => comment.to_string(),
                // What waited for a failure that did not come is cancelled so, too.
                (None, None) if cancelled.reason == CancelReason::BranchNotTaken && !is_branch(state, task.id) => {
                    "can no longer begin".into()
                }
                (None, Some(cause)) => format!("{} ({cause})", written(&cancelled.reason).replace('_', " ")),
                (None, None) => written(&cancelled.reason).replace('_', " "),
            }
        }),
    };
    one_line(&clip(&text, SHOWN_REMARK))
}

/// Whether a branch of a choice begins with that task.
fn is_branch(state: &BoardState, task: TaskId) -> bool {
    state.choices().any(|choice| choice.options.iter().any(|option| option.tasks.contains(&task)))
}

/// Hindrances in fewer words than an error has.
fn hindered(hindrances: &[Hindrance]) -> String {
    const NAMED: usize = 3;
    let (mut waits, mut said) = (Vec::new(), Vec::new());
    for hindrance in hindrances {
        match hindrance {
            Hindrance::Dependencies { on } => {
                waits.extend(on.iter().take(NAMED).map(TaskId::to_string));
                waits.extend(on.len().checked_sub(NAMED + 1).map(|more| format!("{} more", more + 1)));
            }
            Hindrance::Choice { choice } => waits.push(choice.to_string()),
            other => said.push(other.to_string()),
        }
    }
    if !waits.is_empty() {
        said.insert(0, format!("waits for {}", waits.join(", ")));
    }
    said.join("; ")
}

/// What is said of tasks that nothing hinders. While a board is paused, nobody begins any.
pub(crate) fn ready(state: &BoardState) -> &'static str {
    match state.info().is_some_and(|info| info.paused.is_some()) {
        true => "ready when resumed",
        false => "ready",
    }
}

/// "3 of 10 tasks done, 2 ready, 1 in progress".
pub(crate) fn progress(state: &BoardState) -> String {
    let total = state.task_count();
    if total == 0 {
        return "no tasks".into();
    }
    let mut parts =
        vec![format!("{} of {} done", state.count(TaskStatus::Completed), count(total as u64, "task", "tasks"))];
    let waiting = state.blocked().len() as u64;
    let counts = [
        (state.ready().len() as u64, ready(state)),
        (state.count(TaskStatus::InProgress), "in progress"),
        (state.count(TaskStatus::Review), "in review"),
        (waiting, "waiting"),
        (state.count(TaskStatus::Failed), "failed"),
        (state.count(TaskStatus::Cancelled), "cancelled"),
    ];
    parts.extend(counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    parts.join(", ")
}
