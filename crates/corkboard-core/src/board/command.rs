//! The commands of a board, and the replies to them.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ApprovalId, ApprovalVerdict, ArtifactId, BoardForget, BoardImage, BoardOutcome, ChoiceId, CoreRef, DecisionId,
    DiscoveryId, FailurePolicy, ForkedFrom, LearningChanges, LearningId, NewArtifact, NewChoice, NewDecision,
    NewDiscovery, NewNudge, NewTask, NudgeId, ReviewVerdict, TaskEdit, TaskId, TaskResult, TaskStatus, WhichLearnings,
};
use crate::knowledge::CoreEntryId;
use crate::{AgentId, CoreId};

/// A command to a board. The actor is the sender; a worker is identified by the actor's name.
///
/// `epoch` is the epoch of the caller's claim. Without it, any caller with the holder's name counts as the holder. With
/// it, a claim that was lost to another process of the same name is detected too.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardCommand {
    /// Creates the board.
    Create(NewBoard),
    /// Creates the board with its first tasks, all or nothing.
    CreateWithTasks {
        board: NewBoard,
        /// Its tasks, which may depend on one another.
        tasks: Vec<NewTask>,
    },
    /// Edits the board's name, goal and settings.
    Edit {
        edit: BoardEdit,
        /// Expected version; any other is a conflict.
        if_version: Option<u64>,
    },
    /// Adds tasks, which may depend on one another, and choices between them, all or nothing.
    AddTasks { tasks: Vec<NewTask>, choices: Vec<NewChoice> },
    /// Makes a task wait for another.
    AddDependency {
        task: TaskId,
        /// The task that it waits for.
        depends_on: TaskId,
    },
    /// Removes a task's dependency on another.
    RemoveDependency {
        /// The task that waits.
        task: TaskId,
        /// The task that it no longer waits for.
        depends_on: TaskId,
    },
    /// Edits a task.
    EditTask {
        task: TaskId,
        edit: TaskEdit,
        /// Expected version; any other is a conflict.
        if_version: Option<u64>,
    },
    /// Assigns a task.
    Assign { task: TaskId, agent: AgentId },
    /// Assigns the review of a task.
    AssignReview { task: TaskId, agent: AgentId },
    /// Reviews a task: approve, request rework or reject.
    Review { task: TaskId, verdict: ReviewVerdict, comment: Option<String> },
    /// Cancels a task.
    CancelTask { task: TaskId, reason: Option<String> },
    /// Reopens a failed task, and the tasks that were cancelled because of it.
    Retry { task: TaskId },
    /// Reopens all failed tasks, and the tasks that were cancelled because of them.
    RetryFailed,
    /// Chooses an option and cancels the tasks of the others.
    Choose { choice: ChoiceId, option: String, rationale: Option<String> },
    /// Takes the orchestrator's role if nobody else holds it. A caller that already holds it gets a new epoch; commands
    /// under the old one are fenced.
    AcquireOrchestrator {
        /// Lease duration.
        #[serde(flatten, with = "super::lease::seconds")]
        #[cfg_attr(feature = "openapi", schema(value_type = crate::schema::LeaseForm))]
        lease: Duration,
    },
    /// Renews the lease of the orchestrator's role.
    RenewOrchestrator { epoch: u64 },
    /// Releases the orchestrator's role.
    ReleaseOrchestrator { epoch: u64 },
    /// Runs a command as the orchestrator. Refused if the caller has lost the role.
    AsOrchestrator { epoch: u64, command: Box<BoardCommand> },
    /// Runs a command as the holder of a task. Refused if the caller has lost the task.
    UnderClaim { task: TaskId, epoch: u64, command: Box<BoardCommand> },
    /// Completes the board.
    Complete {
        reason: Option<String>,
        /// What to do with unfinished tasks.
        unfinished: Unfinished,
    },
    /// Cancels the board and its unfinished tasks.
    Cancel { reason: Option<String> },
    /// Archives a board that has ended. If it is archived already, changes how long it is kept.
    Archive {
        /// Minimum retention.
        retain: RetainFor,
    },
    /// Archives a board that has ended and waives its learnings, so that it can be purged at once.
    Discard { reason: Option<String> },
    /// Purges the board if nothing keeps it. The process that decides this then deletes the board's space.
    Purge,
    /// Claims a task: a named one, or the next. A caller that resumes a task it holds gets a new epoch; another process
    /// of the same name that has the old epoch is fenced.
    Claim {
        /// The task. None: a task sent back to the caller for rework, else one assigned to the caller, else the first
        /// ready one by priority and age.
        task: Option<TaskId>,
        /// The epoch of the caller's last claim of this task, to resume it after a restart. Refused as fenced if
        /// somebody claimed the task since.
        #[serde(default)]
        epoch: Option<u64>,
        /// Lease duration; without a heartbeat the task is released.
        #[serde(flatten, with = "super::lease::seconds")]
        #[cfg_attr(feature = "openapi", schema(value_type = crate::schema::LeaseForm))]
        lease: Duration,
    },
    /// Renews the lease of a claim.
    Heartbeat { task: TaskId, epoch: Option<u64> },
    /// Releases a task. A caller who is not its holder takes it from the holder.
    Release { task: TaskId, epoch: Option<u64> },
    /// Moves a task to another status.
    SetStatus {
        task: TaskId,
        status: TaskStatus,
        /// Why, for example for `blocked`, `failed` or `cancelled`.
        reason: Option<String>,
        epoch: Option<u64>,
        /// Lease duration, if this starts the work.
        #[serde(flatten, with = "super::lease::seconds")]
        #[cfg_attr(feature = "openapi", schema(value_type = crate::schema::LeaseForm))]
        lease: Duration,
    },
    /// Completes a task, or submits it for review if it needs one.
    CompleteTask {
        task: TaskId,
        result: TaskResult,
        epoch: Option<u64>,
        /// Refuse while an urgent nudge to the caller is undelivered. The tool `complete_task` sets this.
        #[serde(default)]
        heed_nudges: bool,
    },
    /// Reports that a task failed. It is retried if its retry limit allows.
    FailTask { task: TaskId, reason: String, epoch: Option<u64> },
    /// Records a decision.
    RecordDecision(NewDecision),
    /// Records a discovery.
    RecordDiscovery(NewDiscovery),
    /// Records an artifact.
    RecordArtifact(NewArtifact),
    /// Creates the board as a copy of another one. Claimed tasks become pending.
    Fork {
        /// The source board and its revision.
        from: ForkedFrom,
        /// The new board's name; none: the name of the source.
        #[serde(default)]
        name: Option<String>,
        /// The source board at that revision. It is never sent: the process that decides the command reads it from the
        /// store, so a caller cannot forge it.
        #[serde(skip)]
        image: Box<BoardImage>,
    },
    /// Approves or rejects a decision.
    Judge { decision: DecisionId, verdict: ApprovalVerdict, comment: Option<String> },
    /// Pauses the board: nobody can start a task, and nothing expires.
    Pause { reason: Option<String> },
    /// Resumes the board. Every deadline moves by the length of the pause.
    Resume,
    /// Sends a nudge to agents on the board.
    SendNudge(NewNudge),
    /// Records that the caller has read nudges.
    DeliverNudges { nudges: Vec<NudgeId> },
    /// Acknowledges nudges: all of them, or none.
    AcknowledgeNudges { nudges: Vec<NudgeId> },
    /// Extracts the board's learnings. The first extraction after the board's end is recorded.
    ExtractLearnings,
    /// Begins to promote a learning into a memory core. The process that finishes it adds the entry and reports it here.
    PromoteLearning {
        learning: LearningId,
        /// The target core; none: the suggested one.
        core: Option<String>,
        /// Changes to the learning.
        changes: Box<LearningChanges>,
    },
    /// Reports that a learning is in its core.
    FinishPromotion {
        learning: LearningId,
        /// The revision in which it was begun.
        begun_rev: u64,
        /// The core entry with the learning.
        entry: CoreEntryId,
    },
    /// Reports that the core refused a learning. The process that finishes it removes a late entry and reports it here.
    AbandonPromotion {
        learning: LearningId,
        /// The revision in which it was begun.
        begun_rev: u64,
        /// Why the core refused it.
        reason: String,
    },
    /// Reports that a learning that its core refused is not in the core. The learning is open again.
    FinishAbandonment {
        learning: LearningId,
        /// The revision in which it was begun.
        begun_rev: u64,
    },
    /// Refuses a learning permanently.
    RefuseLearning { learning: LearningId, reason: Option<String> },
    /// Begins to remove learnings from their cores. The process that finishes it withdraws the entries and reports it
    /// here.
    RollBackLearnings { which: WhichLearnings, reason: Option<String> },
    /// Reports that learnings were removed from their cores.
    FinishRollBack {
        /// The revision in which it was begun.
        begun_rev: u64,
    },
    /// Forgets texts permanently. The process that decides this then removes them from the log.
    Forget { forget: BoardForget },
    /// Expires overdue items. Every command does so first.
    Tick,
}

/// What to do with unfinished tasks when a board is completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    /// Refuse to complete the board.
    #[default]
    Refuse,
    /// Cancel them.
    Cancel,
}

/// Minimum retention of an archived board, from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RetainFor {
    /// The caller gave no duration: keep the earlier one, or else use this default.
    Unsaid { ms: u64 },
    /// The caller gave this duration.
    Said { ms: u64 },
}

/// A new board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NewBoard {
    pub name: String,
    /// What the board should accomplish.
    pub goal: String,
    pub constraints: Vec<String>,
    /// The names of the memory cores that it draws on.
    #[serde(alias = "memory_cores", alias = "memoryCores", alias = "memory_core_refs")]
    pub cores: Vec<String>,
    /// Failure policy of tasks that set none.
    pub on_failure: FailurePolicy,
    /// Entries of these cores that concerned the goal when the board was created, best first.
    pub drawn: Vec<CoreRef>,
    /// The task pattern that its first tasks were created from.
    pub pattern: Option<CoreRef>,
}

/// Changes to a board. Missing fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct BoardEdit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the board should accomplish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Vec<String>>,
    /// The names of the memory cores that it draws on.
    #[serde(
        alias = "memory_cores",
        alias = "memoryCores",
        alias = "memory_core_refs",
        skip_serializing_if = "Option::is_none"
    )]
    pub cores: Option<Vec<String>>,
    /// Failure policy of tasks that set none, for tasks added from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<FailurePolicy>,
    /// Entries of its cores that concern the goal, best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Vec<CoreRef>>,
}

/// A task that was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Claimed {
    pub task: TaskId,
    /// The claim's epoch; send it with every command under this claim.
    pub epoch: u64,
    /// When the claim expires without a heartbeat.
    pub deadline: Timestamp,
    /// Attempt number, starting at 1.
    pub attempt: u32,
}

/// The reply to a [`BoardCommand`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardReply {
    /// To `AddTasks` and `CreateWithTasks`, in the order of the batch.
    Added { tasks: Vec<TaskId>, choices: Vec<ChoiceId> },
    /// To `Claim`. None: no task is ready.
    Claimed(Option<Claimed>),
    /// To `Heartbeat`, `AcquireOrchestrator` and `RenewOrchestrator`.
    Held {
        epoch: u64,
        /// When the lease expires unless it is renewed.
        deadline: Timestamp,
    },
    /// To every command that moves a task.
    Moved {
        /// The task's new status.
        status: TaskStatus,
    },
    /// To `RecordDecision`.
    Decision(DecisionId),
    /// To `RecordDiscovery`.
    Discovery(DiscoveryId),
    /// To `RecordArtifact`.
    Artifact {
        id: ArtifactId,
        /// Version number at its path, starting at 1.
        version: u64,
    },
    /// To `Judge`.
    Approval(ApprovalId),
    /// To `SendNudge`.
    Nudge(NudgeId),
    /// To `DeliverNudges` and `AcknowledgeNudges`: the nudges that were newly delivered or acknowledged.
    Nudges(Vec<NudgeId>),
    /// To `Retry` and `RetryFailed` (tasks that are pending again), `Choose` and `CancelTask` (tasks that were
    /// cancelled), and `RemoveDependency` (the task, if it had the dependency).
    Tasks(Vec<TaskId>),
    /// To `Complete` and `Cancel`.
    Ended { outcome: BoardOutcome },
    /// To `PromoteLearning`.
    Promotion {
        /// The target core.
        core: CoreId,
        /// The core entry; none while the promotion is unfinished.
        entry: Option<CoreEntryId>,
    },
    /// To `RollBackLearnings`: the learnings whose rollback began.
    RollBack(Vec<LearningId>),
    /// To `Archive` and `Discard`.
    Retained {
        /// End of the minimum retention.
        until: Timestamp,
    },
    /// To `Forget`: the number of records whose texts were forgotten.
    Forgotten { records: u64 },
    /// To every other command.
    Done,
}
