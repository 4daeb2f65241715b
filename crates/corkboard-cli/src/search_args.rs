//! Flags and output that all search commands share.

use clap::Args;
use corkboard::embed::SearchEmbedder;
use corkboard::{AgentMemory, Board, Core, FoundItem, Search, SearchAnswer, SearchHit};
use serde::Serialize;

use crate::command_session::Session;
use crate::core_view::emptiness;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, count, now, one_line, table};

/// What to search.
pub(crate) enum Searched<'a> {
    Agent(&'a AgentMemory),
    Board(Board),
    Core(Core),
}

#[derive(Args)]
pub(crate) struct SearchArgs {
    /// Words, "phrases", and the filters tag: key: kind: author: before: after:
    #[arg(allow_hyphen_values = true, required = true)]
    query: Option<String>,

    /// Maximum number of hits, up to 50
    #[arg(long, value_name = "N", default_value_t = Search::LIMIT)]
    limit: usize,

    /// Maximum number of tokens of all snippets; the best hit is shown in any case
    #[arg(long, value_name = "TOKENS")]
    budget: Option<u64>,

    /// Show how each hit got its score
    #[arg(long)]
    explain: bool,

    /// Match words only, without any embedding model, not even the built-in one
    #[arg(long)]
    words_only: bool,
}

impl SearchArgs {
    /// Searches and prints the hits.
    pub(crate) async fn run(&self, searched: Searched<'_>, session: &Session) -> Result<(), CliError> {
        let query = self.query.as_deref().unwrap_or_default();
        let search = match &searched {
            Searched::Agent(agent) => agent.search(query),
            Searched::Board(board) => board.search(query),
            Searched::Core(core) => core.search(query),
        };
        let SearchAnswer { hits, embedder, .. } = self.apply(search).answer().await?;
        let empty = match &searched {
            Searched::Core(core) if hits.is_empty() => emptiness(core).await?,
            _ => None,
        };
        if let Some(note) = embedder.as_ref().and_then(note) {
            session.output.warn(&note);
        }
        session.output.answer(&Found { hits: &hits, embedder: &embedder }, || match hits.is_empty() {
            true => empty.unwrap_or_else(|| "no matches".into()),
            false => hit_table(&hits),
        })
    }

    fn apply<'a>(&self, search: Search<'a>) -> Search<'a> {
        let search = search.limit(self.limit).explain(self.explain).words_only(self.words_only);
        match self.budget {
            Some(tokens) => search.budget(tokens),
            None => search,
        }
    }
}

#[derive(Serialize)]
struct Found<'a> {
    hits: &'a [SearchHit],
    embedder: &'a Option<SearchEmbedder>,
}

/// Says if the configured embedding model was not used for all texts.
fn note(embedder: &SearchEmbedder) -> Option<String> {
    match (&embedder.problem, embedder.without_vector) {
        (Some(problem), _) => Some(format!("note: searched with the built-in model: {}", one_line(problem))),
        (None, 0) => None,
        (None, missing) => {
            let entries = count(missing, "entry has", "entries have");
            Some(format!("note: {entries} no vector yet; `cork search status` shows more"))
        }
    }
}

fn hit_table(hits: &[SearchHit]) -> String {
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
