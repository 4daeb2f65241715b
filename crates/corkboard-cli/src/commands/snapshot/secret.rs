//! Passphrase or key of a snapshot. Never a command line argument, because other users can see those.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use corkboard::{Passphrase, Seal, SnapshotKey};
use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, Encoding, HEXLOWER_PERMISSIVE};
use zeroize::{Zeroize, Zeroizing};

use crate::atomic_file::unreadable_file;
use crate::error::CliError;

const PASSPHRASE_VARIABLE: &str = "CORK_SNAPSHOT_PASSPHRASE";

/// Maximum length of a passphrase or key. The buffer is allocated in full, because growing it would leave copies in memory.
const MOST_BYTES: usize = 4096;

#[derive(Args)]
pub(super) struct Secret {
    /// File with the passphrase; a final newline is ignored. Alternatively, set CORK_SNAPSHOT_PASSPHRASE to the passphrase
    #[arg(long, value_name = "FILE", conflicts_with = "key_file")]
    passphrase_file: Option<PathBuf>,

    /// File with a key: 32 bytes, raw or in hex or base64
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Secret {
    /// The secret from the options, or else from the environment.
    pub(super) fn seal(&self) -> Result<Seal, CliError> {
        if let Some(file) = &self.passphrase_file {
            let content = read(file)?;
            let passphrase = content.strip_suffix(b"\n").unwrap_or(&content);
            let passphrase = passphrase.strip_suffix(b"\r").unwrap_or(passphrase);
            return sealed_with_passphrase(passphrase, &file.display().to_string());
        }
        if let Some(file) = &self.key_file {
            return match key(&read(file)?) {
                Some(key) => Ok(Seal::Key(key)),
                None => Err(CliError::invalid("key_file", format!("{} does not contain a key", file.display()))
                    .hint("a key is 32 bytes, raw or in hex or base64; create one with `head -c 32 /dev/urandom`")),
            };
        }
        match std::env::var_os(PASSPHRASE_VARIABLE) {
            None => Ok(Seal::Plain),
            Some(passphrase) => {
                let passphrase = Zeroizing::new(passphrase.into_encoded_bytes());
                sealed_with_passphrase(&passphrase, PASSPHRASE_VARIABLE)
            }
        }
    }
}

/// Asks for the passphrase of a snapshot, if stdin is a terminal.
pub(super) fn ask() -> Result<Option<Seal>, CliError> {
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let passphrase = prompt("Passphrase of the snapshot: ")?;
    sealed_with_passphrase(passphrase.as_bytes(), "the terminal").map(Some)
}

/// Asks for a new passphrase twice, because the input is hidden.
pub(super) fn ask_twice() -> Result<Seal, CliError> {
    if !std::io::stdin().is_terminal() {
        return Err(CliError::invalid("no_terminal", "cannot ask for a passphrase: stdin is not a terminal")
            .hint(format!("use --passphrase-file or {PASSPHRASE_VARIABLE}")));
    }
    let passphrase = prompt("Passphrase for the snapshot: ")?;
    if passphrase != prompt("Repeat the passphrase: ")? {
        return Err(CliError::invalid("passphrases_differ", "the passphrases do not match"));
    }
    sealed_with_passphrase(passphrase.as_bytes(), "the terminal")
}

fn prompt(question: &str) -> Result<Zeroizing<String>, CliError> {
    let answer = rpassword::prompt_password(question);
    answer.map(Zeroizing::new).map_err(|error| {
        CliError::invalid("no_terminal", format!("cannot read the passphrase from the terminal: {error}"))
    })
}

/// Refuses an empty passphrase: a script that failed to fetch the secret must not create a snapshot that everyone can read.
fn sealed_with_passphrase(passphrase: &[u8], from: &str) -> Result<Seal, CliError> {
    if passphrase.is_empty() {
        return Err(CliError::invalid("empty_passphrase", format!("the passphrase from {from} is empty")));
    }
    Ok(Seal::Passphrase(Passphrase::new(passphrase)))
}

fn read(file: &Path) -> Result<Zeroizing<Vec<u8>>, CliError> {
    let mut content = Zeroizing::new(Vec::with_capacity(MOST_BYTES + 1));
    File::open(file)
        .and_then(|opened| opened.take(MOST_BYTES as u64 + 1).read_to_end(&mut content))
        .map_err(|error| unreadable_file(file, &error))?;
    if content.len() > MOST_BYTES {
        let message = format!("{} is too long: a passphrase or key has at most {MOST_BYTES} bytes", file.display());
        return Err(CliError::invalid("secret_too_long", message));
    }
    Ok(content)
}

/// Reads a key in any encoding. The encodings differ in length, so they cannot be confused.
fn key(content: &[u8]) -> Option<SnapshotKey> {
    if let Ok(raw) = content.try_into() {
        return Some(SnapshotKey::new(raw));
    }
    let encodings: [&Encoding; 5] = [&HEXLOWER_PERMISSIVE, &BASE64, &BASE64_NOPAD, &BASE64URL, &BASE64URL_NOPAD];
    encodings.into_iter().find_map(|encoding| {
        let mut decoded = encoding.decode(content.trim_ascii()).ok()?;
        let key = decoded.as_slice().try_into().ok().map(SnapshotKey::new);
        decoded.zeroize();
        key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_many_forms() {
        let raw: Vec<u8> = (224..=255).collect();
        let encodings = [HEXLOWER_PERMISSIVE, BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD];
        for form in encodings.iter().map(|encoding| encoding.encode(&raw)) {
            for text in [form.clone(), format!("{form}\n"), format!(" {form}\r\n")] {
                assert!(key(text.as_bytes()).is_some(), "{text:?}");
            }
        }
        assert!(key(HEXLOWER_PERMISSIVE.encode(&raw).to_uppercase().as_bytes()).is_some());
        assert!(key(&raw).is_some() && key(b"a raw one may be text, as it is ").is_some());
        for wrong in [&b""[..], &[0; 31], &[0; 33], b"00", "ab".repeat(31).as_bytes(), "gh".repeat(32).as_bytes()] {
            assert!(key(wrong).is_none(), "{wrong:?}");
        }
    }
}
