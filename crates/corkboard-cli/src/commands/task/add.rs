use std::path::PathBuf;

use clap::Args;
use corkboard::boards::{FailurePolicy, NewTask, TaskId, TriggerRule};

use super::batch;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::json_object;
use crate::text_input::text_or_stdin;
use crate::value_parsers::{failure_policy, text_argument, trigger_rule};

/// Add a task, or several at once
///
/// Prints the new IDs. A batch is added completely in one revision or not at all. Its tasks can refer to each other by `key`:
///
///   {"key": "schema", "title": "Write the schema"}
///   {"key": "routes", "title": "Write the routes", "depends_on": ["schema"], "needs_review": true}
///   {"question": "Which?", "options": [{"name": "a", "tasks": ["schema"]}, {"name": "b", "tasks": ["T-4"]}]}
///
/// A batch can also be an array of tasks, or {"tasks": […], "choices": […]}.
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  cork task add 'Write the schema'
  cork task add 'Write the routes' --depends-on T-1 --needs-review --priority 5
  cork task add 'Say what went wrong' --depends-on T-1,T-2 --trigger-rule one_failed
  cork task add --from plan.jsonl
  cork task add 'Ship it' --retry-limit 2 --retry-backoff-s 30 --idempotency-key ship"
)]
pub(crate) struct Add {
    /// Title, one line
    #[arg(required_unless_present = "from", conflicts_with = "from", value_parser = text_argument, allow_hyphen_values = true)]
    title: Option<String>,

    /// Description; - reads stdin
    #[arg(long, short, value_name = "TEXT", conflicts_with = "from")]
    description: Option<String>,

    /// Tasks that this one waits for
    #[arg(long, alias = "after", value_name = "TASK", value_delimiter = ',', conflicts_with = "from")]
    depends_on: Vec<TaskId>,

    /// When the task may start, depending on the tasks it waits for [default: all_success]
    #[arg(long, alias = "rule", value_name = "RULE", conflicts_with = "from", value_parser = trigger_rule())]
    trigger_rule: Option<TriggerRule>,

    /// What to do if the task fails [default: the board's policy]
    #[arg(long, value_name = "POLICY", conflicts_with = "from", value_parser = failure_policy())]
    on_failure: Option<FailurePolicy>,

    /// Priority; higher ones are claimed first
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_negative_numbers = true, conflicts_with = "from")]
    priority: i32,

    /// Estimate in minutes
    #[arg(long, alias = "estimate", value_name = "MINUTES", conflicts_with = "from")]
    estimate_minutes: Option<u32>,

    /// Require a review before the task is completed
    #[arg(long, alias = "review", conflicts_with = "from")]
    needs_review: bool,

    /// Number of automatic retries after a failure
    #[arg(long, alias = "retries", value_name = "NUMBER", default_value_t = 0, conflicts_with = "from")]
    retry_limit: u32,

    /// Delay before the first retry; it doubles with each retry
    #[arg(long, alias = "backoff", value_name = "SECONDS", default_value_t = 0, conflicts_with = "from")]
    retry_backoff_s: u32,

    /// Read tasks and choices from a file of JSON or JSON lines; - reads stdin
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Add {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        match &self.from {
            Some(file) => {
                let batch = batch::read(file)?;
                let (tasks, choices) = board.add_tasks(batch.tasks, batch.choices).await?;
                session.output.answer(&json_object! { tasks: &tasks, choices: &choices }, || {
                    let ids = tasks.iter().map(ToString::to_string).chain(choices.iter().map(ToString::to_string));
                    ids.collect::<Vec<_>>().join("\n")
                })
            }
            None => {
                let id = board.add_task(self.into_task()?).await?;
                session.output.answer(&json_object! { id }, || id.to_string())
            }
        }
    }

    fn into_task(self) -> Result<NewTask, CliError> {
        Ok(NewTask {
            key: None,
            title: self.title.unwrap_or_default(),
            description: self.description.map(text_or_stdin).transpose()?.unwrap_or_default(),
            depends_on: self.depends_on.into_iter().map(Into::into).collect(),
            trigger_rule: self.trigger_rule.unwrap_or_default(),
            on_failure: self.on_failure,
            priority: self.priority,
            estimate_minutes: self.estimate_minutes,
            needs_review: self.needs_review,
            retry_limit: self.retry_limit,
            retry_backoff_s: self.retry_backoff_s,
        })
    }
}
