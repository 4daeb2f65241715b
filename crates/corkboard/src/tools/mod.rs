//! An agent's memory as tools for a model.

mod files;

pub use files::{FileAnswer, MemoryCommand, MemoryFiles};
