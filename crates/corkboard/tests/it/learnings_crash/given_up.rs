//! Two processes finish the same promotion. One is stopped on the way, one dies, or the core refuses one and accepts
//! the other. In the end the core contains what the board says, and nothing else.

use std::time::Duration;

use corkboard::boards::LearningStatus;
use corkboard::{Corkboard, Limits, Options};

use super::held::{Held, Seen, begin_and_die, others_finish, roll_back, tick};
use super::stage::{MOST_CALLS, Stage};

/// Two processes finish the same promotion, and a person empties the core between them. The roll-back then finds
/// nothing to remove, and the second process still must not add the entry again.
async fn rolled_back_when_it_was_gone(new_stage: impl AsyncFn() -> Stage) {
    let mut emptied = 0;
    for first_call in 0..MOST_CALLS {
        for second_call in 0..MOST_CALLS {
            let stage = new_stage().await;
            begin_and_die(&stage).await;
            let Some(first) = Held::at(&stage, first_call, stage.home.options(), tick).await else {
                assert!(first_call > 4 && emptied > 4, "the operation made too few store calls");
                return;
            };
            emptied += stage.corkboard().core("rules").unwrap().clear().await.unwrap();
            let second = Held::at(&stage, second_call, stage.home.options(), tick).await;
            first.finish().await.unwrap();
            roll_back(stage.corkboard()).await.unwrap();
            let before = Seen::of(&stage).await;
            assert_eq!(before.entries, []);
            let Some(second) = second else { break };
            second.finish().await.unwrap();
            others_finish(&stage).await;
            assert_eq!(Seen::of(&stage).await, before, "held before calls {first_call} and {second_call}");
        }
    }
    panic!("the operation did not finish");
}

#[tokio::test]
async fn a_rolled_back_entry_that_was_already_gone_does_not_return_in_memory() {
    rolled_back_when_it_was_gone(Stage::memory).await;
}

#[tokio::test]
async fn a_rolled_back_entry_that_was_already_gone_does_not_return_in_sqlite() {
    rolled_back_when_it_was_gone(Stage::sqlite).await;
}

/// The core refuses one process, which is held on the way. Meanwhile another process, which dies, gets the entry
/// accepted.
async fn given_up(new_stage: impl AsyncFn() -> Stage) {
    let (mut given_up, mut promoted) = (0, 0);
    for call in 0..MOST_CALLS {
        for calls in 0..MOST_CALLS {
            let stage = new_stage().await;
            begin_and_die(&stage).await;
            let Some(strict) = Held::at(&stage, call, strict(&stage), tick).await else {
                assert!(call > 4 && given_up > 4 && promoted > 4, "the operation made too few store calls");
                return;
            };
            let is_done = stage.mortal(calls).1.tick().await.is_ok();
            drop(strict.finish().await);
            others_finish(&stage).await;
            match stage.is_settled().await[0] {
                LearningStatus::Open => given_up += 1,
                LearningStatus::Promoted { .. } => promoted += 1,
                ref other => panic!("{other:?}"),
            }
            if is_done {
                break;
            }
        }
    }
    panic!("the operation did not finish");
}

/// One process is held while the core refuses another. The held process dies some calls after it continues.
async fn given_up_meanwhile(new_stage: impl AsyncFn() -> Stage) {
    for call in 0..MOST_CALLS {
        for calls in 0..MOST_CALLS {
            let stage = new_stage().await;
            begin_and_die(&stage).await;
            let options = Options { busy_timeout: Duration::ZERO, ..stage.home.options() };
            let Some(late) = Held::at(&stage, call, options, tick).await else {
                assert!(call > 4, "the operation made too few store calls");
                return;
            };
            Corkboard::with_store(stage.store.clone(), strict(&stage)).tick().await.unwrap();
            late.store.end_after(calls);
            let is_done = late.finish().await.is_ok();
            others_finish(&stage).await;
            stage.is_settled().await;
            if is_done {
                break;
            }
        }
    }
    panic!("the operation did not finish");
}

/// Options of a process for which every text is too long for a core.
fn strict(stage: &Stage) -> Options {
    let limits = Limits { core_text_bytes: 1, ..Limits::default() };
    Options { limits, ..stage.home.options() }
}

#[tokio::test]
async fn an_abandoned_promotion_leaves_nothing_in_memory() {
    given_up(Stage::memory).await;
    given_up_meanwhile(Stage::memory).await;
}

#[tokio::test]
async fn an_abandoned_promotion_leaves_nothing_in_sqlite() {
    given_up(Stage::sqlite).await;
    given_up_meanwhile(Stage::sqlite).await;
}
