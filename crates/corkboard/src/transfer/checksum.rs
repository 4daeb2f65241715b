//! A checksum over a log, which can be continued later.

use std::fmt;

use corkboard_core::Head;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::store::{Record, Snapshot};

/// A BLAKE3 chain: each step hashes the checksum so far and the next item. It is always 32 bytes, so it can be stored
/// and continued with later records.
///
/// It covers each record's revision, commit ID, time to the millisecond, and body.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum([u8; 32]);

impl Checksum {
    /// Adds a record.
    pub fn record(&mut self, record: &Record) {
        let at = record.at.as_millisecond();
        let (rev, commit) = (record.rev.to_be_bytes(), record.commit.0.as_bytes());
        self.item(b"record", &[&rev, commit, &at.to_be_bytes(), &record.body]);
    }

    /// Adds the facts that are stored beside a log.
    pub(super) fn space(&mut self, id: &str, born: Head, head: Head, next_due: Option<Timestamp>, summary: &[u8]) {
        let due = next_due.map(|at| at.as_millisecond().to_be_bytes());
        let due: &[u8] = due.as_ref().map_or(&[], |bytes| bytes);
        let ends = [born.rev.to_be_bytes(), head.rev.to_be_bytes()].concat();
        self.item(b"space", &[id.as_bytes(), &ends, born.commit.0.as_bytes(), head.commit.0.as_bytes(), due, summary]);
    }

    pub(super) fn snapshot(&mut self, snapshot: &Snapshot) {
        let Snapshot { head, body } = snapshot;
        self.item(b"snapshot", &[&head.rev.to_be_bytes(), head.commit.0.as_bytes(), body]);
    }

    pub(super) fn checksum(&mut self, other: Self) {
        self.item(b"checksum", &[&other.0]);
    }

    /// Adds an item. Every field is hashed with its length, so that different items never have the same bytes.
    fn item(&mut self, what: &[u8], fields: &[&[u8]]) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0).update(what);
        for field in fields {
            hasher.update(&(field.len() as u64).to_be_bytes()).update(field);
        }
        self.0 = *hasher.finalize().as_bytes();
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Checksum {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let hash = blake3::Hash::from_hex(text.as_bytes()).map_err(serde::de::Error::custom)?;
        Ok(Self(*hash.as_bytes()))
    }
}
