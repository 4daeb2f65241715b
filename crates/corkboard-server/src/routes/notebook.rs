//! Read notebooks, their history and their update prompts.

use axum::response::{IntoResponse, Response};
use corkboard::notebook::{Notebook, NotebookDiff};
use corkboard::prompt::{NotebookPrompt, PromptSources, notebook_prompt};
use corkboard::{NotebookHistory, NotebookInfo, NotebookName, NotebookRevision};

use crate::condition::Seen;
use crate::response::REV;
use crate::routes::prelude::*;

/// Default token budget of a prompt.
const BUDGET: u64 = 8_000;

pub(super) fn routes() -> Routes {
    routes!(
        list_notebooks,
        get_notebook,
        get_notebook_prompt,
        compose_notebook_prompt,
        list_notebook_revisions,
        get_notebook_diff
    )
    .tag("notebook")
}

/// Default name of a notebook.
pub(super) fn main_notebook() -> String {
    Notebook::MAIN.into()
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NotebookQuery {
    /// Name of the notebook.
    #[serde(default = "main_notebook")]
    #[param(default = "main")]
    name: String,
    /// Revision of the memory to read [default: the latest].
    at: Option<u64>,
    /// `json`, or `text` for the notebook's own text format.
    #[serde(default)]
    #[param(inline)]
    format: Format,
}

/// Output format of a notebook.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = NotebookFormat)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// The notebook with all metadata.
    #[default]
    Json,
    /// The visible content in the notebook's text format.
    Text,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PromptQuery {
    /// Name of the notebook.
    #[serde(default = "main_notebook")]
    #[param(default = "main")]
    name: String,
    /// The current task, in words.
    #[param(example = "Write the parser")]
    task: Option<String>,
    /// Maximum number of tokens [default: 8000].
    #[param(minimum = 1500, maximum = 10_000_000)]
    budget: Option<u64>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct HistoryQuery {
    /// Name of the notebook.
    #[serde(default = "main_notebook")]
    #[param(default = "main")]
    name: String,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DiffQuery {
    /// Name of the notebook.
    #[serde(default = "main_notebook")]
    #[param(default = "main")]
    name: String,
    /// Earlier revision.
    from: u64,
    /// Later revision.
    to: u64,
}

/// List an agent's notebooks that are not empty, by name.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/notebooks",
    params(("agent" = String, Path, description = "Name of the agent")),
    responses((status = 200, description = "All notebooks", body = WithRev<ItemsBody<NotebookInfo>>), Problems)
)]
async fn list_notebooks(caller: Caller, Path(agent): Path<String>) -> RevResult<ItemsBody<NotebookInfo>> {
    let view = caller.agent(&agent)?.view().await?;
    Ok(RevResponse::new(ItemsBody::all(view.notebooks()), view.rev()))
}

/// Read a notebook.
///
/// A notebook that was never written is empty and has version 0.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/notebook",
    params(("agent" = String, Path, description = "Name of the agent"), NotebookQuery, Seen),
    responses(
        (status = 200, description = "The notebook; `ETag` is its version", content(
            (WithRev<Notebook> = "application/json"),
            (String = "text/plain")
        )),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_notebook(
    caller: Caller,
    Path(agent): Path<String>,
    Query(NotebookQuery { name, at, format }): Query<NotebookQuery>,
    seen: Seen,
) -> Result<Response, HttpError> {
    let memory = caller.agent(&agent)?;
    let (rev, notebook) = match at {
        Some(rev) => (rev, memory.notebook(&name)?.at(rev).await?),
        None => {
            let view = memory.view().await?;
            (view.rev(), view.notebook(&NotebookName::new(&name, view.limits())?))
        }
    };
    if format == Format::Text {
        return Ok(([(REV, rev.to_string())], notebook.to_string()).into_response());
    }
    let version = notebook.version;
    Ok(RevResponse::new(Notebook::clone(&notebook), rev).version(version).unless(&seen).into_response())
}

/// Get the prompt that asks a model to update a notebook.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/notebook/prompt",
    params(("agent" = String, Path, description = "Name of the agent"), PromptQuery),
    responses((status = 200, description = "The prompt", body = WithRev<NotebookPrompt>), Problems)
)]
async fn get_notebook_prompt(
    caller: Caller,
    Path(agent): Path<String>,
    Query(PromptQuery { name, task, budget }): Query<PromptQuery>,
) -> RevResult<NotebookPrompt> {
    let view = caller.agent(&agent)?.view().await?;
    let notebook = view.notebook(&NotebookName::new(&name, view.limits())?);
    let prompt = notebook_prompt(&notebook, task.as_deref(), budget.unwrap_or(BUDGET))?;
    Ok(RevResponse::new(prompt, view.rev()))
}

/// Inputs of an update prompt.
#[derive(Deserialize, ToSchema)]
#[schema(as = NotebookPromptBody, example = json!({"task": "Write the parser", "transcript": "user: the tests fail\n"}))]
#[serde(deny_unknown_fields)]
struct PromptBody {
    /// Name of the notebook.
    #[serde(default = "main_notebook")]
    name: String,
    /// The current task, in words.
    task: Option<String>,
    /// What happened since the last update. Only the end of a long transcript is kept.
    transcript: Option<String>,
    /// The maximum number of tokens [default: 8000].
    #[schema(minimum = 1500, maximum = 10_000_000)]
    budget: Option<u64>,
}

/// Compose the prompt that asks a model to update a notebook from a transcript.
///
/// Read-only. `left_out` names what was cut or left out to stay within the budget.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/prompt",
    params(("agent" = String, Path, description = "Name of the agent")),
    request_body = PromptBody,
    responses((status = 200, description = "The prompt", body = WithRev<NotebookPrompt>), Problems)
)]
async fn compose_notebook_prompt(
    caller: Caller,
    Path(agent): Path<String>,
    Body(PromptBody { name, task, transcript, budget }): Body<PromptBody>,
) -> RevResult<NotebookPrompt> {
    let view = caller.agent(&agent)?.view().await?;
    let notebook = view.notebook(&NotebookName::new(&name, view.limits())?);
    let sources = PromptSources { task: task.as_deref(), transcript: transcript.as_deref() };
    let prompt = notebook_prompt(&notebook, sources, budget.unwrap_or(BUDGET))?;
    Ok(RevResponse::new(prompt, view.rev()))
}

/// History of a notebook.
#[derive(Serialize, ToSchema)]
#[schema(as = NotebookHistoryBody)]
struct HistoryBody {
    #[serde(flatten)]
    page: ItemsBody<NotebookRevision>,
    /// The log is complete after this revision. Earlier changes are not listed.
    from_rev: u64,
}

/// List the changes of a notebook.
///
/// Oldest first, as far back as the log goes.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/notebook/history",
    params(("agent" = String, Path, description = "Name of the agent"), HistoryQuery),
    responses((status = 200, description = "One item per revision, oldest first", body = WithRev<HistoryBody>), Problems)
)]
async fn list_notebook_revisions(
    caller: Caller,
    Path(agent): Path<String>,
    Query(HistoryQuery { name }): Query<HistoryQuery>,
) -> RevResult<HistoryBody> {
    let memory = caller.agent(&agent)?;
    let rev = memory.rev().await?;
    let NotebookHistory { revisions, from_rev } = memory.notebook(&name)?.history().await?;
    Ok(RevResponse::new(HistoryBody { page: ItemsBody::all(revisions), from_rev }, rev))
}

/// Changes between two revisions of a notebook.
#[derive(Serialize, ToSchema)]
#[schema(as = NotebookDiffBody)]
struct DiffBody {
    /// The changes: progress first, then learnings, then snippets.
    #[schema(value_type = Vec<corkboard::notebook::NotebookChange>)]
    changes: NotebookDiff,
}

/// Compare two revisions of a notebook.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/notebook/diff",
    params(("agent" = String, Path, description = "Name of the agent"), DiffQuery),
    responses((status = 200, description = "The changes", body = WithRev<DiffBody>), Problems)
)]
async fn get_notebook_diff(
    caller: Caller,
    Path(agent): Path<String>,
    Query(DiffQuery { name, from, to }): Query<DiffQuery>,
) -> RevResult<DiffBody> {
    let changes = caller.agent(&agent)?.notebook(&name)?.diff(from, to).await?;
    Ok(RevResponse::new(DiffBody { changes }, to))
}
