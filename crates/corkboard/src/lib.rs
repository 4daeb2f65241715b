//! Corkboard: working memory for LLM agents and for the people who work with them.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
//! use corkboard::Corkboard;
//!
//! let corkboard = Corkboard::open("memory:").await?; // or "sqlite:corkboard.db"
//! let alice = corkboard.agent("alice")?;
//! let memory = alice.working();
//!
//! memory.set("user_name", "Ada").await?;
//! memory.add_note("prefers short answers").await?;
//! let name: Option<String> = memory.get("user_name").await?;
//! assert_eq!(name.as_deref(), Some("Ada"));
//!
//! // A scope sees its parent's values; its own stay local.
//! let task = memory.create_scope("task-1").await?;
//! task.set("user_name", "Grace").await?;
//! assert_eq!(task.get::<String>("user_name").await?.as_deref(), Some("Grace"));
//! assert_eq!(memory.get::<String>("user_name").await?.as_deref(), Some("Ada"));
//! corkboard.close().await
//! # }
//! ```
//!
//! Everything remembered is a revisioned log: see `ARCHITECTURE.md`.

#![warn(missing_docs)]

pub mod context;
pub mod embed;
#[doc(hidden)]
pub mod json_error;
pub mod model;
pub mod prompt;
pub mod scratchpad;
pub mod store;
pub mod tools;
pub mod transfer;

mod access;
mod backoff;
mod board;
#[cfg(feature = "client")]
mod client;
mod clock;
mod conditions;
mod corkboard;
mod delete;
mod engine;
mod error;
mod exit_and_status_codes;
mod forget_text;
mod garbage;
mod ids;
mod knowledge;
mod log;
mod memory;
#[cfg(any(feature = "client", feature = "model"))]
mod net;
mod options;
mod problem;
mod replay;
mod search;
mod snapshot;
mod strict;
mod typed_event;

pub use access::{CreatedToken, TokenDocument, TokenRequest, Tokens};
pub use board::{
    AgentContribution, Board, BoardChange, BoardDiff, BoardDocument, BoardProgress, BoardProgressCounts,
    BoardRolledBack, BoardView, BoardWatch, Claim, ClaimTask, CoreRolledBack, CoresRolledBack, CreateBoard,
    CreatedBoard, EdgeType, Fork, GraphFormat, LogPage, LogRef, NoChecksum, NoLogRef, Orchestrate, Orchestrating,
    Orchestrator, PromoteLearning, PromotedLearning, RecordArtifact, RecordedArtifact, RollBackCores, RollBackProgress,
    RollBackStage, TaskDocument, TaskEdge, TaskGraph, TaskPattern, UnreadablePattern, WorkOn,
};
#[cfg(feature = "client")]
pub use client::{Identity, ServerAddress, ServerHealth};
pub use clock::{Clock, ManualClock, SystemClock};
pub use conditions::Conditions;
pub use context::{Composition, ContextRequest, ContextWindow};
pub use corkboard::{AgentSummary, BoardSummary, Corkboard, ListedStatus};
pub use corkboard_core::agent::{
    Activity, ActivityKind, ActivityLine, AgentEvent, AgentReply, AgentState, DayActivity, EntryChange, Forget,
    MemorySnapshot, Separator,
};
/// Boards: tasks, decisions, discoveries, artifacts and choices, with their commands and events.
pub use corkboard_core::board as boards;
/// Memory cores: entries, with their commands and events.
pub use corkboard_core::knowledge as cores;
/// The notebook's language and state.
pub use corkboard_core::notebook;
/// Access tokens of a store.
pub use corkboard_core::tokens;
pub use corkboard_core::{
    Access, Actor, ActorKind, AgentId, BoardId, Commit, CommitId, Content, ConversationId, CoreId, Entry, EntryData,
    EntryId, EntryMetadata, FORGOTTEN, FORMAT_VERSION, FormatError, Head, Key, LimitName, LimitWarning, Limits,
    MemoryKind, Note, NoteId, NotebookName, Refusal, Role, ScopeId, ScopeName, SpaceId, SpaceKind, count,
};
pub use delete::Delete;
pub use engine::{Followed, TextPlace, Watch, Watched};
pub use error::Error;
pub use exit_and_status_codes::ErrorKind;
pub use forget_text::{ForgetProgress, ForgetText, ForgottenText, FoundText};
pub use garbage::{Garbage, GarbageBoard, GarbageFate, PurgedGarbage};
pub use knowledge::{
    Core, CoreEntries, CoreEntryDocument, CorePage, CoreStats, CoreSummary, CoreWatch, ForgetCoreEntry,
    ForgottenEntries, WithdrawnCoreEntries,
};
pub use log::{
    AnswerDocument, CommandDocument, HeadDocument, LogSize, LogWatch, PageDocument, RecordDocument, RevisionDocument,
    SpaceDocument, SpaceLog, StateDocument, TrimmedLog,
};
pub use memory::{
    AddNote, AgentMemory, AgentNotebook, AgentView, AgentWatch, AppendText, AppliedNotebookUpdate, Apply, Batch,
    ClearOptions, Conversation, ConversationInfo, Durability, ForgetItems, Forgotten, FoundEntry, LongTermMemory,
    MemoryEvent, MemoryHandle, MemoryStats, NotebookHistory, NotebookInfo, NotebookRevision, Remove, SCRATCHPAD_KEY,
    SESSION_HANDOFF_KEY, Scope, ScopeInfo, Set, WorkingMemory, Write, WriteText, WrittenEntry,
};
pub use options::{
    Consistency, Conversations, Creation, Features, Options, Retention, SavePolicy, SnapshotPolicy, Tier,
};
pub use problem::{EntryDocument, MetadataDocument, Problem};
pub use replay::observe_replay;
pub use search::{Explanation, FoundItem, FoundScope, ScorePart, ScoreReason, Search, SearchAnswer, SearchHit};
pub use snapshot::{
    Passphrase, PassphraseCost, SNAPSHOT_VERSION, Seal, Sealing, SnapshotBytes, SnapshotError, SnapshotForm,
    SnapshotFormat, SnapshotKey,
};
pub use strict::Strict;

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// The example of the guide to an agent's memory compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/agent-memory.md")]
pub struct AgentMemoryGuide;

/// The example of the guide to boards compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/board-workers.md")]
pub struct BoardWorkersGuide;

/// The example of the document about memory cores compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cores.md")]
pub struct CoresDocument;

/// The result of the library's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;
