//! Checks that a notebook's content is within the limits and can be printed and parsed again.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::bullet::{
    id_in_front, is_readable_archival, is_readable_bullet, is_readable_label, is_readable_learning,
    is_readable_new_bullet, is_readable_snippet,
};
use super::{Block, NewLearning, NewSnippet, Notebook, NotebookContent, NotebookItemId, Progress};
use crate::{LimitName, Limits, Refusal};

impl Notebook {
    /// Checks a notebook that comes from outside by the same rules as new content.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        self.content(0).check(limits)?;
        let archived = self.archived_learnings.len() + self.archived_snippets.len();
        Limits::check(LimitName::ArchivedPerNotebook, archived as u64, limits.archived_per_notebook)?;
        let learnings = self.archived_learnings.iter().map(|old| (&old.archived_because, &old.archived_by));
        let snippets = self.archived_snippets.iter().map(|old| (&old.archived_because, &old.archived_by));
        for (reason, by) in learnings.chain(snippets) {
            check_archival(reason, limits)?;
            crate::id::check_principal("archived by", by, limits)?;
        }
        let items = NotebookContent {
            learnings: self.archived_learnings.iter().map(|old| old.item.clone()).collect(),
            snippets: self.archived_snippets.iter().map(|old| old.item.clone()).collect(),
            ..NotebookContent::default()
        };
        items.check_items(limits)
    }

    /// Why the notebook is invalid, if it is: an ID that is duplicate, out of order, or above the last assigned one.
    pub(crate) fn contradiction(&self) -> Option<String> {
        /// IDs stay below this, so that there is always a next ID.
        const NUMBERS: u64 = u64::MAX / 2;
        if self.last_learning.0.max(self.last_snippet.0) > NUMBERS {
            return Some("its last IDs are out of range".into());
        }
        let shown = self.learnings.iter().map(|learning| NotebookItemId::from(learning.id)).collect::<Vec<_>>();
        let archived = self.archived_learnings.iter().map(|old| NotebookItemId::from(old.item.id)).collect::<Vec<_>>();
        let snippets = self.snippets.iter().map(|snippet| NotebookItemId::from(snippet.id)).collect::<Vec<_>>();
        let old_snippets =
            self.archived_snippets.iter().map(|old| NotebookItemId::from(old.item.id)).collect::<Vec<_>>();
        let mut seen = BTreeSet::new();
        for list in [shown, archived, snippets, old_snippets] {
            if !list.is_sorted() {
                return Some("its items are out of order".into());
            }
            if let Some(twice) = list.into_iter().find(|id| !seen.insert(*id)) {
                return Some(format!("{twice} is listed twice"));
            }
        }
        let beyond = |id: &&NotebookItemId| match id {
            NotebookItemId::Learning(id) => *id > self.last_learning,
            NotebookItemId::Snippet(id) => *id > self.last_snippet,
        };
        seen.iter().find(beyond).map(|id| format!("{id} is above the last assigned ID"))
    }
}

impl NotebookContent {
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Refusal> {
        if !self.progress.is_empty() {
            check_progress(&self.progress, limits)?;
        }
        Limits::check(LimitName::LearningsPerNotebook, self.learnings.len() as u64, limits.learnings_per_notebook)?;
        Limits::check(LimitName::SnippetsPerNotebook, self.snippets.len() as u64, limits.snippets_per_notebook)?;
        self.check_items(limits)
    }

    fn check_items(&self, limits: &Limits) -> Result<(), Refusal> {
        for learning in &self.learnings {
            check_learning(&learning.text, &learning.reason, limits)?;
            crate::id::check_principal("added by", &learning.added_by, limits)?;
        }
        for snippet in &self.snippets {
            check_snippet(&snippet.label, &snippet.text, &snippet.reason, limits)?;
            crate::id::check_principal("added by", &snippet.added_by, limits)?;
        }
        Ok(())
    }
}

pub(super) fn check_block(block: &Block, limits: &Limits) -> Result<(), Refusal> {
    if let Some(progress) = &block.progress {
        check_progress(progress, limits)?;
        for bullet in progress.bullets() {
            readable(is_readable_new_bullet(bullet), "progress bullet", bullet)?;
        }
    }
    for NewLearning { text, reason } in &block.learnings {
        check_learning(text, reason, limits)?;
        readable(id_in_front(text).is_none(), "learning", text)?;
    }
    for NewSnippet { label, text, reason } in &block.snippets {
        check_snippet(label, text, reason, limits)?;
        readable(id_in_front(label).is_none(), "snippet", label)?;
    }
    let reasons = block.archived_learnings.iter().map(|old| &old.reason);
    reasons
        .chain(block.archived_snippets.iter().map(|old| &old.reason))
        .try_for_each(|reason| check_archival(reason, limits))
}

fn check_progress(progress: &Progress, limits: &Limits) -> Result<(), Refusal> {
    if progress.in_progress.is_empty() && !progress.remaining.is_empty() {
        return Err(Refusal::Blank { what: "`In Progress`".into() });
    }
    Limits::check(LimitName::ProgressBullets, progress.bullets().count() as u64, limits.progress_bullets)?;
    for bullet in progress.bullets() {
        check_line(bullet, limits)?;
        readable(is_readable_bullet(bullet), "progress bullet", bullet)?;
    }
    Ok(())
}

fn check_learning(text: &str, reason: &str, limits: &Limits) -> Result<(), Refusal> {
    check_line(text, limits)?;
    check_line(reason, limits)?;
    readable(is_readable_learning(reason, text), "learning", text)
}

fn check_snippet(label: &str, text: &str, reason: &str, limits: &Limits) -> Result<(), Refusal> {
    check_line(label, limits)?;
    check_line(reason, limits)?;
    Limits::check(LimitName::SnippetBytes, text.len() as u64, limits.snippet_bytes)?;
    readable(is_readable_label(reason, label) && is_readable_snippet(text), "snippet", label)
}

fn check_archival(reason: &str, limits: &Limits) -> Result<(), Refusal> {
    check_line(reason, limits)?;
    readable(is_readable_archival(reason), "reason", reason)
}

fn check_line(line: &str, limits: &Limits) -> Result<(), Refusal> {
    Limits::check(LimitName::NotebookLineBytes, line.len() as u64, limits.notebook_line_bytes)
}

/// Refuses a text that would be parsed as something else once it is printed.
fn readable(readable: bool, what: &'static str, text: &str) -> Result<(), Refusal> {
    let shown = || text.chars().take(80).collect();
    if readable { Ok(()) } else { Err(Refusal::Unreadable { what: what.into(), text: shown() }) }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec;

    use super::super::{Learning, NotebookLearningId};
    use super::*;

    /// Stores of earlier versions contain texts with checkboxes and IDs, which are now removed or refused.
    #[test]
    fn checkboxes_and_ids_are_refused_in_what_is_new_and_accepted_in_what_is_restored() {
        let limits = Limits::default();
        let progress = Progress { in_progress: vec!["[x] done".into()], ..Progress::default() };
        let learning = NewLearning { text: "KL-2: x".into(), reason: "r".into() };
        for block in [
            Block { progress: Some(progress.clone()), ..Block::default() },
            Block { learnings: vec![learning], ..Block::default() },
        ] {
            assert!(matches!(check_block(&block, &limits), Err(Refusal::Unreadable { .. })), "{block:?}");
        }
        let id = NotebookLearningId(1);
        let (text, reason, added_by) = ("KL-2: x".into(), "r".into(), "me".into());
        let learning = Arc::new(Learning { id, text, reason, added_by, added_at: jiff::Timestamp::UNIX_EPOCH });
        let notebook = Notebook { progress, learnings: vec![learning], last_learning: id, ..Notebook::default() };
        assert_eq!(notebook.check(&limits), Ok(()));
    }
}
