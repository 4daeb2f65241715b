use clap::Args;

use crate::command_session::Session;
use crate::core_args::CoreArgument;
use crate::error::CliError;
use crate::search_args::{SearchArgs, Searched};

/// Search the entries of a core, best match first
///
/// `cork help memory search` says what a query finds. Forgotten entries are not searched.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core search house-rules 'when do we deploy?'
  cork core search agent:alice tea --limit 3 --json")]
pub(crate) struct Search {
    #[command(flatten)]
    core: CoreArgument,

    #[command(flatten)]
    search: SearchArgs,
}

impl Search {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        self.search.run(Searched::Core(self.core.open(session)?), session).await
    }
}
