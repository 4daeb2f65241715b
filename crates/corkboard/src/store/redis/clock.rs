//! The server's clock, as this process reckons it between two looks.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use jiff::Timestamp;
use redis::Value;

use super::Inner;
use super::answer::text;
use super::link::Failure;
use crate::store::StoreError;

/// The server's time, told by a clock of this process that only runs forward.
pub(super) struct ServerClock {
    started: Instant,
    /// The server's time when this process's clock stood at nothing, in microseconds.
    offset: AtomicI64,
}

impl ServerClock {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), offset: AtomicI64::new(0) }
    }

    pub(super) fn now(&self) -> Option<Timestamp> {
        let offset = self.offset.load(Ordering::Relaxed);
        Timestamp::from_millisecond(offset.checked_add(self.reckoned())?.checked_div(1000)?).ok()
    }

    fn reckoned(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX)
    }
}

impl Inner {
    /// Compares this process's clock with the server's. The answer was given somewhere in the middle of the round trip.
    pub(super) async fn set_clock(&self) -> Result<(), StoreError> {
        let sent = self.clock.reckoned();
        let answer = self.quick.ask_again(&redis::cmd("TIME")).await.map_err(Failure::of_reading)?;
        let received = self.clock.reckoned();
        let Value::Array(parts) = answer else { return Ok(()) };
        let mut parts = parts.into_iter().map(|part| text(part).parse::<i64>().unwrap_or(0));
        let (second, microsecond) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
        let server = second.saturating_mul(1_000_000).saturating_add(microsecond);
        self.clock.offset.store(server - (sent + (received - sent) / 2), Ordering::Relaxed);
        Ok(())
    }
}
