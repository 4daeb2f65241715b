//! Conditions under which a write happens.

use corkboard_core::{IdempotencyKey, Limits, Request};
use serde::Serialize;

use crate::{Error, Result};

/// Conditions under which a write happens. If one of them does not hold, the write is refused and changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Version that the entry must be at; 0 if it must not exist. Writes that are not about a single entry refuse it.
    pub if_version: Option<u64>,
    /// Revision that the whole space must be at.
    pub if_rev: Option<u64>,
    /// Idempotency key: a repeat within 24 hours gets the same answer and has no further effect. A request that changed
    /// nothing is not remembered, and a repeat of it is decided again.
    pub idempotency_key: Option<String>,
}

impl Conditions {
    /// Creates the request for a command. Commands that compare versions have already taken `if_version`.
    pub(crate) fn request<C: Serialize>(self, command: C, limits: &Limits) -> Result<Request<C>> {
        if self.if_version.is_some() {
            return Err(Error::Command { message: "if_version is only supported for a single entry".into() });
        }
        let idempotency = self.idempotency_key.map(|key| IdempotencyKey::new(&key, &command, limits)).transpose()?;
        Ok(Request { command, if_rev: self.if_rev, idempotency })
    }
}

/// Generates the methods of a write that set its field `conditions`.
macro_rules! condition_methods {
    (impl[$($generics:tt)*] $write:ty: $($method:ident),+) => {
        impl<$($generics)*> $write {
            $($crate::conditions::condition_methods!($method);)+
        }
    };
    (if_version) => {
        /// Only if the entry is at this version; 0 means that it must not exist. Otherwise
        /// [`Refusal::Conflict`](crate::Refusal::Conflict), with what is there.
        pub fn if_version(mut self, version: u64) -> Self {
            self.conditions.if_version = Some(version);
            self
        }
    };
    (if_rev) => {
        /// Only if the whole memory is at this revision.
        pub fn if_rev(mut self, rev: u64) -> Self {
            self.conditions.if_rev = Some(rev);
            self
        }
    };
    (idempotency_key) => {
        /// Sets the idempotency key: a repeat within 24 hours gets the same answer and has no further effect. A request
        /// that changed nothing is not remembered, and a repeat of it is decided again.
        pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
            self.conditions.idempotency_key = Some(key.into());
            self
        }
    };
    (conditions) => {
        /// Sets all conditions, replacing those set before.
        pub fn conditions(mut self, conditions: impl Into<$crate::Conditions>) -> Self {
            self.conditions = conditions.into();
            self
        }
    };
}

pub(crate) use condition_methods;
