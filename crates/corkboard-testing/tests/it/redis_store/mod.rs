//! What is particular to the Redis store: crashes, cut connections, servers that are not as they should be.

mod connections;
mod crash;
mod hints;
mod permissions;
mod removal;
mod server;
mod support;
mod tls;
