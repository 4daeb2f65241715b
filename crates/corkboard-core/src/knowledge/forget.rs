//! Forgetting entries of a memory core for good: the entry is removed, and its texts are removed from the log.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{CoreEntry, CoreEntryData, CoreEntryId, CoreEvent};

/// The entries to forget in a memory core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CoreForget {
    /// An entry with all its present and past texts.
    Entry { id: CoreEntryId },
    /// All entries that contain this text, and all earlier texts that contain it.
    Text { text: String },
}

impl CoreForget {
    /// Whether this text of an entry is to be forgotten.
    pub(super) fn is_meant(&self, id: CoreEntryId, text: &str) -> bool {
        match self {
            Self::Entry { id: forgotten } => *forgotten == id,
            Self::Text { text: forgotten } => text.contains(forgotten.as_str()),
        }
    }

    /// Whether the entry is to be removed.
    pub(super) fn concerns(&self, entry: &CoreEntry) -> bool {
        match self {
            Self::Entry { id } => *id == entry.id,
            Self::Text { .. } => {
                let mut is_concerned = false;
                each_text(entry, |text| is_concerned |= self.is_meant(entry.id, text));
                is_concerned
            }
        }
    }
}

/// Calls `each` with every text of an entry.
pub(super) fn each_text(entry: &CoreEntry, each: impl FnMut(&str)) {
    let reason = entry.forgotten.iter().filter_map(|mark| mark.reason.as_ref());
    [&entry.content].into_iter().chain(&entry.tags).chain(reason).map(|text| &**text).for_each(each);
}

type VisitEntryText<'a> = dyn FnMut(CoreEntryId, &str) -> bool + 'a;

/// Offers every text of an event to `visit`, and removes those for which it returns true. Returns whether there were
/// any.
pub(super) fn redact_event(event: &mut CoreEvent, visit: &mut VisitEntryText<'_>) -> bool {
    match event {
        CoreEvent::EntryAdded { id, entry } | CoreEvent::EntryMerged { id, entry } => {
            let CoreEntryData { content, tags, .. } = &mut **entry;
            redact(content, *id, visit) | redact_tags(tags, *id, visit)
        }
        CoreEvent::EntryEdited { id, edit, .. } => {
            let content = edit.content.as_mut().is_some_and(|content| redact(content, *id, visit));
            content | edit.tags.as_mut().is_some_and(|tags| redact_tags(tags, *id, visit))
        }
        CoreEvent::EntryForgotten { id, reason } => reason.as_mut().is_some_and(|reason| redact(reason, *id, visit)),
        CoreEvent::Replaced { image } => image.entries.iter_mut().fold(false, |changed, entry| {
            let CoreEntry { id, content, tags, forgotten, .. } = entry;
            let said = redact(content, *id, visit) | redact_tags(tags, *id, visit);
            let reason = forgotten.as_mut().and_then(|mark| mark.reason.as_mut());
            changed | said | reason.is_some_and(|reason| redact(reason, *id, visit))
        }),
        CoreEvent::EntryRestored { .. }
        | CoreEvent::EntryWithdrawn { .. }
        | CoreEvent::EntryForgottenHard { .. }
        | CoreEvent::EntryExpired { .. }
        | CoreEvent::Cleared { .. } => false,
    }
}

/// Empties the text: no other entry can have an empty text, so replaying the log never confuses it with another entry.
fn redact(text: &mut Arc<str>, id: CoreEntryId, visit: &mut VisitEntryText<'_>) -> bool {
    let is_redacted = !text.is_empty() && visit(id, text);
    if is_redacted {
        *text = Arc::from("");
    }
    is_redacted
}

fn redact_tags(tags: &mut Vec<Arc<str>>, id: CoreEntryId, visit: &mut VisitEntryText<'_>) -> bool {
    let before = tags.len();
    tags.retain(|tag| !visit(id, tag));
    tags.len() < before
}
