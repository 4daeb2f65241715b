//! Entries of memory cores: lines in the order of the cores and of their entries. If room is short, the best are shown.

use corkboard_core::board::CoreRef;

use super::board::BoardLine;
use super::list::ItemRef;
use super::part::ShownItems;
use super::section::Section;
use super::{OmissionReason, SectionName, task};
use crate::knowledge::SourcedEntry;

/// Entries of memory cores for a reader, the best first, each once; and the cores that cannot be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Knowledge {
    pub(crate) entries: Vec<SourcedEntry>,
    pub(crate) unreadable: Vec<String>,
    /// The cores, in the order in which they are shown.
    pub(crate) order: Vec<String>,
    /// Entries with the same text as another one.
    pub(crate) repeated: Vec<CoreRef>,
}

impl Knowledge {
    /// Adds entries, except those that are already there and those with the same text as another entry.
    pub(crate) fn add(&mut self, entries: impl IntoIterator<Item = SourcedEntry>) {
        for known in entries {
            let is_there = |other: &SourcedEntry| other.core == known.core && other.entry.id == known.entry.id;
            if self.entries.iter().any(is_there) {
                continue;
            }
            match self.entries.iter().any(|other| other.entry.content.trim() == known.entry.content.trim()) {
                true => self.repeated.push(known.reference()),
                false => self.entries.push(known),
            }
        }
    }

    /// Appends the knowledge of other cores.
    pub(crate) fn extend(&mut self, other: Self) {
        let Self { entries, unreadable, order, repeated } = other;
        self.order.extend(order);
        self.unreadable.extend(unreadable);
        self.repeated.extend(repeated);
        self.add(entries);
    }

    /// Lines to show, the best first. Each knows its position in the displayed order.
    pub(super) fn lines(&self) -> CoreLines<'_> {
        let place = |known: &SourcedEntry| {
            (self.order.iter().position(|core| core == known.core.as_str()).unwrap_or(usize::MAX), known.entry.id)
        };
        let mut places: Vec<_> = self.entries.iter().map(place).collect();
        places.sort_unstable();
        let numbered = |known| {
            let number = places.binary_search(&place(known)).unwrap_or(usize::MAX);
            BoardLine::Core(number as u64, known)
        };
        CoreLines {
            lines: self.entries.iter().map(numbered).collect(),
            unreadable: &self.unreadable,
            repeated: &self.repeated,
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct CoreLines<'a> {
    lines: Vec<BoardLine<'a>>,
    unreadable: &'a [String],
    repeated: &'a [CoreRef],
}

/// The section, in its room. Adds the entries that it shows whole to `shown`.
pub(super) fn section<'a>(lines: &CoreLines<'a>, room: u64, most: u64, shown: &mut ShownItems<'a>) -> Section {
    let mut section = task::list_noting(SectionName::Cores, &lines.lines, room, most, |line, rendered| {
        if let (BoardLine::Core(_, known), false) = (line, rendered.is_cut) {
            shown.insert(ItemRef::Core(known.core.as_str(), known.entry.id));
        }
    });
    lines.repeated.iter().for_each(|repeated| section.leave_out(OmissionReason::Merged, repeated));
    lines.unreadable.iter().for_each(|core| section.leave_out(OmissionReason::Unreadable, core));
    section
}
