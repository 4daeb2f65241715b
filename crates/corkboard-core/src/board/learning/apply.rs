//! Applies events about learnings.

use alloc::format;

use super::super::{BoardEvent, BoardState};
use super::{LearningId, LearningStatus, LearningVerdict, Promotion, RollBack};
use crate::space::{Stamp, misfit};
use crate::{Actor, ActorKind, FormatError};

impl BoardState {
    pub(in super::super) fn apply_learning(&mut self, event: &BoardEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
        let (at, begun_rev) = (stamp.at, stamp.rev);
        match event {
            BoardEvent::PromotionBegun { learning, core, entry, kind } => {
                let (core, entry, actor) = (core.clone(), (**entry).clone(), actor(stamp, *kind));
                self.judge_learning(
                    learning,
                    LearningStatus::Begun(Promotion { core, entry, actor, begun_at: at, begun_rev, refused: None }),
                    stamp,
                );
            }
            BoardEvent::LearningPromoted { learning, entry } => {
                let Promotion { core, actor, begun_at, .. } = self.expect_begun(learning)?;
                let (decided_by, decided_at) = (actor.principal.into(), begun_at);
                let status = LearningStatus::Promoted { core, entry: *entry, decided_by, decided_at };
                self.judge_learning(learning, status, stamp);
            }
            BoardEvent::PromotionRefused { learning, reason } => {
                let promotion = Promotion { refused: Some(reason.clone()), ..self.expect_begun(learning)? };
                self.judge_learning(learning, LearningStatus::Begun(promotion), stamp);
            }
            BoardEvent::PromotionAbandoned { learning, .. } => {
                self.expect_begun(learning)?;
                self.drop_learning(learning);
            }
            BoardEvent::LearningRefused { learning, reason } => {
                let (decided_by, reason) = (stamp.principal.into(), reason.clone());
                let status = LearningStatus::Refused { decided_by, decided_at: at, reason };
                self.judge_learning(learning, status, stamp);
            }
            BoardEvent::RollBackBegun { learnings, reason, kind } => {
                for learning in learnings {
                    let LearningStatus::Promoted { core, entry, .. } = self.learning_status(learning) else {
                        return Err(misfit(format!("{learning} was not promoted")));
                    };
                    let (actor, reason) = (actor(stamp, *kind), reason.clone());
                    let roll_back = RollBack { core, entry, actor, begun_at: at, reason, begun_rev };
                    self.judge_learning(learning, LearningStatus::RollingBack(roll_back), stamp);
                }
            }
            BoardEvent::LearningsRolledBack { learnings } => {
                for learning in learnings {
                    let LearningStatus::RollingBack(roll_back) = self.learning_status(learning) else {
                        return Err(misfit(format!("nobody began to roll back {learning}")));
                    };
                    let RollBack { core, entry, actor, begun_at, reason, .. } = roll_back;
                    let (decided_by, decided_at) = (actor.principal.into(), begun_at);
                    let status = LearningStatus::RolledBack { core, entry, decided_by, decided_at, reason };
                    self.judge_learning(learning, status, stamp);
                }
            }
            other => return Err(misfit(format!("{other:?} is not about learnings"))),
        }
        Ok(())
    }

    fn judge_learning(&mut self, learning: &LearningId, status: LearningStatus, stamp: Stamp<'_>) {
        let (created_at, created_by) = match self.learnings.get(learning) {
            Some(verdict) => (verdict.created_at, verdict.created_by.clone()),
            None => (stamp.at, stamp.principal.into()),
        };
        let (id, updated_at, version) = (learning.clone(), stamp.at, stamp.rev);
        self.put_learning(LearningVerdict { id, created_at, created_by, updated_at, status, version });
    }

    fn expect_begun(&self, learning: &LearningId) -> Result<Promotion, FormatError> {
        match self.learning_status(learning) {
            LearningStatus::Begun(promotion) => Ok(promotion),
            _ => Err(misfit(format!("nobody began to promote {learning}"))),
        }
    }
}

fn actor(stamp: Stamp<'_>, kind: ActorKind) -> Actor {
    Actor::new(stamp.principal, kind, stamp.role)
}
