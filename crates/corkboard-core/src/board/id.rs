//! The IDs of tasks and records on a board: `T-7`, `D-3`.

use alloc::string::String;
use core::fmt;

use imbl::OrdMap;

/// A text that is not a valid ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} ID {text:?}; expected a form like {example}")]
pub struct ParseIdError {
    pub(crate) text: String,
    pub(crate) what: &'static str,
    pub(crate) example: &'static str,
}

/// An ID that is a number with a prefix.
pub(crate) trait NumberedId: Copy + Ord + fmt::Display {
    fn number(self) -> u64;
    fn of(number: u64) -> Self;
}

/// The ID after the last. Nothing is ever removed from a board, so the IDs have no gaps.
pub(super) fn next_id<Id: NumberedId, T>(things: &OrdMap<Id, T>) -> Id {
    Id::of(things.get_max().map_or(0, |(id, _)| id.number()).saturating_add(1))
}

macro_rules! numbered_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl NumberedId for $name {
            fn number(self) -> u64 {
                self.0
            }

            fn of(number: u64) -> Self {
                Self(number)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }

        impl core::str::FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let none = || ParseIdError { text: text.into(), what: $what, example: concat!($prefix, "1") };
                let (prefix, digits) = text.split_at_checked($prefix.len()).ok_or_else(none)?;
                let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                if !prefix.eq_ignore_ascii_case($prefix) || !is_number {
                    return Err(none());
                }
                digits.parse().map(Self).map_err(|_| none())
            }
        }

        $crate::text::json_text!($name);
    };
}

pub(crate) use numbered_id;

numbered_id!(
    /// A task of a board.
    TaskId, "task", "T-"
);
numbered_id!(
    /// A decision on a board.
    DecisionId, "decision", "D-"
);
numbered_id!(
    /// A discovery (a finding) on a board.
    DiscoveryId, "discovery", "F-"
);
numbered_id!(
    /// A version of an artifact on a board.
    ArtifactId, "artifact", "A-"
);
numbered_id!(
    /// A choice between options.
    ChoiceId, "choice", "C-"
);

numbered_id!(
    /// A nudge on a board.
    NudgeId, "nudge", "N-"
);
numbered_id!(
    /// An approval or rejection of a decision on a board.
    ApprovalId, "approval", "AP-"
);

/// A reference in a batch of new tasks: a task on the board by its ID, or a task of the batch by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskRef {
    /// `T-7`.
    Task(TaskId),
    /// The key of a task in the same batch.
    Member(String),
}

impl From<TaskId> for TaskRef {
    fn from(task: TaskId) -> Self {
        Self::Task(task)
    }
}

impl From<&str> for TaskRef {
    /// A text in the form of a task ID is one; everything else is a key.
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Member(text.into()), Self::Task)
    }
}

impl fmt::Display for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => fmt::Display::fmt(task, f),
            Self::Member(key) => f.write_str(key),
        }
    }
}

impl core::str::FromStr for TaskRef {
    type Err = core::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.into())
    }
}

crate::text::json_text!(TaskRef);
