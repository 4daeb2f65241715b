//! `cork`: Corkboard on the command line.

mod args;
mod atomic_file;
mod board_args;
mod board_view;
mod command_session;
mod commands;
mod conditions;
mod config;
mod confirm;
mod core_args;
mod core_view;
mod did_you_mean;
mod error;
mod error_hint;
mod event_text;
#[cfg(test)]
mod flags_as_fields;
mod help;
mod named_text;
mod notebook_problems;
mod open_files;
mod output;
mod page;
mod progress;
mod project;
mod scope_argument;
mod search_args;
mod text_input;
mod value_parsers;
#[cfg(test)]
mod vocabulary;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match help::parse() {
        Ok(cli) => error::report(cli.global.json, commands::run(cli)),
        Err(error) => error::usage(&error),
    }
}
