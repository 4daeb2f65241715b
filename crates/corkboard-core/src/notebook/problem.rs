//! Problems in a text in the notebook format, with their positions.

use alloc::string::String;
use core::fmt;

use serde::Serialize;

/// A problem in a text, with a message for people and models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NotebookProblem {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1. A tab is one character.
    pub column: usize,
    /// Whether the text can be applied in spite of the problem.
    pub severity: NotebookSeverity,
    /// The kind of problem.
    pub kind: NotebookProblemKind,
    /// The problem and how to fix it.
    pub message: String,
    /// The line, or the part of a long line around the problem.
    pub excerpt: String,
    /// The character in the excerpt, counted from 1.
    pub excerpt_column: usize,
}

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotebookSeverity {
    /// Nothing is applied.
    Error,
    /// The text is applied, but the problem should be reported.
    Warning,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotebookProblemKind {
    /// The text has no section.
    NoSection,
    /// `CURRENT_PROGRESS` without a bullet under `In Progress`.
    NothingInProgress,
    /// A list that does not belong to its section.
    MisplacedList,
    /// Text after the colon of a header.
    TextAfterHeader,
    /// A line that is neither a bullet nor a header.
    UnexpectedText,
    /// A bullet outside of a list.
    BulletWithoutList,
    /// A bullet without text.
    EmptyBullet,
    /// A bullet without `because`, or with nothing after it.
    NoReason,
    /// An addition with nothing after its reason.
    NoContent,
    /// A reason that would be parsed differently once it is printed.
    UnclearReason,
    /// A learning of more than one line.
    InsightNotOneLine,
    /// A snippet without `label =>`.
    NoLabel,
    /// An empty snippet.
    EmptySnippet,
    /// An archival that names no ID or one of the other section, or a new item that has an ID.
    BadId,
    /// An ID that the notebook does not have.
    UnknownId,
    /// An ID that the same text already archives.
    RepeatedId,
    /// More new learnings at once than are likely to be useful.
    ManyLearnings,
    /// A second `CURRENT_PROGRESS`; it replaces the first.
    ProgressTwice,
    /// A list or bullet outside of every section, which is ignored.
    OutsideSection,
    /// There are more problems, which are not listed.
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
        // For a long line, shows the part around the problem.
        let skipped = if text.len() <= Self::EXCERPT { 0 } else { column.saturating_sub(Self::EXCERPT / 2) };
        let excerpt = text.chars().skip(skipped).take(Self::EXCERPT).collect();
        Self { line, column, severity: kind.severity(), kind, message, excerpt, excerpt_column: column - skipped }
    }

    /// Whether the problem prevents the text from being applied.
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
