//! Collects the lines of a snippet.
//!
//! All lines that are indented further than the bullet belong to the snippet. A snippet may also be written without
//! indentation ("raw"). Then it continues until a line has the column and shape of a line of the block.

use alloc::string::String;
use alloc::vec::Vec;

use super::line::{self, Bullet, Fence, LineShape, SectionKind, SourceLine, indentation};

/// A snippet that is being parsed.
#[derive(Debug)]
pub(super) struct SnippetDraft<'a> {
    pub label: &'a str,
    pub reason: &'a str,
    pub line: SourceLine<'a>,
    /// The column of the bullet's mark, and the mark.
    bullet: (usize, u8),
    text_column: usize,
    /// Whether to keep the snippet. If its bullet has a problem, the snippet is read to its end and dropped.
    pub keep: bool,
    /// The text after the arrow.
    first: Option<&'a str>,
    lines: Vec<SnippetLine<'a>>,
    raw: bool,
    /// A fence that the snippet opened, and the last column at which it can be closed.
    fence: Option<(Fence, usize)>,
    after_blank: bool,
    has_text: bool,
}

/// The columns of the headers around a snippet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Columns {
    pub section: usize,
    pub list: usize,
}

/// What a line belongs to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineOwner {
    Snippet,
    Block,
    /// Text after the block, which ends it.
    Prose,
}

impl<'a> SnippetDraft<'a> {
    pub(super) fn new(
        line: SourceLine<'a>,
        bullet: Bullet<'_>,
        reason: &'a str,
        label: &'a str,
        first: &'a str,
    ) -> Self {
        let first = (!first.trim_matches([' ', '\t']).is_empty()).then_some(first);
        Self {
            label,
            reason,
            line,
            bullet: (line.indent, bullet.mark),
            text_column: line.indent + bullet.width,
            keep: true,
            first,
            lines: Vec::new(),
            raw: false,
            fence: None,
            after_blank: false,
            has_text: first.is_some(),
        }
    }

    pub(super) fn first_fence(&self) -> Option<Fence> {
        self.first.and_then(|first| line::fence(first.trim()))
    }

    /// Opens a fence on the line of the arrow. Its closing line may have any column.
    pub(super) fn open_first_fence(&mut self, fence: Fence) {
        self.fence = Some((fence, usize::MAX));
    }

    /// Takes a line if it belongs to the snippet. `surroundings` is the context of the snippet, and `can_close` tells
    /// whether a fence is closed on a later line.
    pub(super) fn take(
        &mut self,
        line: &SourceLine<'a>,
        surroundings: &Surroundings<'_>,
        can_close: impl FnOnce(Fence) -> bool,
    ) -> LineOwner {
        if line.is_blank() {
            self.lines.push(SnippetLine::of(line));
            self.after_blank = true;
            return LineOwner::Snippet;
        }
        if let Some((opened, furthest)) = self.fence {
            if line.indent <= furthest && matches!(line.shape(), LineShape::Fence(fence) if fence.closes(opened)) {
                self.fence = None;
            }
            return self.push(line);
        }
        if line.indent > self.bullet.0 {
            return self.push(line);
        }
        if surroundings.is_closed_by(line) {
            return LineOwner::Prose;
        }
        let (shape, columns) = (line.shape(), surroundings.columns);
        match shape {
            LineShape::Bullet(bullet) if !self.raw || (line.indent, bullet.mark) == self.bullet => {
                return LineOwner::Block;
            }
            // In a raw snippet, the same words elsewhere are not a header.
            LineShape::Section(section, _)
                if !self.raw || line.indent == columns.section && line.body.starts_with(SectionKind::name(section)) =>
            {
                return LineOwner::Block;
            }
            LineShape::List(..) if !self.raw || line.indent == columns.list => return LineOwner::Block,
            LineShape::Fence(fence) => {
                let closes = |outer: &OuterFence| fence.closes(outer.fence) && line.indent <= outer.indent;
                if surroundings.fences.iter().any(closes) {
                    return LineOwner::Block;
                }
                if can_close(fence) {
                    self.fence = Some((fence, self.bullet.0));
                }
            }
            _ => {}
        }
        if !self.raw && self.has_text && self.after_blank {
            return LineOwner::Prose;
        }
        self.raw = true;
        self.push(line)
    }

    fn push(&mut self, line: &SourceLine<'a>) -> LineOwner {
        self.lines.push(SnippetLine::of(line));
        self.after_blank = false;
        self.has_text = true;
        LineOwner::Snippet
    }

    /// The snippet byte for byte, without the indentation of the layout and with LF line endings.
    pub(super) fn finish(mut self) -> String {
        // Blank lines at the end belong to the layout, unless they reach the column of the snippet's text.
        while let Some(last) = self.lines.last()
            && last.is_blank
            && last.indent < self.text_column
        {
            self.lines.pop();
        }
        let taken = self.layout();
        let bytes: usize = self.lines.iter().map(|line| line.text.len() + 1).sum();
        let mut text = String::with_capacity(self.first.map_or(0, str::len) + bytes);
        text.push_str(self.first.unwrap_or_default());
        for (index, line) in self.lines.iter().enumerate() {
            if index > 0 || self.first.is_some() {
                text.push('\n');
            }
            let layout = indentation(line.text, taken).1;
            text.push_str(line.text.get(layout..).unwrap_or_default());
        }
        text
    }

    /// The number of columns that the layout indents every line: up to the column of the bullet's text, or less if a
    /// line is indented less. So the relative indentation of the lines is kept.
    ///
    /// If the first line is on the line of the arrow, its column says nothing about the other lines. They keep their
    /// indentation, unless all of them reach the bullet's text or the last one closes what the first one opened.
    fn layout(&self) -> usize {
        let with_text = || self.lines.iter().filter(|line| !line.is_blank);
        let least = with_text().map(|line| line.indent).min().unwrap_or(self.text_column).min(self.text_column);
        let Some(first) = self.first else { return least };
        let is_least = |line: &SnippetLine<'_>| line.indent == least;
        let last_closes = with_text().next_back().is_some_and(|last| is_least(last) && last.closes());
        // A line below `def f():` must be indented further.
        let opens = first.trim_end().ends_with([':', '{', '(', '[']);
        let is_flat = opens && with_text().next().is_some_and(is_least);
        if last_closes || least == self.text_column && !is_flat { least } else { 0 }
    }
}

/// The context of a snippet.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    pub columns: Columns,
    /// The fences around the block, the innermost last.
    pub fences: &'a [OuterFence],
    pub tag: Option<&'a str>,
}

impl Surroundings<'_> {
    /// Whether this line closes the tag around the block. `</notebook>` does, even without an opening tag.
    pub(super) fn is_closed_by(&self, line: &SourceLine<'_>) -> bool {
        let is_ours = |name: &str| name.eq_ignore_ascii_case("notebook") || self.tag == Some(name);
        line.indent <= self.columns.section && matches!(line::tag(line.body), Some((name, true)) if is_ours(name))
    }
}

/// A fence around the block.
#[derive(Debug, Clone, Copy)]
pub(super) struct OuterFence {
    pub fence: Fence,
    pub indent: usize,
    /// The section in which it was opened.
    pub section: Option<SectionKind>,
}

/// A line with its properties.
#[derive(Debug)]
struct SnippetLine<'a> {
    text: &'a str,
    indent: usize,
    is_blank: bool,
}

impl<'a> SnippetLine<'a> {
    fn of(line: &SourceLine<'a>) -> Self {
        Self { text: line.text, indent: line.indent, is_blank: line.is_blank() }
    }

    /// Whether the line begins with a closing bracket or a fence.
    fn closes(&self) -> bool {
        let text = self.text.trim_start();
        text.starts_with(['}', ')', ']']) || line::fence(text.trim_end()).is_some()
    }
}
