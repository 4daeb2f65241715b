//! What an operator sees (004 §7.1, §7.2) and what a program is told (§4.5): every message, metric and event.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "what does not hold in a test ends the test"
)]

mod common;

#[path = "telemetry/events.rs"]
mod events;
#[path = "telemetry/messages.rs"]
mod messages;
#[path = "telemetry/metrics.rs"]
mod metrics;

use std::time::Duration;

use corkboard::{Scope, WorkingMemory};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn durable(memory: &WorkingMemory) -> Scope {
    memory.create_durable_scope("durable").await.unwrap()
}
