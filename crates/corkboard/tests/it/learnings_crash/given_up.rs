//! Two processes finish the same promotion: one is stopped on the way, one dies, the core does not take from one what it takes
//! from the other. In the end the core holds what the board says, and nothing else.

use std::time::Duration;

use corkboard::boards::LearningState;
use corkboard::{Corkboard, Limits, Options};

use super::held::{Held, Seen, begin_and_die, others_finish, roll_back, tick};
use super::stage::{MOST_CALLS, Stage};

/// Two finish the same promotion, and the core is emptied by hand between them: for the roll-back there is nothing left to
/// take out, and the second still does not bring it back.
async fn rolled_back_when_it_was_gone(new_stage: impl AsyncFn() -> Stage) {
    let mut emptied = 0;
    for first_call in 0..MOST_CALLS {
        for second_call in 0..MOST_CALLS {
            let stage = new_stage().await;
            begin_and_die(&stage).await;
            let Some(first) = Held::at(&stage, first_call, stage.home.options(), tick).await else {
                assert!(first_call > 4 && emptied > 4, "that was too easy");
                return;
            };
            emptied += stage.corkboard().core("rules").unwrap().clear().await.unwrap();
            let second = Held::at(&stage, second_call, stage.home.options(), tick).await;
            first.goes_on().await.unwrap();
            roll_back(stage.corkboard()).await.unwrap();
            let before = Seen::of(&stage).await;
            assert_eq!(before.entries, []);
            let Some(second) = second else { break };
            second.goes_on().await.unwrap();
            others_finish(&stage).await;
            assert_eq!(Seen::of(&stage).await, before, "held before calls {first_call} and {second_call}");
        }
    }
    panic!("it never ends");
}

#[tokio::test]
async fn what_was_rolled_back_when_it_was_gone_does_not_come_back_in_memory() {
    rolled_back_when_it_was_gone(Stage::memory).await;
}

#[tokio::test]
async fn what_was_rolled_back_when_it_was_gone_does_not_come_back_in_sqlite() {
    rolled_back_when_it_was_gone(Stage::sqlite).await;
}

/// One process is refused by the core what another, which dies, gets into it while the first is held.
async fn given_up(new_stage: impl AsyncFn() -> Stage) {
    let (mut given_up, mut promoted) = (0, 0);
    for call in 0..MOST_CALLS {
        for calls in 0..MOST_CALLS {
            let stage = new_stage().await;
            begin_and_die(&stage).await;
            let Some(strict) = Held::at(&stage, call, strict(&stage), tick).await else {
                assert!(call > 4 && given_up > 4 && promoted > 4, "that was too easy");
                return;
            };
            let is_done = stage.mortal(calls).1.tick().await.is_ok();
            drop(strict.goes_on().await);
            others_finish(&stage).await;
            match stage.is_settled().await[0] {
                LearningState::Open => given_up += 1,
                LearningState::Promoted { .. } => promoted += 1,
                ref other => panic!("{other:?}"),
            }
            if is_done {
                break;
            }
        }
    }
    panic!("it never ends");
}

/// One process is held while another is refused by the core, and dies when it has gone on for a while.
async fn given_up_meanwhile(new_stage: impl AsyncFn() -> Stage) {
    for call in 0..MOST_CALLS {
        for calls in 0..MOST_CALLS {
            let stage = new_stage().await;
            begin_and_die(&stage).await;
            let options = Options { busy_timeout: Duration::ZERO, ..stage.home.options() };
            let Some(late) = Held::at(&stage, call, options, tick).await else {
                assert!(call > 4, "that was too easy");
                return;
            };
            Corkboard::with_store(stage.store.clone(), strict(&stage)).tick().await.unwrap();
            late.store.end_after(calls);
            let is_done = late.goes_on().await.is_ok();
            others_finish(&stage).await;
            stage.is_settled().await;
            if is_done {
                break;
            }
        }
    }
    panic!("it never ends");
}

/// The options of a process to which every text is too long for a core.
fn strict(stage: &Stage) -> Options {
    let limits = Limits { core_text_bytes: 1, ..Limits::default() };
    Options { limits, ..stage.home.options() }
}

#[tokio::test]
async fn what_is_given_up_leaves_nothing_in_memory() {
    given_up(Stage::memory).await;
    given_up_meanwhile(Stage::memory).await;
}

#[tokio::test]
async fn what_is_given_up_leaves_nothing_in_sqlite() {
    given_up(Stage::sqlite).await;
    given_up_meanwhile(Stage::sqlite).await;
}
