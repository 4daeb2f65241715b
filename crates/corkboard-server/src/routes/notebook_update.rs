//! An agent's notebooks, as they are changed.

use axum::Json;
use axum::response::Response;
use corkboard::notebook::{NotebookDiff, NotebookItemId};
use corkboard::{Applied, Forgotten};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::notebook::main_notebook;
use crate::caller::Caller;
use crate::condition::{ItemConditions, RevCondition, SpaceConditions};
use crate::error::HttpError;
use crate::extract::{Body, OptionalBody, Path, Query, Text};
use crate::openapi::Problems;
use crate::response::{ClearedBody, RevResponse, WithRev};
use crate::routing::{Routes, routes};

pub(super) fn routes() -> Routes {
    Routes::new()
        .routes(routes!(update_notebook))
        .routes(routes!(restore_notebook))
        .routes(routes!(clear_notebook))
        .routes(routes!(forget_notebook_item))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct UpdateQuery {
    /// Which notebook; `main` if it is not said.
    #[serde(default = "main_notebook")]
    #[param(default = "main")]
    name: String,
    /// Leave out ids that the notebook does not have, instead of changing nothing.
    #[serde(default)]
    ignore_unknown: bool,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NameQuery {
    /// Which notebook; `main` if it is not said.
    #[serde(default = "main_notebook")]
    #[param(default = "main")]
    name: String,
}

/// What is to be shown again.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RestoreNotebookBody {
    /// The revision at which it was shown.
    at: u64,
}

/// What restoring changed.
#[derive(Serialize, ToSchema)]
struct RestoredNotebookBody {
    /// What changed.
    #[schema(value_type = Vec<corkboard::notebook::NotebookChange>)]
    changes: NotebookDiff,
}

/// What is to be forgotten.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct ForgetItemBody {
    /// A learning or a snippet; none: all that the notebook has or ever had.
    item: Option<NotebookItemId>,
}

/// Update a notebook by a text in its language.
///
/// All of it, in one revision, or nothing. A text that is wrong is answered with `problems`: the line and column of each, what
/// is wrong, and what would be right.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/updates",
    tag = "notebook",
    params(("agent" = String, Path, description = "Whose memory"), UpdateQuery, ItemConditions),
    request_body(
        content = String,
        content_type = "text/plain",
        example = "CURRENT_PROGRESS:\n  In Progress:\n    - write the parser\nKEY_LEARNINGS:\n  ADD:\n    - because it bit us: tabs count as two\n"
    ),
    responses((status = 200, description = "It was applied", body = Applied), Problems)
)]
async fn update_notebook(
    caller: Caller,
    Path(agent): Path<String>,
    Query(UpdateQuery { name, ignore_unknown }): Query<UpdateQuery>,
    conditions: ItemConditions,
    Text(text): Text,
) -> Result<Response, HttpError> {
    let notebook = caller.agent(&agent)?.notebook(&name)?;
    let apply = notebook.apply(&text);
    let apply = if ignore_unknown { apply.ignore_unknown() } else { apply };
    let applied = apply.conditions(conditions).await?;
    let rev = applied.rev;
    Ok(RevResponse::new(Json(applied), rev).whole())
}

/// Show again what a notebook showed at a revision.
///
/// What it shows now and did not then is archived, so that nothing is lost.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/restore",
    tag = "notebook",
    params(("agent" = String, Path, description = "Whose memory"), NameQuery, SpaceConditions),
    request_body(content = RestoreNotebookBody, example = json!({"at": 3})),
    responses((status = 200, description = "It was restored", body = WithRev<RestoredNotebookBody>), Problems)
)]
async fn restore_notebook(
    caller: Caller,
    Path(agent): Path<String>,
    Query(NameQuery { name }): Query<NameQuery>,
    conditions: SpaceConditions,
    Body(RestoreNotebookBody { at }): Body<RestoreNotebookBody>,
) -> Result<RevResponse<RestoredNotebookBody>, HttpError> {
    let notebook = caller.agent(&agent)?.notebook(&name)?;
    let (rev, changes) = notebook.restore(at).conditions(conditions).await?;
    Ok(RevResponse::new(RestoredNotebookBody { changes }, rev))
}

/// Empty a notebook.
///
/// Archived items included; its ids stay used. The log still has them.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/clear",
    tag = "notebook",
    params(("agent" = String, Path, description = "Whose memory"), NameQuery, SpaceConditions),
    responses((status = 200, description = "It is empty", body = WithRev<ClearedBody>), Problems)
)]
async fn clear_notebook(
    caller: Caller,
    Path(agent): Path<String>,
    Query(NameQuery { name }): Query<NameQuery>,
    conditions: SpaceConditions,
) -> Result<RevResponse<ClearedBody>, HttpError> {
    let notebook = caller.agent(&agent)?.notebook(&name)?;
    let (rev, removed) = notebook.clear().conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(ClearedBody { removed }, rev))
}

/// Forget an item of a notebook for good, or all of it.
///
/// As `forget` of the whole memory does. An item goes with its reasons; a bullet of the progress that repeats its words stays.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/forget",
    tag = "notebook",
    params(("agent" = String, Path, description = "Whose memory"), NameQuery, RevCondition),
    request_body(content = Option<ForgetItemBody>, example = json!({"item": "KL-1"})),
    responses((status = 200, description = "It is gone", body = WithRev<Forgotten>), Problems)
)]
async fn forget_notebook_item(
    caller: Caller,
    Path(agent): Path<String>,
    Query(NameQuery { name }): Query<NameQuery>,
    RevCondition { if_rev }: RevCondition,
    OptionalBody(ForgetItemBody { item }): OptionalBody<ForgetItemBody>,
) -> Result<RevResponse<Forgotten>, HttpError> {
    let memory = caller.agent(&agent)?;
    let forget = memory.notebook(&name)?.forget(item);
    let forgotten = if let Some(rev) = if_rev { forget.if_rev(rev).await? } else { forget.await? };
    Ok(RevResponse::new(forgotten, memory.rev().await?))
}
