use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use corkboard::json_error;
use corkboard::prompt::{UpdateOutcome, UpdateReport};

use crate::atomic_file::unreadable_file;
use crate::command_session::Session;
use crate::error::{CliError, say};
use crate::notebook_problems;
use crate::output::{count, one_line, shown};

/// Maximum size of a report, which has at most three answers of a megabyte each.
const REPORT_BYTES: u64 = 64 * 1024 * 1024;

/// Show the report of a model's update, or apply its last answer
///
/// `cork notebook update --report FILE` writes the report.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook review update.json
  cork notebook review update.json --apply --ignore-unknown
  cork notebook review update.json --answer > block.txt    # to edit and apply it")]
pub(crate) struct Review {
    /// Report file
    #[arg(value_name = "REPORT")]
    file: PathBuf,

    /// Apply the last answer, unless the notebook changed since the model saw it
    #[arg(long)]
    apply: bool,

    /// Apply the last answer even if the notebook has changed
    #[arg(long, requires = "apply")]
    anyway: bool,

    /// Skip IDs that the notebook does not have, instead of failing
    #[arg(long, requires = "apply")]
    ignore_unknown: bool,

    /// Print only the last answer
    #[arg(long, conflicts_with = "apply")]
    answer: bool,
}

impl Review {
    pub(crate) fn only_reads(&self) -> bool {
        !self.apply
    }

    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let report = read(&self.file)?;
        let none = || CliError::not_found("the report has no answer from the model");
        if self.answer {
            return session.output.raw(shown(report.last_answer().ok_or_else(none)?).as_bytes());
        }
        if !self.apply {
            return session.output.answer(&report, || full(&report));
        }
        let answer = report.last_answer().ok_or_else(none)?;
        if report.agent != session.agent.agent_id().as_str() {
            let message = format!("the report belongs to another agent: {}", one_line(&report.agent));
            return Err(CliError::invalid("agent_mismatch", message).hint("select this agent with --agent"));
        }
        let notebook = session.agent.notebook(&report.notebook)?;
        let mut apply = notebook.apply(answer);
        if !self.anyway {
            apply = apply.if_version(report.version_before);
        }
        if self.ignore_unknown {
            apply = apply.ignore_unknown();
        }
        let applied = apply.await?;
        if !applied.warnings.is_empty() && !session.output.is_json() {
            say(&notebook_problems::render(&applied.warnings));
        }
        session.output.answer(&applied, || match applied.changed {
            true => shown(applied.changes.to_string().trim_end()),
            false => "nothing to change".into(),
        })
    }
}

fn read(path: &Path) -> Result<UpdateReport, CliError> {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(REPORT_BYTES).read_to_end(&mut bytes));
    file.map_err(|error| unreadable_file(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        CliError::invalid(
            "not_a_report",
            format!("{} is not an update report: {}", path.display(), json_error::describe("it", &bytes, &error)),
        )
    })
}

pub(super) fn summary(report: &UpdateReport) -> String {
    let outcome = match &report.outcome {
        UpdateOutcome::Applied => match report.version {
            Some(version) => format!("applied as revision {version}"),
            None => "applied".into(),
        },
        UpdateOutcome::Unchanged => "nothing to change".into(),
        UpdateOutcome::DryRun => "not applied (dry run); it would change:".into(),
        UpdateOutcome::Refused => "no valid answer; nothing was changed".into(),
        UpdateOutcome::ModelFailed { message, .. } => format!("{}; nothing was changed", one_line(message)),
        _ => "unknown".into(),
    };
    let mut lines = vec![outcome];
    lines.extend(report.changes.iter().map(|change| format!("  {}", one_line(change))));
    if !report.left_out.is_empty() {
        lines.push(format!("shortened in the prompt or left out: {}", one_line(&report.left_out.join(", "))));
    }
    if !report.skipped.is_empty() {
        lines.push(format!(
            "skipped, because the notebook does not have them: {}",
            one_line(&report.skipped.join(", "))
        ));
    }
    let asked = count(report.attempts.len() as u64, "attempt", "attempts");
    let UpdateReport { model, input_tokens, output_tokens, .. } = report;
    lines.push(format!("{}: {asked}, {input_tokens} tokens in, {output_tokens} out", one_line(model)));
    lines.join("\n")
}

pub(super) fn attempts(report: &UpdateReport) -> String {
    let attempts = report.attempts.iter().enumerate().map(|(at, attempt)| {
        let mut lines = vec![format!("attempt {}:", at + 1)];
        if attempt.problems.is_empty() {
            lines.push("  no problem".into());
        }
        for problem in &attempt.problems {
            lines.push(format!("  {}", one_line(&problem.to_string())));
            if !problem.excerpt.trim().is_empty() {
                lines.push(format!("    | {}", one_line(problem.excerpt.trim_end())));
            }
        }
        lines.join("\n")
    });
    attempts.collect::<Vec<_>>().join("\n")
}

fn full(report: &UpdateReport) -> String {
    let mut text = format!("notebook {} of {}", one_line(&report.notebook), one_line(&report.agent));
    if let Some(task) = &report.task {
        text += &format!("\ntask: {}", one_line(task));
    }
    text += &format!("\n{}\n{}", summary(report), attempts(report));
    if let Some(answer) = report.last_answer() {
        text += &format!("\nlast answer:\n{}", shown(answer.trim_end()));
    }
    text
}
