//! Parameters and answers of all searches.

use corkboard::embed::SearchEmbedder;
use corkboard::{Search, SearchAnswer, SearchHit};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::HttpError;
use crate::response::RevResponse;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchQuery {
    /// Words, phrases in quotes, and the filters `tag:`, `key:` (beginning of a key), `kind:`, `author:`, `before:` and
    /// `after:` (`2026-05-08`, `2026-05` or `2026`).
    #[param(example = "When do we deploy?")]
    pub(crate) q: String,
    /// Maximum number of hits [default: 10].
    #[param(minimum = 1, maximum = 50)]
    limit: Option<usize>,
    /// Maximum number of tokens of all snippets; the best hit is returned in any case.
    #[param(minimum = 1, maximum = 100_000)]
    budget: Option<u64>,
    /// Explain how each hit got its score.
    #[serde(default)]
    explain: bool,
    /// Match words only, without any embedding model, not even the built-in one.
    #[serde(default)]
    words_only: bool,
}

/// Search results.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"hits": [{"key": "plan", "version": 7, "importance": 0.5, "tags": [], "scope": null,
    "score": 0.82, "snippet": "We deploy on Tuesdays", "author": "ada", "at": "2026-01-05T09:30:00Z", "trust": "agent",
    "folded": 0, "explanation": null}], "embedder": null, "rev": 9}))]
pub(crate) struct HitsBody {
    /// Hits, best first.
    hits: Vec<SearchHit>,
    /// The configured embedding model; null without one, and with `words_only`.
    embedder: Option<SearchEmbedder>,
}

impl SearchQuery {
    pub(crate) async fn run(&self, mut search: Search<'_>) -> Result<RevResponse<HitsBody>, HttpError> {
        if let Some(limit) = self.limit {
            search = search.limit(limit);
        }
        if let Some(tokens) = self.budget {
            search = search.budget(tokens);
        }
        let search = search.explain(self.explain).words_only(self.words_only);
        let SearchAnswer { rev, hits, embedder } = search.answer().await?;
        Ok(RevResponse::new(HitsBody { hits, embedder }, rev))
    }
}
