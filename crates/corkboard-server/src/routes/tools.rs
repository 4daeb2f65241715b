//! What models call: the definitions that they are given, and their calls.

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
    /// The provider's form: `openai` (Chat Completions), `openai_responses` (Responses), `anthropic` or `mcp`.
    #[serde(default)]
    #[param(inline)]
    format: ToolFormat,
    /// Sets of tools, with commas between them: `scratchpad`, `memory`, `notebook`, `worker`, `orchestrator`, `anthropic`, or
    /// `all`. If nothing is said, `scratchpad,memory`.
    #[param(example = "memory,worker")]
    set: Option<String>,
}

/// A call of the tool that the path names.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CallToolBody {
    /// The tool's input: a JSON object, or a string that holds one. `arguments`, OpenAI's word, is accepted too.
    #[serde(default, alias = "arguments")]
    input: Value,
    /// What the call is about. Without an agent, the caller's own memory.
    #[serde(default)]
    context: ToolContext,
}

/// Several calls.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CallToolsBody {
    /// The calls, in order.
    #[schema(min_items = 1, max_items = 100)]
    calls: Vec<ToolCall>,
    /// What the calls are about, unless they say otherwise. Without an agent, the caller's own memory.
    #[serde(default)]
    context: ToolContext,
}

/// The answers to several calls.
#[derive(Serialize, ToSchema)]
struct ToolAnswersBody {
    /// One answer for each call, in the order of the calls.
    answers: Vec<ToolCallAnswer>,
}

/// The most calls in one request.
const CALLS: usize = 100;

/// List the definitions of tools.
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

/// Call several tools, one after the other.
///
/// The server runs the calls in order and each call sees the effects of those before it. The batch is not atomic: a call that
/// fails has its problem in its answer and changes nothing, and the calls before and after it still happen. The status is 200
/// whenever the batch itself could be read. A token that may not use a board or agent fails only the calls that name it.
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

/// Call a tool as a model does.
///
/// Admins and services call it in the name of the agent in the context, everybody else in their own. A tool acts on a board
/// with at most the role of its set. A wrong call is answered with the mistake and a correct call (`example`), or with what to
/// do next (`advice`). While an urgent nudge waits for the agent on the board in the context, every answer begins with it, and
/// `complete_task` is refused once (`urgent_nudges`), which delivers it. A conversation's scratchpad lives in the server that
/// was asked.
#[utoipa::path(
    post,
    path = "/v1/tools/{name}",
    params(("name" = String, Path, description = "The tool's name", example = "write_memory")),
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

async fn call(caller: &Caller, name: &str, input: Value, mut context: ToolContext) -> Result<ToolOutput, HttpError> {
    if context.agent.is_empty() {
        context.agent = caller.actor().principal.clone();
    }
    let caller = caller.clone().for_agent(&context.agent)?;
    // Whoever names what is not theirs hears so, whether the tool would have used it or not.
    caller.agent(&context.agent)?;
    if let Some(board) = context.board.as_deref().filter(|board| !board.is_empty()) {
        caller.board(board)?;
    }
    context.actor = Some(caller.actor().clone());
    let tools = ToolRegistry::with_sets(caller.corkboard(), &ToolSet::ALL);
    Ok(tools.call(name, input, &context).await?)
}
