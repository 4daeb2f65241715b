//! Scopes (004 §4.3): fallback, merging, disposal, durability, expiry.

mod clearing;
mod disposal;
mod durability;
mod expiry;
mod merging;
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
