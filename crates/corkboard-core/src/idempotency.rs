//! Answers remembered for idempotency keys: a repeated request gets the same answer.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use imbl::{OrdMap, OrdSet};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Limits, Refusal};

/// An idempotency key with a hash of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct IdempotencyKey {
    /// The key, unique per principal and space.
    pub key: String,
    /// The [`body_hash`] of the command, in hexadecimal.
    pub body: String,
}

impl IdempotencyKey {
    pub fn new(key: &str, command: &impl Serialize, limits: &Limits) -> Result<Self, Refusal> {
        crate::id::check_idempotency_key(key, limits)?;
        Ok(Self { key: key.into(), body: body_hash(command) })
    }
}

/// A hash of a command's JSON (FNV-1a, 128 bits). It is the same in all processes and versions.
pub fn body_hash(command: &impl Serialize) -> String {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = serde_json::to_vec(command).unwrap_or_default();
    let hash = bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME));
    alloc::format!("{hash:032x}")
}

/// The answers that a space remembers. [`Limits`] sets their number and for how long they are kept. Above that number,
/// the principal with the most answers loses its oldest one, so nobody can push out the answers of others.
#[derive(Debug, Clone, PartialEq)]
pub struct RememberedAnswers<R> {
    by_key: OrdMap<(String, String), RememberedAnswer<R>>,
    by_rev: OrdMap<u64, (String, String)>,
    by_principal: OrdMap<String, OrdSet<u64>>,
    /// The number of answers and the revision of the oldest one, per principal. The last element is removed next.
    by_share: OrdSet<(usize, Reverse<u64>)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RememberedAnswer<R> {
    rev: u64,
    at: Timestamp,
    body: String,
    reply: R,
}

impl<R> Default for RememberedAnswers<R> {
    fn default() -> Self {
        Self { by_key: OrdMap::new(), by_rev: OrdMap::new(), by_principal: OrdMap::new(), by_share: OrdSet::new() }
    }
}

impl<R: Clone> RememberedAnswers<R> {
    /// The earlier answer, or a refusal if the key was used with another body.
    pub fn find(
        &self,
        principal: &str,
        request: &IdempotencyKey,
        now: Timestamp,
        limits: &Limits,
    ) -> Result<Option<(u64, R)>, Refusal> {
        let found = self.by_key.get(&(principal.into(), request.key.clone()));
        match found.filter(|answer| !is_old(answer.at, now, limits)) {
            None => Ok(None),
            Some(answer) if answer.body == request.body => Ok(Some((answer.rev, answer.reply.clone()))),
            Some(answer) => {
                Err(Refusal::IdempotencyMismatch { key: request.key.clone(), rev: answer.rev, at: answer.at })
            }
        }
    }

    pub(crate) fn remember(&mut self, rev: u64, at: Timestamp, principal: &str, request: &IdempotencyKey, reply: R) {
        let name = (String::from(principal), request.key.clone());
        self.insert(name, RememberedAnswer { rev, at, body: request.body.clone(), reply });
    }

    /// Drops every answer that is too old. While there are still too many, drops the oldest answer of the principal
    /// with the most. If several principals have the most, the oldest of their answers goes first.
    pub(crate) fn forget_old(&mut self, now: Timestamp, limits: &Limits) {
        while let Some((rev, name)) = self.by_rev.get_min()
            && self.by_key.get(name).is_none_or(|answer| is_old(answer.at, now, limits))
        {
            let rev = *rev;
            self.remove(rev);
        }
        while self.by_rev.len() as u64 > limits.idempotency_keys
            && let Some(&(_, Reverse(rev))) = self.by_share.get_max()
        {
            self.remove(rev);
        }
    }

    fn insert(&mut self, name: (String, String), answer: RememberedAnswer<R>) {
        let rev = answer.rev;
        if let Some(old) = self.by_key.get(&name).map(|old| old.rev) {
            self.remove(old);
        }
        // A revision has one answer. A damaged snapshot may contain several.
        self.remove(rev);
        self.change_share(&name.0, |revs| {
            revs.insert(rev);
        });
        self.by_rev.insert(rev, name.clone());
        self.by_key.insert(name, answer);
    }

    fn remove(&mut self, rev: u64) {
        if let Some(name) = self.by_rev.remove(&rev) {
            self.change_share(&name.0, |revs| {
                revs.remove(&rev);
            });
            self.by_key.remove(&name);
        }
    }

    fn change_share(&mut self, principal: &str, change: impl FnOnce(&mut OrdSet<u64>)) {
        let share = |revs: &OrdSet<u64>| Some((revs.len(), Reverse(*revs.get_min()?)));
        let mut revs = self.by_principal.remove(principal).unwrap_or_default();
        if let Some(share) = share(&revs) {
            self.by_share.remove(&share);
        }
        change(&mut revs);
        if let Some(share) = share(&revs) {
            self.by_share.insert(share);
            self.by_principal.insert(principal.into(), revs);
        }
    }
}

fn is_old(at: Timestamp, now: Timestamp, limits: &Limits) -> bool {
    let kept = i64::try_from(limits.idempotency_hours).ok().and_then(SignedDuration::try_from_hours);
    now.duration_since(at) >= kept.unwrap_or(SignedDuration::MAX)
}

#[derive(Serialize, Deserialize)]
struct StoredAnswer<R> {
    principal: String,
    key: String,
    answer: RememberedAnswer<R>,
}

impl<R: Clone + Serialize> Serialize for RememberedAnswers<R> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.by_key.iter().map(|((principal, key), answer)| StoredAnswer {
            principal: principal.clone(),
            key: key.clone(),
            answer: answer.clone(),
        }))
    }
}

impl<'de, R: Clone + Deserialize<'de>> Deserialize<'de> for RememberedAnswers<R> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut answered = Self::default();
        for stored in Vec::<StoredAnswer<R>>::deserialize(deserializer)? {
            let StoredAnswer { principal, key, answer } = stored;
            answered.insert((principal, key), answer);
        }
        Ok(answered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(key: &str, body: &str) -> IdempotencyKey {
        IdempotencyKey { key: key.into(), body: body.into() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_same_body_gets_the_same_answer_and_another_is_refused() {
        let limits = Limits::default();
        let mut answered = RememberedAnswers::default();
        answered.remember(7, at(0), "ann", &request("k", "a"), "first");
        assert_eq!(answered.find("ann", &request("k", "a"), at(1), &limits), Ok(Some((7, "first"))));
        assert_eq!(answered.find("bob", &request("k", "a"), at(1), &limits), Ok(None));
        assert!(answered.find("ann", &request("k", "b"), at(1), &limits).is_err());
        assert_eq!(answered.find("ann", &request("k", "b"), at(24 * 3600), &limits), Ok(None));
    }

    #[test]
    fn old_and_surplus_answers_are_forgotten_oldest_first() {
        let limits = Limits { idempotency_keys: 2, ..Limits::default() };
        let mut answered = RememberedAnswers::default();
        for rev in 1..=3 {
            answered.remember(rev, at(rev as i64), "ann", &request(&alloc::format!("k{rev}"), "a"), rev);
        }
        answered.forget_old(at(3), &limits);
        assert_eq!(answered.by_rev.keys().copied().collect::<Vec<_>>(), [2, 3]);
        answered.forget_old(at(24 * 3600 + 2), &limits);
        assert_eq!(answered.by_rev.keys().copied().collect::<Vec<_>>(), [3]);
        assert_eq!(answered.by_key.len(), 1);
    }

    /// Regression test: 10,050 keys of one principal once pushed out all others.
    #[test]
    fn the_keys_of_others_cannot_be_evicted() {
        let limits = Limits { idempotency_keys: 10, ..Limits::default() };
        let mut answered = RememberedAnswers::default();
        let mut rev = 0;
        let mut remember = |answered: &mut RememberedAnswers<u64>, principal: &str, key: &str| {
            rev += 1;
            answered.remember(rev, at(rev as i64), principal, &request(key, "a"), rev);
            answered.forget_old(at(rev as i64), &limits);
            assert!(answered.by_rev.len() as u64 <= limits.idempotency_keys);
        };
        let keys_of = |answered: &RememberedAnswers<u64>, principal: &str| {
            let keys = answered.by_key.keys().filter(|(of, _)| of == principal);
            keys.map(|(_, key)| key.clone()).collect::<Vec<_>>()
        };
        // One principal alone may use them all.
        for count in 0..10 {
            remember(&mut answered, "mallory", &alloc::format!("m{count}"));
        }
        assert_eq!(keys_of(&answered, "mallory").len(), 10);
        remember(&mut answered, "ada", "a1");
        remember(&mut answered, "bob", "b1");
        for count in 0..1_050 {
            remember(&mut answered, "mallory", &alloc::format!("m{count}"));
        }
        assert_eq!(keys_of(&answered, "ada"), ["a1"]);
        assert_eq!(keys_of(&answered, "bob"), ["b1"]);
        let expected: Vec<_> = (1_042..1_050).map(|count| alloc::format!("m{count}")).collect();
        assert_eq!(keys_of(&answered, "mallory"), expected, "its own newest are left");
        // Ada takes her share from Mallory, until both have about the same number.
        for count in 0..100 {
            remember(&mut answered, "ada", &alloc::format!("a{count:02}"));
        }
        let shares = ["ada", "bob", "mallory"].map(|principal| keys_of(&answered, principal).len());
        assert_eq!(shares, [5, 1, 4]);
        // A snapshot restores the same shares.
        let json = serde_json::to_string(&answered).unwrap();
        assert_eq!(serde_json::from_str::<RememberedAnswers<u64>>(&json).unwrap(), answered);
    }

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(body_hash(&"corkboard"), "8620ee2cec503718b5ecd0b781d63a5a");
    }
}
