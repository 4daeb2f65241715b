//! Corkboard over HTTP. Adapters over the library, and nothing else: what may be done, and what happens then, is decided there.

mod answer;
mod caller;
mod extract;
mod failure;
mod guard;
mod known;
mod listen;
mod observe;
mod openapi;
mod rate;
mod routes;
mod settings;
mod sign_in;

use std::sync::Arc;

use axum::Router;
use corkboard::Corkboard;
use tokio::sync::watch;

pub use listen::{Tls, serve};
pub use rate::Rate;
pub use settings::{Access, Settings};

use rate::Buckets;
use sign_in::Codes;

/// What every request needs.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    corkboard: Corkboard,
    settings: Settings,
    codes: Codes,
    requests: Buckets,
    written: Buckets,
    /// Told when streams are to end.
    ending: watch::Sender<bool>,
}

impl Server {
    /// A server of an open Corkboard.
    pub fn new(corkboard: Corkboard, settings: Settings) -> Self {
        let (requests, written) = (Buckets::new(settings.requests), Buckets::new(settings.written_bytes));
        let (codes, ending) = (Codes::default(), watch::Sender::new(false));
        Self { inner: Arc::new(Inner { corkboard, settings, codes, requests, written, ending }) }
    }

    /// The path of a link that signs a browser in, once.
    pub fn sign_in_path(&self) -> String {
        format!("/sign-in?code={}", self.codes().issue())
    }

    /// Ends what would go on for ever. [`serve`] does it when it is asked to end.
    pub fn end_streams(&self) {
        self.inner.ending.send_replace(true);
    }

    fn corkboard(&self) -> &Corkboard {
        &self.inner.corkboard
    }

    fn codes(&self) -> &Codes {
        &self.inner.codes
    }

    /// How often each caller may ask.
    fn requests(&self) -> &Buckets {
        &self.inner.requests
    }

    /// How many bytes each caller may send.
    fn written(&self) -> &Buckets {
        &self.inner.written
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
