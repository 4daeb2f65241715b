//! Scopes (004 §4.3, DESIGN §3): fallback, merging, disposal, durability, expiry.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what does not hold in a test ends the test"
)]

mod common;

#[path = "scopes/clearing.rs"]
mod clearing;
#[path = "scopes/disposal.rs"]
mod disposal;
#[path = "scopes/durability.rs"]
mod durability;
#[path = "scopes/expiry.rs"]
mod expiry;
#[path = "scopes/merging.rs"]
mod merging;
#[path = "scopes/reading.rs"]
mod reading;

use std::time::Duration;

use corkboard::{Scope, WorkingMemory};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Nested scopes below the root, outermost first: `d` is durable, `e` ephemeral.
async fn chain(memory: &WorkingMemory, kinds: &str) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = Vec::new();
    for (level, kind) in kinds.chars().enumerate() {
        let name = format!("{kind}{level}");
        let scope = match (scopes.last(), kind) {
            (None, 'e') => memory.create_scope(&name).await,
            (None, 'd') => memory.create_durable_scope(&name).await,
            (Some(parent), 'e') => parent.create_child_scope(&name).await,
            (Some(parent), 'd') => parent.create_durable_child_scope(&name).await,
            _ => panic!("no kind {kind}"),
        };
        scopes.push(scope.unwrap());
    }
    scopes
}

const CHAINS: [&str; 8] = ["e", "d", "ee", "de", "dd", "dde", "eeee", "ddee"];
