//! `cork memory search`.

use clap::Args;
use corkboard::{FoundItem, SearchHit};
use serde::Serialize;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, now, one_line, table};

/// Search entries and notes, best match first
///
/// Items match if they contain any of the words. Rare words count more, word endings are ignored, and so are common words
/// (the, when, did). The search covers values, keys, tags, authors and dates, in the agent's memory and its durable scopes.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory search \"when do we deploy?\"
  cork memory search login --limit 3
  cork memory search \"rate limit\" --json | jq -r '.hits[].key'")]
pub(crate) struct Search {
    /// Words to search for
    #[arg(allow_hyphen_values = true)]
    query: String,

    /// Maximum number of hits, up to 50
    #[arg(long, value_name = "N", default_value_t = corkboard::Search::LIMIT)]
    limit: usize,
}

impl Search {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Answer<'a> {
            hits: &'a [SearchHit],
        }
        let hits = session.agent.search(&self.query).limit(self.limit).await?;
        session.output.answer(&Answer { hits: &hits }, || match hits.is_empty() {
            true => "no matches".into(),
            false => hit_table(&hits),
        })
    }
}

fn hit_table(hits: &[SearchHit]) -> String {
    let now = now();
    let rows = hits.iter().map(|hit| {
        let name = match &hit.item {
            FoundItem::Entry { key, .. } => key.to_string(),
            FoundItem::Note { note } => format!("note {note}"),
            FoundItem::Notebook { notebook, item } => {
                let part = item.map_or_else(|| "progress".into(), |item| item.to_string());
                format!("{part} in notebook {notebook}")
            }
        };
        let place = hit.scope.as_ref().map(|scope| format!(" ({})", one_line(scope.name.as_str())));
        [
            format!("{}{}{}", hit.trust.mark(), one_line(&name), place.unwrap_or_default()),
            format!("{}{}", hit.trust.mark(), one_line(&hit.snippet)),
            format!("{:.2}", hit.score),
            age(hit.at, now),
        ]
    });
    let header = [("FOUND", Percent(30)), ("SNIPPET", Rest), ("SCORE", Fit), ("UPDATED", Fit)];
    table(header, rows)
}
