use std::path::Path;

use clap::Args;
use corkboard::{LimitName, Limits};

use super::Name;
use crate::command_session::Session;
use crate::error::{CliError, say};
use crate::notebook_problems;
use crate::output::shown;
use crate::text_input::{expect_within, read_file_or_stdin};

/// Apply an update: all of it in one revision, or nothing
///
/// The update can be surrounded by prose and code fences, as in models' answers. Errors are shown with their lines.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook apply update.txt
  cork notebook apply - < answer.md
  cork notebook apply answer.md --ignore-unknown    # skip unknown IDs")]
pub(crate) struct Apply {
    /// File with the update; - reads stdin
    file: String,

    #[command(flatten)]
    name: Name,

    /// Skip IDs that the notebook does not have, instead of failing
    #[arg(long)]
    ignore_unknown: bool,

    /// Apply only if the notebook is at this version; 0: if it was never written
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,

    /// Idempotency key; a repeat within 24 hours has no further effect
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
}

impl Apply {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let handle = self.name.open(session)?;
        let text = read(&self.file)?;
        let mut apply = handle.apply(&text);
        if self.ignore_unknown {
            apply = apply.ignore_unknown();
        }
        if let Some(version) = self.if_version {
            apply = apply.if_version(version);
        }
        if let Some(key) = self.idempotency_key {
            apply = apply.idempotency_key(key);
        }
        let applied = apply.await?;
        if !applied.warnings.is_empty() && !session.output.is_json() {
            say(&notebook_problems::render(&applied.warnings));
        }
        session.output.answer(&applied, || shown(applied.changes.to_string().trim_end()))
    }
}

/// Reads the file, which must be UTF-8 text within the size limit.
fn read(file: &str) -> Result<String, CliError> {
    let allowed = Limits::default().command_bytes;
    let bytes = read_file_or_stdin(Path::new(file), allowed)
        .map_err(|error| CliError::invalid("file", format!("cannot read {file}: {error}")))?;
    expect_within(LimitName::CommandBytes, bytes.len() as u64, allowed)?;
    String::from_utf8(bytes).map_err(|error| CliError::invalid("file", format!("{file} is not UTF-8 text: {error}")))
}
