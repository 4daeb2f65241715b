//! The source of time, replaceable so that tests need not sleep.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

/// A source of time, in milliseconds.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The time since a fixed moment in this process. It never runs backwards or jumps, even if the machine's clock is
    /// set.
    fn monotonic(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }

    /// Whether a store's clock is used instead, if it has one, so that all processes on the store agree.
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
        // Every read needs the time, so this avoids `as_millis`, which divides 128 bits.
        let (second, nanosecond) = (i64::try_from(since.as_secs()), since.subsec_millis() as i32 * 1_000_000);
        Timestamp::new(second.unwrap_or(i64::MAX), nanosecond).unwrap_or(Timestamp::MAX)
    }

    fn yields_to_store(&self) -> bool {
        true
    }
}

/// A clock that only moves when told to, for tests.
#[derive(Debug)]
pub struct ManualClock {
    millisecond: AtomicI64,
    monotonic_millisecond: AtomicU64,
}

impl ManualClock {
    /// A clock that shows `start`.
    pub fn new(start: Timestamp) -> Self {
        Self { millisecond: AtomicI64::new(start.as_millisecond()), monotonic_millisecond: AtomicU64::new(0) }
    }

    /// Moves the clock forward, and [`Clock::monotonic`] with it.
    pub fn advance(&self, by: Duration) {
        self.millisecond.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
        self.monotonic_millisecond.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }

    /// Sets the clock to any time, even a past one, like a person who sets a machine's clock. [`Clock::monotonic`] is
    /// unaffected.
    pub fn set(&self, to: Timestamp) {
        self.millisecond.store(to.as_millisecond(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        from_millisecond(self.millisecond.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.monotonic_millisecond.load(Ordering::SeqCst))
    }
}

fn from_millisecond(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::MAX)
}

/// The time in one space: usually the clock's. If the space's last event is ahead of the clock, because the clock of
/// its writer was wrong or this clock was set back, the time is that of the last event plus the time since this process
/// first saw it. So leases and entries still expire. It never runs backwards, and follows the clock again once the
/// clock is ahead.
#[derive(Debug, Default)]
pub(crate) struct SpaceClock {
    is_ahead: AtomicBool,
    ahead: Mutex<Option<ClockLead>>,
}

#[derive(Debug, Clone, Copy)]
struct ClockLead {
    at: Timestamp,
    /// The monotonic time at which the space's time was `at`.
    since: Duration,
}

impl ClockLead {
    fn now(self, monotonic: Duration) -> Timestamp {
        let passed = SignedDuration::try_from(monotonic.saturating_sub(self.since)).unwrap_or(SignedDuration::MAX);
        self.at.checked_add(passed).unwrap_or(Timestamp::MAX)
    }
}

impl SpaceClock {
    /// The time in the space, given the clock's `time` and the time of the last event.
    pub(crate) fn now(&self, time: Timestamp, last_at: Timestamp, clock: &dyn Clock) -> Timestamp {
        if time >= last_at && !self.is_ahead() {
            return time;
        }
        let mut ahead = self.ahead.lock();
        let monotonic = clock.monotonic();
        let shown = ahead.map(|ahead| ahead.now(monotonic));
        let least = shown.map_or(last_at, |shown| shown.max(last_at));
        if time >= least {
            *ahead = None;
        } else if shown.is_none_or(|shown| shown < last_at) {
            *ahead = Some(ClockLead { at: last_at, since: monotonic });
        }
        self.is_ahead.store(ahead.is_some(), Ordering::Release);
        least.max(time)
    }

    /// Whether the space was ahead of the clock at the last call of [`Self::now`].
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead.load(Ordering::Acquire)
    }

    /// How far the space is ahead of the clock, if it is.
    pub(crate) fn lead(&self, time: Timestamp, clock: &dyn Clock) -> Option<Duration> {
        let ahead = (*self.ahead.lock())?;
        Duration::try_from(ahead.now(clock.monotonic()).duration_since(time)).ok().filter(|lead| !lead.is_zero())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what does not hold in a test ends the test")]
mod tests {
    use super::*;

    #[test]
    fn a_space_ahead_of_the_clock_moves_on_and_never_runs_backwards() {
        let second = |second| Timestamp::from_second(second).unwrap();
        let clock = ManualClock::new(second(1_000));
        let space = SpaceClock::default();
        let now = |last_at: i64| space.now(clock.now(), second(last_at), &clock).as_second();
        assert_eq!((now(900), space.is_ahead()), (1_000, false));
        // The writer's clock was 9,000 s ahead.
        assert_eq!((now(10_000), space.is_ahead()), (10_000, true));
        assert_eq!(space.lead(clock.now(), &clock), Some(Duration::from_secs(9_000)));
        clock.advance(Duration::from_secs(5));
        assert_eq!(now(10_000), 10_005);
        // Setting the clock back or a little ahead changes nothing.
        clock.set(second(10));
        assert_eq!(now(10_000), 10_005);
        clock.set(second(10_003));
        assert_eq!((now(10_000), space.is_ahead()), (10_005, true));
        // Only a later event moves the time.
        assert_eq!(now(10_002), 10_005);
        assert_eq!(now(10_020), 10_020);
        clock.advance(Duration::from_secs(1));
        assert_eq!(now(10_020), 10_021);
        // Once the clock is ahead, the space follows it again.
        clock.set(second(10_021));
        assert_eq!((now(10_020), space.is_ahead()), (10_021, false));
        assert_eq!(space.lead(clock.now(), &clock), None);
        clock.set(second(20_000));
        assert_eq!(now(10_020), 20_000);
    }
}
