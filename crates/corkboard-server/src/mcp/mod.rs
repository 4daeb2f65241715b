//! Corkboard for clients of the Model Context Protocol: tools, resources and prompts, over stdio and over HTTP.

mod address;
mod changes;
mod complete;
mod http;
mod prompts;
mod resources;
mod stdio;
mod workspace;

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use corkboard::tools::{RememberedClaims, ToolError, ToolFormat, ToolOutput, ToolRegistry, ToolSet};
use jiff::Timestamp;
use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    Extensions, GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Prompt, ReadResourceRequestParams, ReadResourceResponse, Resource, ResourceTemplate,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

pub use http::router_with;
pub(crate) use http::{METADATA, challenge, routes};
pub use rmcp::model::Tool;
pub use stdio::serve_stdio;
pub use workspace::{OpenWorkspace, StdioWorkspace, Workspace, WorkspaceError};

use changes::Subscriptions;
use workspace::WorkspaceSource;

/// A call that takes longer than this reports its progress, and does so again after each further interval.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// What a client shows its model about this server. Clients cut it at 2 KB.
const INSTRUCTIONS: &str = "Corkboard is your memory. What you store stays for later conversations; other assistants of \
    this project share it. Search before you ask a person something that they may have told you before. Store decisions, \
    preferences and facts with write_memory. memory_write is a scratchpad for this conversation only. Before you finish, \
    leave a note for the next session with write_session_handoff.";

/// The sets of a connection that names none: the default ones, and the worker's if it is about a board.
pub fn default_sets(board: Option<&str>) -> Vec<ToolSet> {
    let worker = board.map(|_| ToolSet::Worker);
    ToolSet::DEFAULT.into_iter().chain(worker).collect()
}

/// The MCP server of one connection: a client's stdio process, or an HTTP session or request.
#[derive(Clone)]
pub struct McpServer {
    source: WorkspaceSource,
    subscriptions: Subscriptions,
    claims: RememberedClaims,
    /// When requests to listen were accepted that do not listen yet.
    accepted: Arc<Mutex<VecDeque<Timestamp>>>,
}

impl McpServer {
    fn new(source: WorkspaceSource) -> Self {
        Self {
            source,
            subscriptions: Subscriptions::default(),
            claims: RememberedClaims::default(),
            accepted: Arc::default(),
        }
    }

    async fn open(&self, extensions: &Extensions) -> Result<Workspace, WorkspaceError> {
        let mut workspace = self.source.open(extensions).await?;
        workspace.context.claims = Some(self.claims.clone());
        Ok(workspace)
    }

    async fn workspace(&self, context: &RequestContext<RoleServer>) -> Result<Workspace, ErrorData> {
        let opened = self.open(&context.extensions).await;
        opened.map_err(|WorkspaceError(message)| ErrorData::internal_error(message, None))
    }
}

/// What a client sees of this server.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ServerListing {
    pub tools: Vec<Tool>,
    pub resources: Vec<Resource>,
    pub resource_templates: Vec<ResourceTemplate>,
    pub prompts: Vec<Prompt>,
}

impl ServerListing {
    /// Opens the workspace and lists its tools, the first page of its resources, and its prompts.
    pub async fn of(workspace: &StdioWorkspace) -> Result<Self, WorkspaceError> {
        let opened = workspace.open().await?;
        let page = resources::list(opened, None).await.map_err(|error| WorkspaceError(error.message.into()))?;
        Ok(Self {
            tools: listed(workspace.definitions()),
            resources: page.resources,
            resource_templates: resources::templates(),
            prompts: prompts::list(),
        })
    }
}

/// The definitions of a registry's tools, as clients list them.
fn listed(registry: &ToolRegistry) -> Vec<Tool> {
    let definitions = registry.tool_definitions(ToolFormat::Mcp).into_iter();
    definitions.filter_map(|definition| serde_json::from_value(definition).ok()).collect()
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_completions()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .build();
        let implementation = Implementation::new("corkboard", env!("CARGO_PKG_VERSION")).with_title("Corkboard");
        ServerConfig::new(capabilities).with_server_info(implementation).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let registry = self.source.definitions(&context.extensions);
        let registry = registry.map_err(|WorkspaceError(message)| ErrorData::invalid_params(message, None))?;
        Ok(ListToolsResult::with_all_items(listed(&registry)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = request.arguments.map_or(Value::Null, Value::Object);
        let called = reporting_progress(&context, async {
            let workspace = match self.open(&context.extensions).await {
                Ok(workspace) => workspace,
                Err(WorkspaceError(message)) => return Ok(failed(message)),
            };
            let registry = ToolRegistry::with_sets(&workspace.corkboard, &workspace.sets);
            match registry.call(&request.name, input, &workspace.context).await {
                Ok(output) => Ok(answered(&registry, &request.name, output)),
                // A client that lists the tools does not call others.
                Err(error @ ToolError::UnknownTool { .. }) => Err(ErrorData::invalid_params(error.to_string(), None)),
                Err(error) => Ok(failed(error.to_string())),
            }
        });
        tokio::select! {
            called = called => Ok(called?.into()),
            // A write that was sent still runs to its end.
            () = context.ct.cancelled() => Ok(failed("the client cancelled the call").into()),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(&self.workspace(&context).await?, request.and_then(|page| page.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(resources::read(&self.workspace(&context).await?, &request.uri).await?.into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&self.workspace(&context).await?, request).await?.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        complete::complete(&self.workspace(&context).await?, request).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // The SDK then acknowledges the request, and calls `listen`.
        self.accepted.lock().push_back(self.source.time());
        Some(changes::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = self.accepted.lock().pop_front().unwrap_or_else(|| self.source.time());
        let workspace = self.workspace(context.request_context()).await?;
        changes::listen(&workspace, &context, accepted).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let workspace = self.workspace(&context).await?;
        self.subscriptions.add(workspace, request.uri, context.peer).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }
}

/// The answer of a tool. Clients that see structured content may show the model nothing else, so it is only sent if it
/// is the whole answer.
fn answered(registry: &ToolRegistry, name: &str, output: ToolOutput) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(output.text)]);
    if registry.definition(name).is_some_and(|definition| definition.output_schema.is_some()) {
        result.structured_content = Some(output.data);
    }
    result
}

/// The answer of a failed call. Unlike a protocol error, clients show it to the model.
fn failed(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

/// Runs a call and tells the client that it still runs, if the client asked for that.
async fn reporting_progress<T>(context: &RequestContext<RoleServer>, call: impl Future<Output = T>) -> T {
    let mut call = std::pin::pin!(call);
    let Some(token) = context.meta.get_progress_token() else { return call.await };
    let mut seconds = 0.0;
    loop {
        match tokio::time::timeout(PROGRESS_INTERVAL, &mut call).await {
            Ok(answer) => return answer,
            Err(_) => {
                seconds += PROGRESS_INTERVAL.as_secs_f64();
                let progress = ProgressNotificationParam::new(token.clone(), seconds).with_message("still running");
                // A client that left gets no answer either.
                let _ = context.peer.notify_progress(progress).await;
            }
        }
    }
}
