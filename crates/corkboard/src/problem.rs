//! Errors and entries in the form that other programs get, on the command line and over HTTP.

use std::collections::BTreeSet;
use std::sync::Arc;

use corkboard_core::board::Lease;
use corkboard_core::knowledge::Trust;
use corkboard_core::{Content, Entry, EntryId, Key, MemoryKind, Refusal};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::store::StoreError;
use crate::tools::ToolError;
use crate::{Error, ErrorKind};

/// Maximum number of error codes kept from other programs.
const CODES: usize = 256;

/// An error as a problem document (RFC 9457), with the details that the caller needs to react.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The error code as a URI: `urn:corkboard:problem:` and the code.
    #[serde(rename = "type")]
    pub problem_type: String,
    /// The title of the kind of error.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What failed and why.
    pub detail: String,
    /// Stable error code.
    pub code: String,
    /// The kind of error.
    pub kind: ErrorKind,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Details that depend on the code, such as the current version, the limit, or the allowed moves.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl Problem {
    /// A problem without an underlying [`Error`].
    pub fn new(code: &str, kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self {
            problem_type: format!("urn:corkboard:problem:{code}"),
            title: kind.title().into(),
            status: kind.http_status(),
            detail: detail.into(),
            code: code.into(),
            kind,
            retryable: kind == ErrorKind::Unavailable,
            details: Map::new(),
        }
    }

    /// The code with a static lifetime. Codes from other programs are kept, up to [`CODES`] of them; all further ones
    /// become `server`.
    pub(crate) fn lasting_code(&self) -> &'static str {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let mut known = KNOWN.lock();
        if let Some(code) = known.get(self.code.as_str()) {
            return code;
        }
        if known.len() >= CODES {
            return "server";
        }
        let code: &'static str = self.code.clone().leak();
        known.insert(code);
        code
    }

    /// Replaces the HTTP status.
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let details = match error {
            Error::TokenEnded => return Self::new(error.code(), error.kind(), error.to_string()).with_status(401),
            Error::Refused(refusal) => of_refusal(refusal),
            Error::Store(StoreError::Compacted { oldest }) => json!({ "oldest": oldest }),
            Error::Store(StoreError::Future { asked, head }) => json!({ "asked": asked, "head": head }),
            Error::Lagged { resume_from } => json!({ "resume_from": resume_from }),
            // A problem from another server is passed on unchanged.
            Error::Server { problem } => return (**problem).clone(),
            Error::NotebookProblems { problems } => json!({ "problems": problems }),
            _ => Value::Null,
        };
        let details = match details {
            Value::Object(details) => details,
            _ => Map::new(),
        };
        Self { details, ..Self::new(error.code(), error.kind(), error.to_string()) }
    }
}

impl From<&ToolError> for Problem {
    fn from(error: &ToolError) -> Self {
        let new = || Self::new(error.code(), error.kind(), error.to_string());
        let (problem, details) = match error {
            ToolError::InvalidInput { tool, example, .. } => (new(), json!({ "tool": tool, "example": example })),
            ToolError::UnknownTool { known, .. } => (new(), json!({ "known": known })),
            ToolError::MissingContext { tool, what } => (new(), json!({ "tool": tool, "missing": what })),
            ToolError::Failed { .. } => (new(), Value::Null),
            ToolError::Advised { error, advice } => (Self::from(error), json!({ "advice": advice })),
            ToolError::Memory(error) => (Self::from(error), Value::Null),
            ToolError::Interrupted { error: inner, .. } => {
                return Self { detail: error.to_string(), ..Self::from(&**inner) };
            }
        };
        let more = details.as_object().cloned().unwrap_or_default();
        Self { details: problem.details.into_iter().chain(more).collect(), ..problem }
    }
}

fn of_refusal(refusal: &Refusal) -> Value {
    match refusal {
        Refusal::Conflict { key, expected, current } => {
            let current = current.as_deref().map(|entry| EntryDocument::new(key, entry));
            json!({ "key": key, "expected": expected, "current": current })
        }
        Refusal::RevConflict { expected, current } => json!({ "expected": expected, "current_rev": current }),
        Refusal::NotebookConflict { notebook, expected, current } => {
            json!({ "notebook": notebook, "expected": expected, "current_version": current })
        }
        Refusal::Limit { limit, used, allowed } => json!({ "limit": limit, "used": used, "allowed": allowed }),
        Refusal::OutOfRange { name, value, minimum, maximum } => {
            json!({ "parameter": name, "value": value, "minimum": minimum, "maximum": maximum })
        }
        Refusal::Importance { importance } => {
            json!({ "parameter": "importance", "value": importance, "minimum": 0, "maximum": 1 })
        }
        Refusal::LeaseLength { lease_s } => {
            let [minimum, maximum] = [Lease::LEAST, Lease::MOST].map(|limit| limit.as_secs_f64());
            json!({ "parameter": "lease_s", "value": lease_s, "minimum": minimum, "maximum": maximum })
        }
        Refusal::Cycle { path } => json!({ "path": path }),
        Refusal::TaskMove { task, from, to, allowed } => {
            json!({ "task": task, "from": from, "to": to, "allowed": allowed })
        }
        Refusal::NotThisWay { task, from, to } => json!({ "task": task, "from": from, "to": to }),
        Refusal::NotReady { task, hindrances } => json!({ "task": task, "hindrances": hindrances }),
        Refusal::TaskHeld { task, holder, deadline } => {
            json!({ "task": task, "holder": holder, "deadline": deadline })
        }
        Refusal::OrchestratorHeld { holder, deadline } => json!({ "holder": holder, "deadline": deadline }),
        Refusal::Fenced { what, holder, epoch, sent, .. } => {
            // The orchestrator's role is not a task.
            let task = Some(what).filter(|what| *what != "orchestrator");
            json!({ "task": task, "holder": holder, "epoch": epoch, "sent": sent })
        }
        Refusal::TaskConflict { expected, current } => json!({ "expected": expected, "current": current }),
        Refusal::BoardConflict { expected, current } => json!({ "expected": expected, "current": current }),
        Refusal::CoreConflict { expected, current } => json!({ "expected": expected, "current": current }),
        Refusal::SameText { entry, other } => json!({ "entry": entry, "other": other }),
        Refusal::NoBranch { options, .. } => json!({ "options": options }),
        Refusal::OwnLearning { learning, own_part, .. } => json!({ "learning": learning, "own_part": own_part }),
        Refusal::LearningPromoted { learning, core } => json!({ "learning": learning, "core": core }),
        Refusal::NotPromoted { learning, status } | Refusal::PromotionOver { learning, status } => {
            json!({ "learning": learning, "learning_status": status })
        }
        Refusal::Irreversible { decision } => json!({ "decision": decision }),
        Refusal::NotReviewer { task, reviewer } => json!({ "task": task, "reviewer": reviewer }),
        Refusal::OwnTask { task, .. } => json!({ "task": task }),
        Refusal::UrgentNudges { task, nudges } => json!({ "task": task, "nudges": nudges }),
        Refusal::BoardKept { by } => json!({ "kept_by": by }),
        Refusal::Unfinished { unfinished } => json!({ "unfinished": unfinished }),
        _ => Value::Null,
    }
}

/// An entry as other programs see it, with the value and metadata that were given to `set`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EntryDocument {
    /// Name of the entry within its scope.
    pub key: Key,
    /// The value.
    pub value: Content,
    /// Revision of the last change; it never repeats.
    pub version: u64,
    /// Stable ID; a change of the value keeps it.
    pub id: EntryId,
    /// Name of the type of the value, or the kind of tool that wrote it.
    pub type_name: Arc<str>,
    /// The entry's metadata.
    pub metadata: MetadataDocument,
    /// How often the answering process has read the entry; approximate, not stored.
    #[serde(default)]
    pub access_count: u64,
    /// When the answering process last read the entry; approximate, not stored.
    #[serde(default)]
    pub last_accessed_at: Option<Timestamp>,
}

/// The metadata of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MetadataDocument {
    /// Importance from 0 to 1.
    pub importance: f32,
    /// Words for search and filters.
    pub tags: Vec<Arc<str>>,
    /// The kind of memory.
    pub kind: MemoryKind,
    /// When the entry expires.
    pub expires_at: Option<Timestamp>,
    /// Further data of the writer.
    pub custom: Option<Arc<Map<String, Value>>>,
    /// Who wrote the entry, or said its content.
    pub author: Arc<str>,
    /// The session it comes from.
    pub session: Option<Arc<str>>,
    /// When it was written, or its content was said.
    pub at: Timestamp,
    /// Trust in the source, if stated.
    pub trust: Option<Trust>,
}

impl EntryDocument {
    /// The document of the entry with this key.
    pub fn new(key: &Key, entry: &Entry) -> Self {
        let metadata = MetadataDocument {
            importance: entry.importance,
            tags: entry.tags.clone(),
            kind: entry.kind,
            expires_at: entry.expires_at,
            custom: entry.custom.clone(),
            author: entry.author.clone(),
            session: entry.session.clone(),
            at: entry.at,
            trust: entry.trust,
        };
        Self {
            key: key.clone(),
            value: entry.value.clone(),
            version: entry.version,
            id: entry.id,
            type_name: entry.type_name.clone(),
            metadata,
            access_count: entry.access.count(),
            last_accessed_at: entry.access.last(),
        }
    }
}
