//! Each section's share of the budget, in one table.
//!
//! Content that seldom changes comes first, and must not depend on content that changes with every question, or a
//! provider's prompt cache would miss. So the share of the stable part does not depend on the content of the tail.
//! Shares apply while room is short; `compose.rs` gives unused room to the sections that need more.

use super::SectionName;

/// The minimum budget. A smaller one would have no room for anything but the preamble and the tags.
pub(crate) const LEAST_BUDGET: u64 = 128;

/// The maximum budget: more than any model reads.
pub(crate) const MOST_BUDGET: u64 = 10_000_000;

/// Percent of the budget for content that seldom changes: handoff, notebooks, entries, notes, cores. The tail always
/// has the rest, and the room that the stable part does not use. Room reserved for an absent section of the tail goes
/// to the stable part.
const STABLE: u64 = 75;
/// Percent of the budget for a task, if one is named. It is taken from the stable part.
const TASK: u64 = 25;
/// Notes and core entries get room in steps of this many percent, so that one more of them seldom moves the end of the
/// entries.
const STEP: u64 = 5;
/// Maximum percent of the budget for one entry, note or hit. It keeps one long text from filling a section.
const ITEM: u64 = 10;
/// Minimum tokens for one item: its share of a small budget would be too small.
const LEAST_ITEM: u64 = 32;

pub(super) struct Shares {
    budget: u64,
    stable: u64,
}

pub(super) struct Share {
    /// The room reserved for it, if it has anything to show.
    pub(super) kept: u64,
    /// The maximum that it gets before unused room is distributed.
    pub(super) most: u64,
}

impl Shares {
    pub(super) fn of(budget: u64) -> Self {
        Self { budget, stable: STABLE }
    }

    /// Shares for a window whose tail shows a task. This depends only on the request, so remembered content never moves
    /// the border.
    pub(super) fn with_task(budget: u64) -> Self {
        Self { budget, stable: STABLE - TASK }
    }

    pub(super) fn stable(&self) -> u64 {
        self.percent(self.stable)
    }

    /// The share of everything that concerns a task, in an agent's window.
    pub(super) fn task(&self) -> Share {
        let kept = STABLE - self.stable;
        Share { kept: self.percent(kept), most: self.percent(2 * kept) }
    }

    /// The latest end of a section of a task's context, in tokens from the beginning. A section can use the room that
    /// earlier ones leave. The task itself, which comes last, always has a quarter.
    pub(super) fn reach(&self, name: SectionName) -> u64 {
        self.percent(match name {
            SectionName::Goal => 12,
            SectionName::Constraints => 20,
            SectionName::Cores => 32,
            SectionName::Decisions => 46,
            SectionName::Discoveries => 56,
            SectionName::Results => 68,
            SectionName::Artifacts => 75,
            _ => 100,
        })
    }

    pub(super) fn item(&self) -> u64 {
        self.percent(ITEM).max(LEAST_ITEM)
    }

    /// Room for notes that need `needed` tokens, in whole steps.
    pub(super) fn kept_for_notes(&self, needed: u64) -> u64 {
        self.in_steps(needed).min(self.section(SectionName::Notes).kept)
    }

    /// Rounds `needed` up to whole steps.
    pub(super) fn in_steps(&self, needed: u64) -> u64 {
        let step = self.percent(STEP).max(1);
        needed.div_ceil(step).saturating_mul(step)
    }

    pub(super) fn section(&self, name: SectionName) -> Share {
        let (kept, most) = match name {
            // The handoff: about a page at the default budget.
            SectionName::Handoff => (0, 15),
            // A few lines.
            SectionName::Goal | SectionName::Constraints => (0, 8),
            // Short texts that a model wrote to be read again.
            SectionName::KeyLearnings | SectionName::VerbatimContext => (0, 15),
            // Entries and notes share the stable part. Notes reserve at least a quarter of it; entries get the rest.
            SectionName::Entries => (0, self.stable),
            SectionName::Notes => (20, self.stable),
            // A few lines about everything that is omitted.
            SectionName::Summary => (10, 10),
            // A dozen entries of a line or two.
            SectionName::Cores => (0, 15),
            // A few bullets.
            SectionName::Progress => (5, 10),
            // Notes on the current task.
            SectionName::Scratchpad => (5, 15),
            // A few lines from people, which must be read.
            SectionName::Nudges => (0, 15),
            // The model's notes in this conversation.
            SectionName::Conversation => (9, 30),
            // Snippets of items that are not shown above. The share is small, so that a new question leaves more than
            // nine tenths of a full window unchanged.
            SectionName::Found => (6, 6),
            // These share the task's room, by `reach`.
            SectionName::Decisions
            | SectionName::Discoveries
            | SectionName::Results
            | SectionName::Artifacts
            | SectionName::Task => (0, 2 * (STABLE - self.stable)),
        };
        Share { kept: self.percent(kept), most: self.percent(most) }
    }

    fn percent(&self, percent: u64) -> u64 {
        self.budget / 100 * percent + self.budget % 100 * percent / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_reserved_for_the_tail_is_what_the_stable_part_leaves() {
        let tail = [SectionName::Progress, SectionName::Scratchpad, SectionName::Conversation, SectionName::Found];
        for shares in [Shares::of(10_000), Shares::with_task(10_000)] {
            let kept: u64 = tail.map(|name| shares.section(name).kept).iter().sum();
            assert_eq!(shares.stable() + shares.task().kept + kept, 10_000);
        }
    }

    #[test]
    fn notes_get_whole_steps_up_to_their_share() {
        let shares = Shares::of(1000);
        for (needed, kept) in [(0, 0), (1, 50), (50, 50), (51, 100), (200, 200), (5000, 200)] {
            assert_eq!(shares.kept_for_notes(needed), kept);
        }
    }
}
