//! The free texts of a board: which item they belong to, and how they are replaced when they are forgotten.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;

use super::{
    Approval, ApprovalId, Artifact, BoardEdit, BoardEvent, BoardImage, BoardInfo, BoardItem, Choice, Decision,
    Discovery, LearningId, LearningStatus, LearningVerdict, NewArtifact, NewBoard, NewChoice, NewDecision,
    NewDiscovery, NewNudge, NewTask, Nudge, NudgeId, ParseIdError, Task, TaskEdit, TaskResult,
};
use crate::forget::{TextSlot, VisitText, redact};
use crate::knowledge::NewCoreEntry;
use crate::text::json_text;

/// Everything on a board that has texts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordId {
    /// The board itself: its name, goal, constraints and reasons.
    Board,
    /// A task, decision, discovery, artifact or choice.
    Item(BoardItem),
    /// An approval or rejection of a decision.
    Approval(ApprovalId),
    Nudge(NudgeId),
    /// The verdict on a learning, with the text that is promoted.
    Learning(LearningId),
}

impl RecordId {
    const BOARD: &str = "board";
    const LEARNING: &str = "learning:";

    /// Whether forgetting this also forgets `other`: itself, and the learning that was made from it.
    pub fn includes(&self, other: &Self) -> bool {
        let source = match other {
            Self::Learning(LearningId::Decision(id)) => Some(BoardItem::Decision(*id)),
            Self::Learning(LearningId::Discovery(id)) => Some(BoardItem::Discovery(*id)),
            Self::Learning(LearningId::Rework(id)) => Some(BoardItem::Task(*id)),
            _ => None,
        };
        self == other || source.is_some_and(|source| *self == Self::Item(source))
    }
}

impl From<BoardItem> for RecordId {
    fn from(item: BoardItem) -> Self {
        Self::Item(item)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Board => f.write_str(Self::BOARD),
            Self::Item(item) => item.fmt(f),
            Self::Approval(id) => id.fmt(f),
            Self::Nudge(id) => id.fmt(f),
            Self::Learning(learning) => write!(f, "{}{learning}", Self::LEARNING),
        }
    }
}

/// A text that is not the ID of a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid record ID {text:?}; expected a form like T-1, D-1, F-1, A-1, C-1, N-1, AP-1, learning:D-1 or board")]
pub struct ParseRecordIdError {
    text: String,
}

impl FromStr for RecordId {
    type Err = ParseRecordIdError;

    fn from_str(text: &str) -> Result<Self, ParseRecordIdError> {
        let none = || ParseRecordIdError { text: text.chars().take(80).collect() };
        if text == Self::BOARD {
            return Ok(Self::Board);
        }
        if let Some(learning) = text.strip_prefix(Self::LEARNING) {
            return learning.parse().map(Self::Learning).map_err(|_| none());
        }
        let nudge = || text.parse().map(Self::Nudge);
        let approval = || text.parse().map(Self::Approval);
        let found = text.parse().map(Self::Item).or_else(|_: ParseIdError| nudge()).or_else(|_| approval());
        found.map_err(|_: ParseIdError| none())
    }
}

json_text!(RecordId);

/// One text of a record: the field, and its position in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextField {
    name: &'static str,
    index: Option<usize>,
}

impl fmt::Display for TextField {
    /// `title`, or `setbacks.2` for the third text of a list. Stored in events.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "{}.{index}", self.name),
            None => f.write_str(self.name),
        }
    }
}

type VisitField<'a> = dyn FnMut(TextField, &str) -> bool + 'a;

/// Called with each text of a board. Returns whether to replace it.
pub(super) type VisitBoardText<'a> = dyn FnMut(&RecordId, TextField, &str) -> bool + 'a;

/// Something with texts.
pub(super) trait Texts {
    /// Offers every text to `visit`, and replaces those for which it returns true. Returns whether there were any.
    fn redact(&mut self, visit: &mut VisitField<'_>) -> bool;
}

fn one(name: &'static str, slot: &mut impl TextSlot, visit: &mut VisitField<'_>) -> bool {
    redact(slot, |text| visit(TextField { name, index: None }, text))
}

fn many<'a, T: TextSlot + 'a>(
    name: &'static str,
    slots: impl IntoIterator<Item = &'a mut T>,
    visit: &mut VisitField<'_>,
) -> bool {
    let slots = slots.into_iter().enumerate();
    slots.fold(false, |changed, (index, slot)| {
        redact(slot, |text| visit(TextField { name, index: Some(index) }, text)) | changed
    })
}

/// The fields with one text, and after the semicolon those with a list of texts.
macro_rules! texts {
    ($($type:ident { $($field:ident),*; $($list:ident),* })*) => {$(
        impl Texts for $type {
            fn redact(&mut self, visit: &mut VisitField<'_>) -> bool {
                let mut changed = false;
                $(changed |= one(stringify!($field), &mut self.$field, visit);)*
                $(changed |= many(stringify!($list), &mut self.$list, visit);)*
                changed
            }
        }
    )*};
}

texts! {
    NewBoard { name, goal; constraints }
    NewTask { title, description; }
    TaskEdit { title, description; }
    NewDecision { question, choice, rationale; alternatives }
    Decision { question, choice, rationale; alternatives }
    NewDiscovery { content; }
    Discovery { content; }
    NewChoice { question; }
    Choice { question, rationale; }
    Approval { comment; }
    NewNudge { message; }
    Nudge { message; }
    NewCoreEntry { content; tags }
}

impl Texts for BoardEdit {
    fn redact(&mut self, visit: &mut VisitField<'_>) -> bool {
        let changed = one("name", &mut self.name, visit) | one("goal", &mut self.goal, visit);
        changed | many("constraints", self.constraints.iter_mut().flatten(), visit)
    }
}

impl Texts for BoardInfo {
    fn redact(&mut self, visit: &mut VisitField<'_>) -> bool {
        let changed = one("name", &mut self.name, visit) | one("goal", &mut self.goal, visit);
        let changed = changed | many("constraints", &mut self.constraints, visit);
        let changed = changed | one("reason", &mut self.reason, visit);
        let paused = self.paused.as_mut().is_some_and(|pause| one("pause_reason", &mut pause.reason, visit));
        changed | paused | self.waived.as_mut().is_some_and(|waiver| one("waiver_reason", &mut waiver.reason, visit))
    }
}

impl Texts for TaskResult {
    fn redact(&mut self, visit: &mut VisitField<'_>) -> bool {
        one("summary", &mut self.summary, visit) | many("next_steps", &mut self.next_steps, visit)
    }
}

impl Texts for Task {
    fn redact(&mut self, visit: &mut VisitField<'_>) -> bool {
        let mut changed = one("title", &mut self.title, visit) | one("description", &mut self.description, visit);
        changed |= one("blocked_reason", &mut self.blocked_reason, visit);
        changed |= one("failure", &mut self.failure, visit);
        changed |= one("review_comment", &mut self.review_comment, visit);
        changed |= self.result.as_mut().is_some_and(|result| Arc::make_mut(result).redact(visit));
        let cancellation = self.cancellation.as_mut();
        changed |= cancellation.is_some_and(|cancelled| one("cancellation", &mut cancelled.reason, visit));
        let setbacks = self.setbacks.iter_mut().map(|setback| &mut Arc::make_mut(setback).comment);
        changed | many("setbacks", setbacks, visit)
    }
}

/// The checksum could confirm a guess about the content, so it is removed with it.
macro_rules! artifact_texts {
    ($($type:ident)*) => {$(
        impl Texts for $type {
            fn redact(&mut self, visit: &mut VisitField<'_>) -> bool {
                let described = one("description", &mut self.description, visit);
                let contained = one("content", &mut self.content, visit);
                if contained {
                    self.checksum = None;
                }
                described | contained
            }
        }
    )*};
}

artifact_texts! { Artifact NewArtifact }

impl Texts for LearningVerdict {
    fn redact(&mut self, visit: &mut VisitField<'_>) -> bool {
        match &mut self.status {
            LearningStatus::Begun(promotion) => {
                promotion.entry.redact(visit) | one("refused", &mut promotion.refused, visit)
            }
            LearningStatus::RollingBack(roll_back) => one("reason", &mut roll_back.reason, visit),
            LearningStatus::Refused { reason, .. } | LearningStatus::RolledBack { reason, .. } => {
                one("reason", reason, visit)
            }
            LearningStatus::Open | LearningStatus::Promoted { .. } => false,
        }
    }
}

/// The visitor for the texts of one record.
fn of<'a>(id: RecordId, visit: &'a mut VisitBoardText<'_>) -> impl FnMut(TextField, &str) -> bool + 'a {
    move |field, text| visit(&id, field, text)
}

/// Calls `visit` with each text and replaces none.
pub(super) fn only_reads<'a>(visit: &'a mut VisitText<'_>) -> impl FnMut(&RecordId, TextField, &str) -> bool + 'a {
    |id, _, text| {
        visit(id, text);
        false
    }
}

/// Offers every text of an event to `visit`, and replaces those for which it returns true. Returns whether there were
/// any.
pub(super) fn redact_event(event: &mut BoardEvent, visit: &mut VisitBoardText<'_>) -> bool {
    use RecordId::{Board, Item, Learning};
    let task = event.task().map(|id| Item(BoardItem::Task(id)));
    let visit_task = &mut |field: TextField, text: &str| task.as_ref().is_some_and(|task| visit(task, field, text));
    match event {
        BoardEvent::TaskAdded { task, .. } => task.redact(visit_task),
        BoardEvent::TaskEdited { edit, .. } => edit.redact(visit_task),
        BoardEvent::TaskBlocked { reason, .. } => one("blocked_reason", reason, visit_task),
        BoardEvent::TaskSubmitted { result, .. } | BoardEvent::TaskCompleted { result, .. } => {
            result.as_mut().is_some_and(|result| Arc::make_mut(result).redact(visit_task))
        }
        BoardEvent::TaskReviewed { comment, .. } => one("review_comment", comment, visit_task),
        BoardEvent::TaskFailed { reason, .. } => one("failure", reason, visit_task),
        BoardEvent::TaskCancelled { cancellation, .. } => one("cancellation", &mut cancellation.reason, visit_task),
        BoardEvent::Created(board) => board.redact(&mut of(Board, visit)),
        BoardEvent::Edited(edit) => edit.redact(&mut of(Board, visit)),
        BoardEvent::Paused { reason } => one("pause_reason", reason, &mut of(Board, visit)),
        BoardEvent::Ended { reason, .. } => one("reason", reason, &mut of(Board, visit)),
        BoardEvent::Discarded { reason } => one("waiver_reason", reason, &mut of(Board, visit)),
        BoardEvent::DecisionRecorded { id, decision } => {
            decision.redact(&mut of(Item(BoardItem::Decision(*id)), visit))
        }
        BoardEvent::DiscoveryRecorded { id, discovery } => {
            discovery.redact(&mut of(Item(BoardItem::Discovery(*id)), visit))
        }
        BoardEvent::ArtifactRecorded { id, artifact } => {
            artifact.redact(&mut of(Item(BoardItem::Artifact(*id)), visit))
        }
        BoardEvent::ChoiceAdded { id, choice } => choice.redact(&mut of(Item(BoardItem::Choice(*id)), visit)),
        BoardEvent::BranchChosen { choice, rationale, .. } => {
            one("rationale", rationale, &mut of(Item(BoardItem::Choice(*choice)), visit))
        }
        BoardEvent::DecisionJudged { id, comment, .. } => {
            one("comment", comment, &mut of(RecordId::Approval(*id), visit))
        }
        BoardEvent::NudgeSent { id, nudge } => nudge.redact(&mut of(RecordId::Nudge(*id), visit)),
        BoardEvent::PromotionBegun { learning, entry, .. } => entry.redact(&mut of(Learning(learning.clone()), visit)),
        BoardEvent::PromotionRefused { learning, reason } | BoardEvent::PromotionAbandoned { learning, reason } => {
            one("refused", reason, &mut of(Learning(learning.clone()), visit))
        }
        BoardEvent::LearningRefused { learning, reason } => {
            one("reason", reason, &mut of(Learning(learning.clone()), visit))
        }
        // One reason for all of them.
        BoardEvent::RollBackBegun { learnings, reason, .. } => redact(reason, |text| {
            let field = TextField { name: "reason", index: None };
            // It stays as long as it is also the reason of another learning.
            learnings.iter().fold(true, |is_meant, learning| visit(&Learning(learning.clone()), field, text) & is_meant)
        }),
        BoardEvent::Forked { image, .. } => redact_image(image, visit),
        BoardEvent::DependencyAdded { .. }
        | BoardEvent::DependencyRemoved { .. }
        | BoardEvent::TaskAssigned { .. }
        | BoardEvent::TaskStarted { .. }
        | BoardEvent::TaskResumed { .. }
        | BoardEvent::LeaseRenewed { .. }
        | BoardEvent::LeaseExpired { .. }
        | BoardEvent::TaskReleased { .. }
        | BoardEvent::TaskUnblocked { .. }
        | BoardEvent::ReviewAssigned { .. }
        | BoardEvent::TaskRetried { .. }
        | BoardEvent::RetryDue { .. }
        | BoardEvent::TaskReopened { .. }
        | BoardEvent::OrchestratorAcquired { .. }
        | BoardEvent::OrchestratorRenewed { .. }
        | BoardEvent::OrchestratorReleased
        | BoardEvent::OrchestratorExpired
        | BoardEvent::NudgeDelivered { .. }
        | BoardEvent::NudgeAcknowledged { .. }
        | BoardEvent::NudgeExpired { .. }
        | BoardEvent::Resumed
        | BoardEvent::Archived { .. }
        | BoardEvent::Purged
        | BoardEvent::LearningsExtracted { .. }
        | BoardEvent::LearningPromoted { .. }
        | BoardEvent::LearningsRolledBack { .. }
        | BoardEvent::RecordForgotten { .. } => false,
    }
}

/// Like [`redact_event`], for a whole board.
pub(super) fn redact_image(image: &mut BoardImage, visit: &mut VisitBoardText<'_>) -> bool {
    let mut changed = false;
    if let Some(info) = &mut image.info {
        changed |= Arc::make_mut(info).redact(&mut of(RecordId::Board, visit));
    }
    macro_rules! redact_all {
        ($($records:ident as $id:path),*) => {
            $(for record in &mut image.$records {
                let id = RecordId::from($id(record.id));
                changed |= Arc::make_mut(record).redact(&mut of(id, visit));
            })*
        };
    }
    redact_all! {
        tasks as BoardItem::Task,
        decisions as BoardItem::Decision,
        discoveries as BoardItem::Discovery,
        artifacts as BoardItem::Artifact,
        choices as BoardItem::Choice,
        approvals as RecordId::Approval,
        nudges as RecordId::Nudge
    }
    for verdict in &mut image.learnings {
        let id = RecordId::Learning(verdict.id.clone());
        changed |= Arc::make_mut(verdict).redact(&mut of(id, visit));
    }
    changed
}

/// Replaces the listed texts of a record; an empty list means all.
pub(super) fn redact_fields(record: &mut impl Texts, fields: &[String]) {
    record.redact(&mut |field, _| fields.is_empty() || fields.contains(&field.to_string()));
}
