//! `cork snapshot`: an agent's whole memory in a file, or the whole store.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use corkboard::transfer::{Exported, Imported, Spaces, check};
use corkboard::{Error, ErrorKind, FormatError, MemorySnapshot};
use serde::Serialize;

use super::export::{answer, write_file};
use crate::args::Global;
use crate::exit::Failure;
use crate::input::{Consent, confirm};
use crate::output::{count, one_line, time};
use crate::progress::{ProgressLine, unless_interrupted};
use crate::session::{Session, StoreSession, is_dash};
use crate::whole_file::{Existing, WholeFile, file_failure};

/// Save an agent's whole memory to a file and restore it, or save the whole store
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork snapshot save before-refactoring.json
  cork snapshot restore before-refactoring.json
  cork snapshot store everything.jsonl")]
pub(crate) enum Snapshot {
    Save(Save),
    Restore(Restore),
    Store(SaveStore),
}

/// Save the agent's whole memory, scopes included, to a file
///
/// The file appears when it is complete and on disk, or not at all.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork snapshot save backup.json
  cork snapshot save - | gzip > backup.json.gz")]
pub(crate) struct Save {
    /// The file; - is stdout
    file: PathBuf,

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// Replace the agent's whole memory by a snapshot of the same agent
///
/// Asks first. What the agent remembers now is replaced in one step; its log keeps what was before.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork snapshot restore backup.json
  gunzip < backup.json.gz | cork snapshot restore - --yes")]
pub(crate) struct Restore {
    /// The file; - is stdin
    file: PathBuf,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

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

impl Snapshot {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Save(save) => save.run(session).await,
            Self::Restore(restore) => restore.run(session).await,
            // It needs no agent, and was seen to before.
            Self::Store(_) => Ok(()),
        }
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    agent: &'a str,
    rev: u64,
    entries: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl Save {
    async fn run(self, session: &Session) -> Result<(), Failure> {
        let snapshot = session.agent.snapshot().await?;
        if is_dash(&self.file) {
            return session.output.document(&snapshot);
        }
        let mut json = serde_json::to_vec(&snapshot).map_err(|error| file_failure(&self.file, &error.into()))?;
        json.push(b'\n');
        WholeFile::create(&self.file, Existing::from_flag(self.force))?.write(&json)?;
        let (entries, rev) = (snapshot.entry_count(), snapshot.rev);
        let file = self.file.display().to_string();
        session.output.answer(&Answer { agent: &snapshot.agent, rev, entries, file: Some(file.clone()) }, || {
            let entries = count(entries as u64, "entry", "entries");
            format!("saved agent {} at revision {rev}, {entries}, to {file}", one_line(&snapshot.agent))
        })
    }
}

impl Restore {
    async fn run(self, session: &Session) -> Result<(), Failure> {
        let snapshot = MemorySnapshot::from_json(&self.read()?).map_err(|error| match error {
            FormatError::Newer { found } => Error::NewerFormat { space: "the snapshot".into(), found },
            other => Error::NotASnapshot(other.to_string()),
        })?;
        let (agent, entries) = (snapshot.agent.clone(), snapshot.entry_count());
        let expected = session.agent.agent_id();
        if agent != expected.as_str() {
            // Said before anybody is asked.
            let refusal = corkboard::Refusal::AgentMismatch { expected: expected.as_str().into(), found: agent };
            return Err(Failure::Library(refusal.into()));
        }
        let stats = session.agent.stats().await?;
        let action = format!(
            "replace what agent {} remembers ({}, {}) by the snapshot of {} ({})",
            one_line(&agent),
            count(stats.total_entries_working, "entry", "entries"),
            count(stats.total_notes, "note", "notes"),
            time(snapshot.taken_at),
            count(entries as u64, "entry", "entries"),
        );
        confirm(Consent::from_flag(self.yes), &action)?;
        let rev = session.agent.restore(snapshot).await?;
        session.output.answer(&Answer { agent: &agent, rev, entries, file: None }, || {
            let entries = count(entries as u64, "entry", "entries");
            format!("restored agent {}, {entries}, at revision {rev}", one_line(&agent))
        })
    }

    fn read(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let read = match is_dash(&self.file) {
            true => std::io::stdin().read_to_end(&mut bytes),
            false => File::open(&self.file).and_then(|mut file| file.read_to_end(&mut bytes)),
        };
        match read {
            Ok(_) => Ok(bytes),
            Err(error) => Err(file_failure(&self.file, &error)),
        }
    }
}

impl SaveStore {
    pub(crate) async fn run(self, global: &Global) -> Result<(), Failure> {
        let session = StoreSession::open_existing(global).await?;
        let saved = unless_interrupted("no file was written", self.save(&session)).await;
        session.close(saved).await
    }

    async fn save(self, session: &StoreSession) -> Result<(), Failure> {
        let file = WholeFile::create(&self.file, Existing::from_flag(self.force))?;
        let exported = write_file(session, &Spaces::All, &file).await?;
        let written = File::open(file.temporary()).map_err(|error| file.failure(&error))?;
        let mut line = ProgressLine::new(session.output);
        let reader = tokio::io::BufReader::new(tokio::fs::File::from_std(written));
        let read = check(reader, &mut |progress| line.tell(progress)).await.map_err(Error::from)?;
        drop(line);
        expect_alike(exported, read)?;
        file.finish()?;
        answer(session.output, "saved", exported, &self.file)
    }
}

/// Fails unless what was read back is what was written.
fn expect_alike(exported: Exported, mut read: Imported) -> Result<(), Failure> {
    if let Some(problem) = read.problems.pop() {
        return Err(Failure::Library(problem.error.into()));
    }
    let revisions = read.spaces.iter().map(|space| space.revisions).sum();
    if (read.spaces.len() as u64, revisions) == (exported.spaces, exported.revisions) {
        return Ok(());
    }
    let message = "what was read back from the disk is not what was written".into();
    Err(Failure::Own { code: "not_alike", kind: ErrorKind::Damaged, message, hint: Some("check the disk".into()) })
}
