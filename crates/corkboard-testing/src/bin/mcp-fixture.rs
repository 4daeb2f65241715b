//! Serves a store in memory at `/mcp`, with the tools, resources and prompts that the public MCP conformance suite calls
//! by name, around the real MCP server. Everything else is the real server's. Prints its URL.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints its URL, or why it failed")]
#![allow(deprecated, reason = "the suite calls what older revisions still have")]

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::process::ExitCode;
use std::sync::LazyLock;

use corkboard::Corkboard;
use corkboard_server::mcp::{McpServer, Tool, router_with};
use corkboard_server::{Authentication, Server, Settings};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CompleteRequestParams, CompleteResult,
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputRequiredResult, InputResponses, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams,
    ProgressNotificationParam, Prompt, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceTemplate, SamplingMessage, ServerConfig, ServerRequest,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The suite subscribes to a resource of this name. It stands for a real one.
const WATCHED: (&str, &str) = ("test://watched-resource", "cork://agents/fixture/handoff");

/// What the suite expects by name: definitions and answers.
#[derive(Deserialize)]
struct Table {
    tools: BTreeMap<String, Entry>,
    prompts: BTreeMap<String, Entry>,
    resources: BTreeMap<String, JsonObject>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    description: String,
    input_schema: Option<JsonObject>,
    #[serde(default)]
    arguments: Vec<Value>,
    /// Progress to report before the answer.
    #[serde(default)]
    progress: Vec<f64>,
    /// Messages to log before the answer.
    #[serde(default)]
    logs: Vec<String>,
    /// A request to the client of a session. Its result is the answer.
    asks: Option<Value>,
    /// Capabilities that the client must have.
    needs: Option<ClientCapabilities>,
    /// What a client without a session must send, one after the other.
    #[serde(default)]
    rounds: Vec<Round>,
    content: Option<Value>,
    #[serde(default)]
    is_error: bool,
    messages: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Round {
    input_requests: BTreeMap<String, Value>,
    request_state: Option<String>,
}

static TABLE: LazyLock<Result<Table, serde_json::Error>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../../corkboard-server/tests/mcp/fixture.json")));

fn table() -> Result<&'static Table, ErrorData> {
    TABLE.as_ref().map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// The real server, and the names of the suite.
#[derive(Clone)]
struct Fixture {
    real: McpServer,
}

impl Entry {
    fn tool(&self, name: &'static str) -> Tool {
        let schema =
            self.input_schema.clone().unwrap_or_else(|| JsonObject::from_iter([("type".into(), "object".into())]));
        Tool::new(name, self.description.clone(), schema)
    }

    /// What the client must send before it gets the answer. None if it sent everything.
    fn asked(
        &self,
        context: &RequestContext<RoleServer>,
        state: Option<&str>,
        responses: Option<&InputResponses>,
    ) -> Result<Option<InputRequiredResult>, ErrorData> {
        let capabilities = json!(context.client_capabilities().unwrap_or_default());
        let current = match state {
            None => 0,
            Some(state) => self
                .rounds
                .iter()
                .position(|round| round.request_state.as_deref() == Some(state))
                .ok_or_else(|| ErrorData::invalid_params("requestState is not one that this server sent", None))?,
        };
        let Some(round) = self.rounds.get(current) else { return Ok(None) };
        let answers_to = |round: &Round| {
            let given = |key| responses.and_then(|given| given.get(key)).is_some_and(Value::is_object);
            round.request_state.as_deref() == state && round.input_requests.keys().all(given)
        };
        let round = match answers_to(round) {
            true => self.rounds.get(current + 1),
            false => Some(round),
        };
        let Some(round) = round else { return Ok(None) };
        let can = |request: &Value| {
            let capability = match request["method"].as_str() {
                Some("sampling/createMessage") => "sampling",
                Some("roots/list") => "roots",
                _ => "elicitation",
            };
            capabilities.get(capability).is_some()
        };
        let requests: JsonObject = round
            .input_requests
            .iter()
            .filter(|(_, request)| can(request))
            .map(|(key, request)| (key.clone(), request.clone()))
            .collect();
        if requests.is_empty() {
            let missing = read(json!({"elicitation": {}}))?;
            return Err(ErrorData::missing_required_client_capability(missing));
        }
        Ok(Some(InputRequiredResult::new(Some(read(Value::Object(requests))?), round.request_state.clone())))
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(needed) = &self.needs {
            let needed_keys = json!(needed);
            let has = json!(context.client_capabilities().unwrap_or_default());
            if !needed_keys.as_object().is_some_and(|needed| needed.keys().all(|key| has.get(key).is_some())) {
                return Err(ErrorData::missing_required_client_capability(needed.clone()));
            }
        }
        let (state, responses) = (request.request_state.as_deref(), request.input_responses.as_ref());
        if let Some(asked) = self.asked(context, state, responses)? {
            return Ok(asked.into());
        }
        for progress in &self.progress {
            if let Some(token) = context.meta.get_progress_token() {
                let progress = ProgressNotificationParam::new(token, *progress).with_total(100.0);
                context.peer.notify_progress(progress).await.map_err(gone)?;
            }
        }
        let has_session = context.protocol_version().is_none_or(|version| version < ProtocolVersion::V_2026_07_28);
        for message in self.logs.iter().filter(|_| has_session || context.meta.log_level().is_some()) {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
            context.peer.notify_logging_message(message).await.map_err(gone)?;
        }
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let asked = match &self.asks {
            None => {
                let content = self.content.clone().unwrap_or_else(|| json!([]));
                return Ok(read::<CallToolResult>(
                    json!({"resultType": "complete", "content": content, "isError": self.is_error}),
                )?
                .into());
            }
            Some(Value::String(_)) => {
                let messages = vec![SamplingMessage::user_text(argument("prompt"))];
                let params = CreateMessageRequestParams::new(messages, 100);
                ServerRequest::CreateMessageRequest(CreateMessageRequest::new(params))
            }
            Some(elicitation) => {
                let mut params = elicitation["params"].clone();
                if let (Some(message), Some(fields)) = (arguments.get("message"), params.as_object_mut()) {
                    fields.insert("message".into(), message.clone());
                }
                ServerRequest::ElicitRequest(ElicitRequest::new(read(params)?))
            }
        };
        let answer = context.peer.send_request(asked).await.map_err(gone)?;
        let answer = serde_json::to_string(&answer).unwrap_or_default();
        Ok(read::<CallToolResult>(json!({"resultType": "complete", "content": [{"type": "text", "text": format!("The client answered: {answer}")}]}),
        )?
        .into())
    }

    fn prompt(&self, name: &str) -> Result<Prompt, ErrorData> {
        read(json!({"name": name, "description": self.description, "arguments": self.arguments}))
    }
}

fn gone(error: rmcp::ServiceError) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// The texts of a JSON value, with the values of their placeholders.
fn filled(value: Value, values: &JsonObject) -> Value {
    match value {
        Value::String(text) => {
            let fill = |text: String, (name, value): (&String, &Value)| {
                text.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default())
            };
            Value::String(values.iter().fold(text, fill))
        }
        Value::Array(items) => items.into_iter().map(|item| filled(item, values)).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, filled(field, values))).collect(),
        other => other,
    }
}

/// The placeholder's value, if the template matches the URI.
fn matched(template: &str, uri: &str) -> Option<JsonObject> {
    let Some((before, after)) = template.split_once("{id}") else { return (template == uri).then(JsonObject::new) };
    let id = uri.strip_prefix(before)?.strip_suffix(after)?;
    Some(JsonObject::from_iter([("id".into(), id.into())]))
}

/// The real name of a resource.
fn real(uri: String) -> String {
    if uri == WATCHED.0 { WATCHED.1.into() } else { uri }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.real.get_info();
        info.capabilities.logging = Some(JsonObject::new());
        info
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let (name, entry) = table().ok()?.tools.get_key_value(name)?;
        Some(entry.tool(name))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.real.list_tools(request, context).await?;
        listed.tools.extend(table()?.tools.iter().map(|(name, entry)| entry.tool(name)));
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match table()?.tools.get(&*request.name) {
            Some(entry) => entry.call(request, &context).await,
            None => self.real.call_tool(request, context).await,
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut listed = self.real.list_prompts(request, context).await?;
        for (name, entry) in &table()?.prompts {
            listed.prompts.push(entry.prompt(name)?);
        }
        Ok(listed)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let Some(entry) = table()?.prompts.get(&request.name) else {
            return self.real.get_prompt(request, context).await;
        };
        let asked = entry.asked(&context, request.request_state.as_deref(), request.input_responses.as_ref())?;
        if let Some(asked) = asked {
            return Ok(asked.into());
        }
        let messages = filled(entry.messages.clone().unwrap_or_default(), &request.arguments.unwrap_or_default());
        Ok(read::<GetPromptResult>(json!({"resultType": "complete", "messages": messages}))?.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut listed = self.real.list_resources(request, context).await?;
        let fixed = table()?.resources.keys().filter(|uri| !uri.contains('{'));
        listed.resources.extend(fixed.map(|uri| Resource::new(uri, uri).with_description("Resource of the suite")));
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut listed = self.real.list_resource_templates(request, context).await?;
        let templates = table()?.resources.keys().filter(|uri| uri.contains('{'));
        listed.resource_templates.extend(templates.map(|uri| ResourceTemplate::new(uri, uri)));
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let found =
            table()?.resources.iter().find_map(|(template, contents)| Some((matched(template, &uri)?, contents)));
        let Some((values, contents)) = found else { return self.real.read_resource(request, context).await };
        let fields = contents.iter().map(|(name, field)| (name.clone(), filled(field.clone(), &values)));
        let contents: JsonObject = fields.chain([("uri".into(), uri.into())]).collect();
        Ok(read::<ReadResourceResult>(json!({"resultType": "complete", "contents": [contents]}))?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.real.complete(request, context).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.real.accepted_subscription_filter(requested)
    }

    fn listen(&self, context: SubscriptionContext) -> impl Future<Output = Result<(), ErrorData>> + Send + '_ {
        self.real.listen(context)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.real.subscribe(SubscribeRequestParams::new(real(request.uri)), context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.real.unsubscribe(UnsubscribeRequestParams::new(real(request.uri)), context).await
    }
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let corkboard = Corkboard::open("memory:").await?;
    let server = Server::new(corkboard, Settings::new(Authentication::Open));
    let router = router_with(server, |real| Fixture { real });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://localhost:{}/mcp", listener.local_addr()?.port());
    Ok(axum::serve(listener, router).await?)
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
