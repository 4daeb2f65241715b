//! The stored form of revisions and snapshots, and reading all older forms.

use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::json::JsonText;
use crate::{Actor, Head, IdempotencyKey, RememberedAnswers, Revisioned, Space};

/// The format version of events and snapshots that this code writes. It reads this version and all earlier ones.
pub const FORMAT_VERSION: u32 = 3;

/// One committed command: its events, time and actor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit<E, R> {
    v: u32,
    pub at: Timestamp,
    pub actor: Actor,
    /// The idempotency key of the request and the answer it got, if it had a key.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub answered: Option<(IdempotencyKey, R)>,
    pub events: Vec<E>,
}

/// `#[serde(default)]` would require `R: Default`.
fn none<T>() -> Option<T> {
    None
}

impl<E, R> Commit<E, R> {
    pub fn new(at: Timestamp, actor: Actor, answered: Option<(IdempotencyKey, R)>, events: Vec<E>) -> Self {
        Self { v: FORMAT_VERSION, at, actor, answered, events }
    }

    /// Writes everything before the events, byte for byte like serde. Returns None for a commit with a remembered
    /// answer, which only serde can write.
    pub(crate) fn write_head(&self, json: &mut JsonText) -> Option<()> {
        // Names every field, so that a new one causes a compile error here.
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

/// The whole state of a space at one revision, as stored.
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

/// Decodes JSON that has a format version in the field `v` or `format`.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], version: impl Fn(&T) -> u32) -> Result<T, FormatError> {
    // A newer form may fail to parse, or parse with another meaning. So the version decides, not the shape.
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
    /// Written by a newer Corkboard. Nothing is skipped: the space is neither read nor changed.
    #[error("written in format {found}; this version of Corkboard reads formats up to {FORMAT_VERSION}")]
    Newer {
        /// The format of the stored bytes.
        found: u32,
    },
    /// No version of Corkboard wrote these bytes.
    #[error("cannot be read: {0}")]
    Malformed(String),
    /// An event that does not fit the state it is applied to.
    #[error("an event does not fit the state it is applied to: {0}")]
    Misfit(String),
}
