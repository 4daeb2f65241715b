//! A memory core as plain data: what snapshots hold and `Replaced` carries.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CoreEntry, CoreEntryId, CoreState};

/// All entries of a memory core, in order, the forgotten ones included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreImage {
    pub entries: Vec<CoreEntry>,
    /// The last number given out.
    pub last: CoreEntryId,
}

impl CoreImage {
    /// Numbers stay below this, so that there is always a next one.
    const NUMBERS: CoreEntryId = CoreEntryId(u64::MAX / 2);

    /// A core as it is at that time, less what has expired and is only not yet swept.
    pub fn of(state: &CoreState, now: Timestamp) -> Self {
        let live = state.entries.values().filter(|entry| !entry.is_expired(now));
        Self { entries: live.map(|entry| CoreEntry::clone(entry)).collect(), last: state.last }
    }

    /// What no core says, in words: something twice, nothing about where it came from, or numbers that cannot be. Such an
    /// image could be restored, but not to what it says.
    pub fn contradiction(&self) -> Option<String> {
        if self.last > Self::NUMBERS {
            return Some(format!("{} is no number that was ever given", self.last));
        }
        let (mut ids, mut texts) = (BTreeSet::new(), BTreeSet::new());
        for entry in &self.entries {
            let id = entry.id;
            if id == CoreEntryId::default() || id > self.last {
                return Some(format!("{id} is not among the numbers up to {}", self.last));
            }
            if !ids.insert(id) {
                return Some(format!("{id} is listed twice"));
            }
            if !texts.insert(super::entry::normalised(&entry.content)) {
                return Some(format!("what {id} says is said by another entry"));
            }
            if entry.provenance.is_empty() {
                return Some(format!("{id} came from nowhere"));
            }
        }
        None
    }
}

impl From<CoreState> for CoreImage {
    fn from(state: CoreState) -> Self {
        // What is not stored follows from what is.
        let CoreState { entries, by_text: _, expiries: _, last, forgotten: _, bytes: _ } = state;
        Self { entries: entries.values().map(|entry| CoreEntry::clone(entry)).collect(), last }
    }
}

impl From<CoreImage> for CoreState {
    fn from(image: CoreImage) -> Self {
        let CoreImage { entries, last } = image;
        let mut state = Self { last, ..Self::default() };
        entries.into_iter().for_each(|entry| state.put(entry));
        state
    }
}
