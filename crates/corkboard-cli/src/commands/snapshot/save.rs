use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser;
use corkboard::{Seal, SnapshotBytes, SnapshotFormat};

use super::secret::{Secret, ask_twice};
use super::{Answer, sealed_with};
use crate::atomic_file::{AtomicFile, Existing};
use crate::command_session::Session;
use crate::error::{CliError, say};
use crate::output::{count, one_line};
use crate::text_input::is_dash;
use crate::value_parsers::one_of;

/// Save an agent's whole memory, including scopes, to a file
///
/// The file appears only when it is complete and on disk. With a passphrase or key, the file is encrypted and protected
/// against changes. If you lose the passphrase or key, nobody can read the file any more.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork snapshot save backup.json
  cork snapshot save backup.cork --passphrase
  cork snapshot save backup.cork --key-file secret.key --force
  cork snapshot save - --format bytes | ssh elsewhere dd of=backup.cork

A key file: head -c 32 /dev/urandom > secret.key")]
pub(crate) struct Save {
    /// Snapshot file; - writes to stdout
    file: PathBuf,

    /// File format [default: json, or bytes if encrypted]
    #[arg(long, value_parser = format())]
    format: Option<SnapshotFormat>,

    #[command(flatten)]
    secret: Secret,

    /// Encrypt with a passphrase that cork asks for on the terminal
    #[arg(long, conflicts_with_all = ["passphrase_file", "key_file"])]
    passphrase: bool,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// Key file in the warning's example command.
const KEY_FILE: &str = "snapshot.key";

fn format() -> impl TypedValueParser<Value = SnapshotFormat> {
    one_of([
        ("json", SnapshotFormat::Json, "Readable text"),
        ("bytes", SnapshotFormat::Bytes, "Compact, with a checksum; can be encrypted"),
    ])
}

impl Save {
    pub(super) async fn run(self, session: &Session) -> Result<(), CliError> {
        let to_stdout = is_dash(&self.file);
        let existing = Existing::from_flag(self.force);
        if !to_stdout {
            // Report this before asking for a passphrase.
            existing.check(&self.file)?;
        }
        let seal = if self.passphrase { ask_twice()? } else { self.secret.seal()? };
        let format = match (self.format, &seal) {
            (Some(SnapshotFormat::Json), Seal::Key(_) | Seal::Passphrase(_)) => {
                return Err(CliError::invalid("sealed_json", "a JSON snapshot cannot be encrypted")
                    .hint("use --format bytes, or leave out the passphrase or key"));
            }
            (None, Seal::Plain) => SnapshotFormat::Json,
            (None, Seal::Key(_) | Seal::Passphrase(_)) => SnapshotFormat::Bytes,
            (Some(format), _) => format,
        };
        if format == SnapshotFormat::Bytes && to_stdout && std::io::stdout().is_terminal() {
            return Err(CliError::invalid("terminal", "refusing to write a binary snapshot to the terminal")
                .hint("name a file, or redirect stdout"));
        }
        let snapshot = session.agent.snapshot().await?;
        let bytes = match format {
            SnapshotFormat::Json => {
                let mut json = serde_json::to_vec(&snapshot).map_err(|error| CliError::Output(error.into()))?;
                json.push(b'\n');
                json
            }
            SnapshotFormat::Bytes => snapshot.to_bytes(&seal)?,
        };
        let holds_long_term = snapshot.long_term.as_ref().is_some_and(|core| !core.entries.is_empty());
        let is_exposed = holds_long_term && matches!(seal, Seal::Plain);
        if to_stdout {
            session.output.copy(&bytes)?;
        } else {
            AtomicFile::create(&self.file, existing)?.write(&bytes)?;
        }
        if is_exposed {
            let what = if to_stdout { "this snapshot".into() } else { one_line(&self.file.display().to_string()) };
            say(&format!("warning: {what} contains long-term memory and is not encrypted. To encrypt it:"));
            say(&format!("  head -c 32 /dev/urandom > {KEY_FILE}"));
            let given = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
            say(&format!("  {}", sealed_command(given, to_stdout)));
        }
        if to_stdout {
            return Ok(());
        }
        let (entries, rev) = (snapshot.entry_count(), snapshot.rev);
        let (file, sealed) = (self.file.display().to_string(), sealed_with(seal.sealing()));
        let answer = Answer { agent: &snapshot.agent, rev, entries, file: Some(file.clone()), sealed };
        session.output.answer(&answer, || {
            let entries = count(entries as u64, "entry", "entries");
            let sealed = sealed.map(|sealed| format!(", encrypted with a {sealed}")).unwrap_or_default();
            format!("saved agent {} at revision {rev}, {entries}, to {file}{sealed}", one_line(&snapshot.agent))
        })
    }
}

/// The same command with a key. Passwords in URLs are masked.
fn sealed_command(arguments: impl Iterator<Item = String>, to_stdout: bool) -> String {
    let mut command = vec!["cork".to_owned()];
    let mut arguments = arguments.filter(|argument| argument != "--force").peekable();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Encrypted snapshots have only one format.
            "--format" => drop(arguments.next()),
            format if format.starts_with("--format=") => {}
            argument => command.push(quoted(&without_password(argument))),
        }
    }
    command.extend(["--key-file", KEY_FILE].map(str::to_owned));
    if !to_stdout {
        // The unencrypted file exists now.
        command.push("--force".into());
    }
    command.join(" ")
}

fn quoted(argument: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./:=@%+,".contains(character);
    match !argument.is_empty() && argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", one_line(argument).replace('\'', "'\\''")),
    }
}

fn without_password(argument: &str) -> String {
    let masked = argument.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest.split_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:PASSWORD@{host}"))
    });
    masked.unwrap_or_else(|| argument.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_seals_is_the_same_with_a_key() {
        let command = |arguments: &[&str], to_stdout| {
            sealed_command(arguments.iter().map(|argument| (*argument).to_owned()), to_stdout)
        };
        assert_eq!(
            command(&["--agent", "ada", "snapshot", "save", "my backup.json", "--format", "json", "--force"], false),
            "cork --agent ada snapshot save 'my backup.json' --key-file snapshot.key --force"
        );
        assert_eq!(
            command(&["--store", "postgres://a:b@host/db", "snapshot", "save", "-", "--format=bytes"], true),
            "cork --store postgres://a:PASSWORD@host/db snapshot save - --key-file snapshot.key"
        );
        assert_eq!(
            command(&["snapshot", "save", "it's"], true),
            "cork snapshot save 'it'\\''s' --key-file snapshot.key"
        );
    }
}
