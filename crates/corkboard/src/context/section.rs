//! A section of the window while it is filled, and its report.

use std::fmt::Display;

use super::item::Rendered;
use super::{LeftOut, OmissionReason, SectionName, SectionReport, tokens};

/// Maximum number of omitted items that are named.
const NAMED: usize = 8;

/// Items between two tags. Its room includes the tags.
pub(super) struct Section {
    name: SectionName,
    room: u64,
    frame: u64,
    items: Vec<Rendered>,
    /// A line after the items about those that are omitted.
    mark: Option<Rendered>,
    used: u64,
    left_out: Vec<LeftOut>,
}

impl Section {
    pub(super) fn new(name: SectionName, room: u64) -> Self {
        Self { name, room, frame: Self::frame(name), items: Vec::new(), mark: None, used: 0, left_out: Vec::new() }
    }

    /// Tokens of a section's tags.
    pub(super) fn frame(name: SectionName) -> u64 {
        tokens::count(&opening(name)) + tokens::count(&closing(name))
    }

    /// Tokens left for the next item.
    pub(super) fn left(&self) -> u64 {
        self.room.saturating_sub(self.frame + self.used)
    }

    /// Tokens of the section with its tags; 0 if it is empty.
    pub(super) fn tokens(&self) -> u64 {
        if self.items.is_empty() { 0 } else { self.frame + self.used }
    }

    /// Adds an item, if there is room for it and for `kept` more tokens. Returns whether it was added.
    pub(super) fn push(&mut self, what: impl Display, item: Option<Rendered>, kept: u64) -> bool {
        match item {
            Some(item) if item.tokens.saturating_add(kept) <= self.left() => {
                if item.is_cut {
                    self.leave_out(OmissionReason::Cut, what);
                }
                self.used += item.tokens;
                self.items.push(item);
                true
            }
            _ => {
                self.leave_out(OmissionReason::NoRoom, what);
                false
            }
        }
    }

    pub(super) fn leaves_out(&self, reason: OmissionReason) -> bool {
        self.left_out.iter().any(|group| group.reason == reason)
    }

    /// Sets the line after the items, for which there must be room. A section without items does not show it.
    pub(super) fn mark(&mut self, mark: Rendered) {
        self.used += mark.tokens;
        self.mark = Some(mark);
    }

    pub(super) fn pop(&mut self) -> bool {
        let Some(item) = self.items.pop() else { return false };
        self.used -= item.tokens;
        self.leave_out(OmissionReason::NoRoom, "the last one");
        true
    }

    pub(super) fn leave_out(&mut self, reason: OmissionReason, what: impl Display) {
        let group = self.group(reason);
        group.count += 1;
        if group.first.len() < NAMED {
            group.first.push(what.to_string());
        }
    }

    /// Reports `count` items as omitted because there is no room. Formats only the names of the first.
    pub(super) fn leave_out_rest<T: Display>(&mut self, count: usize, mut rest: impl Iterator<Item = T>) {
        let named =
            rest.by_ref().take(count.min(NAMED)).map(|what| self.leave_out(OmissionReason::NoRoom, what)).count();
        if count > named {
            self.group(OmissionReason::NoRoom).count += (count - named) as u64;
        }
    }

    fn group(&mut self, reason: OmissionReason) -> &mut LeftOut {
        let at = self.left_out.iter().position(|group| group.reason == reason).unwrap_or_else(|| {
            self.left_out.push(LeftOut { reason, count: 0, first: Vec::new() });
            self.left_out.len() - 1
        });
        #[allow(clippy::indexing_slicing, reason = "it was found or pushed above")]
        &mut self.left_out[at]
    }

    pub(super) fn write(&self, out: &mut String) {
        if self.items.is_empty() {
            return;
        }
        out.push_str(&opening(self.name));
        self.items.iter().chain(&self.mark).for_each(|item| out.push_str(&item.text));
        out.push_str(&closing(self.name));
    }

    /// The report; `None` if the section neither shows nor omits anything.
    pub(super) fn report(mut self) -> Option<SectionReport> {
        self.left_out.sort_by_key(|group| group.reason);
        let report = SectionReport {
            name: self.name,
            tokens: self.tokens(),
            allowed: self.room,
            items: self.items.len() as u64,
            left_out: self.left_out,
        };
        (report.items > 0 || !report.left_out.is_empty()).then_some(report)
    }
}

fn opening(name: SectionName) -> String {
    format!("<{name}>\n")
}

fn closing(name: SectionName) -> String {
    format!("</{name}>\n")
}
