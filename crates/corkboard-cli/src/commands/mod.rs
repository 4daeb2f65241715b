//! One file per command: its arguments, its help, what it does.

mod activity;
mod approve;
mod board;
mod choose;
mod compact;
mod completions;
mod config;
mod context;
mod core;
mod doctor;
mod export;
mod gc;
mod handoff;
mod import;
mod learn;
mod memory;
mod migrate;
mod notebook;
mod nudge;
mod scope;
mod serve;
mod snapshot;
mod stats;
mod task;
mod token;
mod tools;

use std::io::IsTerminal;

use clap::Subcommand;

use crate::args::{Cli, Global};
use crate::command_session::{IfMissing, Session};
use crate::config::LogFormat;
use crate::error::CliError;
use crate::output::Output;

#[derive(Subcommand)]
pub(crate) enum Command {
    Serve(serve::Serve),
    #[command(subcommand)]
    Memory(memory::Memory),
    #[command(subcommand)]
    Scope(scope::ScopeCommand),
    #[command(subcommand)]
    Notebook(notebook::Notebook),
    #[command(subcommand)]
    Board(board::BoardCommand),
    #[command(subcommand)]
    Task(task::TaskCommand),
    #[command(subcommand)]
    Core(core::CoreCommand),
    #[command(subcommand)]
    Learn(learn::LearnCommand),
    Choose(choose::Choose),
    Review(task::Review),
    Approve(approve::Approve),
    Reject(approve::Reject),
    Nudge(nudge::NudgeCommand),
    Handoff(handoff::Handoff),
    Activity(activity::Activity),
    #[command(subcommand)]
    Tools(tools::Tools),
    Context(context::Context),
    Stats(stats::Stats),
    Gc(gc::Gc),
    Compact(compact::Compact),
    #[command(subcommand)]
    Token(token::TokenCommand),
    #[command(subcommand)]
    Snapshot(snapshot::Snapshot),
    Export(export::Export),
    Import(import::Import),
    Migrate(migrate::Migrate),
    #[command(subcommand)]
    Config(config::ConfigCommand),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

impl Command {
    /// What becomes of it if the store does not exist: only commands that write create one.
    fn if_missing(&self) -> IfMissing {
        match self {
            Self::Tools(tools::Tools::List(_)) => IfMissing::UseNone,
            // To wait for what others write to a store, there must be one.
            Self::Memory(memory::Memory::Watch(_)) | Self::Board(board::BoardCommand::Watch(_)) | Self::Compact(_) => {
                IfMissing::Fail
            }
            command if command.only_reads() => IfMissing::FailUnlessDefault,
            _ => IfMissing::Create,
        }
    }

    fn only_reads(&self) -> bool {
        use board::BoardCommand as Board;
        use core::CoreCommand as Core;
        use memory::Memory;
        use notebook::Notebook;
        use task::TaskCommand as Task;
        match self {
            Self::Memory(command) => matches!(
                command,
                Memory::Get(_) | Memory::List(_) | Memory::Search(_) | Memory::Note(memory::note::Note::List(_))
            ),
            Self::Scope(command) => matches!(command, scope::ScopeCommand::List(_) | scope::ScopeCommand::Show(_)),
            Self::Notebook(Notebook::Review(review)) => review.only_reads(),
            Self::Notebook(command) => matches!(
                command,
                Notebook::Show(_) | Notebook::History(_) | Notebook::Diff(_) | Notebook::List(_) | Notebook::Prompt(_)
            ),
            Self::Board(command) => {
                matches!(command, Board::List(_) | Board::Show(_) | Board::Search(_) | Board::Graph(_) | Board::Diff(_))
            }
            Self::Task(command) => matches!(command, Task::List(_) | Task::Show(_) | Task::Context(_)),
            Self::Core(command) => matches!(command, Core::List(_) | Core::Show(_) | Core::Search(_)),
            Self::Learn(command) => matches!(command, learn::LearnCommand::List(_)),
            Self::Token(command) => matches!(command, token::TokenCommand::List(_)),
            Self::Snapshot(command) => matches!(command, snapshot::Snapshot::Save(_)),
            Self::Choose(command) => command.only_reads(),
            Self::Nudge(command) => command.only_reads(),
            Self::Handoff(command) => command.only_reads(),
            Self::Activity(_) | Self::Context(_) | Self::Stats(_) | Self::Gc(_) => true,
            _ => false,
        }
    }
}

/// Does what the command line says.
pub(crate) fn run(mut cli: Cli) -> Result<(), CliError> {
    let flags = match &cli.command {
        Command::Serve(serve) => serve.flags(),
        _ => Vec::new(),
    };
    cli.global.configure(flags)?;
    match cli.command {
        Command::Serve(_) => log_of_a_server(&cli.global),
        _ => log_to_stderr(&cli.global),
    }
    // One command needs one thread; a server has many callers.
    let mut runtime = match cli.command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build().map_err(CliError::Output)?;
    let result = runtime.block_on(dispatch(cli));
    if let Err(CliError::Interrupted { .. }) = result {
        // Someone may still wait for stdin.
        runtime.shutdown_background();
    }
    result
}

async fn dispatch(cli: Cli) -> Result<(), CliError> {
    let Cli { command, global } = cli;
    // These need no agent, or not even an open store.
    let command = match command {
        Command::Serve(serve) => return serve.run(&global).await,
        Command::Snapshot(snapshot::Snapshot::Inspect(inspect)) => return inspect.run(Output::new(global.json)),
        Command::Completions(completions) => return completions.run(Output::new(global.json)),
        Command::Config(config) => return config.run(&global),
        Command::Doctor(doctor) => return doctor.run(&global).await,
        Command::Export(export) => return export.run(&global).await,
        Command::Import(import) => return import.run(&global).await,
        Command::Migrate(migrate) => return migrate.run(&global).await,
        Command::Snapshot(snapshot::Snapshot::Store(store)) => return store.run(&global).await,
        command => command,
    };
    let session = Session::open(&global, command.if_missing()).await?;
    let result = match command {
        Command::Memory(memory) => memory.run(&session).await,
        Command::Scope(scope) => scope.run(&session).await,
        Command::Notebook(notebook) => notebook.run(&session).await,
        Command::Board(board) => board.run(&session).await,
        Command::Task(task) => task.run(&session).await,
        Command::Core(core) => core.run(&session).await,
        Command::Learn(learn) => learn.run(&session).await,
        Command::Choose(choose) => choose.run(&session).await,
        Command::Review(review) => review.run(&session).await,
        Command::Approve(approve) => approve.run(&session).await,
        Command::Reject(reject) => reject.run(&session).await,
        Command::Nudge(nudge) => nudge.run(&session).await,
        Command::Handoff(handoff) => handoff.run(&session).await,
        Command::Activity(activity) => activity.run(&session).await,
        Command::Tools(tools) => tools.run(&session).await,
        Command::Context(context) => context.run(&session).await,
        Command::Stats(stats) => stats.run(&session).await,
        Command::Gc(gc) => gc.run(&session).await,
        Command::Compact(compact) => compact.run(&session).await,
        Command::Token(token) => token.run(&session, &global).await,
        Command::Snapshot(snapshot) => snapshot.run(&session).await,
        Command::Serve(_)
        | Command::Export(_)
        | Command::Import(_)
        | Command::Migrate(_)
        | Command::Config(_)
        | Command::Doctor(_)
        | Command::Completions(_) => Ok(()),
    };
    session.close(result).await
}

/// What a server logs unless it is told otherwise.
const USUAL_LOG: &str = "warn";
/// What a crash of the store may cost is said by `cork doctor` and `cork stats`, and when a server starts: with every
/// command, nobody would read it any more.
const USUAL_LOG_OF_COMMANDS: &str = "warn,corkboard::store::redis=error";

fn log_to_stderr(global: &Global) {
    // Only a second subscriber could fail here, and there is none.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(global.log_filter(USUAL_LOG_OF_COMMANDS))
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured())
        .without_time()
        .try_init();
}

/// As [`log_to_stderr`] does, with the time of every line, and for programs to read if that was asked for.
fn log_of_a_server(global: &Global) {
    let log = tracing_subscriber::fmt().with_env_filter(global.log_filter(USUAL_LOG)).with_writer(std::io::stderr);
    let _ = match global.config.settings.log_format {
        LogFormat::Text => log.with_ansi(is_coloured()).try_init(),
        LogFormat::Json => log.json().with_span_list(false).try_init(),
    };
}

fn is_coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty())
}
