//! The tests of the stores, with their processes, servers and faults, in one binary, because linking dominates the
//! build time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests and their helpers fail by panicking"
)]

mod boards_processes;
mod conformance;
mod disk;
mod embed;
mod faults;
mod file_crash;
mod file_store;
mod forget;
mod postgres_store;
mod redis_store;
mod transfer;
