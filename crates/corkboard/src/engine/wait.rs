//! Wait for a space to change, in this or another process.

use std::pin::Pin;
use std::sync::Arc;

use corkboard_core::Space;
use tokio::sync::futures::OwnedNotified;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Engine, Slot};
use crate::{Error, Result};

/// Reports that a space may have changed: by this process (written or not yet) or by another one.
pub(crate) struct Changes<S: Space> {
    engine: Arc<Engine<S>>,
    slot: Arc<Slot<S>>,
    stored: watch::Receiver<u64>,
    published: Pin<Box<OwnedNotified>>,
}

impl<S: Space> Engine<S> {
    pub(crate) fn changes(self: &Arc<Self>, slot: &Arc<Slot<S>>) -> Changes<S> {
        let (engine, slot, stored) = (self.clone(), slot.clone(), self.store.changes(&slot.id));
        let published = Box::pin(slot.published.clone().notified_owned());
        Changes { engine, slot, stored, published }
    }
}

impl<S: Space> Changes<S> {
    /// Starts observing: the next `wait` reports every change from now on. Call it before reading the state.
    pub(crate) fn mark(&mut self) {
        self.published.set(self.slot.published.clone().notified_owned());
        self.published.as_mut().enable();
        self.stored.borrow_and_update();
    }

    /// Waits until the space may have changed since [`Self::mark`], or until the deadline.
    pub(crate) async fn wait(&mut self, until: Instant) -> Result<()> {
        let closing = self.engine.closing.notified();
        if self.engine.is_closed() {
            return Err(Error::Closed);
        }
        tokio::select! {
            () = &mut self.published => Ok(()),
            changed = self.stored.changed() => changed.map_err(|_| Error::Closed),
            () = closing => Err(Error::Closed),
            () = tokio::time::sleep_until(until) => Ok(()),
        }
    }
}
