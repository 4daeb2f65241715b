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

/// Save the whole store to a file while other processes write
///
/// Writes the same content as `cork export --all`: every space with all revisions that are kept, as of one revision. Then
/// reads the file back and verifies its checksums. The file appears only when it is complete, verified and on disk. `cork
/// import` reads it into another store.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork snapshot store everything.jsonl
  cork --store sqlite:corkboard.db snapshot store backup.jsonl --force")]
pub(crate) struct SaveStore {
    /// Output file
    file: PathBuf,

    /// Overwrite an existing file
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

/// Fails if the file that was read back differs from what was written.
fn expect_alike(exported: Exported, mut read: Imported) -> Result<(), CliError> {
    if let Some(problem) = read.problems.pop() {
        return Err(problem.error.into());
    }
    let revisions = read.spaces.iter().map(|space| space.revisions).sum();
    if (read.spaces.len() as u64, revisions) == (exported.spaces, exported.revisions) {
        return Ok(());
    }
    let message = "the file on disk differs from what was written".into();
    Err(CliError::Own { code: "not_alike", kind: ErrorKind::Damaged, message, hint: Some("check the disk".into()) })
}
