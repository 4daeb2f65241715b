//! Shared by all board tools: the board, the task and the actor of a call.

use corkboard_core::board::{Task, TaskId, TaskStatus};
use corkboard_core::{Actor, ActorKind, Role};

use super::{ToolContext, ToolError};
use crate::context::escaped_line;
use crate::{Board, BoardView, Corkboard, Error};

/// Maximum characters of a text that is only mentioned.
const MENTIONED: usize = 120;

impl ToolContext {
    /// The board of the call: the one that it names, or the one in its context.
    pub(super) fn board(
        &self,
        corkboard: &Corkboard,
        tool: &'static str,
        named: Option<&str>,
        role: Role,
    ) -> Result<Board, ToolError> {
        let named = named.or(self.board.as_deref()).filter(|id| !id.is_empty());
        let id = named.ok_or(ToolError::MissingContext { tool, what: "board" })?;
        Ok(corkboard.board(id)?.acting_as(self.board_actor(role)))
    }

    /// The actor of the call, in the tool set's role. A more powerful role is lowered to it; a less powerful one stays.
    pub(super) fn board_actor(&self, role: Role) -> Actor {
        match &self.actor {
            Some(actor) => match actor.role {
                Role::Orchestrator | Role::Human | Role::Admin => Actor { role, ..actor.clone() },
                Role::Worker | Role::Reviewer | Role::Observer => actor.clone(),
            },
            None => Actor::new(self.agent.clone(), ActorKind::Agent, role),
        }
    }

    /// The task of a worker's call: the one that it names, the one in its context, or the one that the worker holds.
    pub(super) fn task(&self, view: &BoardView, named: Option<TaskId>) -> Result<TaskId, ToolError> {
        if let Some(task) = named {
            return Ok(task);
        }
        if let Some(task) = self.task.as_deref().filter(|task| !task.is_empty()) {
            return task.parse().map_err(|error| failed(format!("invalid task in the context of the call: {error}")));
        }
        let actor = self.board_actor(Role::Worker);
        let held: Vec<TaskId> = held_by(view, &actor.principal).map(|task| task.id).collect();
        match held.as_slice() {
            [] => Err(failed("you hold no task: call claim_task first, or pass a task ID such as T-1")),
            [only] => Ok(*only),
            several => {
                let mut names: Vec<String> = several.iter().map(ToString::to_string).collect();
                names.sort();
                Err(failed(format!("you hold {}: pass the ID of the task that you mean", names.join(", "))))
            }
        }
    }
}

fn failed(message: impl Into<String>) -> ToolError {
    ToolError::Failed { message: message.into() }
}

/// The tasks that `principal` holds.
pub(super) fn held_by<'v>(view: &'v BoardView, principal: &str) -> impl Iterator<Item = &'v Task> {
    let state = view.state();
    let tasks = state.held().filter_map(|id| state.task(id));
    tasks.filter(move |task| task.claim.as_ref().is_some_and(|claim| claim.holder.as_str() == principal))
}

/// Renews the claims of all tasks that the caller holds.
pub(super) async fn heard(board: &Board) -> Result<BoardView, ToolError> {
    let view = board.view().await?;
    let is_due = |task: &&Task| task.claim.as_ref().is_some_and(|claim| claim.renewed(view.at()).is_some());
    for task in held_by(&view, &board.actor().principal).filter(is_due) {
        match board.heartbeat(task.id, None).await {
            // If the caller lost the claim meanwhile, its next command for the task reports that.
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(view)
}

/// The beginning of a text, on one line.
pub(super) fn mentioned(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MENTIONED) {
        Some((end, _)) => format!("{}…", escaped_line(text.get(..end).unwrap_or_default())),
        None => escaped_line(text),
    }
}

/// Number of tasks by status, such as "2 completed, 1 in_progress".
pub(super) fn counts(view: &BoardView) -> String {
    let count = |status: TaskStatus| (view.state().count(status), status);
    let counted = TaskStatus::ALL.map(count).into_iter().filter(|(count, _)| *count > 0);
    counted.map(|(count, status)| format!("{count} {}", status.in_words())).collect::<Vec<_>>().join(", ")
}

/// The tasks that can be claimed now.
pub(super) fn ready(view: &BoardView) -> String {
    const NAMED: usize = 5;
    let count = view.ready().len();
    if count == 0 {
        return "No other task is ready.".into();
    }
    let names: Vec<String> = view.ready().take(NAMED).map(|task| task.id.to_string()).collect();
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    format!("Ready: {}{more}.", names.join(", "))
}
