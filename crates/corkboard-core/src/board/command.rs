//! What can be asked of a board, and what is answered.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    ApprovalId, ApprovalVerdict, ArtifactId, BoardImage, BoardOutcome, ChoiceId, CoreRef, DecisionId, DiscoveryId,
    FailurePolicy, ForkedFrom, LearningChanges, LearningId, NewArtifact, NewChoice, NewDecision, NewDiscovery,
    NewNudge, NewTask, NudgeId, ReviewStatus, TaskEdit, TaskId, TaskResult, TaskStatus, WhichLearnings,
};
use crate::knowledge::CoreEntryId;
use crate::{AgentId, CoreId};

/// A command to a board. The actor is the sender; workers are told apart by the actor's name.
///
/// `epoch` is that of the caller's claim. Without it, the caller is taken for the holder if the names are the same; with it,
/// a claim that was lost and given to another process of the same name is noticed too.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardCommand {
    /// Makes the board.
    Create(NewBoard),
    /// Makes the board with its first tasks: all of it, or nothing.
    CreateWithTasks {
        board: NewBoard,
        /// Its tasks, which may depend on one another.
        tasks: Vec<NewTask>,
    },
    /// Changes what the board says of itself.
    Edit {
        edit: BoardEdit,
        /// The version that it must be at.
        if_version: Option<u64>,
    },
    /// Adds tasks that may depend on one another, and choices between them: all of it, or nothing.
    AddTasks { tasks: Vec<NewTask>, choices: Vec<NewChoice> },
    /// Makes a task wait for another.
    AddDependency {
        task: TaskId,
        /// On what it depends.
        on: TaskId,
    },
    /// Ends a task's wait for another.
    RemoveDependency {
        /// The task that waits.
        task: TaskId,
        /// The task that it no longer waits for.
        on: TaskId,
    },
    /// Changes what a task says.
    EditTask {
        task: TaskId,
        edit: TaskEdit,
        /// The version that it must be at.
        if_version: Option<u64>,
    },
    /// Assigns a task.
    Assign { task: TaskId, to: AgentId },
    /// Assigns the review of a task.
    AssignReview { task: TaskId, to: AgentId },
    /// Reviews a task: approve, request rework or reject.
    Review { task: TaskId, verdict: ReviewStatus, comment: Option<String> },
    /// Cancels a task.
    CancelTask { task: TaskId, reason: Option<String> },
    /// Reopens a failed task, and what was cancelled because of it.
    Retry { task: TaskId },
    /// Reopens all that failed, and what was cancelled because of it.
    RetryFailed,
    /// Chooses a branch; the others are cancelled.
    Choose { choice: ChoiceId, option: String, rationale: Option<String> },
    /// Takes the orchestrator's role, if nobody has it. Whoever has it gets a new epoch: what they began under the old
    /// one is fenced.
    AcquireOrchestrator {
        /// For how long, if it is not renewed.
        lease_ms: u64,
    },
    /// Renews the lease of the orchestrator's role.
    RenewOrchestrator { epoch: u64 },
    /// Releases the orchestrator's role.
    ReleaseOrchestrator { epoch: u64 },
    /// A command of the orchestrator: refused if the role is another's by now.
    AsOrchestrator { epoch: u64, command: Box<BoardCommand> },
    /// A command of whoever holds a task: refused if the task is another's by now.
    UnderClaim { task: TaskId, epoch: u64, command: Box<BoardCommand> },
    /// Ends the board.
    Complete {
        reason: Option<String>,
        /// What becomes of tasks that are not finished.
        unfinished: Unfinished,
    },
    /// Gives the board up: what is unfinished is cancelled.
    Cancel { reason: Option<String> },
    /// Archives a board that has ended. If it is archived already, changes how long it is kept.
    Archive {
        /// For how long it is kept at least.
        retain: RetainFor,
    },
    /// Archives a board that has ended, gives up what it taught, and lets it be purged at once.
    Discard { reason: Option<String> },
    /// Purges a board, if nothing keeps it. The process that decides this then deletes its space.
    Purge,
    /// Takes a task to work on it: a named one, or the next. A task that the caller holds and goes on with gets a new epoch:
    /// another process of the same name that has the old one is fenced.
    Claim {
        /// Which; none: what was sent back to the caller for rework, then what is assigned to them, then the first by
        /// priority and age.
        task: Option<TaskId>,
        /// The epoch that the caller last had of the named task: after a restart, they get it back. Refused as fenced if
        /// somebody claimed it since.
        #[serde(default)]
        epoch: Option<u64>,
        /// Lease duration; without a heartbeat the task is released.
        lease_ms: u64,
    },
    /// Renews the lease of a claim.
    Heartbeat { task: TaskId, epoch: Option<u64> },
    /// Releases a task. A caller who is not its holder takes it from the holder.
    Release { task: TaskId, epoch: Option<u64> },
    /// Moves a task to another state.
    SetStatus {
        task: TaskId,
        status: TaskStatus,
        /// Why, where there is something to say: blocked, failed, cancelled.
        reason: Option<String>,
        epoch: Option<u64>,
        /// For how long, if work begins by it.
        lease_ms: u64,
    },
    /// Completes a task, or submits it for review if it needs one.
    CompleteTask {
        task: TaskId,
        result: TaskResult,
        epoch: Option<u64>,
        /// Refuse while an urgent nudge to the caller is not delivered. The tool `complete_task` asks for it.
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
    /// Makes the board from another one. Claims return to pending.
    Fork {
        /// The board and the revision of it to begin with.
        from: ForkedFrom,
        /// The new board's name; none: that of the other.
        #[serde(default)]
        name: Option<String>,
        /// The other board at that revision. It is never sent: the process that decides the command reads it from the store,
        /// so no caller can make it up.
        #[serde(skip)]
        image: Box<BoardImage>,
    },
    /// Approves or rejects a decision.
    Judge {
        decision: DecisionId,
        /// What is said of it.
        verdict: ApprovalVerdict,
        comment: Option<String>,
    },
    /// Pauses the board: nobody can begin a task, and nothing expires.
    Pause { reason: Option<String> },
    /// Resumes the board. Every deadline moves by the length of the pause.
    Resume,
    /// Sends a nudge to agents on the board.
    InjectNudge(NewNudge),
    /// Records that the caller has read nudges.
    DeliverNudges { nudges: Vec<NudgeId> },
    /// Acknowledges nudges: all of them, or none.
    AcknowledgeNudges { nudges: Vec<NudgeId> },
    /// Looks for what the board taught. Once it has ended, that somebody did so is written down, the first time.
    ExtractLearnings,
    /// Begins to promote a learning into a memory core. The process that finishes it adds the entry and reports it here.
    PromoteLearning {
        learning: LearningId,
        /// Into which core; none: the one that is suggested.
        core: Option<String>,
        /// What is to be otherwise.
        changes: Box<LearningChanges>,
    },
    /// Says that a learning is in its core.
    FinishPromotion {
        learning: LearningId,
        /// The revision in which it was begun.
        begun_rev: u64,
        /// The entry that says it.
        entry: CoreEntryId,
    },
    /// Reports that the core refused a learning. The process that finishes it removes a late entry and reports it here.
    AbandonPromotion {
        learning: LearningId,
        /// The revision in which it was begun.
        begun_rev: u64,
        /// What the core said.
        reason: String,
    },
    /// Says that a learning that its core did not take is not in it: it is as if nobody had promoted it.
    FinishAbandonment {
        learning: LearningId,
        /// The revision in which it was begun.
        begun_rev: u64,
    },
    /// Says that a learning is not wanted, for ever.
    RefuseLearning { learning: LearningId, reason: Option<String> },
    /// Begins to take learnings out of their cores. The process that finishes it withdraws them and reports it here.
    RollBackLearnings { which: WhichLearnings, reason: Option<String> },
    /// Says that learnings are out of their cores.
    FinishRollBack {
        /// The revision in which it was begun.
        begun_rev: u64,
    },
    /// Expires what is due, as every command does first.
    Tick,
}

/// What becomes of unfinished tasks when a board is completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unfinished {
    /// The board is not completed while there are any.
    #[default]
    Refuse,
    /// They are cancelled.
    Cancel,
}

/// How long an archived board is kept at least, from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum RetainFor {
    /// The caller gave none: the duration given before holds, otherwise this default.
    Unsaid { ms: u64 },
    /// The caller gave this duration.
    Said { ms: u64 },
}

/// A board to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NewBoard {
    pub name: String,
    /// What is to be accomplished.
    pub goal: String,
    pub constraints: Vec<String>,
    /// The names of the memory cores that it draws on.
    #[serde(alias = "memory_core_refs", alias = "memoryCores")]
    pub cores: Vec<String>,
    /// What becomes of it when a task fails, where the task does not say.
    pub on_failure: FailurePolicy,
    /// What these cores knew about its goal when it was made, the best first.
    pub drawn: Vec<CoreRef>,
    /// The task pattern that its first tasks were made from.
    pub pattern: Option<CoreRef>,
}

/// What is to change about a board. What is none stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct BoardEdit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is to be accomplished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Vec<String>>,
    /// The names of the memory cores that it draws on.
    #[serde(alias = "memory_core_refs", alias = "memoryCores", skip_serializing_if = "Option::is_none")]
    pub cores: Option<Vec<String>>,
    /// What becomes of it when a task fails, for tasks added from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<FailurePolicy>,
    /// What its cores know about its goal, the best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Vec<CoreRef>>,
}

/// A task that was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Claimed {
    pub task: TaskId,
    /// The claim's epoch: to be sent with everything that is done under it.
    pub epoch: u64,
    /// When the claim expires without a heartbeat.
    pub deadline: Timestamp,
    /// Which attempt it is.
    pub attempt: u32,
}

/// The answer to a [`BoardCommand`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardReply {
    /// To `AddTasks` and `CreateWithTasks`, in the order of the batch.
    Added { tasks: Vec<TaskId>, choices: Vec<ChoiceId> },
    /// To `Claim`. None: nothing is ready.
    Claimed(Option<Claimed>),
    /// To `Heartbeat`, `AcquireOrchestrator` and `RenewOrchestrator`.
    Held {
        epoch: u64,
        /// Until when it holds.
        deadline: Timestamp,
    },
    /// To everything that moves a task.
    Moved {
        /// The state that it is in now.
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
    /// To `InjectNudge`.
    Nudge(NudgeId),
    /// To `DeliverNudges` and `AcknowledgeNudges`: those for which it was new.
    Nudges(Vec<NudgeId>),
    /// To `Retry`, `RetryFailed` (those that are pending again), `Choose` and `CancelTask` (those that were cancelled).
    Tasks(Vec<TaskId>),
    /// To `Complete` and `Cancel`.
    Ended { outcome: BoardOutcome },
    /// To `PromoteLearning`.
    Promotion {
        /// The core that it goes to, or is in.
        core: CoreId,
        /// The entry that says it; none: it is on its way.
        entry: Option<CoreEntryId>,
    },
    /// To `RollBackLearnings`: those that are on their way out.
    RollBack(Vec<LearningId>),
    /// To `Archive` and `Discard`.
    Retained {
        /// Until when it is kept at least.
        until: Timestamp,
    },
    /// To everything else.
    Done,
}
