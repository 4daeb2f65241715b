use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use corkboard::ErrorKind;
use corkboard::transfer::{Exported, Imported, Spaces, check};

use crate::args::Global;
use crate::atomic_file::{AtomicFile, Existing};
use crate::command_session::StoreSession;
use crate::commands::export::{answer, write_file};
use crate::error::CliError;
use crate::progress::{ProgressLine, unless_interrupted};

/// Save the whole store to a file while others go on writing
///
/// Every space with its whole held log, as it was at one revision: what `cork export --all` writes. The file is read back and
/// compared with its checksums before it gets its name: it appears when it is complete, right and on disk, or not at all.
/// `cork import` brings it into another store.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork snapshot store everything.jsonl
  cork --store sqlite:corkboard.db snapshot store backup.jsonl --force")]
pub(crate) struct SaveStore {
    /// The file
    file: PathBuf,

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

impl SaveStore {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        let session = StoreSession::open_existing(global).await?;
        let saved = unless_interrupted("no file was written", self.save(&session)).await;
        session.close(saved).await
    }

    async fn save(self, session: &StoreSession) -> Result<(), CliError> {
        let file = AtomicFile::create(&self.file, Existing::from_flag(self.force))?;
        let exported = write_file(session, &Spaces::All, &file).await?;
        let written = File::open(file.temporary()).map_err(|error| file.failure(&error))?;
        let mut line = ProgressLine::new(session.output);
        let reader = tokio::io::BufReader::new(tokio::fs::File::from_std(written));
        let read = check(reader, &mut |progress| line.tell(progress)).await?;
        drop(line);
        expect_alike(exported, read)?;
        file.finish()?;
        answer(session.output, "saved", exported, &self.file)
    }
}

/// Fails unless what was read back is what was written.
fn expect_alike(exported: Exported, mut read: Imported) -> Result<(), CliError> {
    if let Some(problem) = read.problems.pop() {
        return Err(problem.error.into());
    }
    let revisions = read.spaces.iter().map(|space| space.revisions).sum();
    if (read.spaces.len() as u64, revisions) == (exported.spaces, exported.revisions) {
        return Ok(());
    }
    let message = "what was read back from the disk is not what was written".into();
    Err(CliError::Own { code: "not_alike", kind: ErrorKind::Damaged, message, hint: Some("check the disk".into()) })
}
