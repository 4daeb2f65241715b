//! A memory core as plain data, for snapshots and the event `Replaced`.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CoreEntry, CoreEntryId, CoreState};

/// All entries of a memory core in order, including forgotten ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreImage {
    pub entries: Vec<CoreEntry>,
    /// The last assigned ID.
    pub last: CoreEntryId,
}

impl CoreImage {
    /// IDs stay below this, so that there is always a next ID.
    const NUMBERS: CoreEntryId = CoreEntryId(u64::MAX / 2);

    /// The image of a core at that time, without expired entries that are not removed yet.
    pub fn of(state: &CoreState, now: Timestamp) -> Self {
        let live = state.entries.values().filter(|entry| !entry.is_expired(now));
        Self { entries: live.map(|entry| CoreEntry::clone(entry)).collect(), last: state.last }
    }

    /// Why the image is invalid, if it is: duplicates, an entry without an origin, or impossible IDs. Restoring such an
    /// image would not lead to the content it shows.
    pub fn contradiction(&self) -> Option<String> {
        if self.last > Self::NUMBERS {
            return Some(format!("the last number, {}, is out of range", self.last));
        }
        let (mut ids, mut texts) = (BTreeSet::new(), BTreeSet::new());
        for entry in &self.entries {
            let id = entry.id;
            if id == CoreEntryId::default() || id > self.last {
                return Some(format!("{id} is outside the range E-1 to {}", self.last));
            }
            if !ids.insert(id) {
                return Some(format!("{id} is listed twice"));
            }
            if !texts.insert(super::entry::normalised(&entry.content)) {
                return Some(format!("{id} has the same text as another entry"));
            }
            if entry.provenance.is_empty() {
                return Some(format!("{id} has no origin"));
            }
        }
        None
    }
}

impl From<CoreState> for CoreImage {
    fn from(state: CoreState) -> Self {
        // The other fields are derived from these.
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
