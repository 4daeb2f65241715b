//! What a search answers with.

use std::sync::Arc;

use corkboard_core::board::BoardItem;
use corkboard_core::knowledge::{CoreEntryId, Trust};
use corkboard_core::notebook::NotebookItemId;
use corkboard_core::{Key, MemoryKind, NoteId, NotebookName, ScopeId, ScopeName};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Document, Explanation, Found, Query, ScorePart, ScoreReason, Search, snippet};

/// A search hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchHit {
    /// What was found.
    #[serde(flatten)]
    pub item: FoundItem,
    /// The scope that contains it, unless that is the root.
    pub scope: Option<FoundScope>,
    /// How well it fits the query; 1 is a good match. Scores of different queries are not comparable.
    pub score: f32,
    /// The best matching part, on one line.
    pub snippet: String,
    /// Author of the text.
    pub author: Arc<str>,
    /// When it was written.
    pub at: Timestamp,
    /// How far the text may be trusted.
    pub trust: Trust,
    /// Number of hits with nearly the same text that were left out.
    pub folded: usize,
    /// How the hit got its score, if the search asked for it.
    pub explanation: Option<Explanation>,
}

/// The item that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum FoundItem {
    /// An entry of an agent's memory.
    #[cfg_attr(feature = "openapi", schema(title = "entry"))]
    Entry {
        /// The entry's key.
        key: Key,
        /// Revision that last changed it.
        version: u64,
        /// Importance from 0 to 1.
        importance: f32,
        /// The entry's tags.
        tags: Vec<Arc<str>>,
    },
    /// A note.
    #[cfg_attr(feature = "openapi", schema(title = "note"))]
    Note {
        /// The note's number.
        note: NoteId,
    },
    /// A part of a notebook.
    #[cfg_attr(feature = "openapi", schema(title = "notebook_item"))]
    Notebook {
        /// The notebook's name.
        notebook: NotebookName,
        /// ID of the learning or snippet; null for the progress.
        item: Option<NotebookItemId>,
    },
    /// An item of a board.
    #[cfg_attr(feature = "openapi", schema(title = "board_item"))]
    BoardItem {
        /// The item's ID.
        id: BoardItem,
        /// The kind of item: task, decision, discovery, artifact or choice.
        #[serde(deserialize_with = "item_kind")]
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        kind: ItemKind,
        /// The title of a task, the question of a decision or choice, the path of an artifact, or the beginning of a
        /// discovery.
        title: String,
    },
    /// An entry of a memory core.
    #[cfg_attr(feature = "openapi", schema(title = "core_entry"))]
    CoreEntry {
        /// The entry's ID.
        id: CoreEntryId,
        /// Revision that last changed it.
        version: u64,
        /// The entry's kind.
        kind: MemoryKind,
        /// Importance from 0 to 1.
        importance: f32,
        /// The entry's tags.
        tags: Vec<Arc<str>>,
    },
}

/// The name of a kind of item on a board.
type ItemKind = &'static str;

fn item_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ItemKind, D::Error> {
    let kind = String::deserialize(deserializer)?;
    let known = ["task", "decision", "discovery", "artifact", "choice"].into_iter().find(|known| *known == kind);
    known.ok_or_else(|| serde::de::Error::custom(format!("unknown kind of item {kind:?}")))
}

/// The scope of a search hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FoundScope {
    /// The scope's ID.
    pub id: ScopeId,
    /// The scope's name.
    pub name: ScopeName,
}

impl SearchHit {
    /// A hit without a scope.
    pub(crate) fn new<Id>(
        item: FoundItem,
        document: &Document<'_>,
        trust: Trust,
        found: &Found<Id>,
        query: &Query,
    ) -> Self {
        Self {
            item,
            scope: None,
            score: found.score,
            snippet: snippet(&document.body, query, Search::SNIPPET),
            author: document.author.into(),
            at: document.written,
            trust,
            folded: found.folded,
            explanation: found.explanation.clone(),
        }
    }

    /// The key, if the hit is an entry.
    pub fn key(&self) -> Option<&str> {
        match &self.item {
            FoundItem::Entry { key, .. } => Some(key.as_str()),
            _ => None,
        }
    }

    /// The note's number, if the hit is a note.
    pub fn note(&self) -> Option<NoteId> {
        match self.item {
            FoundItem::Note { note } => Some(note),
            _ => None,
        }
    }

    /// The parts of the score in words, such as `deploy 0.41, session 0.12`. Empty without an explanation.
    pub fn explanation_text(&self) -> String {
        let parts = self.explanation.iter().flat_map(|explanation| &explanation.parts);
        let text = |part: &ScorePart| match &part.word {
            Some(word) if part.reason == ScoreReason::Neighbour => format!("{word} (neighbour) {:.2}", part.score),
            Some(word) => format!("{word} {:.2}", part.score),
            None => format!("{} {:.2}", part.reason.as_str(), part.score),
        };
        parts.map(text).collect::<Vec<_>>().join(", ")
    }
}

impl FoundItem {
    /// A name for people, such as the key, `note 3` or `T-1`.
    pub fn name(&self) -> String {
        match self {
            Self::Entry { key, .. } => key.to_string(),
            Self::Note { note } => format!("note {note}"),
            Self::Notebook { notebook, item: Some(item) } => format!("{item} in notebook {notebook}"),
            Self::Notebook { notebook, item: None } => format!("progress in notebook {notebook}"),
            Self::BoardItem { id, .. } => id.to_string(),
            Self::CoreEntry { id, .. } => id.to_string(),
        }
    }
}
