//! Parts of a window: sections that are built for their room, and built again if they get more.

use std::collections::HashSet;

use super::OmissionReason;
use super::list::ItemRef;
use super::section::Section;

/// The items that are shown whole.
pub(super) type ShownItems<'a> = HashSet<ItemRef<'a>>;

/// Builds sections from their common room and the maximum for one item. Adds the items that they show whole.
type PartBuilder<'a> = Box<dyn Fn(u64, u64, &mut ShownItems<'a>) -> Vec<Section> + 'a>;

/// Sections that can be built again in more room.
pub(super) struct WindowPart<'a> {
    build: PartBuilder<'a>,
    pub(super) room: u64,
    pub(super) sections: Vec<Section>,
    pub(super) shown: ShownItems<'a>,
}

impl<'a> WindowPart<'a> {
    pub(super) fn new(
        room: u64,
        item: u64,
        build: impl Fn(u64, u64, &mut ShownItems<'a>) -> Vec<Section> + 'a,
    ) -> Self {
        let mut shown = ShownItems::new();
        let sections = build(room, item, &mut shown);
        Self { build: Box::new(build), room, sections, shown }
    }

    pub(super) fn tokens(&self) -> u64 {
        tokens(&self.sections)
    }

    pub(super) fn lacks_room(&self) -> bool {
        leaves_out(&self.sections, OmissionReason::NoRoom)
    }

    /// Builds the part again in this much room, if something is cut or omitted. One item may use all of it, unless
    /// another item would then be omitted.
    pub(super) fn grow(&mut self, room: u64, item: u64) {
        if !self.lacks_room() && !leaves_out(&self.sections, OmissionReason::Cut) {
            return;
        }
        let mut shown = ShownItems::new();
        let mut sections = (self.build)(room, room.max(item), &mut shown);
        if leaves_out(&sections, OmissionReason::NoRoom) {
            if room <= self.room {
                return;
            }
            shown.clear();
            sections = (self.build)(room, item, &mut shown);
        }
        (self.room, self.sections, self.shown) = (room, sections, shown);
    }
}

/// Parts that are built one after another, each in the room that those before it leave.
pub(super) struct PartSequence<'a> {
    pub(super) parts: Vec<WindowPart<'a>>,
    /// Tokens of everything before the next part.
    pub(super) used: u64,
    item: u64,
}

impl<'a> PartSequence<'a> {
    pub(super) fn new(used: u64, item: u64) -> Self {
        Self { parts: Vec::new(), used, item }
    }

    /// Adds a part of at most `most` tokens, which ends at most `end` tokens from the beginning. Returns the room it
    /// had.
    pub(super) fn push(
        &mut self,
        most: u64,
        end: u64,
        build: impl Fn(u64, u64, &mut ShownItems<'a>) -> Vec<Section> + 'a,
    ) -> u64 {
        let room = most.min(end.saturating_sub(self.used));
        let part = WindowPart::new(room, self.item, build);
        self.used += part.tokens();
        self.parts.push(part);
        room
    }

    pub(super) fn tokens(&self) -> u64 {
        self.parts.iter().map(WindowPart::tokens).sum()
    }

    /// Offers each part in turn the room that `room_beside` returns for it and the tokens of the others.
    pub(super) fn grow_each(&mut self, room_beside: impl Fn(&WindowPart<'a>, u64) -> Option<u64>) {
        let mut all = self.tokens();
        for part in &mut self.parts {
            let others = all - part.tokens();
            if let Some(room) = room_beside(part, others) {
                part.grow(room, self.item);
            }
            all = others + part.tokens();
        }
    }

    pub(super) fn shown(&self) -> impl Iterator<Item = ItemRef<'a>> {
        self.parts.iter().flat_map(|part| part.shown.iter().copied())
    }

    pub(super) fn into_sections(self) -> Vec<Section> {
        self.parts.into_iter().flat_map(|part| part.sections).collect()
    }
}

pub(super) fn tokens(sections: &[Section]) -> u64 {
    sections.iter().map(Section::tokens).sum()
}

fn leaves_out(sections: &[Section], reason: OmissionReason) -> bool {
    sections.iter().any(|section| section.leaves_out(reason))
}
