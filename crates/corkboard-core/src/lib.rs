//! The pure domain of Corkboard.
//!
//! All memory lives in *spaces*, and each space is a revisioned log. A [`Space`] decides a command against its state
//! and answers with events or a [`Refusal`]. Applying the events gives the next state. [`Revisioned`] adds what all
//! spaces share: the head of the log, its clock, and the answers remembered for idempotency keys.
//!
//! This crate has no I/O, no clock and no randomness: time, IDs and the actor arrive in the [`Context`]. It is
//! `no_std`, so the compiler enforces this.

// The derived schemas need the prelude of the standard library.
#![cfg_attr(not(feature = "openapi"), no_std)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod agent;
pub mod board;
pub mod knowledge;
pub mod notebook;
pub mod tokens;

mod actor;
mod authority;
mod context;
mod count;
mod entry;
mod forget;
mod id;
mod idempotency;
mod json;
mod limits;
mod note;
mod number;
mod record;
mod refusal;
#[cfg(feature = "openapi")]
mod schema;
mod scope;
mod space;
mod text;

pub use actor::{Actor, ActorKind, Role};
pub use context::{Context, Usage};
pub use count::count;
pub use entry::{Access, Content, Entry, EntryData, EntryMetadata, MemoryKind};
pub use forget::{FORGOTTEN, LEAST_FORGOTTEN_CHARS, VisitText, check_forgets_everywhere, check_forgotten_text};
pub use id::{
    AgentId, BoardId, CommitId, ConversationId, CoreId, EntryId, Key, NoteId, NotebookName, ScopeId, ScopeName,
    SpaceId, SpaceKind,
};
pub use idempotency::{IdempotencyKey, RememberedAnswers, body_hash};
pub use limits::{LimitName, LimitWarning, Limits};
pub use note::Note;
pub use record::{Commit, FORMAT_VERSION, FormatError};
pub use refusal::{OwnPart, Refusal};
pub use scope::ScopeState;
pub use space::{CommandEffects, Head, PerformError, Request, RequestOutcome, Revisioned, Space, Stamp};
