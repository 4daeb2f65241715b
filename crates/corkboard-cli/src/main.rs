//! `cork`: Corkboard on the command line.

mod args;
mod board;
mod commands;
mod conditions;
mod config;
mod draw;
mod exit;
mod hint;
mod input;
mod knowledge;
mod open_files;
mod output;
mod place;
mod progress;
mod session;
mod whole_file;
mod words;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match args::Cli::try_parse() {
        Ok(cli) => exit::report(cli.global.json, commands::run(cli)),
        Err(error) => exit::usage(&error),
    }
}
