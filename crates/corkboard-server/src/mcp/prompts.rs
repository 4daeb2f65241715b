//! Prompts that a person chooses in a client: resume a session, hand over, update a notebook, work on a task.

use corkboard::ContextRequest;
use corkboard::notebook::Notebook;
use corkboard::prompt::notebook_prompt;
use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::resources::{broken, refused};
use super::workspace::Workspace;

/// Token budget of the notebook and its rules.
const NOTEBOOK_TOKENS: u64 = 8_000;

/// A prompt's name, description and optional arguments.
type PromptRow = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const PROMPTS: [PromptRow; 4] = [
    ("resume_session", "Continue where the last session stopped: its handoff and this project's memory", &[]),
    ("hand_over", "Write a handoff for the next session", &[]),
    (
        "update_notebook",
        "Update the notebook with what happened in this conversation",
        &[("notebook", "Name of the notebook; main if left out"), ("task", "What the conversation is about")],
    ),
    (
        "work_on_task",
        "Claim a task of a board and work on it",
        &[
            ("board", "ID of the board; this connection's board if left out"),
            ("task", "ID of the task; any ready task if left out"),
        ],
    ),
];

pub(super) fn list() -> Vec<Prompt> {
    let prompts = PROMPTS.into_iter().map(|(name, description, arguments)| {
        let argument = |(name, description): &(&str, &str)| {
            PromptArgument::new(*name).with_description(*description).with_required(false)
        };
        let arguments: Vec<_> = arguments.iter().map(argument).collect();
        Prompt::new(name, Some(description), (!arguments.is_empty()).then_some(arguments))
    });
    prompts.collect()
}

pub(super) async fn get(workspace: &Workspace, request: GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let row = PROMPTS.into_iter().find(|(name, ..)| *name == request.name);
    let (name, description, _) = row.ok_or_else(|| {
        let known = PROMPTS.map(|(name, ..)| name).join(", ");
        ErrorData::invalid_params(format!("unknown prompt {:?}; expected one of {known}", request.name), None)
    })?;
    let arguments = request.arguments.unwrap_or_default();
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).filter(|value| !value.is_empty());
    let text = match name {
        "resume_session" => resume_session(workspace).await?,
        "hand_over" => HAND_OVER.to_owned(),
        "update_notebook" => {
            let name = argument("notebook").unwrap_or(Notebook::MAIN);
            let memory = workspace.corkboard.agent(&workspace.context.agent).map_err(refused)?;
            let notebook = memory.notebook(name).map_err(refused)?.get().await.map_err(broken)?;
            let prompt = notebook_prompt(&notebook, argument("task"), NOTEBOOK_TOKENS).map_err(broken)?;
            format!(
                "{}\nApply the update to what happened in this conversation, with the tool update_notebook and \
                 \"name\": {}.",
                prompt.text(),
                Value::from(name)
            )
        }
        _ => {
            let board = argument("board").or(workspace.context.board.as_deref());
            let board = board.ok_or_else(|| {
                let message = "name the board: this connection has none. `cork board list` shows the boards";
                ErrorData::invalid_params(message, None)
            })?;
            let task = argument("task");
            // Names the board's goal, and fails if there is no such board.
            let view = workspace.corkboard.board(board).map_err(refused)?.view().await.map_err(broken)?;
            let goal = corkboard::context::escaped_line(&view.info().map_err(broken)?.goal);
            let claim = task.map_or_else(
                || "Claim a task with claim_task".to_owned(),
                |task| format!("Claim the task {task} with claim_task {{\"task\": \"{task}\"}}"),
            );
            format!(
                "You are a worker on the board {board}. Its goal: {goal}\n\n{claim}. Then read what you need with \
                 board_context. While you work, record decisions with record_decision and facts that others need \
                 with record_discovery. Finish with complete_task. If you cannot go on, say so with update_task."
            )
        }
    };
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(description))
}

const HAND_OVER: &str = "Write a handoff for the next session with write_session_handoff. Say in a few lines: what is \
    done and how it was checked, what is half done and where it stands, what comes next, which decisions were made and \
    why, and what a person still has to answer. Name files, commands and IDs exactly. Store facts that stay true after \
    the next session with write_memory.";

async fn resume_session(workspace: &Workspace) -> Result<String, ErrorData> {
    let memory = workspace.corkboard.agent(&workspace.context.agent).map_err(refused)?;
    let mut request = ContextRequest::new();
    request.board.clone_from(&workspace.context.board);
    let window = memory.context_window().preview(request).await.map_err(broken)?;
    Ok(match window.text.is_empty() {
        true => "This project's memory is empty. Ask me what we work on, and store what stays true with write_memory."
            .into(),
        false => format!(
            "{}\nThis is this project's memory. Say in a few lines where the last session stopped and what comes next, then continue.",
            window.text
        ),
    })
}
