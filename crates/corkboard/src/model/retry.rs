//! When to retry a request, and after how long.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::ModelError;
use crate::backoff::{Backoff, jitter};

/// How often to retry a request, and after how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRetries {
    /// Maximum number of retries.
    pub max: u32,
    /// Approximate wait before the first retry. Each further wait is twice as long.
    pub first_wait: Duration,
    /// Maximum wait. If a server's `Retry-After` is longer, there is no retry.
    pub max_wait: Duration,
}

impl Default for ModelRetries {
    fn default() -> Self {
        Self { max: 3, first_wait: Duration::from_millis(500), max_wait: Duration::from_secs(60) }
    }
}

impl ModelRetries {
    /// No retries.
    pub const NONE: Self = Self { max: 0, first_wait: Duration::ZERO, max_wait: Duration::ZERO };

    /// How long to wait before the next retry; `None` for no retry. `random` is between 0 and 1: it keeps clients that
    /// failed together from retrying together.
    pub(super) fn wait(&self, attempts: u32, error: &ModelError, random: f64) -> Option<Duration> {
        if attempts > self.max || !error.is_retryable() {
            return None;
        }
        if let ModelError::Busy { retry_after: Some(wanted), .. } = error {
            return (*wanted <= self.max_wait).then_some(*wanted);
        }
        let pause = Backoff::new(self.first_wait, self.max_wait).nth(attempts.saturating_sub(1));
        Some(jitter(pause, random))
    }
}

/// Reads `Retry-After`: seconds or a date. A date is relative to the answer's `Date`, if present, so clocks need not
/// agree.
pub(super) fn retry_after(value: &str, date: Option<&str>, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = http_date(value)?;
    let wait: SignedDuration = at.duration_since(date.and_then(http_date).unwrap_or(now));
    Some(wait.max(SignedDuration::ZERO).unsigned_abs())
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates() {
        let now: Timestamp = "1994-11-06T08:49:07Z".parse().unwrap();
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (value, own, seconds) in [
            ("30", None, Some(30.0)),
            (" 1.5 ", None, Some(1.5)),
            ("0", None, Some(0.0)),
            (date, None, Some(30.0)),
            (date, Some("Sun, 06 Nov 1994 08:49:32 GMT"), Some(5.0)),
            (date, Some("not a date"), Some(30.0)),
            (date, Some("Sun, 06 Nov 1994 09:00:00 GMT"), Some(0.0)),
            ("-5", None, None),
            ("inf", None, None),
            ("NaN", None, None),
            ("soon", None, None),
        ] {
            assert_eq!(retry_after(value, own, now).map(|wait| wait.as_secs_f64()), seconds, "{value} {own:?}");
        }
    }

    #[test]
    fn each_wait_is_twice_the_last_up_to_the_most() {
        let retries = ModelRetries { max: 5, first_wait: Duration::from_secs(1), max_wait: Duration::from_secs(6) };
        let cut = ModelError::Cut("x".into());
        let seconds = |attempts, random| retries.wait(attempts, &cut, random).map(|wait| wait.as_secs_f64());
        let waits: Vec<_> = (1..=6).map(|attempts| seconds(attempts, 0.0)).collect();
        assert_eq!(waits, [Some(1.0), Some(2.0), Some(4.0), Some(6.0), Some(6.0), None]);
        assert_eq!(seconds(2, 1.0), Some(1.0));
        assert_eq!(retries.wait(1, &ModelError::Malformed("x".into()), 0.0), None);
    }

    #[test]
    fn the_server_says_when_up_to_the_most() {
        let retries = ModelRetries { max: 1, first_wait: Duration::from_secs(1), max_wait: Duration::from_secs(60) };
        let busy = |wait| ModelError::Busy {
            status: 429,
            retry_after: Some(Duration::from_secs(wait)),
            message: String::new(),
        };
        assert_eq!(retries.wait(1, &busy(60), 0.5), Some(Duration::from_secs(60)));
        assert_eq!(retries.wait(1, &busy(61), 0.5), None);
        assert_eq!(retries.wait(2, &busy(1), 0.5), None);
    }
}
