//! How a command ends: exit code, and what is said on stderr.

use std::io::Write;
use std::process::ExitCode;

use corkboard::{EntryDocument, Error, ErrorKind};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error_hint::hint;
use crate::notebook_problems;
use crate::output::{clip, json_object, one_line, value_text};

const SHOWN_VALUE: usize = 200;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum CliError {
    Library(Error),
    /// What the command line itself found.
    Own {
        code: &'static str,
        kind: ErrorKind,
        message: String,
        hint: Option<String>,
    },
    Output(std::io::Error),
    /// A copy of what is remembered could not be written to stdout as a whole.
    Copy(std::io::Error),
    /// `doctor` found something, and said what.
    Unhealthy,
    /// A board was completed, and not all of its tasks were. The answer says so.
    Incomplete,
    /// `doctor` was stopped by this, and said so.
    Reported(Error),
    Interrupted {
        then: &'static str,
    },
}

/// A board was completed with the outcome partial or failed.
const INCOMPLETE: u8 = 9;

/// What shells make of a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

impl CliError {
    pub(crate) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Own { code, kind: ErrorKind::Invalid, message: message.into(), hint: None }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::Own { code: "not_found", kind: ErrorKind::Gone, message: message.into(), hint: None }
    }

    pub(crate) fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::Own { code, kind: ErrorKind::Unavailable, message: message.into(), hint: None }
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
            Self::Library(error) | Self::Reported(error) => error.kind(),
            Self::Own { kind, .. } => *kind,
            Self::Output(_) | Self::Copy(_) | Self::Unhealthy | Self::Incomplete => ErrorKind::Damaged,
            Self::Interrupted { .. } => ErrorKind::Unavailable,
        }
    }
}

impl<E: Into<Error>> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::Library(error.into())
    }
}

/// Says on stderr what went wrong, if anything did, and gives the exit code.
pub(crate) fn report(json: bool, result: Result<(), CliError>) -> ExitCode {
    let failure = match result {
        Ok(()) => return ExitCode::SUCCESS,
        // Whoever read the answer has read enough. Half a copy is never enough.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    let kind = failure.kind();
    let mut exit_code = kind.exit_code();
    let problem = match &failure {
        CliError::Unhealthy => return ExitCode::from(exit_code),
        CliError::Incomplete => return ExitCode::from(INCOMPLETE),
        CliError::Reported(error) if !json => {
            if let Some(hint) = hint(error) {
                say(&format!("hint: {}", plain(&hint)));
            }
            return ExitCode::from(exit_code);
        }
        CliError::Library(error) | CliError::Reported(error) => of_library(error),
        CliError::Own { code, message, hint, .. } => {
            ErrorReport { code, message: message.clone(), hint: hint.clone(), details: Map::new() }
        }
        CliError::Output(error) => ErrorReport {
            code: "output",
            message: format!("the answer could not be written: {error}"),
            hint: None,
            details: Map::new(),
        },
        CliError::Copy(error) => ErrorReport {
            code: "output",
            message: format!("the copy on stdout is not complete: {error}"),
            hint: Some("do not keep it: what it went to ended too early, or is full".into()),
            details: Map::new(),
        },
        CliError::Interrupted { then } => {
            exit_code = INTERRUPTED;
            ErrorReport {
                code: "interrupted",
                message: format!("interrupted; {then}"),
                hint: None,
                details: Map::new(),
            }
        }
    };
    say(&if json { problem.json(kind) } else { problem.text(&failure) });
    ExitCode::from(exit_code)
}

/// Help, the version, or what is wrong with the arguments.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // The arguments could not be read, so whether they ask for JSON has to be seen from the raw ones.
    let json = std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    if error.use_stderr() && json {
        let text = error.render().to_string();
        let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).to_owned();
        let problem = ErrorReport { code: "usage", message, hint: None, details: Map::new() };
        say(&problem.json(ErrorKind::Invalid));
        return ExitCode::from(ErrorKind::Invalid.exit_code());
    }
    // To stderr or stdout, as fits; a reader who has gone is no error.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Writes a line to stderr. If that fails there is nobody to tell.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

struct ErrorReport<'a> {
    code: &'a str,
    message: String,
    hint: Option<String>,
    /// What else a caller needs to do better.
    details: Map<String, Value>,
}

impl ErrorReport<'_> {
    fn text(&self, failure: &CliError) -> String {
        let mut text = format!("error: {}", plain(&self.message));
        if let Some(entry) = self.current_entry() {
            let value = clip(&one_line(&value_text(&entry.value)), SHOWN_VALUE);
            text += &format!("\ncurrent value, version {}, by {}: {value}", entry.version, entry.metadata.author);
        }
        if let CliError::Library(Error::NotebookProblems { problems }) = failure {
            text = format!("error: nothing was applied\n{}", notebook_problems::render(problems));
        }
        if let Some(hint) = &self.hint {
            text += &format!("\nhint: {}", plain(hint));
        }
        text
    }

    /// The entry that is there, if one is in the way.
    fn current_entry(&self) -> Option<EntryDocument> {
        self.details.get("key")?;
        serde_json::from_value(self.details.get("current")?.clone()).ok()
    }

    fn json(&self, kind: ErrorKind) -> String {
        #[derive(Serialize)]
        struct Fields<'a> {
            code: &'a str,
            kind: ErrorKind,
            message: &'a str,
            retryable: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            hint: Option<&'a str>,
            #[serde(flatten)]
            details: &'a Map<String, Value>,
        }
        let Self { code, message, hint, details } = self;
        let retryable = kind == ErrorKind::Unavailable;
        let error = Fields { code, kind, message, retryable, hint: hint.as_deref(), details };
        serde_json::to_string(&json_object! { error }).unwrap_or_else(|error| error.to_string())
    }
}

/// A message may quote what was remembered: nothing of it reaches the terminal but text and lines.
fn plain(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}

fn of_library(error: &Error) -> ErrorReport<'_> {
    let details = corkboard::Problem::from(error).details;
    ErrorReport { code: error.code(), message: error.to_string(), hint: hint(error), details }
}
