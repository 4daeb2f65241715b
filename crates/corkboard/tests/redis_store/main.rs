//! What is particular to the Redis store: crashes, cut connections, servers that are not as they should be.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "in a test, helpers included, a panic is the way to fail"
)]

mod connections;
mod crash;
mod hints;
mod permissions;
mod removal;
mod server;
mod support;
mod tls;
