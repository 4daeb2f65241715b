use clap::Args;
use corkboard::boards::{BoardState, FailurePolicy, Task, TaskId, TriggerRule};

use crate::board_args::RevisionArgument;
use crate::board_view::{ids, remark, written};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{count, fields, one_line, shown, time};

/// Show a task in full
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork task show T-1
  cork task show T-1 --json")]
pub(crate) struct Show {
    /// Task ID, such as T-1
    task: TaskId,

    #[command(flatten)]
    moment: RevisionArgument,
}

impl Show {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let view = self.moment.view(&session.open_board()?).await?;
        let task = view.task(self.task)?;
        session.output.answer(&view.task_document(task), || text(view.state(), task))
    }
}

fn text(state: &BoardState, task: &Task) -> String {
    let remark = remark(state, task);
    let status = match remark.is_empty() || task.result.is_some() {
        true => task.status.to_string(),
        false => format!("{} ({remark})", task.status),
    };
    let mut rows = vec![("task", task.id.to_string()), ("title", one_line(&task.title)), ("status", status)];
    let mut row = |name: &'static str, value: Option<String>| rows.extend(value.map(|value| (name, value)));
    let agent = |agent: &corkboard::AgentId| one_line(agent.as_str());
    row("who", task.assigned_to.as_ref().map(agent));
    row("held until", task.claim.as_ref().map(|claim| format!("{} (epoch {})", time(claim.deadline), claim.epoch)));
    let blocks: Vec<TaskId> = state.blocks(task.id).collect();
    row("depends on", (!task.depends_on.is_empty()).then(|| ids(&task.depends_on)));
    row("blocks", (!blocks.is_empty()).then(|| ids(&blocks)));
    row("begins when", (task.trigger_rule != TriggerRule::AllSuccess).then(|| written(&task.trigger_rule)));
    row("on failure", (task.on_failure != FailurePolicy::SkipDependents).then(|| written(&task.on_failure)));
    row("choice", task.choice.map(|choice| choice.to_string()));
    row("priority", (task.priority != 0).then(|| task.priority.to_string()));
    row("estimate", task.estimate_minutes.map(|minutes| count(minutes.into(), "minute", "minutes")));
    row("attempts", (task.attempt > 0).then(|| task.attempt.to_string()));
    let retries = || format!("{}, after {} s", count(task.retry_limit.into(), "time", "times"), task.retry_backoff_s);
    row("retried", (task.retry_limit > 0).then(retries));
    row("last failure", task.failure.as_deref().map(one_line));
    let reviewer = task.reviewer.as_ref().map_or_else(|| "needed".into(), |reviewer| format!("by {}", agent(reviewer)));
    row("review", (task.needs_review || task.reviewer.is_some()).then_some(reviewer));
    row(
        "reviewed",
        task.review_verdict.as_ref().map(|verdict| {
            let by = task.reviewed_by.as_deref().map_or_else(String::new, |by| format!(" by {}", one_line(by)));
            let said = task.review_comment.as_deref().map_or_else(String::new, |said| format!(": {}", one_line(said)));
            format!("{}{by}{said}", written(verdict))
        }),
    );
    let mark = task.result.as_ref().map_or("", |result| result.trust().mark());
    row("result", task.result.as_ref().map(|result| format!("{mark}{}", one_line(&result.summary))));
    for step in task.result.iter().flat_map(|result| &result.next_steps) {
        row("next", Some(format!("{mark}{}", one_line(step))));
    }
    row("added", Some(format!("{} by {}", time(task.created_at), one_line(&task.created_by))));
    row("version", Some(task.version.to_string()));
    match task.description.is_empty() {
        true => fields(&rows),
        false => format!("{}\n\n{}", fields(&rows), shown(&task.description)),
    }
}
