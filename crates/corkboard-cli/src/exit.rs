//! How a command ends: exit code, and what is said on stderr.

use std::io::Write;
use std::process::ExitCode;

use corkboard::boards::{BoardInfo, Hindrance, KeptBy, LearningId, Task, TaskId, TaskRef, TaskStatus};
use corkboard::cores::{CoreEntry, CoreEntryId};
use corkboard::{AgentId, CoreId, Error, ErrorKind, LimitName, Refusal};
use jiff::Timestamp;
use serde::Serialize;

use crate::draw;
use crate::hint::hint;
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
    Cycle { path: &'a [TaskRef] },
    TaskMove { task: TaskId, from: TaskStatus, to: TaskStatus, allowed: &'a [TaskStatus] },
    NotThisWay { task: TaskId, from: TaskStatus, to: TaskStatus },
    NotReady { task: TaskId, hindrances: &'a [Hindrance] },
    TaskHeld { task: TaskId, holder: &'a AgentId, until: Option<Timestamp> },
    OrchestratorHeld { holder: &'a AgentId, until: Timestamp },
    Fenced { what: &'a str, holder: Option<&'a AgentId>, epoch: u64 },
    TaskConflict { expected: u64, current: &'a Task },
    BoardConflict { expected: u64, current: &'a BoardInfo },
    CoreConflict { expected: u64, current: &'a CoreEntry },
    SameText { entry: CoreEntryId, other: CoreEntryId },
    NoBranch { options: &'a [String] },
    LearningPromoted { learning: &'a LearningId, core: &'a CoreId },
    LearningIs { learning: &'a LearningId, state: &'a str },
    Unfinished { unfinished: u64 },
    BoardKept { kept_by: &'a [KeptBy] },
}

impl Problem<'_> {
    fn text(&self) -> String {
        let mut text = format!("error: {}", plain(&self.message));
        if let Details::Conflict { current: Some(entry), .. } = &self.details {
            let value = clip(&one_line(&value_text(entry.value)), SHOWN_VALUE);
            text += &format!("\ncurrent value, version {}, by {}: {value}", entry.version, entry.metadata.author);
        }
        if let Details::Notebook { problems } = &self.details {
            text = format!("error: nothing was applied\n{}", draw::problems(problems));
        }
        if let Some(hint) = &self.hint {
            text += &format!("\nhint: {}", plain(hint));
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

/// A message may quote what was remembered: nothing of it reaches the terminal but text and lines.
fn plain(text: &str) -> String {
    text.split('\n').map(one_line).collect::<Vec<_>>().join("\n")
}

fn of_library(error: &Error) -> Problem<'_> {
    let details = match error {
        Error::Refused(refusal) => refusal_details(refusal),
        Error::NotebookProblems { problems } => Details::Notebook { problems },
        _ => Details::None {},
    };
    Problem { code: error.code(), message: error.to_string(), hint: hint(error), details }
}

fn refusal_details(refusal: &Refusal) -> Details<'_> {
    match refusal {
        Refusal::Conflict { key, expected, current } => {
            let current = current.as_deref().map(|entry| Box::new(EntryView::new(key, entry)));
            Details::Conflict { key: key.as_str(), expected: *expected, current }
        }
        Refusal::RevConflict { expected, current } => {
            Details::RevConflict { expected: *expected, current_rev: *current }
        }
        Refusal::Limit { limit, used, allowed } => Details::Limit { limit: *limit, used: *used, allowed: *allowed },
        Refusal::Cycle { path } => Details::Cycle { path },
        Refusal::TaskMove { task, from, to, allowed } => {
            Details::TaskMove { task: *task, from: *from, to: *to, allowed }
        }
        Refusal::NotThisWay { task, from, to } => Details::NotThisWay { task: *task, from: *from, to: *to },
        Refusal::NotReady { task, hindrances } => Details::NotReady { task: *task, hindrances },
        Refusal::TaskHeld { task, holder, until } => Details::TaskHeld { task: *task, holder, until: *until },
        Refusal::OrchestratorHeld { holder, until } => Details::OrchestratorHeld { holder, until: *until },
        Refusal::Fenced { what, holder, epoch } => Details::Fenced { what, holder: holder.as_ref(), epoch: *epoch },
        Refusal::TaskConflict { expected, current } => Details::TaskConflict { expected: *expected, current },
        Refusal::BoardConflict { expected, current } => Details::BoardConflict { expected: *expected, current },
        Refusal::CoreConflict { expected, current } => Details::CoreConflict { expected: *expected, current },
        Refusal::SameText { entry, other } => Details::SameText { entry: *entry, other: *other },
        Refusal::NoBranch { options, .. } => Details::NoBranch { options },
        Refusal::LearningPromoted { learning, core } => Details::LearningPromoted { learning, core },
        Refusal::NotPromoted { learning, state } | Refusal::PromotionOver { learning, state } => {
            Details::LearningIs { learning, state }
        }
        Refusal::BoardKept { by } => Details::BoardKept { kept_by: by },
        Refusal::Unfinished { unfinished } => Details::Unfinished { unfinished: *unfinished },
        _ => Details::None {},
    }
}
