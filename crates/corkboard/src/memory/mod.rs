//! An agent's memory: handles over the agent's space, and over its ephemeral scopes in this process.

mod agent;
mod batch;
mod conversation;
mod ephemeral;
mod events;
mod factories;
mod handoff;
mod long_term;
mod notebook;
mod observer;
mod place;
mod scope;
mod search;
mod search_notebook;
mod stats;
mod view;
mod working;
mod write;

pub(crate) use agent::AgentRuntime;
pub use agent::{AgentMemory, AgentWatch, ClearOptions, Forgotten};
pub use batch::Batch;
pub use conversation::{Conversation, ConversationInfo};
pub(crate) use conversation::{Conversations, Remembered};
pub use events::MemoryEvent;
pub use handoff::{SCRATCHPAD_KEY, SESSION_HANDOFF_KEY, WriteText};
pub use long_term::LongTermMemory;
pub(crate) use notebook::known;
pub use notebook::{AgentNotebook, Applied, Apply, NotebookHistory, NotebookInfo, NotebookRevision};
pub(crate) use observer::{AgentObserver, Meters};
pub(crate) use place::{TextWrite, kept_metadata};
pub use scope::{Durability, Scope, ScopeInfo};
pub use search::{FoundItem, FoundScope, Search, SearchHit};
pub use stats::MemoryStats;
pub use view::AgentView;
pub use working::WorkingMemory;
pub use write::{AddNote, Append, Remove, Set, Write, Written};
