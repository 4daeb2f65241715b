//! Paths below `/memories`, and their keys.

use corkboard_core::{Key, Limits, Refusal};

/// The root directory, which always exists.
pub(super) const ROOT: &str = "/memories";

/// Maximum characters of a path in a message.
const SHOWN: usize = 600;

/// A checked path. It cannot name anything outside the memory: it is a key, or the beginning of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePath {
    shown: String,
    /// The part below the root; empty for the root itself.
    key: String,
    /// Whether the path ends in a slash.
    is_directory: bool,
}

impl FilePath {
    /// Parses a path. It decodes and normalizes nothing, so two paths never name one file.
    pub(super) fn parse(path: &str, limits: &Limits) -> Result<Self, String> {
        let shown = clip(path);
        let below = match path.strip_prefix(ROOT) {
            Some("" | "/") => return Ok(Self { shown: ROOT.into(), key: String::new(), is_directory: true }),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let below = below.ok_or_else(|| format!("Error: Path must start with {ROOT}, got: {shown}"))?;
        // `view` shows directories with a slash at the end.
        let key = below.strip_suffix('/').unwrap_or(below);
        key.split('/').try_for_each(check_name).map_err(|wrong| format!("Error: Path {shown} {wrong}"))?;
        Key::check(key, limits).map_err(|refusal| match refusal {
            Refusal::Limit { used, allowed, .. } => too_long(&shown, used, allowed),
            other => format!("Error: Path {shown} is invalid: {other}"),
        })?;
        Ok(Self { shown, key: key.into(), is_directory: key.len() < below.len() })
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The path without a slash at its end, for the paths below it.
    pub(super) fn base(&self) -> &str {
        self.shown.strip_suffix('/').unwrap_or(&self.shown)
    }

    pub(super) fn is_root(&self) -> bool {
        self.key.is_empty()
    }

    /// The key of a file or directory; empty for the root.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// The key of the file; `None` if the path ends in a slash.
    pub(super) fn file_key(&self) -> Option<&str> {
        (!self.is_directory).then_some(&self.key)
    }

    /// The prefix of all keys of files below this path.
    pub(super) fn prefix(&self) -> String {
        if self.is_root() { String::new() } else { format!("{}/", self.key) }
    }

    /// The keys of the directories above this path, outermost first.
    pub(super) fn above(&self) -> impl Iterator<Item = &str> {
        self.key.match_indices('/').filter_map(|(at, _)| self.key.get(..at))
    }
}

pub(super) fn too_long(shown: &str, used: u64, allowed: u64) -> String {
    format!("Error: Path {shown} is too long: {used} bytes below {ROOT}; the maximum is {allowed}. Use shorter names.")
}

/// Checks a name between two slashes. Anything that another system could read as a way out of the directory is refused,
/// although here it would only be an odd key.
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    // Characters that look like one, two or three dots, and the full-width dot.
    let is_dot = |character| matches!(character, '.' | '\u{2024}' | '\u{2025}' | '\u{2026}' | '\u{ff0e}');
    let trimmed = name.trim();
    let encoded = |at: usize| {
        let digits = name.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if trimmed.is_empty() {
        Err("has an empty name between two slashes")
    } else if trimmed.chars().all(is_dot) {
        Err("would escape /memories directory")
    } else if name.contains('\\') {
        Err("must not contain a backslash; names are separated by /")
    } else if name.chars().any(char::is_control) {
        Err("must not contain control characters")
    } else if name.match_indices('%').any(|(at, _)| encoded(at)) {
        Err("must not contain percent-encoded characters; write the characters themselves")
    } else {
        Ok(())
    }
}

/// A path that is safe to show: on one line, with at most [`SHOWN`] characters.
fn clip(path: &str) -> String {
    let mut shown: String = path.chars().take(SHOWN).collect();
    if shown.len() < path.len() {
        shown.push('…');
    }
    if shown.chars().any(char::is_control) { shown.escape_debug().collect() } else { shown }
}
