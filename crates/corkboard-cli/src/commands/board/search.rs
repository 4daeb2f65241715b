use clap::Args;

use crate::command_session::Session;
use crate::error::CliError;
use crate::search_args::{SearchArgs, Searched};

/// Search tasks, decisions, discoveries, artifacts and choices, best match first
///
/// `cork help memory search` says what a query finds. `kind:` is task, decision, discovery, artifact or choice.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board search 'which hash do we use?'
  cork board search schema --limit 3 --json")]
pub(crate) struct Search {
    #[command(flatten)]
    search: SearchArgs,
}

impl Search {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        self.search.run(Searched::Board(session.open_board()?), session).await
    }
}
