use clap::Args;
use corkboard::embed::VectorStatus;
use serde::Serialize;

use super::spaces::SpacesArgument;
use crate::args::Global;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Rest, json_object, one_line, table};

/// Show the embedding model, and how many entries have no vector yet
///
/// Without --board, --core or --all, shows the agent's memory. A server computes missing vectors in the background. Without a
/// server, `cork search reindex --missing` computes them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork search status
  cork search status --all --json")]
pub(super) struct Status {
    #[command(flatten)]
    spaces: SpacesArgument,
}

/// A space and the state of its vectors.
#[derive(Serialize)]
struct Row {
    space: String,
    #[serde(flatten)]
    status: VectorStatus,
}

impl Status {
    pub(super) async fn run(self, session: &Session, global: &Global) -> Result<(), CliError> {
        let mut rows = Vec::new();
        for log in self.spaces.open(session, global).await? {
            rows.push(Row { space: log.id().to_string(), status: log.vector_status().await? });
        }
        session.output.answer(&json_object! { items: &rows, next: None::<String> }, || text(&rows))
    }
}

fn text(rows: &[Row]) -> String {
    let Some(model) = rows.first().map(|row| &row.status.model) else { return "nothing to search".into() };
    let Some(model) = model else {
        return "no embedding model is configured: searches use the built-in model".into();
    };
    let cells = rows.iter().map(|row| {
        let problem = row.status.problem.as_deref().map(one_line).unwrap_or_default();
        [row.space.clone(), row.status.entries.to_string(), row.status.without_vector.to_string(), problem.to_string()]
    });
    let header = [("SPACE", Rest), ("ENTRIES", Fit), ("WITHOUT VECTOR", Fit), ("PROBLEM", Rest)];
    format!("model: {}\n{}", one_line(model), table(header, cells))
}
