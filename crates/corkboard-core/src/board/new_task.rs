//! A task to be added, and what is to change about one.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{FailurePolicy, TaskRef, TriggerRule};

/// A task to be added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NewTask {
    /// The name by which others of the same batch depend on it.
    pub key: Option<String>,
    /// What is to be done, in a line.
    // One without is read, and refused.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub title: String,
    /// What is to be done, in full.
    pub description: String,
    /// What must be finished first.
    pub depends_on: Vec<TaskRef>,
    /// When it may begin, by what became of those.
    pub trigger_rule: TriggerRule,
    /// What becomes of the board if it fails; none: what the board says.
    pub on_failure: Option<FailurePolicy>,
    /// Higher ones are claimed first.
    pub priority: i32,
    /// How many minutes it should take.
    pub estimate_minutes: Option<u32>,
    /// Whether somebody is to look at it before it is completed.
    pub needs_review: bool,
    /// How often it is tried again by itself after a failure.
    pub retry_limit: u32,
    /// How many seconds pass before the first of these; twice as many before each further one.
    pub retry_backoff_s: u32,
}

impl NewTask {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
}

/// What is to change about a task. What is none stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct TaskEdit {
    /// What is to be done, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What is to be done, in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// When it may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_rule: Option<TriggerRule>,
    /// What becomes of the board if it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<FailurePolicy>,
    /// Higher ones are claimed first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// How many minutes it should take; 0 takes the estimate away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate_minutes: Option<u32>,
    /// Whether somebody is to look at it before it is completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_review: Option<bool>,
    /// How often it is tried again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_limit: Option<u32>,
    /// How many seconds pass before the first of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_backoff_s: Option<u32>,
}
