//! For developers of stores and their tests: the suites that every store passes, and a store that injects faults.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a failed expectation fails the test, and seeds are printed"
)]

mod chance;
pub mod conformance;
mod embedding_server;
mod faulty;
mod harness;
mod ids;
pub mod model_server;
mod pgbouncer;
mod proxy;
pub mod servers;
pub mod transfer;

pub use chance::{dice, seed};
pub use embedding_server::{EmbeddingServer, Embeds};
pub use faulty::{Fault, FaultPlan, FaultyStore};
pub use harness::{Harness, PostgresSchema, SQLITE_PATIENCE, Worker};
pub use pgbouncer::PgBouncer;
pub use proxy::{Direction, Proxy};
