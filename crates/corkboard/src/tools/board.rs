//! Shared by all board tools: the board, the task and the actor of a call.

use corkboard_core::board::{TaskId, TaskStatus};
use corkboard_core::{Actor, ActorKind, Role};

use super::{ToolContext, ToolError};
use crate::context::escaped_line;
use crate::{Board, BoardView, Corkboard};

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

    /// The task of a worker's call, and the board under the connection's claim of it.
    pub(super) async fn claimed(&self, board: Board, named: Option<TaskId>) -> Result<(Board, TaskId), ToolError> {
        let task = self.task(&heard(&board).await?, named)?;
        let board = match &self.claims {
            Some(claims) => claims.apply(board, task),
            None => board,
        };
        Ok((board, task))
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
        let held: Vec<TaskId> = view.held_by(&actor.principal).map(|task| task.id).collect();
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

/// Reads the board, and renews the claims of all tasks that the caller holds.
pub(super) async fn heard(board: &Board) -> Result<BoardView, ToolError> {
    let view = board.view().await?;
    board.renew_claims_in(&view).await?;
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
