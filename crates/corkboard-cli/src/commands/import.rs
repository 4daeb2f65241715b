//! `cork import`: reads what `cork export` wrote, or the file of another program.

mod mcp_memory;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use corkboard::transfer::{
    FileProblem, ImportMode, ImportOptions, ImportOutcome, Imported, ImportedSpace, TokenCopying, TransferError, import,
};
use serde::Serialize;
use tokio::io::{AsyncBufRead, BufReader};

use crate::args::Global;
use crate::atomic_file::unreadable_file;
use crate::command_session::StoreSession;
use crate::error::CliError;
use crate::output::{Output, bytes, count, json_object, one_line};
use crate::progress::{ProgressLine, unless_interrupted};
use crate::text_input::is_dash;

const SHOWN_PROBLEMS: usize = 20;

/// Import from `cork export`, `cork snapshot store` or elsewhere
///
/// Revisions and commit IDs stay the same. If the store already has the beginning of a log, the rest is appended. A space
/// with a different history in the store is reported and left unchanged, and the import continues with the others. A space
/// with damaged or incomplete lines is not imported. You can interrupt the import and run it again.
///
/// Access tokens are skipped unless you pass --with-tokens. With them, everyone who has a token for the exported store can
/// use this one, and tokens that were revoked after the export work again.
///
/// With --from mcp-memory, the file is that of the MCP reference memory server (@modelcontextprotocol/server-memory). What
/// it has and the agent's knowledge graph lacks is added to the graph; `cork mcp --tools reference` serves it. A file with a
/// broken line is not imported. This also works with a server (--url).
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork import everything.jsonl
  cork import everything.jsonl --dry-run
  cork import backup.jsonl --with-tokens
  gunzip < everything.jsonl.gz | cork import
  cork import --from mcp-memory memory.jsonl
  cork import --from mcp-memory memory.jsonl --agent ada")]
pub(crate) struct Import {
    /// Input file [default: stdin]
    file: Option<PathBuf>,

    /// Program that wrote the file, if not `cork export`: mcp-memory
    #[arg(long, value_name = "PROGRAM", value_enum, hide_possible_values = true)]
    from: Option<Program>,

    /// Only show what would be imported
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,

    /// Import access tokens too
    #[arg(long, conflicts_with = "from")]
    with_tokens: bool,
}

/// Another program whose file can be imported.
#[derive(Clone, Copy, ValueEnum)]
enum Program {
    McpMemory,
}

impl Import {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        if let Some(Program::McpMemory) = self.from {
            return mcp_memory::run(self.file.as_deref().filter(|file| !is_dash(file)), global).await;
        }
        let session = StoreSession::open(global).await?;
        let then = "run the same command to continue";
        let imported = unless_interrupted(then, self.import(&session)).await;
        session.close(imported).await
    }

    async fn import(self, session: &StoreSession) -> Result<(), CliError> {
        let mode = if self.dry_run { ImportMode::DryRun } else { ImportMode::Write };
        let options = ImportOptions { mode, tokens: tokens(self.with_tokens) };
        let Some(file) = self.file.filter(|file| !is_dash(file)) else {
            let imported = read(session, options, BufReader::new(tokio::io::stdin())).await;
            return report(session, mode, &imported?);
        };
        let reader = tokio::fs::File::open(&file).await.map_err(|error| unreadable_file(&file, &error))?;
        let imported = read(session, options, BufReader::with_capacity(64 * 1024, reader)).await;
        let imported = imported.map_err(|error| match error {
            TransferError::Read(error) => unreadable_file(&file, &error),
            other => other.into(),
        });
        report(session, mode, &imported?)
    }
}

async fn read(
    session: &StoreSession,
    options: ImportOptions,
    reader: impl AsyncBufRead + Unpin + Send,
) -> Result<Imported, TransferError> {
    let mut line = ProgressLine::new(session.output);
    import(&*session.store, reader, options, &mut |progress| line.tell(progress)).await
}

#[derive(Serialize)]
struct Total {
    spaces: u64,
    new: u64,
    continued: u64,
    unchanged: u64,
    revisions: u64,
    bytes: u64,
}

fn report(session: &StoreSession, mode: ImportMode, imported: &Imported) -> Result<(), CliError> {
    let Imported { spaces, problems, left_out_tokens } = imported;
    let number = |outcome| spaces.iter().filter(|space| space.outcome == outcome).count() as u64;
    let sum = |amount: fn(&ImportedSpace) -> u64| spaces.iter().map(amount).sum();
    let total = Total {
        spaces: spaces.len() as u64,
        new: number(ImportOutcome::New),
        continued: number(ImportOutcome::Continued),
        unchanged: number(ImportOutcome::Unchanged),
        revisions: sum(|space| space.revisions),
        bytes: sum(|space| space.bytes),
    };
    let space = |space: &ImportedSpace| {
        let ImportedSpace { space, rev, outcome, revisions, bytes } = space;
        json_object! { space: space.as_str(), rev, outcome, revisions, bytes }
    };
    let problem =
        |problem: &FileProblem| ProblemView::new(problem.space.as_ref().map(|space| space.as_str()), &problem.error);
    let answer = json_object! {
        dry_run: mode == ImportMode::DryRun,
        total,
        spaces: spaces.iter().map(space).collect::<Vec<_>>(),
        problems: problems.iter().map(problem).collect::<Vec<_>>(),
        left_out_tokens,
    };
    session.output.answer(&answer, || told(mode, &total))?;
    tell_left_out(session.output, *left_out_tokens);
    let errors = problems.iter().map(|problem| &problem.error);
    expect_none(errors, "part of the export was not imported", "parts of the export were not imported")
}

fn told(mode: ImportMode, total: &Total) -> String {
    let verb = if mode == ImportMode::DryRun { "would import" } else { "imported" };
    let (spaces, revisions) = (count(total.spaces, "log", "logs"), count(total.revisions, "revision", "revisions"));
    let Total { new, continued, unchanged, .. } = total;
    let bytes = bytes(total.bytes);
    format!("{verb} {spaces} ({new} new, {continued} continued, {unchanged} unchanged): {revisions}, {bytes}")
}

pub(super) fn tokens(with_tokens: bool) -> TokenCopying {
    if with_tokens { TokenCopying::Include } else { TokenCopying::LeaveOut }
}

/// Reports on stderr that tokens were skipped. With --json, the answer has their number.
pub(super) fn tell_left_out(output: Output, tokens: u64) {
    if tokens > 0 {
        let tokens = count(tokens, "token", "tokens");
        output.warn(&format!("skipped {tokens}; copy them with --with-tokens"));
    }
}

/// A problem with one space, or with one place in the file.
#[derive(Serialize)]
pub(super) struct ProblemView {
    space: Option<String>,
    code: &'static str,
    message: String,
}

impl ProblemView {
    pub(super) fn new(space: Option<&str>, error: &TransferError) -> Self {
        Self { space: space.map(str::to_owned), code: error.code(), message: error.to_string() }
    }
}

/// Fails with a list of all problems, if there are any. The first one decides the error's kind.
pub(super) fn expect_none<'a>(
    problems: impl ExactSizeIterator<Item = &'a TransferError> + Clone,
    one: &str,
    many: &str,
) -> Result<(), CliError> {
    let Some(first) = problems.clone().next() else { return Ok(()) };
    let number = problems.len();
    let what = count(number as u64, one, many);
    let mut lines: Vec<String> = problems.take(SHOWN_PROBLEMS).map(|error| one_line(&error.to_string())).collect();
    if number > SHOWN_PROBLEMS {
        lines.push(format!("and {} more; --json lists all", number - SHOWN_PROBLEMS));
    }
    let message = format!("{what}:\n  {}", lines.join("\n  "));
    let failure = CliError::Own { code: first.code(), kind: first.kind(), message, hint: None };
    Err(match first {
        TransferError::Deleted { .. } => failure.hint(
            "import it into another store, then copy the memory with `cork snapshot save` and `cork snapshot restore`",
        ),
        TransferError::Ahead { .. } => {
            failure.hint("the target has data that the original does not; use a new store as the target")
        }
        TransferError::Gap { .. } => failure.hint("import it into a store that has nothing of this space"),
        _ => failure,
    })
}
