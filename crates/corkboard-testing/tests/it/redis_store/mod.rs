//! Specific to the Redis store: crashes, cut connections, misconfigured servers.

mod connections;
mod crash;
mod hints;
mod permissions;
mod removal;
mod server;
mod support;
mod tls;
