//! An agent's memory: handles over the agent's space, and over its ephemeral scopes in this process.

mod agent;
mod batch;
mod ephemeral;
mod events;
mod factories;
mod observer;
mod place;
mod scope;
mod stats;
mod working;
mod write;

pub(crate) use agent::AgentRuntime;
pub use agent::{AgentMemory, AgentWatch, ClearOptions, Forgotten, LongTermMemory};
pub use batch::Batch;
pub use events::MemoryEvent;
pub(crate) use observer::AgentObserver;
pub(crate) use place::kept_metadata;
pub use scope::{Durability, Scope, ScopeInfo};
pub use stats::MemoryStats;
pub use working::WorkingMemory;
pub use write::{AddNote, Append, Remove, Set, Written};
