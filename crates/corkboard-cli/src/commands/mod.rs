//! One file per command: arguments, help and implementation.

mod activity;
mod approve;
mod bench;
mod board;
mod choose;
mod compact;
mod completions;
mod config;
mod context;
mod core;
mod doctor;
mod export;
mod forget;
mod gc;
mod handoff;
mod hook;
mod import;
mod learn;
mod mcp;
mod memory;
mod migrate;
mod notebook;
mod nudge;
mod scope;
mod search;
mod serve;
mod setup;
mod snapshot;
mod stats;
mod task;
mod token;
mod tools;

use std::io::IsTerminal;
use std::pin::Pin;
use std::sync::Arc;

use clap::Subcommand;

use crate::args::{Cli, Global};
use crate::command_session::{IfMissing, Session};
use crate::config::LogFormat;
use crate::error::CliError;
use crate::help::Help;
use crate::output::Output;

/// A running command. It is boxed so that commands compile separately instead of as one large future.
type CommandFuture<'a> = Pin<Box<dyn Future<Output = Result<(), CliError>> + 'a>>;

/// Runs the subcommand that was given, out of those listed.
macro_rules! run_subcommand {
    ($command:expr, $session:expr, [$($(#[$attribute:meta])* $variant:ident),* $(,)?]) => {
        match $command {
            $($(#[$attribute])* Self::$variant(command) => Box::pin(command.run($session)),)*
        }
    };
}
use run_subcommand;

#[derive(Subcommand)]
pub(crate) enum Command {
    Serve(serve::Serve),
    Mcp(mcp::Mcp),
    Setup(setup::Setup),
    Hook(hook::Hook),
    #[command(subcommand)]
    Memory(memory::Memory),
    #[command(subcommand)]
    Scope(scope::ScopeCommand),
    #[command(subcommand)]
    Notebook(notebook::Notebook),
    Search(search::SearchCommand),
    #[command(subcommand)]
    Board(board::BoardSubcommand),
    #[command(subcommand)]
    Task(task::TaskCommand),
    #[command(subcommand)]
    Core(core::CoreSubcommand),
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
    Forget(forget::Forget),
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
    #[command(subcommand)]
    Bench(bench::Bench),
    Completions(completions::Completions),
    Help(Help),
}

impl Command {
    /// What to do if the store does not exist. Only commands that write create one.
    fn if_missing(&self) -> IfMissing {
        match self {
            Self::Tools(tools::Tools::List(_)) => IfMissing::UseNone,
            // These wait for other writers or trim what is there, so the store must exist.
            Self::Memory(memory::Memory::Watch(_))
            | Self::Board(board::BoardSubcommand::Watch(_))
            | Self::Compact(_)
            | Self::Forget(_) => IfMissing::Fail,
            command if command.only_reads() => IfMissing::FailUnlessDefault,
            _ => IfMissing::Create,
        }
    }

    /// Whether the command can use the configured embedding model. Others need not load it, nor its key.
    fn uses_embedder(&self) -> bool {
        use board::BoardSubcommand as Board;
        use core::CoreSubcommand as Core;
        match self {
            Self::Memory(command) => matches!(command, memory::Memory::Search(_)),
            Self::Board(command) => matches!(command, Board::Search(_)),
            Self::Core(command) => matches!(command, Core::Search(_)),
            Self::Task(command) => matches!(command, task::TaskCommand::Context(_)),
            Self::Tools(command) => matches!(command, tools::Tools::Call(_)),
            Self::Serve(_) | Self::Mcp(_) | Self::Search(_) | Self::Context(_) | Self::Bench(_) => true,
            _ => false,
        }
    }

    fn only_reads(&self) -> bool {
        use board::BoardSubcommand as Board;
        use core::CoreSubcommand as Core;
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
            Self::Search(_) | Self::Activity(_) | Self::Context(_) | Self::Stats(_) | Self::Gc(_) => true,
            _ => false,
        }
    }

    /// Runs a command that needs no agent or no open store. Returns any other command.
    #[expect(clippy::result_large_err, reason = "the command itself, handed back once per process")]
    fn run_without_session(self, global: &Global) -> Result<CommandFuture<'_>, Self> {
        let output = Output::new(global.json);
        Ok(match self {
            Self::Serve(serve) => Box::pin(serve.run(global)),
            Self::Setup(setup) => Box::pin(async move { setup.run(global) }),
            Self::Snapshot(snapshot::Snapshot::Inspect(inspect)) => Box::pin(async move { inspect.run(output) }),
            Self::Bench(bench) => Box::pin(bench.run(global)),
            Self::Completions(completions) => Box::pin(async move { completions.run(output) }),
            Self::Config(config) => Box::pin(async move { config.run(global) }),
            Self::Doctor(doctor) => Box::pin(doctor.run(global)),
            Self::Export(export) => Box::pin(export.run(global)),
            Self::Import(import) => Box::pin(import.run(global)),
            Self::Migrate(migrate) => Box::pin(migrate.run(global)),
            Self::Snapshot(snapshot::Snapshot::Store(store)) => Box::pin(store.run(global)),
            command => return Err(command),
        })
    }

    fn run<'a>(self, session: &'a Session, global: &'a Global) -> CommandFuture<'a> {
        match self {
            Self::Memory(memory) => Box::pin(memory.run(session)),
            Self::Scope(scope) => Box::pin(scope.run(session)),
            Self::Notebook(notebook) => notebook.run(session),
            Self::Board(board) => board.run(session),
            Self::Search(search) => Box::pin(search.run(session, global)),
            Self::Task(task) => task.run(session),
            Self::Core(core) => core.run(session),
            Self::Learn(learn) => learn.run(session),
            Self::Choose(choose) => Box::pin(choose.run(session)),
            Self::Review(review) => Box::pin(review.run(session)),
            Self::Approve(approve) => Box::pin(approve.run(session)),
            Self::Reject(reject) => Box::pin(reject.run(session)),
            Self::Nudge(nudge) => Box::pin(nudge.run(session)),
            Self::Handoff(handoff) => Box::pin(handoff.run(session)),
            Self::Activity(activity) => Box::pin(activity.run(session)),
            Self::Tools(tools) => Box::pin(tools.run(session)),
            Self::Context(context) => Box::pin(context.run(session)),
            Self::Stats(stats) => Box::pin(stats.run(session)),
            Self::Gc(gc) => Box::pin(gc.run(session)),
            Self::Compact(compact) => Box::pin(compact.run(session)),
            Self::Forget(forget) => Box::pin(forget.run(session)),
            Self::Token(token) => Box::pin(token.run(session, global)),
            Self::Snapshot(snapshot) => Box::pin(snapshot.run(session)),
            // `run_without_session`, `help::parse` and `main` handle these.
            Self::Serve(_)
            | Self::Mcp(_)
            | Self::Setup(_)
            | Self::Hook(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Migrate(_)
            | Self::Config(_)
            | Self::Doctor(_)
            | Self::Bench(_)
            | Self::Completions(_)
            | Self::Help(_) => Box::pin(async { Ok(()) }),
        }
    }
}

pub(crate) fn run(mut cli: Cli) -> Result<(), CliError> {
    let flags = match &cli.command {
        Command::Serve(serve) => serve.flags(),
        _ => Vec::new(),
    };
    if let Command::Token(token::TokenCommand::Create(create)) = &mut cli.command {
        create.take_holder(&mut cli.global);
    }
    cli.global.configure(flags)?;
    if let Command::Mcp(_) = cli.command {
        cli.global.serve_an_assistant();
    }
    if cli.command.uses_embedder() && cli.global.server().is_none() {
        cli.global.load_embedder()?;
    }
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
        // A thread may still be waiting for stdin.
        runtime.shutdown_background();
    }
    result
}

async fn dispatch(cli: Cli) -> Result<(), CliError> {
    let Cli { command, global } = cli;
    let command = match command {
        // Opens its session later.
        Command::Mcp(mcp) => return mcp.run(Arc::new(global)).await,
        command => command,
    };
    let command = match command.run_without_session(&global) {
        Ok(running) => return running.await,
        Err(command) => command,
    };
    let session = Session::open(&global, command.if_missing()).await?;
    let result = command.run(&session, &global).await;
    session.close(result).await
}

/// The MCP library warns of every error that it answers.
const USUAL_LOG: &str = "warn,rmcp=error";
/// Hides the Redis warning about what a crash can lose: `cork doctor`, `cork stats` and `cork serve` show it, and in every
/// command's output people would stop reading it.
const USUAL_LOG_OF_COMMANDS: &str = "warn,rmcp=error,corkboard::store::redis=error";

fn log_to_stderr(global: &Global) {
    // This fails only if a subscriber is installed already, and none is.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(global.log_filter(USUAL_LOG_OF_COMMANDS))
        .with_writer(std::io::stderr)
        .with_ansi(is_coloured())
        .without_time()
        .try_init();
}

/// Like [`log_to_stderr`], but with timestamps, and as JSON if `log_format` says so.
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
