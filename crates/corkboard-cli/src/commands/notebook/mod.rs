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

/// Keep progress, key learnings and verbatim snippets of a task
///
/// Updates are texts that a model can write; docs/notebook.md in the source repository describes the
/// language.
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

/// Selects one of the agent's notebooks.
#[derive(Args)]
struct Name {
    /// Name of the notebook
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

/// Reads a transcript from a file or stdin. Invalid UTF-8 is replaced, which is good enough for a model.
fn transcript(path: &Path) -> Result<String, CliError> {
    const MOST_BYTES: u64 = 64 * 1024 * 1024;
    let bytes = read_file_or_stdin(path, MOST_BYTES)
        .map_err(|error| CliError::invalid("transcript", format!("cannot read {}: {error}", path.display())))?;
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("the transcript has more than {MOST_BYTES} bytes");
        return Err(CliError::invalid("transcript", message).hint("pass only its end: `tail -c 1000000 FILE`"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
