//! The tests of the library, in one binary, because linking dominates the build time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests and their helpers fail by panicking"
)]

mod batch;
mod board_search;
mod board_tools;
mod boards;
mod common;
mod consistency;
mod context;
mod conversations;
mod core_context;
mod cores;
mod damaged_exports;
mod engine;
mod get_or_set;
mod isolation;
mod learnings_crash;
mod memory_files;
mod model_client;
mod notebook;
mod notebook_tools;
mod notebook_update;
mod outside;
mod reference;
mod saving;
mod scopes;
mod search;
mod seed_000;
mod seed_000_tools;
mod seed_001;
mod seed_004;
mod snapshot;
mod snapshot_bytes;
mod summarize;
mod task_context;
mod telemetry;
mod tokens;
mod user_facts;
