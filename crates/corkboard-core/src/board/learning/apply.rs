//! Applies events about learnings.

use alloc::format;

use super::super::{BoardEvent, BoardState};
use super::{LearningId, LearningState, LearningVerdict, Promotion, RollBack};
use crate::space::{Stamp, misfit};
use crate::{Actor, ActorKind, FormatError};

impl BoardState {
    pub(in super::super) fn apply_learning(&mut self, event: &BoardEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
        let (at, begun_rev) = (stamp.at, stamp.rev);
        match event {
            BoardEvent::PromotionBegun { learning, core, entry, kind } => {
                let (core, entry, by) = (core.clone(), (**entry).clone(), actor(stamp, *kind));
                self.judge_learning(
                    learning,
                    LearningState::Begun(Promotion { core, entry, by, at, begun_rev, refused: None }),
                    stamp,
                );
            }
            BoardEvent::LearningPromoted { learning, entry } => {
                let Promotion { core, by, at, .. } = self.expect_begun(learning)?;
                let state = LearningState::Promoted { core, entry: *entry, by: by.principal.into(), at };
                self.judge_learning(learning, state, stamp);
            }
            BoardEvent::PromotionRefused { learning, reason } => {
                let promotion = Promotion { refused: Some(reason.clone()), ..self.expect_begun(learning)? };
                self.judge_learning(learning, LearningState::Begun(promotion), stamp);
            }
            BoardEvent::PromotionAbandoned { learning, .. } => {
                self.expect_begun(learning)?;
                self.drop_learning(learning);
            }
            BoardEvent::LearningRefused { learning, reason } => {
                let state = LearningState::Refused { by: stamp.principal.into(), at, reason: reason.clone() };
                self.judge_learning(learning, state, stamp);
            }
            BoardEvent::RollBackBegun { learnings, reason, kind } => {
                for learning in learnings {
                    let LearningState::Promoted { core, entry, .. } = self.learning_state(learning) else {
                        return Err(misfit(format!("{learning} was not promoted")));
                    };
                    let (by, reason) = (actor(stamp, *kind), reason.clone());
                    let roll_back = RollBack { core, entry, by, at, reason, begun_rev };
                    self.judge_learning(learning, LearningState::RollingBack(roll_back), stamp);
                }
            }
            BoardEvent::LearningsRolledBack { learnings } => {
                for learning in learnings {
                    let LearningState::RollingBack(roll_back) = self.learning_state(learning) else {
                        return Err(misfit(format!("nobody began to roll back {learning}")));
                    };
                    let RollBack { core, entry, by, at, reason, .. } = roll_back;
                    let state = LearningState::RolledBack { core, entry, by: by.principal.into(), at, reason };
                    self.judge_learning(learning, state, stamp);
                }
            }
            other => return Err(misfit(format!("{other:?} is not about learnings"))),
        }
        Ok(())
    }

    fn judge_learning(&mut self, learning: &LearningId, state: LearningState, stamp: Stamp<'_>) {
        let (created_at, created_by) = match self.learnings.get(learning) {
            Some(verdict) => (verdict.created_at, verdict.created_by.clone()),
            None => (stamp.at, stamp.principal.into()),
        };
        let (id, updated_at, version) = (learning.clone(), stamp.at, stamp.rev);
        self.put_learning(LearningVerdict { id, created_at, created_by, updated_at, state, version });
    }

    fn expect_begun(&self, learning: &LearningId) -> Result<Promotion, FormatError> {
        match self.learning_state(learning) {
            LearningState::Begun(promotion) => Ok(promotion),
            _ => Err(misfit(format!("nobody began to promote {learning}"))),
        }
    }
}

fn actor(stamp: Stamp<'_>, kind: ActorKind) -> Actor {
    Actor::new(stamp.principal, kind, stamp.role)
}
