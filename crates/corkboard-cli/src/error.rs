//! How a command ends: its exit code and its message on stderr.

use std::io::Write;
use std::process::ExitCode;

use corkboard::{EntryDocument, Error, ErrorKind, Problem};

use crate::error_hint::hint;
use crate::notebook_problems;
use crate::output::{clip, one_line, value_text};

const SHOWN_VALUE: usize = 200;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum CliError {
    Library(Error),
    /// A library error, told with what only the command line knows.
    Explained {
        error: Box<Error>,
        message: Option<String>,
        hint: Option<String>,
    },
    /// An error that the command line itself detected.
    Own {
        code: &'static str,
        kind: ErrorKind,
        message: String,
        hint: Option<String>,
    },
    Output(std::io::Error),
    /// A copy of the memory could not be written completely to stdout.
    Copy(std::io::Error),
    /// `doctor` found a problem and has printed it.
    Unhealthy,
    /// The board was completed, but not all of its tasks were. The answer says so.
    Incomplete,
    /// `doctor` stopped at this error and has printed it.
    Reported(Error),
    Interrupted {
        then: &'static str,
    },
}

/// Exit code for a board that was completed with the outcome partial or failed.
const INCOMPLETE: u8 = 9;

/// The exit code that shells report for a program that Ctrl-C ended.
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

    /// Adds a hint: what the user can do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Own { code, kind, message, .. } => Self::Own { code, kind, message, hint: Some(hint.into()) },
            other => other,
        }
    }

    /// The message and the hint, as on stderr.
    pub(crate) fn text(&self) -> String {
        ErrorReport::of(self).map(|report| report.text(self)).unwrap_or_default()
    }

    /// The message of an error that the command line detected.
    pub(crate) fn own_message(&self) -> Option<String> {
        match self {
            Self::Own { message, .. } => Some(message.clone()),
            _ => None,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            Self::Library(error) | Self::Reported(error) => error.kind(),
            Self::Explained { error, .. } => error.kind(),
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

/// Prints an error to stderr, if there is one, and returns the exit code.
pub(crate) fn report(json: bool, result: Result<(), CliError>) -> ExitCode {
    let failure = match result {
        Ok(()) => return ExitCode::SUCCESS,
        // The reader closed the pipe because it has read enough. (Half a copy is never enough: see `Copy`.)
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    let exit_code = match failure {
        CliError::Incomplete => INCOMPLETE,
        CliError::Interrupted { .. } => INTERRUPTED,
        _ => failure.kind().exit_code(),
    };
    match &failure {
        CliError::Reported(error) if !json => {
            if let Some(hint) = hint(error) {
                say(&format!("hint: {}", plain(&hint)));
            }
        }
        _ => {
            if let Some(report) = ErrorReport::of(&failure) {
                say(&if json { report.json() } else { report.text(&failure) });
            }
        }
    }
    ExitCode::from(exit_code)
}

/// Prints help, the version or a usage error, and returns the exit code.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // The arguments could not be parsed, so look for --json in the raw ones.
    let json = std::env::args_os().take_while(|argument| argument != "--").any(|argument| argument == "--json");
    if error.use_stderr() && json {
        let text = error.render().to_string();
        let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).to_owned();
        say(&ErrorReport { problem: Problem::new("usage", ErrorKind::Invalid, message), hint: None }.json());
        return ExitCode::from(ErrorKind::Invalid.exit_code());
    }
    // Clap chooses stdout or stderr. A closed pipe is not an error.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Writes a line to stderr. A failure is ignored, because it could not be reported anywhere.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

struct ErrorReport {
    problem: Problem,
    hint: Option<String>,
}

impl ErrorReport {
    /// The report of an error, unless the command has printed it.
    fn of(failure: &CliError) -> Option<Self> {
        let kind = failure.kind();
        Some(match failure {
            CliError::Unhealthy | CliError::Incomplete => return None,
            CliError::Library(error) | CliError::Reported(error) => {
                Self { problem: Problem::from(error), hint: hint(error) }
            }
            CliError::Explained { error, message, hint } => {
                let mut problem = Problem::from(&**error);
                problem.detail = message.clone().unwrap_or(problem.detail);
                Self { problem, hint: hint.clone() }
            }
            CliError::Own { code, message, hint, .. } => {
                Self { problem: Problem::new(code, kind, message), hint: hint.clone() }
            }
            CliError::Output(error) => {
                let message = format!("cannot write the answer to stdout: {error}");
                Self { problem: Problem::new("output", kind, message), hint: None }
            }
            CliError::Copy(error) => Self {
                problem: Problem::new("output", kind, format!("the copy on stdout is not complete: {error}")),
                hint: Some("delete the copy: its reader stopped early, or its disk is full".into()),
            },
            CliError::Interrupted { then } => {
                Self { problem: Problem::new("interrupted", kind, format!("interrupted; {then}")), hint: None }
            }
        })
    }

    fn text(&self, failure: &CliError) -> String {
        let mut text = format!("error: {}", plain(&self.problem.detail));
        if let Some(entry) = self.current_entry() {
            let value = clip(&one_line(&value_text(&entry.value)), SHOWN_VALUE);
            text += &format!("\ncurrent value (version {}, by {}): {value}", entry.version, entry.metadata.author);
        }
        if let CliError::Library(Error::NotebookProblems { problems }) = failure {
            text = format!("error: nothing was applied\n{}", notebook_problems::render(problems));
        }
        if let Some(hint) = &self.hint {
            text += &format!("\nhint: {}", plain(hint));
        }
        text
    }

    /// The current entry, if the error is a conflict with it.
    fn current_entry(&self) -> Option<EntryDocument> {
        self.problem.details.get("key")?;
        serde_json::from_value(self.problem.details.get("current")?.clone()).ok()
    }

    /// The problem as a server would answer it, plus the hint.
    fn json(&self) -> String {
        let mut problem = self.problem.clone();
        if let Some(hint) = &self.hint {
            problem.details.insert("hint".into(), hint.as_str().into());
        }
        serde_json::to_string(&problem).unwrap_or_else(|error| error.to_string())
    }
}

/// Escapes control characters. A message can quote stored text, which must not control the terminal.
fn plain(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}
