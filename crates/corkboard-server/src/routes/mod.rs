//! All routes, one module per subject.

mod agents;
mod boards;
mod conversations;
mod core_entries;
mod cores;
mod entries_and_notes;
mod events;
mod forget;
mod handoff;
mod notebook;
mod notebook_update;
mod operations;
mod prelude;
mod recall;
mod reference;
mod scopes;
mod snapshot;
mod spaces;
mod tokens;
mod tools;

pub(crate) use tools::sets as tool_sets;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;

use crate::routing::Routes;
use crate::{Server, middleware, openapi, sign_in, wrong_route};

/// Path of the OpenAPI description.
const DESCRIPTION: &str = "/openapi.json";

pub(crate) fn described() -> Routes {
    Routes::new()
        .merge(operations::routes())
        .merge(agents::routes())
        .merge(entries_and_notes::routes())
        .merge(events::routes())
        .merge(cores::routes())
        .merge(forget::routes())
        .merge(core_entries::routes())
        .merge(handoff::routes())
        .merge(scopes::routes())
        .merge(conversations::routes())
        .merge(recall::routes())
        .merge(notebook::routes())
        .merge(notebook_update::routes())
        .merge(snapshot::routes())
        .merge(spaces::routes())
        .merge(boards::routes())
        .merge(tokens::routes())
        .merge(tools::routes())
        .merge(sign_in::routes())
}

/// `mcp` are the routes of the MCP endpoint, which MCP itself describes.
pub(crate) fn all(server: Server, mcp: Router<Server>) -> Router {
    described()
        .router()
        .merge(mcp)
        .route(DESCRIPTION, get(|| async { ([(CONTENT_TYPE, "application/json")], openapi::description()) }))
        .merge(reference::routes())
        // There is no dashboard yet, so the root shows the API reference.
        .route("/", get(|| async { Redirect::to("/docs/") }))
        // Browsers request it without being asked.
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .fallback(wrong_route::unknown_path)
        .method_not_allowed_fallback(wrong_route::unknown_method)
        // A single layer, because axum clones the route with all inner layers for each layer and request.
        .layer(from_fn_with_state(server.clone(), middleware::pass))
        .with_state(server)
}
