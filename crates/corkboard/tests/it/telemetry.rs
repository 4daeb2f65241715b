//! What operators see (004 §7.1, §7.2) and programs receive (§4.5): every message, metric and event.

mod events;
mod messages;
mod metrics;

use std::time::Duration;

use corkboard::{Scope, WorkingMemory};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn durable(memory: &WorkingMemory) -> Scope {
    memory.create_durable_scope("durable").await.unwrap()
}
