//! `cork memory list`.

use clap::Args;

use corkboard::EntryDocument;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::entry_table;
use crate::page::PageArguments;
use crate::scope_argument::{ScopeArgument, describe};

/// List entries, sorted by key
///
/// Long values are cut to the width of the terminal. In a pipe, only values of more than 8,000 characters are cut. A
/// scope's list has its own entries, not those of its parents.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory list
  cork memory list --prefix project/ --tag urgent
  cork memory list --keys | wc -l
  cork memory list --json")]
pub(crate) struct List {
    /// Only keys that start with this prefix
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,

    /// Only entries with this tag; repeatable, entries must have all of them
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    #[command(flatten)]
    scope: ScopeArgument,

    /// Print only the keys, one per line
    #[arg(long)]
    keys: bool,

    #[command(flatten)]
    page: PageArguments,
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let memory = self.scope.find(session).await?;
        let mut entries = memory.entries().await?;
        if let Some(prefix) = &self.prefix {
            entries.retain(|(key, _)| key.as_str().starts_with(prefix));
        }
        entries.retain(|(_, entry)| self.tags.iter().all(|wanted| entry.tags.iter().any(|tag| **tag == **wanted)));
        let page = self.page.of(entries, |(key, _)| key.to_string())?;
        if self.keys {
            let keys = page.map(|(key, _)| key.as_str());
            return match session.output.is_json() || !keys.items.is_empty() {
                true => session.output.list(&keys, || keys.items.join("\n")),
                false => Ok(()),
            };
        }
        let views = page.map(|(key, entry)| EntryDocument::new(key, entry));
        let is_filtered = self.prefix.is_some() || !self.tags.is_empty();
        session.output.list(&views, || match (views.items.is_empty(), is_filtered) {
            (false, _) => entry_table(&views.items),
            (true, true) => "no entries match".into(),
            (true, false) => format!("{} has no entries", describe(session, &memory)),
        })
    }
}
