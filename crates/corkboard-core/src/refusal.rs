//! Why a command was refused. A refused command changes nothing.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use jiff::Timestamp;

use crate::notebook::ItemId;
use crate::{Entry, Key, LimitName, NotebookName, Role, ScopeId};

/// A typed refusal, with the data that a caller needs to do better.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// A name (key, scope name, agent id, tag, idempotency key) is empty or consists of white space.
    #[error("{what} must not be blank")]
    Blank {
        /// Which name.
        what: &'static str,
    },
    /// A name holds a control character.
    #[error("{what} must not contain control characters (found {character:?} at byte {at})")]
    ControlCharacter {
        /// Which name.
        what: &'static str,
        /// The character.
        character: char,
        /// Its byte offset.
        at: usize,
    },
    /// A limit would be exceeded.
    #[error("limit reached: {limit} would be {used}, allowed are {allowed}")]
    Limit {
        /// Which limit.
        limit: LimitName,
        /// What the command would have used.
        used: u64,
        /// What is allowed.
        allowed: u64,
    },
    /// Importance is NaN or outside 0 to 1.
    #[error("importance must be a number from 0 to 1, not {importance}")]
    Importance {
        /// What was given.
        importance: f32,
    },
    /// An expiry that does not lie in the future, or two of them.
    #[error("expiry refused: {reason}")]
    Expiry {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The actor's role does not allow it.
    #[error("{principal} is an {role} and may not change anything")]
    RoleDenied {
        /// Who asked.
        principal: String,
        /// In which role.
        role: Role,
    },
    /// Someone else changed the item first (`if_version`). Nothing was written.
    #[error("{}", conflict_text(key, *expected, current.as_deref()))]
    Conflict {
        /// The item's key.
        key: Key,
        /// The version that the caller expected; 0 stands for "must not exist".
        expected: u64,
        /// What is there now.
        current: Option<Box<Entry>>,
    },
    /// Someone else changed the space first (`if_rev`). Nothing was written.
    #[error("it is at revision {current}, not {expected}")]
    RevConflict {
        /// The revision that the caller expected.
        expected: u64,
        /// The revision it is at.
        current: u64,
    },
    /// Text was to be appended to a value that is no text.
    #[error("cannot append text to {key:?}: its value is {found}", key = key.as_str())]
    NotText {
        /// The entry's key.
        key: Key,
        /// What kind of JSON value is there.
        found: &'static str,
    },
    /// An entry that was to be renamed is not there.
    #[error("there is no entry {key:?}", key = key.as_str())]
    NoEntry {
        /// The key.
        key: Key,
    },
    /// The scope does not exist or was disposed.
    #[error("scope {scope} does not exist or was disposed")]
    ScopeGone {
        /// The scope's id.
        scope: ScopeId,
    },
    /// The root scope can be neither merged nor disposed.
    #[error("the root scope can be neither merged nor disposed")]
    RootScope,
    /// A snapshot of another agent.
    #[error("the snapshot belongs to agent {found:?}, not to {expected:?}")]
    AgentMismatch {
        /// Whose memory it was to be restored to.
        expected: String,
        /// Whose memory the snapshot holds.
        found: String,
    },
    /// Learnings or snippets that were to be archived are not there.
    #[error("notebook {notebook} has no {}", listed(ids))]
    UnknownItems {
        /// Which notebook.
        notebook: NotebookName,
        /// The ids.
        ids: Vec<ItemId>,
    },
    /// Someone else changed the notebook first (`if_version`). Nothing was written.
    #[error("notebook {notebook} is at version {current}, not {expected}")]
    NotebookConflict {
        /// Which notebook.
        notebook: NotebookName,
        /// The version that the caller expected; 0 stands for "never written".
        expected: u64,
        /// The version it is at.
        current: u64,
    },
    /// Something in a notebook that, written down, would be read as something else.
    #[error("{what} {text:?} cannot be kept: written in the notebook's language it would be read as something else")]
    Unreadable {
        /// What it is.
        what: &'static str,
        /// Its beginning.
        text: String,
    },
    /// A notebook that no sequence of updates leads to.
    #[error("notebook {notebook} cannot be restored: {reason}")]
    NotebookContradicts {
        /// Which notebook.
        notebook: NotebookName,
        /// What is wrong with it.
        reason: String,
    },
    /// The same idempotency key came with another body.
    #[error("idempotency key {key:?} was used at revision {rev} with another body")]
    IdempotencyMismatch {
        /// The key.
        key: String,
        /// Where it was used first.
        rev: u64,
        /// When it was used first.
        at: Timestamp,
    },
}

fn listed(ids: &[ItemId]) -> String {
    use alloc::string::ToString;
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn conflict_text(key: &Key, expected: u64, current: Option<&Entry>) -> String {
    use alloc::format;
    let key = key.as_str();
    match (expected, current) {
        (0, Some(entry)) => format!("{key:?} exists already, at version {}", entry.version),
        (_, Some(entry)) => format!("{key:?} is at version {}, not {expected}", entry.version),
        (_, None) => format!("{key:?} does not exist, so it is not at version {expected}"),
    }
}
