//! New tasks, and edits of tasks.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{FailurePolicy, TaskRef, TriggerRule};

/// A new task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NewTask {
    /// Key by which other tasks of the same batch can depend on it.
    pub key: Option<String>,
    /// What to do, in one line.
    // A missing title is accepted here, and refused when the command is decided.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub title: String,
    /// What to do, in full.
    pub description: String,
    /// The tasks that it depends on.
    pub depends_on: Vec<TaskRef>,
    /// When it may start, by the outcomes of its dependencies.
    pub trigger_rule: TriggerRule,
    /// What happens to other tasks if it fails; default: the board's policy.
    pub on_failure: Option<FailurePolicy>,
    /// Tasks with a higher priority are claimed first.
    pub priority: i32,
    /// Estimated duration in minutes.
    #[cfg_attr(feature = "openapi", schema(maximum = 525600))]
    pub estimate_minutes: Option<u32>,
    /// Whether it must be reviewed before it is completed.
    pub needs_review: bool,
    /// How often it is retried automatically after a failure.
    #[cfg_attr(feature = "openapi", schema(maximum = 1000))]
    pub retry_limit: u32,
    /// Seconds before the first automatic retry; doubled for each further one.
    #[cfg_attr(feature = "openapi", schema(maximum = 86400))]
    pub retry_backoff_s: u32,
}

impl NewTask {
    /// The maximum of `estimate_minutes`: a year.
    pub const MOST_MINUTES: u64 = 525_600;
    /// The maximum of `retry_limit`.
    pub const MOST_RETRIES: u64 = 1_000;
    /// The maximum of `retry_backoff_s`, and of a delay that was doubled: a day.
    pub const MOST_BACKOFF_S: u64 = 86_400;

    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
}

/// Changes to a task. Missing fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TaskEdit {
    /// What to do, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to do, in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_rule: Option<TriggerRule>,
    /// What happens to other tasks if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<FailurePolicy>,
    /// Tasks with a higher priority are claimed first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Estimated duration in minutes; 0 removes the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 525600))]
    pub estimate_minutes: Option<u32>,
    /// Whether it must be reviewed before it is completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_review: Option<bool>,
    /// How often it is retried automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1000))]
    pub retry_limit: Option<u32>,
    /// Seconds before the first automatic retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 86400))]
    pub retry_backoff_s: Option<u32>,
}
