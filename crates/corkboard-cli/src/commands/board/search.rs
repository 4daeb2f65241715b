use clap::Args;
use corkboard::BoardHit;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, json_object, now, one_line, table};

/// Find tasks, decisions, discoveries, artifacts and choices by words, best first
///
/// Any of the words may be there; the more telling ones count more. Endings do not matter.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board search 'which hash do we use?'
  cork board search schema --limit 3 --json")]
pub(crate) struct Search {
    /// What to look for
    #[arg(allow_hyphen_values = true)]
    query: String,

    /// How many hits at most, up to 50
    #[arg(long, value_name = "N", default_value_t = corkboard::Search::LIMIT)]
    limit: usize,
}

impl Search {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = session.open_board()?;
        let hits = board.search(&self.query).limit(self.limit).await?;
        session.output.answer(&json_object! { hits: &hits }, || match hits.is_empty() {
            true => "nothing was found".into(),
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
