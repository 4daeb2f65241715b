use std::path::PathBuf;

use clap::Args;
use corkboard::model::{Model, ModelConfig};
use corkboard::prompt::{UpdateOutcome, UpdateReport, UpdateRequest};

use super::review::{attempts, summary};
use super::{Name, transcript};
use crate::atomic_file::{AtomicFile, Existing};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::one_line;

/// Update a notebook with a model
///
/// Sends the prompt of `cork notebook prompt` to a model, then checks the model's answer. If the answer has errors, the model
/// gets up to two more attempts, with the errors quoted. After the last attempt, changes that name unknown item IDs are
/// skipped; with any other error, nothing is changed. The prompt stays within --budget, and the report lists what was left
/// out.
///
/// CORK_MODEL_URL is the URL of the model's server, if not the provider's. CORK_MODEL_KEY_ENV names the variable with the
/// API key, if not OPENAI_API_KEY or ANTHROPIC_API_KEY. docs/models.md in the source repository has more.
#[derive(Args)]
#[command(after_help = "\
Examples:
  CORK_MODEL=anthropic:MODEL cork notebook update --task 'Fix the CSV import'
  cork notebook update --model openai:MODEL --transcript session.log
  cork notebook update --model openai:MODEL --task 'Fix it' --dry-run --report update.json
  cork notebook review update.json --apply")]
pub(crate) struct Update {
    #[command(flatten)]
    name: Name,

    /// Current task
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    /// File with what happened since the last update; - reads stdin. If it is too long, only its end is used
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,

    /// Model: openai:NAME (also for OpenAI-compatible servers) or anthropic:NAME
    #[arg(long, value_name = "MODEL", env = ModelConfig::MODEL_VARIABLE, hide_env_values = true)]
    model: Option<String>,

    /// Maximum number of tokens of the prompt [default: 8000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// Maximum number of tokens of an answer [default: 4096]
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,

    /// Only show what would change
    #[arg(long)]
    dry_run: bool,

    /// Write a report to this file: all answers, their errors and the changes
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Overwrite an existing report
    #[arg(long, requires = "report")]
    force: bool,
}

impl Update {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let notebook = self.name.open(session)?;
        let variable = |name: &str| match name {
            ModelConfig::MODEL_VARIABLE => self.model.clone(),
            name => std::env::var(name).ok(),
        };
        let model = ModelConfig::from_variables(variable).and_then(ModelConfig::build)?;
        // Create the report file first, so that no paid answer is lost for lack of a place.
        let existing = Existing::from_flag(self.force);
        let file = self.report.as_deref().map(|path| AtomicFile::create(path, existing)).transpose()?;
        let mut request = UpdateRequest::new();
        request.transcript = self.transcript.as_deref().map(transcript).transpose()?;
        (request.task, request.budget, request.max_tokens) = (self.task, self.budget, self.max_tokens);
        if self.dry_run {
            request = request.dry_run();
        }
        let report = notebook.update(&*model as &dyn Model, request).await?;
        if let Some(file) = file {
            let json = serde_json::to_vec_pretty(&report).map_err(|error| CliError::Output(error.into()))?;
            file.write(&json)?;
        }
        match failure(&report, self.report.is_some()) {
            Some(failure) => Err(failure),
            None => session.output.answer(&report, || summary(&report)),
        }
    }
}

fn failure(report: &UpdateReport, is_kept: bool) -> Option<CliError> {
    let (code, kind) = report.failure()?;
    let message = match &report.outcome {
        UpdateOutcome::ModelFailed { message, .. } => format!("{}; nothing was changed", one_line(message)),
        _ => format!("no valid answer from {}; nothing was changed\n{}", one_line(&report.model), attempts(report)),
    };
    let hint = match is_kept {
        true => "show the answers, or apply the last one, with `cork notebook review FILE`",
        false => "keep the answers with --report FILE, to review and apply them by hand",
    };
    Some(CliError::Own { code, kind, message, hint: (!report.attempts.is_empty()).then(|| hint.into()) })
}
