//! Errors and entries as other programs see them: what leaves the process by the command line or by HTTP has this form.

use std::collections::BTreeSet;
use std::sync::Arc;

use corkboard_core::knowledge::Trust;
use corkboard_core::{Content, Entry, EntryId, Key, MemoryKind, Refusal};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::store::StoreError;
use crate::tools::ToolError;
use crate::{Error, ErrorKind};

/// So many codes of other programs are kept.
const CODES: usize = 256;

/// An error as a document: a problem by RFC 9457, with what the caller needs to do better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The problem's name as a URI: `urn:corkboard:problem:` and the code.
    #[serde(rename = "type")]
    pub problem_type: String,
    /// What kind of thing went wrong, in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What went wrong, in a sentence.
    pub detail: String,
    /// A short name that never changes.
    pub code: String,
    /// What kind of thing went wrong.
    pub kind: ErrorKind,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// More about it, by code: what is there now, which limit, which moves are allowed.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl Problem {
    /// A problem that the edge itself found.
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

    /// The code, for as long as the process lives. Another program's codes are few; beyond [`CODES`] of them, they are not
    /// told apart.
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

    /// The same with another HTTP status of its kind.
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
            // What another server said is passed on as it is.
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
        Refusal::Cycle { path } => json!({ "path": path }),
        Refusal::TaskMove { task, from, to, allowed } => {
            json!({ "task": task, "from": from, "to": to, "allowed": allowed })
        }
        Refusal::NotThisWay { task, from, to } => json!({ "task": task, "from": from, "to": to }),
        Refusal::NotReady { task, hindrances } => json!({ "task": task, "hindrances": hindrances }),
        Refusal::TaskHeld { task, holder, until } => json!({ "task": task, "holder": holder, "until": until }),
        Refusal::OrchestratorHeld { holder, until } => json!({ "holder": holder, "until": until }),
        Refusal::Fenced { what, holder, epoch } => json!({ "what": what, "holder": holder, "epoch": epoch }),
        Refusal::TaskConflict { expected, current } => json!({ "expected": expected, "current": current }),
        Refusal::BoardConflict { expected, current } => json!({ "expected": expected, "current": current }),
        Refusal::CoreConflict { expected, current } => json!({ "expected": expected, "current": current }),
        Refusal::SameText { entry, other } => json!({ "entry": entry, "other": other }),
        Refusal::NoBranch { options, .. } => json!({ "options": options }),
        Refusal::LearningPromoted { learning, core } => json!({ "learning": learning, "core": core }),
        Refusal::NotPromoted { learning, state } | Refusal::PromotionOver { learning, state } => {
            json!({ "learning": learning, "state": state })
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

/// An entry as programs see it: the value and the metadata as they are given to `set`, and nothing left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EntryDocument {
    /// Its key.
    pub key: Key,
    /// The value.
    pub value: Content,
    /// The revision that last changed it; it never repeats.
    pub version: u64,
    /// Kept while the value changes.
    pub id: EntryId,
    /// The type that it was written from, or the kind of tool that wrote it.
    pub type_name: Arc<str>,
    /// What is known about it.
    pub metadata: MetadataDocument,
    /// How often the process that answers has read it; approximate, and not stored.
    #[serde(default)]
    pub access_count: u64,
    /// When the process that answers last read it; approximate, and not stored.
    #[serde(default)]
    pub last_accessed_at: Option<Timestamp>,
}

/// What is known about an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MetadataDocument {
    /// From 0 to 1.
    pub importance: f32,
    /// Words to find and filter by.
    pub tags: Vec<Arc<str>>,
    /// What kind of memory it is.
    pub kind: MemoryKind,
    /// When it stops being returned.
    pub expires_at: Option<Timestamp>,
    /// Whatever else its writer keeps with it.
    pub custom: Option<Arc<Map<String, Value>>>,
    /// Who wrote or said it.
    pub author: Arc<str>,
    /// In which session it was said.
    pub session: Option<Arc<str>>,
    /// When it was written or said.
    pub at: Timestamp,
    /// How far it may be trusted, where that is said.
    pub trust: Option<Trust>,
}

impl EntryDocument {
    /// The entry under that key.
    pub fn new(key: &Key, entry: &Entry) -> Self {
        let metadata = MetadataDocument {
            importance: entry.importance,
            tags: entry.tags.clone(),
            kind: entry.kind,
            expires_at: entry.expires_at,
            custom: entry.custom.clone(),
            author: entry.author.clone(),
            session: entry.session.clone(),
            at: entry.timestamp,
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
