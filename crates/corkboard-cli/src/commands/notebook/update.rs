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

/// Let a model bring a notebook up to date
///
/// The model is told what `cork notebook prompt` prints, with the transcript if there is one. The prompt stays within --budget;
/// the report says what was left out. Its answer is checked; if something is wrong with it, the model is
/// asked again with the problems quoted, twice at most. Then ids that the notebook does not have are left out; with any
/// other problem nothing is changed.
///
/// CORK_MODEL_URL says where the model's server is, if not at its provider; CORK_MODEL_KEY_ENV names the variable that holds
/// the key, if that is not OPENAI_API_KEY or ANTHROPIC_API_KEY. docs/models.md has the rest.
#[derive(Args)]
#[command(after_help = "\
Examples:
  CORK_MODEL=anthropic:MODEL cork notebook update --task 'Fix the CSV import'
  cork notebook update --model openai:MODEL --transcript session.log
  cork notebook update --model openai:MODEL --task 'Fix the CSV import' --dry-run --report update.json
  cork notebook review update.json --apply")]
pub(crate) struct Update {
    #[command(flatten)]
    name: Name,

    /// What is being worked on
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    /// What happened since the last update: a file of text, or - for stdin. If it is too long, its end is kept
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,

    /// The model: openai:NAME, also for servers that speak the same, or anthropic:NAME
    #[arg(long, value_name = "MODEL", env = ModelConfig::MODEL_VARIABLE)]
    model: Option<String>,

    /// How many tokens the prompt may have [default: 8000]
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// How many tokens an answer may have [default: 4096]
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,

    /// Change nothing; only say what would change
    #[arg(long)]
    dry_run: bool,

    /// Keep the report in a file: every answer, what was wrong with it, what changed
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Replace the report's file if it is there already
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
        // What costs money is not asked for if there is no place for it.
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
        _ => format!("no answer of {} was right; nothing was changed\n{}", one_line(&report.model), attempts(report)),
    };
    let hint = match is_kept {
        true => "`cork notebook review FILE` shows the report's answers, and applies the last one by hand",
        false => "with --report FILE the answers are kept, to be looked at and applied by hand",
    };
    Some(CliError::Own { code, kind, message, hint: (!report.attempts.is_empty()).then(|| hint.into()) })
}
