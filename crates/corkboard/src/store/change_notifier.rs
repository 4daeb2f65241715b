//! Wake-ups: who listens to which space or to all of them, and the newest revision each was told of.

use std::collections::HashMap;

use corkboard_core::SpaceId;
use parking_lot::Mutex;
use tokio::sync::{broadcast, watch};

/// The listeners of a store. Stores call [`ChangeNotifier::notify`] for every commit they learn of, their own or another's.
#[derive(Debug, Default)]
pub struct ChangeNotifier {
    spaces: Mutex<HashMap<SpaceId, watch::Sender<u64>>>,
    all: Mutex<Option<All>>,
}

/// Whoever listens to all spaces.
#[derive(Debug)]
struct All {
    moved: broadcast::Sender<(SpaceId, u64)>,
    /// What they were told of already: a store that looks at everything says nothing twice.
    told: HashMap<SpaceId, u64>,
}

impl ChangeNotifier {
    /// From so many spaces on, those without listeners are looked for.
    const PRUNE: usize = 64;
    /// So far may a listener to all spaces be behind before it is told that it lagged.
    pub const ROOM: usize = 1024;

    /// Listens to a space.
    pub fn subscribe(&self, space: &SpaceId) -> watch::Receiver<u64> {
        let mut spaces = self.spaces.lock();
        if spaces.len() >= Self::PRUNE {
            spaces.retain(|_, sender| sender.receiver_count() > 0);
        }
        spaces.entry(space.clone()).or_insert_with(|| watch::channel(0).0).subscribe()
    }

    /// Listens to all spaces.
    pub fn subscribe_all(&self) -> broadcast::Receiver<(SpaceId, u64)> {
        let mut all = self.all.lock();
        let all = all.get_or_insert_with(|| All { moved: broadcast::Sender::new(Self::ROOM), told: HashMap::new() });
        all.moved.subscribe()
    }

    /// Tells the space's listeners of a revision, and those who listen to all.
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
        // Only the last who listened can have gone.
        if all.moved.send((space.clone(), rev)).is_err() {
            *held = None;
        }
    }

    /// The spaces that someone listens to. Those that nobody listens to any more are forgotten.
    pub fn subscribed_spaces(&self) -> Vec<SpaceId> {
        let mut spaces = self.spaces.lock();
        spaces.retain(|_, sender| sender.receiver_count() > 0);
        spaces.keys().cloned().collect()
    }

    /// Whether someone listens to all spaces. If nobody does any more, what they were told of is forgotten.
    pub fn has_global_subscribers(&self) -> bool {
        let mut all = self.all.lock();
        if all.as_ref().is_some_and(|all| all.moved.receiver_count() == 0) {
            *all = None;
        }
        all.is_some()
    }

    /// How many listen, to one space or to all.
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
    fn whoever_listens_to_all_is_told_once_of_each_revision() {
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
    fn whoever_is_slow_is_told_so() {
        let notifier = ChangeNotifier::default();
        let mut moved = notifier.subscribe_all();
        for rev in 1..=ChangeNotifier::ROOM as u64 + 5 {
            notifier.notify(&space("one"), rev);
        }
        assert_eq!(moved.try_recv(), Err(TryRecvError::Lagged(5)));
        assert_eq!(moved.try_recv(), Ok((space("one"), 6)));
    }

    #[test]
    fn whoever_goes_is_forgotten() {
        let notifier = ChangeNotifier::default();
        let (one, all) = (notifier.subscribe(&space("one")), notifier.subscribe_all());
        assert_eq!((notifier.subscriber_count(), notifier.has_global_subscribers()), (2, true));
        drop((one, all));
        assert_eq!((notifier.subscriber_count(), notifier.has_global_subscribers()), (0, false));
        notifier.notify(&space("one"), 1);
        let mut again = notifier.subscribe_all();
        notifier.notify(&space("one"), 1);
        assert_eq!(again.try_recv(), Ok((space("one"), 1)), "what the one before was told of counts no more");
    }
}
