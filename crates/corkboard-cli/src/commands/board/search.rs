use clap::Args;
use corkboard::BoardHit;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, json_object, now, one_line, table};

/// Search tasks, decisions, discoveries, artifacts and choices, best match first
///
/// Items match if they contain any of the words; rare words count more, and word endings are ignored.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board search 'which hash do we use?'
  cork board search schema --limit 3 --json")]
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
        let board = session.open_board()?;
        let hits = board.search(&self.query).limit(self.limit).await?;
        session.output.answer(&json_object! { hits: &hits }, || match hits.is_empty() {
            true => "no matches".into(),
            false => hit_table(&hits),
        })
    }
}

fn hit_table(hits: &[BoardHit]) -> String {
    let now = now();
    let rows = hits.iter().map(|hit| {
        [
            hit.id.to_string(),
            format!("{}{}", hit.trust.mark(), one_line(&hit.title)),
            format!("{}{}", hit.trust.mark(), one_line(&hit.snippet)),
            format!("{:.2}", hit.score),
            age(hit.at, now),
        ]
    });
    let header = [("FOUND", Fit), ("TITLE", Percent(35)), ("SNIPPET", Rest), ("SCORE", Fit), ("WRITTEN", Fit)];
    table(header, rows)
}
