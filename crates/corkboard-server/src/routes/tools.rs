//! What models call: the definitions that they are given, and their calls.

use crate::routes::prelude::*;
use corkboard::tools::{ToolContext, ToolFormat, ToolOutput, ToolRegistry, ToolSet};
use serde_json::Value;

pub(super) fn routes() -> Routes {
    routes!(list_tools, call_tool).tag("tools")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// A provider's form of definitions.
    #[serde(default)]
    #[param(inline)]
    format: ToolFormat,
    /// Sets of tools, with commas between them: `scratchpad`, `memory`, `notebook`, `worker`, `orchestrator`, `anthropic`, or
    /// `all`. If nothing is said, `scratchpad,memory`.
    #[param(example = "memory,worker")]
    set: Option<String>,
}

/// Tools.
#[derive(Serialize, ToSchema)]
struct ToolsBody {
    /// Their definitions, as the provider wants them.
    tools: Vec<Value>,
}

/// A call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CallBody {
    /// What the model gave: the tool's own schema says what it takes.
    #[serde(default)]
    input: Value,
    /// For whom. Without an agent, for the caller.
    #[serde(default)]
    context: ToolContext,
}

/// What a model is told about its tools.
#[utoipa::path(
    get,
    path = "/v1/tools",
    params(ListQuery),
    responses((status = 200, body = ToolsBody), Problems)
)]
async fn list_tools(caller: Caller, Query(query): Query<ListQuery>) -> Result<axum::Json<ToolsBody>, HttpError> {
    let tools = ToolRegistry::with_sets(caller.corkboard(), &sets(query.set.as_deref())?);
    Ok(axum::Json(ToolsBody { tools: tools.tool_definitions(query.format) }))
}

fn sets(named: Option<&str>) -> Result<Vec<ToolSet>, HttpError> {
    match named {
        None | Some("") => Ok(ToolSet::DEFAULT.into()),
        Some("all") => Ok(ToolSet::ALL.into()),
        Some(names) => {
            let sets = names.split(',').map(|name| name.trim().parse::<ToolSet>());
            sets.collect::<Result<_, _>>().map_err(|message| HttpError::invalid("tool_set", message))
        }
    }
}

/// Call a tool as a model does.
///
/// Admins and services call it in the name of the agent in the context, everybody else in their own. What a tool does on a
/// board it does in the tool's role at most. A call that is wrong answers with what is wrong and with a call that is right
/// (`example`), or with what to do next (`advice`). While an urgent nudge waits for the agent on the board in the context,
/// every answer begins with it, and `complete_task` is refused once (`urgent_nudges`), which delivers it. A conversation's scratchpad lives in the server that was asked.
#[utoipa::path(
    post,
    path = "/v1/tools/{name}",
    params(("name" = String, Path, description = "Which tool", example = "write_memory")),
    request_body(content = CallBody, example = json!({
        "input": {"key": "plan", "content": "ship on Friday"},
        "context": {"agent": "ada", "conversation": "c-1"}
    })),
    responses((status = 200, body = ToolOutput), Problems)
)]
async fn call_tool(
    caller: Caller,
    Path(name): Path<String>,
    Body(body): Body<CallBody>,
) -> Result<axum::Json<ToolOutput>, HttpError> {
    let CallBody { input, mut context } = body;
    if context.agent.is_empty() {
        context.agent = caller.actor().principal.clone();
    }
    let caller = caller.for_agent(&context.agent)?;
    // Whoever names what is not theirs hears so, whether the tool would have used it or not.
    caller.agent(&context.agent)?;
    if let Some(board) = context.board.as_deref().filter(|board| !board.is_empty()) {
        caller.board(board)?;
    }
    context.actor = Some(caller.actor().clone());
    let tools = ToolRegistry::with_sets(caller.corkboard(), &ToolSet::ALL);
    Ok(axum::Json(tools.call(&name, input, &context).await?))
}
