//! Decides blocks into updates and applies updates to a notebook.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::check::check_block;
use super::{
    Archival, Archived, Block, Learning, NewLearning, NewSnippet, Notebook, NotebookItem, NotebookItemId,
    NotebookLearningId, Progress, Snippet, SnippetId,
};
use crate::space::{Stamp, misfit};
use crate::{FormatError, LimitName, Limits, NotebookName, Refusal, Role};

/// What to do with IDs that the notebook does not have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnknownIds {
    /// Refuse the whole block.
    #[default]
    Refuse,
    /// Skip them and apply the rest.
    Skip,
}

/// A decided block with the IDs of its new items, as stored in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NotebookUpdate {
    /// The new progress, if it changes.
    #[serde(default)]
    pub progress: Option<Progress>,
    /// The added learnings with their IDs.
    #[serde(default)]
    pub learnings: Vec<(NotebookLearningId, NewLearning)>,
    /// The archived learnings.
    #[serde(default)]
    pub archived_learnings: Vec<Archival<NotebookLearningId>>,
    /// The added snippets with their IDs.
    #[serde(default)]
    pub snippets: Vec<(SnippetId, NewSnippet)>,
    /// The archived snippets.
    #[serde(default)]
    pub archived_snippets: Vec<Archival<SnippetId>>,
}

/// The shown content of a notebook at one revision, which can be restored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NotebookContent {
    /// The revision of the content.
    pub rev: u64,
    #[serde(default)]
    pub progress: Progress,
    #[serde(default)]
    pub learnings: Vec<Arc<Learning>>,
    #[serde(default)]
    pub snippets: Vec<Arc<Snippet>>,
}

impl fmt::Display for NotebookUpdate {
    /// Prints a summary such as `progress, +KL-4, -KL-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let progress = self.progress.iter().map(|_| String::from("progress"));
        let learnings = self.learnings.iter().map(|(id, _)| format!("+{id}"));
        let old_learnings = self.archived_learnings.iter().map(|old| format!("-{}", old.id));
        let snippets = self.snippets.iter().map(|(id, _)| format!("+{id}"));
        let old_snippets = self.archived_snippets.iter().map(|old| format!("-{}", old.id));
        let all = progress.chain(learnings).chain(old_learnings).chain(snippets).chain(old_snippets);
        f.write_str(&all.collect::<Vec<_>>().join(", "))
    }
}

impl NotebookUpdate {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Notebook {
    /// The shown content, which can be restored later. `rev` is the current revision.
    pub fn content(&self, rev: u64) -> NotebookContent {
        let Self { progress, learnings, snippets, .. } = self.clone();
        NotebookContent { rev, progress, learnings, snippets }
    }

    /// Decides a block: the update it leads to, and the unknown IDs that were skipped. The notebook does not change.
    pub fn decide(
        &self,
        name: &NotebookName,
        block: &Block,
        unknown_ids: UnknownIds,
        limits: &Limits,
    ) -> Result<(NotebookUpdate, Vec<NotebookItemId>), Refusal> {
        check_block(block, limits)?;
        let (archived_learnings, mut unknown) = known(&self.learnings, &block.archived_learnings);
        let (archived_snippets, unknown_snippets) = known(&self.snippets, &block.archived_snippets);
        unknown.extend(unknown_snippets);
        if unknown_ids == UnknownIds::Refuse && !unknown.is_empty() {
            return Err(Refusal::UnknownItems { notebook: name.clone(), ids: unknown });
        }
        let next = |last: u64, index: usize| last + 1 + index as u64;
        let learnings = block.learnings.iter().cloned().enumerate();
        let snippets = block.snippets.iter().cloned().enumerate();
        let update = NotebookUpdate {
            progress: block.progress.clone().filter(|progress| *progress != self.progress),
            learnings: learnings
                .map(|(i, learning)| (NotebookLearningId(next(self.last_learning.0, i)), learning))
                .collect(),
            archived_learnings,
            snippets: snippets.map(|(i, snippet)| (SnippetId(next(self.last_snippet.0, i)), snippet)).collect(),
            archived_snippets,
        };
        let grows = |limit, now: usize, added: usize, removed: usize, allowed| {
            (limit, now as u64, (now + added - removed) as u64, allowed)
        };
        let (learnings, old_learnings) = (update.learnings.len(), update.archived_learnings.len());
        let (snippets, old_snippets) = (update.snippets.len(), update.archived_snippets.len());
        let (archived, more) =
            (self.archived_learnings.len() + self.archived_snippets.len(), old_learnings + old_snippets);
        Limits::check_growth([
            grows(
                LimitName::LearningsPerNotebook,
                self.learnings.len(),
                learnings,
                old_learnings,
                limits.learnings_per_notebook,
            ),
            grows(
                LimitName::SnippetsPerNotebook,
                self.snippets.len(),
                snippets,
                old_snippets,
                limits.snippets_per_notebook,
            ),
            grows(LimitName::ArchivedPerNotebook, archived, more, 0, limits.archived_per_notebook),
        ])?;
        Ok((update, unknown))
    }

    /// Applies a decided update. Fails only if the log is damaged.
    pub(crate) fn apply(&mut self, update: &NotebookUpdate, stamp: Stamp<'_>) -> Result<(), FormatError> {
        if let Some(progress) = &update.progress {
            self.progress = progress.clone();
        }
        let by = || Arc::from(stamp.principal);
        for Archival { id, reason } in &update.archived_learnings {
            archive(&mut self.learnings, &mut self.archived_learnings, *id, reason, stamp)?;
        }
        for (id, NewLearning { text, reason }) in &update.learnings {
            if *id <= self.last_learning {
                return Err(misfit(format!("{id} is already assigned")));
            }
            self.last_learning = *id;
            let (text, reason) = (text.clone(), reason.clone());
            self.learnings.push(Arc::new(Learning { id: *id, text, reason, added_at: stamp.at, added_by: by() }));
        }
        for Archival { id, reason } in &update.archived_snippets {
            archive(&mut self.snippets, &mut self.archived_snippets, *id, reason, stamp)?;
        }
        for (id, NewSnippet { label, text, reason }) in &update.snippets {
            if *id <= self.last_snippet {
                return Err(misfit(format!("{id} is already assigned")));
            }
            self.last_snippet = *id;
            let (label, text, reason) = (label.clone(), text.clone(), reason.clone());
            let snippet = Snippet { id: *id, label, text, reason, added_at: stamp.at, added_by: by() };
            self.snippets.push(Arc::new(snippet));
        }
        self.touch(stamp);
        Ok(())
    }

    /// Restores earlier content. Items that it does not contain are archived, so nothing is lost.
    pub(crate) fn restore(&mut self, content: &NotebookContent, stamp: Stamp<'_>) {
        let reason: Arc<str> = format!("revision {} was restored", content.rev).into();
        self.progress = content.progress.clone();
        show(&mut self.learnings, &mut self.archived_learnings, &content.learnings, &reason, stamp);
        show(&mut self.snippets, &mut self.archived_snippets, &content.snippets, &reason, stamp);
        let last = content.learnings.iter().map(|learning| learning.id).max();
        self.last_learning = self.last_learning.max(last.unwrap_or_default());
        let last = content.snippets.iter().map(|snippet| snippet.id).max();
        self.last_snippet = self.last_snippet.max(last.unwrap_or_default());
        self.touch(stamp);
    }

    /// Applies an update for a report, without time and author. Only the log decides what really happens.
    pub fn preview(&mut self, update: &NotebookUpdate) {
        let stamp = Stamp { rev: self.version, at: self.updated_at, principal: "", role: Role::Observer };
        // An update that does not fit is applied as far as possible.
        let _ = self.apply(update, stamp);
    }

    /// Restores content for a report, without time and author. Only the log decides what really happens.
    pub fn show(&mut self, content: &NotebookContent) {
        let stamp = Stamp { rev: self.version, at: self.updated_at, principal: "", role: Role::Observer };
        self.restore(content, stamp);
    }

    /// Empties the notebook. Its IDs are not reused.
    pub(crate) fn clear(&mut self, stamp: Stamp<'_>) {
        let Self { last_learning, last_snippet, .. } = *self;
        *self = Self { last_learning, last_snippet, ..Self::default() };
        self.touch(stamp);
    }

    /// Removes an item, shown or archived. Returns whether it existed.
    pub(crate) fn remove(&mut self, id: NotebookItemId, stamp: Stamp<'_>) -> bool {
        let existed = self.has(id);
        match id {
            NotebookItemId::Learning(id) => {
                self.learnings.retain(|learning| learning.id != id);
                self.archived_learnings.retain(|old| old.item.id != id);
            }
            NotebookItemId::Snippet(id) => {
                self.snippets.retain(|snippet| snippet.id != id);
                self.archived_snippets.retain(|old| old.item.id != id);
            }
        }
        self.touch(stamp);
        existed
    }

    /// Whether the notebook has an item, shown or archived.
    pub fn has(&self, id: NotebookItemId) -> bool {
        match id {
            NotebookItemId::Learning(id) => {
                self.learnings.iter().any(|learning| learning.id == id)
                    || self.archived_learnings.iter().any(|old| old.item.id == id)
            }
            NotebookItemId::Snippet(id) => {
                self.snippets.iter().any(|snippet| snippet.id == id)
                    || self.archived_snippets.iter().any(|old| old.item.id == id)
            }
        }
    }

    fn touch(&mut self, stamp: Stamp<'_>) {
        (self.version, self.updated_at) = (stamp.rev, stamp.at);
    }
}

/// The archivals of known items, without duplicates, and the IDs of the others.
fn known<T: NotebookItem>(
    shown: &[Arc<T>],
    archivals: &[Archival<T::Id>],
) -> (Vec<Archival<T::Id>>, Vec<NotebookItemId>)
where
    NotebookItemId: From<T::Id>,
{
    let mut taken = BTreeSet::new();
    let (known, unknown): (Vec<_>, Vec<_>) = archivals.iter().cloned().partition(|archival| {
        shown.binary_search_by_key(&archival.id, |item| item.id()).is_ok() && taken.insert(archival.id)
    });
    (known, unknown.into_iter().map(|archival| archival.id.into()).collect())
}

fn archive<T: NotebookItem>(
    shown: &mut Vec<Arc<T>>,
    archived: &mut Vec<Archived<T>>,
    id: T::Id,
    reason: &Arc<str>,
    stamp: Stamp<'_>,
) -> Result<(), FormatError>
where
    NotebookItemId: From<T::Id>,
{
    let found = shown.binary_search_by_key(&id, |item| item.id());
    let index = found.map_err(|_| misfit(format!("there is no {} to archive", NotebookItemId::from(id))))?;
    put_aside(archived, shown.remove(index), reason, stamp);
    Ok(())
}

fn put_aside<T: NotebookItem>(archived: &mut Vec<Archived<T>>, item: Arc<T>, reason: &Arc<str>, stamp: Stamp<'_>) {
    let index = archived.partition_point(|old| old.item.id() < item.id());
    let (archived_because, archived_at): (_, Timestamp) = (reason.clone(), stamp.at);
    archived.insert(index, Archived { item, archived_because, archived_at, archived_by: stamp.principal.into() });
}

fn show<T: NotebookItem>(
    shown: &mut Vec<Arc<T>>,
    archived: &mut Vec<Archived<T>>,
    wanted: &[Arc<T>],
    reason: &Arc<str>,
    stamp: Stamp<'_>,
) {
    let ids: BTreeSet<T::Id> = wanted.iter().map(|item| item.id()).collect();
    archived.retain(|old| !ids.contains(&old.item.id()));
    for item in core::mem::replace(shown, wanted.to_vec()) {
        if !ids.contains(&item.id()) {
            put_aside(archived, item, reason, stamp);
        }
    }
}
