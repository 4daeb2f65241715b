use clap::{ArgGroup, Args};
use corkboard::boards::{FailurePolicy, TaskEdit, TaskId, TriggerRule};

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::json_object;
use crate::text_input::text_or_stdin;
use crate::value_parsers::{failure_policy, trigger_rule};

/// Change a task's title, description, priority or rules
#[derive(Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true), after_help = "\
Examples:
  cork task edit T-1 --title 'Write and test the schema'
  cork task edit T-1 --priority 10 --if-version 3    # fails if someone else changed it
  cork task edit T-1 --needs-review true --estimate-minutes 0")]
pub(crate) struct Edit {
    /// Task ID, such as T-1
    task: TaskId,

    /// Title, one line
    #[arg(long, value_name = "TEXT", group = "change")]
    title: Option<String>,

    /// Description; - reads stdin
    #[arg(long, short, value_name = "TEXT", group = "change")]
    description: Option<String>,

    /// When the task may start, depending on the tasks it waits for
    #[arg(long, alias = "rule", value_name = "RULE", group = "change", value_parser = trigger_rule())]
    trigger_rule: Option<TriggerRule>,

    /// What to do if the task fails
    #[arg(long, value_name = "POLICY", group = "change", value_parser = failure_policy())]
    on_failure: Option<FailurePolicy>,

    /// Priority; higher ones are claimed first
    #[arg(long, value_name = "NUMBER", group = "change", allow_negative_numbers = true)]
    priority: Option<i32>,

    /// Estimate in minutes; 0 removes it
    #[arg(long, alias = "estimate", value_name = "MINUTES", group = "change")]
    estimate_minutes: Option<u32>,

    /// Whether a review is required before the task is completed
    #[arg(long, alias = "review", value_name = "true|false", group = "change")]
    needs_review: Option<bool>,

    /// Number of automatic retries after a failure
    #[arg(long, alias = "retries", value_name = "NUMBER", group = "change")]
    retry_limit: Option<u32>,

    /// Delay before the first retry; it doubles with each retry
    #[arg(long, alias = "backoff", value_name = "SECONDS", group = "change")]
    retry_backoff_s: Option<u32>,

    /// Edit only if the task is at this version
    #[arg(long, value_name = "VERSION", help_heading = "Conditions")]
    if_version: Option<u64>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Edit {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let edit = TaskEdit {
            title: self.title,
            description: self.description.map(text_or_stdin).transpose()?,
            trigger_rule: self.trigger_rule,
            on_failure: self.on_failure,
            priority: self.priority,
            estimate_minutes: self.estimate_minutes,
            needs_review: self.needs_review,
            retry_limit: self.retry_limit,
            retry_backoff_s: self.retry_backoff_s,
        };
        let task = self.task;
        let version = board.edit_task(task, edit, self.if_version).await?;
        session.output.answer(&json_object! { id: task, version }, || format!("{task} is at version {version}"))
    }
}
