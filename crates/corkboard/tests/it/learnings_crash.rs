//! A board and a core are two spaces. A process that promotes or rolls back dies at each of its store calls in turn. In
//! the end there is one entry or none, and the board agrees.

mod given_up;
mod held;
mod late;
mod stage;

use std::sync::Arc;

use crate::common::in_time;
use corkboard::boards::{LearningStatus, WhichLearnings};
use corkboard::cores::NewCoreEntry;
use corkboard::{Corkboard, Error};
use corkboard_testing::{Fault, FaultPlan, FaultyStore};
use stage::{BOARD, LATER, MOST_CALLS, Stage, learning};

/// Lets an operation die after every possible number of store calls, until it survives to the end.
async fn die_everywhere(
    stage: impl AsyncFn() -> Stage,
    prepare: impl AsyncFn(&Stage),
    work: impl AsyncFn(&Corkboard) -> Result<(), Error>,
    check: impl AsyncFn(&Stage, bool, Vec<LearningStatus>),
) {
    for calls in 0..MOST_CALLS {
        let stage = stage().await;
        prepare(&stage).await;
        let (_, mortal) = stage.mortal(calls);
        let outcome = in_time(work(&mortal)).await;
        drop(mortal);
        let is_done = outcome.is_ok();
        if is_done {
            // Nothing is left for others to finish.
            stage.is_settled().await;
        }
        stage.home.clock.advance(LATER);
        stage.corkboard().tick().await.unwrap();
        let states = stage.is_settled().await;
        check(&stage, is_done, states).await;
        if is_done {
            println!("done after {calls} calls");
            assert!(calls > 4, "the operation made too few store calls");
            return;
        }
    }
    panic!("the operation did not finish within {MOST_CALLS} calls");
}

async fn promoting(stage: impl AsyncFn() -> Stage) {
    let promote = async |corkboard: &Corkboard| {
        let board = corkboard.board(BOARD)?;
        board.promote_learning(learning(1)).core("rules").await.map(|_| ())
    };
    die_everywhere(
        stage,
        async |stage| drop(stage.taught(1).await),
        promote,
        async |stage, is_done, states| {
            let is_promoted = matches!(states[0], LearningStatus::Promoted { .. });
            assert!(is_promoted || (!is_done && states[0] == LearningStatus::Open), "{states:?}");
            // A retry finds or adds the one entry.
            promote(&stage.corkboard()).await.unwrap();
            assert_eq!((stage.is_settled().await.len(), stage.entries().await.len()), (1, 1));
        },
    )
    .await;
}

async fn rolling_back(stage: impl AsyncFn() -> Stage) {
    let roll_back = async |corkboard: &Corkboard| {
        let board = corkboard.board(BOARD)?;
        board.roll_back_learnings(WhichLearnings::All, Some("wrong".into())).await.map(|_| ())
    };
    let prepare = async |stage: &Stage| {
        let board = stage.taught(3).await;
        board.promote_learning(learning(1)).core("rules").await.unwrap();
        board.promote_learning(learning(2)).core("facts").await.unwrap();
        // One promotion is only started. It is finished before it is rolled back.
        let (faulty, mortal) = stage.mortal(MOST_CALLS);
        faulty.next_appends([Fault::Pass, Fault::Refuse]);
        let board = mortal.board(BOARD).unwrap();
        board.promote_learning(learning(3)).core("facts").await.unwrap_err();
        assert!(stage.corkboard().board(BOARD).unwrap().view().await.unwrap().state().has_open_promotion());
    };
    die_everywhere(stage, prepare, roll_back, async |stage, is_done, states| {
        let rolled_back = states.iter().filter(|state| matches!(state, LearningStatus::RolledBack { .. })).count();
        assert!(rolled_back == 3 || (!is_done && rolled_back == 0), "{states:?}");
        roll_back(&stage.corkboard()).await.unwrap();
        stage.is_settled().await;
        assert!(stage.entries().await.is_empty());
    })
    .await;
}

async fn rolling_back_an_author(stage: impl AsyncFn() -> Stage) {
    let roll_back = async |corkboard: &Corkboard| corkboard.roll_back_author("bob").await.map(|_| ());
    let prepare = async |stage: &Stage| {
        let board = stage.taught(2).await;
        board.promote_learning(learning(1)).core("rules").await.unwrap();
        board.promote_learning(learning(2)).core("facts").await.unwrap();
        let said = NewCoreEntry { author: Some("bob".into()), ..NewCoreEntry::new("never test") };
        stage.corkboard().core("rules").unwrap().add(said).await.unwrap();
    };
    die_everywhere(stage, prepare, roll_back, async |stage, _, _| {
        // A repeat does the rest, wherever the first attempt ended.
        roll_back(&stage.corkboard()).await.unwrap();
        let states = stage.is_settled().await;
        assert!(states.iter().all(|state| matches!(state, LearningStatus::RolledBack { .. })), "{states:?}");
        for core in ["rules", "facts"] {
            assert_eq!(stage.corkboard().core(core).unwrap().stats().await.unwrap().entries, 0);
        }
    })
    .await;
}

#[tokio::test]
async fn a_promotion_that_dies_anywhere_ends_with_one_entry_in_memory() {
    promoting(Stage::memory).await;
}

#[tokio::test]
async fn a_promotion_that_dies_anywhere_ends_with_one_entry_in_sqlite() {
    promoting(Stage::sqlite).await;
}

#[tokio::test]
async fn a_roll_back_that_dies_anywhere_ends_with_no_entry_in_memory() {
    rolling_back(Stage::memory).await;
}

#[tokio::test]
async fn a_roll_back_that_dies_anywhere_ends_with_no_entry_in_sqlite() {
    rolling_back(Stage::sqlite).await;
}

#[tokio::test]
async fn an_authors_roll_back_that_dies_anywhere_is_completed_by_the_next_in_memory() {
    rolling_back_an_author(Stage::memory).await;
}

#[tokio::test]
async fn an_authors_roll_back_that_dies_anywhere_is_completed_by_the_next_in_sqlite() {
    rolling_back_an_author(Stage::sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_faults_everywhere_the_core_agrees_with_the_board() {
    let first = corkboard_testing::seed();
    for seed in first..first + 10 {
        println!("seed {seed}");
        let stage = Stage::memory().await;
        stage.taught(4).await;
        let faulty = Arc::new(FaultyStore::new(stage.store.clone(), FaultPlan::everything(seed)));
        let handles = [0, 1].map(|_| Corkboard::with_store(faulty.clone(), stage.home.options()));
        let tasks = (0..8).map(|task: usize| {
            let board = handles[task % 2].board(BOARD).unwrap();
            tokio::spawn(async move {
                for round in 0..6 {
                    // The end of the test checks the outcome.
                    if (task + round).is_multiple_of(3) {
                        let _ = board.roll_back_learnings(WhichLearnings::All, None).await;
                    } else {
                        let _ = board.promote_learning(learning(1 + (task + round) % 4)).core("rules").await;
                    }
                }
            })
        });
        for task in in_time(futures_util::future::join_all(tasks)).await {
            task.unwrap();
        }
        faulty.set_plan(FaultPlan::none());
        faulty.settle().await;
        stage.home.clock.advance(LATER);
        stage.corkboard().tick().await.unwrap();
        stage.is_settled().await;
    }
}
