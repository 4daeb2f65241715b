//! Limits the bytes of requests and answers that the server holds in memory, over all connections.
//!
//! A request's body is charged while it is read, an answer until its last byte is sent. Two rules keep one caller from
//! starving the others: no principal may hold more than its share, and part of the budget is reserved for small
//! messages.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use corkboard::ErrorKind;
use metrics::{Gauge, gauge};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::error::HttpError;

/// Messages up to this size may use the reserve.
pub(crate) const SMALL: usize = 64 * 1024;
/// How long a request waits for others to release bytes before it is answered with 503.
const MAX_WAIT: Duration = Duration::from_secs(2);
const RETRY_AFTER: u64 = 1;

/// The budget of one server. Clones share it.
#[derive(Clone)]
pub(crate) struct Budget(Arc<BudgetShared>);

struct BudgetShared {
    total: usize,
    /// What messages larger than [`SMALL`] may use; the rest is the reserve.
    for_large: usize,
    share: usize,
    used: Mutex<BudgetUsage>,
    freed: Notify,
    now: Gauge,
    peak: Gauge,
}

#[derive(Default)]
struct BudgetUsage {
    bytes: usize,
    peak: usize,
    by_principal: HashMap<Arc<str>, usize>,
}

/// Why bytes were not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetExceeded {
    /// Others hold the bytes; a retry can succeed.
    Busy,
    /// It is more than one principal may ever hold.
    TooLarge { share: usize },
}

impl BudgetExceeded {
    /// The answer to a request whose body did not fit.
    pub(crate) fn for_body(self) -> HttpError {
        match self {
            Self::Busy => busy("its body"),
            Self::TooLarge { share } => HttpError::body_too_large(format!(
                "the body would take more than {share} bytes of memory (buffer_bytes)"
            )),
        }
    }

    /// The answer instead of one that did not fit.
    pub(crate) fn for_answer(self, bytes: usize) -> HttpError {
        match self {
            Self::Busy => busy("the answer"),
            Self::TooLarge { share } => {
                let detail = format!("the answer has {bytes} bytes; the maximum is {share} (buffer_bytes)");
                HttpError::new("answer_too_large", ErrorKind::Limit, detail)
            }
        }
    }
}

fn busy(what: &str) -> HttpError {
    let detail = format!("the server has no memory left to buffer {what}: retry in {RETRY_AFTER} s");
    HttpError::new("busy", ErrorKind::Unavailable, detail).retry_after(RETRY_AFTER)
}

impl Budget {
    pub(crate) fn new(total: usize) -> Self {
        let for_large = total - total / 8;
        let (now, peak) = (gauge!("corkboard.http.buffered_bytes"), gauge!("corkboard.http.buffered_bytes_peak"));
        now.set(0.0);
        peak.set(0.0);
        gauge!("corkboard.http.buffered_bytes_limit").set(total as f64);
        let (used, freed) = (Mutex::default(), Notify::new());
        Self(Arc::new(BudgetShared { total, for_large, share: for_large / 2, used, freed, now, peak }))
    }

    /// A charge that holds nothing yet.
    pub(crate) fn charge(&self, principal: &Arc<str>) -> Charge {
        Charge { budget: self.clone(), principal: principal.clone(), bytes: 0 }
    }

    pub(crate) fn share(&self) -> usize {
        self.0.share
    }

    pub(crate) fn held(&self) -> usize {
        self.0.used.lock().bytes
    }

    pub(crate) fn peak(&self) -> usize {
        self.0.used.lock().peak
    }

    /// Whether a principal could hold this many more bytes right now.
    pub(crate) fn has_room(&self, principal: &Arc<str>, bytes: usize) -> bool {
        self.charge(principal).try_grow(bytes).is_ok()
    }
}

/// Bytes of the budget that a principal holds until this is dropped.
pub(crate) struct Charge {
    budget: Budget,
    principal: Arc<str>,
    bytes: usize,
}

impl Charge {
    /// Takes more bytes if they are free right now.
    pub(crate) fn try_grow(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        let inner = &self.budget.0;
        let whole = self.bytes.saturating_add(bytes);
        if whole > inner.share {
            return Err(BudgetExceeded::TooLarge { share: inner.share });
        }
        // A principal whose large messages fill its share can still send small ones.
        let (room, share) = match whole <= SMALL {
            true => (inner.total, inner.share + (inner.total - inner.for_large) / 2),
            false => (inner.for_large, inner.share),
        };
        let mut used = inner.used.lock();
        let own = used.by_principal.get(&self.principal).copied().unwrap_or_default();
        if used.bytes.saturating_add(bytes) > room || own.saturating_add(bytes) > share {
            return Err(BudgetExceeded::Busy);
        }
        used.bytes += bytes;
        used.peak = used.peak.max(used.bytes);
        match used.by_principal.get_mut(&self.principal) {
            Some(own) => *own += bytes,
            None => drop(used.by_principal.insert(self.principal.clone(), bytes)),
        }
        inner.now.set(used.bytes as f64);
        inner.peak.set(used.peak as f64);
        self.bytes = whole;
        Ok(())
    }

    /// Takes more bytes, and waits a moment for others to release theirs.
    pub(crate) async fn grow(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        let mut deadline = None;
        loop {
            let budget = self.budget.clone();
            let mut freed = pin!(budget.0.freed.notified());
            if deadline.is_some() {
                // What is released from here on wakes this.
                freed.as_mut().enable();
            }
            match self.try_grow(bytes) {
                Err(BudgetExceeded::Busy) => {}
                done => return done,
            }
            match deadline {
                // Try once more while listening for released bytes.
                None => deadline = Some(Instant::now() + MAX_WAIT),
                Some(deadline) => timeout_at(deadline, freed).await.map_err(|_| BudgetExceeded::Busy)?,
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases all but this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let released = self.bytes.saturating_sub(bytes);
        if released == 0 {
            return;
        }
        self.bytes -= released;
        let inner = &self.budget.0;
        let mut used = inner.used.lock();
        used.bytes -= released;
        if let Some(own) = used.by_principal.get_mut(&self.principal) {
            *own -= released;
            if *own == 0 {
                used.by_principal.remove(&self.principal);
            }
        }
        inner.now.set(used.bytes as f64);
        drop(used);
        inner.freed.notify_waiters();
    }

    /// Ties the charge to the bytes: it is released when the last slice of them is dropped.
    pub(crate) fn own(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(ChargedBytes { bytes, _charge: self })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

struct ChargedBytes {
    bytes: Bytes,
    _charge: Charge,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn held(budget: &Budget, principal: &str, bytes: usize) -> Result<Charge, BudgetExceeded> {
        let mut charge = budget.charge(&principal.into());
        charge.try_grow(bytes).map(|()| charge)
    }

    #[test]
    fn one_principal_gets_its_share_and_small_messages_get_the_reserve() {
        // 1 MiB are reserved, so 7 are for large messages and 3.5 for each principal.
        let budget = Budget::new(8 * MIB);
        assert_eq!(held(&budget, "ada", 4 * MIB).err(), Some(BudgetExceeded::TooLarge { share: 7 * MIB / 2 }));
        let ada: Vec<Charge> = (0..3).map(|_| held(&budget, "ada", MIB).unwrap()).collect();
        assert_eq!(held(&budget, "ada", MIB).err(), Some(BudgetExceeded::Busy));
        assert!(held(&budget, "ada", SMALL).is_ok(), "her small messages get through");
        let bob: Vec<Charge> = (0..3).map(|_| held(&budget, "bob", MIB).unwrap()).collect();
        let eve = held(&budget, "eve", MIB).unwrap();
        assert_eq!((budget.held(), held(&budget, "joe", SMALL + 1).err()), (7 * MIB, Some(BudgetExceeded::Busy)));
        let small: Vec<Charge> =
            (0..MIB / SMALL).map(|each| held(&budget, &each.to_string(), SMALL).unwrap()).collect();
        assert_eq!((budget.held(), held(&budget, "joe", 1).err()), (8 * MIB, Some(BudgetExceeded::Busy)));
        drop((ada, bob, eve, small));
        assert_eq!((budget.held(), budget.peak()), (0, 8 * MIB));
        assert!(budget.0.used.lock().by_principal.is_empty());
    }

    #[test]
    fn bytes_are_charged_until_the_last_part_of_them_is_dropped() {
        let budget = Budget::new(8 * MIB);
        let mut whole = held(&budget, "ada", MIB).unwrap().own(vec![7; MIB].into());
        let part = whole.split_to(10);
        drop(whole);
        assert_eq!((budget.held(), &*part), (MIB, &[7; 10][..]));
        drop(part);
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_budget_is_waited_for_briefly() {
        let budget = Budget::new(8 * MIB);
        let first = held(&budget, "ada", 3 * MIB).unwrap();
        let mut second = budget.charge(&"ada".into());
        assert_eq!(second.grow(MIB).await, Err(BudgetExceeded::Busy));
        let waiting = tokio::spawn(async move { second.grow(MIB).await.map(|()| second) });
        tokio::time::sleep(MAX_WAIT / 2).await;
        drop(first);
        assert_eq!(waiting.await.unwrap().map(|second| second.bytes), Ok(MIB));
        assert_eq!(budget.held(), 0);
    }
}
