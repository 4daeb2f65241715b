//! `cork notebook list`.

use clap::Args;

use crate::exit::Failure;
use crate::output::{Room, age, now, table};
use crate::session::Session;

/// List the agent's notebooks
#[derive(Args)]
#[command(after_help = "\
Example:
  cork notebook list")]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        let notebooks = session.agent.notebooks().await?;
        session.output.answer(&notebooks, || {
            if notebooks.is_empty() {
                return format!("{} has no notebooks", session.agent.agent_id());
            }
            let rows = notebooks.iter().map(|notebook| {
                let counts = [notebook.learnings.to_string(), notebook.snippets.to_string()];
                let [learnings, snippets] = counts;
                let updated = age(notebook.updated_at, now());
                [notebook.name.to_string(), notebook.version.to_string(), learnings, snippets, updated]
            });
            let header = [
                ("NOTEBOOK", Room::Rest),
                ("VERSION", Room::Whole),
                ("LEARNINGS", Room::Whole),
                ("SNIPPETS", Room::Whole),
                ("UPDATED", Room::Whole),
            ];
            table(header, rows)
        })
    }
}
