//! Detects whether a request was answered with the stored answer for its idempotency key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use corkboard_core::{Context, Request, Revisioned, Space};

struct ObservedKey {
    key: String,
    is_replayed: Arc<AtomicBool>,
}

tokio::task_local! {
    static OBSERVED: ObservedKey;
}

/// Runs `request`, and returns whether a command with this idempotency key got a stored answer. Commands of other tasks
/// do not count.
pub async fn observe_replay<T>(key: String, request: impl Future<Output = T>) -> (T, bool) {
    let is_replayed = Arc::new(AtomicBool::new(false));
    let observed = ObservedKey { key, is_replayed: is_replayed.clone() };
    let answer = OBSERVED.scope(observed, request).await;
    (answer, is_replayed.load(Ordering::Relaxed))
}

/// Reports a stored answer to the observer of the key.
pub(crate) fn replayed(key: &str) {
    // Fails without an observer, which is fine.
    let _ = OBSERVED.try_with(|observed| {
        if observed.key == key {
            observed.is_replayed.store(true, Ordering::Relaxed);
        }
    });
}

/// The key of a request that changed nothing because it was answered before.
pub(crate) fn replayed_key<S: Space>(
    state: &Revisioned<S>,
    request: &Request<S::Command>,
    context: &Context<'_>,
) -> Option<Box<str>> {
    let name = request.idempotency.as_ref()?;
    let found = state.answered.find(&context.actor.principal, name, context.now, context.limits).ok().flatten();
    found.map(|_| name.key.as_str().into())
}
