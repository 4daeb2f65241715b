//! Flags and output that all search commands share.

use clap::Args;
use corkboard::{FoundItem, Search, SearchHit};

use crate::output::{Fit, Percent, Rest, age, now, one_line, table};

#[derive(Args)]
pub(crate) struct SearchArgs {
    /// Words, "phrases", and the filters tag: key: kind: author: before: after:
    #[arg(allow_hyphen_values = true)]
    pub(crate) query: String,

    /// Maximum number of hits, up to 50
    #[arg(long, value_name = "N", default_value_t = Search::LIMIT)]
    limit: usize,

    /// Maximum number of tokens of all snippets
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,

    /// Show how each hit got its score
    #[arg(long)]
    explain: bool,

    /// Search by words alone, without the built-in embedding model
    #[arg(long)]
    words_only: bool,
}

impl SearchArgs {
    pub(crate) fn apply<'a>(&self, search: Search<'a>) -> Search<'a> {
        let search = search.limit(self.limit).explain(self.explain).words_only(self.words_only);
        match self.max_tokens {
            Some(tokens) => search.max_tokens(tokens),
            None => search,
        }
    }
}

pub(crate) fn hit_table(hits: &[SearchHit]) -> String {
    let now = now();
    let rows = hits.iter().map(|hit| {
        let mark = hit.trust.mark();
        let scope = hit.scope.as_ref().map(|scope| format!(" ({})", one_line(scope.name.as_str())));
        let name = format!("{mark}{}{}", one_line(&hit.item.name()), scope.unwrap_or_default());
        let title = match &hit.item {
            FoundItem::BoardItem { title, .. } if *title != hit.snippet => format!("{mark}{}: ", one_line(title)),
            _ => mark.to_owned(),
        };
        let alike = if hit.folded == 0 { String::new() } else { format!(" (+{} alike)", hit.folded) };
        let parts = hit.explanation_text();
        let explained = if parts.is_empty() { String::new() } else { format!(" [{}]", one_line(&parts)) };
        [
            name,
            format!("{title}{}{alike}{explained}", one_line(&hit.snippet)),
            format!("{:.2}", hit.score),
            age(hit.at, now),
        ]
    });
    let header = [("FOUND", Percent(30)), ("SNIPPET", Rest), ("SCORE", Fit), ("UPDATED", Fit)];
    table(header, rows)
}
