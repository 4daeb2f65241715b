//! The numbers by which learnings and snippets are named: `KL-3`, `VC-1`.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number of a key learning in its notebook; never given twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LearningId(pub u64);

/// The number of a snippet in its notebook; never given twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnippetId(pub u64);

/// A learning or a snippet, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemId {
    /// `KL-n`.
    Learning(LearningId),
    /// `VC-n`.
    Snippet(SnippetId),
}

impl From<LearningId> for ItemId {
    fn from(id: LearningId) -> Self {
        Self::Learning(id)
    }
}

impl From<SnippetId> for ItemId {
    fn from(id: SnippetId) -> Self {
        Self::Snippet(id)
    }
}

impl fmt::Display for LearningId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KL-{}", self.0)
    }
}

impl fmt::Display for SnippetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VC-{}", self.0)
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Learning(id) => fmt::Display::fmt(id, f),
            Self::Snippet(id) => fmt::Display::fmt(id, f),
        }
    }
}

/// Not `KL-` or `VC-` and a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no id of a notebook's item: they read KL-1 or VC-1")]
pub struct NoItemId(String);

impl FromStr for ItemId {
    type Err = NoItemId;

    fn from_str(text: &str) -> Result<Self, NoItemId> {
        let none = || NoItemId(text.into());
        let (kind, digits) = text.split_at_checked(3).ok_or_else(none)?;
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(none());
        }
        let number = digits.parse().map_err(|_| none())?;
        if kind.eq_ignore_ascii_case("KL-") {
            Ok(Self::Learning(LearningId(number)))
        } else if kind.eq_ignore_ascii_case("VC-") {
            Ok(Self::Snippet(SnippetId(number)))
        } else {
            Err(none())
        }
    }
}

/// In stored and shown JSON an id is its text.
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
                #[allow(unreachable_patterns, reason = "one of the three takes every id")]
                match text.parse() {
                    Ok($found) => Ok($id),
                    Ok(_) => Err(D::Error::custom(format!("{text:?} is an id of the other kind"))),
                    Err(error) => Err(D::Error::custom(error)),
                }
            }
        }
    };
}

as_text!(LearningId, ItemId::Learning(id) => id);
as_text!(SnippetId, ItemId::Snippet(id) => id);
as_text!(ItemId, id => id);
