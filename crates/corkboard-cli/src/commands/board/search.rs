use clap::Args;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::json_object;
use crate::search_args::{SearchArgs, hit_table};

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
        let board = session.open_board()?;
        let hits = self.search.apply(board.search(&self.search.query)).await?;
        session.output.answer(&json_object! { hits: &hits }, || match hits.is_empty() {
            true => "no matches".into(),
            false => hit_table(&hits),
        })
    }
}
