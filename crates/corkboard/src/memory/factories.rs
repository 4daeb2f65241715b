//! `get_or_set` runs one factory per key at a time.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use corkboard_core::ScopeId;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// The keys whose factories are running.
#[derive(Default)]
pub(super) struct Factories {
    keys: Mutex<HashMap<(ScopeId, String), Weak<Turns>>>,
}

type Turns = tokio::sync::Mutex<()>;

impl Factories {
    /// Waits for the turn to make this key's value. A turn ends when its guard is dropped, after success, failure or
    /// cancellation. The next caller then checks whether the value exists.
    pub(super) async fn turn(&self, scope: ScopeId, key: &str) -> OwnedMutexGuard<()> {
        let turns = {
            let mut keys = self.keys.lock();
            keys.retain(|_, turns| turns.strong_count() > 0);
            let known = keys.get(&(scope, key.to_owned())).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let turns = Arc::new(Turns::new(()));
                keys.insert((scope, key.to_owned()), Arc::downgrade(&turns));
                turns
            })
        };
        turns.lock_owned().await
    }
}
