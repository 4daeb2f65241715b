//! A task: its description, its status and its holder.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Cancellation, ChoiceId, FailurePolicy, Lease, NewTask, ReviewVerdict, Setback, TaskEdit, TaskId, TaskStatus,
    TriggerRule,
};
use crate::knowledge::Trust;
use crate::space::Stamp;
use crate::{AgentId, Role};

/// The result of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskResult {
    pub summary: String,
    /// Suggested next steps.
    #[serde(default)]
    pub next_steps: Vec<String>,
    /// Trust level of the result, if given: [`Trust::Outside`] for text from a web page, a tool or a stranger. Nobody
    /// can give more trust than they have.
    #[serde(default)]
    pub trust: Option<Trust>,
}

impl TaskResult {
    /// Trust level; the default is an agent's.
    pub fn trust(&self) -> Trust {
        self.trust.unwrap_or_default()
    }
}

/// A task of a board.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Task {
    pub id: TaskId,
    /// What to do, in one line.
    pub title: Arc<str>,
    /// What to do, in full.
    pub description: Arc<str>,
    pub status: TaskStatus,
    /// The agent that is assigned, works on it or completed it.
    #[serde(default)]
    pub assigned_to: Option<AgentId>,
    #[serde(default)]
    pub assigned_at: Option<Timestamp>,
    /// The tasks that it depends on.
    pub depends_on: Arc<[TaskId]>,
    /// When it may start, by the outcomes of its dependencies.
    pub trigger_rule: TriggerRule,
    /// What happens to other tasks if it fails.
    pub on_failure: FailurePolicy,
    /// Tasks with a higher priority are claimed first.
    pub priority: i32,
    /// Estimated duration in minutes.
    #[serde(default)]
    pub estimate_minutes: Option<u32>,
    /// How often it is retried automatically after a failure.
    pub retry_limit: u32,
    /// Seconds before the first automatic retry.
    pub retry_backoff_s: u32,
    /// Number of the current attempt; 0 before the first.
    pub attempt: u32,
    /// How often it failed since it was added or last retried by hand.
    pub failures: u32,
    /// The earliest time of its retry.
    #[serde(default)]
    pub not_before: Option<Timestamp>,
    /// Who holds it, and until when.
    #[serde(default)]
    pub claim: Option<Lease>,
    /// The last epoch given to a claim. Commands with an older epoch are fenced.
    pub epoch: u64,
    /// The role in which its worker submitted it for review. The reviewer's role does not count for the work.
    #[serde(default)]
    pub worked_as: Option<Role>,
    /// When work on this attempt began.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    /// Why its holder is blocked.
    #[serde(default)]
    pub blocked_reason: Option<Arc<str>>,
    #[serde(default)]
    pub result: Option<Arc<TaskResult>>,
    #[serde(default)]
    pub completed_at: Option<Timestamp>,
    /// Why it last failed.
    #[serde(default)]
    pub failure: Option<Arc<str>>,
    /// Why it was cancelled.
    #[serde(default)]
    pub cancellation: Option<Cancellation>,
    /// Whether it must be reviewed before it is completed.
    pub needs_review: bool,
    /// The assigned reviewer.
    #[serde(default)]
    pub reviewer: Option<AgentId>,
    /// Who reviewed it last.
    #[serde(default)]
    pub reviewed_by: Option<Arc<str>>,
    /// Verdict of the last review.
    #[serde(default, alias = "review_status")]
    pub review_verdict: Option<ReviewVerdict>,
    /// Comment of the last review.
    #[serde(default, alias = "review_comments")]
    pub review_comment: Option<Arc<str>>,
    /// Whether it was sent back for rework and its holder has not claimed it again.
    #[serde(default)]
    pub rework: bool,
    /// Its most recent setbacks: when it was sent back or failed.
    #[serde(default)]
    pub setbacks: Vec<Arc<Setback>>,
    /// The choice, if it begins one of its options.
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

    /// Makes the task pending and unassigned.
    pub(super) fn give_back(&mut self) {
        self.status = TaskStatus::Pending;
        self.assigned_to = None;
        self.assigned_at = None;
        self.claim = None;
        self.blocked_reason = None;
        self.cancellation = None;
        self.rework = false;
    }

    /// The statuses that it may move to next.
    pub fn moves(&self) -> Vec<TaskStatus> {
        use TaskStatus::*;
        let moves: &[TaskStatus] = match self.status {
            Pending => &[Assigned, Cancelled],
            Assigned => &[Pending, InProgress, Failed, Cancelled],
            InProgress if self.needs_review => &[Pending, Blocked, Review, Failed, Cancelled],
            InProgress => &[Pending, Blocked, Completed, Failed, Cancelled],
            Blocked => &[Pending, InProgress, Failed, Cancelled],
            // Rework returns it to its holder, or to the next agent that claims it.
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
        // Bytes counted for every task besides its texts.
        const FIXED: usize = 400;
        let setbacks: u64 = self.setbacks.iter().map(|setback| setback.bytes()).sum();
        setbacks
            + (FIXED + self.title.len() + self.description.len() + result + said + 8 * self.depends_on.len()) as u64
    }
}
