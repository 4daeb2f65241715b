//! Searching a board: which documents it has, and what a hit tells.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use corkboard_core::board::{ApprovalVerdict, BoardItem, BoardState, Choice, Decision, Task};
use corkboard_core::knowledge::Trust;
use corkboard_core::{EntryMetadata, Refusal, Revisioned};
use jiff::Timestamp;
use serde::Serialize;

use super::Board;
use crate::search::{Change, Document, Index, Query, Searchable, checked_query, snippet};
use crate::{Result, Search};

impl Board {
    /// Looks for tasks, decisions, discoveries, artifacts and choices by their words, the best first. What was written is
    /// found by the next search, whoever wrote it.
    pub fn search<'a>(&'a self, query: &'a str) -> BoardSearch<'a> {
        BoardSearch { board: self, query, limit: Search::LIMIT }
    }
}

/// A search on a board. Made by [`Board::search`].
#[must_use = "nothing is looked for until this is awaited"]
pub struct BoardSearch<'a> {
    board: &'a Board,
    query: &'a str,
    limit: usize,
}

impl BoardSearch<'_> {
    /// At most so many hits: at least 1, at most [`Search::MAX_LIMIT`]; [`Search::LIMIT`] unless it is said.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit.clamp(1, Search::MAX_LIMIT);
        self
    }
}

impl<'a> IntoFuture for BoardSearch<'a> {
    type Output = Result<Vec<BoardHit>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { board, query, limit } = self;
            let query = checked_query(query, &board.engine.options.limits)?;
            let look = move |state: &Revisioned<BoardState>, index: &Index<BoardItem>, _: Timestamp| {
                (state.head.rev, hits(state, index, &query, limit))
            };
            let (rev, found) = board.engine.search(&board.slot, look).await?;
            board.saw(rev);
            Ok(found?)
        })
    }
}

/// Something on a board that a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardHit {
    /// Which.
    pub id: BoardItem,
    /// What kind of thing it is: task, decision, discovery, artifact or choice.
    pub kind: &'static str,
    /// A task's title, the question of a decision or a choice, an artifact's path; of a discovery its beginning.
    pub title: String,
    /// How well it fits the query. Scores of different searches do not compare.
    pub score: f32,
    /// The part of it that fits best, on one line.
    pub snippet: String,
    /// Who added it.
    pub author: Arc<str>,
    /// When it was added.
    pub timestamp: Timestamp,
    /// How far it may be trusted.
    pub trust: Trust,
}

impl Searchable for BoardState {
    type DocumentId = BoardItem;

    fn changes(before: Option<&Self>, after: &Self, mut each: impl FnMut(BoardItem, Change<'_>)) {
        let empty = Self::default();
        before.unwrap_or(&empty).each_difference(after, |item| match found(after, item) {
            Some(found) => each(item, Change::Put(found.document())),
            None => each(item, Change::Removed),
        });
    }
}

/// Something on a board, as it is found.
struct Found<'a> {
    /// What it is called, which is found too.
    name: &'a str,
    text: Cow<'a, str>,
    author: &'a Arc<str>,
    written: Timestamp,
    trust: Trust,
}

impl Found<'_> {
    fn document(&self) -> Document<'_> {
        Document {
            body: Cow::Borrowed(&self.text),
            key: self.name,
            tags: &[],
            author: self.author,
            written: self.written,
            importance: EntryMetadata::IMPORTANCE,
        }
    }
}

fn found(state: &BoardState, item: BoardItem) -> Option<Found<'_>> {
    // What says nothing else is an agent's.
    let trust = Trust::default();
    Some(match item {
        BoardItem::Task(id) => {
            let task = state.task(id)?;
            // Of a text of which a part came from outside, all is held to have.
            let trust = task.result.as_ref().map_or(trust, |result| result.trust().min(trust));
            Found { name: "", text: task_text(task).into(), author: &task.created_by, written: task.created_at, trust }
        }
        BoardItem::Decision(id) => {
            let decision = state.decision(id)?;
            let Decision { made_by, made_at, .. } = decision;
            Found {
                name: "",
                text: decision_text(decision).into(),
                author: made_by,
                written: *made_at,
                trust: decision.trust,
            }
        }
        BoardItem::Discovery(id) => {
            let discovery = state.discovery(id)?;
            let (author, written) = (&discovery.discovered_by, discovery.discovered_at);
            Found { name: "", text: (&*discovery.content).into(), author, written, trust: discovery.trust }
        }
        BoardItem::Artifact(id) => {
            let artifact = state.artifact(id)?;
            let text = lines([Some(&*artifact.description), artifact.content.as_deref()].into_iter().flatten());
            let (author, written) = (&artifact.created_by, artifact.created_at);
            Found { name: &artifact.path, text: text.into(), author, written, trust: artifact.trust }
        }
        BoardItem::Choice(id) => {
            let choice = state.choice(id)?;
            let author = choice.chosen_by.as_ref().unwrap_or(&state.info()?.created_by);
            let written = choice.chosen_at.unwrap_or(state.info()?.created_at);
            Found { name: "", text: choice_text(choice).into(), author, written, trust }
        }
    })
}

fn task_text(task: &Task) -> String {
    let result = task.result.as_deref();
    let steps = result.into_iter().flat_map(|result| result.next_steps.iter().map(String::as_str));
    let agent = task.assigned_to.as_ref().map(|agent| agent.as_str());
    let said = [&task.failure, &task.blocked_reason, &task.review_comments].map(Option::as_deref);
    let texts = [Some(&*task.title), Some(&*task.description), result.map(|result| &*result.summary)];
    lines(texts.into_iter().flatten().chain(steps).chain(said.into_iter().flatten()).chain(agent))
}

fn decision_text(decision: &Decision) -> String {
    let Decision { question, choice, rationale, alternatives, .. } = decision;
    lines([question, choice, rationale].into_iter().chain(alternatives).map(String::as_str))
}

fn choice_text(choice: &Choice) -> String {
    let names = choice.options.iter().map(|branch| &branch.name);
    lines([&choice.question].into_iter().chain(names).chain(&choice.rationale).map(String::as_str))
}

fn lines<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The best hits.
fn hits(
    current: &Revisioned<BoardState>,
    index: &Index<BoardItem>,
    query: &Query,
    limit: usize,
) -> std::result::Result<Vec<BoardHit>, Refusal> {
    let state = &current.state;
    state.readable()?;
    // Of an artifact the newest version stands for all.
    let is_newest = |item: &BoardItem| match item {
        BoardItem::Artifact(id) => {
            state.artifact(*id).and_then(|artifact| state.artifact_at(&artifact.path)).is_some_and(|it| it.id == *id)
        }
        _ => true,
    };
    let ranked = index.search(query, limit, is_newest);
    Ok(ranked.into_iter().filter_map(|(item, score)| hit(state, item, score, query)).collect())
}

fn hit(state: &BoardState, id: BoardItem, score: f32, query: &Query) -> Option<BoardHit> {
    let found = found(state, id)?;
    let title = match id {
        BoardItem::Task(id) => state.task(id)?.title.to_string(),
        BoardItem::Decision(id) => {
            let decision = state.decision(id)?;
            let old = match (decision.superseded_by, decision.verdict) {
                (Some(by), _) => format!(" (superseded by {by})"),
                (None, Some(ApprovalVerdict::Rejected)) => " (rejected)".into(),
                (None, _) if decision.is_undecided() => " (not approved yet)".into(),
                (None, _) => String::new(),
            };
            format!("{}{old}", beginning(&decision.question))
        }
        BoardItem::Discovery(id) => beginning(&state.discovery(id)?.content).into_owned(),
        BoardItem::Artifact(id) => state.artifact(id)?.path.to_string(),
        BoardItem::Choice(id) => beginning(&state.choice(id)?.question).into_owned(),
    };
    let snippet = snippet(&found.text, query, Search::SNIPPET);
    let (author, timestamp) = (found.author.clone(), found.written);
    Some(BoardHit { id, kind: id.kind(), title, score, snippet, author, timestamp, trust: found.trust })
}

/// The first line of a text, or as much of it as makes a title.
fn beginning(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 80;
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()).into(),
        None => line.into(),
    }
}
