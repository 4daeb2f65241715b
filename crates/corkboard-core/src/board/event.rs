//! What can happen to a board. These are stored: a field may be added with a default, never changed or removed.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ApprovalId, ApprovalVerdict, ArtifactId, BoardEdit, BoardImage, BoardOutcome, BoardStatus, Cancellation, ChoiceId,
    DecisionId, DiscoveryId, ForkedFrom, LearningId, NewArtifact, NewBoard, NewChoice, NewDecision, NewDiscovery,
    NewNudge, NewTask, NudgeId, ReviewStatus, TaskEdit, TaskId, TaskResult,
};
use crate::knowledge::{CoreEntryId, NewCoreEntry};
use crate::{ActorKind, AgentId, CoreId};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardEvent {
    /// The board was made.
    #[serde(rename = "board_created", alias = "created")]
    Created(Box<NewBoard>),
    /// What the board says of itself changed.
    #[serde(rename = "board_edited", alias = "edited")]
    Edited(Box<BoardEdit>),
    /// A task was added.
    TaskAdded {
        id: TaskId,
        /// What was asked for: all that it depends on is named by id, and what the board says was filled in.
        task: Box<NewTask>,
    },
    /// A task waits for another.
    DependencyAdded {
        task: TaskId,
        #[serde(alias = "on")]
        depends_on: TaskId,
    },
    /// A task no longer waits for another.
    DependencyRemoved {
        /// The task that waited.
        task: TaskId,
        #[serde(alias = "on")]
        depends_on: TaskId,
    },
    /// What a task says changed.
    TaskEdited { task: TaskId, edit: Box<TaskEdit> },
    /// Somebody is to do a task.
    TaskAssigned {
        task: TaskId,
        #[serde(alias = "to")]
        agent: AgentId,
    },
    /// Somebody began to work on a task: a new attempt.
    TaskStarted {
        task: TaskId,
        /// Who started it, unless it was assigned to them before.
        #[serde(default, alias = "by")]
        agent: Option<AgentId>,
        epoch: u64,
        /// Until when it holds.
        deadline: Timestamp,
        /// For how long it was taken.
        lease_ms: u64,
    },
    /// The holder went on with a task under a new epoch: it took up rework, or came back after a restart.
    TaskResumed {
        task: TaskId,
        /// The claim's new epoch.
        epoch: u64,
        /// Until when it holds.
        deadline: Timestamp,
        /// For how long it was taken.
        lease_ms: u64,
    },
    /// The holder renewed its lease. This changes no version.
    LeaseRenewed {
        task: TaskId,
        /// The new deadline.
        deadline: Timestamp,
    },
    /// The lease expired. Unless it waits for review, the task is pending again.
    LeaseExpired { task: TaskId },
    /// The task was given back.
    TaskReleased { task: TaskId },
    /// The holder reported that it is blocked.
    TaskBlocked {
        task: TaskId,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// The holder is no longer blocked.
    TaskUnblocked { task: TaskId },
    /// The task is done, and waits for review.
    TaskSubmitted {
        task: TaskId,
        #[serde(default)]
        result: Option<Arc<TaskResult>>,
    },
    /// The task is done.
    TaskCompleted {
        task: TaskId,
        #[serde(default)]
        result: Option<Arc<TaskResult>>,
    },
    /// Somebody is to look at a task.
    ReviewAssigned {
        task: TaskId,
        #[serde(alias = "to")]
        agent: AgentId,
    },
    /// Somebody looked at a task: it is completed, in progress again (pending, if nobody holds it) or failed.
    TaskReviewed {
        task: TaskId,
        verdict: ReviewStatus,
        #[serde(default, alias = "comments")]
        comment: Option<Arc<str>>,
        /// Whether the task keeps it among its setbacks. What was written before there were any does not say so.
        #[serde(default)]
        remembered: bool,
    },
    /// The task did not work.
    TaskFailed {
        task: TaskId,
        reason: Arc<str>,
        /// Whether the task keeps it among its setbacks. What was written before there were any does not say so.
        #[serde(default)]
        remembered: bool,
    },
    /// A failed task is pending again.
    TaskRetried {
        task: TaskId,
        /// When it may be tried again.
        #[serde(default)]
        not_before: Option<Timestamp>,
        /// Whether somebody asked for it, or its retry limit allowed it.
        #[serde(default)]
        by_hand: bool,
    },
    /// A task's waiting to be tried again is over.
    RetryDue { task: TaskId },
    /// A task will not be done.
    TaskCancelled {
        task: TaskId,
        #[serde(flatten)]
        cancellation: Cancellation,
    },
    /// A task that was cancelled because of another is pending again: that one is tried again.
    TaskReopened { task: TaskId },
    /// A decision was recorded. It replaces the one that it names.
    DecisionRecorded {
        id: DecisionId,
        /// What was recorded.
        decision: Box<NewDecision>,
    },
    /// A discovery was recorded.
    DiscoveryRecorded {
        id: DiscoveryId,
        /// What was recorded.
        discovery: Box<NewDiscovery>,
    },
    /// An artifact was recorded.
    ArtifactRecorded {
        id: ArtifactId,
        /// What was recorded.
        artifact: Box<NewArtifact>,
    },
    /// A choice was added.
    ChoiceAdded {
        id: ChoiceId,
        /// What was asked for, all tasks by id.
        choice: Box<NewChoice>,
    },
    /// A branch was chosen.
    BranchChosen {
        /// Of which choice.
        choice: ChoiceId,
        option: String,
        #[serde(default)]
        rationale: Option<String>,
    },
    /// Somebody is the orchestrator.
    OrchestratorAcquired {
        #[serde(alias = "by")]
        agent: AgentId,
        epoch: u64,
        deadline: Timestamp,
        /// For how long it was taken.
        lease_ms: u64,
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
        /// The id of that.
        id: ApprovalId,
        decision: DecisionId,
        /// What was said of it.
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
        /// In which way.
        status: BoardStatus,
        outcome: BoardOutcome,
        #[serde(default, alias = "comment")]
        reason: Option<Arc<str>>,
    },
    /// The board was archived, or its retention changed.
    #[serde(rename = "board_archived", alias = "archived")]
    Archived {
        /// Until when it is kept at least.
        retain_until: Timestamp,
    },
    /// The board was archived without its learnings, and may be purged at once.
    #[serde(rename = "board_discarded", alias = "discarded")]
    Discarded {
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// The board is gone for good. Nothing comes after it but the end of its space.
    #[serde(rename = "board_purged", alias = "purged")]
    Purged,
    /// Somebody looked for what the board taught, after its end.
    LearningsExtracted {
        /// How many learnings were found.
        candidates: u64,
    },
    /// A learning is on its way into a core.
    PromotionBegun {
        learning: LearningId,
        core: CoreId,
        /// What the core is to get, less the board.
        entry: Box<NewCoreEntry>,
        /// Whether a person, an agent or a program promotes it: the core hears it in their name.
        kind: ActorKind,
    },
    /// A learning is in its core.
    LearningPromoted {
        learning: LearningId,
        /// The entry that says it.
        entry: CoreEntryId,
    },
    /// The core did not take a learning. What another may have got into it is taken out.
    PromotionRefused {
        learning: LearningId,
        /// What the core said.
        reason: Arc<str>,
    },
    /// A learning that its core did not take is not in it: it is as if nobody had promoted it.
    PromotionAbandoned {
        learning: LearningId,
        /// What the core said.
        reason: Arc<str>,
    },
    /// A learning is not wanted.
    LearningRefused {
        learning: LearningId,
        #[serde(default)]
        reason: Option<Arc<str>>,
    },
    /// Learnings are on their way out of their cores.
    RollBackBegun {
        learnings: Vec<LearningId>,
        #[serde(default)]
        reason: Option<Arc<str>>,
        /// Whether a person, an agent or a program takes them out: the core hears it in their name.
        kind: ActorKind,
    },
    /// Learnings are out of their cores.
    LearningsRolledBack { learnings: Vec<LearningId> },
    /// The board was made from another.
    #[serde(rename = "board_forked", alias = "forked")]
    Forked {
        /// What that was, without claims.
        image: Box<BoardImage>,
        /// Where it comes from.
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
            | Self::Forked { .. } => None,
        }
    }
}
