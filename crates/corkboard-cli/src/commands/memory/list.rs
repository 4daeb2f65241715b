//! `cork memory list`.

use clap::Args;

use corkboard::EntryDocument;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::entry_table;
use crate::scope_argument::{ScopeArgument, describe};

/// List entries by key, with their values
///
/// What is long is cut to the width of the terminal; in a pipe, only values of more than 8,000 characters are. A scope's list has its own entries, not those of its parents.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory list
  cork memory list --prefix project/ --tag urgent
  cork memory list --keys | wc -l
  cork memory list --json")]
pub(crate) struct List {
    /// Only keys that begin so
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,

    /// Only entries with this tag; given many times, with all of them
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    #[command(flatten)]
    scope: ScopeArgument,

    /// Print the keys alone, one on a line
    #[arg(long)]
    keys: bool,
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let memory = self.scope.find(session).await?;
        let mut entries = memory.entries().await?;
        if let Some(prefix) = &self.prefix {
            entries.retain(|(key, _)| key.as_str().starts_with(prefix));
        }
        entries.retain(|(_, entry)| self.tags.iter().all(|wanted| entry.tags.iter().any(|tag| **tag == **wanted)));
        if self.keys {
            let keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
            return match session.output.is_json() || !keys.is_empty() {
                true => session.output.answer(&keys, || keys.join("\n")),
                false => Ok(()),
            };
        }
        let views: Vec<_> = entries.iter().map(|(key, entry)| EntryDocument::new(key, entry)).collect();
        let is_filtered = self.prefix.is_some() || !self.tags.is_empty();
        session.output.answer(&views, || match (views.is_empty(), is_filtered) {
            (false, _) => entry_table(&views),
            (true, true) => "no such entries".into(),
            (true, false) => format!("{} has no entries", describe(session, &memory)),
        })
    }
}
