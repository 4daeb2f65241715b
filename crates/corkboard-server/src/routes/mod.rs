//! The routes, by what they are about.

mod agents;
mod boards;
mod conversation_entries;
mod conversations;
mod core_entries;
mod cores;
mod entries;
mod events;
mod handoff;
mod notebook;
mod notebook_update;
mod notes;
mod operations;
mod recall;
mod scope_entries;
mod scopes;
mod snapshot;
mod spaces;
mod tokens;
mod tools;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use utoipa::OpenApi;
use utoipa::openapi;
use utoipa_axum::router::OpenApiRouter;

use crate::failure::Failure;
use crate::openapi::Head;
use crate::{Server, examples, guard, observe, sign_in, time_limit};

/// What is smaller is sent as it is: to compress it costs more than it saves.
const COMPRESSED_FROM: u64 = 1024;

/// All routes and their description.
pub(crate) fn described() -> (Router<Server>, openapi::OpenApi) {
    let (routes, mut description) = OpenApiRouter::with_openapi(Head::openapi())
        .merge(operations::routes())
        .merge(agents::routes())
        .merge(entries::routes())
        .merge(events::routes())
        .merge(cores::routes())
        .merge(core_entries::routes())
        .merge(scope_entries::routes())
        .merge(conversation_entries::routes())
        .merge(notes::routes())
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
        .split_for_parts();
    examples::give(&mut description);
    (routes, description)
}

pub(crate) fn all(server: Server) -> Router {
    let (routes, description) = described();
    routes
        .merge(utoipa_swagger_ui::SwaggerUi::new("/docs").url("/openapi.json", description))
        // Until there is more to see, whoever signs in is shown the routes.
        .route("/", get(|| async { Redirect::to("/docs/") }))
        .fallback(|| async { Failure::not_found("there is no such route: /docs shows all") })
        .method_not_allowed_fallback(|| async {
            Failure::invalid("method", "this route has no such method: /docs shows all")
                .status(axum::http::StatusCode::METHOD_NOT_ALLOWED)
        })
        .layer(from_fn_with_state(server.clone(), guard::guard))
        .layer(DefaultBodyLimit::max(server.settings().body_bytes))
        .layer(from_fn_with_state(server.clone(), time_limit::limit))
        // What is told as it happens must not wait until there is enough to compress.
        .layer(CompressionLayer::new().compress_when(SizeAbove::new(COMPRESSED_FROM).and(NotForContentType::SSE)))
        .layer(from_fn_with_state(server.clone(), observe::observe))
        .with_state(server)
}
