//! The server's clock, which all processes that share the store use.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// How often to set the clock again. Clocks drift apart by some microseconds per second.
const REFRESH: Duration = Duration::from_secs(30);

/// Computes the server's time from this process's monotonic clock.
pub(super) struct ServerClock {
    started: Instant,
    /// The server's time when the local clock started, in microseconds since 1970.
    at_start: AtomicI64,
    /// When the clock was last set, in milliseconds since the local clock started.
    set_at: AtomicI64,
    is_set: AtomicBool,
}

impl ServerClock {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            at_start: AtomicI64::new(0),
            set_at: AtomicI64::new(0),
            is_set: AtomicBool::new(false),
        }
    }

    /// The current time; `None` until the clock is set.
    pub(super) fn now(&self) -> Option<Timestamp> {
        let start = self.is_set.load(Ordering::Acquire).then(|| self.at_start.load(Ordering::Relaxed))?;
        let now = start.saturating_add(micros(self.started.elapsed()));
        Timestamp::from_millisecond(now.div_euclid(1000)).ok()
    }

    /// Sets the clock to `shown`, the server's time at some moment between `asked` and `answered`; assumes the middle.
    /// Ignores a difference that is smaller than this uncertainty.
    pub(super) fn set(&self, asked: Instant, answered: Instant, shown: i64) {
        let way = micros(answered.saturating_duration_since(asked)) / 2;
        let at_start = shown.saturating_sub(micros(asked.saturating_duration_since(self.started)) + way);
        let known = self.is_set.load(Ordering::Acquire);
        if !known || self.at_start.load(Ordering::Relaxed).abs_diff(at_start) > way.unsigned_abs() {
            self.at_start.store(at_start, Ordering::Relaxed);
            self.is_set.store(true, Ordering::Release);
        }
        self.set_at.store(millis(self.started.elapsed()), Ordering::Relaxed);
    }

    /// Whether the clock must be set again. Returns true to one caller only, which must then set it.
    pub(super) fn is_stale(&self) -> bool {
        let (now, set_at) = (millis(self.started.elapsed()), self.set_at.load(Ordering::Relaxed));
        now - set_at > millis(REFRESH)
            && self.set_at.compare_exchange(set_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_shows_the_servers_time_and_ignores_small_differences() {
        let clock = ServerClock::new();
        assert_eq!(clock.now(), None);
        let asked = Instant::now();
        let answered = asked + Duration::from_millis(40);
        clock.set(asked, answered, 1_000_000_000);
        // The server is assumed to have read its clock after 20 ms, half of the round trip.
        let shown = clock.now().unwrap().as_millisecond();
        assert!((999_980..1_020_000).contains(&shown), "{shown}");
        let before = clock.at_start.load(Ordering::Relaxed);
        clock.set(asked, answered, 1_000_010_000);
        assert_eq!(clock.at_start.load(Ordering::Relaxed), before);
        clock.set(asked, answered, 5_000_000_000);
        assert_eq!(clock.at_start.load(Ordering::Relaxed), before + 4_000_000_000);
        assert!(!clock.is_stale());
    }
}
