//! What is wrong with a text, and where.

use alloc::string::String;
use core::fmt;

use serde::Serialize;

/// Something wrong in a text, in words that can be shown to a person or sent back to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NotebookProblem {
    /// The line, from 1.
    pub line: usize,
    /// The character in that line, from 1. A tab is one character.
    pub column: usize,
    /// Whether the text can be taken as it is.
    pub severity: NotebookSeverity,
    /// What kind of problem it is.
    pub kind: NotebookProblemKind,
    /// What is wrong and what would be right.
    pub message: String,
    /// The line, or the part of a long one around the place.
    pub excerpt: String,
    /// The character in the excerpt, from 1.
    pub excerpt_column: usize,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotebookSeverity {
    /// Nothing is applied.
    Error,
    /// It is applied, but someone should know.
    Warning,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotebookProblemKind {
    /// There is no section in the whole text.
    NoSection,
    /// `CURRENT_PROGRESS` without a bullet under `In Progress`.
    NothingInProgress,
    /// A list that does not belong to its section.
    MisplacedList,
    /// Text after the colon of a header.
    TextAfterHeader,
    /// A line that is neither a bullet nor a header.
    UnexpectedText,
    /// A bullet outside of every list.
    BulletWithoutList,
    /// A bullet without text.
    EmptyBullet,
    /// A bullet without `because`, or with nothing after it.
    NoReason,
    /// An addition with nothing after its reason.
    NoContent,
    /// A reason that would not be read back as it is.
    UnclearReason,
    /// A learning of more than one line.
    InsightNotOneLine,
    /// A snippet without `label =>`.
    NoLabel,
    /// A snippet with nothing in it.
    EmptySnippet,
    /// An archival that names no ID or one of the other section, or a new item that has an ID.
    BadId,
    /// An id that the notebook does not have.
    UnknownId,
    /// An id that the same text archives already.
    RepeatedId,
    /// More additions at once than are likely to be worth it.
    ManyLearnings,
    /// A second `CURRENT_PROGRESS`; it replaces the first.
    ProgressTwice,
    /// Something like a part of the block, where it is not looked for.
    OutsideSection,
    /// There are more problems than are listed.
    More,
}

impl NotebookProblemKind {
    pub fn severity(self) -> NotebookSeverity {
        match self {
            Self::RepeatedId | Self::ManyLearnings | Self::ProgressTwice | Self::OutsideSection => {
                NotebookSeverity::Warning
            }
            _ => NotebookSeverity::Error,
        }
    }
}

impl NotebookProblem {
    /// The longest excerpt, in characters.
    pub const EXCERPT: usize = 160;

    pub(super) fn new(kind: NotebookProblemKind, line: usize, text: &str, byte: usize, message: String) -> Self {
        let column = text.get(..byte).unwrap_or(text).chars().count() + 1;
        // Of a long line, the part around the place.
        let skipped = if text.len() <= Self::EXCERPT { 0 } else { column.saturating_sub(Self::EXCERPT / 2) };
        let excerpt = text.chars().skip(skipped).take(Self::EXCERPT).collect();
        Self { line, column, severity: kind.severity(), kind, message, excerpt, excerpt_column: column - skipped }
    }

    /// Whether nothing may be applied because of it.
    pub fn is_error(&self) -> bool {
        self.severity == NotebookSeverity::Error
    }
}

impl fmt::Display for NotebookProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.is_error() { "" } else { "warning: " };
        write!(f, "line {}, column {}: {severity}{}", self.line, self.column, self.message)
    }
}
