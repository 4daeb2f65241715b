//! The events of a board. They are stored: a field may be added with a default, never changed or removed.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ApprovalId, ApprovalVerdict, ArtifactId, BoardEdit, BoardImage, BoardOutcome, BoardStatus, Cancellation, ChoiceId,
    DecisionId, DiscoveryId, ForkedFrom, LearningId, NewArtifact, NewBoard, NewChoice, NewDecision, NewDiscovery,
    NewNudge, NewTask, NudgeId, RecordId, ReviewVerdict, TaskEdit, TaskId, TaskResult,
};
use crate::knowledge::{CoreEntryId, NewCoreEntry};
use crate::{ActorKind, AgentId, CoreId};

/// An event on a board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardEvent {
    /// The board was created.
    #[serde(rename = "board_created", alias = "created")]
    Created(Box<NewBoard>),
    /// The board's name, goal or settings changed.
    #[serde(rename = "board_edited", alias = "edited")]
    Edited(Box<BoardEdit>),
    /// A task was added.
    TaskAdded {
        id: TaskId,
        /// The requested task, with its dependencies by ID and the board's failure policy filled in.
        task: Box<NewTask>,
    },
    /// A task now depends on another.
    DependencyAdded {
        task: TaskId,
        #[serde(alias = "on")]
        depends_on: TaskId,
    },
    /// A task no longer depends on another.
    DependencyRemoved {
        /// The task that waited.
        task: TaskId,
        #[serde(alias = "on")]
        depends_on: TaskId,
    },
    /// A task was edited.
    TaskEdited { task: TaskId, edit: Box<TaskEdit> },
    /// A task was assigned.
    TaskAssigned {
        task: TaskId,
        #[serde(alias = "to")]
        agent: AgentId,
    },
    /// An agent started a task: a new attempt.
    TaskStarted {
        task: TaskId,
        /// Who started it; none: the agent to whom it was assigned.
        #[serde(default, alias = "by")]
        agent: Option<AgentId>,
        epoch: u64,
        /// When the lease expires unless it is renewed.
        deadline: Timestamp,
        /// Lease duration.
        #[serde(flatten, with = "super::lease::seconds")]
        #[cfg_attr(feature = "openapi", schema(value_type = crate::schema::LeaseForm))]
        lease: Duration,
    },
    /// The holder resumed a task under a new epoch, for rework or after a restart.
    TaskResumed {
        task: TaskId,
        /// The claim's new epoch.
        epoch: u64,
        /// When the lease expires unless it is renewed.
        deadline: Timestamp,
        /// Lease duration.
        #[serde(flatten, with = "super::lease::seconds")]
        #[cfg_attr(feature = "openapi", schema(value_type = crate::schema::LeaseForm))]
        lease: Duration,
    },
    /// The holder renewed its lease. The task's version does not change.
    LeaseRenewed {
        task: TaskId,
        /// The new deadline.
        deadline: Timestamp,
    },
    /// The lease of a claim expired. The task is pending again, unless it waits for review.
    LeaseExpired { task: TaskId },
    /// The task was released.
    TaskReleased { task: TaskId },
    /// The holder reported that it is blocked.
    TaskBlocked {
        task: TaskId,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// The holder is no longer blocked.
    TaskUnblocked { task: TaskId },
    /// The task was submitted for review.
    TaskSubmitted {
        task: TaskId,
        #[serde(default)]
        result: Option<Arc<TaskResult>>,
    },
    /// The task was completed.
    TaskCompleted {
        task: TaskId,
        #[serde(default)]
        result: Option<Arc<TaskResult>>,
    },
    /// The review of a task was assigned.
    ReviewAssigned {
        task: TaskId,
        #[serde(alias = "to")]
        agent: AgentId,
    },
    /// A task was reviewed: it is completed, in progress again (pending if nobody holds it) or failed.
    TaskReviewed {
        task: TaskId,
        verdict: ReviewVerdict,
        #[serde(default, alias = "comments")]
        comment: Option<Arc<str>>,
        /// Whether the task keeps this as a setback. Missing in events from before setbacks existed.
        #[serde(default)]
        remembered: bool,
    },
    /// The task failed.
    TaskFailed {
        task: TaskId,
        reason: Arc<str>,
        /// Whether the task keeps this as a setback. Missing in events from before setbacks existed.
        #[serde(default)]
        remembered: bool,
    },
    /// A failed task is pending again.
    TaskRetried {
        task: TaskId,
        /// The earliest time of the retry.
        #[serde(default)]
        not_before: Option<Timestamp>,
        /// Whether somebody asked for the retry; if not, the retry limit allowed it.
        #[serde(default)]
        by_hand: bool,
    },
    /// A task's retry delay is over.
    RetryDue { task: TaskId },
    /// A task was cancelled.
    TaskCancelled {
        task: TaskId,
        #[serde(flatten)]
        cancellation: Cancellation,
    },
    /// A task that was cancelled because of another is pending again.
    TaskReopened { task: TaskId },
    /// A decision was recorded. It replaces the decision that it supersedes, if any.
    DecisionRecorded { id: DecisionId, decision: Box<NewDecision> },
    /// A discovery was recorded.
    DiscoveryRecorded { id: DiscoveryId, discovery: Box<NewDiscovery> },
    /// An artifact was recorded.
    ArtifactRecorded { id: ArtifactId, artifact: Box<NewArtifact> },
    /// A choice was added.
    ChoiceAdded {
        id: ChoiceId,
        /// The requested choice, with its tasks by ID.
        choice: Box<NewChoice>,
    },
    /// An option was chosen.
    BranchChosen {
        choice: ChoiceId,
        option: String,
        #[serde(default)]
        rationale: Option<String>,
    },
    /// An agent took the orchestrator's role.
    OrchestratorAcquired {
        #[serde(alias = "by")]
        agent: AgentId,
        epoch: u64,
        deadline: Timestamp,
        /// Lease duration.
        #[serde(flatten, with = "super::lease::seconds")]
        #[cfg_attr(feature = "openapi", schema(value_type = crate::schema::LeaseForm))]
        lease: Duration,
    },
    /// The orchestrator renewed its lease.
    OrchestratorRenewed {
        /// The new deadline.
        deadline: Timestamp,
    },
    /// The orchestrator released the role.
    OrchestratorReleased,
    /// The orchestrator's lease expired.
    OrchestratorExpired,
    /// Somebody approved or rejected a decision.
    DecisionJudged {
        /// The ID of this approval or rejection.
        id: ApprovalId,
        decision: DecisionId,
        verdict: ApprovalVerdict,
        #[serde(default)]
        comment: Option<Arc<str>>,
    },
    /// A nudge was sent.
    #[serde(alias = "nudge_injected")]
    NudgeSent { id: NudgeId, nudge: Box<NewNudge> },
    /// Somebody read a nudge. Recorded once per reader.
    NudgeDelivered {
        nudge: NudgeId,
        #[serde(alias = "to")]
        agent: Arc<str>,
    },
    /// Somebody acknowledged a nudge.
    NudgeAcknowledged {
        nudge: NudgeId,
        #[serde(alias = "by")]
        agent: Arc<str>,
    },
    /// A nudge expired.
    NudgeExpired { nudge: NudgeId },
    /// The board was paused.
    #[serde(rename = "board_paused", alias = "paused")]
    Paused {
        #[serde(default, alias = "comment")]
        reason: Option<Arc<str>>,
    },
    /// The board was resumed. Every deadline moved by the length of the pause.
    #[serde(rename = "board_resumed", alias = "resumed")]
    Resumed,
    /// The board ended.
    #[serde(rename = "board_ended", alias = "ended")]
    Ended {
        /// `completed` or `cancelled`.
        status: BoardStatus,
        outcome: BoardOutcome,
        #[serde(default, alias = "comment")]
        reason: Option<Arc<str>>,
    },
    /// The board was archived, or its retention changed.
    #[serde(rename = "board_archived", alias = "archived")]
    Archived {
        /// End of the minimum retention.
        retain_until: Timestamp,
    },
    /// The board was archived, its learnings were waived, and it may be purged at once.
    #[serde(rename = "board_discarded", alias = "discarded")]
    Discarded {
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// The board was purged. Nothing follows but the deletion of its space.
    #[serde(rename = "board_purged", alias = "purged")]
    Purged,
    /// The learnings of the board were extracted after its end.
    LearningsExtracted {
        /// How many learnings were found.
        candidates: u64,
    },
    /// The promotion of a learning into a core began.
    PromotionBegun {
        learning: LearningId,
        core: CoreId,
        /// The entry that the core will get, without the board.
        entry: Box<NewCoreEntry>,
        /// Whether a person, an agent or a program promotes it. The core command runs as that actor.
        kind: ActorKind,
    },
    /// A learning is in its core.
    LearningPromoted {
        learning: LearningId,
        /// The core entry with the learning.
        entry: CoreEntryId,
    },
    /// The core refused a learning. If another process added it all the same, the entry will be removed.
    PromotionRefused {
        learning: LearningId,
        /// Why the core refused it.
        reason: Arc<str>,
    },
    /// A learning that its core refused is not in the core. The learning is open again.
    PromotionAbandoned {
        learning: LearningId,
        /// Why the core refused it.
        reason: Arc<str>,
    },
    /// A learning was refused.
    LearningRefused {
        learning: LearningId,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// The removal of learnings from their cores began.
    RollBackBegun {
        learnings: Vec<LearningId>,
        #[serde(default)]
        reason: Option<Arc<str>>,
        /// Whether a person, an agent or a program removes them. The core command runs as that actor.
        kind: ActorKind,
    },
    /// Learnings were removed from their cores.
    LearningsRolledBack { learnings: Vec<LearningId> },
    /// Texts of a record were forgotten permanently. The revisions before this one no longer contain them.
    RecordForgotten {
        id: RecordId,
        /// The forgotten texts by field, such as `rationale` or `setbacks.0`. If empty, all texts of the record.
        #[serde(default)]
        fields: Vec<String>,
    },
    /// The board was created as a copy of another.
    #[serde(rename = "board_forked", alias = "forked")]
    Forked {
        /// The content of the source board, without claims.
        image: Box<BoardImage>,
        /// The source board and its revision.
        from: ForkedFrom,
    },
}

impl BoardEvent {
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::TaskAdded { id: task, .. }
            | Self::DependencyAdded { task, .. }
            | Self::DependencyRemoved { task, .. }
            | Self::TaskEdited { task, .. }
            | Self::TaskAssigned { task, .. }
            | Self::TaskStarted { task, .. }
            | Self::TaskResumed { task, .. }
            | Self::LeaseRenewed { task, .. }
            | Self::LeaseExpired { task }
            | Self::TaskReleased { task }
            | Self::TaskBlocked { task, .. }
            | Self::TaskUnblocked { task }
            | Self::TaskSubmitted { task, .. }
            | Self::TaskCompleted { task, .. }
            | Self::ReviewAssigned { task, .. }
            | Self::TaskReviewed { task, .. }
            | Self::TaskFailed { task, .. }
            | Self::TaskRetried { task, .. }
            | Self::RetryDue { task }
            | Self::TaskCancelled { task, .. }
            | Self::TaskReopened { task } => Some(*task),
            Self::Created(_)
            | Self::Edited(_)
            | Self::DecisionRecorded { .. }
            | Self::DiscoveryRecorded { .. }
            | Self::ArtifactRecorded { .. }
            | Self::ChoiceAdded { .. }
            | Self::BranchChosen { .. }
            | Self::OrchestratorAcquired { .. }
            | Self::OrchestratorRenewed { .. }
            | Self::OrchestratorReleased
            | Self::OrchestratorExpired
            | Self::DecisionJudged { .. }
            | Self::NudgeSent { .. }
            | Self::NudgeDelivered { .. }
            | Self::NudgeAcknowledged { .. }
            | Self::NudgeExpired { .. }
            | Self::Paused { .. }
            | Self::Resumed
            | Self::Ended { .. }
            | Self::Archived { .. }
            | Self::Discarded { .. }
            | Self::Purged
            | Self::LearningsExtracted { .. }
            | Self::PromotionBegun { .. }
            | Self::LearningPromoted { .. }
            | Self::PromotionRefused { .. }
            | Self::PromotionAbandoned { .. }
            | Self::LearningRefused { .. }
            | Self::RollBackBegun { .. }
            | Self::LearningsRolledBack { .. }
            | Self::RecordForgotten { .. }
            | Self::Forked { .. } => None,
        }
    }
}
