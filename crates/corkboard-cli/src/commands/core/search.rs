use clap::Args;
use corkboard::CoreHit;

use crate::command_session::Session;
use crate::core_args::CoreArgument;
use crate::core_view::emptiness;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, json_object, now, one_line, table};

/// Search the entries of a core, best match first
///
/// Entries match if they contain any of the words; rare words count more, and word endings are ignored. Forgotten entries
/// are not searched.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core search house-rules 'when do we deploy?'
  cork core search agent:alice tea --limit 3 --json")]
pub(crate) struct Search {
    #[command(flatten)]
    core: CoreArgument,

    /// Words to search for
    #[arg(allow_hyphen_values = true)]
    query: String,

    /// Maximum number of hits, up to 50
    #[arg(long, value_name = "N", default_value_t = corkboard::Search::LIMIT)]
    limit: usize,
}

impl Search {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?;
        let hits = core.search(&self.query).limit(self.limit).await?;
        let empty = if hits.is_empty() { emptiness(&core).await? } else { None };
        session.output.answer(&json_object! { hits: &hits }, || match hits.is_empty() {
            true => empty.unwrap_or_else(|| "no matches".into()),
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
