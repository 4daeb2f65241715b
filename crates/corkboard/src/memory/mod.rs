//! An agent's memory: handles to its stored space and to its ephemeral scopes in this process.

mod agent;
mod batch;
mod clear_and_restore;
mod conversation;
mod ephemeral;
mod events;
mod factories;
mod forget;
mod handle;
mod handoff;
mod listener;
mod long_term;
mod lookup;
mod notebook;
mod scope;
mod search;
mod search_notebook;
mod stats;
mod view;

mod working;
mod write;
mod write_text;

pub(crate) use agent::AgentRuntime;
pub use agent::{AgentMemory, AgentWatch};
pub use batch::Batch;
pub use clear_and_restore::ClearOptions;
pub use conversation::{Conversation, ConversationInfo};
pub(crate) use conversation::{EntriesAndNotes, end_if_idle, forget_in};
pub use events::MemoryEvent;
pub use forget::{ForgetItems, Forgotten};
pub use handle::MemoryHandle;
pub(crate) use handle::kept_metadata;
pub(crate) use handoff::shown_entries;
pub use handoff::{SCRATCHPAD_KEY, SESSION_HANDOFF_KEY};
pub(crate) use listener::{AgentListener, Meters, count_resident};
pub use long_term::LongTermMemory;
pub use lookup::FoundEntry;
pub(crate) use notebook::known;
pub use notebook::{AgentNotebook, AppliedNotebookUpdate, Apply, NotebookHistory, NotebookInfo, NotebookRevision};
pub use scope::{Durability, Scope, ScopeInfo};
pub use stats::MemoryStats;
pub use view::AgentView;
pub use working::WorkingMemory;
pub use write::{AddNote, AppendText, Remove, Set, Write, WrittenEntry};
pub use write_text::WriteText;
