use clap::Args;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Rest, age, now, table};
use crate::page::Page;

/// List the agent's notebooks
#[derive(Args)]
#[command(after_help = "\
Example:
  cork notebook list")]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let page = Page::whole(session.agent.notebooks().await?);
        session.output.list(&page, || {
            let notebooks = &page.items;
            if notebooks.is_empty() {
                return format!("{} has no notebooks", session.agent.agent_id());
            }
            let rows = notebooks.iter().map(|notebook| {
                let counts = [notebook.learnings.to_string(), notebook.snippets.to_string()];
                let [learnings, snippets] = counts;
                let updated = age(notebook.updated_at, now());
                [notebook.name.to_string(), notebook.version.to_string(), learnings, snippets, updated]
            });
            let header =
                [("NOTEBOOK", Rest), ("VERSION", Fit), ("LEARNINGS", Fit), ("SNIPPETS", Fit), ("UPDATED", Fit)];
            table(header, rows)
        })
    }
}
