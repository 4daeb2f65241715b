//! Promotes, refuses and rolls back learnings. A change of a core only begins here; the process that finishes it
//! reports it.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::{
    BoardCommand, BoardEvent, BoardReply, BoardStatus, LearningCandidate, LearningChanges, LearningId, LearningStatus,
    Promotion, WhichLearnings,
};
use super::{BoardDecider, ReplyResult, not_on_board};
use crate::board::check_tagged;
use crate::id::{check_tag, check_visible};
use crate::knowledge::{CoreEntryId, NewCoreEntry, Trust};
use crate::{ActorKind, CoreId, LimitName, Limits, OwnPart, Refusal};

impl BoardCommand {
    /// Whether it is about learnings. These commands are also allowed on boards that have ended.
    pub(super) fn is_about_learnings(&self) -> bool {
        matches!(
            self,
            Self::ExtractLearnings
                | Self::PromoteLearning { .. }
                | Self::FinishPromotion { .. }
                | Self::AbandonPromotion { .. }
                | Self::FinishAbandonment { .. }
                | Self::RefuseLearning { .. }
                | Self::RollBackLearnings { .. }
                | Self::FinishRollBack { .. }
        )
    }

    /// Whether it undoes or finishes something. A full board does not refuse it.
    pub(super) fn is_always_welcome(&self) -> bool {
        match self {
            Self::FinishPromotion { .. }
            | Self::AbandonPromotion { .. }
            | Self::FinishAbandonment { .. }
            | Self::RollBackLearnings { .. }
            | Self::FinishRollBack { .. }
            | Self::Forget { .. } => true,
            Self::AsOrchestrator { command, .. } => command.is_always_welcome(),
            _ => false,
        }
    }
}

impl BoardDecider<'_> {
    pub(super) fn is_active(&self) -> bool {
        self.state.info().is_some_and(|info| info.status == BoardStatus::Active)
    }

    pub(super) fn extract_learnings(&mut self) -> ReplyResult {
        if !self.is_active() && self.info()?.learnings_extracted.is_none() {
            let candidates = self.state.learning_candidates().len() as u64;
            self.push(BoardEvent::LearningsExtracted { candidates });
        }
        Ok(BoardReply::Done)
    }

    pub(super) fn promote_learning(
        &mut self,
        learning: &LearningId,
        core: Option<&str>,
        changes: &LearningChanges,
    ) -> ReplyResult {
        let core = core.map(|core| CoreId::new(core, self.limits())).transpose()?;
        // Repeating a request succeeds. A request with changes or for another core is not a repeat.
        let is_there = |there: &CoreId| changes.is_empty() && core.as_ref().is_none_or(|core| core == there);
        match self.state.learning_status(learning) {
            LearningStatus::Open | LearningStatus::RolledBack { .. } => {}
            LearningStatus::Begun(promotion) if promotion.refused.is_none() && is_there(&promotion.core) => {
                return Ok(BoardReply::Promotion { core: promotion.core, entry: None });
            }
            LearningStatus::Promoted { core, entry, .. } if is_there(&core) => {
                return Ok(BoardReply::Promotion { core, entry: Some(entry) });
            }
            LearningStatus::Begun(_) | LearningStatus::RollingBack(_) => return Err(open(learning)),
            LearningStatus::Promoted { core, .. } => {
                return Err(Refusal::LearningPromoted { learning: learning.clone(), core });
            }
            LearningStatus::Refused { decided_by: by, .. } => {
                return Err(Refusal::LearningRefused { learning: learning.clone(), by: by.to_string() });
            }
        }
        let candidate = self.expect_candidate(learning)?;
        let entry = self.promoted_entry(&candidate, changes)?;
        let core = match (core, &candidate.suggested_core) {
            (Some(core), _) => core,
            (None, Some(suggested)) => CoreId::new(suggested, self.limits())?,
            (None, None) => return Err(Refusal::NoCore { learning: learning.clone() }),
        };
        let (learning, kind) = (learning.clone(), self.context.actor.kind);
        self.push(BoardEvent::PromotionBegun { learning, core: core.clone(), entry: Box::new(entry), kind });
        Ok(BoardReply::Promotion { core, entry: None })
    }

    fn expect_candidate(&self, learning: &LearningId) -> Result<LearningCandidate, Refusal> {
        self.state.learning_candidate(learning).ok_or_else(|| not_on_board("learning", learning))
    }

    /// The entry that the core will get. Everything that the core would refuse is refused here, before the promotion
    /// begins.
    fn promoted_entry(
        &self,
        candidate: &LearningCandidate,
        changes: &LearningChanges,
    ) -> Result<NewCoreEntry, Refusal> {
        let (actor, limits) = (self.context.actor, self.limits());
        let LearningChanges { content, kind, importance, tags, trust } = changes;
        let is_caller = |name: &Arc<str>| **name == *actor.principal;
        let own_part = match content {
            _ if is_caller(&candidate.created_by) => Some(OwnPart::Author),
            _ if candidate.contributors.iter().any(is_caller) => Some(OwnPart::Contributor),
            Some(_) => Some(OwnPart::NewContent),
            None => None,
        };
        if let Some(own_part) = own_part.filter(|_| actor.kind == ActorKind::Agent) {
            let (learning, principal) = (candidate.id.clone(), actor.principal.clone());
            return Err(Refusal::OwnLearning { learning, principal, own_part });
        }
        let mut entry = candidate.as_entry();
        if let Some(content) = content {
            entry.content = content.clone();
            // An actor that rewords the text is a contributor.
            let is_named = |name: &String| *name == actor.principal;
            if !entry.author.as_ref().is_some_and(is_named) && !entry.contributors.iter().any(is_named) {
                entry.contributors.push(actor.principal.clone());
            }
        }
        entry.kind = kind.unwrap_or(entry.kind);
        entry.importance = importance.or(entry.importance);
        entry.tags = tags.clone().unwrap_or(entry.tags);
        entry.trust = Some(self.promoted_trust(candidate.trust, *trust)?);
        if entry.content.trim().is_empty() {
            return Err(Refusal::Blank { what: "content".into() });
        }
        Limits::check(LimitName::CoreTextBytes, entry.content.len() as u64, limits.core_text_bytes)?;
        if let Some(importance) = entry.importance.filter(|importance| !(0.0..=1.0).contains(importance)) {
            return Err(Refusal::Importance { importance });
        }
        Limits::check(LimitName::TagsPerEntry, entry.tags.len() as u64, limits.tags_per_entry)?;
        entry.tags.iter().try_for_each(|tag| check_tag(tag, limits).and(check_visible("tag", tag)))?;
        entry.author.as_deref().map_or(Ok(()), |author| check_visible("author", author))?;
        check_tagged(entry.tags.iter(), &entry.content)?;
        Ok(entry)
    }

    /// A person may raise the trust of others' texts. Agents and programs may not.
    fn promoted_trust(&self, has: Trust, asked: Option<Trust>) -> Result<Trust, Refusal> {
        let actor = self.context.actor;
        let most = match actor.kind {
            ActorKind::Human => Trust::Own,
            ActorKind::Agent | ActorKind::Service => Trust::most_of(actor.kind).min(has),
        };
        Ok(Trust::granted_up_to(most, asked, actor)?.unwrap_or(has).min(most))
    }

    pub(super) fn finish_promotion(
        &mut self,
        learning: &LearningId,
        begun_rev: u64,
        entry: CoreEntryId,
    ) -> ReplyResult {
        match self.state.learning_status(learning) {
            // Another process has abandoned it, and removes the entry.
            LearningStatus::Begun(promotion) if promotion.begun_rev == begun_rev && promotion.refused.is_some() => {
                Err(Refusal::PromotionOver { learning: learning.clone(), status: "abandoned".into() })
            }
            LearningStatus::Begun(promotion) if promotion.begun_rev == begun_rev => {
                self.push(BoardEvent::LearningPromoted { learning: learning.clone(), entry });
                Ok(BoardReply::Done)
            }
            // Another process finished it or began a new promotion: the entry is wanted in the core.
            LearningStatus::Begun(_) | LearningStatus::Promoted { .. } | LearningStatus::RollingBack(_) => {
                Ok(BoardReply::Done)
            }
            state @ (LearningStatus::Open | LearningStatus::Refused { .. } | LearningStatus::RolledBack { .. }) => {
                Err(Refusal::PromotionOver { learning: learning.clone(), status: state.as_str().into() })
            }
        }
    }

    pub(super) fn abandon_promotion(&mut self, learning: &LearningId, begun_rev: u64, reason: &str) -> ReplyResult {
        self.check_length(reason)?;
        if let LearningStatus::Begun(promotion) = self.state.learning_status(learning)
            && promotion.begun_rev == begun_rev
            && promotion.refused.is_none()
        {
            self.push(BoardEvent::PromotionRefused { learning: learning.clone(), reason: reason.into() });
        }
        Ok(BoardReply::Done)
    }

    pub(super) fn finish_abandonment(&mut self, learning: &LearningId, begun_rev: u64) -> ReplyResult {
        if let LearningStatus::Begun(Promotion { begun_rev: begun, refused: Some(reason), .. }) =
            self.state.learning_status(learning)
            && begun == begun_rev
        {
            self.push(BoardEvent::PromotionAbandoned { learning: learning.clone(), reason });
        }
        Ok(BoardReply::Done)
    }

    pub(super) fn refuse_learning(&mut self, learning: &LearningId, reason: Option<&str>) -> ReplyResult {
        self.check_comment(reason)?;
        match self.state.learning_status(learning) {
            LearningStatus::Refused { .. } => return Ok(BoardReply::Done),
            LearningStatus::Begun(_) | LearningStatus::RollingBack(_) => return Err(open(learning)),
            LearningStatus::Promoted { core, .. } => {
                return Err(Refusal::LearningPromoted { learning: learning.clone(), core });
            }
            LearningStatus::Open => drop(self.expect_candidate(learning)?),
            LearningStatus::RolledBack { .. } => {}
        }
        self.push(BoardEvent::LearningRefused { learning: learning.clone(), reason: reason.map(Into::into) });
        Ok(BoardReply::Done)
    }

    pub(super) fn roll_back_learnings(&mut self, which: &WhichLearnings, reason: Option<&str>) -> ReplyResult {
        self.check_comment(reason)?;
        let all = || self.state.learning_verdicts().map(|verdict| verdict.id.clone()).collect();
        let named: BTreeSet<LearningId> = match which {
            WhichLearnings::All => all(),
            WhichLearnings::These(these) => {
                self.check_count(these.len())?;
                these.iter().cloned().collect()
            }
        };
        let mut learnings = Vec::new();
        for learning in named {
            match self.state.learning_status(&learning) {
                LearningStatus::Promoted { .. } => learnings.push(learning),
                LearningStatus::Begun(_) => return Err(open(&learning)),
                LearningStatus::RollingBack(_) | LearningStatus::RolledBack { .. } => {}
                state if *which != WhichLearnings::All => {
                    if state == LearningStatus::Open {
                        self.expect_candidate(&learning)?;
                    }
                    return Err(Refusal::NotPromoted { learning, status: state.as_str().into() });
                }
                LearningStatus::Open | LearningStatus::Refused { .. } => {}
            }
        }
        if !learnings.is_empty() {
            let (reason, kind) = (reason.map(Into::into), self.context.actor.kind);
            self.push(BoardEvent::RollBackBegun { learnings: learnings.clone(), reason, kind });
        }
        Ok(BoardReply::RollBack(learnings))
    }

    pub(super) fn finish_roll_back(&mut self, begun_rev: u64) -> ReplyResult {
        let open = self.state.open_learnings();
        let begun = open.iter().filter(|verdict| match &verdict.status {
            LearningStatus::RollingBack(roll_back) => roll_back.begun_rev == begun_rev,
            _ => false,
        });
        let learnings: Vec<LearningId> = begun.map(|verdict| verdict.id.clone()).collect();
        if !learnings.is_empty() {
            self.push(BoardEvent::LearningsRolledBack { learnings });
        }
        Ok(BoardReply::Done)
    }
}

fn open(learning: &LearningId) -> Refusal {
    Refusal::PromotionOpen { learning: learning.clone() }
}
