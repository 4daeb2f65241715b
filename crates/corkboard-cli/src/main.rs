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
mod setup;
mod text_input;
mod value_parsers;
#[cfg(test)]
mod vocabulary;

use std::process::ExitCode;

use crate::args::Cli;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    use_small_pages();
    match help::parse() {
        Ok(Cli { command: commands::Command::Hook(hook), global }) => {
            hook.run(global);
            ExitCode::SUCCESS
        }
        Ok(cli) => error::report(cli.global.json, commands::run(cli)),
        Err(error) => {
            let code = error::usage(&error);
            // Clients stop a session if a hook fails.
            if std::env::args_os().nth(1).is_some_and(|word| word == "hook") { ExitCode::SUCCESS } else { code }
        }
    }
}

/// Keeps the allocator from taking huge pages for little data: 8 MB less for each `cork mcp` of an assistant. A server has
/// much data, and huge pages make it faster.
fn use_small_pages() {
    #[cfg(target_os = "linux")]
    if !std::env::args_os().any(|argument| argument == "serve") {
        // Without the system's support, the process only takes more memory.
        let _ = rustix::thread::disable_transparent_huge_pages(true);
    }
}
