//! The library's errors, with the details that a caller needs to react.

use corkboard_core::board::CoreRef;
use corkboard_core::notebook::NotebookProblem;
use corkboard_core::{FormatError, Refusal, ScopeId, SpaceId};

use crate::ErrorKind;
use crate::model::ModelError;
use crate::options::Tier;
use crate::snapshot::SnapshotError;
use crate::store::StoreError;
use crate::transfer::TransferError;

/// Any error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields hold")]
pub enum Error {
    /// The command was refused. Nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The scope was disposed. Nothing was written.
    #[error("scope {name:?} ({id}) was disposed")]
    ScopeDisposed { id: ScopeId, name: String },
    /// A durable scope cannot have an ephemeral parent, because it would outlive it.
    #[error("a durable scope cannot be a child of the ephemeral scope {parent:?}")]
    DurableUnderEphemeral { parent: String },
    /// The value cannot be serialized as JSON.
    #[error("failed to serialize value for key {key}: {message}")]
    Serialize { key: String, message: String },
    /// The value does not have the requested type.
    #[error("the value of {key:?} is not a {expected}: {message}")]
    Deserialize { key: String, expected: &'static str, message: String },
    /// The factory of `get_or_set` failed. Nothing was written.
    #[error("the factory for {key:?} failed: {source}")]
    Factory { key: String, source: Box<dyn std::error::Error + Send + Sync> },
    /// The closure of `update` panicked. Nothing was written.
    #[error("the closure given to update panicked: {message}")]
    Panicked { message: String },
    /// The feature is disabled by a setting. Nothing was read or written.
    #[error("{feature} is disabled: the setting {setting} is off")]
    FeatureDisabled { feature: &'static str, setting: &'static str },
    /// The feature is not part of the tier.
    #[error("{feature} needs tier {needed}; this is {tier}")]
    LicenseRestriction { feature: &'static str, needed: Tier, tier: Tier },
    /// The space was written by a newer Corkboard. It was not changed.
    #[error("space {space} was written in format {found}; this Corkboard is too old to read it")]
    NewerFormat { space: String, found: u32 },
    /// The space's log or snapshot cannot be read. Other spaces are not affected.
    #[error("space {space} is damaged: {message}")]
    Damaged { space: String, message: String },
    /// The file is not a snapshot.
    #[error("not a memory snapshot: {0}")]
    NotASnapshot(String),
    /// A snapshot's bytes cannot be used. Nothing was changed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A watcher fell too far behind. Watch again from this revision.
    #[error("the watcher fell behind; resume from revision {resume_from}")]
    Lagged { resume_from: u64 },
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
    /// An export, import or migration failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A request to a model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A context was requested for a task without its board.
    #[error("a task needs its board: name the board, too")]
    TaskWithoutBoard,
    /// A text for a notebook has errors. Nothing was applied.
    #[error("{}", first_of(problems))]
    NotebookProblems {
        /// The problems in the order of the lines, including warnings.
        problems: Vec<NotebookProblem>,
    },
    /// The stated size or checksum of an artifact does not match its file. Nothing was recorded.
    #[error("the {what} of {path:?} is {found}, not {given}")]
    ArtifactDiffers { path: String, what: &'static str, given: String, found: String },
    /// An artifact's file exists but cannot be read. Nothing was recorded.
    #[error("cannot read {path:?}: {message}")]
    ArtifactUnreadable { path: String, message: String },
    /// A core entry cannot be used as a task pattern for a new board. Nothing was created.
    #[error("{pattern} is not a task pattern: {}{reason}", at_line(*line))]
    TaskPattern {
        pattern: CoreRef,
        /// The faulty line, counted from 1; none for the entry as a whole.
        line: Option<usize>,
        reason: String,
    },
    /// The task pattern comes from an untrusted source, and nobody here has vouched for it. Nothing was created.
    #[error("{pattern} comes from outside and cannot create tasks until someone vouches for it")]
    PatternFromOutside { pattern: CoreRef },
    /// A filter of a search query has an invalid value.
    #[error("invalid filter {filter:?}: expected {expected}; to search for these words, put them in quotes")]
    SearchFilter { filter: String, expected: String },
    /// Only a configured embedding model computes vectors. Nothing was changed.
    #[error("no embedding model is configured")]
    NoEmbedder,
    /// A diff must go from an earlier revision to a later one.
    #[error("revision {from} is later than revision {to}")]
    Backwards { from: u64, to: u64 },
    /// The token has no access to this space. Nothing was read or written.
    #[error("the token of {principal} has no access to the {kind} {name:?}")]
    NotGranted { principal: String, kind: &'static str, name: String },
    /// The handle's token was revoked or has expired. Nothing was written.
    #[error("the token is revoked or expired")]
    TokenEnded,
    /// A command document is invalid. Nothing was written.
    #[error("invalid command: {message}")]
    Command { message: String },
    /// A server reported a problem of the server itself, such as an invalid token or too many requests.
    #[error("{}", problem.detail)]
    Server { problem: Box<crate::Problem> },
    /// The Corkboard was closed.
    #[error("this Corkboard is closed")]
    Closed,
}

fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

fn first_of(problems: &[NotebookProblem]) -> String {
    let errors: Vec<&NotebookProblem> = problems.iter().filter(|problem| problem.is_error()).collect();
    match errors.as_slice() {
        [] => "the text has no errors".into(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Closed => Self::Closed,
            StoreError::Answered(problem) => Self::Server { problem },
            other => Self::Store(other),
        }
    }
}

impl Error {
    /// The error for data in a space that cannot be decoded or encoded.
    pub(crate) fn format(space: &SpaceId, error: FormatError) -> Self {
        match error {
            FormatError::Newer { found } => Self::NewerFormat { space: space.to_string(), found },
            FormatError::Malformed(message) | FormatError::Misfit(message) => {
                Self::Damaged { space: space.to_string(), message }
            }
        }
    }

    /// Stable error code.
    pub fn code(&self) -> &'static str {
        self.classify().0
    }

    /// The kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.classify().1
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        self.kind() == ErrorKind::Unavailable
    }

    /// Whether a single space is unreadable, here or on a server, while others may still be readable.
    pub fn is_unreadable_space(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::NewerFormat { .. } => true,
            Self::Server { problem } => matches!(problem.code.as_str(), "damaged" | "newer_format"),
            _ => false,
        }
    }

    /// Whether the caller has no access to a space, here or on a server.
    pub(crate) fn is_not_granted(&self) -> bool {
        match self {
            Self::NotGranted { .. } => true,
            Self::Server { problem } => problem.code == "not_granted",
            _ => false,
        }
    }

    /// The table of all errors with code and kind.
    fn classify(&self) -> (&'static str, ErrorKind) {
        use ErrorKind::*;
        match self {
            Self::Refused(refusal) => match refusal {
                Refusal::Blank { .. } => ("blank", Invalid),
                Refusal::TextTooShort { .. } => ("text_too_short", Invalid),
                Refusal::ControlCharacter { .. } => ("control_character", Invalid),
                Refusal::Limit { .. } => ("limit", Limit),
                Refusal::OutOfRange { .. } | Refusal::Importance { .. } | Refusal::LeaseLength { .. } => {
                    ("out_of_range", Invalid)
                }
                Refusal::Expiry { .. } => ("expiry", Invalid),
                Refusal::RoleDenied { .. } => ("role_denied", Denied),
                Refusal::Conflict { .. } => ("conflict", Conflict),
                Refusal::RevConflict { .. } => ("rev_conflict", Conflict),
                Refusal::NotText { .. } => ("not_text", Invalid),
                Refusal::NoEntry { .. } => ("no_entry", Gone),
                Refusal::ScopeGone { .. } => ("scope_gone", Gone),
                Refusal::RootScope => ("root_scope", Invalid),
                Refusal::AgentMismatch { .. } => ("agent_mismatch", Denied),
                Refusal::IdempotencyMismatch { .. } => ("idempotency_mismatch", Conflict),
                Refusal::UnknownItems { .. } => ("unknown_items", Gone),
                Refusal::NotebookConflict { .. } => ("notebook_conflict", Conflict),
                Refusal::Unreadable { .. } => ("unreadable", Invalid),
                Refusal::NotebookContradicts { .. } => ("notebook_contradicts", Invalid),
                Refusal::NoBoard => ("no_board", Gone),
                Refusal::BoardExists => ("board_exists", Conflict),
                Refusal::BoardEnded { .. } => ("board_ended", Conflict),
                Refusal::BoardActive => ("board_active", Conflict),
                Refusal::BoardKept { .. } => ("board_kept", Conflict),
                Refusal::BoardPurged => ("board_purged", Gone),
                Refusal::NotOnBoard { .. } => ("not_on_board", Gone),
                Refusal::UnknownMember { .. } => ("unknown_member", Invalid),
                Refusal::DuplicateMember { .. } => ("duplicate_member", Invalid),
                Refusal::KeyReadsAsId { .. } => ("key_reads_as_id", Invalid),
                Refusal::Cycle { .. } => ("cycle", Invalid),
                Refusal::TaskMove { .. } => ("task_move", Conflict),
                Refusal::NotThisWay { .. } => ("not_this_way", Conflict),
                Refusal::NotReady { .. } => ("not_ready", Conflict),
                Refusal::AlreadyBegun { .. } => ("already_begun", Conflict),
                Refusal::TaskHeld { .. } => ("task_held", Conflict),
                Refusal::OrchestratorHeld { .. } => ("orchestrator_held", Conflict),
                Refusal::Fenced { .. } => ("fenced", Conflict),
                Refusal::TaskConflict { .. } => ("conflict", Conflict),
                Refusal::BoardConflict { .. } => ("conflict", Conflict),
                Refusal::NotAuthor { .. } => ("not_author", Denied),
                Refusal::Superseded { .. } => ("superseded", Conflict),
                Refusal::Irreversible { .. } => ("irreversible", Denied),
                Refusal::NotReviewer { .. } => ("not_reviewer", Denied),
                Refusal::OwnTask { .. } => ("own_task", Denied),
                Refusal::UrgentNudges { .. } => ("urgent_nudges", Conflict),
                Refusal::NothingWaits => ("nothing_waits", Invalid),
                Refusal::AwaitsApproval { .. } => ("awaits_approval", Conflict),
                Refusal::Paused { .. } => ("paused", Conflict),
                Refusal::NotForYou { .. } => ("not_for_you", Denied),
                Refusal::AlreadyChosen { .. } => ("already_chosen", Conflict),
                Refusal::NoBranch { .. } => ("no_branch", Invalid),
                Refusal::BadChoice { .. } => ("bad_choice", Invalid),
                Refusal::BoardContradicts { .. } => ("board_contradicts", Invalid),
                Refusal::CauseNotRetried { .. } => ("cause_not_retried", Conflict),
                Refusal::Unfinished { .. } => ("unfinished", Conflict),
                Refusal::LearningRefused { .. } => ("learning_refused", Conflict),
                Refusal::LearningPromoted { .. } => ("learning_promoted", Conflict),
                Refusal::NotPromoted { .. } => ("not_promoted", Conflict),
                Refusal::PromotionOpen { .. } => ("promotion_open", Conflict),
                Refusal::PromotionOver { .. } => ("promotion_over", Conflict),
                Refusal::OwnLearning { .. } => ("own_learning", Denied),
                Refusal::NoCore { .. } => ("no_core", Invalid),
                Refusal::Checksum { .. } => ("checksum", Invalid),
                Refusal::ReservedName { .. } => ("reserved_name", Invalid),
                Refusal::NotInCore { .. } => ("not_in_core", Gone),
                Refusal::EntryForgotten { .. } => ("entry_forgotten", Conflict),
                Refusal::CoreConflict { .. } => ("conflict", Conflict),
                Refusal::SameText { .. } => ("same_text", Conflict),
                Refusal::NoToken { .. } => ("no_token", Gone),
                Refusal::TaskPattern { .. } => ("task_pattern", Invalid),
                Refusal::TrustDenied { .. } => ("trust_denied", Denied),
                Refusal::NoPromotion { .. } => ("no_promotion", Conflict),
                Refusal::MemoryContradicts { .. } => ("memory_contradicts", Invalid),
                Refusal::CoreContradicts { .. } => ("core_contradicts", Invalid),
            },
            Self::ScopeDisposed { .. } => ("scope_disposed", Gone),
            Self::DurableUnderEphemeral { .. } => ("durable_under_ephemeral", Invalid),
            Self::Serialize { .. } => ("serialize", Invalid),
            Self::Deserialize { .. } => ("deserialize", Invalid),
            Self::Factory { .. } => ("factory", Caller),
            Self::Panicked { .. } => ("panicked", Caller),
            Self::LicenseRestriction { .. } => ("license_restriction", Denied),
            Self::FeatureDisabled { .. } => ("feature_disabled", Denied),
            Self::NewerFormat { .. } => ("newer_format", Damaged),
            Self::Damaged { .. } => ("damaged", Damaged),
            Self::NotASnapshot(_) => ("not_a_snapshot", Invalid),
            Self::Snapshot(error) => match error {
                SnapshotError::Newer { .. } => ("newer_format", Damaged),
                SnapshotError::Damaged(_) => ("snapshot_damaged", Damaged),
                SnapshotError::NeedsKey { .. } => ("snapshot_needs_key", Denied),
                SnapshotError::WrongKey { .. } => ("snapshot_wrong_key", Denied),
                SnapshotError::NotSealed => ("snapshot_not_sealed", Invalid),
                SnapshotError::TooLarge { .. } => ("snapshot_too_large", Limit),
                SnapshotError::Cost { .. } => ("passphrase_cost", Limit),
                SnapshotError::EmptyPassphrase => ("empty_passphrase", Invalid),
                SnapshotError::NoRandomness(_) => ("no_randomness", Unavailable),
            },
            Self::Lagged { .. } => ("lagged", Gone),
            Self::Store(error) => error.classify(),
            Self::Transfer(error) => (error.code(), error.kind()),
            Self::Model(error) => (error.code(), error.kind()),
            Self::TaskWithoutBoard => ("task_without_board", Invalid),
            Self::NotebookProblems { .. } => ("notebook_problems", Invalid),
            Self::ArtifactDiffers { .. } => ("artifact_differs", Invalid),
            Self::ArtifactUnreadable { .. } => ("artifact_unreadable", Invalid),
            Self::TaskPattern { .. } => ("task_pattern", Invalid),
            Self::PatternFromOutside { .. } => ("pattern_from_outside", Denied),
            Self::SearchFilter { .. } => ("search_filter", Invalid),
            Self::Backwards { .. } => ("backwards", Invalid),
            Self::NoEmbedder => ("no_embedder", Invalid),
            Self::NotGranted { .. } => ("not_granted", Denied),
            Self::TokenEnded => ("unauthenticated", Denied),
            Self::Command { .. } => ("command", Invalid),
            Self::Server { problem } => (problem.lasting_code(), problem.kind),
            Self::Closed => ("closed", Unavailable),
        }
    }
}

impl StoreError {
    /// The part of the table for stores.
    pub(crate) fn classify(&self) -> (&'static str, ErrorKind) {
        use ErrorKind::*;
        match self {
            Self::Answered(problem) => (problem.lasting_code(), problem.kind),
            Self::Busy { .. } => ("busy", Unavailable),
            Self::Locked { .. } => ("locked", Unavailable),
            Self::Unavailable(_) | Self::NoSpace(_) | Self::NoServer { .. } => ("unavailable", Unavailable),
            Self::OutcomeUnknown(_) => ("outcome_unknown", Unknown),
            Self::Failed(_) => ("store_failed", Damaged),
            Self::Corrupt(_) => ("corrupt", Damaged),
            Self::NewerFormat { .. } => ("newer_format", Damaged),
            Self::Compacted { .. } => ("compacted", Gone),
            Self::Diverged => ("diverged", Gone),
            Self::Future { .. } => ("future_revision", Invalid),
            Self::Url { .. } => ("store_url", Invalid),
            Self::Missing { .. } => ("store_missing", Gone),
            Self::NoFolder { .. } => ("folder_missing", Gone),
            Self::ServerUrl { .. } => ("server_url", Invalid),
            Self::Closed => ("closed", Unavailable),
        }
    }
}

/// An error's message and those of its causes.
#[cfg(any(feature = "client", feature = "model", feature = "postgres"))]
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
