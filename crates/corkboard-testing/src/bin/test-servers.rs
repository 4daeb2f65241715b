//! `test-servers COMMAND …`: starts a PostgreSQL and a Redis server, runs the command, and stops the servers.

#![allow(clippy::print_stderr, reason = "it reports why it failed")]

use std::process::{Command, ExitCode};

use corkboard_testing::servers::{POSTGRES_URL, REDIS_URL, TestServer};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: test-servers COMMAND …");
        return ExitCode::FAILURE;
    };
    let postgres = TestServer::postgres();
    let redis = TestServer::redis();
    let status =
        Command::new(&program).args(arguments).env(POSTGRES_URL, postgres.url()).env(REDIS_URL, redis.url()).status();
    match status {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("cannot run {}: {error}", program.display());
            ExitCode::FAILURE
        }
    }
}
