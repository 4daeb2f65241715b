//! `cork search`.

mod reindex;
mod spaces;
mod status;

use clap::{Args, Subcommand};
pub(super) use reindex::reindexed;

use crate::args::Global;
use crate::command_session::Session;
use crate::error::CliError;
use crate::search_args::{SearchArgs, Searched};

/// Search an agent's memory, a board or a memory core
///
/// Searches the agent's memory, with its notebooks and the scopes made by `cork scope create`. With --board (CORK_BOARD is
/// ignored here) or --core, searches that board or memory core. `cork help memory search` says what a query finds. To
/// search for the word status or reindex, put -- before it.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  cork search 'when do we deploy?'
  cork search 'rate limit' --board launch --limit 3
  cork search tea --core agent:alice --json
  cork search status"
)]
pub(crate) struct SearchCommand {
    #[command(subcommand)]
    command: Option<SearchSubcommand>,

    #[command(flatten)]
    search: SearchArgs,

    /// Memory core to search; agent:NAME is the long-term memory of agent NAME
    #[arg(long, value_name = "NAME")]
    core: Option<String>,
}

#[derive(Subcommand)]
enum SearchSubcommand {
    Status(status::Status),
    Reindex(reindex::Reindex),
}

impl SearchCommand {
    pub(crate) async fn run(self, session: &Session, global: &Global) -> Result<(), CliError> {
        match self.command {
            Some(SearchSubcommand::Status(status)) => return status.run(session, global).await,
            Some(SearchSubcommand::Reindex(reindex)) => return reindex.run(session, global).await,
            None => {}
        }
        let searched = match (global.flagged_board(), &self.core) {
            (Some(_), Some(_)) => return Err(spaces::several()),
            (Some(board), None) => Searched::Board(session.board_named(board)?),
            (None, Some(core)) => Searched::Core(session.core_named(core)?),
            (None, None) => Searched::Agent(&session.agent),
        };
        self.search.run(searched, session).await
    }
}
