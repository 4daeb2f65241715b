//! Update, restore, clear and forget notebooks.

use axum::Json;
use axum::response::Response;
use corkboard::notebook::{NotebookDiff, NotebookItemId};
use corkboard::{AppliedNotebookUpdate, Forgotten};

use super::notebook::main_notebook;
use crate::condition::{ItemConditions, RevCondition, SpaceConditions};
use crate::extract::Text;
use crate::routes::prelude::*;

pub(super) fn routes() -> Routes {
    routes!(update_notebook, restore_notebook, clear_notebook, forget_notebook_item).tag("notebook")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct UpdateQuery {
    /// Name of the notebook.
    #[serde(default = "main_notebook")]
    #[param(default = "main")]
    name: String,
    /// Skip unknown item IDs instead of refusing the whole update.
    #[serde(default)]
    ignore_unknown: bool,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct NameQuery {
    /// Name of the notebook.
    #[serde(default = "main_notebook")]
    #[param(default = "main")]
    name: String,
}

/// Which state of a notebook to restore.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RestoreNotebookBody {
    /// Revision to restore.
    at: u64,
}

/// Result of restoring a notebook.
#[derive(Serialize, ToSchema)]
struct RestoredNotebookBody {
    /// The changes.
    #[schema(value_type = Vec<corkboard::notebook::NotebookChange>)]
    changes: NotebookDiff,
}

/// What to forget of a notebook.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct ForgetItemBody {
    /// ID of a learning or a snippet [default: everything that the notebook contains or ever contained].
    item: Option<NotebookItemId>,
}

/// Update a notebook from text in the notebook format.
///
/// The whole update is applied in one revision, or nothing. If the text is invalid, the response lists `problems`: line
/// and column, the mistake and the correction.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/updates",
    params(("agent" = String, Path, description = "Name of the agent"), UpdateQuery, ItemConditions),
    request_body(
        content = String,
        content_type = "text/plain",
        example = "CURRENT_PROGRESS:\n  In Progress:\n    - write the parser\nKEY_LEARNINGS:\n  ADD:\n    - because it bit us: tabs count as two\n"
    ),
    responses((status = 200, description = "It was applied", body = AppliedNotebookUpdate), Problems)
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

/// Restore a notebook to an earlier revision.
///
/// Items that were added since are archived, so nothing is lost.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/restore",
    params(("agent" = String, Path, description = "Name of the agent"), NameQuery, SpaceConditions),
    request_body(content = RestoreNotebookBody, example = json!({"at": 3})),
    responses((status = 200, description = "It was restored", body = WithRev<RestoredNotebookBody>), Problems)
)]
async fn restore_notebook(
    caller: Caller,
    Path(agent): Path<String>,
    Query(NameQuery { name }): Query<NameQuery>,
    conditions: SpaceConditions,
    Body(RestoreNotebookBody { at }): Body<RestoreNotebookBody>,
) -> RevResult<RestoredNotebookBody> {
    let notebook = caller.agent(&agent)?.notebook(&name)?;
    let (rev, changes) = notebook.restore(at).conditions(conditions).await?;
    Ok(RevResponse::new(RestoredNotebookBody { changes }, rev))
}

/// Clear a notebook.
///
/// Also removes archived items. Their IDs are not used again, and the log keeps them.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/clear",
    params(("agent" = String, Path, description = "Name of the agent"), NameQuery, SpaceConditions),
    responses((status = 200, description = "It was cleared", body = WithRev<ClearedBody>), Problems)
)]
async fn clear_notebook(
    caller: Caller,
    Path(agent): Path<String>,
    Query(NameQuery { name }): Query<NameQuery>,
    conditions: SpaceConditions,
) -> RevResult<ClearedBody> {
    let notebook = caller.agent(&agent)?.notebook(&name)?;
    let (rev, removed) = notebook.clear().conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(ClearedBody { removed }, rev))
}

/// Forget an item of a notebook permanently, or the whole notebook.
///
/// Erases it like `POST /v1/agents/{agent}/forget`. An item is erased together with its rationale. A progress bullet
/// that repeats its words stays.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/notebook/forget",
    params(("agent" = String, Path, description = "Name of the agent"), NameQuery, RevCondition),
    request_body(content = Option<ForgetItemBody>, example = json!({"item": "KL-1"})),
    responses((status = 200, description = "It was forgotten", body = WithRev<Forgotten>), Problems)
)]
async fn forget_notebook_item(
    caller: Caller,
    Path(agent): Path<String>,
    Query(NameQuery { name }): Query<NameQuery>,
    RevCondition { if_rev }: RevCondition,
    OptionalBody(ForgetItemBody { item }): OptionalBody<ForgetItemBody>,
) -> RevResult<Forgotten> {
    let memory = caller.agent(&agent)?;
    let forget = memory.notebook(&name)?.forget(item);
    let forgotten = if let Some(rev) = if_rev { forget.if_rev(rev).await? } else { forget.await? };
    Ok(RevResponse::new(forgotten, memory.rev().await?))
}
