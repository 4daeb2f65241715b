//! The API reference at `/docs/`, a page that lists all routes and can call them. The binary contains all its files.

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_FRAME_OPTIONS};
use axum::response::{Html, IntoResponse, Redirect};
use axum::routing::get;
use flate2::read::GzDecoder;
use utoipa_swagger_ui::Config;

use crate::Server;
use crate::error::HttpError;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");
/// The page may load from and call only this server. Swagger UI's style sheet embeds its images as data URLs.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn routes() -> Router<Server> {
    Router::new()
        .route("/docs", get(|| async { Redirect::to("/docs/") }))
        .route("/docs/", get(|| async { ([(CONTENT_SECURITY_POLICY, POLICY), (X_FRAME_OPTIONS, "DENY")], Html(PAGE)) }))
        .route("/docs/page.js", get(|| async { ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], SCRIPT) }))
        .route("/docs/page.css", get(|| async { ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE) }))
        .route("/docs/{*file}", get(file))
}

/// A file of Swagger UI, which the binary stores compressed.
async fn file(Path(name): Path<String>) -> Result<impl IntoResponse, HttpError> {
    let no_file = || HttpError::not_found("file not found; open /docs/ for the API reference");
    if !["swagger-ui.css", "index.css", "swagger-ui-bundle.js"].contains(&name.as_str()) {
        return Err(no_file());
    }
    let broken = |error: Box<dyn Error>| HttpError::broken(error.to_string());
    let file = utoipa_swagger_ui::serve(&name, Arc::new(Config::default())).map_err(broken)?.ok_or_else(no_file)?;
    let mut plain = Vec::new();
    GzDecoder::new(&*file.bytes).read_to_end(&mut plain).map_err(|error| broken(error.into()))?;
    Ok(([(CONTENT_TYPE, file.content_type)], plain))
}
