//! The server's clock, by which all who share the store go.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// How often it is set again. Clocks drift apart by some microseconds in a second.
const REFRESH: Duration = Duration::from_secs(30);

/// What the server's clock shows, told by our own steady one.
pub(super) struct ServerClock {
    started: Instant,
    /// What the server's clock showed when ours started, in microseconds since 1970.
    at_start: AtomicI64,
    /// When it was last set, in milliseconds since the start.
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

    /// The time; none until it was set once.
    pub(super) fn now(&self) -> Option<Timestamp> {
        let start = self.is_set.load(Ordering::Acquire).then(|| self.at_start.load(Ordering::Relaxed))?;
        let now = start.saturating_add(micros(self.started.elapsed()));
        Timestamp::from_millisecond(now.div_euclid(1000)).ok()
    }

    /// The server said that it was `shown` o'clock somewhere between two moments: halfway, as far as we know. What differs
    /// by less than we can know is left as it is.
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

    /// Whether it is time to set it again. Whoever is told so does it; the others are told no.
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
    fn it_shows_the_servers_time_and_forgives_what_it_cannot_know() {
        let clock = ServerClock::new();
        assert_eq!(clock.now(), None);
        let asked = Instant::now();
        let answered = asked + Duration::from_millis(40);
        clock.set(asked, answered, 1_000_000_000);
        // 20 ms of the way lay before the server looked at its clock.
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
