//! The IDs of learnings and snippets: `KL-3`, `VC-1`.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The ID of a key learning, unique in its notebook and never reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NotebookLearningId(pub u64);

/// The ID of a snippet, unique in its notebook and never reused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnippetId(pub u64);

/// The ID of a learning or a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotebookItemId {
    /// `KL-n`.
    Learning(NotebookLearningId),
    /// `VC-n`.
    Snippet(SnippetId),
}

impl From<NotebookLearningId> for NotebookItemId {
    fn from(id: NotebookLearningId) -> Self {
        Self::Learning(id)
    }
}

impl From<SnippetId> for NotebookItemId {
    fn from(id: SnippetId) -> Self {
        Self::Snippet(id)
    }
}

impl fmt::Display for NotebookLearningId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KL-{}", self.0)
    }
}

impl fmt::Display for SnippetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VC-{}", self.0)
    }
}

impl fmt::Display for NotebookItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Learning(id) => fmt::Display::fmt(id, f),
            Self::Snippet(id) => fmt::Display::fmt(id, f),
        }
    }
}

/// A text that is not a notebook item ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid notebook item ID {0:?}: expected a form like KL-1 or VC-1")]
pub struct ParseNotebookItemIdError(String);

impl FromStr for NotebookItemId {
    type Err = ParseNotebookItemIdError;

    fn from_str(text: &str) -> Result<Self, ParseNotebookItemIdError> {
        let none = || ParseNotebookItemIdError(text.into());
        let (kind, digits) = text.split_at_checked(3).ok_or_else(none)?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(none());
        }
        let number = digits.parse().map_err(|_| none())?;
        if kind.eq_ignore_ascii_case("KL-") {
            Ok(Self::Learning(NotebookLearningId(number)))
        } else if kind.eq_ignore_ascii_case("VC-") {
            Ok(Self::Snippet(SnippetId(number)))
        } else {
            Err(none())
        }
    }
}

/// In JSON, an ID is its text.
macro_rules! as_text {
    ($name:ident, $found:pat => $id:expr) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                #[allow(unreachable_patterns, reason = "one of the three types accepts every ID")]
                match text.parse() {
                    Ok($found) => Ok($id),
                    Ok(_) => Err(D::Error::custom(format!("{text:?} is an ID of the wrong kind"))),
                    Err(error) => Err(D::Error::custom(error)),
                }
            }
        }
    };
}

as_text!(NotebookLearningId, NotebookItemId::Learning(id) => id);
as_text!(SnippetId, NotebookItemId::Snippet(id) => id);
as_text!(NotebookItemId, id => id);
