//! `cork memory search`.

use clap::Args;

use crate::command_session::Session;
use crate::error::CliError;
use crate::search_args::{SearchArgs, Searched};

/// Search entries and notes, best match first
///
/// Finds entries and notes that contain any of the words, that mean nearly the same, or that were written on a date or by an
/// author in the query. Ignores word endings and common words (the, when, did). Entries with the same --session raise each
/// other's score. Searches the agent's memory, its durable scopes and its notebooks. Quote a phrase to require it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory search \"when do we deploy?\"
  cork memory search login --limit 3
  cork memory search 'tag:work before:2026-06 \"rate limit\"' --explain
  cork memory search \"rate limit\" --json | jq -r '.hits[].key'")]
pub(crate) struct Search {
    #[command(flatten)]
    search: SearchArgs,
}

impl Search {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        self.search.run(Searched::Agent(&session.agent), session).await
    }
}
