use clap::Args;

use crate::command_session::Session;
use crate::core_args::CoreArgument;
use crate::core_view::emptiness;
use crate::error::CliError;
use crate::output::json_object;
use crate::search_args::{SearchArgs, hit_table};

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
        let core = self.core.open(session)?;
        let hits = self.search.apply(core.search(&self.search.query)).await?;
        let empty = if hits.is_empty() { emptiness(&core).await? } else { None };
        session.output.answer(&json_object! { hits: &hits }, || match hits.is_empty() {
            true => empty.unwrap_or_else(|| "no matches".into()),
            false => hit_table(&hits),
        })
    }
}
