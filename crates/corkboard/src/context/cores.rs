//! What memory cores have to say: lines in the order of the cores and of their entries, the best of them where room is short.

use corkboard_core::board::CoreRef;

use super::board::BoardLine;
use super::list::ItemRef;
use super::part::ShownItems;
use super::section::Section;
use super::{OmissionReason, SectionName, task};
use crate::knowledge::SourcedEntry;

/// What cores have to say to somebody, the best first, each once; and those that could not be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Knowledge {
    pub(crate) entries: Vec<SourcedEntry>,
    pub(crate) unreadable: Vec<String>,
    /// The cores, in the order in which they are shown.
    pub(crate) order: Vec<String>,
    /// What says the same as another of them.
    pub(crate) repeated: Vec<CoreRef>,
}

impl Knowledge {
    /// Adds what another core says. What is there already is not said twice, nor is the same text from elsewhere.
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

    /// Takes in what others have to say, after all that is there.
    pub(crate) fn extend(&mut self, other: Self) {
        let Self { entries, unreadable, order, repeated } = other;
        self.order.extend(order);
        self.unreadable.extend(unreadable);
        self.repeated.extend(repeated);
        self.add(entries);
    }

    /// Lines to be shown, the best first. Each knows its place among those that are shown.
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

/// The section, in its room. What is shown whole goes into `shown`.
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
