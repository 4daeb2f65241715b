//! The lines of a snippet, while they are read.
//!
//! Lines that are indented further than the bullet are the snippet's, whatever they look like. A snippet may also be
//! written without indentation ("raw"); then it goes on until something stands where a block's own lines stand.

use alloc::string::String;
use alloc::vec::Vec;

use super::line::{Bullet, Fence, Line, Section, Shape, indentation};

/// A snippet that is being read.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub label: &'a str,
    pub reason: &'a str,
    /// Where the bullet stands.
    pub line: Line<'a>,
    /// The column of its mark, and the mark.
    bullet: (usize, u8),
    /// The column of its text.
    text_column: usize,
    /// Whether it becomes a snippet: one whose bullet is wrong is read to its end and left out.
    pub keep: bool,
    /// What follows the arrow.
    first: Option<&'a str>,
    lines: Vec<Part<'a>>,
    raw: bool,
    /// A fence that a raw snippet opened.
    fence: Option<Fence>,
    after_blank: bool,
    has_text: bool,
}

/// The columns at which the headers around a snippet stand.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Columns {
    pub section: usize,
    pub list: usize,
}

/// Whose a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Snippet,
    Block,
    /// Nobody's: the block has ended, and this is said about it.
    Prose,
}

impl<'a> Draft<'a> {
    pub(super) fn new(line: Line<'a>, bullet: Bullet<'_>, reason: &'a str, label: &'a str, first: &'a str) -> Self {
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

    /// Takes a line if it is the snippet's. `outer` is the fence around the whole block; `can_close` tells whether a fence
    /// is closed further down.
    pub(super) fn take(
        &mut self,
        line: &Line<'a>,
        columns: Columns,
        outer: Option<(Fence, usize)>,
        can_close: impl FnOnce(Fence) -> bool,
    ) -> Whose {
        if line.is_blank() {
            self.lines.push(Part::of(line));
            self.after_blank = true;
            return Whose::Snippet;
        }
        if line.indent > self.bullet.0 {
            return self.push(line);
        }
        let shape = line.shape();
        if let Some(opened) = self.fence {
            if matches!(shape, Shape::Fence(fence) if fence.closes(opened)) {
                self.fence = None;
            }
            return self.push(line);
        }
        match shape {
            Shape::Bullet(bullet) if !self.raw || (line.indent, bullet.mark) == self.bullet => return Whose::Block,
            // As words of a raw text they are no header.
            Shape::Section(section, _)
                if !self.raw || line.indent == columns.section && line.body.starts_with(Section::name(section)) =>
            {
                return Whose::Block;
            }
            Shape::List(..) if !self.raw || line.indent == columns.list => return Whose::Block,
            Shape::Fence(fence) => {
                if outer.is_some_and(|(opened, indent)| fence.closes(opened) && line.indent <= indent) {
                    return Whose::Block;
                }
                if can_close(fence) {
                    self.fence = Some(fence);
                }
            }
            _ => {}
        }
        if !self.raw && self.has_text && self.after_blank {
            return Whose::Prose;
        }
        self.raw = true;
        self.push(line)
    }

    fn push(&mut self, line: &Line<'a>) -> Whose {
        self.lines.push(Part::of(line));
        self.after_blank = false;
        self.has_text = true;
        Whose::Snippet
    }

    /// The snippet, byte for byte, less the bullet's text column; line ends as LF. Where a line is indented less than that,
    /// all lines lose so much less, so that they keep their places to each other.
    pub(super) fn finish(mut self) -> String {
        // Blank lines after it belong to the layout, unless they reach the column of its text.
        while let Some(last) = self.lines.last()
            && last.is_blank
            && last.indent < self.text_column
        {
            self.lines.pop();
        }
        let with_text = self.lines.iter().filter(|line| !line.is_blank);
        let taken = with_text.map(|line| line.indent).min().unwrap_or(self.text_column).min(self.text_column);
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
}

/// A line, and what was seen of it.
#[derive(Debug)]
struct Part<'a> {
    text: &'a str,
    indent: usize,
    is_blank: bool,
}

impl<'a> Part<'a> {
    fn of(line: &Line<'a>) -> Self {
        Self { text: line.text, indent: line.indent, is_blank: line.is_blank() }
    }
}
