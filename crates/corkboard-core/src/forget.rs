//! Free text in stored data: what people and agents wrote, as opposed to names, keys and IDs. Forgetting for good finds
//! and replaces it.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use crate::{Actor, Refusal, Role};

/// The replacement for forgotten text.
pub const FORGOTTEN: &str = "[forgotten]";

/// The fewest characters of a text to search for and forget. Shorter ones would match almost everything.
pub const LEAST_FORGOTTEN_CHARS: u64 = 3;

/// Called with an item, such as `D-3`, and one of its texts.
pub type VisitText<'a> = dyn FnMut(&dyn fmt::Display, &str) + 'a;

/// Refuses a text that is too short to search for.
pub fn check_forgotten_text(text: &str) -> Result<(), Refusal> {
    match text.trim().chars().nth(LEAST_FORGOTTEN_CHARS as usize - 1) {
        Some(_) => Ok(()),
        None => Err(Refusal::TextTooShort { least: LEAST_FORGOTTEN_CHARS }),
    }
}

/// Refuses actors who may not find and forget a text in a whole store.
pub fn check_forgets_everywhere(actor: &Actor) -> Result<(), Refusal> {
    const MAY: &[Role] = &[Role::Human, Role::Admin];
    if MAY.contains(&actor.role) {
        return Ok(());
    }
    Err(Refusal::role_denied(actor, "search the whole store or erase from it", None, MAY))
}

/// A place for one text.
pub(crate) trait TextSlot {
    fn text(&self) -> Option<&str>;
    fn put(&mut self, text: &str);
}

impl TextSlot for String {
    fn text(&self) -> Option<&str> {
        Some(self)
    }

    fn put(&mut self, text: &str) {
        *self = text.into();
    }
}

impl TextSlot for Arc<str> {
    fn text(&self) -> Option<&str> {
        Some(self)
    }

    fn put(&mut self, text: &str) {
        *self = text.into();
    }
}

impl<T: TextSlot> TextSlot for Option<T> {
    fn text(&self) -> Option<&str> {
        self.as_ref().and_then(TextSlot::text)
    }

    fn put(&mut self, text: &str) {
        if let Some(slot) = self {
            slot.put(text);
        }
    }
}

/// Replaces the text with [`FORGOTTEN`] if `is_meant` returns true. An empty or forgotten text is not offered. Returns
/// whether the text was replaced.
pub(crate) fn redact(slot: &mut impl TextSlot, is_meant: impl FnOnce(&str) -> bool) -> bool {
    let is_redacted = slot.text().is_some_and(|text| !text.is_empty() && text != FORGOTTEN && is_meant(text));
    if is_redacted {
        slot.put(FORGOTTEN);
    }
    is_redacted
}
