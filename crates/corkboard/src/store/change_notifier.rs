//! Wake-ups: subscribers to one space or to all spaces, and the newest revision each was notified of.

use std::collections::HashMap;

use corkboard_core::SpaceId;
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

/// The subscribers of a store. Stores call [`ChangeNotifier::notify`] for every commit they learn of, their own or
/// another process's.
#[derive(Debug, Default)]
pub struct ChangeNotifier {
    spaces: Mutex<HashMap<SpaceId, watch::Sender<u64>>>,
    all: Mutex<Option<GlobalSubscribers>>,
}

/// Subscribers to all spaces.
#[derive(Debug)]
struct GlobalSubscribers {
    moved: broadcast::Sender<(SpaceId, u64)>,
    /// Newest revision reported per space, so that a store that polls all spaces reports nothing twice.
    told: HashMap<SpaceId, u64>,
}

impl ChangeNotifier {
    /// With this many spaces, subscribing first removes those without subscribers.
    const PRUNE: usize = 64;
    /// How many changes a subscriber to all spaces may fall behind before it gets a lag error.
    pub const ROOM: usize = 1024;

    /// Subscribes to a space.
    pub fn subscribe(&self, space: &SpaceId) -> watch::Receiver<u64> {
        let mut spaces = self.spaces.lock();
        if spaces.len() >= Self::PRUNE {
            spaces.retain(|_, sender| sender.receiver_count() > 0);
        }
        spaces.entry(space.clone()).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Subscribes to all spaces.
    pub fn subscribe_all(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        let mut all = self.all.lock();
        let all = all.get_or_insert_with(|| GlobalSubscribers {
            moved: broadcast::Sender::new(Self::ROOM),
            told: HashMap::new(),
        });
        all.moved.subscribe()
    }

    /// Notifies the subscribers of the space, and of all spaces, of a revision.
    pub fn notify(&self, space: &SpaceId, rev: u64) {
        if let Some(sender) = self.spaces.lock().get(space) {
            sender.send_if_modified(|known| {
                let newer = rev > *known;
                *known = rev.max(*known);
                newer
            });
        }
        let mut held = self.all.lock();
        let Some(all) = &mut *held else { return };
        match all.told.get_mut(space) {
            Some(told) if *told >= rev => return,
            Some(told) => *told = rev,
            None => drop(all.told.insert(space.clone(), rev)),
        }
        // Sending fails only if the last subscriber is gone.
        if all.moved.send((space.clone(), rev)).is_err() {
            *held = None;
        }
    }

    /// The spaces with subscribers. Drops those without.
    pub fn subscribed_spaces(&self) -> Vec<SpaceId> {
        let mut spaces = self.spaces.lock();
        spaces.retain(|_, sender| sender.receiver_count() > 0);
        spaces.keys().cloned().collect()
    }

    /// Whether there are subscribers to all spaces. If not, drops their state.
    pub fn has_global_subscribers(&self) -> bool {
        let mut all = self.all.lock();
        if all.as_ref().is_some_and(|all| all.moved.receiver_count() == 0) {
            *all = None;
        }
        all.is_some()
    }

    /// Number of subscribers, to one space or to all.
    pub fn subscriber_count(&self) -> usize {
        let all = self.all.lock().as_ref().map_or(0, |all| all.moved.receiver_count());
        all + self.spaces.lock().values().map(watch::Sender::receiver_count).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use corkboard_core::SpaceKind;
    use tokio::sync::broadcast::error::TryRecvError;

    use super::*;

    fn space(name: &str) -> SpaceId {
        SpaceId::of(SpaceKind::Agent, name)
    }

    #[test]
    fn global_subscribers_get_each_revision_once() {
        let notifier = ChangeNotifier::default();
        notifier.notify(&space("before"), 1);
        let mut moved = notifier.subscribe_all();
        for rev in [1, 2, 2, 1, 3] {
            notifier.notify(&space("one"), rev);
        }
        notifier.notify(&space("other"), 7);
        let told: Vec<_> = std::iter::from_fn(|| moved.try_recv().ok()).collect();
        assert_eq!(told, [(space("one"), 1), (space("one"), 2), (space("one"), 3), (space("other"), 7)]);
    }

    #[test]
    fn slow_subscribers_get_a_lag_error() {
        let notifier = ChangeNotifier::default();
        let mut moved = notifier.subscribe_all();
        for rev in 1..=ChangeNotifier::ROOM as u64 + 5 {
            notifier.notify(&space("one"), rev);
        }
        assert_eq!(moved.try_recv(), Err(TryRecvError::Lagged(5)));
        assert_eq!(moved.try_recv(), Ok((space("one"), 6)));
    }

    #[test]
    fn dropped_subscribers_are_removed() {
        let notifier = ChangeNotifier::default();
        let (one, all) = (notifier.subscribe(&space("one")), notifier.subscribe_all());
        assert_eq!((notifier.subscriber_count(), notifier.has_global_subscribers()), (2, true));
        drop((one, all));
        assert_eq!((notifier.subscriber_count(), notifier.has_global_subscribers()), (0, false));
        notifier.notify(&space("one"), 1);
        let mut again = notifier.subscribe_all();
        notifier.notify(&space("one"), 1);
        assert_eq!(again.try_recv(), Ok((space("one"), 1)), "revisions reported to an earlier subscriber do not count");
    }
}
