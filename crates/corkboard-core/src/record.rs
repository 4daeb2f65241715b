//! How a revision and a snapshot are written down, and how every older form is read.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::json::JsonText;
use crate::{Actor, Head, IdempotencyKey, RememberedAnswers, Revisioned, Space};

/// The version of events and snapshots that this code writes. It reads this one and all before it.
pub const FORMAT_VERSION: u32 = 3;

/// One committed command: what happened, when, and who asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit<E, R> {
    v: u32,
    pub at: Timestamp,
    pub actor: Actor,
    /// The caller's name for the request and the answer it got, if it had a name.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub answered: Option<(IdempotencyKey, R)>,
    /// What happened, in order.
    pub events: Vec<E>,
}

/// `#[serde(default)]` would ask for `R: Default`.
fn none<T>() -> Option<T> {
    None
}

impl<E, R> Commit<E, R> {
    pub fn new(at: Timestamp, actor: Actor, answered: Option<(IdempotencyKey, R)>, events: Vec<E>) -> Self {
        Self { v: FORMAT_VERSION, at, actor, answered, events }
    }

    /// Writes everything before the events, as serde does. Returns None for a commit with a remembered answer, which
    /// only serde writes.
    pub(crate) fn write_head(&self, json: &mut JsonText) -> Option<()> {
        // Every field is named here, so that a new one does not compile before it is written.
        let Self { v, at, actor: Actor { principal, kind, role, via }, answered, events: _ } = self;
        if answered.is_some() {
            return None;
        }
        json.raw("{\"v\":");
        json.number((*v).into());
        json.raw(",\"at\":");
        json.time(*at);
        json.raw(",\"actor\":{\"principal\":");
        json.text(principal);
        json.raw(",\"kind\":\"");
        json.raw(kind.as_str());
        json.raw("\",\"role\":\"");
        json.raw(role.as_str());
        json.raw("\",\"via\":");
        json.optional_text(via.as_deref());
        json.raw("},\"events\":[");
        Some(())
    }
}

impl<E: Serialize + DeserializeOwned, R: Serialize + DeserializeOwned> Commit<E, R> {
    /// The bytes that a store keeps: one line of JSON.
    pub fn encode(&self) -> Result<Vec<u8>, FormatError> {
        serde_json::to_vec(self).map_err(malformed)
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        decode(bytes, |commit: &Self| commit.v)
    }
}

/// A space's whole state at one revision, as a store keeps it.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct StoredSnapshot<S: Space> {
    v: u32,
    head: Head,
    last_at: Timestamp,
    answered: RememberedAnswers<S::Reply>,
    state: S,
}

impl<S: Space> Revisioned<S> {
    /// The state as a snapshot's bytes.
    pub fn encode(&self) -> Result<Vec<u8>, FormatError> {
        let Self { head, last_at, answered, state } = self.clone();
        let snapshot = StoredSnapshot::<S> { v: FORMAT_VERSION, head, last_at, answered, state };
        serde_json::to_vec(&snapshot).map_err(malformed)
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let snapshot = decode(bytes, |snapshot: &StoredSnapshot<S>| snapshot.v)?;
        let StoredSnapshot { v: _, head, last_at, answered, state } = snapshot;
        Ok(Self { head, last_at, answered, state })
    }
}

#[derive(Deserialize)]
struct VersionOnly {
    #[serde(alias = "format")]
    v: u32,
}

/// Reads what has a version of its own, `v` or `format`.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], version: impl Fn(&T) -> u32) -> Result<T, FormatError> {
    // A newer form may fail to parse, or parse and mean something else: its version decides, not its shape.
    let (found, parsed) = match serde_json::from_slice::<T>(bytes) {
        Ok(value) => (version(&value), Ok(value)),
        Err(error) => (serde_json::from_slice(bytes).map_or(0, |VersionOnly { v }| v), Err(malformed(error))),
    };
    if found > FORMAT_VERSION { Err(FormatError::Newer { found }) } else { parsed }
}

fn malformed(error: serde_json::Error) -> FormatError {
    FormatError::Malformed(alloc::format!("{error}"))
}

/// Why stored bytes could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Written by a newer Corkboard. Nothing is skipped: the space stays as it is, unread.
    #[error("written in format {found}; this Corkboard knows formats up to {FORMAT_VERSION}")]
    Newer {
        /// The format of the stored bytes.
        found: u32,
    },
    /// Not what any version wrote.
    #[error("cannot be read: {0}")]
    Malformed(String),
    /// An event that does not fit the state it is applied to.
    #[error("an event does not fit the state before it: {0}")]
    Misfit(String),
}
