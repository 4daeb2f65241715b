//! `cork notebook`: progress, key learnings and verbatim context.

mod apply;
mod diff;
mod forget;
mod history;
mod list;
mod prompt;
mod restore;
mod review;
mod show;
#[cfg(feature = "model")]
mod update;

use std::path::Path;

use clap::{Args, Subcommand};
use corkboard::AgentNotebook;
use corkboard::notebook::Notebook as State;

use super::{CommandFuture, run_subcommand};
use crate::command_session::Session;
use crate::error::CliError;
use crate::text_input::read_file_or_stdin;
use crate::value_parsers::name_argument;

/// Keep the progress of a task, what was learned, and what is needed word for word
///
/// A notebook is updated by texts such as models write: docs/notebook.md shows the language.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork notebook apply update.txt
  cork notebook show
  cork notebook update --task 'Fix the CSV import'
  cork notebook history
  cork notebook diff 3 7
  cork notebook restore 3")]
pub(crate) enum Notebook {
    Show(show::Show),
    Apply(apply::Apply),
    History(history::History),
    Diff(diff::Diff),
    Restore(restore::Restore),
    List(list::List),
    Forget(forget::Forget),
    Prompt(prompt::Prompt),
    #[cfg(feature = "model")]
    Update(update::Update),
    Review(review::Review),
}

/// Which notebook.
#[derive(Args)]
struct Name {
    /// Which of the agent's notebooks
    #[arg(long, value_name = "NAME", default_value = State::MAIN, value_parser = name_argument)]
    name: String,
}

impl Name {
    fn open(&self, session: &Session) -> Result<AgentNotebook, CliError> {
        Ok(session.agent.notebook(&self.name)?)
    }
}

impl Notebook {
    pub(crate) fn run(self, session: &Session) -> CommandFuture<'_> {
        run_subcommand!(
            self,
            session,
            [
                Show,
                Apply,
                History,
                Diff,
                Restore,
                List,
                Forget,
                Prompt,
                #[cfg(feature = "model")]
                Update,
                Review
            ]
        )
    }
}

/// Reads a transcript: a file, or stdin. It is text for a model, so that bytes that are not UTF-8 are replaced.
fn transcript(path: &Path) -> Result<String, CliError> {
    const MOST_BYTES: u64 = 64 * 1024 * 1024;
    let bytes = read_file_or_stdin(path, MOST_BYTES)
        .map_err(|error| CliError::invalid("transcript", format!("cannot read {}: {error}", path.display())))?;
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("the transcript has more than {MOST_BYTES} bytes");
        return Err(CliError::invalid("transcript", message).hint("its end is enough: `tail -c 1000000 FILE`"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
