//! Tools for models: list their definitions, and call them.

use crate::routes::prelude::*;
use corkboard::tools::{ToolCall, ToolCallAnswer, ToolContext, ToolFormat, ToolOutput, ToolRegistry, ToolSet};
use serde_json::Value;

use crate::extract::{JsonBytes, from_json};

pub(super) fn routes() -> Routes {
    routes!(list_tools, call_tools, call_tool).tag("tools")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Definition format of the provider: `openai` (Chat Completions), `openai_responses` (Responses), `anthropic` or
    /// `mcp`.
    #[serde(default)]
    #[param(inline)]
    format: ToolFormat,
    /// Comma-separated tool sets: `scratchpad`, `memory`, `notebook`, `worker`, `orchestrator`, `anthropic`,
    /// `reference`, or `all`
    /// [default: `scratchpad,memory`].
    #[param(example = "memory,worker")]
    set: Option<String>,
}

/// A call of the tool named in the path.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CallToolBody {
    /// Input of the tool: a JSON object, or a string that contains one. OpenAI's name `arguments` is accepted, too.
    #[serde(default, alias = "arguments")]
    input: Value,
    /// Agent, board and conversation that the call is about. The agent defaults to the caller.
    #[serde(default)]
    context: ToolContext,
}

/// A batch of tool calls.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CallToolsBody {
    /// The calls, in order.
    #[schema(min_items = 1, max_items = 100)]
    calls: Vec<ToolCall>,
    /// Default context of all calls. The agent defaults to the caller.
    #[serde(default)]
    context: ToolContext,
}

/// Results of a batch.
#[derive(Serialize, ToSchema)]
struct ToolAnswersBody {
    /// One answer for each call, in the order of the calls.
    answers: Vec<ToolCallAnswer>,
}

/// Maximum number of calls in one batch.
const CALLS: usize = 100;

/// List tool definitions.
#[utoipa::path(
    get,
    path = "/v1/tools",
    params(ListQuery),
    responses((status = 200, body = ItemsBody<Value>), Problems)
)]
async fn list_tools(caller: Caller, Query(query): Query<ListQuery>) -> Result<axum::Json<ItemsBody<Value>>, HttpError> {
    let tools = ToolRegistry::with_sets(caller.corkboard(), &sets(query.set.as_deref())?);
    Ok(axum::Json(ItemsBody::all(tools.tool_definitions(query.format))))
}

pub(crate) fn sets(named: Option<&str>) -> Result<Vec<ToolSet>, HttpError> {
    match named {
        None | Some("") => Ok(ToolSet::DEFAULT.into()),
        Some(names) => ToolSet::parse_list(names).map_err(|message| HttpError::invalid("tool_set", message)),
    }
}

/// Call several tools in order.
///
/// Each call sees the effects of the calls before it. The batch is not atomic: a call that fails changes nothing and
/// returns its problem, and all other calls still run. The status is 200 whenever the server could read the batch. If
/// the token may not use a board or agent, only calls that name it fail.
#[utoipa::path(
    post,
    path = "/v1/tools",
    request_body(content = CallToolsBody, example = json!({
        "calls": [
            {"id": "call_1", "name": "write_memory", "input": {"key": "plan", "content": "ship on Friday"}},
            {"id": "call_2", "name": "read_memory", "input": {"key": "plan"}}
        ],
        "context": {"agent": "ada", "conversation": "c-1"}
    })),
    responses((status = 200, body = ToolAnswersBody), Problems)
)]
async fn call_tools(caller: Caller, JsonBytes(bytes): JsonBytes) -> Result<axum::Json<ToolAnswersBody>, HttpError> {
    let CallToolsBody { calls, context: shared } = from_json(&bytes)
        .map_err(|error| error.advise(r#"Send {"calls": [{"name": …, "input": {…}}], "context": {"agent": …}}"#))?;
    if !(1..=CALLS).contains(&calls.len()) {
        let detail = format!("a batch of {} calls; expected 1 to {CALLS}", calls.len());
        return Err(HttpError::invalid("batch", detail));
    }
    let mut answers = Vec::with_capacity(calls.len());
    for ToolCall { id, name, input, context } in calls {
        let called = call(&caller, &name, input, context.or(&shared)).await;
        let (output, problem) = match called {
            Ok(output) => (Some(output), None),
            Err(error) => (None, Some(error.into_problem())),
        };
        answers.push(ToolCallAnswer { id, name: Some(name), output, problem });
    }
    Ok(axum::Json(ToolAnswersBody { answers }))
}

/// Call a tool.
///
/// Admins and services act as the agent in the context; all other callers act as themselves. On a board, a tool acts
/// with at most the role of its set. An invalid call returns the mistake with a correct call (`example`) or the next
/// step (`advice`). While an urgent nudge waits for the agent on the context's board, every response starts with it,
/// and `complete_task` is refused once (`urgent_nudges`), which delivers it. Unless conversations are shared, a
/// scratchpad exists only on the server that handles the call.
#[utoipa::path(
    post,
    path = "/v1/tools/{name}",
    params(("name" = String, Path, description = "Name of the tool", example = "write_memory")),
    request_body(content = CallToolBody, example = json!({
        "input": {"key": "plan", "content": "ship on Friday"},
        "context": {"agent": "ada", "conversation": "c-1"}
    })),
    responses((status = 200, body = ToolOutput), Problems)
)]
async fn call_tool(
    caller: Caller,
    Path(name): Path<String>,
    JsonBytes(bytes): JsonBytes,
) -> Result<axum::Json<ToolOutput>, HttpError> {
    let CallToolBody { input, context } = from_json(&bytes).map_err(|error| {
        error.advise(
            r#"Put the tool's input in "input", and the agent in "context": {"input": {…}, "context": {"agent": …}}"#,
        )
    })?;
    Ok(axum::Json(call(&caller, &name, input, context).await?))
}

async fn call(caller: &Caller, name: &str, input: Value, context: ToolContext) -> Result<ToolOutput, HttpError> {
    let (corkboard, context) = caller.clone().for_tools(context)?;
    Ok(ToolRegistry::with_sets(&corkboard, &ToolSet::ALL).call(name, input, &context).await?)
}
