//! Boards and tasks as text.

use corkboard::boards::{BoardState, CancelCause, CoreRef, Hindrance, Task, TaskId, TaskStatus};
use corkboard::{Error, Refusal};

use crate::error::CliError;
use crate::error_hint::hint;
use crate::output::{Fit, Percent, Rest, clip, count, one_line, table};

const SHOWN_REMARK: usize = 200;

/// Adds the ID to the error that a board with this ID exists.
pub(crate) fn exists_already(error: Error, id: Option<&str>) -> CliError {
    match (&error, id) {
        (Error::Refused(Refusal::BoardExists), Some(id)) => {
            let message = format!("the board {id} already exists");
            CliError::Own { code: error.code(), kind: error.kind(), message, hint: hint(&error) }
        }
        _ => error.into(),
    }
}

/// An enum value as in JSON.
pub(crate) fn written(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// For example, "T-1, T-2".
pub(crate) fn ids(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::to_string).collect::<Vec<_>>().join(", ")
}

/// For example, "house-rules:E-1, house-rules:E-4".
pub(crate) fn references(entries: &[CoreRef]) -> String {
    one_line(&entries.iter().map(CoreRef::to_string).collect::<Vec<_>>().join(", "))
}

pub(crate) fn task_table<'a>(state: &BoardState, tasks: impl Iterator<Item = &'a Task>) -> String {
    let rows = tasks.map(|task| {
        let who = task.assigned_to.as_ref().map_or_else(String::new, |agent| one_line(agent.as_str()));
        [task.id.to_string(), task.status.to_string(), who, one_line(&task.title), remark(state, task)]
    });
    let header = [("TASK", Fit), ("STATUS", Fit), ("WHO", Percent(15)), ("TITLE", Rest), ("REMARK", Percent(35))];
    table(header, rows)
}

/// A remark on a task's status.
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
            match (&cancelled.reason, cancelled.caused_by) {
                (Some(reason), _) => reason.to_string(),
                // Tasks that waited for a failure that did not happen have this cause too.
                (None, None) if cancelled.cause == CancelCause::BranchNotTaken && !is_branch(state, task.id) => {
                    "can no longer start".into()
                }
                (None, Some(first)) => format!("{} ({first})", written(&cancelled.cause).replace('_', " ")),
                (None, None) => written(&cancelled.cause).replace('_', " "),
            }
        }),
    };
    one_line(&clip(&text, SHOWN_REMARK))
}

fn is_branch(state: &BoardState, task: TaskId) -> bool {
    state.choices().any(|choice| choice.options.iter().any(|option| option.tasks.contains(&task)))
}

/// Hindrances, shorter than in an error message.
fn hindered(hindrances: &[Hindrance]) -> String {
    const NAMED: usize = 3;
    let (mut waits, mut said) = (Vec::new(), Vec::new());
    for hindrance in hindrances {
        match hindrance {
            Hindrance::Dependencies { depends_on: on } => {
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

/// The remark on tasks that can be claimed. On a paused board they have to wait.
pub(crate) fn ready(state: &BoardState) -> &'static str {
    match state.info().is_some_and(|info| info.paused.is_some()) {
        true => "ready when resumed",
        false => "ready",
    }
}

/// For example, "3 of 10 tasks done, 2 ready, 1 in progress".
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
