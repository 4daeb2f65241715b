//! A process that promotes or rolls back is held at each of its store calls in turn, like a suspended laptop. Others
//! finish its operation, and perhaps undo it, before it continues. Nothing may return, and nothing may exist twice.

use std::time::Duration;

use corkboard::boards::{LearningStatus, WhichLearnings};
use corkboard::cores::CoreEdit;

use super::held::{Held, Seen, others_finish, promote, roll_back};
use super::stage::{BOARD, LATER, MOST_CALLS, Stage, learning};

/// Longer than an answer is remembered for its idempotency key.
const DAYS: Duration = Duration::from_secs(3 * 24 * 3600);

/// What a person does while the process is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    RollBack,
    RollBackAndRefuse,
    RollBackAndPromote,
    RollBackAndPromoteElsewhere,
    RollBackAuthor,
    RollBackAndPurge,
    Purge,
    DeleteBoard,
    Forget,
    Edit,
    Clear,
    DeleteCore,
}

const ACTS: [Act; 12] = [
    Act::RollBack,
    Act::RollBackAndRefuse,
    Act::RollBackAndPromote,
    Act::RollBackAndPromoteElsewhere,
    Act::RollBackAuthor,
    Act::RollBackAndPurge,
    Act::Purge,
    Act::DeleteBoard,
    Act::Forget,
    Act::Edit,
    Act::Clear,
    Act::DeleteCore,
];

impl Act {
    async fn perform(self, stage: &Stage) {
        let corkboard = stage.corkboard();
        let board = corkboard.board(BOARD).unwrap();
        let roll_back = async || {
            board.roll_back_learnings(WhichLearnings::All, None).await.unwrap();
        };
        let promote = async |core: &str| drop(board.promote_learning(learning(1)).core(core).await.unwrap());
        let purge = async || {
            board.discard(None).await.unwrap();
            board.purge().await.unwrap();
        };
        match self {
            Self::RollBack => roll_back().await,
            Self::RollBackAndRefuse => {
                roll_back().await;
                board.refuse_learning(learning(1), None).await.unwrap();
            }
            Self::RollBackAndPromote => {
                roll_back().await;
                promote("rules").await;
            }
            Self::RollBackAndPromoteElsewhere => {
                roll_back().await;
                promote("facts").await;
            }
            Self::RollBackAuthor => drop(corkboard.roll_back_author("bob").await.unwrap()),
            Self::RollBackAndPurge => {
                roll_back().await;
                purge().await;
            }
            Self::Purge => purge().await,
            Self::DeleteBoard => drop(corkboard.delete_board(BOARD).await.unwrap()),
            Self::Forget | Self::Edit => self.touch(stage).await,
            Self::Clear => drop(corkboard.core("rules").unwrap().clear().await.unwrap()),
            Self::DeleteCore => drop(corkboard.delete_core("rules").await.unwrap()),
        }
    }

    /// Edits or removes the entry, if it exists.
    async fn touch(self, stage: &Stage) {
        let core = stage.corkboard().core("rules").unwrap();
        for entry in stage.entries().await {
            if self == Self::Forget {
                core.forget(entry.id, Some("outdated")).await.unwrap();
            } else {
                let content = Some("in other words".into());
                core.edit(entry.id, CoreEdit { content, ..CoreEdit::default() }).await.unwrap();
            }
        }
    }
}

/// Others finish the operation, a person acts on it, and then the held process continues.
async fn late_after(act: Act, pause: Duration, new_stage: impl AsyncFn() -> Stage) {
    for call in 0..MOST_CALLS {
        let stage = new_stage().await;
        stage.taught(1).await;
        let Some(late) = Held::at(&stage, call, stage.home.options(), promote).await else {
            assert!(call > 4, "the operation made too few store calls");
            return;
        };
        let is_begun = Seen::of(&stage).await.learning != Some(LearningStatus::Open);
        // Deleting a board finishes its open promotions by itself.
        if act != Act::DeleteBoard {
            others_finish(&stage).await;
        }
        if is_begun || matches!(act, Act::Purge | Act::DeleteBoard) {
            act.perform(&stage).await;
        }
        stage.home.clock.advance(pause);
        let before = Seen::of(&stage).await;
        let outcome = late.finish().await;
        others_finish(&stage).await;
        let after = Seen::of(&stage).await;
        if is_begun || before.learning.is_none() {
            assert_eq!(after, before, "{act:?} {pause:?}, held before call {call}: {outcome:?}");
        } else {
            // If the operation had not started, it acts as if requested only now.
            outcome.unwrap();
            stage.is_settled().await;
            assert_eq!(after.entries.len(), 1, "{act:?} {pause:?}, held before call {call}");
        }
    }
    panic!("the operation did not finish");
}

/// Another process finishes the operation and dies on the way, a person acts on the entry, and then the held process
/// continues.
async fn late_after_a_death(act: Act, pause: Duration, new_stage: impl AsyncFn() -> Stage) {
    let mut touched = 0;
    for call in 0..MOST_CALLS {
        for calls in 0..MOST_CALLS {
            let stage = new_stage().await;
            stage.taught(1).await;
            let Some(late) = Held::at(&stage, call, stage.home.options(), promote).await else {
                assert!(call > 4 && touched > 4, "the operation made too few store calls");
                return;
            };
            stage.home.clock.advance(LATER);
            let is_done = stage.mortal(calls).1.tick().await.is_ok();
            act.touch(&stage).await;
            stage.home.clock.advance(pause);
            let before = Seen::of(&stage).await;
            let outcome = late.finish().await;
            others_finish(&stage).await;
            stage.is_settled().await;
            let after = Seen::of(&stage).await;
            assert_eq!(
                after.entries.len(),
                1,
                "{act:?} {pause:?}, held before call {call}, dead after {calls}: {outcome:?}"
            );
            if !before.entries.is_empty() {
                touched += 1;
                assert_eq!(
                    after.entries, before.entries,
                    "{act:?} {pause:?}, held before call {call}, dead after {calls}"
                );
            }
            if is_done {
                break;
            }
        }
    }
    panic!("the operation did not finish");
}

/// Others finish the roll-back, and the learning is promoted again before the held process continues.
async fn late_roll_back(pause: Duration, new_stage: impl AsyncFn() -> Stage) {
    for call in 0..MOST_CALLS {
        let stage = new_stage().await;
        stage.taught(1).await;
        promote(stage.corkboard()).await.unwrap();
        let Some(late) = Held::at(&stage, call, stage.home.options(), roll_back).await else {
            assert!(call > 4, "the operation made too few store calls");
            return;
        };
        let is_begun = !matches!(Seen::of(&stage).await.learning, Some(LearningStatus::Promoted { .. }));
        others_finish(&stage).await;
        promote(stage.corkboard()).await.unwrap();
        stage.home.clock.advance(pause);
        let before = Seen::of(&stage).await;
        let outcome = late.finish().await;
        others_finish(&stage).await;
        let after = Seen::of(&stage).await;
        if is_begun {
            assert_eq!(after, before, "{pause:?}, held before call {call}: {outcome:?}");
        } else {
            outcome.unwrap();
            stage.is_settled().await;
            assert!(after.entries.is_empty());
        }
    }
    panic!("the operation did not finish");
}

#[tokio::test]
async fn a_late_finish_changes_nothing_in_memory() {
    for act in ACTS {
        for pause in [Duration::ZERO, DAYS] {
            late_after(act, pause, Stage::memory).await;
        }
    }
}

#[tokio::test]
async fn a_late_finish_changes_nothing_in_sqlite() {
    for act in ACTS {
        late_after(act, DAYS, Stage::sqlite).await;
    }
}

#[tokio::test]
async fn an_entry_forgotten_or_edited_before_the_board_knew_stays_so_in_memory() {
    for act in [Act::Forget, Act::Edit] {
        for pause in [Duration::ZERO, DAYS] {
            late_after_a_death(act, pause, Stage::memory).await;
        }
    }
}

#[tokio::test]
async fn an_entry_forgotten_or_edited_before_the_board_knew_stays_so_in_sqlite() {
    late_after_a_death(Act::Forget, DAYS, Stage::sqlite).await;
    late_after_a_death(Act::Edit, DAYS, Stage::sqlite).await;
}

#[tokio::test]
async fn a_late_roll_back_removes_nothing_new_in_memory() {
    late_roll_back(Duration::ZERO, Stage::memory).await;
    late_roll_back(DAYS, Stage::memory).await;
}

#[tokio::test]
async fn a_late_roll_back_removes_nothing_new_in_sqlite() {
    late_roll_back(DAYS, Stage::sqlite).await;
}
