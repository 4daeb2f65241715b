//! Records of a board: decisions, discoveries, artifacts and choices.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::OrdMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Approval, ApprovalId, ApprovalVerdict, ArtifactId, BoardState, ChoiceId, DecisionId, DiscoveryId, Nudge, NudgeId,
    TaskId, TaskRef,
};
use crate::knowledge::Trust;

/// A decision to record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NewDecision {
    /// The question that was decided.
    // Missing fields are accepted here, and refused when the command is decided.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub question: String,
    /// The answer.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub choice: String,
    pub alternatives: Vec<String>,
    pub rationale: String,
    /// The tasks that it concerns; if empty, all.
    pub affects_tasks: Vec<TaskId>,
    /// Whether it is reversible; default: yes.
    pub reversible: Option<bool>,
    /// The decision that this one replaces. Workers and reviewers can supersede only their own. An irreversible
    /// decision can be superseded only by a person, with `force`.
    pub supersedes: Option<DecisionId>,
    /// Supersede an irreversible decision. Only a person may.
    pub force: bool,
    /// Whether it needs approval. Until then, the tasks that it concerns can neither start nor complete.
    pub needs_approval: bool,
    /// Trust level; default: the caller's, which is also the maximum.
    pub trust: Option<Trust>,
}

/// A decision that was made during the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Decision {
    pub id: DecisionId,
    #[serde(alias = "made_at")]
    pub created_at: Timestamp,
    #[serde(alias = "made_by")]
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    pub question: String,
    pub choice: String,
    pub alternatives: Vec<String>,
    pub rationale: String,
    /// The tasks that it concerns; if empty, all.
    pub affects_tasks: Vec<TaskId>,
    /// Whether it is reversible.
    pub reversible: bool,
    /// The decision that it replaces.
    #[serde(default)]
    pub supersedes: Option<DecisionId>,
    /// The decision that replaced it.
    #[serde(default)]
    pub superseded_by: Option<DecisionId>,
    /// Whether it needs approval.
    #[serde(default)]
    pub needs_approval: bool,
    /// The last verdict.
    #[serde(default)]
    pub verdict: Option<ApprovalVerdict>,
    #[serde(default)]
    pub trust: Trust,
    /// The revision that last changed it.
    pub version: u64,
}

/// Type of a discovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryType {
    /// A boundary.
    Constraint,
    /// Something that could be used.
    Opportunity,
    /// Something that could go wrong.
    Risk,
    /// Something to know.
    #[default]
    Insight,
}

/// A discovery to record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NewDiscovery {
    /// What was learned.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub content: String,
    #[serde(rename = "type")]
    pub kind: DiscoveryType,
    /// The tasks that it concerns; if empty, all.
    pub affects_tasks: Vec<TaskId>,
    /// The memory core that should keep it.
    pub promote_to_core: Option<String>,
    /// Trust level; default: the caller's, which is also the maximum.
    pub trust: Option<Trust>,
}

/// Something that was learned during the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Discovery {
    pub id: DiscoveryId,
    #[serde(alias = "discovered_at")]
    pub created_at: Timestamp,
    #[serde(alias = "discovered_by")]
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    /// What was learned.
    pub content: String,
    #[serde(rename = "type")]
    pub kind: DiscoveryType,
    /// The tasks that it concerns; if empty, all.
    pub affects_tasks: Vec<TaskId>,
    /// The memory core that should keep it.
    #[serde(default)]
    pub promote_to_core: Option<String>,
    #[serde(default)]
    pub trust: Trust,
    /// The revision that it was recorded in.
    pub version: u64,
}

/// Type of an artifact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ArtifactType {
    /// Any file.
    #[default]
    File,
    /// Source code.
    Code,
    /// Text for people.
    Document,
    /// Settings.
    Config,
    /// A test.
    Test,
}

/// An artifact to record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct NewArtifact {
    #[serde(rename = "type")]
    pub kind: ArtifactType,
    /// Path or URL. Recording the same path again adds the next version.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub path: String,
    pub description: String,
    /// The task that it was created for.
    #[serde(alias = "associated_task")]
    pub task: Option<TaskId>,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub checksum: Option<String>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// The full content, if it is a short text.
    pub content: Option<String>,
    /// Trust level; default: the caller's, which is also the maximum.
    pub trust: Option<Trust>,
}

/// One version of an artifact that was created during the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Artifact {
    pub id: ArtifactId,
    pub created_at: Timestamp,
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    #[serde(rename = "type")]
    pub kind: ArtifactType,
    /// Path or URL.
    pub path: Arc<str>,
    pub description: String,
    /// The task that it was created for.
    #[serde(default, alias = "associated_task")]
    pub task: Option<TaskId>,
    /// Version number at this path, starting at 1.
    pub version: u64,
    /// SHA-256 of its bytes, if they could be read.
    #[serde(default)]
    pub checksum: Option<String>,
    /// Size in bytes, if known.
    #[serde(default)]
    pub size: Option<u64>,
    /// The full content, if it is a short text.
    #[serde(default)]
    pub content: Option<Arc<str>>,
    #[serde(default)]
    pub trust: Trust,
}

/// A choice to add. Its options begin with tasks of the board or of the same batch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewChoice {
    /// The question to decide.
    pub question: String,
    /// The options to choose from: at least two.
    pub options: Vec<NewBranch>,
}

/// An option of a choice to add: a branch of tasks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewBranch {
    /// The name by which it is chosen.
    pub name: String,
    /// The tasks that it begins with.
    pub tasks: Vec<TaskRef>,
}

/// A choice between options, which are branches of tasks. Until it is made, none of them can start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Choice {
    pub id: ChoiceId,
    #[serde(default)]
    pub created_at: Timestamp,
    #[serde(default = "unknown_author")]
    pub created_by: Arc<str>,
    #[serde(default)]
    pub updated_at: Timestamp,
    /// The question to decide.
    pub question: String,
    /// The options to choose from.
    pub options: Vec<Branch>,
    /// The name of the option that was chosen.
    #[serde(default)]
    pub chosen: Option<String>,
    #[serde(default)]
    pub chosen_by: Option<Arc<str>>,
    #[serde(default)]
    pub chosen_at: Option<Timestamp>,
    #[serde(default)]
    pub rationale: Option<String>,
    /// The revision that last changed it.
    pub version: u64,
}

/// The author of a record that was stored before its kind had authors.
pub(super) fn unknown_author() -> Arc<str> {
    "unknown".into()
}

/// An option of a choice: a branch of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Branch {
    /// The name by which it is chosen.
    pub name: String,
    /// The tasks that it begins with.
    pub tasks: Vec<TaskId>,
}

/// A kind of record. The records of a board are numbered from 1 without gaps.
pub trait BoardRecord: Sized + 'static {
    type Id: Copy + Ord;
    fn all(board: &BoardState) -> &OrdMap<Self::Id, Arc<Self>>;
}

macro_rules! board_record {
    ($($record:ident, $id:ident, $records:ident;)*) => {$(
        impl BoardRecord for $record {
            type Id = $id;
            fn all(board: &BoardState) -> &OrdMap<$id, Arc<Self>> {
                &board.$records
            }
        }
    )*};
}

board_record! {
    Decision, DecisionId, decisions;
    Discovery, DiscoveryId, discoveries;
    Artifact, ArtifactId, artifacts;
    Choice, ChoiceId, choices;
    Approval, ApprovalId, approvals;
    Nudge, NudgeId, nudges;
}

fn texts(texts: &[String]) -> usize {
    texts.iter().map(String::len).sum()
}

/// Bytes counted for every record besides its texts.
const FIXED: usize = 150;

impl Decision {
    /// Whether it holds: neither replaced nor rejected, and approved if it needs approval.
    pub fn holds(&self) -> bool {
        let is_approved = match self.verdict {
            Some(verdict) => verdict == ApprovalVerdict::Approved,
            None => !self.needs_approval,
        };
        is_approved && self.superseded_by.is_none()
    }

    /// Whether it waits for approval: it needs one, has no verdict and was not replaced.
    pub fn is_undecided(&self) -> bool {
        self.needs_approval && self.verdict.is_none() && self.superseded_by.is_none()
    }

    pub fn bytes(&self) -> u64 {
        let texts = self.question.len() + self.choice.len() + texts(&self.alternatives) + self.rationale.len();
        (FIXED + texts + 8 * self.affects_tasks.len()) as u64
    }
}

impl Discovery {
    pub fn bytes(&self) -> u64 {
        let core = self.promote_to_core.as_ref().map_or(0, String::len);
        (FIXED + self.content.len() + core + 8 * self.affects_tasks.len()) as u64
    }
}

impl Artifact {
    pub fn bytes(&self) -> u64 {
        let content = self.content.as_ref().map_or(0, |content| content.len());
        (FIXED + self.path.len() + self.description.len() + content) as u64
    }
}

impl Choice {
    pub fn bytes(&self) -> u64 {
        let options: usize = self.options.iter().map(|option| option.name.len() + 8 * option.tasks.len()).sum();
        let said = [&self.chosen, &self.rationale].into_iter().flatten().map(String::len).sum::<usize>();
        (FIXED + self.question.len() + options + said) as u64
    }
}
