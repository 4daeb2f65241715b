//! `cork export`: whole logs as JSON lines.

use std::path::{Path, PathBuf};

use clap::Args;
use corkboard::transfer::{Exported, Spaces, TransferError, export};
use corkboard::{AgentId, BoardId, SpaceId, SpaceKind};
use serde::Serialize;

use crate::args::Global;
use crate::atomic_file::{AtomicFile, Existing};
use crate::command_session::StoreSession;
use crate::error::CliError;
use crate::output::{Output, bytes, count};
use crate::progress::{ProgressLine, unless_interrupted};
use crate::text_input::is_dash;

/// Export an agent, board or core, or the whole store, as JSON lines
///
/// The export has all revisions that are kept, with commit IDs, times and snapshots. Other processes can keep writing; each
/// agent, board and core is exported as of one revision. `cork import` reads the export. The file appears only when it is
/// complete and on disk.
///
/// With --all, the export also has the access tokens, as hashes that nobody can sign in with. `cork import` skips them
/// unless you pass --with-tokens.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork export --agent ada > ada.jsonl
  cork export --board add-login-1a2b3c4d > board.jsonl
  cork export --core house-rules > core.jsonl
  cork export --all -o everything.jsonl
  cork export --all | gzip > everything.jsonl.gz")]
pub(crate) struct Export {
    /// Export everything in the store
    #[arg(long, conflicts_with_all = ["core", "named_agent", "named_board"])]
    all: bool,

    /// Export this core; agent:NAME is the long-term memory of agent NAME
    #[arg(long, value_name = "NAME", conflicts_with_all = ["named_agent", "named_board"])]
    core: Option<String>,

    /// Output file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    force: bool,
}

impl Export {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        let limits = global.options().limits;
        // Only --board selects a board here. CORK_BOARD is meant for commands about boards.
        let spaces = match (&self.core, global.flagged_board()) {
            _ if self.all => Spaces::All,
            (Some(core), _) => Spaces::One(SpaceId::of(SpaceKind::Core, core)),
            (None, Some(board)) => Spaces::One(SpaceId::board(&BoardId::new(board, &limits)?)),
            (None, None) => Spaces::One(SpaceId::agent(&AgentId::new(&global.agent, &limits)?)),
        };
        let session = StoreSession::open_existing(global).await?;
        let written = unless_interrupted("no file was written", self.write(&session, &spaces)).await;
        session.close(written).await
    }

    async fn write(self, session: &StoreSession, spaces: &Spaces) -> Result<(), CliError> {
        let Some(path) = self.output.filter(|path| !is_dash(path)) else {
            let written = write(session, spaces, tokio::io::stdout()).await;
            return written.map(|_| ()).map_err(|error| match error {
                TransferError::Write(error) => CliError::Copy(error),
                other => other.into(),
            });
        };
        let file = AtomicFile::create(&path, Existing::from_flag(self.force))?;
        let exported = write_file(session, spaces, &file).await?;
        file.finish()?;
        answer(session.output, "exported", exported, &path)
    }
}

pub(super) async fn write_file(
    session: &StoreSession,
    spaces: &Spaces,
    file: &AtomicFile,
) -> Result<Exported, CliError> {
    let writer = tokio::fs::File::from_std(file.file()?);
    write(session, spaces, writer).await.map_err(|error| match error {
        TransferError::Write(error) => file.failure(&error),
        other => other.into(),
    })
}

async fn write(
    session: &StoreSession,
    spaces: &Spaces,
    writer: impl tokio::io::AsyncWrite + Unpin + Send,
) -> Result<Exported, TransferError> {
    let mut line = ProgressLine::new(session.output);
    export(&*session.store, spaces, writer, &mut |progress| line.tell(progress)).await
}

pub(super) fn answer(output: Output, verb: &str, exported: Exported, file: &Path) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Answer<'a> {
        #[serde(flatten)]
        exported: Exported,
        file: &'a str,
    }
    let file = &file.display().to_string();
    output.answer(&Answer { exported, file }, || {
        let spaces = count(exported.spaces, "log", "logs");
        let revisions = count(exported.revisions, "revision", "revisions");
        format!("{verb} {spaces}, {revisions}, {}, to {file}", bytes(exported.bytes))
    })
}
