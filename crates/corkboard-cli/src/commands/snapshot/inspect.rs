use std::path::PathBuf;

use clap::Args;
use corkboard::{Limits, MemorySnapshot, PassphraseCost, Seal, Sealing, SnapshotBytes, SnapshotForm};
use jiff::Timestamp;
use serde::Serialize;

use super::file::read;
use super::sealed_with;
use super::secret::Secret;
use crate::error::CliError;
use crate::output::{Output, bytes, fields, one_line, time};

/// Show the format and content of a snapshot file
///
/// Also detects damage. Without the passphrase or key of an encrypted snapshot, shows only its unencrypted header. Does not
/// open a store.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork snapshot inspect backup.json
  cork snapshot inspect backup.cork --passphrase-file secret.txt")]
pub(crate) struct Inspect {
    /// Snapshot file; - reads stdin
    file: PathBuf,

    #[command(flatten)]
    secret: Secret,
}

#[derive(Serialize)]
struct View {
    form: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u8>,
    bytes: u64,
    json_bytes: u64,
    sealed: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    argon2id: Option<CostView>,
    /// None if the snapshot is encrypted and no secret was given.
    snapshot: Option<ContentView>,
}

#[derive(Serialize)]
struct CostView {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

#[derive(Serialize)]
struct ContentView {
    agent: String,
    taken_at: Timestamp,
    rev: u64,
    format: u32,
    entries: u64,
    notes: u64,
    scopes: u64,
}

impl Inspect {
    pub(crate) fn run(self, output: Output) -> Result<(), CliError> {
        let seal = self.secret.seal()?;
        let content = read(&self.file)?;
        let form = SnapshotForm::of(&content)?;
        let open = |seal: &Seal| MemorySnapshot::from_bytes(&content, seal, &Limits::default());
        let (sealing, version, json_bytes) = match form {
            SnapshotForm::Json => (Sealing::Plain, None, content.len() as u64),
            SnapshotForm::Bytes { version, sealing, json_bytes } => (sealing, Some(version), json_bytes),
        };
        let snapshot = match (sealing, &seal) {
            // The snapshot is not encrypted, so ignore the secret.
            (Sealing::Plain, _) => Some(open(&Seal::Plain)?),
            (_, Seal::Plain) => None,
            _ => Some(open(&seal)?),
        };
        let view = View {
            form: if version.is_some() { "bytes" } else { "json" },
            version,
            bytes: content.len() as u64,
            json_bytes,
            sealed: sealed_with(sealing),
            argon2id: match sealing {
                Sealing::Passphrase(PassphraseCost { memory_kib, passes, lanes }) => {
                    Some(CostView { memory_kib, passes, lanes })
                }
                Sealing::Plain | Sealing::Key => None,
            },
            snapshot: snapshot.map(ContentView::from),
        };
        output.answer(&view, || view.text())
    }
}

impl View {
    fn text(&self) -> String {
        let mut lines = vec![(
            "form",
            match self.version {
                Some(version) => format!("bytes, version {version}"),
                None => "json".to_owned(),
            },
        )];
        lines.push(("sealed", self.sealed.map_or_else(|| "no".to_owned(), |sealed| format!("with a {sealed}"))));
        if let Some(CostView { memory_kib, passes, lanes }) = self.argon2id {
            lines.push(("argon2id", format!("{memory_kib} KiB, {passes} passes, {lanes} lanes")));
        }
        lines.push(("size", format!("{} ({} of JSON)", bytes(self.bytes), bytes(self.json_bytes))));
        match &self.snapshot {
            None => lines.push(("content", "encrypted: give its passphrase or key to see it".to_owned())),
            Some(content) => {
                lines.push(("agent", one_line(&content.agent)));
                lines.push(("taken at", time(content.taken_at)));
                lines.push(("revision", content.rev.to_string()));
                lines.push(("entries", content.entries.to_string()));
                lines.push(("notes", content.notes.to_string()));
                lines.push(("scopes", content.scopes.to_string()));
            }
        }
        fields(&lines)
    }
}

impl From<MemorySnapshot> for ContentView {
    fn from(snapshot: MemorySnapshot) -> Self {
        let scopes = &snapshot.memory.scopes;
        Self {
            entries: snapshot.entry_count() as u64,
            notes: scopes.iter().map(|scope| scope.notes.len() as u64).sum(),
            // The root scope is not counted.
            scopes: scopes.iter().filter(|scope| !scope.id.is_root()).count() as u64,
            taken_at: snapshot.taken_at,
            rev: snapshot.rev,
            format: snapshot.format,
            agent: snapshot.agent,
        }
    }
}
