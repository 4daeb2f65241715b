//! Forgetting texts of a board for good: records stay, with their IDs, status and dependencies.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;

use serde::{Deserialize, Serialize};

use super::texts::redact_fields;
use super::{Artifact, BoardItem, BoardState, Decision, Discovery, LearningVerdict, Nudge, RecordId};
use crate::FormatError;
use crate::space::{Stamp, misfit};

/// The texts to forget on a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BoardForget {
    /// All present and past texts of a record, and of the learning made from it.
    Record { id: RecordId },
    /// Every text that contains this one. Other texts of the same record stay.
    Text { text: String },
}

impl BoardForget {
    /// Whether this text of a record is to be forgotten.
    pub(super) fn is_meant(&self, id: &RecordId, text: &str) -> bool {
        match self {
            Self::Record { id: forgotten } => forgotten.includes(id),
            Self::Text { text: forgotten } => text.contains(forgotten.as_str()),
        }
    }
}

impl BoardState {
    /// Whether the board has this record.
    pub(super) fn has_record(&self, id: &RecordId) -> bool {
        match id {
            RecordId::Board => self.info.is_some(),
            RecordId::Item(BoardItem::Task(id)) => self.nodes.contains_key(id),
            RecordId::Item(BoardItem::Decision(id)) => self.decisions.contains_key(id),
            RecordId::Item(BoardItem::Discovery(id)) => self.discoveries.contains_key(id),
            RecordId::Item(BoardItem::Artifact(id)) => self.artifacts.contains_key(id),
            RecordId::Item(BoardItem::Choice(id)) => self.choices.contains_key(id),
            RecordId::Approval(id) => self.approvals.contains_key(id),
            RecordId::Nudge(id) => self.nudges.contains_key(id),
            RecordId::Learning(id) => self.learnings.contains_key(id),
        }
    }

    /// Replaces texts of a record; if no fields are given, all.
    pub(super) fn forget_record(
        &mut self,
        id: &RecordId,
        fields: &[String],
        stamp: Stamp<'_>,
    ) -> Result<(), FormatError> {
        let none = || misfit(format!("there is no {id} to forget"));
        let (version, updated_at) = (stamp.rev, stamp.at);
        match id {
            RecordId::Board => self.change_info(stamp, |info| redact_fields(info, fields))?,
            RecordId::Item(BoardItem::Task(id)) => self.change(*id, stamp, |task| redact_fields(task, fields))?,
            RecordId::Item(BoardItem::Choice(id)) => self.change_choice(*id, |choice| {
                redact_fields(choice, fields);
                (choice.version, choice.updated_at) = (version, updated_at);
            })?,
            RecordId::Item(BoardItem::Decision(id)) => {
                let found = self.decisions.get(id).ok_or_else(none)?;
                let mut decision = Decision { version, updated_at, ..Decision::clone(found) };
                redact_fields(&mut decision, fields);
                self.put_decision(decision);
            }
            RecordId::Item(BoardItem::Discovery(id)) => {
                let found = self.discoveries.get(id).ok_or_else(none)?.clone();
                let mut discovery = Discovery { version, updated_at, ..Discovery::clone(&found) };
                redact_fields(&mut discovery, fields);
                self.bytes -= found.bytes();
                self.put_discovery(discovery);
            }
            // The version of an artifact is its number at its path. An older version must not become the newest.
            RecordId::Item(BoardItem::Artifact(id)) => {
                let found = self.artifacts.get(id).ok_or_else(none)?.clone();
                let mut artifact = Artifact { updated_at, ..Artifact::clone(&found) };
                redact_fields(&mut artifact, fields);
                self.bytes = self.bytes - found.bytes() + artifact.bytes();
                self.artifacts.insert(*id, Arc::new(artifact));
            }
            RecordId::Approval(id) => {
                let found = self.approvals.get(id).ok_or_else(none)?.clone();
                let mut approval = (*found).clone();
                redact_fields(&mut approval, fields);
                approval.updated_at = updated_at;
                self.bytes -= found.bytes();
                self.put_approval(approval);
            }
            RecordId::Nudge(id) => {
                let found = self.nudges.get(id).ok_or_else(none)?;
                let mut nudge = Nudge { version, updated_at, ..Nudge::clone(found) };
                redact_fields(&mut nudge, fields);
                self.put_nudge(nudge);
            }
            RecordId::Learning(id) => {
                let found = self.learnings.get(id).ok_or_else(none)?;
                let mut verdict = LearningVerdict { version, updated_at, ..LearningVerdict::clone(found) };
                redact_fields(&mut verdict, fields);
                self.put_learning(verdict);
            }
        }
        Ok(())
    }
}
