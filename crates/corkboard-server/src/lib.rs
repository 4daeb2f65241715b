//! Corkboard over HTTP. Adapters over the library, and nothing else: what may be done, and what happens then, is decided there.

mod answer;
mod caller;
mod extract;
mod failure;
mod guard;
mod listen;
mod openapi;
mod routes;
mod settings;

use std::sync::Arc;

use axum::Router;
use corkboard::Corkboard;

pub use listen::serve;
pub use settings::{Access, Settings};

/// What every request needs.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    corkboard: Corkboard,
    settings: Settings,
}

impl Server {
    /// A server of an open Corkboard.
    pub fn new(corkboard: Corkboard, settings: Settings) -> Self {
        Self { inner: Arc::new(Inner { corkboard, settings }) }
    }

    fn corkboard(&self) -> &Corkboard {
        &self.inner.corkboard
    }

    fn settings(&self) -> &Settings {
        &self.inner.settings
    }
}

/// All routes, guarded.
pub fn router(server: Server) -> Router {
    routes::all(server)
}

/// The description of all routes: OpenAPI 3.1.
pub fn description() -> utoipa::openapi::OpenApi {
    routes::described().1
}
