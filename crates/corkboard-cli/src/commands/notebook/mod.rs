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

use clap::{Args, Subcommand};
use corkboard::AgentNotebook;
use corkboard::notebook::Notebook as State;

use crate::exit::Failure;
use crate::input::name_argument;
use crate::session::Session;

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
    fn open(&self, session: &Session) -> Result<AgentNotebook, Failure> {
        Ok(session.agent.notebook(&self.name)?)
    }
}

impl Notebook {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Show(show) => show.run(session).await,
            Self::Apply(apply) => apply.run(session).await,
            Self::History(history) => history.run(session).await,
            Self::Diff(diff) => diff.run(session).await,
            Self::Restore(restore) => restore.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Forget(forget) => forget.run(session).await,
            Self::Prompt(prompt) => prompt.run(session).await,
            #[cfg(feature = "model")]
            Self::Update(update) => update.run(session).await,
            Self::Review(review) => review.run(session).await,
        }
    }
}
