//! MCP over HTTP at `/mcp`: streamable HTTP, with sessions for clients before the revision 2026-07-28.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use parking_lot::Mutex;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{
    SessionId, SessionManager, StreamableHttpServerConfig, StreamableHttpService,
};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::McpServer;
use super::workspace::{SESSION, WorkspaceSource};
use crate::caller::Caller;
use crate::error::HttpError;
use crate::events::StreamStatus;
use crate::guard::origin_of;
use crate::request_body::RequestBody;
use crate::{Server, routes};

/// A session ends after this long without a request. Scratchpads, which belong to sessions, live as long.
const SESSION_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// Sessions that one principal may have at a time.
const SESSIONS: usize = 1_000;

/// Path of the endpoint.
pub(crate) const PATH: &str = "/mcp";
/// Paths of the protected-resource metadata (RFC 9728). They need no token.
pub(crate) const METADATA: [&str; 2] =
    ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"];

/// All routes of the server, with another handler in place of the MCP server or around it.
pub fn router_with<H>(server: Server, handler: impl Fn(McpServer) -> H + Clone + Send + Sync + 'static) -> Router
where
    H: ServerHandler,
{
    let mcp = mcp_routes(&server, handler);
    routes::all(server, mcp)
}

pub(crate) fn routes(server: &Server) -> Router<Server> {
    mcp_routes(server, |mcp| mcp)
}

fn mcp_routes<H>(server: &Server, handler: impl Fn(McpServer) -> H + Clone + Send + Sync + 'static) -> Router<Server>
where
    H: ServerHandler,
{
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_LIFE);
    let sessions = Arc::new(sessions);
    let ending = CancellationToken::new();
    let config = StreamableHttpServerConfig::default()
        // The guard checks both, before the token.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_cancellation_token(ending.clone())
        .with_max_request_body_bytes(server.settings().body_bytes);
    let source = server.clone();
    let create = move || Ok(handler(McpServer::new(WorkspaceSource::Http(source.clone()))));
    let service = StreamableHttpService::new(create, sessions.clone(), config);
    let mut ends = server.ending();
    tokio::spawn(async move {
        // Without a server, there is nothing left to end.
        let _ = ends.wait_for(|is_ending| *is_ending).await;
        ending.cancel();
    });
    let owners = Arc::new(SessionOwners { owners: Mutex::default(), sessions });
    let answer = move |State(server): State<Server>, caller: Caller, body: RequestBody, request: Request| {
        let (service, owners) = (service.clone(), owners.clone());
        async move {
            let asked = session(request.headers());
            owners.check(asked.as_deref(), &caller)?;
            let (parts, stream) = request.into_parts();
            let bytes = body.read(Request::new(stream)).await?;
            let Ok(response) = service.oneshot(Request::from_parts(parts, Body::from(bytes))).await;
            if asked.is_none()
                && let Some(created) = session(response.headers())
            {
                owners.add(created, &server, &caller).await;
            }
            Ok::<_, HttpError>(response.map(Body::new))
        }
    };
    METADATA.into_iter().fold(Router::new().route(PATH, any(answer)), |router, path| router.route(path, get(metadata)))
}

/// The session that a header names.
fn session(headers: &HeaderMap) -> Option<String> {
    headers.get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned)
}

/// Who began which session. A session can be used only with the same principal.
struct SessionOwners {
    owners: Mutex<Owners>,
    sessions: Arc<LocalSessionManager>,
}

#[derive(Default)]
struct Owners {
    by_session: HashMap<String, Owner>,
    begun: u64,
}

struct Owner {
    principal: String,
    /// Its number among all sessions.
    number: u64,
    /// Ends the session with its token. Dropping it stops that.
    _ending: JoinSet<()>,
}

impl SessionOwners {
    fn check(&self, session: Option<&str>, caller: &Caller) -> Result<(), HttpError> {
        let Some(session) = session else { return Ok(()) };
        match self.owners.lock().by_session.get(session) {
            Some(owner) if owner.principal != caller.actor().principal => {
                Err(HttpError::not_found("unknown session: initialize a new one"))
            }
            // The SDK answers for unknown sessions.
            _ => Ok(()),
        }
    }

    /// Remembers the owner of a new session, and forgets those that ended. The principal's oldest session ends if it has
    /// too many.
    async fn add(&self, session: String, server: &Server, caller: &Caller) {
        let (sessions, id) = (self.sessions.clone(), SessionId::from(session.as_str()));
        let mut status = StreamStatus::of(server, caller);
        let mut ending = JoinSet::new();
        ending.spawn(async move {
            let _ = status.wait_for(|status| *status != StreamStatus::Open).await;
            end(&sessions, &id).await;
        });
        let principal = &caller.actor().principal;
        let oldest = {
            let live = self.sessions.sessions.read().await;
            let mut owners = self.owners.lock();
            owners.by_session.retain(|id, _| live.contains_key(id.as_str()));
            owners.begun += 1;
            let owner = Owner { principal: principal.clone(), number: owners.begun, _ending: ending };
            owners.by_session.insert(session, owner);
            let own = owners.by_session.iter().filter(|(_, owner)| owner.principal == *principal);
            let own: Vec<(u64, SessionId)> =
                own.map(|(id, owner)| (owner.number, SessionId::from(id.as_str()))).collect();
            let is_full = own.len() > SESSIONS;
            own.into_iter().min().filter(|_| is_full)
        };
        if let Some((_, oldest)) = oldest {
            end(&self.sessions, &oldest).await;
        }
    }
}

async fn end(sessions: &LocalSessionManager, id: &SessionId) {
    if let Err(error) = sessions.close_session(id).await {
        tracing::debug!(%error, "a session did not end in order");
    }
}

/// Says where to send a token, and that there is no authorization server to get one from.
async fn metadata(State(server): State<Server>, uri: Uri, headers: HeaderMap) -> Response {
    let resource = format!("{}{PATH}", origin_of(&uri, &headers, server.settings()));
    let document = json!({
        "resource": resource,
        "resource_name": "Corkboard",
        "bearer_methods_supported": ["header"],
    });
    axum::Json(document).into_response()
}

/// Tells an MCP client without a valid token where the metadata is.
pub(crate) fn challenge(server: &Server, uri: &Uri, headers: &HeaderMap, response: &mut Response) {
    if uri.path() != PATH || !response.headers().contains_key(WWW_AUTHENTICATE) {
        return;
    }
    let [path, _] = METADATA;
    let url = format!("{}{path}", origin_of(uri, headers, server.settings()));
    if let Ok(value) = HeaderValue::try_from(format!("Bearer realm=\"corkboard\", resource_metadata=\"{url}\"")) {
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
}
