//! IDs for commits that tests append to a store directly.

use corkboard_core::CommitId;

pub(crate) fn commit() -> CommitId {
    CommitId(uuid::Uuid::new_v4())
}
