//! Wake-ups: who listens to which space, and the newest revision each was told of.

use std::collections::HashMap;

use corkboard_core::SpaceId;
use parking_lot::Mutex;
use tokio::sync::watch;

/// The listeners of a store. Stores call [`Wakes::wake`] for every commit they learn of, their own or another's.
#[derive(Debug, Default)]
pub struct Wakes {
    spaces: Mutex<HashMap<SpaceId, watch::Sender<u64>>>,
}

impl Wakes {
    /// From so many spaces on, those without listeners are looked for.
    const PRUNE: usize = 64;

    /// Listens to a space.
    pub fn listen(&self, space: &SpaceId) -> watch::Receiver<u64> {
        let mut spaces = self.spaces.lock();
        if spaces.len() >= Self::PRUNE {
            spaces.retain(|_, sender| sender.receiver_count() > 0);
        }
        spaces.entry(space.clone()).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Tells the space's listeners of a revision.
    pub fn wake(&self, space: &SpaceId, rev: u64) {
        let spaces = self.spaces.lock();
        if let Some(sender) = spaces.get(space) {
            sender.send_if_modified(|known| {
                let newer = rev > *known;
                *known = rev.max(*known);
                newer
            });
        }
    }

    /// The spaces that someone listens to. Those that nobody listens to any more are forgotten.
    pub fn listened(&self) -> Vec<SpaceId> {
        let mut spaces = self.spaces.lock();
        spaces.retain(|_, sender| sender.receiver_count() > 0);
        spaces.keys().cloned().collect()
    }
}
