//! An entry of a memory core: a text, what is known about it, and where it came from.

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

/// That an entry was forgotten. It can be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ForgottenMark {
    pub at: Timestamp,
    pub by: Arc<str>,
    #[serde(default)]
    pub reason: Option<Arc<str>>,
}

/// That somebody said an entry may be trusted further than where it came from.
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
    /// Its number, for ever.
    pub id: CoreEntryId,
    /// The revision that last changed it; it never repeats.
    pub version: u64,
    pub content: Arc<str>,
    #[serde(default)]
    pub kind: MemoryKind,
    /// From 0 to 1.
    pub importance: f32,
    /// Words to find and filter by.
    #[serde(default)]
    pub tags: Vec<Arc<str>>,
    /// Where it came from; there is always something.
    pub provenance: Vec<Provenance>,
    /// Who vouched for it as it is. What lowers its trust or changes its text takes that away.
    #[serde(default)]
    pub vouched: Option<Vouched>,
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// When it stops being returned.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Whether it was forgotten.
    #[serde(default)]
    pub forgotten: Option<ForgottenMark>,
}

impl CoreEntry {
    /// Who said it first.
    pub fn author(&self) -> &str {
        self.provenance.first().map_or("", |origin| &origin.author)
    }

    /// How far it may be trusted: as a person's if one says it too, otherwise as far as the least trusted of those who
    /// said it. An agent that repeats what came from outside makes it no better.
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

    /// Whether an edit says that more may be trusted than where it came from.
    pub(super) fn is_raised_by(&self, edit: &CoreEdit) -> bool {
        edit.trust.is_some_and(|asked| self.provenance.iter().any(|origin| origin.trust < asked))
    }

    /// Who vouched for something else, or for more than it is trusted now, did not vouch for this.
    pub(super) fn forget_vouching_for(&mut self, was: &Self) {
        if self.trust() < was.trust() || self.content != was.content {
            self.vouched = None;
        }
    }

    /// Takes in what was said once more in the same words: the higher importance, all tags, both origins, the later expiry.
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

/// What a text says, whatever white space it is set in. Two entries of a core never say the same.
pub(super) fn normalised(text: &Arc<str>) -> Arc<str> {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    // Most texts are in order already: they are kept once.
    if *plain == **text { text.clone() } else { Arc::from(plain) }
}

/// An entry to be added. All but the content is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NewCoreEntry {
    pub content: String,
    pub kind: MemoryKind,
    /// From 0 (trivial) to 1 (vital).
    #[serde(with = "crate::number::optional")]
    pub importance: Option<f32>,
    /// Words to find and filter by.
    pub tags: Vec<String>,
    /// Who said it, where that is not the caller.
    pub author: Option<String>,
    /// Others whose words are in it: what they have a part in can be withdrawn by their names.
    pub contributors: Vec<String>,
    /// How far it may be trusted: as far as the caller, unless it is said. Nobody can give more than that.
    pub trust: Option<Trust>,
    /// The board that it was learned on.
    pub board: Option<BoardId>,
    /// What it was made of: `D-3`.
    pub item: Option<String>,
    /// The revision of the board in which it was promoted: what came in by that promotion does not come in again, whatever
    /// became of it there. Only whoever finishes a promotion says it.
    pub board_rev: Option<u64>,
    /// When it stops being returned.
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

/// What a log keeps of an entry that was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Learned))]
pub struct CoreEntryData {
    /// What it says. Nothing where an entry says it already.
    #[serde(default)]
    pub content: Arc<str>,
    #[serde(default)]
    pub kind: MemoryKind,
    /// From 0 to 1.
    #[serde(default = "half")]
    pub importance: f32,
    /// Words to find and filter by.
    #[serde(default)]
    pub tags: Vec<Arc<str>>,
    /// When it stops being returned.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// Where it came from.
    pub provenance: Provenance,
}

/// When an entry is to expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Expiry {
    /// At that time.
    At(Timestamp),
    /// Never.
    Never,
}

/// What is to change about an entry. What is not given stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct CoreEdit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<MemoryKind>,
    /// From 0 to 1.
    #[serde(with = "crate::number::optional", skip_serializing_if = "Option::is_none")]
    pub importance: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<Arc<str>>>,
    /// When it is to expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
    /// How far it may be trusted, whatever was said before. A new text is trusted no further than whoever wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

impl CoreEntry {
    /// The entry as the edit makes it. Whoever changes the text lends it no more trust than they can give (`most`).
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
