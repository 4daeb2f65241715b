//! Tests of the server through real sockets, one file per subject.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test, helpers included, a panic is the way to fail"
)]

mod access;
mod agents;
mod agents_entries;
mod boards;
mod bodies;
mod browsers;
mod client;
mod connections;
mod conventions;
mod cores;
mod description;
mod events;
mod examples;
mod forged;
mod hostile;
mod mcp;
mod operations;
mod revocation;
mod roles;
mod support;
mod tools;
mod whole;
