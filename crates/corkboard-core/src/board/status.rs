//! Task status, trigger rules, failure policies, cancellation and review verdicts.

use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use super::TaskId;
use crate::text::enum_text;

/// Status of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Nobody is assigned.
    #[default]
    Pending,
    /// Assigned to an agent that has not started.
    Assigned,
    /// An agent works on it.
    InProgress,
    /// Its holder reported that it is blocked.
    Blocked,
    /// Done, and waiting for review.
    Review,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
}

enum_text!(TaskStatus {
    Pending => "pending",
    Assigned => "assigned",
    InProgress => "in_progress",
    Blocked => "blocked",
    Review => "review",
    Completed => "completed",
    Failed => "failed",
    Cancelled => "cancelled",
});

impl TaskStatus {
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Assigned,
        Self::InProgress,
        Self::Blocked,
        Self::Review,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Whether no work is left: completed, failed or cancelled.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl TaskStatus {
    /// The status in words that follow "is".
    pub fn in_words(self) -> &'static str {
        match self {
            Self::InProgress => "in progress",
            Self::Review => "in review",
            other => other.as_str(),
        }
    }
}

/// When a task may start, by the outcomes of its dependencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TriggerRule {
    /// All succeeded. Branches not taken do not count, but at least one task must have succeeded.
    #[default]
    AllSuccess,
    /// All are finished, with any outcome.
    AllDone,
    /// One succeeded; the others need not be finished.
    OneSuccess,
    /// One failed; the others need not be finished.
    OneFailed,
    /// All are finished and none failed.
    NoneFailed,
    /// All are finished, none failed and one succeeded.
    NoneFailedMinOneSuccess,
}

/// What happens to other tasks when a task has failed and will not be retried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailurePolicy {
    /// Tasks that can no longer start because of it are cancelled.
    #[default]
    SkipDependents,
    /// All unfinished tasks are cancelled.
    FailFast,
    /// Tasks that depend on it continue as if it had succeeded.
    Continue,
}

/// Why a task was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CancelCause {
    /// Somebody asked for it.
    Requested,
    /// Another option was chosen.
    BranchNotTaken,
    /// A task that it depends on failed, or any task with the policy `fail_fast`. Retrying that task reopens this one.
    UpstreamFailed,
    /// A task that it depends on was cancelled. Older logs use `upstream_failed` for this, too.
    UpstreamCancelled,
    /// The board ended.
    BoardEnded,
}

impl CancelCause {
    pub fn is_upstream(self) -> bool {
        matches!(self, Self::UpstreamFailed | Self::UpstreamCancelled)
    }
}

/// The cancellation of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(from = "StoredCancellation")]
pub struct Cancellation {
    pub cause: CancelCause,
    /// The task whose failure or cancellation led to this one.
    pub caused_by: Option<TaskId>,
    /// Reason given by the person or agent that cancelled it.
    pub reason: Option<Arc<str>>,
}

/// Format 2 has `reason` for the cause, `cause` for the task and `comment` for the reason.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredCancellation {
    Format3 { cause: CancelCause, caused_by: Option<TaskId>, reason: Option<Arc<str>> },
    Format2 { reason: CancelCause, cause: Option<TaskId>, comment: Option<Arc<str>> },
}

impl From<StoredCancellation> for Cancellation {
    fn from(stored: StoredCancellation) -> Self {
        match stored {
            StoredCancellation::Format3 { cause, caused_by, reason } => Self { cause, caused_by, reason },
            StoredCancellation::Format2 { reason, cause, comment } => {
                Self { cause: reason, caused_by: cause, reason: comment }
            }
        }
    }
}

impl Cancellation {
    pub(super) fn new(cause: CancelCause, caused_by: Option<TaskId>) -> Self {
        Self { cause, caused_by, reason: None }
    }

    pub(super) fn requested(reason: Option<&str>) -> Self {
        Self { reason: reason.map(Into::into), ..Self::new(CancelCause::Requested, None) }
    }
}

/// Verdict of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    /// It is done.
    Approved,
    /// It needs rework, in a new attempt.
    NeedsRework,
    /// It failed.
    Rejected,
}
