//! Rate limits for requests and written bytes, as token buckets.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use parking_lot::Mutex;

/// The number of requests in a burst.
const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
/// How many of them remain.
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
/// Seconds until the bucket is full again.
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// A rate limit per caller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Amount available at once.
    pub burst: f64,
    /// Amount refilled per second.
    pub per_second: f64,
}

/// The buckets of all callers.
pub(crate) struct Buckets {
    rate: Rate,
    left: Mutex<HashMap<Arc<str>, Bucket>>,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Buckets {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, left: Mutex::default() }
    }

    /// Takes an amount from the caller's bucket. Returns the remaining amount, or the seconds to wait until there is
    /// enough.
    pub(crate) fn take(&self, caller: &str, amount: f64, now: Instant) -> Result<f64, u64> {
        let mut buckets = self.left.lock();
        let Some(bucket) = self.of(&mut buckets, caller, now) else { return Ok(self.rate.burst) };
        let left = bucket.refilled(self.rate, now);
        // An amount larger than a burst needs a full bucket.
        let needed = amount.min(self.rate.burst);
        if left < needed {
            return Err(((needed - left) / self.rate.per_second).ceil().max(1.0) as u64);
        }
        *bucket = Bucket { left: left - amount, at: now };
        Ok(left - amount)
    }

    /// Adds the rate limit headers to an answer.
    pub(crate) fn show(&self, left: f64, response: &mut Response) {
        let Rate { burst, per_second } = self.rate;
        // Negative after an amount larger than a burst.
        let left = left.max(0.0);
        let values = [(LIMIT, burst), (REMAINING, left.floor()), (RESET, ((burst - left) / per_second).ceil())];
        for (name, value) in values {
            response.headers_mut().insert(name, HeaderValue::from(value as u64));
        }
    }

    /// Takes an amount unconditionally: for usage that already happened, later requests wait. A negative amount is
    /// given back.
    pub(crate) fn charge(&self, caller: &str, amount: f64, now: Instant) {
        let mut buckets = self.left.lock();
        if let Some(bucket) = self.of(&mut buckets, caller, now) {
            *bucket = Bucket { left: bucket.refilled(self.rate, now) - amount, at: now };
        }
    }

    /// The caller's bucket, created if missing. Never none.
    fn of<'b>(&self, buckets: &'b mut HashMap<Arc<str>, Bucket>, caller: &str, now: Instant) -> Option<&'b mut Bucket> {
        if !buckets.contains_key(caller) {
            // A full bucket equals none, so it can be dropped.
            if buckets.len().is_power_of_two() {
                buckets.retain(|_, bucket| bucket.refilled(self.rate, now) < self.rate.burst);
            }
            buckets.insert(caller.into(), Bucket { left: self.rate.burst, at: now });
        }
        buckets.get_mut(caller)
    }
}

impl Bucket {
    fn refilled(self, rate: Rate, now: Instant) -> f64 {
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        (self.left + seconds * rate.per_second).min(rate.burst)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RATE: Rate = Rate { burst: 3.0, per_second: 2.0 };

    #[test]
    fn a_burst_is_allowed_and_then_what_was_refilled() {
        let (buckets, start) = (Buckets::new(RATE), Instant::now());
        for _ in 0..3 {
            assert!(buckets.take("ada", 1.0, start).is_ok());
        }
        assert_eq!(buckets.take("ada", 1.0, start), Err(1));
        assert_eq!(buckets.take("bob", 1.0, start), Ok(2.0), "each caller has a bucket");
        let later = start + Duration::from_millis(500);
        assert_eq!(buckets.take("ada", 1.0, later), Ok(0.0));
        assert_eq!(buckets.take("ada", 1.0, later), Err(1));
    }

    #[test]
    fn an_amount_larger_than_a_burst_is_allowed_once_and_delays_later_ones() {
        let (buckets, start) = (Buckets::new(RATE), Instant::now());
        assert_eq!(buckets.take("ada", 9.0, start), Ok(-6.0));
        assert_eq!(buckets.take("ada", 1.0, start), Err(4));
        assert_eq!(buckets.take("ada", 1.0, start + Duration::from_millis(3500)), Ok(0.0));
    }

    #[test]
    fn full_buckets_are_dropped() {
        let (buckets, start) = (Buckets::new(RATE), Instant::now());
        for name in 0..64 {
            buckets.take(&format!("caller {name}"), 1.0, start).unwrap_or_default();
        }
        buckets.take("one more", 1.0, start + Duration::from_secs(60)).unwrap_or_default();
        assert_eq!(buckets.left.lock().len(), 1);
    }
}
