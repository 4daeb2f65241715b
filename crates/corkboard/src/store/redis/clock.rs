//! The server's clock, estimated by this process between two readings.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use jiff::Timestamp;

use super::RedisShared;
use super::answer::{array, senseless, text};
use super::connection::RedisCallError;
use crate::store::StoreError;

/// Computes the server's time from this process's monotonic clock.
pub(super) struct ServerClock {
    started: Instant,
    /// The server's time when this process's clock started, in microseconds.
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

impl RedisShared {
    /// Compares this process's clock with the server's. The server answers somewhere within the round trip, so the
    /// shortest of several round trips is the most precise.
    pub(super) async fn set_clock(&self) -> Result<(), StoreError> {
        let mut shortest = i64::MAX;
        for _ in 0..3 {
            let sent = self.clock.reckoned();
            let answer = self.first().ask_again(&redis::cmd("TIME")).await.map_err(RedisCallError::of_reading)?;
            let took = self.clock.reckoned() - sent;
            let [second, microsecond] = array(answer, "time")?;
            let number = |value| text(value).parse::<i64>().map_err(|_| senseless("time"));
            let server = number(second)?.saturating_mul(1_000_000).saturating_add(number(microsecond)?);
            if took < shortest {
                shortest = took;
                self.clock.offset.store(server - sent - took / 2, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
