//! Patterns among completed tasks: sequences, rework and durations.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::{BoardItem, BoardState, TASK_PATTERN_TAG, Task, TaskId, TaskStatus};
use super::extract::{CandidateFields, FINDER, MOST_ITEMS, points};
use super::id::first_word;
use super::sequence::{Chain, frequent_chains};
use super::{LearningCandidate, LearningId, LearningSource};
use crate::forget::FORGOTTEN;
use crate::knowledge::Trust;
use crate::{AgentId, MemoryKind};

/// How often tasks must have followed one another to be a sequence.
pub(super) const LEAST_REPEATS: usize = 2;
/// How many estimated tasks a learning about estimates needs.
const LEAST_ESTIMATES: usize = 3;
/// Ratio in thousandths from which on tasks took longer than estimated.
const LONGER: u64 = 1500;
/// Ratio in thousandths up to which tasks took shorter than estimated.
const SHORTER: u64 = 670;

/// The completed tasks of a board, grouped by the first words of their titles.
pub(super) struct Patterns {
    /// The tasks, oldest first, each with the index of its word.
    pub(super) tasks: Vec<(TaskId, u32)>,
    /// Each word once, in the order of the tasks.
    pub(super) words: Vec<Arc<str>>,
}

impl Patterns {
    pub(super) fn of(state: &BoardState) -> Self {
        let mut places: BTreeMap<String, u32> = BTreeMap::new();
        let (mut tasks, mut words): (Vec<(TaskId, u32)>, Vec<Arc<str>>) = (Vec::new(), Vec::new());
        let completed = state.tasks().filter(|task| task.status == TaskStatus::Completed);
        for task in completed.filter(|task| &*task.title != FORGOTTEN) {
            let Some(word) = first_word(&task.title) else { continue };
            let place = *places.entry(word).or_insert_with_key(|word| {
                words.push(word.as_str().into());
                words.len() as u32 - 1
            });
            tasks.push((task.id, place));
        }
        Self { tasks, words }
    }

    /// Whether a task was completed after it was sent back or failed with a reason.
    pub(super) fn is_rework(task: &Task) -> bool {
        let is_reason = |comment: &Arc<str>| **comment != *FORGOTTEN;
        let has_reason = task.setbacks.iter().any(|setback| setback.comment.as_ref().is_some_and(is_reason));
        task.status == TaskStatus::Completed && has_reason && &*task.title != FORGOTTEN
    }

    /// Tasks that followed one another more than once.
    pub(super) fn sequences(&self, state: &BoardState) -> Vec<LearningCandidate> {
        let found = frequent_chains(self, state).into_iter().map(|(words, chains)| {
            let words: Vec<&str> = words.iter().filter_map(|word| self.word(*word)).collect();
            state.of_sequence(&LearningId::Sequence(words.join(".").into()), &chains, self)
        });
        found.collect()
    }

    /// Words whose tasks took much longer or much shorter than estimated.
    pub(super) fn estimates(&self, state: &BoardState) -> Vec<LearningCandidate> {
        let mut groups: BTreeMap<u32, Vec<Estimated>> = BTreeMap::new();
        for (id, word) in &self.tasks {
            if let Some(estimated) = state.task(*id).and_then(Estimated::of) {
                groups.entry(*word).or_default().push(estimated);
            }
        }
        let wrong = groups.into_iter().filter_map(|(word, group)| {
            let ratio = median(&group)?;
            let is_wrong = group.len() >= LEAST_ESTIMATES && (ratio >= LONGER || ratio <= SHORTER);
            is_wrong.then(|| state.of_estimate(self.word(word)?, &group)).flatten()
        });
        wrong.collect()
    }

    /// How long the tasks of a word took, even if the estimates were right.
    pub(super) fn estimate(&self, state: &BoardState, word: &str) -> Option<LearningCandidate> {
        let tasks = self.tasks.iter().filter(|(_, place)| self.word(*place) == Some(word));
        let group: Vec<_> = tasks.filter_map(|(id, _)| Estimated::of(state.task(*id)?)).collect();
        state.of_estimate(word, &group)
    }

    pub(super) fn word(&self, place: u32) -> Option<&str> {
        self.words.get(place as usize).map(|word| &**word)
    }

    pub(super) fn task(&self, place: u32) -> Option<TaskId> {
        self.tasks.get(place as usize).map(|(task, _)| *task)
    }
}

/// A completed task that had an estimate.
struct Estimated {
    task: TaskId,
    /// Duration of its last attempt relative to the estimate, in thousandths.
    ratio: u64,
}

impl Estimated {
    fn of(task: &Task) -> Option<Self> {
        let minutes = task.estimate_minutes.filter(|minutes| *minutes > 0)?;
        let took = task.completed_at?.duration_since(task.started_at?).as_millis();
        let took = u64::try_from(took).unwrap_or_default();
        Some(Self { task: task.id, ratio: took / (u64::from(minutes) * 60) })
    }
}

/// The median ratio; of two middle ones, the lower.
fn median(group: &[Estimated]) -> Option<u64> {
    let mut ratios: Vec<u64> = group.iter().map(|estimated| estimated.ratio).collect();
    ratios.sort_unstable();
    ratios.get(ratios.len().checked_sub(1)? / 2).copied()
}

impl BoardState {
    /// A sequence as a task pattern: each task waits for the one before it.
    pub(super) fn of_sequence(&self, id: &LearningId, chains: &[Chain], patterns: &Patterns) -> LearningCandidate {
        let task = |place: &u32| patterns.task(*place).and_then(|task| self.task(task));
        let lines = id.words().enumerate().map(|(at, word)| {
            let reviewed = chains.iter().filter_map(|chain| chain.tasks().get(at).and_then(task));
            let reviewed = reviewed.filter(|task| task.needs_review).count();
            let review = if reviewed * 2 > chains.len() { " [review]" } else { "" };
            format!("{}. {}{review}", at + 1, capitalised(word))
        });
        let content = lines.collect::<Vec<_>>().join("\n");
        let items = chains.iter().flat_map(|chain| chain.tasks()).filter_map(|place| patterns.task(*place));
        let made = CandidateFields {
            source: LearningSource::Sequence,
            content,
            tags: [TASK_PATTERN_TAG.into()].into(),
            items: items.map(BoardItem::Task).take(MOST_ITEMS).collect(),
            points: points::SEQUENCE + points::times(chains.len(), LEAST_REPEATS),
            ..CandidateFields::default()
        };
        self.candidate(id.clone(), made)
    }

    /// The setbacks of a task, and the result that solved them.
    pub(super) fn of_rework(&self, task: &Task) -> LearningCandidate {
        let mut content = format!("{}: needed more than one attempt", task.title);
        for setback in task.setbacks.iter() {
            if let Some(comment) = &setback.comment {
                content.push_str(&format!("\n- {} ({}): {}", setback.kind, setback.by, comment.trim()));
            }
        }
        let worker = task.assigned_to.as_ref().map(AgentId::as_str);
        if let Some(result) = &task.result {
            let by = worker.map_or_else(String::new, |worker| format!(" ({worker})"));
            content.push_str(&format!("\nResult{by}: {}", result.summary.trim()));
        }
        // A single speaker is the author. The creator of the task wrote the title, and is a contributor.
        let said = task.setbacks.iter().map(|setback| &*setback.by);
        let said: BTreeSet<&str> = said.chain(worker.filter(|_| task.result.is_some())).collect();
        let mut alone = said.iter();
        let author = match (alone.next(), alone.next()) {
            (Some(only), None) => *only,
            _ => FINDER,
        };
        let others: BTreeSet<&str> = said.iter().copied().chain([&*task.created_by]).collect();
        let word = first_word(&task.title);
        let made = CandidateFields {
            source: LearningSource::Rework,
            content,
            kind: MemoryKind::Correction,
            tags: core::iter::once("rework".to_string()).chain(word).collect(),
            contributors: others.into_iter().filter(|name| *name != author).map(Into::into).collect(),
            created_by: author.into(),
            trust: task.result.as_ref().map_or(Trust::Agent, |result| result.trust().min(Trust::Agent)),
            items: [BoardItem::Task(task.id)].into(),
            points: points::REWORK + points::times(task.setbacks.len(), 1),
            ..CandidateFields::default()
        };
        self.candidate(LearningId::Rework(task.id), made)
    }

    fn of_estimate(&self, word: &str, group: &[Estimated]) -> Option<LearningCandidate> {
        let ratio = median(group)?;
        let content = format!(
            "Tasks that begin with {word:?} took {} as estimated (median of {}).",
            compared(ratio),
            group.len()
        );
        let made = CandidateFields {
            source: LearningSource::Estimate,
            content,
            tags: ["estimate".into(), word.into()].into(),
            items: group.iter().map(|estimated| BoardItem::Task(estimated.task)).take(MOST_ITEMS).collect(),
            points: points::ESTIMATE + points::times(group.len(), LEAST_ESTIMATES),
            ..CandidateFields::default()
        };
        Some(self.candidate(LearningId::Estimate(word.into()), made))
    }
}

/// A ratio in thousandths, in words: `1.5 times as long`, `0.04 times as long`, `less than 0.01 times as long`.
fn compared(ratio: u64) -> String {
    match (ratio / 1000, ratio % 1000) {
        (0, 0..10) => "less than 0.01 times as long".into(),
        (0, rest @ 10..100) => format!("0.{:02} times as long", rest / 10),
        (times, rest) => format!("{times}.{} times as long", rest / 100),
    }
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ratios_are_not_zero() {
        for (ratio, expected) in [
            (0, "less than 0.01 times as long"),
            (9, "less than 0.01 times as long"),
            (10, "0.01 times as long"),
            (45, "0.04 times as long"),
            (100, "0.1 times as long"),
            (640, "0.6 times as long"),
            (1_500, "1.5 times as long"),
            (12_050, "12.0 times as long"),
        ] {
            assert_eq!(compared(ratio), expected);
        }
    }
}
