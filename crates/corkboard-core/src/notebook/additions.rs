//! Parses the bullets of `ADD` and `ARCHIVE`.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::sync::Arc;

use super::bullet::{self, ArchivalText, after_because, id_in_front, leading_id, split_label, split_reason};
use super::line::{Bullet, SectionKind, SourceLine};
use super::parse::Parser;
use super::snippet::SnippetDraft;
use super::{Archival, NewLearning, NewSnippet, NotebookItemId, NotebookProblem, NotebookProblemKind, Parsed};

impl<'a> Parser<'a> {
    fn reasoned(&mut self, line: &SourceLine<'a>, text: &'a str, content: &str) -> Option<(&'a str, &'a str)> {
        let form = || format!("`- because <reason>: {content}`");
        let Some(rest) = after_because(text) else {
            if let Some((id, _)) = leading_id(text) {
                self.has_id(line, id);
                return None;
            }
            self.problem(NotebookProblemKind::NoReason, line, text, format!("an `ADD` bullet must read {}", form()));
            return None;
        };
        let Some((reason, content)) = split_reason(rest) else {
            let message = format!("there is no `:` after the reason; an `ADD` bullet must read {}", form());
            self.problem(NotebookProblemKind::NoContent, line, rest.get(rest.len()..).unwrap_or_default(), message);
            return None;
        };
        if reason.is_empty() {
            self.problem(
                NotebookProblemKind::NoReason,
                line,
                rest,
                format!("the reason is empty; it must read {}", form()),
            );
            return None;
        }
        if content.is_empty() {
            self.problem(
                NotebookProblemKind::NoContent,
                line,
                content,
                format!("nothing follows the reason; it must read {}", form()),
            );
            return None;
        }
        if let Some(id) = id_in_front(content) {
            self.has_id(line, id);
            return None;
        }
        Some((reason, content))
    }

    fn has_id(&mut self, line: &SourceLine<'a>, id: &str) {
        let message = format!("leave out `{id}`: the IDs of new items are assigned automatically");
        self.problem(NotebookProblemKind::BadId, line, id, message);
    }

    pub(super) fn add_learning(&mut self, line: &SourceLine<'a>, bullet: Bullet<'a>) {
        let Some((reason, text)) = self.reasoned(line, bullet.text, "<one-line insight>") else { return };
        if !bullet::is_readable_learning(reason, text) {
            return self.unclear(line, reason);
        }
        if self.parsed.block.learnings.len() == Parsed::LEARNINGS {
            let message = format!("more than {} learnings at once; keep only the most useful", Parsed::LEARNINGS);
            self.problem(NotebookProblemKind::ManyLearnings, line, line.body, message);
        }
        self.parsed.block.learnings.push(NewLearning { text: text.into(), reason: reason.into() });
    }

    pub(super) fn add_snippet(&mut self, line: SourceLine<'a>, bullet: Bullet<'a>) {
        const FORM: &str = "<label> => <verbatim snippet>";
        let mut draft = SnippetDraft::new(line, bullet, "", "", "");
        draft.keep = false;
        if let Some((reason, content)) = self.reasoned(&line, bullet.text, FORM) {
            // Takes the line untrimmed, because a space at its end may belong to the snippet.
            let content = line.text.get(line.byte_of(content)..).unwrap_or(content);
            match split_label(content) {
                Some((label, first)) if !label.is_empty() => {
                    draft = SnippetDraft::new(line, bullet, reason, label, first);
                    if let Some(fence) = draft.first_fence()
                        && self.closes_later(fence, &line)
                    {
                        draft.open_first_fence(fence);
                    }
                    if !bullet::is_readable_label(reason, label) {
                        self.unclear(&line, reason);
                        draft.keep = false;
                    }
                }
                _ => {
                    let message = format!("a snippet needs a label and an arrow: `- because <reason>: {FORM}`");
                    self.problem(NotebookProblemKind::NoLabel, &line, content, message);
                }
            }
        }
        self.snippet = Some(draft);
    }

    pub(super) fn end_snippet(&mut self, draft: SnippetDraft<'a>) {
        self.after_blank = false;
        if !draft.keep {
            return;
        }
        let (line, label, reason) = (draft.line, draft.label, draft.reason);
        let text = draft.finish();
        if text.trim().is_empty() {
            let message = format!("the snippet {label:?} is empty; it begins after `=>` or on the next line");
            return self.problem(NotebookProblemKind::EmptySnippet, &line, label, message);
        }
        let (label, reason) = (label.into(), reason.into());
        self.parsed.block.snippets.push(NewSnippet { label, text: text.into(), reason });
    }

    fn unclear(&mut self, line: &SourceLine<'a>, reason: &'a str) {
        let message = "a quote or bracket in the reason is not closed before its `:`".to_owned();
        self.problem(NotebookProblemKind::UnclearReason, line, reason, message);
    }

    pub(super) fn archive(&mut self, line: &SourceLine<'a>, section: SectionKind, bullet: Bullet<'a>) {
        let kind = if section == SectionKind::Learnings { "KL" } else { "VC" };
        let form = || format!("`- {kind}-<number> because <reason>`");
        let (id, reason) = match bullet::archival(bullet.text) {
            ArchivalText::Read { id, reason } => (id, reason),
            ArchivalText::NoReason { at } => {
                let message = format!("an `ARCHIVE` bullet needs a reason and must read {}", form());
                return self.problem(NotebookProblemKind::NoReason, line, at, message);
            }
            ArchivalText::NoId { at } => {
                let message = format!("an `ARCHIVE` bullet must read {}", form());
                return self.problem(NotebookProblemKind::BadId, line, at, message);
            }
        };
        let item = match (id.parse::<NotebookItemId>(), section) {
            (Ok(item @ NotebookItemId::Learning(_)), SectionKind::Learnings) => item,
            (Ok(item @ NotebookItemId::Snippet(_)), SectionKind::Snippets) => item,
            _ => {
                let message = format!("expected an ID such as {kind}-1: an `ARCHIVE` bullet here must read {}", form());
                return self.problem(NotebookProblemKind::BadId, line, id, message);
            }
        };
        if !bullet::is_readable_archival(reason) {
            return self.unclear(line, reason);
        }
        if self.parsed.places.contains_key(&item) {
            return self.problem(NotebookProblemKind::RepeatedId, line, id, format!("{item} is already archived"));
        }
        self.parsed.places.insert(item, (line.number, line.byte_of(id), shortened(line.text)));
        let reason = reason.into();
        match item {
            NotebookItemId::Learning(id) => {
                self.parsed.block.archived_learnings.push(Archival { id, reason });
            }
            NotebookItemId::Snippet(id) => self.parsed.block.archived_snippets.push(Archival { id, reason }),
        }
    }
}

/// The part of a line that an excerpt may show. IDs are near the start of a line, so the rest is not needed.
fn shortened(text: &str) -> Arc<str> {
    let end = text.char_indices().nth(NotebookProblem::EXCERPT).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text).into()
}
