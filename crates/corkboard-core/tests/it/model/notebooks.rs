//! The rules of notebooks, implemented a second time: one list of items per kind, whole copies, and linear search.

use std::collections::BTreeMap;

use corkboard_core::agent::AgentReply;
use corkboard_core::notebook::{
    Archived, Block, Learning, Notebook, NotebookContent, NotebookItemId, NotebookLearningId, Progress, Snippet,
    SnippetId, UnknownIds,
};
use corkboard_core::{LimitName, Limits, NotebookName, Refusal};
use jiff::Timestamp;

use crate::model::reference::over;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Book {
    version: u64,
    updated_at: Timestamp,
    progress: Progress,
    items: BTreeMap<NotebookItemId, Item>,
    last_learning: u64,
    last_snippet: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Item {
    label: String,
    text: String,
    reason: String,
    added: (Timestamp, String),
    archived: Option<(String, Timestamp, String)>,
}

/// The actor, time and revision of a change.
pub(crate) struct Stamp<'a> {
    pub rev: u64,
    pub now: Timestamp,
    pub principal: &'a str,
}

impl Stamp<'_> {
    fn by(&self) -> (Timestamp, String) {
        (self.now, self.principal.into())
    }
}

impl Book {
    pub(crate) fn is_empty(&self) -> bool {
        self.progress == Progress::default() && self.items.is_empty()
    }

    pub(crate) fn len(&self) -> u64 {
        self.items.len() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        let mut bytes: usize = self.progress.bullets().map(|bullet| bullet.len()).sum();
        for item in self.items.values() {
            bytes += item.label.len() + item.text.len() + item.reason.len();
            bytes += item.archived.as_ref().map_or(0, |(reason, ..)| reason.len());
        }
        bytes as u64
    }

    fn count(&self, is_counted: impl Fn(&NotebookItemId, &Item) -> bool) -> u64 {
        self.items.iter().filter(|(id, item)| is_counted(id, item)).count() as u64
    }

    fn counts(&self) -> [(LimitName, u64); 3] {
        let learnings =
            |id: &NotebookItemId, item: &Item| matches!(id, NotebookItemId::Learning(_)) && item.archived.is_none();
        let snippets =
            |id: &NotebookItemId, item: &Item| matches!(id, NotebookItemId::Snippet(_)) && item.archived.is_none();
        [
            (LimitName::LearningsPerNotebook, self.count(learnings)),
            (LimitName::SnippetsPerNotebook, self.count(snippets)),
            (LimitName::ArchivedPerNotebook, self.count(|_, item| item.archived.is_some())),
        ]
    }

    /// Refusals for kinds that grew beyond their limit.
    pub(crate) fn too_many(&self, before: &Self, limits: &Limits) -> Vec<Refusal> {
        let allowed = [limits.learnings_per_notebook, limits.snippets_per_notebook, limits.archived_per_notebook];
        let counts = self.counts().into_iter().zip(before.counts()).zip(allowed);
        let grown = counts.filter(|(((_, after), (_, before)), _)| after > before);
        grown.filter_map(|(((limit, after), _), allowed)| over(limit, after, allowed)).collect()
    }

    pub(crate) fn wrong_version(&self, notebook: &NotebookName, if_version: Option<u64>) -> Option<Refusal> {
        let expected = if_version.filter(|expected| *expected != self.version)?;
        Some(Refusal::NotebookConflict { notebook: notebook.clone(), expected, current: self.version })
    }

    /// Applies a block. Returns the reply, whether something changed, and the reasons to refuse it.
    pub(crate) fn update(
        &mut self,
        notebook: &NotebookName,
        block: &Block,
        unknown_ids: UnknownIds,
        limits: &Limits,
        stamp: &Stamp<'_>,
    ) -> (AgentReply, bool, Vec<Refusal>) {
        let before = self.clone();
        let mut refusals: Vec<Refusal> = too_long(block, limits).collect();
        let mut unknown = Vec::new();
        if let Some(progress) = &block.progress {
            self.progress = progress.clone();
        }
        let learnings = block.archived_learnings.iter().map(|old| (NotebookItemId::Learning(old.id), &old.reason));
        let snippets = block.archived_snippets.iter().map(|old| (NotebookItemId::Snippet(old.id), &old.reason));
        for (id, reason) in learnings.chain(snippets) {
            match self.items.get_mut(&id) {
                Some(item) if item.archived.is_none() => {
                    item.archived = Some((reason.to_string(), stamp.now, stamp.principal.into()));
                }
                _ => unknown.push(id),
            }
        }
        for new in &block.learnings {
            self.last_learning += 1;
            let id = NotebookItemId::Learning(NotebookLearningId(self.last_learning));
            let (text, reason) = (new.text.to_string(), new.reason.to_string());
            let item = Item { label: String::new(), text, reason, added: stamp.by(), archived: None };
            self.items.insert(id, item);
        }
        for new in &block.snippets {
            self.last_snippet += 1;
            let id = NotebookItemId::Snippet(SnippetId(self.last_snippet));
            let (label, text, reason) = (new.label.to_string(), new.text.to_string(), new.reason.to_string());
            self.items.insert(id, Item { label, text, reason, added: stamp.by(), archived: None });
        }
        refusals.extend(self.too_many(&before, limits));
        let reply = AgentReply::NotebookUpdated {
            last_learning: NotebookLearningId(self.last_learning),
            last_snippet: SnippetId(self.last_snippet),
            skipped: unknown.len() as u64,
        };
        if unknown_ids == UnknownIds::Refuse && !unknown.is_empty() {
            refusals.push(Refusal::UnknownItems { notebook: notebook.clone(), ids: unknown });
        }
        let changed = *self != before;
        if changed {
            (self.version, self.updated_at) = (stamp.rev, stamp.now);
        }
        (reply, changed, refusals)
    }

    /// Shows the content of another version.
    pub(crate) fn restore(&mut self, content: &NotebookContent, stamp: &Stamp<'_>) -> bool {
        let before = self.clone();
        let mut wanted = BTreeMap::new();
        for learning in &content.learnings {
            wanted.insert(NotebookItemId::Learning(learning.id), of_learning(learning));
        }
        for snippet in &content.snippets {
            wanted.insert(NotebookItemId::Snippet(snippet.id), of_snippet(snippet));
        }
        let reason = format!("revision {} was restored", content.rev);
        for (id, item) in &mut self.items {
            if !wanted.contains_key(id) && item.archived.is_none() {
                item.archived = Some((reason.clone(), stamp.now, stamp.principal.into()));
            }
        }
        self.items.extend(wanted);
        self.progress = content.progress.clone();
        let changed = *self != before;
        if changed {
            (self.version, self.updated_at) = (stamp.rev, stamp.now);
        }
        changed
    }

    /// Empties the notebook. Its IDs stay used. Returns whether there was content.
    pub(crate) fn clear(&mut self, stamp: &Stamp<'_>) -> bool {
        let had_something = !self.is_empty();
        if had_something {
            (self.version, self.updated_at) = (stamp.rev, stamp.now);
            self.progress = Progress::default();
            self.items.clear();
        }
        had_something
    }

    pub(crate) fn forget(&mut self, id: NotebookItemId, stamp: &Stamp<'_>) -> bool {
        let existed = self.items.remove(&id).is_some();
        if existed {
            (self.version, self.updated_at) = (stamp.rev, stamp.now);
        }
        existed
    }

    /// After a replacement: IDs of the previous notebook stay used.
    pub(crate) fn follow(&mut self, before: Option<&Self>, restored: bool, stamp: &Stamp<'_>) {
        self.version = stamp.rev;
        if !restored {
            self.updated_at = stamp.now;
        }
        if let Some(before) = before {
            self.last_learning = self.last_learning.max(before.last_learning);
            self.last_snippet = self.last_snippet.max(before.last_snippet);
        }
    }

    pub(crate) fn assert_same(&self, live: &Notebook) {
        assert_eq!((live.version, live.updated_at), (self.version, self.updated_at));
        assert_eq!(live.progress, self.progress);
        assert_eq!((live.last_learning.0, live.last_snippet.0), (self.last_learning, self.last_snippet));
        let mut items = BTreeMap::new();
        for learning in &live.learnings {
            items.insert(NotebookItemId::Learning(learning.id), of_learning(learning));
        }
        for old in &live.archived_learnings {
            let item = Item { archived: Some(archived(old)), ..of_learning(&old.item) };
            assert!(items.insert(NotebookItemId::Learning(old.item.id), item).is_none());
        }
        for snippet in &live.snippets {
            items.insert(NotebookItemId::Snippet(snippet.id), of_snippet(snippet));
        }
        for old in &live.archived_snippets {
            let item = Item { archived: Some(archived(old)), ..of_snippet(&old.item) };
            assert!(items.insert(NotebookItemId::Snippet(old.item.id), item).is_none());
        }
        assert_eq!(items, self.items);
        assert!(live.learnings.is_sorted_by_key(|item| item.id) && live.snippets.is_sorted_by_key(|item| item.id));
    }
}

fn too_long(block: &Block, limits: &Limits) -> impl Iterator<Item = Refusal> {
    let mut lines: Vec<&str> = block.progress.iter().flat_map(|it| it.bullets()).map(|it| &**it).collect();
    for new in &block.learnings {
        lines.extend([&*new.text, &*new.reason]);
    }
    for new in &block.snippets {
        lines.extend([&*new.label, &*new.reason]);
    }
    lines.extend(block.archived_learnings.iter().map(|old| &*old.reason));
    lines.extend(block.archived_snippets.iter().map(|old| &*old.reason));
    let bytes =
        lines.iter().map(|line| line.len()).chain(block.snippets.iter().map(|new| new.text.len())).sum::<usize>();
    let lines =
        lines.into_iter().map(|it| over(LimitName::NotebookLineBytes, it.len() as u64, limits.notebook_line_bytes));
    let bullets = block.progress.iter().map(|it| it.bullets().count() as u64);
    let bullets = bullets.map(|count| over(LimitName::ProgressBullets, count, limits.progress_bullets));
    let texts = block.snippets.iter().map(|new| new.text.len() as u64);
    let texts = texts.map(|bytes| over(LimitName::SnippetBytes, bytes, limits.snippet_bytes));
    let whole = over(LimitName::CommandBytes, bytes as u64, limits.command_bytes);
    lines.chain(bullets).chain(texts).chain([whole]).flatten().collect::<Vec<_>>().into_iter()
}

fn of_learning(learning: &Learning) -> Item {
    Item {
        label: String::new(),
        text: learning.text.to_string(),
        reason: learning.reason.to_string(),
        added: (learning.added_at, learning.added_by.to_string()),
        archived: None,
    }
}

fn of_snippet(snippet: &Snippet) -> Item {
    Item {
        label: snippet.label.to_string(),
        text: snippet.text.to_string(),
        reason: snippet.reason.to_string(),
        added: (snippet.added_at, snippet.added_by.to_string()),
        archived: None,
    }
}

fn archived<T>(old: &Archived<T>) -> (String, Timestamp, String) {
    (old.archived_because.to_string(), old.archived_at, old.archived_by.to_string())
}
