//! A task: what is to be done, how far it is, and who has it.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Cancellation, ChoiceId, FailurePolicy, Lease, NewTask, ReviewStatus, Setback, TaskEdit, TaskId, TaskStatus,
    TriggerRule,
};
use crate::knowledge::Trust;
use crate::space::Stamp;
use crate::{AgentId, Role};

/// What came of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskResult {
    pub summary: String,
    /// What should come next.
    #[serde(default)]
    pub next_steps: Vec<String>,
    /// How far all of that may be trusted, where that is to be kept: [`Trust::Outside`] for what came from a web page, a tool
    /// or a stranger. Nobody can give more than they have.
    #[serde(default)]
    pub trust: Option<Trust>,
}

impl TaskResult {
    /// How far it may be trusted: what nobody said otherwise is an agent's.
    pub fn trust(&self) -> Trust {
        self.trust.unwrap_or_default()
    }
}

/// A task of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Task {
    pub id: TaskId,
    /// What is to be done, in a line.
    pub title: Arc<str>,
    /// What is to be done, in full.
    pub description: Arc<str>,
    /// How far it is.
    pub status: TaskStatus,
    /// Who is to do it, does it or did it.
    #[serde(default)]
    pub assigned_to: Option<AgentId>,
    #[serde(default)]
    pub assigned_at: Option<Timestamp>,
    /// The tasks that must be finished first.
    pub depends_on: Arc<[TaskId]>,
    /// When it may begin, by what became of those.
    pub trigger_rule: TriggerRule,
    /// What becomes of the board if it fails.
    pub on_failure: FailurePolicy,
    /// Higher ones are claimed first.
    pub priority: i32,
    /// How many minutes it should take.
    #[serde(default)]
    pub estimate_minutes: Option<u32>,
    /// How often it is tried again by itself after a failure.
    pub retry_limit: u32,
    /// How many seconds pass before the first of these.
    pub retry_backoff_s: u32,
    /// Which attempt this is: 0 before the first.
    pub attempt: u32,
    /// How often it failed since it was added or last retried by hand.
    pub failures: u32,
    /// Until when it waits to be tried again.
    #[serde(default)]
    pub not_before: Option<Timestamp>,
    /// Who holds it, and until when.
    #[serde(default)]
    pub claim: Option<Lease>,
    /// The last epoch given to a claim: whoever comes with an older one is fenced.
    pub epoch: u64,
    /// The role in which it was submitted for review: whoever approves it did not do it.
    #[serde(default)]
    pub worked_as: Option<Role>,
    /// When work on this attempt began.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// Why whoever works on it cannot go on.
    #[serde(default)]
    pub blocked_reason: Option<Arc<str>>,
    #[serde(default)]
    pub result: Option<Arc<TaskResult>>,
    #[serde(default)]
    pub completed_at: Option<Timestamp>,
    /// Why it failed last.
    #[serde(default)]
    pub failure: Option<Arc<str>>,
    /// Why it was cancelled.
    #[serde(default)]
    pub cancellation: Option<Cancellation>,
    /// Whether somebody is to look at it before it is completed.
    pub needs_review: bool,
    /// Who is to look at it.
    #[serde(default)]
    pub reviewer: Option<AgentId>,
    /// Who looked at it last.
    #[serde(default)]
    pub reviewed_by: Option<Arc<str>>,
    /// What was said then.
    #[serde(default, alias = "review_status")]
    pub review_verdict: Option<ReviewStatus>,
    /// What else was said then.
    #[serde(default, alias = "review_comments")]
    pub review_comment: Option<Arc<str>>,
    /// Whether it was sent back for rework and its holder has not claimed it again.
    #[serde(default)]
    pub rework: bool,
    /// How it was sent back, or failed, so far: the last times.
    #[serde(default)]
    pub setbacks: Vec<Arc<Setback>>,
    /// The choice of which it begins a branch.
    #[serde(default)]
    pub choice: Option<ChoiceId>,
    pub created_at: Timestamp,
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    /// The revision that last changed it.
    pub version: u64,
}

impl Task {
    pub(super) fn new(id: TaskId, new: &NewTask, depends_on: Arc<[TaskId]>, stamp: Stamp<'_>) -> Self {
        Self {
            id,
            title: new.title.as_str().into(),
            description: new.description.as_str().into(),
            depends_on,
            trigger_rule: new.trigger_rule,
            on_failure: new.on_failure.unwrap_or_default(),
            priority: new.priority,
            estimate_minutes: new.estimate_minutes,
            retry_limit: new.retry_limit,
            retry_backoff_s: new.retry_backoff_s,
            needs_review: new.needs_review,
            created_at: stamp.at,
            created_by: stamp.principal.into(),
            updated_at: stamp.at,
            version: stamp.rev,
            ..Self::default()
        }
    }

    pub(super) fn edit(&mut self, edit: &TaskEdit) {
        let TaskEdit {
            title,
            description,
            trigger_rule,
            on_failure,
            priority,
            estimate_minutes,
            needs_review,
            retry_limit,
            retry_backoff_s,
        } = edit;
        self.title = title.as_deref().map_or_else(|| self.title.clone(), Arc::from);
        self.description = description.as_deref().map_or_else(|| self.description.clone(), Arc::from);
        self.trigger_rule = trigger_rule.unwrap_or(self.trigger_rule);
        self.on_failure = on_failure.unwrap_or(self.on_failure);
        self.priority = priority.unwrap_or(self.priority);
        self.estimate_minutes =
            estimate_minutes.map_or(self.estimate_minutes, |minutes| (minutes > 0).then_some(minutes));
        self.needs_review = needs_review.unwrap_or(self.needs_review);
        self.retry_limit = retry_limit.unwrap_or(self.retry_limit);
        self.retry_backoff_s = retry_backoff_s.unwrap_or(self.retry_backoff_s);
    }

    /// Nobody has it any more, and it is to be done.
    pub(super) fn give_back(&mut self) {
        self.status = TaskStatus::Pending;
        self.assigned_to = None;
        self.assigned_at = None;
        self.claim = None;
        self.blocked_reason = None;
        self.cancellation = None;
        self.rework = false;
    }

    /// The states that it may move to next.
    pub fn moves(&self) -> Vec<TaskStatus> {
        use TaskStatus::*;
        let moves: &[TaskStatus] = match self.status {
            Pending => &[Assigned, Cancelled],
            Assigned => &[Pending, InProgress, Failed, Cancelled],
            InProgress if self.needs_review => &[Pending, Blocked, Review, Failed, Cancelled],
            InProgress => &[Pending, Blocked, Completed, Failed, Cancelled],
            Blocked => &[Pending, InProgress, Failed, Cancelled],
            // To be done better: by whoever holds it, or by the next to claim it.
            Review if self.claim.is_some() => &[InProgress, Completed, Failed, Cancelled],
            Review => &[Pending, Completed, Failed, Cancelled],
            Completed => &[],
            Failed => &[Pending],
            Cancelled if self.is_stopped() => &[Pending],
            Cancelled => &[],
        };
        moves.to_vec()
    }

    /// Whether it was cancelled because another task failed or was cancelled.
    pub fn is_stopped(&self) -> bool {
        self.cancellation.as_ref().is_some_and(|cancelled| cancelled.cause.is_upstream())
    }

    /// The task that failed or was cancelled first, if this one was cancelled because of it.
    pub fn upstream_cause(&self) -> Option<TaskId> {
        self.cancellation.as_ref().filter(|_| self.is_stopped()).and_then(|cancelled| cancelled.caused_by)
    }

    pub fn bytes(&self) -> u64 {
        let result = self
            .result
            .as_ref()
            .map_or(0, |result| result.summary.len() + result.next_steps.iter().map(String::len).sum::<usize>());
        let comment = self.cancellation.as_ref().and_then(|cancelled| cancelled.reason.as_ref());
        let said = [self.blocked_reason.as_ref(), self.failure.as_ref(), self.review_comment.as_ref(), comment];
        let said: usize = said.into_iter().flatten().map(|text| text.len()).sum();
        // What every task has besides its texts.
        const FIXED: usize = 400;
        let setbacks: u64 = self.setbacks.iter().map(|setback| setback.bytes()).sum();
        setbacks
            + (FIXED + self.title.len() + self.description.len() + result + said + 8 * self.depends_on.len()) as u64
    }
}
