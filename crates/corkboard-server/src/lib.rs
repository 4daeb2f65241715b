//! Corkboard over HTTP. The server only adapts the library, which decides everything about boards and memories.

mod budget;
mod caller;
mod comma_list;
mod compress;
mod condition;
mod cross_origin;
mod cursor;
#[cfg(test)]
mod describe;
mod error;
mod events;
mod extract;
mod guard;
mod idle_timeout;
mod listen;
pub mod mcp;
mod metrics;
mod middleware;
mod observe;
mod openapi;
mod parameters;
mod peer;
mod rate;
mod request_body;
mod request_limits;
mod response;
mod response_budget;
mod routes;
mod routing;
mod search_query;
mod settings;
mod sign_in;
mod sign_in_page;
mod write_timeout;
mod wrong_route;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use corkboard::{Corkboard, Tokens};
use tokio::sync::{Semaphore, watch};

pub use listen::{Tls, serve};
pub use metrics::Metrics;
pub use rate::Rate;
pub use settings::{Authentication, Settings, WrongSetting};

use budget::Budget;
use events::{SharedHub, StreamStatuses, Tails};
use metrics::RequestMeters;
use rate::Buckets;
use response_budget::SentStates;
use sign_in::Codes;

/// The server's shared state. Clones are cheap and share it.
#[derive(Clone)]
pub struct Server {
    inner: Arc<ServerShared>,
}

struct ServerShared {
    corkboard: Corkboard,
    tokens: Tokens,
    settings: Settings,
    codes: Codes,
    requests: Buckets,
    written: Buckets,
    wrong_tokens: Buckets,
    budget: Budget,
    states: SentStates,
    /// Snapshots are opened and sealed one at a time: each can take much memory and time.
    snapshots: Arc<Semaphore>,
    meters: RequestMeters,
    /// Becomes true when event streams must end.
    ending: watch::Sender<bool>,
    hub: SharedHub,
    tails: Tails,
    stream_statuses: StreamStatuses,
    streams: Arc<AtomicUsize>,
}

impl Server {
    pub fn new(corkboard: Corkboard, settings: Settings) -> Self {
        let (requests, written) = (Buckets::new(settings.requests), Buckets::new(settings.written_bytes));
        let wrong_tokens = Buckets::new(settings.wrong_tokens);
        let (codes, meters, ending) = (Codes::default(), RequestMeters::default(), watch::Sender::new(false));
        let (hub, tails, stream_statuses, streams) = Default::default();
        let tokens = corkboard.tokens();
        let (budget, states) = (Budget::new(settings.buffer_bytes), SentStates::default());
        let snapshots = Arc::new(Semaphore::new(1));
        let inner = ServerShared {
            corkboard,
            tokens,
            settings,
            codes,
            requests,
            written,
            wrong_tokens,
            budget,
            states,
            snapshots,
            meters,
            ending,
            hub,
            tails,
            stream_statuses,
            streams,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Creates a link that signs a browser in, once, within an hour. Returns its path.
    pub fn sign_in_path(&self) -> String {
        self.codes().issue(caller::admin())
    }

    /// Ends the event streams. [`serve`] does this on shutdown.
    pub fn end_streams(&self) {
        self.inner.ending.send_replace(true);
    }

    fn is_ending(&self) -> bool {
        *self.inner.ending.borrow()
    }

    /// Completes when the server begins to shut down.
    async fn ended(&self) {
        // The sender lives as long as `self`.
        let _ = self.inner.ending.subscribe().wait_for(|is_ending| *is_ending).await;
    }

    pub fn open_streams(&self) -> usize {
        self.inner.streams.load(Ordering::Relaxed)
    }

    /// Bytes of requests and answers that are currently held in memory.
    pub fn buffered_bytes(&self) -> usize {
        self.budget().held()
    }

    /// The largest value of [`Self::buffered_bytes`] so far.
    pub fn buffered_bytes_peak(&self) -> usize {
        self.budget().peak()
    }

    fn budget(&self) -> &Budget {
        &self.inner.budget
    }

    fn states(&self) -> &SentStates {
        &self.inner.states
    }

    /// Held while a snapshot is opened or sealed.
    fn snapshots(&self) -> &Arc<Semaphore> {
        &self.inner.snapshots
    }

    fn streams(&self) -> &Arc<AtomicUsize> {
        &self.inner.streams
    }

    fn ending(&self) -> watch::Receiver<bool> {
        self.inner.ending.subscribe()
    }

    fn hub(&self) -> &SharedHub {
        &self.inner.hub
    }

    fn tails(&self) -> &Tails {
        &self.inner.tails
    }

    fn stream_statuses(&self) -> &StreamStatuses {
        &self.inner.stream_statuses
    }

    fn corkboard(&self) -> &Corkboard {
        &self.inner.corkboard
    }

    fn tokens(&self) -> &Tokens {
        &self.inner.tokens
    }

    fn codes(&self) -> &Codes {
        &self.inner.codes
    }

    fn requests(&self) -> &Buckets {
        &self.inner.requests
    }

    fn written(&self) -> &Buckets {
        &self.inner.written
    }

    /// The rate limit for wrong tokens, by client address.
    fn wrong_tokens(&self) -> &Buckets {
        &self.inner.wrong_tokens
    }

    fn meters(&self) -> &RequestMeters {
        &self.inner.meters
    }

    fn settings(&self) -> &Settings {
        &self.inner.settings
    }
}

/// All routes, with authentication and limits.
pub fn router(server: Server) -> Router {
    let mcp = mcp::routes(&server);
    routes::all(server, mcp)
}

/// The OpenAPI 3.1 description of all routes.
pub fn description() -> serde_json::Value {
    serde_json::from_slice(&openapi::description()).unwrap_or_default()
}
