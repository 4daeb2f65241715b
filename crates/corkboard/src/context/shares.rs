//! Who gets how much of the budget: one table.
//!
//! What seldom changes comes first, and must not depend on what changes with every question, or a provider's prompt cache
//! would miss. So the stable part has a share of its own, which does not depend on what the sections of the tail contain. Shares
//! say who gets how much while room is short; `compose.rs` gives room that nothing uses to the sections that need more.

use super::SectionName;

/// No budget is smaller: below this, nothing would be left beside the frame.
pub(crate) const LEAST_BUDGET: u64 = 128;

/// Percent of the budget for all that seldom changes: handoff, notebooks, entries, notes, cores. The tail has the rest for certain, and what
/// the stable part does not use. Room that is kept for a section of the tail that is absent is added to the stable part.
const STABLE: u64 = 75;
/// Percent of the budget for what concerns a task, where one is named. It is taken from the stable part.
const TASK: u64 = 25;
/// Notes and what cores say are given room in steps of this many percent, so that one more of them seldom moves the end of the
/// entries.
const STEP: u64 = 5;
/// An entry, a note or a hit may have this much of the budget. It keeps one long text from filling a section.
const ITEM: u64 = 10;
/// An item's share of a small budget would be too small for any.
const LEAST_ITEM: u64 = 32;

pub(super) struct Shares {
    budget: u64,
    stable: u64,
}

pub(super) struct Share {
    /// What is kept for it, if it has anything to show.
    pub(super) kept: u64,
    /// The most it gets before room that others leave is shared out.
    pub(super) most: u64,
}

impl Shares {
    pub(super) fn of(budget: u64) -> Self {
        Self { budget, stable: STABLE }
    }

    /// The same, where the tail shows what concerns a task. Whether it does is said in the request: nothing that is remembered
    /// moves the border.
    pub(super) fn with_task(budget: u64) -> Self {
        Self { budget, stable: STABLE - TASK }
    }

    pub(super) fn stable(&self) -> u64 {
        self.percent(self.stable)
    }

    /// What all that concerns a task may have in an agent's window.
    pub(super) fn task(&self) -> Share {
        let kept = STABLE - self.stable;
        Share { kept: self.percent(kept), most: self.percent(2 * kept) }
    }

    /// Where a section of a task's context ends at the latest, counted from the beginning. What one leaves, the next may use;
    /// the task itself, which comes last, has a quarter for certain.
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

    /// Room for notes that need so much, in whole steps.
    pub(super) fn kept_for_notes(&self, needed: u64) -> u64 {
        self.in_steps(needed).min(self.section(SectionName::Notes).kept)
    }

    /// Room for so much, in whole steps.
    pub(super) fn in_steps(&self, needed: u64) -> u64 {
        let step = self.percent(STEP).max(1);
        needed.div_ceil(step).saturating_mul(step)
    }

    pub(super) fn section(&self, name: SectionName) -> Share {
        let (kept, most) = match name {
            // One text that a session leaves to the next: about a page at the default budget.
            SectionName::Handoff => (0, 15),
            // A board says what it is for in a few lines.
            SectionName::Goal | SectionName::Constraints => (0, 8),
            // What a model keeps of a task: it wrote down little, and meant it to be read.
            SectionName::KeyLearnings | SectionName::VerbatimContext => (0, 15),
            // Entries and notes share the stable part. Notes are kept a quarter of it and more; entries get the rest.
            SectionName::Entries => (0, self.stable),
            SectionName::Notes => (20, self.stable),
            // A few lines for all that is left out.
            SectionName::Summary => (10, 10),
            // A dozen entries of a line or two.
            SectionName::Cores => (0, 15),
            // A few bullets.
            SectionName::Progress => (5, 10),
            // The task's jotting.
            SectionName::Scratchpad => (5, 15),
            // A few lines that people said; they are to be read.
            SectionName::Nudges => (0, 15),
            // What the model itself wrote down in this conversation.
            SectionName::Conversation => (9, 30),
            // Snippets, and only of what is not shown above. So little that a new question leaves more than nine
            // tenths of a full window as they were.
            SectionName::Found => (6, 6),
            // These share what a task has, by `reach`.
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
    fn what_is_kept_for_the_tail_is_what_the_stable_part_leaves() {
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
