//! Search on a board: its documents and hits.

use std::borrow::Cow;

use corkboard_core::Refusal;
use corkboard_core::board::{ApprovalVerdict, BoardItem, BoardState, Choice, Decision, Task};
use corkboard_core::knowledge::Trust;

use super::Board;
use crate::search::{Change, Document, FoundItem, Search, SearchHit, Searchable, SearchedState};

impl Board {
    /// Searches tasks, decisions, discoveries, artifacts and choices by their words, the best first. The search sees
    /// every earlier write, from any process.
    pub fn search<'a>(&'a self, query: &'a str) -> Search<'a> {
        Search::new(&self.engine, &self.slot, query, hits).noting_revision(&self.seen)
    }
}

impl Searchable for BoardState {
    type DocumentId = BoardItem;

    fn changes(before: Option<&Self>, after: &Self, mut each: impl FnMut(BoardItem, Change<'_>)) {
        let empty = Self::default();
        before.unwrap_or(&empty).each_difference(after, |item| match document(after, item) {
            Some((document, _)) => each(item, Change::Put(document)),
            None => each(item, Change::Removed),
        });
    }
}

/// The text of an item, and how far it can be trusted.
fn document(state: &BoardState, item: BoardItem) -> Option<(Document<'_>, Trust)> {
    // Items that record no trust count as an agent's.
    let trust = Trust::default();
    Some(match item {
        BoardItem::Task(id) => {
            let task = state.task(id)?;
            // If a part came from outside, the whole text counts as outside.
            let trust = task.result.as_ref().map_or(trust, |result| result.trust().min(trust));
            (Document::plain(item.kind(), task_text(task), &task.created_by, task.created_at), trust)
        }
        BoardItem::Decision(id) => {
            let decision = state.decision(id)?;
            (
                Document::plain(item.kind(), decision_text(decision), &decision.created_by, decision.created_at),
                decision.trust,
            )
        }
        BoardItem::Discovery(id) => {
            let discovery = state.discovery(id)?;
            let (author, written) = (&discovery.created_by, discovery.created_at);
            (Document::plain(item.kind(), &*discovery.content, author, written), discovery.trust)
        }
        BoardItem::Artifact(id) => {
            let artifact = state.artifact(id)?;
            let text = lines([Some(&*artifact.description), artifact.content.as_deref()].into_iter().flatten());
            let document = Document::plain(item.kind(), text, &artifact.created_by, artifact.created_at);
            (Document { key: &artifact.path, ..document }, artifact.trust)
        }
        BoardItem::Choice(id) => {
            let choice = state.choice(id)?;
            let author = choice.chosen_by.as_ref().unwrap_or(&state.info()?.created_by);
            let written = choice.chosen_at.unwrap_or(state.info()?.created_at);
            (Document::plain(item.kind(), choice_text(choice), author, written), trust)
        }
    })
}

fn task_text(task: &Task) -> String {
    let result = task.result.as_deref();
    let steps = result.into_iter().flat_map(|result| result.next_steps.iter().map(String::as_str));
    let agent = task.assigned_to.as_ref().map(|agent| agent.as_str());
    let said = [&task.failure, &task.blocked_reason, &task.review_comment].map(Option::as_deref);
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

fn hits(searched: &SearchedState<'_, BoardState>) -> Result<Vec<SearchHit>, Refusal> {
    let state = &searched.state.state;
    state.readable()?;
    // Only the newest version of an artifact is found.
    let is_newest = |item: &BoardItem| match item {
        BoardItem::Artifact(id) => {
            state.artifact(*id).and_then(|artifact| state.artifact_at(&artifact.path)).is_some_and(|it| it.id == *id)
        }
        _ => true,
    };
    let admit = |item: &BoardItem| {
        is_newest(item) && searched.query.admits(|| document(state, *item).map(|(document, _)| document))
    };
    Ok(searched.hits(admit, |found| {
        let (document, trust) = document(state, found.id)?;
        let item = FoundItem::BoardItem { id: found.id, kind: found.id.kind(), title: title(state, found.id)? };
        Some(SearchHit::new(item, &document, trust, &found, searched.query))
    }))
}

fn title(state: &BoardState, id: BoardItem) -> Option<String> {
    Some(match id {
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
    })
}

/// The first line of a text, shortened to the length of a title.
fn beginning(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 80;
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()).into(),
        None => line.into(),
    }
}
