//! Where time comes from: one door, so that tests need not sleep.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// A source of time, in milliseconds.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// Whether a store that has a clock of its own is asked instead, so that all who share it agree.
    fn yields_to_store(&self) -> bool {
        false
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        // Every read asks for the time, so this is spelled out: `as_millis` divides 128 bits.
        let (second, nanosecond) = (i64::try_from(since.as_secs()), since.subsec_millis() as i32 * 1_000_000);
        Timestamp::new(second.unwrap_or(i64::MAX), nanosecond).unwrap_or(Timestamp::MAX)
    }

    fn yields_to_store(&self) -> bool {
        true
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock {
    millisecond: AtomicI64,
}

impl ManualClock {
    /// A clock that shows `start`.
    pub fn new(start: Timestamp) -> Self {
        Self { millisecond: AtomicI64::new(start.as_millisecond()) }
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        self.millisecond.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Sets it to any time, the past included.
    pub fn set(&self, to: Timestamp) {
        self.millisecond.store(to.as_millisecond(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        from_millisecond(self.millisecond.load(Ordering::SeqCst))
    }
}

fn from_millisecond(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::MAX)
}
