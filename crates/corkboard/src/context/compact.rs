//! The strategy `Compact`: merges equal items and shortens old notes.

use std::collections::HashMap;

use corkboard_core::knowledge::Trust;

use super::compose::Material;
use super::item::Body;
use super::list::{EntryLine, NoteLine};

/// Minimum number of newest notes that are never collapsed; the maximum is less than twice as many. The border moves by
/// whole blocks, so that one more note seldom changes those before it.
const FRESH: u64 = 32;

/// Merges entries with equal values and notes with equal text, and collapses old notes to their beginning.
pub(super) fn compact(material: &mut Material<'_>) {
    merge_entries(&mut material.entries);
    merge_entries(&mut material.conversation_entries);
    merge_notes(&mut material.notes);
    merge_notes(&mut material.conversation_notes);
}

/// Merges entries with equal values into the most important one.
fn merge_entries(entries: &mut Vec<EntryLine<'_>>) {
    entries.sort_by(|one, other| other.importance.total_cmp(&one.importance));
    let mut places = HashMap::new();
    let mut merged: Vec<EntryLine<'_>> = Vec::new();
    for entry in entries.drain(..) {
        let value = match entry.body {
            Body::Text(text) | Body::OutsideText(text) => text,
            Body::Value(value) | Body::OutsideValue(value) => value.as_json(),
        };
        // A value from outside never shares a line with one that is not.
        let place = *places.entry((entry.body.trust(), value)).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(first) => first.same.push(entry.key),
            None => merged.push(entry),
        }
    }
    *entries = merged;
}

/// Merges notes with equal text into the newest one.
fn merge_notes(notes: &mut Vec<NoteLine<'_>>) {
    let newest = notes.last().map_or(0, |note| note.id);
    let fresh = (newest / FRESH * FRESH).saturating_sub(FRESH);
    let mut places = HashMap::new();
    let mut merged: Vec<NoteLine<'_>> = Vec::new();
    for mut note in notes.drain(..).rev() {
        let place = *places.entry((note.trust == Trust::Outside, note.text.trim())).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(newest) => newest.same.push(note.id),
            None => {
                note.is_collapsed = note.id < fresh;
                merged.push(note);
            }
        }
    }
    merged.reverse();
    *notes = merged;
}
