//! What a decision depends on besides the state and the command.

use core::cell::Cell;

use jiff::Timestamp;
use uuid::Uuid;

use crate::space::Stamp;
use crate::{Actor, Limits, SpaceId};

/// The input of a decision besides state and command. Deciding twice in equal contexts gives the same events. A context
/// keeps counting its IDs, so no two decisions share one.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time of the decision, never before the space's last event.
    pub now: Timestamp,
    pub actor: &'a Actor,
    pub limits: &'a Limits,
    /// Usage that counts against the limits but is not part of this state: an agent's ephemeral scopes.
    pub outside: Usage,
    /// The space of the decision, where it matters: permissions in an agent's private core differ from a shared one.
    pub space: Option<&'a SpaceId>,
    first_id: Uuid,
    ids_given: Cell<u128>,
    rev: Cell<u64>,
}

impl<'a> Context<'a> {
    /// A context whose IDs start at `first_id`, which must be a new random ID for every command.
    pub fn new(now: Timestamp, actor: &'a Actor, limits: &'a Limits, first_id: Uuid) -> Self {
        let (ids_given, rev) = (Cell::new(0), Cell::new(0));
        Self { now, actor, limits, outside: Usage::default(), space: None, first_id, ids_given, rev }
    }

    /// The revision that the decision will get, which is also the version of everything it changes.
    pub fn rev(&self) -> u64 {
        self.rev.get()
    }

    pub(crate) fn stamp(&self) -> Stamp<'a> {
        Stamp { rev: self.rev(), at: self.now, principal: &self.actor.principal, role: self.actor.role }
    }

    pub(crate) fn set_rev(&self, rev: u64) {
        self.rev.set(rev);
    }

    pub fn next_id(&self) -> Uuid {
        let given = self.ids_given.get();
        self.ids_given.set(given + 1);
        Uuid::from_u128(self.first_id.as_u128().wrapping_add(given))
    }
}

/// The part of its limits that a state uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Entries, in all scopes.
    pub entries: u64,
    /// Scopes besides the root.
    pub scopes: u64,
    /// Bytes of keys, values, metadata and notes.
    pub bytes: u64,
}
