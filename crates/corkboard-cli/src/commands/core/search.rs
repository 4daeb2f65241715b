use clap::Args;
use corkboard::CoreHit;

use crate::command_session::Session;
use crate::core_args::CoreArgument;
use crate::core_view::emptiness;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, json_object, now, one_line, table};

/// Find entries of a core by words, best first
///
/// Any of the words may be there; the more telling ones count more. Endings do not matter. What is forgotten is not found.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core search house-rules 'when do we deploy?'
  cork core search agent:alice tea --limit 3 --json")]
pub(crate) struct Search {
    #[command(flatten)]
    core: CoreArgument,

    /// What to look for
    #[arg(allow_hyphen_values = true)]
    query: String,

    /// How many hits at most, up to 50
    #[arg(long, value_name = "N", default_value_t = corkboard::Search::LIMIT)]
    limit: usize,
}

impl Search {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?;
        let hits = core.search(&self.query).limit(self.limit).await?;
        let empty = if hits.is_empty() { emptiness(&core).await? } else { None };
        session.output.answer(&json_object! { hits: &hits }, || match hits.is_empty() {
            true => empty.unwrap_or_else(|| "nothing was found".into()),
            false => hit_table(&hits),
        })
    }
}

fn hit_table(hits: &[CoreHit]) -> String {
    let now = now();
    let rows = hits.iter().map(|hit| {
        [
            hit.id.to_string(),
            one_line(&hit.snippet),
            hit.trust.to_string(),
            one_line(&hit.author),
            format!("{:.2}", hit.score),
            age(hit.at, now),
        ]
    });
    let header =
        [("FOUND", Fit), ("SNIPPET", Rest), ("TRUST", Fit), ("AUTHOR", Percent(20)), ("SCORE", Fit), ("UPDATED", Fit)];
    table(header, rows)
}
