//! What all tools of boards share: which board, which task, and in whose name.

use corkboard_core::board::{Task, TaskId, TaskStatus};
use corkboard_core::{Actor, ActorKind, Role};

use super::{ToolContext, ToolError};
use crate::context::escaped_line;
use crate::{Board, BoardView, Corkboard, Error};

/// The most characters of a text that is only mentioned.
const MENTIONED: usize = 120;

impl ToolContext {
    /// The board that the call is about: one that it names, or that of its context.
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

    /// Whoever calls tools does so in the role of the tools: those who may do more do no more by them. A role that may do
    /// less stays what it is.
    pub(super) fn board_actor(&self, role: Role) -> Actor {
        match &self.actor {
            Some(actor) => match actor.role {
                Role::Orchestrator | Role::Human | Role::Admin => Actor { role, ..actor.clone() },
                Role::Worker | Role::Reviewer | Role::Observer => actor.clone(),
            },
            None => Actor::new(self.agent.clone(), ActorKind::Agent, role),
        }
    }

    /// The task that a worker's call is about: one that it names, that of its context, or the one that the worker holds.
    pub(super) fn task(&self, view: &BoardView, named: Option<TaskId>) -> Result<TaskId, ToolError> {
        if let Some(task) = named {
            return Ok(task);
        }
        if let Some(task) = self.task.as_deref().filter(|task| !task.is_empty()) {
            return task.parse().map_err(|error| failed(format!("the context of the call names no task: {error}")));
        }
        let actor = self.board_actor(Role::Worker);
        let held: Vec<TaskId> = held_by(view, &actor.principal).map(|task| task.id).collect();
        match held.as_slice() {
            [] => Err(failed("you hold no task: call claim_task first, or name one by its id, such as T-1")),
            [only] => Ok(*only),
            several => {
                let mut names: Vec<String> = several.iter().map(ToString::to_string).collect();
                names.sort();
                Err(failed(format!("you hold {}: say which task is meant", names.join(", "))))
            }
        }
    }
}

fn failed(message: impl Into<String>) -> ToolError {
    ToolError::Failed { message: message.into() }
}

/// The tasks that somebody holds.
pub(super) fn held_by<'v>(view: &'v BoardView, principal: &str) -> impl Iterator<Item = &'v Task> {
    let state = view.state();
    let tasks = state.held().filter_map(|id| state.task(id));
    tasks.filter(move |task| task.claim.as_ref().is_some_and(|claim| claim.holder.as_str() == principal))
}

/// The caller was heard of: all that it holds stays its own.
pub(super) async fn heard(board: &Board) -> Result<BoardView, ToolError> {
    let view = board.view().await?;
    let is_due = |task: &&Task| task.claim.as_ref().is_some_and(|claim| claim.renewed(view.at()).is_some());
    for task in held_by(&view, &board.actor().principal).filter(is_due) {
        match board.heartbeat(task.id, None).await {
            // Whoever has lost it meanwhile hears that when it matters.
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(view)
}

/// A text that is only mentioned: its beginning, on one line.
pub(super) fn mentioned(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MENTIONED) {
        Some((end, _)) => format!("{}…", escaped_line(text.get(..end).unwrap_or_default())),
        None => escaped_line(text),
    }
}

/// "2 completed, 1 in_progress".
pub(super) fn counts(view: &BoardView) -> String {
    let count = |status: TaskStatus| (view.state().count(status), status);
    let counted = TaskStatus::ALL.map(count).into_iter().filter(|(count, _)| *count > 0);
    counted.map(|(count, status)| format!("{count} {status}")).collect::<Vec<_>>().join(", ")
}

/// What can be begun, for whoever made it so.
pub(super) fn ready(view: &BoardView) -> String {
    const NAMED: usize = 5;
    let count = view.ready().len();
    if count == 0 {
        return "Nothing else is ready.".into();
    }
    let names: Vec<String> = view.ready().take(NAMED).map(|task| task.id.to_string()).collect();
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    format!("Ready: {}{more}.", names.join(", "))
}
