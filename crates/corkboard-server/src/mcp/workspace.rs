//! What a connection works with: whose memory, which conversation and board, and which tools.

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Query;
use axum::http::request::Parts;
use corkboard::Corkboard;
use corkboard::tools::{ToolContext, ToolRegistry, ToolSet};
use jiff::Timestamp;
use rmcp::model::Extensions;
use serde::Deserialize;
use tokio::sync::OnceCell;

use super::default_sets;
use crate::Server;
use crate::caller::Caller;
use crate::error::HttpError;
use crate::routes::tool_sets;

/// Conversation of HTTP clients that have neither a session nor the parameter `conversation`.
const WITHOUT_SESSION: &str = "mcp";
/// The header with the session of clients before the revision 2026-07-28.
pub(super) const SESSION: &str = "mcp-session-id";

/// An agent's memory and perhaps a board, opened for one client.
#[derive(Clone)]
pub struct Workspace {
    /// Acts as the client, and opens only what the client has access to.
    pub corkboard: Corkboard,
    /// The agent, conversation and board of the tools.
    pub context: ToolContext,
    /// The tools that the client may call.
    pub sets: Vec<ToolSet>,
}

impl Workspace {
    /// The same workspace with another agent's memory. Its spaces check access.
    pub(super) fn of_agent(&self, agent: &str) -> Self {
        let context = ToolContext { agent: agent.to_owned(), ..self.context.clone() };
        Self { context, ..self.clone() }
    }
}

/// Why a workspace cannot be opened, and what to do about it.
#[derive(Debug, Clone)]
pub struct WorkspaceError(pub String);

impl From<HttpError> for WorkspaceError {
    fn from(error: HttpError) -> Self {
        Self(error.detail().to_owned())
    }
}

/// Opens the workspace of a stdio client. It runs again at the next request if it failed.
pub type OpenWorkspace =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<Workspace, WorkspaceError>> + Send>> + Send + Sync>;

/// The workspace of a stdio client. It is opened after the handshake, because clients do not wait long for that.
#[derive(Clone)]
pub struct StdioWorkspace {
    inner: Arc<StdioInner>,
}

struct StdioInner {
    definitions: ToolRegistry,
    open: OpenWorkspace,
    opened: OnceCell<Workspace>,
}

impl StdioWorkspace {
    /// `definitions` lists the tools before the workspace is open.
    pub fn new(definitions: ToolRegistry, open: OpenWorkspace) -> Self {
        Self { inner: Arc::new(StdioInner { definitions, open, opened: OnceCell::new() }) }
    }

    pub async fn open(&self) -> Result<&Workspace, WorkspaceError> {
        self.inner.opened.get_or_try_init(|| (self.inner.open)()).await
    }

    pub(super) fn definitions(&self) -> &ToolRegistry {
        &self.inner.definitions
    }

    /// The workspace, if it was opened.
    pub fn opened(&self) -> Option<&Workspace> {
        self.inner.opened.get()
    }
}

/// Where the workspace of a request comes from.
#[derive(Clone)]
pub(super) enum WorkspaceSource {
    Stdio(StdioWorkspace),
    /// Each request brings its caller, and the parameters in its URL.
    Http(Server),
}

/// The parameters of the URL of an HTTP client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpQuery {
    agent: Option<String>,
    board: Option<String>,
    conversation: Option<String>,
    tools: Option<String>,
}

impl WorkspaceSource {
    /// The current time in the store, or of this machine if the store is not open yet.
    pub(super) fn time(&self) -> Timestamp {
        match self {
            Self::Stdio(workspace) => {
                workspace.opened().map_or_else(Timestamp::now, |workspace| workspace.corkboard.time())
            }
            Self::Http(server) => server.corkboard().time(),
        }
    }

    pub(super) async fn open(&self, extensions: &Extensions) -> Result<Workspace, WorkspaceError> {
        match self {
            Self::Stdio(workspace) => workspace.open().await.cloned(),
            Self::Http(_) => {
                let (caller, query, session) = request(extensions)?;
                let McpQuery { agent, board, conversation, tools } = query;
                let sets = chosen(tools.as_deref(), board.as_deref())?;
                let conversation = conversation.or(session).or_else(|| Some(WITHOUT_SESSION.into()));
                let context =
                    ToolContext { agent: agent.unwrap_or_default(), board, conversation, ..Default::default() };
                let (corkboard, context) = caller.for_tools(context)?;
                Ok(Workspace { corkboard, context, sets })
            }
        }
    }

    /// The tools of the connection, without opening its workspace.
    pub(super) fn definitions(&self, extensions: &Extensions) -> Result<ToolRegistry, WorkspaceError> {
        match self {
            Self::Stdio(workspace) => Ok(workspace.definitions().clone()),
            Self::Http(server) => {
                let (_, query, _) = request(extensions)?;
                let sets = chosen(query.tools.as_deref(), query.board.as_deref())?;
                Ok(ToolRegistry::with_sets(server.corkboard(), &sets))
            }
        }
    }
}

fn chosen(tools: Option<&str>, board: Option<&str>) -> Result<Vec<ToolSet>, HttpError> {
    match tools {
        None => Ok(default_sets(board)),
        named => tool_sets(named),
    }
}

/// The caller, parameters and session of an HTTP request.
fn request(extensions: &Extensions) -> Result<(Caller, McpQuery, Option<String>), HttpError> {
    let parts = extensions.get::<Parts>();
    let unguarded = || HttpError::unauthenticated("the request was not authenticated");
    let (caller, parts) =
        parts.and_then(|parts| Some((parts.extensions.get::<Caller>()?, parts))).ok_or_else(unguarded)?;
    let Query(query) = Query::<McpQuery>::try_from_uri(&parts.uri)?;
    let session = parts.headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
    Ok((caller.clone(), query, session))
}
