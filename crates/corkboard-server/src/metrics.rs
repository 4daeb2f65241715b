//! What is counted in this process, in the words of Prometheus.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use parking_lot::RwLock;

/// The bounds of what is measured in seconds.
const SECONDS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// How often samples are put into their buckets. Until then each takes room of its own.
const UPKEEP: Duration = Duration::from_secs(5);

/// All that the process counts: requests, connections, and what the library tells of its stores and spaces.
#[derive(Debug, Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Counts from now on. Once per process, and before a Corkboard is opened: what was opened before is not counted.
    pub fn install() -> Result<Self, String> {
        let milliseconds = SECONDS.map(|seconds| seconds * 1000.0);
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
            .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_ms".into()), &milliseconds))
            .map_err(|error| error.to_string())?
            .build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(|error| error.to_string())?;
        metrics::describe_counter!("http.requests_total", "Requests that were answered, by route and status");
        metrics::describe_histogram!("http.request_seconds", "How long an answer took to begin");
        metrics::describe_gauge!("http.connections", "Connections that are open");
        metrics::describe_counter!("http.connections_refused_total", "Connections for which there was no room");
        metrics::describe_gauge!("http.event_streams", "Streams of events that are open");
        metrics::describe_gauge!("http.buffered_bytes", "Bytes of requests and answers held in memory");
        metrics::describe_gauge!("http.buffered_bytes_peak", "The most bytes ever held in memory at a time");
        metrics::describe_gauge!("http.buffered_bytes_limit", "The most bytes that may be held (buffer_bytes)");
        metrics::describe_gauge!("store.writable", "Whether the last write to the store succeeded: 1 or 0");
        metrics::describe_counter!("store.write_failures_total", "Writes that the store could not do");
        gauge!("store.writable").set(1.0);
        counter!("store.write_failures_total").absolute(0);
        gauge!("http.connections").set(0.0);
        counter!("http.connections_refused_total").absolute(0);
        gauge!("http.event_streams").set(0.0);
        Ok(Self(handle))
    }

    pub(crate) fn render(&self) -> String {
        self.0.render()
    }

    /// Keeps samples from piling up. Never done.
    pub(crate) async fn keep(&self) {
        let mut ticks = tokio::time::interval(UPKEEP);
        loop {
            ticks.tick().await;
            self.0.run_upkeep();
        }
    }
}

/// What the requests of one route with one status are counted by.
pub(crate) struct RequestMeter {
    pub(crate) requests: Counter,
    pub(crate) seconds: Histogram,
}

/// The meters of one route, by method and status.
type OfRoute = HashMap<(&'static str, u16), Arc<RequestMeter>>;

/// The meters of all routes, made when they are first needed: to name one costs more than to count.
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
            requests: counter!("http.requests_total", &labels),
            seconds: histogram!("http.request_seconds", &labels),
        };
        self.0.write().entry(route.into()).or_default().entry(key).or_insert_with(|| Arc::new(meter)).clone()
    }
}

/// Counts a connection for which there was no room.
pub(crate) fn refused_connection() {
    counter!("http.connections_refused_total").increment(1);
}

/// Something that is open, and counted for as long.
pub(crate) struct OpenConnection(Gauge);

impl OpenConnection {
    pub(crate) fn new() -> Self {
        let open = gauge!("http.connections");
        open.increment(1.0);
        Self(open)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}
