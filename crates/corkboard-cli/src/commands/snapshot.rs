//! `cork snapshot`: an agent's whole memory in a file.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use corkboard::{Error, FormatError, MemorySnapshot};
use serde::Serialize;

use crate::exit::Failure;
use crate::input::{Consent, confirm};
use crate::output::{count, one_line, time};
use crate::session::Session;

/// Save an agent's whole memory to a file, and restore it
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork snapshot save before-refactoring.json
  cork snapshot restore before-refactoring.json")]
pub(crate) enum Snapshot {
    Save(Save),
    Restore(Restore),
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

impl Snapshot {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Save(save) => save.run(session).await,
            Self::Restore(restore) => restore.run(session).await,
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
        let existing = if self.force { Existing::Replaced } else { Existing::Kept };
        write_whole(&self.file, &snapshot, existing)?;
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

fn is_dash(file: &Path) -> bool {
    file.as_os_str() == "-"
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    Kept,
    Replaced,
}

/// Writes a file that is either complete and on disk, or not there.
fn write_whole(file: &Path, snapshot: &MemorySnapshot, existing: Existing) -> Result<(), Failure> {
    if existing == Existing::Kept && file.symlink_metadata().is_ok() {
        return Err(Failure::invalid("file_exists", format!("{} exists already", file.display()))
            .hint("another name, or --force to replace it"));
    }
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = file.with_file_name(name);
    let written = write_durably(&temporary, snapshot)
        .and_then(|()| std::fs::rename(&temporary, file))
        // The name must be on disk too.
        .and_then(|()| File::open(folder_of(file))?.sync_all());
    written.map_err(|error| {
        // It may never have come into being.
        let _ = std::fs::remove_file(&temporary);
        file_failure(file, &error)
    })
}

fn write_durably(path: &Path, snapshot: &MemorySnapshot) -> std::io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let mut json = serde_json::to_vec(snapshot)?;
    json.push(b'\n');
    file.write_all(&json)?;
    file.sync_all()
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn file_failure(file: &Path, error: &std::io::Error) -> Failure {
    Failure::invalid("file", format!("{}: {error}", file.display()))
}
