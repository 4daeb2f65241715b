//! The parser of the notebook format. It reads a text line by line, in one pass, into operations and problems.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::bullet::{self, after_because, without_checkbox};
use super::fences::LastFences;
use super::line::{
    self, AfterHeader, Bullet, Fence, LineShape, ListKind, SectionKind, SourceLine, is_none, is_nothing,
};
use super::snippet::{Columns, LineOwner, OuterFence, SnippetDraft, Surroundings};
use super::{Block, NotebookItemId, NotebookProblem, NotebookProblemKind, Progress};

/// A parsed text: its operations and its problems.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parsed {
    pub block: Block,
    /// The problems, in line order. The block is only reliable if there are no errors.
    pub problems: Vec<NotebookProblem>,
    /// The positions of the IDs to archive: the line number, the byte in the line, and the line's text.
    pub(super) places: BTreeMap<NotebookItemId, (usize, usize, Arc<str>)>,
}

impl Parsed {
    /// The maximum number of listed problems.
    pub const PROBLEMS: usize = 50;
    /// A text that adds more learnings than this gets a warning.
    pub const LEARNINGS: usize = 3;

    /// Whether an error prevents the block from being applied.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(NotebookProblem::is_error)
    }

    /// The problem that an ID is unknown, at the position where the text names it.
    pub fn unknown(&self, id: NotebookItemId, known: &str) -> NotebookProblem {
        let (line, byte, text) = self.places.get(&id).cloned().unwrap_or_else(|| (1, 0, "".into()));
        let message = format!("there is no {id} to archive; {known}");
        NotebookProblem::new(NotebookProblemKind::UnknownId, line, &text, byte, message)
    }
}

/// Parses a text. It may contain prose and code fences around the block.
pub fn parse(text: &str) -> Parsed {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser::new(text);
    for (index, line) in text.split('\n').enumerate() {
        parser.line(SourceLine::new(index + 1, line));
    }
    parser.finish()
}

pub(super) struct Parser<'a> {
    text: &'a str,
    section: Option<SectionKind>,
    list: Option<ListKind>,
    columns: Columns,
    /// A snippet that has not ended yet.
    pub(super) snippet: Option<SnippetDraft<'a>>,
    last: Last,
    pub(super) after_blank: bool,
    /// The fences around the block, the innermost last.
    fences: Vec<OuterFence>,
    /// The last tag before the block.
    tag: Option<&'a str>,
    last_fences: Option<LastFences>,
    progress: Option<ProgressDraft<'a>>,
    seen_section: bool,
    pub(super) parsed: Parsed,
}

/// The last bullet. A more deeply indented line below belongs to it.
#[derive(Clone, Copy)]
enum Last {
    None,
    Bullet { column: usize, list: ListKind, reported: bool },
}

struct ProgressDraft<'a> {
    header: SourceLine<'a>,
    lists: [Vec<String>; 3],
    /// Whether a bullet had a problem. Then a missing bullet is not reported as well.
    faulty: bool,
    /// Whether the text says that nothing is in progress.
    finished: bool,
}

fn closes_later(last_fences: &mut Option<LastFences>, text: &str, fence: Fence, line: &SourceLine<'_>) -> bool {
    last_fences.get_or_insert_with(|| LastFences::of(text)).closes_after(fence, line.number)
}

impl<'a> Parser<'a> {
    /// The maximum number of nested fences. Further ones are ignored, so that a hostile text cannot slow the parser
    /// down.
    const FENCES: usize = 8;

    fn new(text: &'a str) -> Self {
        Self {
            text,
            section: None,
            list: None,
            columns: Columns::default(),
            snippet: None,
            last: Last::None,
            after_blank: true,
            fences: Vec::new(),
            tag: None,
            last_fences: None,
            progress: None,
            seen_section: false,
            parsed: Parsed::default(),
        }
    }

    fn line(&mut self, line: SourceLine<'a>) {
        if let Some(mut draft) = self.snippet.take() {
            let Self { text, last_fences, fences, tag, columns, .. } = self;
            let surroundings = Surroundings { columns: *columns, fences, tag: *tag };
            match draft.take(&line, &surroundings, |fence| closes_later(last_fences, text, fence, &line)) {
                LineOwner::Snippet => {
                    self.snippet = Some(draft);
                    return;
                }
                LineOwner::Block => self.end_snippet(draft),
                LineOwner::Prose => {
                    self.end_snippet(draft);
                    return self.leave();
                }
            }
        }
        let shape = line.shape();
        match shape {
            LineShape::Blank => {
                self.after_blank = true;
                return;
            }
            LineShape::Rule => {}
            LineShape::Nothing => self.nothing(line.body),
            LineShape::Fence(fence) => self.fence(&line, fence),
            LineShape::Section(section, after) => self.begin_section(line, section, after),
            LineShape::List(list, after) => self.begin_list(&line, list, after),
            LineShape::Bullet(bullet) if self.section.is_none() => self.stray_bullet(&line, bullet),
            LineShape::Bullet(bullet) => self.bullet(line, bullet),
            LineShape::Text => self.text(&line),
        }
        self.after_blank = false;
    }

    fn fence(&mut self, line: &SourceLine<'a>, fence: Fence) {
        if let Some(index) = self.fences.iter().rposition(|outer| fence.closes(outer.fence)) {
            let opened_in = self.fences.get(index).and_then(|outer| outer.section);
            self.fences.truncate(index);
            // A fence inside a section does not end the section.
            if opened_in != self.section {
                self.leave();
            }
        } else if self.fences.len() < Self::FENCES {
            self.fences.push(OuterFence { fence, indent: line.indent, section: self.section });
        }
    }

    /// Whether a fence that opens on this line is closed on a later one.
    pub(super) fn closes_later(&mut self, fence: Fence, line: &SourceLine<'a>) -> bool {
        closes_later(&mut self.last_fences, self.text, fence, line)
    }

    /// Handles `(none)` in place of a list's bullets.
    fn nothing(&mut self, word: &str) {
        if let (Some(ListKind::InProgress), Some(progress)) = (self.list, &mut self.progress) {
            progress.finished |= is_none(word);
        }
    }

    fn leave(&mut self) {
        (self.section, self.list, self.last) = (None, None, Last::None);
    }

    fn begin_section(&mut self, line: SourceLine<'a>, section: SectionKind, after: AfterHeader<'a>) {
        self.leave();
        (self.section, self.seen_section, self.columns.section) = (Some(section), true, line.indent);
        if section == SectionKind::Progress {
            let draft = ProgressDraft { header: line, lists: Default::default(), faulty: false, finished: false };
            if let Some(before) = self.progress.replace(draft) {
                let message = format!("a second CURRENT_PROGRESS replaces the one in line {}", before.header.number);
                self.problem(NotebookProblemKind::ProgressTwice, &line, line.body, message);
            }
        }
        if let AfterHeader::Text(text) = after {
            let message = format!("nothing may follow `{}:` on its line; expected {}", section.name(), section.lists());
            self.problem(NotebookProblemKind::TextAfterHeader, &line, text, message);
        }
    }

    fn begin_list(&mut self, line: &SourceLine<'a>, list: ListKind, after: AfterHeader<'a>) {
        let Some(section) = self.section else {
            // Prose may contain this word with a colon, but not alone on a line.
            if !matches!(after, AfterHeader::Text(_)) && self.seen_section {
                let message = format!("`{}:` is outside of every section and is ignored", list.name());
                self.problem(NotebookProblemKind::OutsideSection, line, line.body, message);
            }
            return;
        };
        (self.list, self.last, self.columns.list) = (Some(list), Last::None, line.indent);
        if !list.is_of(section) {
            self.list = None;
            let message =
                format!("`{}:` does not belong in {}; expected {}", list.name(), section.name(), section.lists());
            self.mark_faulty();
            self.problem(NotebookProblemKind::MisplacedList, line, line.body, message);
        } else if let AfterHeader::Text(text) = after {
            self.mark_faulty();
            let message =
                format!("nothing may follow `{}:` on its line; begin a bullet below it with `- `", list.name());
            self.problem(NotebookProblemKind::TextAfterHeader, line, text, message);
        } else if let AfterHeader::Word(word) = after {
            self.nothing(word);
        }
    }

    fn stray_bullet(&mut self, line: &SourceLine<'a>, bullet: Bullet<'a>) {
        let id = bullet.text.get(..3).unwrap_or_default();
        let looks_meant = after_because(bullet.text).is_some() || ["KL-", "VC-"].contains(&id);
        if self.seen_section && looks_meant {
            let message = "this bullet is outside of every section and is ignored".to_owned();
            self.problem(NotebookProblemKind::OutsideSection, line, line.body, message);
        }
    }

    fn text(&mut self, line: &SourceLine<'a>) {
        let Some(section) = self.section else {
            if let Some((name, false)) = line::tag(line.body) {
                self.tag = Some(name);
            }
            return;
        };
        if (Surroundings { columns: self.columns, fences: &self.fences, tag: self.tag }).is_closed_by(line) {
            return self.leave();
        }
        if let Last::Bullet { column, list, reported } = self.last
            && line.indent > column
        {
            match (list, self.progress.as_mut()) {
                (ListKind::Completed | ListKind::InProgress | ListKind::Remaining, Some(progress)) => {
                    // The bullet continues on this line.
                    if let Some(bullet) = progress.list(list).last_mut() {
                        bullet.push(' ');
                        bullet.push_str(line.body);
                    }
                }
                _ if reported => {}
                _ => {
                    self.last = Last::Bullet { column, list, reported: true };
                    let (kind, message) = match (section, list) {
                        (SectionKind::Learnings, ListKind::Add) => {
                            (NotebookProblemKind::InsightNotOneLine, "a key learning must stay on one line")
                        }
                        _ => (NotebookProblemKind::UnexpectedText, "an `ARCHIVE` bullet must stay on one line"),
                    };
                    self.problem(kind, line, line.body, message.to_owned());
                }
            }
            return;
        }
        // Unindented text after a blank line is a remark about the block and ends it.
        if self.after_blank && line.indent <= self.columns.section {
            return self.leave();
        }
        self.mark_faulty();
        let expected = match self.list {
            Some(_) => "a bullet that begins with `- `",
            None => section.lists(),
        };
        self.problem(NotebookProblemKind::UnexpectedText, line, line.body, format!("expected {expected}"));
    }

    fn bullet(&mut self, line: SourceLine<'a>, bullet: Bullet<'a>) {
        let Some(section) = self.section else { return };
        let bullet = Bullet { text: without_checkbox(bullet.text), ..bullet };
        let Some(list) = self.list else {
            if is_nothing(bullet.text) {
                return;
            }
            self.mark_faulty();
            let message = format!("a bullet of {} must be under {}", section.name(), section.lists());
            // Reported once, and not at all if the list above was misplaced.
            if !matches!(self.last, Last::Bullet { reported: true, .. }) {
                self.problem(NotebookProblemKind::BulletWithoutList, &line, line.body, message);
            }
            self.last = Last::Bullet { column: line.indent, list: ListKind::Archive, reported: true };
            return;
        };
        if is_nothing(bullet.text) {
            return self.nothing(bullet.text);
        }
        self.last = Last::Bullet { column: line.indent, list, reported: false };
        if bullet.text.is_empty() {
            self.mark_faulty();
            return self.problem(
                NotebookProblemKind::EmptyBullet,
                &line,
                line.body,
                "this bullet has no text".to_owned(),
            );
        }
        match (section, list) {
            (SectionKind::Learnings, ListKind::Add) => self.add_learning(&line, bullet),
            (SectionKind::Snippets, ListKind::Add) => self.add_snippet(line, bullet),
            (SectionKind::Learnings | SectionKind::Snippets, _) => self.archive(&line, section, bullet),
            (SectionKind::Progress, list) => {
                if let Some(progress) = &mut self.progress {
                    progress.list(list).push(bullet.text.to_owned());
                }
            }
        }
    }

    /// Notes that a line of `CURRENT_PROGRESS` could not be parsed. It may be what would otherwise be missing.
    fn mark_faulty(&mut self) {
        if let (Some(SectionKind::Progress), Some(progress)) = (self.section, &mut self.progress) {
            progress.faulty = true;
        }
    }

    /// Adds a problem at a part of the line.
    pub(super) fn problem(&mut self, kind: NotebookProblemKind, line: &SourceLine<'a>, at: &str, message: String) {
        let problems = &mut self.parsed.problems;
        if problems.len() < Parsed::PROBLEMS {
            problems.push(NotebookProblem::new(kind, line.number, line.text, line.byte_of(at), message));
        } else if problems.len() == Parsed::PROBLEMS {
            let message = "there are more problems from here on, which are not listed".to_owned();
            problems.push(NotebookProblem::new(
                NotebookProblemKind::More,
                line.number,
                line.text,
                line.byte_of(at),
                message,
            ));
        }
    }

    fn finish(mut self) -> Parsed {
        if let Some(draft) = self.snippet.take() {
            self.end_snippet(draft);
        }
        let first = SourceLine::new(1, self.text.split('\n').next().unwrap_or_default());
        if !self.seen_section {
            let message =
                "no section found: write CURRENT_PROGRESS:, KEY_LEARNINGS: or VERBATIM_CONTEXT: on a line of its own";
            self.problem(NotebookProblemKind::NoSection, &first, first.body, message.to_owned());
        }
        if let Some(ProgressDraft { header, lists, faulty, finished }) = self.progress.take() {
            let [completed, in_progress, remaining] = lists.map(|list| list.into_iter().map(Arc::from).collect());
            let progress = Progress { completed, in_progress, remaining };
            if progress.in_progress.is_empty() && !faulty && !(finished && progress.remaining.is_empty()) {
                let message =
                    "CURRENT_PROGRESS needs at least one bullet under `In Progress:`; write `(none)` there only if \
                               the task is finished and nothing remains"
                        .to_owned();
                self.problem(NotebookProblemKind::NothingInProgress, &header, header.body, message);
            }
            // Joined lines can form a line that would be parsed as something else.
            if let Some(bullet) = progress.bullets().find(|bullet| !bullet::is_readable_new_bullet(bullet)) {
                let message =
                    format!("{bullet:?} cannot be a bullet of CURRENT_PROGRESS: it would be parsed as something else");
                self.problem(NotebookProblemKind::UnexpectedText, &header, header.body, message);
            }
            self.parsed.block.progress = Some(progress);
        }
        // Problems that are found at the end are sorted to their lines.
        self.parsed.problems.sort_by_key(|problem| (problem.kind == NotebookProblemKind::More, problem.line));
        self.parsed
    }
}

impl ProgressDraft<'_> {
    fn list(&mut self, list: ListKind) -> &mut Vec<String> {
        let [completed, in_progress, remaining] = &mut self.lists;
        match list {
            ListKind::Completed => completed,
            ListKind::Remaining => remaining,
            ListKind::InProgress | ListKind::Add | ListKind::Archive => in_progress,
        }
    }
}
