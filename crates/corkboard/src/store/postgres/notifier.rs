//! Notifies other processes of commits, after the commit: inside the transaction it would block all other notifying
//! transactions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use corkboard_core::SpaceId;
use parking_lot::Mutex;

use super::pool::{Effect, Pool};
use super::queries::Query;

/// Maximum size of a notification; the server allows fewer than 8,000 bytes.
const PAYLOAD: usize = 7900;
/// Pause between notifications, to collect more changes.
const PAUSE: Duration = Duration::from_millis(1);

/// Collects changes and sends them.
#[derive(Default)]
pub(super) struct Notifier {
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    /// The newest revision of each space, by the space's number.
    revs: HashMap<u64, u64>,
    telling: bool,
}

impl Notifier {
    /// Sends a notification of a commit shortly, together with others. Listeners find a lost one by polling.
    pub(super) fn notify(self: &Arc<Self>, pool: &Arc<Pool>, space: &SpaceId, rev: u64) {
        let mut pending = self.pending.lock();
        let newest = pending.revs.entry(number(space)).or_default();
        *newest = rev.max(*newest);
        if !std::mem::replace(&mut pending.telling, true) {
            tokio::spawn(tell(self.clone(), pool.clone()));
        }
    }
}

async fn tell(notifier: Arc<Notifier>, pool: Arc<Pool>) {
    let channel = pool.settings().schema.channel();
    loop {
        let revs = {
            let mut pending = notifier.pending.lock();
            if pending.revs.is_empty() {
                pending.telling = false;
                return;
            }
            std::mem::take(&mut pending.revs)
        };
        let payloads = encode(revs);
        if let Err(error) = pool.query(Query::Notify, &[&channel, &payloads], Effect::Writes).await {
            tracing::debug!(failure = ?error, "cannot notify other processes of a commit; they find it by polling");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The number that identifies a space in notifications, because names may be too long: FNV-1a, which is the same
/// everywhere.
pub(super) fn number(space: &SpaceId) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    space.as_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn encode(revs: HashMap<u64, u64>) -> Vec<String> {
    let mut payloads = vec![String::new()];
    for (number, rev) in revs {
        let told = format!("{number:x}:{rev} ");
        match payloads.last_mut() {
            Some(payload) if payload.len() + told.len() <= PAYLOAD => payload.push_str(&told),
            _ => payloads.push(told),
        }
    }
    payloads
}

/// Decodes the output of [`encode`]. Skips unknown parts, which a newer Corkboard may send.
pub(super) fn decode(payload: &str) -> impl Iterator<Item = (u64, u64)> {
    payload.split(' ').filter_map(|told| {
        let (number, rev) = told.split_once(':')?;
        Some((u64::from_str_radix(number, 16).ok()?, rev.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notifications_round_trip() {
        let revs: HashMap<u64, u64> = (0..5000).map(|index| (u64::MAX - index * 7, index * index)).collect();
        let payloads = encode(revs.clone());
        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() < 8000));
        let told: HashMap<u64, u64> = payloads.iter().flat_map(|payload| decode(payload)).collect();
        assert_eq!(told, revs);
        assert_eq!(decode("x 1: :2 3:y a:4 5:6:7").collect::<Vec<_>>(), [(10, 4)]);
    }
}
