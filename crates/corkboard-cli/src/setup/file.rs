//! One settings file: what changes, the backup, and the change itself.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::diff;
use super::entry::Item;
use super::format::{self, Edited, Format};
use crate::atomic_file::{AtomicFile, Existing, file_error, unreadable_file};
use crate::error::CliError;

/// Ending of a backup's name.
const BACKUP: &str = "cork-backup";
const BOM: &str = "\u{feff}";
/// Deeper links are a loop.
const MOST_LINKS: usize = 8;

/// A settings file, and what belongs into it.
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(super) format: Format,
    pub(super) additions: Additions,
}

/// What Corkboard adds to a file.
pub(super) struct Additions {
    /// The section, and the server's entry in it.
    pub(super) server: Option<(&'static str, Item)>,
    /// The hooks of each event.
    pub(super) hooks: Vec<(&'static str, Item)>,
    /// Whether the file needs a version.
    pub(super) has_version: bool,
}

/// A change of a file that can be shown or made.
pub(crate) struct FileChange {
    /// The real file, behind any link.
    path: PathBuf,
    before: Option<String>,
    /// `None` removes the file.
    after: Option<String>,
    backup: Backup,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Backup {
    None,
    Write,
    /// It has the restored content, so it is not needed any more.
    Remove,
}

impl SettingsFile {
    /// What to write so that the file has all additions.
    pub(crate) fn adding(&self) -> Result<FileChange, CliError> {
        let (path, before) = self.load()?;
        let text = before.as_deref().unwrap_or_default();
        let after = self.edit(&path, text, |text| self.format.add(text, &self.additions))?;
        // The backup is the file without Corkboard. A later change of Corkboard's own entry keeps it.
        let is_new = !self.is_in(&path, text)? || !backup_of(&path).exists();
        let backup = if before.is_some() && is_new { Backup::Write } else { Backup::None };
        Ok(FileChange { path, before, after: Some(after), backup })
    }

    /// What to write so that the file has none of the additions.
    pub(crate) fn removing(&self) -> Result<FileChange, CliError> {
        let (path, before) = self.load()?;
        let Some(text) = before.as_deref().filter(|text| !text.is_empty()) else {
            return Ok(FileChange { path, after: before.clone(), before, backup: Backup::None });
        };
        if !self.is_in(&path, text)? {
            return Ok(FileChange { path, after: before.clone(), before, backup: Backup::None });
        }
        // A backup with Corkboard in it is of no use here.
        let backup = read_text(&backup_of(&path))?;
        let backup = backup.filter(|backup| self.is_in(&path, backup).is_ok_and(|is_in| !is_in));
        let bare =
            |text: &str, kept: &Value| self.edit(&path, text, |text| self.format.remove(text, &self.additions, kept));
        let Some(backup) = backup else {
            let after = bare(text, &Value::Null)?;
            let is_left = self.has_content(&path, &after)?;
            return Ok(FileChange { path, before, after: Some(after).filter(|_| is_left), backup: Backup::None });
        };
        // If nothing else has changed since, the file gets back every byte.
        let again = self.edit(&path, &backup, |text| self.format.add(text, &self.additions));
        let restored = again.and_then(|again| bare(&again, &Value::Null)).ok();
        if restored == Some(bare(text, &Value::Null)?) {
            return Ok(FileChange { path, before, after: Some(backup), backup: Backup::Remove });
        }
        let kept = self.format.read(without_mark(&backup)).unwrap_or_default();
        let after = bare(text, &kept)?;
        Ok(FileChange { path, before, after: Some(after), backup: Backup::None })
    }

    /// Whether the file has Corkboard's server or a hook.
    pub(crate) fn is_set_up(&self) -> Result<bool, CliError> {
        let (path, text) = self.load()?;
        self.is_in(&path, text.as_deref().unwrap_or_default())
    }

    /// The additions alone, as they would be in a new file, without secrets.
    pub(crate) fn snippet(&self) -> String {
        diff::masked(&self.format.add("", &self.additions).unwrap_or_default())
    }

    fn is_in(&self, path: &Path, text: &str) -> Result<bool, CliError> {
        let content = self.read(path, text)?;
        let has_server = |(section, _): &(&str, Item)| format::has_own_server(&content, section);
        let has_hook = !self.additions.hooks.is_empty() && format::has_own_hook(&content);
        Ok(has_hook || self.additions.server.as_ref().is_some_and(has_server))
    }

    /// Whether more is left than an empty frame.
    fn has_content(&self, path: &Path, text: &str) -> Result<bool, CliError> {
        let frame =
            |(name, value): (&String, &Value)| name == "version" && value.is_number() && self.additions.has_version;
        Ok(match self.read(path, text)? {
            Value::Null => !text.trim().is_empty(),
            Value::Object(fields) => !fields.iter().all(frame),
            _ => true,
        })
    }

    fn read(&self, path: &Path, text: &str) -> Result<Value, CliError> {
        self.format.read(without_mark(text)).map_err(|problem| not_editable(path, &problem))
    }

    fn load(&self) -> Result<(PathBuf, Option<String>), CliError> {
        let path = real_path(&self.path)?;
        let text = read_text(&path)?;
        Ok((path, text))
    }

    fn edit(&self, path: &Path, text: &str, edit: impl FnOnce(&str) -> Edited<String>) -> Result<String, CliError> {
        let bare = without_mark(text);
        let mark = if bare.len() < text.len() { BOM } else { "" };
        let edited = edit(bare).map_err(|problem| not_editable(path, &problem))?;
        Ok([mark, &edited].concat())
    }
}

impl FileChange {
    pub(crate) fn changes(&self) -> bool {
        self.before != self.after
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn creates(&self) -> bool {
        self.before.is_none()
    }

    pub(crate) fn removes(&self) -> bool {
        self.after.is_none()
    }

    /// Where the previous content is after the change.
    pub(crate) fn backup(&self) -> Option<PathBuf> {
        let path = backup_of(&self.path);
        (self.backup == Backup::Write || (self.backup == Backup::None && path.exists())).then_some(path)
    }

    /// The change as a unified diff, without secrets.
    pub(crate) fn diff(&self) -> String {
        let text = |side: &Option<String>| side.clone().unwrap_or_default();
        diff::unified(&self.path.display().to_string(), &text(&self.before), &text(&self.after))
    }

    /// Fails if the file must not be written.
    pub(crate) fn check(&self) -> Result<(), CliError> {
        match fs::metadata(&self.path) {
            Ok(found) if found.permissions().readonly() => {
                let message = format!("{} is read-only", self.path.display());
                Err(CliError::invalid("read_only", message)
                    .hint("nothing was changed; make the file writable, or add the entry by hand (see --dry-run)"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn make(&self) -> Result<(), CliError> {
        if read_text(&self.path)? != self.before {
            let message = format!("{} was changed by another program at the same time", self.path.display());
            return Err(CliError::unavailable("file_changed", message).hint("run the command again"));
        }
        let backup = backup_of(&self.path);
        if let (Backup::Write, Some(before)) = (self.backup, &self.before) {
            AtomicFile::create(&backup, Existing::Replaced)?.write(before.as_bytes())?;
            copy_mode(&self.path, &backup)?;
        }
        match &self.after {
            Some(after) => {
                if let Some(folder) = self.path.parent() {
                    fs::create_dir_all(folder).map_err(|error| file_error(folder, &error))?;
                }
                let existing = if self.before.is_some() { Existing::Replaced } else { Existing::Kept };
                AtomicFile::create(&self.path, existing)?.write(after.as_bytes())?;
            }
            None => fs::remove_file(&self.path).map_err(|error| file_error(&self.path, &error))?,
        }
        if self.backup == Backup::Remove {
            fs::remove_file(&backup).map_err(|error| file_error(&backup, &error))?;
        }
        Ok(())
    }
}

fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(BACKUP);
    path.with_file_name(name)
}

fn copy_mode(from: &Path, to: &Path) -> Result<(), CliError> {
    let mode: Permissions = fs::metadata(from).map_err(|error| file_error(from, &error))?.permissions();
    fs::set_permissions(to, mode).map_err(|error| file_error(to, &error))
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// The file behind links. The file itself need not exist.
fn real_path(path: &Path) -> Result<PathBuf, CliError> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new(".")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(CliError::invalid("file", format!("{} is a link to itself", path.display())))
}

fn read_text(path: &Path) -> Result<Option<String>, CliError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable_file(path, &error)),
    }
}

fn not_editable(path: &Path, problem: &str) -> CliError {
    CliError::invalid("not_editable", format!("cannot edit {}: {problem}", path.display()))
        .hint("nothing was changed; correct the file and run the command again")
}
