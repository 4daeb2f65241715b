use std::path::Path;

use clap::Args;
use corkboard::{LimitName, Limits};

use super::Name;
use crate::command_session::Session;
use crate::error::{CliError, say};
use crate::notebook_problems;
use crate::output::shown;
use crate::text_input::{expect_within, read_file_or_stdin};

/// Apply a text: all of it in one revision, or nothing
///
/// The text may have prose and code fences around it, as models answer. What is wrong with it is shown at its line.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook apply update.txt
  cork notebook apply - < answer.md
  cork notebook apply answer.md --ignore-unknown    # leave out ids that are not there")]
pub(crate) struct Apply {
    /// The text's file; - reads it from stdin
    file: String,

    #[command(flatten)]
    name: Name,

    /// Leave out ids that the notebook does not have, instead of changing nothing
    #[arg(long)]
    ignore_unknown: bool,

    /// Only if the notebook is at this version; 0: only if it was never written
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,

    /// A name for this request: sent again within a day, it has no second effect
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

/// The whole file, if it is a text of a size that may be applied.
fn read(file: &str) -> Result<String, CliError> {
    let allowed = Limits::default().command_bytes;
    let bytes = read_file_or_stdin(Path::new(file), allowed)
        .map_err(|error| CliError::invalid("file", format!("{file} cannot be read: {error}")))?;
    expect_within(LimitName::CommandBytes, bytes.len() as u64, allowed)?;
    String::from_utf8(bytes).map_err(|error| CliError::invalid("file", format!("{file} is not UTF-8 text: {error}")))
}
