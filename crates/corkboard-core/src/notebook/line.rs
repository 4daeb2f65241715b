//! Classifies one line of the notebook format: its indentation and its shape.

/// A section of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionKind {
    Progress,
    Learnings,
    Snippets,
}

/// A list in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListKind {
    Completed,
    InProgress,
    Remaining,
    Add,
    Archive,
}

impl SectionKind {
    const ALL: [Self; 3] = [Self::Progress, Self::Learnings, Self::Snippets];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Progress => "CURRENT_PROGRESS",
            Self::Learnings => "KEY_LEARNINGS",
            Self::Snippets => "VERBATIM_CONTEXT",
        }
    }

    /// The lists that the section may have, for messages.
    pub(super) fn lists(self) -> &'static str {
        match self {
            Self::Progress => "`Completed:`, `In Progress:` or `Remaining:`",
            Self::Learnings | Self::Snippets => "`ADD:` or `ARCHIVE:`",
        }
    }
}

impl ListKind {
    const ALL: [Self; 5] = [Self::Completed, Self::InProgress, Self::Remaining, Self::Add, Self::Archive];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::InProgress => "In Progress",
            Self::Remaining => "Remaining",
            Self::Add => "ADD",
            Self::Archive => "ARCHIVE",
        }
    }

    pub(super) fn is_of(self, section: SectionKind) -> bool {
        matches!(self, Self::Add | Self::Archive) != (section == SectionKind::Progress)
    }
}

/// A line of back-ticks or tildes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub mark: u8,
    pub len: usize,
    /// Whether nothing follows the fence. Only a bare fence can close another one.
    pub bare: bool,
}

impl Fence {
    pub(super) fn closes(self, opened: Self) -> bool {
        self.bare && self.mark == opened.mark && self.len >= opened.len
    }
}

/// The shape of a line, regardless of its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineShape<'a> {
    Blank,
    Fence(Fence),
    /// A separator: a line of dashes, asterisks or the like.
    Rule,
    Section(SectionKind, AfterHeader<'a>),
    List(ListKind, AfterHeader<'a>),
    Bullet(Bullet<'a>),
    /// `(none)`.
    Nothing,
    Text,
}

/// The text after a header's colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterHeader<'a> {
    Nothing,
    /// `(none)`, or another word for it.
    Word(&'a str),
    Text(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bullet<'a> {
    pub mark: u8,
    /// Columns from the mark to the text.
    pub width: usize,
    /// The text, trimmed.
    pub text: &'a str,
}

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceLine<'a> {
    /// The line number, counted from 1.
    pub number: usize,
    pub text: &'a str,
    /// Columns of white space at the beginning.
    pub indent: usize,
    /// The rest, trimmed.
    pub body: &'a str,
}

/// A tab is as wide as one level of indentation, so tabs and spaces mean the same.
pub(super) const TAB: usize = 2;

impl<'a> SourceLine<'a> {
    pub(super) fn new(number: usize, text: &'a str) -> Self {
        // Several carriage returns at the end are one line end, too.
        let text = text.trim_end_matches('\r');
        let (indent, bytes) = indentation(text, usize::MAX);
        let body = text.get(bytes..).unwrap_or_default().trim();
        Self { number, text, indent, body }
    }

    /// The byte position of a part of the line.
    pub(super) fn byte_of(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize).min(self.text.len())
    }

    pub(super) fn is_blank(&self) -> bool {
        self.body.is_empty()
    }

    pub(super) fn shape(&self) -> LineShape<'a> {
        let body = self.body;
        let Some(&first) = body.as_bytes().first() else { return LineShape::Blank };
        match first {
            b'-' | b'*' | b'_' | b'=' if is_rule(body, first) => return LineShape::Rule,
            _ => {
                if let Some(fence) = fence(body) {
                    return LineShape::Fence(fence);
                }
            }
        }
        if let Some(bullet) = bullet(body) {
            return match header(bullet.text) {
                // A list header written as a bullet, with its own bullets below.
                Some(LineShape::List(list, after @ (AfterHeader::Nothing | AfterHeader::Word(_)))) => {
                    LineShape::List(list, after)
                }
                _ => LineShape::Bullet(bullet),
            };
        }
        if is_nothing(body) {
            return LineShape::Nothing;
        }
        header(body).unwrap_or(LineShape::Text)
    }
}

/// The columns and bytes of white space at the beginning, at most `at_most` columns.
pub(super) fn indentation(text: &str, at_most: usize) -> (usize, usize) {
    let (mut columns, mut bytes) = (0, 0);
    for byte in text.bytes() {
        let width = match byte {
            b' ' => 1,
            b'\t' => TAB,
            _ => break,
        };
        if columns + width > at_most {
            break;
        }
        columns += width;
        bytes += 1;
    }
    (columns, bytes)
}

pub(super) fn fence(body: &str) -> Option<Fence> {
    let mark = *body.as_bytes().first()?;
    if mark != b'`' && mark != b'~' {
        return None;
    }
    let len = body.bytes().take_while(|byte| *byte == mark).count();
    let rest = body.get(len..)?;
    // Inline code is not a fence.
    (len >= 3 && !rest.contains('`')).then_some(Fence { mark, len, bare: rest.is_empty() })
}

fn is_rule(body: &str, mark: u8) -> bool {
    body.len() >= 3 && body.bytes().all(|byte| byte == mark)
}

pub(super) fn bullet(body: &str) -> Option<Bullet<'_>> {
    let mark = *body.as_bytes().first()?;
    let len = match mark {
        b'-' | b'*' | b'+' => 1,
        b'0'..=b'9' => {
            let digits = body.bytes().take_while(u8::is_ascii_digit).count();
            matches!(body.as_bytes().get(digits), Some(b'.' | b')')).then_some(digits + 1).filter(|_| digits <= 3)?
        }
        _ if body.starts_with('•') => '•'.len_utf8(),
        _ => return None,
    };
    let rest = body.get(len..)?;
    let columns = body.get(..len)?.chars().count();
    let (spaces, bytes) = indentation(rest, usize::MAX);
    // A dash may touch its text. An asterisk would be emphasis and a number a version.
    let touches = mark == b'-' && rest.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if bytes == 0 && !rest.is_empty() && !touches {
        return None;
    }
    Some(Bullet { mark, width: columns + spaces, text: rest.trim() })
}

/// Whether it is `(none)` or `(no change)`, in the forms that models write.
pub(super) fn is_nothing(text: &str) -> bool {
    is_none(text) || is_one_of(text, &["no change", "no changes"])
}

/// Whether it is `(none)`, in the forms that models write.
pub(super) fn is_none(text: &str) -> bool {
    is_one_of(text, &["none", "nothing", "empty", "n/a"])
}

fn is_one_of(text: &str, words: &[&str]) -> bool {
    // No form is longer than this, including brackets and a full stop.
    if text.len() > 16 {
        return false;
    }
    let text = text.trim_matches(['*', '_']).trim_end_matches('.');
    let inner = text.strip_prefix(['(', '[']).and_then(|text| text.strip_suffix([')', ']'])).unwrap_or(text);
    words.iter().any(|word| inner.eq_ignore_ascii_case(word))
}

/// An XML tag alone on its line: its name, and whether it is a closing tag.
pub(super) fn tag(body: &str) -> Option<(&str, bool)> {
    let inside = body.strip_prefix('<')?.strip_suffix('>')?;
    let (text, closes) = inside.strip_prefix('/').map_or((inside, false), |text| (text, true));
    let name = text.split([' ', '\t']).next().unwrap_or_default();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    (is_name && !text.contains(['<', '>'])).then_some((name, closes))
}

/// The header of a section or list, such as `ADD:`, `## Key Learnings` or `**In Progress:**`.
fn header(body: &str) -> Option<LineShape<'_>> {
    let undecorated = body.trim_start_matches('#');
    let heading = undecorated.len() < body.len();
    let text = undecorated.trim_start().trim_start_matches(['*', '_', '`']);
    let decorated = heading || text.len() < undecorated.trim_start().len();
    // Fast path: the names begin with one of these letters, most lines do not.
    if !text.bytes().next().is_some_and(|byte| b"cCkKvViIrRaA".contains(&byte)) {
        return None;
    }
    let (name, after) = match text.split_once(':') {
        Some((name, after)) => (name, Some(after)),
        None => (text, None),
    };
    // All names are shorter than this, including their decoration.
    if name.len() > 24 {
        return None;
    }
    let name = name.trim_end_matches(['*', '_', '`', ' ', '\t']);
    let rest = after.unwrap_or_default().trim_start_matches(['*', '_', '`']).trim();
    let rest = match rest {
        "" => AfterHeader::Nothing,
        word if is_nothing(word) => AfterHeader::Word(word),
        text => AfterHeader::Text(text),
    };
    if let Some(section) = SectionKind::ALL.into_iter().find(|section| is_name(name, section.name())) {
        // The same words in a sentence are not a header.
        let exact = name == section.name();
        let is_header = match rest {
            AfterHeader::Nothing | AfterHeader::Word(_) => after.is_some() || decorated || exact,
            AfterHeader::Text(_) => exact && after.is_some(),
        };
        return is_header.then_some(LineShape::Section(section, rest));
    }
    let list = ListKind::ALL.into_iter().find(|list| is_name(name, list.name()))?;
    (after.is_some() || decorated).then_some(LineShape::List(list, rest))
}

/// Whether it is the name in any letter case, with spaces, underscores or hyphens between the words.
fn is_name(text: &str, name: &str) -> bool {
    let same = |byte: u8| match byte {
        b'_' | b'-' => b' ',
        other => other.to_ascii_lowercase(),
    };
    text.len() == name.len() && text.bytes().map(same).eq(name.bytes().map(same))
}
