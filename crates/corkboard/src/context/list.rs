//! Lists of entries and notes, within their room.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use corkboard_core::knowledge::{CoreEntryId, Trust};

use super::item::{self, Body, Rendered};
use super::part::ShownItems;
use super::section::Section;
use super::{OmissionReason, tokens};

/// Maximum number of keys named for entries with the same value.
const KEYS_NAMED: usize = 16;
/// Maximum tokens of a collapsed note.
const COLLAPSED: u64 = 32;

/// An entry, or several that have the same value.
#[derive(Clone)]
pub(super) struct EntryLine<'a> {
    pub(super) key: &'a str,
    pub(super) same: Vec<&'a str>,
    pub(super) body: Body<'a>,
    pub(super) importance: f32,
}

impl<'a> EntryLine<'a> {
    pub(super) fn new(key: &'a str, body: Body<'a>, importance: f32) -> Self {
        Self { key, same: Vec::new(), body, importance }
    }

    pub(super) fn label(&self) -> String {
        self.label_naming(KEYS_NAMED)
    }

    fn label_naming(&self, keys: usize) -> String {
        let mut label = String::new();
        item::push_key(&mut label, self.key);
        let named = self.same.iter().take(keys.saturating_sub(1));
        let more = self.same.len() - named.len();
        for key in named {
            label.push_str(", ");
            item::push_key(&mut label, key);
        }
        if more > 0 {
            label.push_str(&format!(" and {more} more"));
        }
        label.push_str(": ");
        label
    }

    /// Renders the entry with as many keys as leave room for the value, at least one.
    fn render(&self, most: u64) -> Option<Rendered> {
        let mut keys = KEYS_NAMED.min(self.same.len() + 1);
        loop {
            let label = self.label_naming(keys);
            let rendered = item::listed(&label, self.body, most);
            let is_whole = rendered.as_ref().is_some_and(|rendered| !rendered.is_cut);
            if keys == 1 || is_whole || (rendered.is_some() && tokens::count(&label) <= most / 2) {
                return rendered;
            }
            keys /= 2;
        }
    }
}

/// A note, or several that say the same.
#[derive(Clone)]
pub(super) struct NoteLine<'a> {
    pub(super) id: u64,
    pub(super) text: &'a str,
    pub(super) trust: Trust,
    pub(super) same: Vec<u64>,
    /// Whether only its beginning is shown.
    pub(super) is_collapsed: bool,
}

impl<'a> NoteLine<'a> {
    pub(super) fn new(id: u64, text: &'a str, trust: Trust) -> Self {
        Self { id, text, trust, same: Vec::new(), is_collapsed: false }
    }

    fn render(&self, most: u64) -> Option<Rendered> {
        let most = if self.is_collapsed { most.min(COLLAPSED) } else { most };
        let label = if self.same.is_empty() { String::new() } else { format!("({}×) ", self.same.len() + 1) };
        item::listed(&label, Body::said(self.text, self.trust), most)
    }
}

/// A reference to an item, which displays as its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ItemRef<'a> {
    Key(&'a str),
    Note(u64),
    Notebook(&'a str),
    Core(&'a str, CoreEntryId),
}

impl fmt::Display for ItemRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Note(id) => write!(f, "note {id}"),
            Self::Notebook(name) => f.write_str(name),
            Self::Core(core, id) => write!(f, "{core}:{id}"),
        }
    }
}

/// Adds entries by importance, then in their order, until one does not fit. Adds those that it shows whole to `shown`.
pub(super) fn fill<'a>(
    section: &mut Section,
    entries: &[EntryLine<'a>],
    most: u64,
    kept: u64,
    shown: &mut ShownItems<'a>,
) {
    // A heap yields the first few in order without sorting all of them. Non-negative floats sort like their bits;
    // adding 0.0 turns -0.0 into 0.0.
    let rank = |(at, entry): (usize, &EntryLine<'_>)| ((entry.importance + 0.0).to_bits(), Reverse(at));
    let mut ranked: BinaryHeap<_> = entries.iter().enumerate().map(rank).collect();
    while let Some((_, Reverse(at))) = ranked.pop() {
        let Some(entry) = entries.get(at) else { continue };
        let Some(rendered) = entry.render(most) else {
            // Its key alone is too long. Later entries may still fit.
            section.leave_out(OmissionReason::NoRoom, ItemRef::Key(entry.key));
            continue;
        };
        let rendered = Some(rendered);
        let is_whole = rendered.as_ref().is_some_and(|rendered| !rendered.is_cut);
        if !section.push(ItemRef::Key(entry.key), rendered, kept) {
            break;
        }
        entry.same.iter().for_each(|key| section.leave_out(OmissionReason::Merged, ItemRef::Key(key)));
        if is_whole {
            shown.insert(ItemRef::Key(entry.key));
            shown.extend(entry.same.iter().map(|key| ItemRef::Key(key)));
        }
    }
    let count = ranked.len();
    let rest = std::iter::from_fn(|| ranked.pop().and_then(|(_, Reverse(at))| entries.get(at)));
    section.leave_out_rest(count, rest.map(|entry| ItemRef::Key(entry.key)));
}

pub(super) struct NoteLines<'n, 'a> {
    notes: &'n [NoteLine<'a>],
    most: u64,
    /// The newest first.
    taken: Vec<Rendered>,
    tokens: u64,
    /// The next note, if it was rendered and did not fit.
    next: Option<Rendered>,
}

impl<'n, 'a> NoteLines<'n, 'a> {
    pub(super) fn new(notes: &'n [NoteLine<'a>], most: u64) -> Self {
        Self { notes, most, taken: Vec::new(), tokens: 0, next: None }
    }

    /// Takes notes, the newest first, while all taken ones together have at most `room` tokens.
    pub(super) fn take_up_to(&mut self, room: u64) {
        while let Some(note) = self.notes.iter().rev().nth(self.taken.len()) {
            let Some(line) = self.next.take().or_else(|| note.render(self.most)) else { return };
            if self.tokens + line.tokens > room {
                self.next = Some(line);
                return;
            }
            self.tokens += line.tokens;
            self.taken.push(line);
        }
    }

    pub(super) fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Tokens of all notes, or a huge number if not all were taken.
    pub(super) fn tokens_needed(&self) -> u64 {
        if self.taken.len() == self.notes.len() { self.tokens } else { u64::MAX / 2 }
    }

    /// Writes the notes into their section. If older notes are omitted, the number of the first shown note is a
    /// multiple of a block: between an eighth and a quarter of the notes that fit. It stays the first until a block of
    /// notes was added, so the text above a new note stays unchanged.
    pub(super) fn write(mut self, section: &mut Section, shown: &mut ShownItems<'a>) {
        let fitting = self.taken.len();
        if fitting < self.notes.len() && fitting >= 4 {
            let block = 1 << (fitting / 4).ilog2();
            let number = |at: usize| self.notes.iter().rev().nth(at).map_or(0, |note| note.id);
            let first = number(fitting - 1).next_multiple_of(block);
            let kept = (0..fitting).take_while(|at| number(*at) >= first).count();
            self.taken.truncate(kept);
        }
        let (left_out, kept) = self.notes.split_at(self.notes.len() - self.taken.len());
        for (note, line) in kept.iter().zip(self.taken.into_iter().rev()) {
            let is_cut = line.is_cut;
            section.push(ItemRef::Note(note.id), Some(line), 0);
            note.same.iter().for_each(|id| section.leave_out(OmissionReason::Merged, ItemRef::Note(*id)));
            if !is_cut {
                shown.insert(ItemRef::Note(note.id));
                shown.extend(note.same.iter().map(|id| ItemRef::Note(*id)));
            }
        }
        section.leave_out_rest(left_out.len(), left_out.iter().rev().map(|note| ItemRef::Note(note.id)));
    }
}
