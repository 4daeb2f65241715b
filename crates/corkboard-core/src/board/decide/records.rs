//! Records decisions, discoveries and artifacts.

use alloc::boxed::Box;
use alloc::string::ToString;

use super::super::id::next_id;
use super::super::{BoardEvent, BoardReply, NewArtifact, NewDecision, NewDiscovery, normal_path};
use super::{BoardDecider, ReplyResult};
use crate::Refusal;
use crate::knowledge::Trust;

impl BoardDecider<'_> {
    /// The trust level of a record: the requested one, or else the caller's. None stands for an agent's.
    fn recorded_trust(&self, asked: Option<Trust>) -> Result<Option<Trust>, Refusal> {
        let asked = Trust::granted(asked, self.context.actor)?;
        let trust = asked.unwrap_or(Trust::most_of(self.context.actor.kind));
        Ok(Some(trust).filter(|trust| *trust != Trust::Agent))
    }

    pub(super) fn record_decision(&mut self, decision: &NewDecision) -> ReplyResult {
        self.check_text("question", &decision.question)?;
        self.check_text("choice", &decision.choice)?;
        self.check_list("alternative", &decision.alternatives)?;
        self.check_length(&decision.rationale)?;
        self.check_tasks(&decision.affects_tasks)?;
        if let Some(id) = decision.supersedes {
            self.check_may_supersede(id, decision.force)?;
        }
        // A decision that concerns all tasks would stop the whole board.
        if decision.needs_approval && decision.affects_tasks.is_empty() {
            return Err(Refusal::NothingWaits);
        }
        let trust = self.recorded_trust(decision.trust)?;
        let id = next_id(&self.state.decisions);
        let recorded = Box::new(NewDecision { trust, ..decision.clone() });
        self.push(BoardEvent::DecisionRecorded { id, decision: recorded });
        self.renew_own(&decision.affects_tasks);
        Ok(BoardReply::Decision(id))
    }

    pub(super) fn record_discovery(&mut self, discovery: &NewDiscovery) -> ReplyResult {
        self.check_text("content", &discovery.content)?;
        self.check_tasks(&discovery.affects_tasks)?;
        discovery.promote_to_core.as_ref().map_or(Ok(()), |core| self.check_line("memory core", core))?;
        let trust = self.recorded_trust(discovery.trust)?;
        let id = next_id(&self.state.discoveries);
        let recorded = Box::new(NewDiscovery { trust, ..discovery.clone() });
        self.push(BoardEvent::DiscoveryRecorded { id, discovery: recorded });
        self.renew_own(&discovery.affects_tasks);
        Ok(BoardReply::Discovery(id))
    }

    pub(super) fn record_artifact(&mut self, artifact: &NewArtifact) -> ReplyResult {
        self.check_line("path", &artifact.path)?;
        self.check_length(&artifact.description)?;
        artifact.task.map_or(Ok(()), |task| self.check_tasks(&[task]))?;
        self.check_inline(artifact.content.as_deref())?;
        self.check_checksum(artifact.checksum.as_deref())?;
        let trust = self.recorded_trust(artifact.trust)?;
        let id = next_id(&self.state.artifacts);
        // In lower case, so that checksums can be compared.
        let checksum = artifact.checksum.as_ref().map(|text| text.to_ascii_lowercase());
        // One file has one path. A new version keeps the path of the earlier ones.
        let before = self.state.artifact_at(&artifact.path);
        let path = before.map_or_else(|| normal_path(&artifact.path).into(), |before| before.path.to_string());
        let recorded = Box::new(NewArtifact { path, checksum, trust, ..artifact.clone() });
        self.push(BoardEvent::ArtifactRecorded { id, artifact: recorded });
        self.renew_own(artifact.task.as_slice());
        let version = self.state.artifact(id).map_or(1, |artifact| artifact.version);
        Ok(BoardReply::Artifact { id, version })
    }
}
