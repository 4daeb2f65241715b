use std::path::PathBuf;

use clap::Args;
use corkboard::{Limits, MemorySnapshot, Seal, Sealing, SnapshotBytes, SnapshotForm};

use super::Answer;
use super::file::read;
use super::secret::{Secret, ask};
use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::{count, one_line, time};

/// How a file of `cork export` and `cork snapshot store` begins.
const EXPORT: &[u8] = br#"{"export":"#;

/// Replace an agent's whole memory with its snapshot
///
/// Asks for confirmation, then replaces the current memory in one step. The log keeps the earlier state. Snapshots of all
/// earlier versions can be restored. An encrypted snapshot needs its passphrase or key; on a terminal, cork asks for the
/// passphrase.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork snapshot restore backup.json
  cork snapshot restore backup.cork --passphrase-file secret.txt
  ssh elsewhere cat backup.json | cork snapshot restore - --yes")]
pub(crate) struct Restore {
    /// Snapshot file; - reads stdin
    file: PathBuf,

    #[command(flatten)]
    secret: Secret,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Restore {
    pub(super) async fn run(self, session: &Session) -> Result<(), CliError> {
        let snapshot = self.read()?;
        let (agent, entries) = (snapshot.agent.clone(), snapshot.entry_count());
        let expected = session.agent.agent_id();
        if agent != expected.as_str() {
            // Report this before asking for confirmation.
            let refusal = corkboard::Refusal::AgentMismatch { expected: expected.as_str().into(), found: agent };
            return Err(refusal.into());
        }
        let stats = session.agent.stats().await?;
        let action = format!(
            "replace the memory of agent {} ({}, {}) with the snapshot of {} ({})",
            one_line(&agent),
            count(stats.total_entries_working, "entry", "entries"),
            count(stats.total_notes, "note", "notes"),
            time(snapshot.taken_at),
            count(entries as u64, "entry", "entries"),
        );
        confirm(Consent::from_flag(self.yes), &action)?;
        let rev = session.agent.restore(snapshot).await?;
        session.output.answer(&Answer { agent: &agent, rev, entries, file: None, sealed: None }, || {
            let entries = count(entries as u64, "entry", "entries");
            format!("restored agent {}, {entries}, at revision {rev}", one_line(&agent))
        })
    }

    fn read(&self) -> Result<MemorySnapshot, CliError> {
        let mut seal = self.secret.seal()?;
        let bytes = read(&self.file)?;
        if bytes.starts_with(EXPORT) {
            let file = self.file.display();
            let message = format!("{file} is an export, not a snapshot of one agent");
            return Err(CliError::invalid("not_a_snapshot", message).hint(format!("`cork import {file}` reads it")));
        }
        let form = SnapshotForm::of(&bytes)?;
        if let (Seal::Plain, SnapshotForm::Bytes { sealing: Sealing::Passphrase(_), .. }) = (&seal, form) {
            seal = ask()?.unwrap_or_default();
        }
        Ok(MemorySnapshot::from_bytes(&bytes, &seal, &Limits::default())?)
    }
}
