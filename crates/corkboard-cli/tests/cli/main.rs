//! Tests of the real binary, as people and scripts use it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests and their helpers fail by panicking"
)]

mod balancer;
mod board;
mod board_tools;
mod board_watch;
mod board_workers;
mod both_ways;
mod client;
mod compact;
mod config;
mod context;
mod conversations;
mod core;
mod creation;
mod doctor;
mod documents;
mod encrypted;
mod errors;
mod example_flow;
mod file;
mod help;
mod hook;
mod killable_server;
mod learn;
mod lifetime;
mod mcp;
mod mcp_memory;
mod memory;
mod messages;
#[cfg(feature = "model")]
mod notebook;
#[cfg(feature = "model")]
mod notebook_update;
mod outside;
mod people;
mod processes;
mod readme;
mod resources;
mod sandbox_server;
mod scope;
mod sealing;
mod search;
mod serve;
mod setup;
mod several_servers;
mod snapshot;
mod specification;
mod stats;
mod support;
mod task;
mod token;
mod tools;
mod transfer;
mod values;
mod watch;
