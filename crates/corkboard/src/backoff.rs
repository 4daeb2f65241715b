//! Pauses between attempts.

use std::time::Duration;

/// Pauses that double from one attempt to the next, up to a maximum.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    attempts: u32,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, attempts: 0 }
    }

    /// The pause after this many earlier pauses.
    pub(crate) fn nth(&self, earlier: u32) -> Duration {
        self.first.saturating_mul(1 << earlier.min(30)).min(self.longest)
    }

    /// The pause before the next attempt.
    pub(crate) fn next_pause(&mut self) -> Duration {
        let pause = self.nth(self.attempts);
        self.attempts = self.attempts.saturating_add(1);
        pause
    }

    pub(crate) async fn sleep(&mut self) {
        tokio::time::sleep(self.next_pause()).await;
    }

    pub(crate) fn reset(&mut self) {
        self.attempts = 0;
    }
}

/// Shortens a pause by up to a half, for `random` from 0 to 1, so that clients that failed together do not retry
/// together.
#[cfg(any(feature = "postgres", feature = "redis", feature = "model"))]
pub(crate) fn jitter(pause: Duration, random: f64) -> Duration {
    pause.mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_maximum_and_restart_after_a_reset() {
        let mut backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(18));
        let pauses = |backoff: &mut Backoff| [(); 4].map(|()| backoff.next_pause().as_millis());
        assert_eq!(pauses(&mut backoff), [5, 10, 18, 18]);
        backoff.reset();
        assert_eq!(pauses(&mut backoff), [5, 10, 18, 18]);
        assert_eq!(backoff.nth(u32::MAX), Duration::from_millis(18));
    }
}
