//! The routes, by what they are about.

mod agents;
mod boards;
mod conversations;
mod core_entries;
mod cores;
mod entries_and_notes;
mod events;
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

use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect};
use axum::routing::{MethodFilter, get};
use utoipa::OpenApi;
use utoipa::openapi;
use utoipa::openapi::path::Operation;

use crate::error::HttpError;
use crate::openapi::{ApiHead, complete, without_null};
use crate::routing::Routes;
use crate::{Server, examples, middleware, sign_in};

/// Where the description is.
const DESCRIPTION: &str = "/openapi.json";

fn described() -> Routes {
    Routes::new()
        .merge(operations::routes())
        .merge(agents::routes())
        .merge(entries_and_notes::routes())
        .merge(events::routes())
        .merge(cores::routes())
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

pub(crate) fn operations() -> impl Iterator<Item = (String, MethodFilter, Operation)> {
    described().operations()
}

/// The description of all of them.
pub(crate) fn description() -> openapi::OpenApi {
    let mut description = described().description(ApiHead::openapi());
    complete(&mut description);
    without_null(&mut description);
    examples::give(&mut description);
    description
}

/// The same as JSON, made when it is first asked for.
async fn description_as_json() -> Result<impl IntoResponse, HttpError> {
    static JSON: LazyLock<Result<Bytes, String>> =
        LazyLock::new(|| description().to_json().map(Bytes::from).map_err(|error| error.to_string()));
    let made = tokio::task::spawn_blocking(|| JSON.clone()).await;
    let json = made.map_err(|error| error.to_string()).flatten();
    json.map(|json| ([(CONTENT_TYPE, "application/json")], json)).map_err(HttpError::broken)
}

pub(crate) fn all(server: Server) -> Router {
    described()
        .router()
        .route(DESCRIPTION, get(description_as_json))
        .merge(reference::routes())
        // Until there is more to see, whoever signs in is shown the routes.
        .route("/", get(|| async { Redirect::to("/docs/") }))
        // Browsers ask for it by themselves.
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .fallback(|| async { HttpError::not_found("there is no such route: /docs shows all") })
        .method_not_allowed_fallback(|| async {
            HttpError::invalid("method", "this route has no such method: /docs shows all")
                .status(StatusCode::METHOD_NOT_ALLOWED)
        })
        // One layer, as each makes a copy of the route, and of all layers within, per request.
        .layer(from_fn_with_state(server.clone(), middleware::pass))
        .with_state(server)
}
