//! How a command ends: exit code, and what is said on stderr.

use std::io::Write;
use std::process::ExitCode;

use corkboard::store::StoreError;
use corkboard::transfer::TransferError;
use corkboard::{Error, ErrorKind, LimitName, Refusal, Sealing, SnapshotError};
use serde::Serialize;

use crate::draw;
use crate::output::{EntryView, clip, one_line, value_text};

/// The most of a value that an error shows.
const SHOWN_VALUE: usize = 200;

/// The one table: what kind of thing went wrong, its name in JSON, the exit code.
fn classify(kind: ErrorKind) -> (&'static str, u8) {
    match kind {
        ErrorKind::Damaged => ("damaged", 1),
        ErrorKind::Caller => ("caller", 1),
        ErrorKind::Invalid => ("invalid", 2),
        ErrorKind::Gone => ("gone", 3),
        ErrorKind::Conflict => ("conflict", 4),
        ErrorKind::Limit => ("limit", 5),
        ErrorKind::Denied => ("denied", 6),
        ErrorKind::Unavailable => ("unavailable", 7),
        ErrorKind::Unknown => ("unknown", 8),
    }
}

/// A kind's name in JSON.
pub(crate) fn kind_name(kind: ErrorKind) -> &'static str {
    classify(kind).0
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The library's error.
    Library(Error),
    /// What the command line itself found.
    Own { code: &'static str, kind: ErrorKind, message: String, hint: Option<String> },
    /// The answer could not be written.
    Output(std::io::Error),
    /// `doctor` found something, and said what.
    Unhealthy,
    /// Ctrl-C.
    Interrupted { then: &'static str },
}

/// What shells make of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

impl Failure {
    pub(crate) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Own { code, kind: ErrorKind::Invalid, message: message.into(), hint: None }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::Own { code: "not_found", kind: ErrorKind::Gone, message: message.into(), hint: None }
    }

    /// The same with a word on what to do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Own { code, kind, message, .. } => Self::Own { code, kind, message, hint: Some(hint.into()) },
            other => other,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Library(error) => error.kind(),
            Self::Own { kind, .. } => *kind,
            Self::Output(_) | Self::Unhealthy => ErrorKind::Damaged,
            Self::Interrupted { .. } => ErrorKind::Unavailable,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

/// Says on stderr what went wrong, if anything did, and gives the exit code.
pub(crate) fn report(json: bool, result: Result<(), Failure>) -> ExitCode {
    let failure = match result {
        Ok(()) => return ExitCode::SUCCESS,
        // Whoever read the answer has read enough.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    let (kind, mut exit_code) = classify(failure.kind());
    let problem = match &failure {
        Failure::Unhealthy => return ExitCode::from(exit_code),
        Failure::Library(error) => of_library(error),
        Failure::Own { code, message, hint, .. } => {
            Problem { code, message: message.clone(), hint: hint.clone(), details: Details::None {} }
        }
        Failure::Output(error) => Problem {
            code: "output",
            message: format!("the answer could not be written: {error}"),
            hint: None,
            details: Details::None {},
        },
        Failure::Interrupted { then } => {
            exit_code = INTERRUPTED;
            Problem {
                code: "interrupted",
                message: format!("interrupted; {then}"),
                hint: None,
                details: Details::None {},
            }
        }
    };
    let retryable = failure.kind() == ErrorKind::Unavailable;
    say(&if json { problem.json(kind, retryable) } else { problem.text() });
    ExitCode::from(exit_code)
}

/// Help, the version, or what is wrong with the arguments.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // The arguments could not be read, so whether they ask for JSON has to be seen from the raw ones.
    let json = std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    if error.use_stderr() && json {
        let text = error.render().to_string();
        let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).to_owned();
        let problem = Problem { code: "usage", message, hint: None, details: Details::None {} };
        let (kind, exit_code) = classify(ErrorKind::Invalid);
        say(&problem.json(kind, false));
        return ExitCode::from(exit_code);
    }
    // To stderr or stdout, as fits; a reader who has gone is no error.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Writes a line to stderr. If that fails there is nobody to tell.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// An error as it is shown.
struct Problem<'a> {
    code: &'a str,
    message: String,
    hint: Option<String>,
    details: Details<'a>,
}

/// What else a caller needs to do better.
#[derive(Serialize)]
#[serde(untagged)]
enum Details<'a> {
    None {},
    Conflict { key: &'a str, expected: u64, current: Option<Box<EntryView<'a>>> },
    RevConflict { expected: u64, current_rev: u64 },
    Limit { limit: LimitName, used: u64, allowed: u64 },
    Notebook { problems: &'a [corkboard::notebook::Problem] },
}

impl Problem<'_> {
    fn text(&self) -> String {
        let mut text = format!("error: {}", self.message);
        if let Details::Conflict { current: Some(entry), .. } = &self.details {
            let value = clip(&one_line(&value_text(entry.value)), SHOWN_VALUE);
            text += &format!("\ncurrent value, version {}, by {}: {value}", entry.version, entry.metadata.author);
        }
        if let Details::Notebook { problems } = &self.details {
            text = format!("error: nothing was applied\n{}", draw::problems(problems));
        }
        if let Some(hint) = &self.hint {
            text += &format!("\nhint: {hint}");
        }
        text
    }

    fn json(&self, kind: &str, retryable: bool) -> String {
        #[derive(Serialize)]
        struct Document<'a> {
            error: Fields<'a>,
        }
        #[derive(Serialize)]
        struct Fields<'a> {
            code: &'a str,
            kind: &'a str,
            message: &'a str,
            retryable: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<&'a str>,
            #[serde(flatten)]
            details: &'a Details<'a>,
        }
        let Self { code, message, hint, details } = self;
        let error = Fields { code, kind, message, retryable, hint: hint.as_deref(), details };
        serde_json::to_string(&Document { error }).unwrap_or_else(|error| error.to_string())
    }
}

fn of_library(error: &Error) -> Problem<'_> {
    let details = match error {
        Error::Refused(Refusal::Conflict { key, expected, current }) => {
            let current = current.as_deref().map(|entry| Box::new(EntryView::new(key, entry)));
            Details::Conflict { key: key.as_str(), expected: *expected, current }
        }
        Error::Refused(Refusal::RevConflict { expected, current }) => {
            Details::RevConflict { expected: *expected, current_rev: *current }
        }
        Error::Refused(Refusal::Limit { limit, used, allowed }) => {
            Details::Limit { limit: *limit, used: *used, allowed: *allowed }
        }
        Error::NotebookProblems { problems } => Details::Notebook { problems },
        _ => Details::None {},
    };
    Problem { code: error.code(), message: error.to_string(), hint: hint(error), details }
}

/// What to do about an error, where that is not plain from what it says.
fn hint(error: &Error) -> Option<String> {
    Some(match error {
        Error::Refused(refusal) => return refusal_hint(refusal),
        Error::ScopeDisposed { .. } => "`cork scope list` shows the scopes there are".into(),
        Error::NewerFormat { .. } => "a newer cork can read it".into(),
        Error::Damaged { .. } => "`cork doctor` looks for damage".into(),
        Error::Snapshot(error) => return snapshot_hint(error),
        Error::Store(error) => return store_hint(error),
        Error::Transfer(error) => return transfer_hint(error),
        _ => return None,
    })
}

fn transfer_hint(error: &TransferError) -> Option<String> {
    Some(match error {
        TransferError::Source(error) | TransferError::Target(error) => return store_hint(error),
        TransferError::NoSuchSpace { .. } => "`cork stats --all` shows the agents there are".into(),
        TransferError::NewerVersion { .. } => "a newer cork can read it".into(),
        TransferError::NotAnExport(_) => "`cork export` and `cork snapshot store` write such files".into(),
        TransferError::Spool(_) => "TMPDIR names the folder for temporary files".into(),
        _ => return None,
    })
}

fn refusal_hint(refusal: &Refusal) -> Option<String> {
    Some(match refusal {
        Refusal::Conflict { current: Some(entry), .. } => {
            format!("look at what is there now, then try again with --if-version {}", entry.version)
        }
        Refusal::Conflict { current: None, .. } => "to create it, use --if-version 0".into(),
        Refusal::RevConflict { expected, current } => {
            format!("`cork memory watch --from {expected}` shows what changed; then try again with --if-rev {current}")
        }
        Refusal::NotebookConflict { current, .. } => {
            format!("`cork notebook history` shows what changed; then try again with --if-version {current}")
        }
        Refusal::NotText { key, .. } => format!("`cork memory set {key} …` replaces the value"),
        Refusal::NoEntry { .. } => "`cork memory list` shows what there is".into(),
        Refusal::ScopeGone { .. } => "`cork scope list` shows the scopes there are".into(),
        Refusal::AgentMismatch { found, .. } => format!("to restore it to its own agent, use --agent {found}"),
        Refusal::IdempotencyMismatch { .. } => "a key names one request; another request needs another key".into(),
        Refusal::Limit { limit, .. } => match limit {
            LimitName::EntryBytes | LimitName::CommandBytes => "split the value over several keys".into(),
            LimitName::NoteBytes => "keep long texts in an entry: `cork memory set KEY -`".into(),
            LimitName::EntriesPerAgent | LimitName::StateBytes => {
                "`cork memory list` shows what there is; `cork memory remove` makes room".into()
            }
            LimitName::LearningsPerNotebook | LimitName::SnippetsPerNotebook => {
                "`cork notebook show` shows them; an `ARCHIVE` bullet makes room".into()
            }
            LimitName::NotesPerAgent => "`cork memory note remove` makes room".into(),
            LimitName::ScopesPerAgent => "`cork scope list` shows them; `cork scope dispose` makes room".into(),
            _ => return None,
        },
        _ => return None,
    })
}

fn snapshot_hint(error: &SnapshotError) -> Option<String> {
    Some(match error {
        SnapshotError::Newer { .. } => "a newer cork can read it".into(),
        SnapshotError::Damaged(_) => "nothing was changed; another copy of it may be whole".into(),
        SnapshotError::NeedsKey { sealed_with: Sealing::Passphrase(_) } => {
            "give it by --passphrase-file, or in CORK_SNAPSHOT_PASSPHRASE".into()
        }
        SnapshotError::NeedsKey { .. } => "give it by --key-file".into(),
        SnapshotError::NotSealed => {
            "anyone can have written it; if you trust it, try without --passphrase-file, --key-file and \
             CORK_SNAPSHOT_PASSPHRASE"
                .into()
        }
        _ => return None,
    })
}

fn store_hint(error: &StoreError) -> Option<String> {
    Some(match error {
        // What is wrong with a server is in the error.
        StoreError::Url { url, .. } if url.starts_with("redis") || url.starts_with("postgres") => return None,
        StoreError::Url { url, .. } => match url.contains(':') || url.is_empty() {
            true => "--store or CORK_STORE takes, for example, sqlite:corkboard.db".into(),
            false => format!("did you mean --store sqlite:{url}?"),
        },
        StoreError::Locked { .. } => "it keeps the store to itself until it ends; wait, or use another --store".into(),
        StoreError::Busy { .. } => "nothing was written; try again".into(),
        StoreError::Unavailable(_) => {
            "nothing was written; check the path and its permissions, or the server, and try again".into()
        }
        StoreError::OutcomeUnknown(_) => {
            "look before you try again; with --idempotency-key, trying again is always safe".into()
        }
        StoreError::Failed(_) => "check the disk, then try again; `cork doctor` looks for damage".into(),
        StoreError::Corrupt(_) => "check the disk; a backup of the file may help".into(),
        StoreError::NewerFormat { .. } => "a newer cork can read it".into(),
        StoreError::Compacted { oldest } => format!("start with --from {}", oldest.saturating_sub(1)),
        StoreError::Future { head, .. } => format!("start with --from {head}"),
        StoreError::Diverged => "start again with --from 0".into(),
        StoreError::Closed => return None,
    })
}
