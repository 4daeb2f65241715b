//! The metrics of this process, in the format of Prometheus.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use corkboard::Corkboard;
use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use parking_lot::RwLock;

/// Histogram buckets for durations, in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// How often samples are moved into buckets. Until then, each takes memory.
const UPKEEP: Duration = Duration::from_secs(5);

/// Gauge of the open event streams.
pub(crate) const EVENT_STREAMS: &str = "corkboard.http.event_streams";

enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// All metrics with their help texts. Names from the specification (`agents.memory.working`) are kept; all others begin
/// with `corkboard`. For Prometheus, dots become underscores.
const METRICS: [(MetricKind, &str, &str); 19] = [
    (MetricKind::Gauge, "agents.memory.working.entries", "Entries of agents' memories that this process has loaded"),
    (MetricKind::Gauge, "agents.memory.working.scopes", "Scopes of agents' memories that this process has loaded"),
    (MetricKind::Histogram, "agents.memory.working.get_latency_ms", "Duration of a read of an entry, in milliseconds"),
    (MetricKind::Histogram, "agents.memory.working.set_latency_ms", "Duration of a write of an entry, in milliseconds"),
    (
        MetricKind::Counter,
        "agents.memory.working.scope_fallback_total",
        "Reads of an entry that fell back to a parent scope",
    ),
    (MetricKind::Counter, "corkboard.commits_total", "Commands that this process committed, by kind of space"),
    (MetricKind::Gauge, "corkboard.queued_commands", "Commands waiting to be committed"),
    (MetricKind::Gauge, "corkboard.ready_tasks", "Tasks ready to be claimed, on boards that this process has loaded"),
    (
        MetricKind::Gauge,
        "corkboard.expired_leases",
        "Leases of tasks past their deadline and not yet released, on boards that this process has loaded",
    ),
    (MetricKind::Gauge, "corkboard.store.writable", "1 if the last write to the store succeeded, else 0"),
    (MetricKind::Counter, "corkboard.store.write_failures_total", "Failed writes to the store"),
    (MetricKind::Counter, "corkboard.http.requests_total", "Answered requests, by method, route and status"),
    (MetricKind::Histogram, "corkboard.http.request_seconds", "Time until an answer began, in seconds"),
    (MetricKind::Gauge, "corkboard.http.connections", "Open connections"),
    (MetricKind::Counter, "corkboard.http.connections_refused_total", "Connections refused because of the limit"),
    (MetricKind::Gauge, EVENT_STREAMS, "Open event streams"),
    (MetricKind::Gauge, "corkboard.http.buffered_bytes", "Bytes in flight: requests and answers held in memory"),
    (MetricKind::Gauge, "corkboard.http.buffered_bytes_peak", "The most bytes in flight at once since the start"),
    (MetricKind::Gauge, "corkboard.http.buffered_bytes_limit", "The maximum number of bytes in flight (buffer_bytes)"),
];

/// The metrics of the process: its requests, connections, stores and spaces.
#[derive(Debug, Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Installs the global recorder. Call this once per process, before opening a Corkboard; earlier activity is not
    /// counted.
    pub fn install() -> Result<Self, String> {
        let milliseconds = SECONDS.map(|seconds| seconds * 1000.0);
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
            .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_ms".into()), &milliseconds))
            .map_err(|error| error.to_string())?
            .build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(|error| error.to_string())?;
        for (kind, name, help) in METRICS {
            match kind {
                MetricKind::Counter => metrics::describe_counter!(name, help),
                MetricKind::Gauge => metrics::describe_gauge!(name, help),
                MetricKind::Histogram => metrics::describe_histogram!(name, help),
            }
        }
        gauge!("corkboard.store.writable").set(1.0);
        counter!("corkboard.store.write_failures_total").absolute(0);
        gauge!("corkboard.http.connections").set(0.0);
        counter!("corkboard.http.connections_refused_total").absolute(0);
        gauge!(EVENT_STREAMS).set(0.0);
        Ok(Self(handle))
    }

    /// The metrics as text. Values that depend on the time are computed now.
    pub(crate) fn render(&self, corkboard: &Corkboard) -> String {
        gauge!("corkboard.expired_leases").set(corkboard.expired_leases() as f64);
        self.0.render()
    }

    /// Moves samples into buckets periodically. Never returns.
    pub(crate) async fn keep(&self) {
        let mut ticks = tokio::time::interval(UPKEEP);
        loop {
            ticks.tick().await;
            self.0.run_upkeep();
        }
    }
}

/// Counts the requests of one route, method and status.
pub(crate) struct RequestMeter {
    pub(crate) requests: Counter,
    pub(crate) seconds: Histogram,
}

/// The meters of one route, by method and status.
type OfRoute = HashMap<(&'static str, u16), Arc<RequestMeter>>;

/// The meters of all routes, created on first use: looking one up by its labels costs more than counting.
#[derive(Default)]
pub(crate) struct RequestMeters(RwLock<HashMap<Box<str>, OfRoute>>);

impl RequestMeters {
    pub(crate) fn of(&self, method: &'static str, route: &str, status: u16) -> Arc<RequestMeter> {
        let key = (method, status);
        if let Some(meter) = self.0.read().get(route).and_then(|meters| meters.get(&key)) {
            return meter.clone();
        }
        let labels = [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
        let meter = RequestMeter {
            requests: counter!("corkboard.http.requests_total", &labels),
            seconds: histogram!("corkboard.http.request_seconds", &labels),
        };
        self.0.write().entry(route.into()).or_default().entry(key).or_insert_with(|| Arc::new(meter)).clone()
    }
}

/// Counts a connection that was refused because of the limit.
pub(crate) fn refused_connection() {
    counter!("corkboard.http.connections_refused_total").increment(1);
}

/// Counts a connection as open until dropped.
pub(crate) struct OpenConnection(Gauge);

impl OpenConnection {
    pub(crate) fn new() -> Self {
        let open = gauge!("corkboard.http.connections");
        open.increment(1.0);
        Self(open)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
