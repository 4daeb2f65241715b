//! `cork snapshot save`.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use corkboard::{Seal, SnapshotBytes};

use super::secret::{Secret, ask_twice};
use super::{Answer, sealed_with};
use crate::exit::Failure;
use crate::output::{count, one_line};
use crate::session::{Session, is_dash};
use crate::whole_file::{Existing, WholeFile};

/// Save the agent's whole memory, scopes included, to a file
///
/// The file appears when it is complete and on disk, or not at all. With a passphrase or a key it is encrypted, and shows
/// when it was changed; without the same passphrase or key nobody can read it again, you included.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork snapshot save backup.json
  cork snapshot save backup.cork --passphrase
  cork snapshot save backup.cork --key-file secret.key --force
  cork snapshot save - --format bytes | ssh elsewhere dd of=backup.cork

A key file: head -c 32 /dev/urandom > secret.key")]
pub(crate) struct Save {
    /// The file; - is stdout
    file: PathBuf,

    /// How it is written [default: json, or bytes if it is sealed]
    #[arg(long)]
    format: Option<Format>,

    #[command(flatten)]
    secret: Secret,

    /// Seal it with a passphrase that is asked for at the terminal
    #[arg(long, conflicts_with_all = ["passphrase_file", "key_file"])]
    passphrase: bool,

    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A text that a person can read
    Json,
    /// Compact, with a checksum; can be sealed
    Bytes,
}

impl Save {
    pub(super) async fn run(self, session: &Session) -> Result<(), Failure> {
        let to_stdout = is_dash(&self.file);
        let existing = Existing::from_flag(self.force);
        if !to_stdout {
            // Said before a passphrase is asked for.
            existing.check(&self.file)?;
        }
        let seal = if self.passphrase { ask_twice()? } else { self.secret.seal()? };
        let format = match (self.format, &seal) {
            (Some(Format::Json), Seal::Key(_) | Seal::Passphrase(_)) => {
                return Err(Failure::invalid("sealed_json", "JSON cannot be sealed")
                    .hint("use --format bytes, or neither passphrase nor key"));
            }
            (None, Seal::Plain) => Format::Json,
            (None, Seal::Key(_) | Seal::Passphrase(_)) => Format::Bytes,
            (Some(format), _) => format,
        };
        if format == Format::Bytes && to_stdout && std::io::stdout().is_terminal() {
            return Err(Failure::invalid("terminal", "these bytes are not for a terminal")
                .hint("name a file, or send the output elsewhere"));
        }
        let snapshot = session.agent.snapshot().await?;
        let bytes = match format {
            Format::Json => {
                let mut json = serde_json::to_vec(&snapshot).map_err(|error| Failure::Output(error.into()))?;
                json.push(b'\n');
                json
            }
            Format::Bytes => snapshot.to_bytes(&seal)?,
        };
        if to_stdout {
            return session.output.copy(&bytes);
        }
        WholeFile::create(&self.file, existing)?.write(&bytes)?;
        let (entries, rev) = (snapshot.entry_count(), snapshot.rev);
        let (file, sealed) = (self.file.display().to_string(), sealed_with(seal.sealing()));
        let answer = Answer { agent: &snapshot.agent, rev, entries, file: Some(file.clone()), sealed };
        session.output.answer(&answer, || {
            let entries = count(entries as u64, "entry", "entries");
            let sealed = sealed.map(|sealed| format!(", sealed with a {sealed}")).unwrap_or_default();
            format!("saved agent {} at revision {rev}, {entries}, to {file}{sealed}", one_line(&snapshot.agent))
        })
    }
}
