//! Changes of learnings between two revisions of a board.

use corkboard_core::board::{BoardState, LearningStatus, LearningVerdict, Promotion, RollBack};

use crate::BoardChange;

/// One change for each learning whose state changed.
pub(in super::super) fn learning_changes(before: &BoardState, after: &BoardState) -> Vec<BoardChange> {
    // A promotion that its core refused is the same promotion until it is cleaned up.
    let is_new = |verdict: &LearningVerdict| match (before.learning_status(&verdict.id), &verdict.status) {
        (LearningStatus::Begun(was), LearningStatus::Begun(is)) => was.begun_rev != is.begun_rev,
        (was, is) => was != *is,
    };
    let decided = after.learning_verdicts().filter(|verdict| is_new(verdict));
    let mut changes = Vec::new();
    for change in decided.filter_map(|verdict| change(verdict)) {
        match (changes.last_mut(), change) {
            // One roll-back is one change.
            (
                Some(BoardChange::LearningsRolledBack { learnings, core, by, reason }),
                BoardChange::LearningsRolledBack { learnings: more, core: of, by: who, reason: why },
            ) if (&*core, &*by, &*reason) == (&of, &who, &why) => learnings.extend(more),
            (_, change) => changes.push(change),
        }
    }
    // After that cleanup, the learning is open again, as if nobody had promoted it.
    let open = before.learning_verdicts().filter(|was| after.learning_status(&was.id) == LearningStatus::Open);
    changes.extend(open.map(|was| BoardChange::PromotionAbandoned { learning: was.id.clone() }));
    changes
}

fn change(verdict: &LearningVerdict) -> Option<BoardChange> {
    let learning = verdict.id.clone();
    Some(match verdict.status.clone() {
        LearningStatus::Open => return None,
        LearningStatus::Begun(Promotion { core, actor, .. }) => {
            BoardChange::PromotionBegun { learning, core, by: actor.principal.into() }
        }
        LearningStatus::Promoted { core, entry, decided_by: by, .. } => {
            BoardChange::LearningPromoted { learning, core, entry, by }
        }
        LearningStatus::Refused { decided_by: by, reason, .. } => BoardChange::LearningRefused { learning, by, reason },
        LearningStatus::RollingBack(RollBack { core, actor, reason, .. }) => {
            BoardChange::LearningsRolledBack { learnings: vec![learning], core, by: actor.principal.into(), reason }
        }
        LearningStatus::RolledBack { core, decided_by: by, reason, .. } => {
            BoardChange::LearningsRolledBack { learnings: vec![learning], core, by, reason }
        }
    })
}
