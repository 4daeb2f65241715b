//! Extracts learning candidates: decisions with a reason, insights, marked discoveries and patterns. Equal boards give
//! equal candidates.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;

use super::super::{ApprovalVerdict, BoardItem, BoardState, Decision, Discovery, DiscoveryType, TaskId};
use super::patterns::Patterns;
use super::{LearningCandidate, LearningId, LearningSource};
use crate::MemoryKind;
use crate::forget::FORGOTTEN;
use crate::knowledge::Trust;

/// The author of a pattern.
pub(super) const FINDER: &str = "corkboard";

/// Longer texts are cut, so that every candidate fits into a core.
const MOST_BYTES: usize = 32 * 1024;

/// The parts of a score, in hundredths. [`BoardState::learning_candidates`] documents them.
pub(super) mod points {
    pub(super) const MARKED: u32 = 60;
    pub(super) const DECISION: u32 = 40;
    pub(super) const INSIGHT: u32 = 40;
    pub(in super::super) const REWORK: u32 = 40;
    pub(in super::super) const SEQUENCE: u32 = 35;
    pub(in super::super) const ESTIMATE: u32 = 35;
    pub(super) const APPROVED: u32 = 20;
    pub(super) const ALTERNATIVES: u32 = 10;
    pub(super) const OUTSIDE: u32 = 20;
    const EACH_TASK: u32 = 3;
    const MOST_TASKS: u32 = 15;
    const EACH_TIME: u32 = 5;
    const MOST_TIMES: u32 = 25;

    /// Points for the tasks that a record concerns; none named means all.
    pub(super) fn tasks(named: usize) -> u32 {
        let named = u32::try_from(named).unwrap_or(u32::MAX);
        if named == 0 { MOST_TASKS } else { named.saturating_mul(EACH_TASK).min(MOST_TASKS) }
    }

    /// Points for every occurrence of a pattern beyond the required number.
    pub(in super::super) fn times(occurred: usize, needed: usize) -> u32 {
        let more = u32::try_from(occurred.saturating_sub(needed)).unwrap_or(u32::MAX);
        more.saturating_mul(EACH_TIME).min(MOST_TIMES)
    }
}

impl BoardState {
    /// The learning candidates of the board with their states, best first. Equal boards give equal lists.
    ///
    /// The score is a sum, cut off at 0 and 1:
    ///
    /// | for | score |
    /// |---|---|
    /// | a discovery that names a core | 0.60 |
    /// | a decision with a reason, an insight, rework | 0.40 |
    /// | a repeated sequence, wrong estimates | 0.35 |
    /// | a decision that was approved | + 0.20 |
    /// | a decision that names rejected alternatives | + 0.10 |
    /// | every task that a record concerns | + 0.03, up to 0.15; 0.15 if it concerns all |
    /// | every occurrence of a pattern beyond the required number | + 0.05, up to 0.25 |
    /// | text from outside | − 0.20 |
    pub fn learning_candidates(&self) -> Vec<LearningCandidate> {
        let patterns = Patterns::of(self);
        let mut found: Vec<LearningCandidate> = self
            .decisions()
            .filter(|decision| is_lesson(decision))
            .map(|decision| self.of_decision(decision))
            .collect();
        let discoveries = self.discoveries().filter(|discovery| is_worth_keeping(discovery));
        found.extend(discoveries.map(|discovery| self.of_discovery(discovery)));
        found.extend(self.tasks().filter(|task| Patterns::is_rework(task)).map(|task| self.of_rework(task)));
        found.extend(patterns.sequences(self));
        found.extend(patterns.estimates(self));
        // A learning with a verdict stays visible, even if it would not be a candidate now.
        if self.learning_verdicts().len() > 0 {
            let names: BTreeSet<LearningId> = found.iter().map(|candidate| candidate.id.clone()).collect();
            let judged = self.learning_verdicts().map(|verdict| &verdict.id);
            let judged: Vec<_> = judged.filter(|learning| !names.contains(learning)).collect();
            found.extend(judged.into_iter().map(|learning| self.described(learning, &patterns)));
        }
        found.sort_by(|one, other| other.score.total_cmp(&one.score).then_with(|| one.id.cmp(&other.id)));
        found
    }

    /// The candidate with this ID, if there is one.
    pub(in super::super) fn learning_candidate(&self, id: &LearningId) -> Option<LearningCandidate> {
        match id {
            LearningId::Decision(id) => {
                self.decision(*id).filter(|decision| is_lesson(decision)).map(|decision| self.of_decision(decision))
            }
            LearningId::Discovery(id) => {
                let discovery = self.discovery(*id).filter(|discovery| is_worth_keeping(discovery));
                discovery.map(|discovery| self.of_discovery(discovery))
            }
            LearningId::Rework(task) => {
                self.task(*task).filter(|task| Patterns::is_rework(task)).map(|task| self.of_rework(task))
            }
            LearningId::Sequence(_) => Patterns::of(self).sequences(self).into_iter().find(|found| found.id == *id),
            LearningId::Estimate(_) => Patterns::of(self).estimates(self).into_iter().find(|found| found.id == *id),
        }
    }

    /// A learning with a verdict, even if it would not be a candidate now.
    fn described(&self, id: &LearningId, patterns: &Patterns) -> LearningCandidate {
        let described = match id {
            LearningId::Decision(id) => self.decision(*id).map(|decision| self.of_decision(decision)),
            LearningId::Discovery(id) => self.discovery(*id).map(|discovery| self.of_discovery(discovery)),
            LearningId::Rework(task) => self.task(*task).map(|task| self.of_rework(task)),
            LearningId::Sequence(_) => Some(self.of_sequence(id, &[], patterns)),
            LearningId::Estimate(word) => patterns.estimate(self, word),
        };
        described.unwrap_or_else(|| {
            let made = CandidateFields {
                source: LearningSource::Estimate,
                kind: MemoryKind::Insight,
                ..CandidateFields::default()
            };
            self.candidate(id.clone(), CandidateFields { content: id.to_string(), ..made })
        })
    }

    fn of_decision(&self, decision: &Decision) -> LearningCandidate {
        let Decision { question, choice, alternatives, rationale, affects_tasks, .. } = decision;
        let colon = if question.trim_end().ends_with(char::is_alphanumeric) { ":" } else { "" };
        let mut content = format!("{}{colon} {}", question.trim(), choice.trim());
        if !rationale.trim().is_empty() {
            content.push_str(&format!("\nBecause: {}", rationale.trim()));
        }
        if !alternatives.is_empty() {
            content.push_str(&format!("\nRejected: {}", alternatives.join("; ")));
        }
        let approved = if decision.verdict == Some(ApprovalVerdict::Approved) { points::APPROVED } else { 0 };
        let alternatives = if alternatives.is_empty() { 0 } else { points::ALTERNATIVES };
        let made = CandidateFields {
            source: LearningSource::Decision,
            content,
            kind: MemoryKind::Fact,
            tags: ["decision".into()].into(),
            created_by: decision.created_by.clone(),
            trust: decision.trust,
            items: named(BoardItem::Decision(decision.id), affects_tasks),
            points: points::DECISION + approved + alternatives + points::tasks(affects_tasks.len()),
            ..CandidateFields::default()
        };
        self.candidate(LearningId::Decision(decision.id), made)
    }

    fn of_discovery(&self, discovery: &Discovery) -> LearningCandidate {
        let Discovery { content, affects_tasks, promote_to_core, .. } = discovery;
        let (source, begin) = match promote_to_core {
            Some(_) => (LearningSource::Marked, points::MARKED),
            None => (LearningSource::Insight, points::INSIGHT),
        };
        let (kind, tag) = match discovery.kind {
            DiscoveryType::Insight => (MemoryKind::Insight, "insight"),
            DiscoveryType::Opportunity => (MemoryKind::Insight, "opportunity"),
            DiscoveryType::Risk => (MemoryKind::Insight, "risk"),
            DiscoveryType::Constraint => (MemoryKind::Fact, "constraint"),
        };
        let made = CandidateFields {
            source,
            content: content.clone(),
            kind,
            tags: [tag.into()].into(),
            created_by: discovery.created_by.clone(),
            trust: discovery.trust,
            items: named(BoardItem::Discovery(discovery.id), affects_tasks),
            points: begin + points::tasks(affects_tasks.len()),
            core: promote_to_core.as_deref(),
            ..CandidateFields::default()
        };
        self.candidate(LearningId::Discovery(discovery.id), made)
    }

    pub(super) fn candidate(&self, id: LearningId, made: CandidateFields<'_>) -> LearningCandidate {
        let CandidateFields { source, content, kind, tags, created_by, contributors, trust, items, points, core } =
            made;
        let points = if trust == Trust::Outside { points.saturating_sub(points::OUTSIDE) } else { points };
        // Summed in hundredths, so that the result is the same on every machine.
        let score = points.min(100) as f32 / 100.0;
        let first_core = || self.info().and_then(|info| info.cores.first()).map(String::as_str);
        let status = self.learning_status(&id);
        let (created_at, updated_at) = self.times_of(&id, &items);
        let suggested_core = core.or_else(first_core).map(Into::into);
        let content = cut(content);
        let importance = score;
        LearningCandidate {
            id,
            source,
            content,
            kind,
            importance,
            tags,
            created_at,
            created_by,
            updated_at,
            contributors,
            trust,
            items,
            score,
            suggested_core,
            status,
        }
    }
}

impl BoardState {
    /// When the newest source of a learning was created, and when its sources or its status last changed.
    fn times_of(&self, learning: &LearningId, items: &[BoardItem]) -> (Timestamp, Timestamp) {
        let of_source = |item: &BoardItem| match item {
            BoardItem::Decision(id) => self.decision(*id).map(|decision| (decision.created_at, decision.updated_at)),
            BoardItem::Discovery(id) => self.discovery(*id).map(|found| (found.created_at, found.updated_at)),
            BoardItem::Task(id) => self.task(*id).map(|task| (task.created_at, task.updated_at)),
            BoardItem::Artifact(_) | BoardItem::Choice(_) => None,
        };
        // The other items of a record are tasks that it affects.
        let sources = match learning {
            LearningId::Decision(_) | LearningId::Discovery(_) => items.get(..1).unwrap_or_default(),
            LearningId::Rework(_) | LearningId::Sequence(_) | LearningId::Estimate(_) => items,
        };
        let verdict = self.learnings.get(learning);
        let sources: Vec<_> = sources.iter().filter_map(of_source).collect();
        let created_at = sources.iter().map(|(created_at, _)| *created_at).max();
        let created_at = created_at.or_else(|| verdict.map(|verdict| verdict.created_at));
        let updated_at = sources.iter().map(|(_, updated_at)| *updated_at);
        let updated_at = updated_at.chain(verdict.map(|verdict| verdict.updated_at)).max();
        (created_at.unwrap_or_default(), updated_at.unwrap_or_default())
    }
}

/// The fields of a candidate that depend on its source.
pub(super) struct CandidateFields<'a> {
    pub(super) source: LearningSource,
    pub(super) content: String,
    pub(super) kind: MemoryKind,
    pub(super) tags: Vec<String>,
    pub(super) created_by: Arc<str>,
    pub(super) contributors: Vec<Arc<str>>,
    pub(super) trust: Trust,
    pub(super) items: Vec<BoardItem>,
    pub(super) points: u32,
    pub(super) core: Option<&'a str>,
}

impl Default for CandidateFields<'_> {
    fn default() -> Self {
        Self {
            source: LearningSource::Insight,
            content: String::new(),
            kind: MemoryKind::Insight,
            tags: Vec::new(),
            created_by: FINDER.into(),
            contributors: Vec::new(),
            trust: Trust::Agent,
            items: Vec::new(),
            points: 0,
            core: None,
        }
    }
}

/// Whether a decision holds and gives a reason of at least three words.
fn is_lesson(decision: &Decision) -> bool {
    const WORDS: usize = 3;
    /// Some scripts do not separate words by spaces; there, characters count.
    const CHARACTERS: usize = 6;
    let rationale = &decision.rationale;
    let is_clear = rationale.split_whitespace().nth(WORDS - 1).is_some()
        || rationale.chars().filter(|character| !character.is_ascii()).nth(CHARACTERS - 1).is_some();
    is_clear && decision.holds()
}

fn is_worth_keeping(discovery: &Discovery) -> bool {
    let is_marked = discovery.kind == DiscoveryType::Insight || discovery.promote_to_core.is_some();
    is_marked && discovery.content != FORGOTTEN
}

/// A record and the tasks that it concerns, up to `MOST_ITEMS`.
fn named(record: BoardItem, tasks: &[TaskId]) -> Vec<BoardItem> {
    core::iter::once(record).chain(tasks.iter().map(|task| BoardItem::Task(*task))).take(MOST_ITEMS).collect()
}

/// The maximum number of items that a candidate names.
pub(super) const MOST_ITEMS: usize = 32;

/// Cuts a text that is too long for a core.
fn cut(mut content: String) -> String {
    if content.len() > MOST_BYTES {
        content.truncate(content.floor_char_boundary(MOST_BYTES));
        content.push('…');
    }
    content
}
