//! An entry of a memory core: a text with its metadata and origins.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Provenance, Trust};
use crate::board::{NumberedId, ParseIdError, numbered_id};
use crate::entry::half;
use crate::{BoardId, MemoryKind};

numbered_id!(
    /// An entry of a memory core.
    CoreEntryId, "core entry", "E-"
);

/// Marks an entry as forgotten. It can be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ForgottenMark {
    pub at: Timestamp,
    pub by: Arc<str>,
    #[serde(default)]
    pub reason: Option<Arc<str>>,
}

/// Marks an entry that somebody gave more trust than its origin has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Vouched {
    pub by: Arc<str>,
    pub at: Timestamp,
}

/// An entry of a memory core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreEntry {
    /// The entry ID. It is never reused.
    pub id: CoreEntryId,
    /// The revision that last changed the entry. Versions never repeat.
    pub version: u64,
    pub content: Arc<str>,
    #[serde(default)]
    pub kind: MemoryKind,
    /// Importance, from 0 to 1.
    pub importance: f32,
    /// Words to search and filter by.
    #[serde(default)]
    pub tags: Vec<Arc<str>>,
    /// The origins of the entry, at least one.
    pub provenance: Vec<Provenance>,
    /// Who vouched for the entry in its present form. Lowering its trust or changing its text removes this.
    #[serde(default)]
    pub vouched: Option<Vouched>,
    pub created_at: Timestamp,
    /// When the entry was last changed.
    pub updated_at: Timestamp,
    /// When the entry expires.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Set if the entry is forgotten.
    #[serde(default)]
    pub forgotten: Option<ForgottenMark>,
}

impl CoreEntry {
    /// The author of the first origin.
    pub fn author(&self) -> &str {
        self.provenance.first().map_or("", |origin| &origin.author)
    }

    /// How far the entry can be trusted: like a person's text if one origin is a person's, otherwise like its least
    /// trusted origin. So an agent that repeats text from outside does not raise its trust.
    pub fn trust(&self) -> Trust {
        let trusts = || self.provenance.iter().map(|origin| origin.trust);
        match trusts().max() {
            Some(Trust::Own) => Trust::Own,
            _ => trusts().min().unwrap_or(Trust::Outside),
        }
    }

    pub(crate) fn has_origin(&self, origin: &Provenance) -> bool {
        self.provenance.iter().any(|known| known.is_same(origin))
    }

    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    pub fn bytes(&self) -> u64 {
        let tags: usize = self.tags.iter().map(|tag| tag.len()).sum();
        let origins: usize = self.provenance.iter().map(Provenance::bytes).sum();
        let reason = self.forgotten.as_ref().and_then(|mark| mark.reason.as_ref()).map_or(0, |reason| reason.len());
        let vouched = self.vouched.as_ref().map_or(0, |vouched| vouched.by.len());
        (self.content.len() + tags + origins + reason + vouched) as u64
    }

    /// Whether an edit gives the entry more trust than one of its origins.
    pub(super) fn is_raised_by(&self, edit: &CoreEdit) -> bool {
        edit.trust.is_some_and(|asked| self.provenance.iter().any(|origin| origin.trust < asked))
    }

    /// Removes the mark `vouched` if the text changed or the trust decreased: nobody vouched for the new form.
    pub(super) fn forget_vouching_for(&mut self, was: &Self) {
        if self.trust() < was.trust() || self.content != was.content {
            self.vouched = None;
        }
    }

    /// Merges an entry with the same text: the higher importance, all tags, both origins, the later expiry.
    pub(super) fn merge(&mut self, again: &CoreEntryData) {
        let CoreEntryData { content: _, kind: _, importance, tags, expires_at, provenance } = again;
        self.importance = self.importance.max(*importance);
        for tag in tags {
            if !self.tags.contains(tag) {
                self.tags.push(tag.clone());
            }
        }
        self.expires_at = match (self.expires_at, *expires_at) {
            (Some(one), Some(other)) => Some(one.max(other)),
            _ => None,
        };
        if !self.has_origin(provenance) {
            let trust = self.trust();
            self.provenance.push(provenance.clone());
            if self.trust() < trust {
                self.vouched = None;
            }
        }
    }
}

/// The text with normalized white space. Two entries of a core never have the same normalized text.
pub(super) fn normalised(text: &Arc<str>) -> Arc<str> {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    // Most texts are already normalized. These are shared instead of stored twice.
    if *plain == **text { text.clone() } else { Arc::from(plain) }
}

/// An entry to add. Only the content is required.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NewCoreEntry {
    pub content: String,
    pub kind: MemoryKind,
    /// Importance, from 0 (trivial) to 1 (vital).
    #[serde(with = "crate::number::optional")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub importance: Option<f32>,
    /// Words to search and filter by.
    pub tags: Vec<String>,
    /// The author, if it is not the caller.
    pub author: Option<String>,
    /// Other people or agents whose words the text contains. Their entries can be withdrawn by name.
    pub contributors: Vec<String>,
    /// How far the entry can be trusted. Defaults to the caller's trust, which is also the maximum.
    pub trust: Option<Trust>,
    /// The board that it was learned on, if any.
    pub board: Option<BoardId>,
    /// The item on the board that it was made from, such as `D-3`.
    pub item: Option<String>,
    /// The board revision of the promotion. A promotion adds its entry only once, even if the entry was changed or
    /// forgotten since. Only the process that finishes a promotion sets this.
    pub board_rev: Option<u64>,
    /// When the entry expires.
    pub expires_at: Option<Timestamp>,
}

impl NewCoreEntry {
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }
}

impl From<&str> for NewCoreEntry {
    fn from(content: &str) -> Self {
        Self::new(content)
    }
}

impl From<String> for NewCoreEntry {
    fn from(content: String) -> Self {
        Self::new(content)
    }
}

/// An added entry as stored in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CoreEntryContent))]
pub struct CoreEntryData {
    /// The text. Empty if an existing entry has the same text.
    #[serde(default)]
    pub content: Arc<str>,
    #[serde(default)]
    pub kind: MemoryKind,
    /// Importance, from 0 to 1.
    #[serde(default = "half")]
    pub importance: f32,
    /// Words to search and filter by.
    #[serde(default)]
    pub tags: Vec<Arc<str>>,
    /// When the entry expires.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// The origin.
    pub provenance: Provenance,
}

/// The new expiry of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Expiry {
    /// The entry expires at this time.
    At(Timestamp),
    /// The entry does not expire.
    Never,
}

/// Changes to an entry. Omitted fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CoreEdit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// Importance, from 0 to 1.
    #[serde(with = "crate::number::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 0, maximum = 1))]
    pub importance: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Arc<str>>>,
    /// The new expiry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
    /// The new trust of all origins. A new text cannot have more trust than its writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

impl CoreEntry {
    /// Applies an edit. A changed text gets at most the trust that its writer can give (`most`).
    pub(super) fn edit(&mut self, edit: &CoreEdit, by: &str, most: Trust) {
        let CoreEdit { content, kind, importance, tags, expiry, trust } = edit;
        if let Some(content) = content.as_ref().filter(|content| **content != self.content) {
            self.content = content.clone();
            for origin in &mut self.provenance {
                origin.trust = origin.trust.min(most);
                if !origin.edited_by.iter().any(|name| **name == *by) {
                    origin.edited_by.push(by.into());
                }
            }
        }
        self.kind = kind.unwrap_or(self.kind);
        self.importance = importance.unwrap_or(self.importance);
        if let Some(tags) = tags {
            self.tags = tags.clone();
        }
        match expiry {
            Some(Expiry::At(at)) => self.expires_at = Some(*at),
            Some(Expiry::Never) => self.expires_at = None,
            None => {}
        }
        if let Some(trust) = trust {
            self.provenance.iter_mut().for_each(|origin| origin.trust = *trust);
        }
    }
}
