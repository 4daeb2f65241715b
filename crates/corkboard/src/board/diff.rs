//! The changes of a board between two revisions, as values and as plain sentences.

use std::fmt;
use std::sync::Arc;

use corkboard_core::board::{
    ApprovalVerdict, Artifact, ArtifactId, BoardInfo, BoardOutcome, BoardState, BoardStatus, Choice, ChoiceId,
    Decision, DecisionId, Discovery, DiscoveryId, LearningId, Nudge, NudgeId, ReviewVerdict, Task, TaskId, TaskStatus,
};
use corkboard_core::knowledge::CoreEntryId;
use corkboard_core::{AgentId, BoardId, CoreId};
use jiff::Timestamp;
use serde::Serialize;

use super::history::LastMovers;
use super::learnings::learning_changes;

/// The changes of a board from one revision to a later one. Its text form has one sentence per change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardDiff {
    /// The board whose revisions are compared.
    pub board: BoardId,
    /// The earlier revision.
    pub from: u64,
    /// The later revision.
    pub to: u64,
    /// The changes: of the board itself first, then of tasks, then of records.
    pub changes: Vec<BoardChange>,
}

/// A difference between two revisions. A change that was undone in between does not appear.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the variants are documented, and their field names explain themselves")]
pub enum BoardChange {
    /// The board was created.
    BoardCreated { name: String, by: Arc<str> },
    /// The board's own fields changed.
    BoardEdited { fields: Vec<&'static str> },
    /// The board ended.
    BoardEnded { status: BoardStatus, outcome: Option<BoardOutcome> },
    /// The board was paused.
    BoardPaused { by: Arc<str>, reason: Option<Arc<str>> },
    /// The board was resumed.
    BoardResumed,
    /// The board was archived, or its retention changed.
    BoardArchived {
        /// The time until which the board is kept at least.
        retain_until: Timestamp,
    },
    /// The board was discarded: archived, and its learnings waived.
    BoardDiscarded { by: Arc<str>, reason: Option<Arc<str>> },
    /// The orchestrator changed. `to` is empty if nobody has the role.
    OrchestratorChanged { from: Option<AgentId>, to: Option<AgentId> },
    /// A task was added.
    TaskAdded { id: TaskId, task: Box<Task> },
    /// A task's fields changed.
    TaskEdited { task: TaskId, fields: Vec<&'static str> },
    /// A task now depends on another.
    DependencyAdded { task: TaskId, depends_on: TaskId },
    /// A task no longer depends on another.
    DependencyRemoved {
        /// The task that waited.
        task: TaskId,
        depends_on: TaskId,
    },
    /// A task's status changed.
    TaskMoved {
        task: TaskId,
        title: Arc<str>,
        from: TaskStatus,
        to: TaskStatus,
        by: Option<Arc<str>>,
        reason: Option<String>,
    },
    /// A task has the same status as before, but a later attempt.
    TaskRestarted {
        task: TaskId,
        status: TaskStatus,
        /// The number of the latest attempt.
        attempt: u32,
    },
    /// A task's assignee changed.
    TaskAssigneeChanged { task: TaskId, from: Option<AgentId>, to: Option<AgentId> },
    /// A task was reviewed.
    TaskReviewed { task: TaskId, verdict: ReviewVerdict, by: Option<Arc<str>>, comment: Option<Arc<str>> },
    /// A decision was recorded.
    DecisionRecorded { id: DecisionId, decision: Arc<Decision> },
    /// A decision was superseded by another.
    DecisionSuperseded { decision: DecisionId, superseded_by: DecisionId },
    /// A decision was approved or rejected.
    DecisionJudged { decision: DecisionId, verdict: ApprovalVerdict, by: Arc<str>, comment: Option<Arc<str>> },
    /// A nudge was sent.
    NudgeSent { id: NudgeId, nudge: Arc<Nudge> },
    /// A nudge was delivered to an agent.
    NudgeDelivered { nudge: NudgeId, agent: Arc<str> },
    /// An agent acknowledged a nudge.
    NudgeAcknowledged { nudge: NudgeId, agent: Arc<str> },
    /// A nudge expired.
    NudgeExpired { nudge: NudgeId },
    /// A discovery was recorded.
    DiscoveryRecorded { id: DiscoveryId, discovery: Arc<Discovery> },
    /// An artifact version was recorded.
    ArtifactRecorded { id: ArtifactId, artifact: Arc<Artifact> },
    /// The board's learnings were extracted.
    LearningsExtracted { by: Arc<str>, candidates: u64 },
    /// The promotion of a learning to a core began.
    PromotionBegun { learning: LearningId, core: CoreId, by: Arc<str> },
    /// A core refused a learning, so the promotion was abandoned.
    PromotionAbandoned { learning: LearningId },
    /// A learning was promoted to a core.
    LearningPromoted { learning: LearningId, core: CoreId, entry: CoreEntryId, by: Arc<str> },
    /// A learning was refused.
    LearningRefused { learning: LearningId, by: Arc<str>, reason: Option<Arc<str>> },
    /// Learnings were rolled back from their core, or the rollback began.
    LearningsRolledBack { learnings: Vec<LearningId>, core: CoreId, by: Arc<str>, reason: Option<Arc<str>> },
    /// A choice was added.
    ChoiceAdded { id: ChoiceId, choice: Arc<Choice> },
    /// An option was chosen.
    BranchChosen { choice: ChoiceId, option: String, by: Option<Arc<str>> },
}

type At<'a> = (u64, &'a BoardState);

impl BoardDiff {
    pub(super) fn new(board: BoardId, (from, before): At<'_>, (to, after): At<'_>, movers: &LastMovers) -> Self {
        let mut changes = Vec::new();
        changes.extend(after.info().into_iter().flat_map(|info| board_changes(before.info(), info)));
        let orchestrator = |state: &BoardState| state.orchestrator().map(|lease| lease.holder.clone());
        if orchestrator(before) != orchestrator(after) {
            changes.push(BoardChange::OrchestratorChanged { from: orchestrator(before), to: orchestrator(after) });
        }
        for task in after.tasks() {
            match before.task(task.id) {
                Some(was) => changes.extend(task_changes(was, task, movers)),
                None => changes.push(added(task)),
            }
        }
        changes.extend(record_changes(before, after));
        Self { board, from, to, changes }
    }

    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

fn board_changes(before: Option<&BoardInfo>, info: &BoardInfo) -> Vec<BoardChange> {
    let mut changes = Vec::new();
    let Some(before) = before else {
        return vec![BoardChange::BoardCreated { name: info.name.clone(), by: info.created_by.clone() }];
    };
    let fields = changed(&[
        ("name", before.name != info.name),
        ("goal", before.goal != info.goal),
        ("constraints", before.constraints != info.constraints),
        ("cores", before.cores != info.cores),
        ("on_failure", before.on_failure != info.on_failure),
    ]);
    if !fields.is_empty() {
        changes.push(BoardChange::BoardEdited { fields });
    }
    match (&before.paused, &info.paused) {
        (was, Some(pause)) if was.as_ref() != Some(pause) => {
            changes.push(BoardChange::BoardPaused { by: pause.by.clone(), reason: pause.reason.clone() });
        }
        // An ended board does not resume.
        (Some(_), None) if info.status == BoardStatus::Active => changes.push(BoardChange::BoardResumed),
        _ => {}
    }
    if before.status == BoardStatus::Active && info.status != BoardStatus::Active {
        changes.push(BoardChange::BoardEnded { status: info.status, outcome: info.outcome });
    }
    if let Some(retain_until) = info.retain_until.filter(|until| before.retain_until != Some(*until)) {
        changes.push(BoardChange::BoardArchived { retain_until });
    }
    if let Some(waiver) = info.waived.as_ref().filter(|waiver| before.waived.as_ref() != Some(*waiver)) {
        changes.push(BoardChange::BoardDiscarded { by: waiver.by.clone(), reason: waiver.reason.clone() });
    }
    if let (Some(extracted), None) = (&info.learnings_extracted, &before.learnings_extracted) {
        let (by, candidates) = (extracted.by.clone(), extracted.candidates);
        changes.push(BoardChange::LearningsExtracted { by, candidates });
    }
    changes
}

fn changed(fields: &[(&'static str, bool)]) -> Vec<&'static str> {
    fields.iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| *name).collect()
}

fn added(task: &Task) -> BoardChange {
    BoardChange::TaskAdded { id: task.id, task: Box::new(task.clone()) }
}

fn task_changes(was: &Task, is: &Task, movers: &LastMovers) -> Vec<BoardChange> {
    let (mut changes, task) = (Vec::new(), is.id);
    let fields = changed(&[
        ("title", was.title != is.title),
        ("description", was.description != is.description),
        ("trigger_rule", was.trigger_rule != is.trigger_rule),
        ("on_failure", was.on_failure != is.on_failure),
        ("priority", was.priority != is.priority),
        ("estimate_minutes", was.estimate_minutes != is.estimate_minutes),
        ("needs_review", was.needs_review != is.needs_review),
        ("retry_limit", was.retry_limit != is.retry_limit),
        ("retry_backoff_s", was.retry_backoff_s != is.retry_backoff_s),
        ("reviewer", was.reviewer != is.reviewer),
    ]);
    if !fields.is_empty() {
        changes.push(BoardChange::TaskEdited { task, fields });
    }
    let missing = |from: &Task, of: &Task| -> Vec<TaskId> {
        of.depends_on.iter().filter(|on| !from.depends_on.contains(on)).copied().collect()
    };
    let (added, removed) = (missing(was, is), missing(is, was));
    changes.extend(added.into_iter().map(|depends_on| BoardChange::DependencyAdded { task, depends_on }));
    changes.extend(removed.into_iter().map(|depends_on| BoardChange::DependencyRemoved { task, depends_on }));
    if was.status != is.status {
        let (from, to, by) = (was.status, is.status, movers.get(&task).cloned());
        changes.push(BoardChange::TaskMoved { task, title: is.title.clone(), from, to, by, reason: reason(is) });
    } else if was.attempt != is.attempt {
        changes.push(BoardChange::TaskRestarted { task, status: is.status, attempt: is.attempt });
    }
    if was.assigned_to != is.assigned_to {
        let (from, to) = (was.assigned_to.clone(), is.assigned_to.clone());
        changes.push(BoardChange::TaskAssigneeChanged { task, from, to });
    }
    let review = |task: &Task| (task.review_verdict, task.reviewed_by.clone(), task.review_comment.clone());
    if let (true, (Some(verdict), by, comment)) = (review(was) != review(is), review(is)) {
        changes.push(BoardChange::TaskReviewed { task, verdict, by, comment });
    }
    changes
}

/// The reason given for a task's current status.
fn reason(task: &Task) -> Option<String> {
    match task.status {
        TaskStatus::Blocked => task.blocked_reason.as_deref().map(Into::into),
        TaskStatus::Failed => task.failure.as_deref().map(Into::into),
        TaskStatus::Pending => task.failure.as_deref().map(|failure| format!("retry after failure: {failure}")),
        TaskStatus::Completed => task.result.as_ref().map(|result| result.summary.clone()),
        TaskStatus::Cancelled => {
            let cancelled = task.cancellation.as_ref()?;
            let cause = serde_json::to_value(cancelled.cause).ok()?.as_str().unwrap_or_default().replace('_', " ");
            let by = cancelled.caused_by.map_or_else(String::new, |task| format!(" ({task})"));
            let reason = cancelled.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            Some(format!("{cause}{by}{reason}"))
        }
        TaskStatus::Assigned | TaskStatus::InProgress | TaskStatus::Review => None,
    }
}

fn record_changes(before: &BoardState, after: &BoardState) -> Vec<BoardChange> {
    let mut changes = Vec::new();
    for decision in after.decisions() {
        let was = before.decision(decision.id);
        if was.is_none() {
            changes.push(BoardChange::DecisionRecorded { id: decision.id, decision: decision.clone() });
        }
        if let (Some(superseded_by), None) = (decision.superseded_by, was.and_then(|was| was.superseded_by)) {
            changes.push(BoardChange::DecisionSuperseded { decision: decision.id, superseded_by });
        }
    }
    for said in after.approvals().filter(|said| before.approval(said.id).is_none()) {
        let (decision, verdict, by, comment) =
            (said.decision, said.verdict, said.created_by.clone(), said.comment.clone());
        changes.push(BoardChange::DecisionJudged { decision, verdict, by, comment });
    }
    for nudge in after.nudges() {
        changes.extend(nudge_changes(before.nudge(nudge.id), nudge));
    }
    for found in after.discoveries().filter(|found| before.discovery(found.id).is_none()) {
        changes.push(BoardChange::DiscoveryRecorded { id: found.id, discovery: found.clone() });
    }
    for made in after.artifacts().filter(|made| before.artifact(made.id).is_none()) {
        changes.push(BoardChange::ArtifactRecorded { id: made.id, artifact: made.clone() });
    }
    for choice in after.choices() {
        changes.extend(choice_changes(before.choice(choice.id), choice));
    }
    changes.extend(learning_changes(before, after));
    changes
}

fn nudge_changes(was: Option<&Nudge>, is: &Arc<Nudge>) -> Vec<BoardChange> {
    let (mut changes, nudge) = (Vec::new(), is.id);
    if was.is_none() {
        changes.push(BoardChange::NudgeSent { id: nudge, nudge: is.clone() });
    }
    // Receipts are only ever added.
    let delivered = is.delivered.iter().skip(was.map_or(0, |was| was.delivered.len()));
    changes.extend(delivered.map(|receipt| BoardChange::NudgeDelivered { nudge, agent: receipt.agent.clone() }));
    let acknowledged = is.acknowledged.iter().skip(was.map_or(0, |was| was.acknowledged.len()));
    changes.extend(acknowledged.map(|receipt| BoardChange::NudgeAcknowledged { nudge, agent: receipt.agent.clone() }));
    if is.expired && was.is_none_or(|was| !was.expired) {
        changes.push(BoardChange::NudgeExpired { nudge });
    }
    changes
}

fn choice_changes(was: Option<&Choice>, is: &Arc<Choice>) -> Vec<BoardChange> {
    let mut changes = Vec::new();
    if was.is_none() {
        changes.push(BoardChange::ChoiceAdded { id: is.id, choice: is.clone() });
    }
    if let (Some(option), None) = (&is.chosen, was.and_then(|was| was.chosen.as_ref())) {
        changes.push(BoardChange::BranchChosen { choice: is.id, option: option.clone(), by: is.chosen_by.clone() });
    }
    changes
}

impl fmt::Display for BoardDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.changes.is_empty() {
            return writeln!(f, "Nothing changed from revision {} to {}.", self.from, self.to);
        }
        self.changes.iter().try_for_each(|change| writeln!(f, "{change}"))
    }
}
