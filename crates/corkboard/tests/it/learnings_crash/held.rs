//! An operation that is held at one store call and continues later, and what others see meanwhile.

use std::sync::Arc;

use corkboard::boards::{LearningStatus, WhichLearnings};
use corkboard::cores::CoreEntry;
use corkboard::{Corkboard, Options, PromotedLearning, Result};
use corkboard_testing::{Fault, FaultPlan, FaultyStore};
use tokio::task::JoinHandle;

use super::stage::{BOARD, LATER, MOST_CALLS, Stage, learning};
use crate::common::in_time;

/// Everything that is visible from outside.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) entries: Vec<CoreEntry>,
    pub(crate) cores: Vec<String>,
    /// None if the board does not exist.
    pub(crate) learning: Option<LearningStatus>,
}

impl Seen {
    pub(crate) async fn of(stage: &Stage) -> Self {
        let (corkboard, entries) = (stage.corkboard(), stage.entries().await);
        let cores = corkboard.cores(None, 9).await.unwrap();
        let cores = cores.iter().map(|core| core.id.as_str().to_owned()).collect();
        let view = corkboard.board(BOARD).unwrap().view().await;
        let learning = view.ok().map(|view| view.state().learning_status(&learning(1)));
        Self { entries, cores, learning }
    }
}

/// An operation that is held before one store call.
pub(crate) struct Held<T> {
    pub(crate) store: Arc<FaultyStore>,
    working: JoinHandle<Result<T>>,
}

impl<T: Send + 'static> Held<T> {
    /// None if the operation finished before that call.
    pub(crate) async fn at<F>(
        stage: &Stage,
        call: u64,
        options: Options,
        work: impl FnOnce(Corkboard) -> F,
    ) -> Option<Self>
    where
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let store = Arc::new(FaultyStore::new(stage.store.clone(), FaultPlan::none()));
        store.hold_after(call);
        let mut working = tokio::spawn(work(Corkboard::with_store(store.clone(), options)));
        tokio::select! {
            () = store.held() => Some(Self { store, working }),
            ended = &mut working => {
                drop(ended.unwrap());
                None
            }
        }
    }

    pub(crate) async fn finish(self) -> Result<T> {
        self.store.let_go();
        in_time(self.working).await.unwrap()
    }
}

pub(crate) async fn promote(corkboard: Corkboard) -> Result<PromotedLearning> {
    corkboard.board(BOARD)?.promote_learning(learning(1)).core("rules").await
}

pub(crate) async fn roll_back(corkboard: Corkboard) -> Result<()> {
    corkboard.board(BOARD)?.roll_back_learnings(WhichLearnings::All, None).await.map(|_| ())
}

/// After a while, others finish what is open.
pub(crate) async fn others_finish(stage: &Stage) {
    stage.home.clock.advance(LATER);
    stage.corkboard().tick().await.unwrap();
}

/// Starts a promotion that others have to finish.
pub(crate) async fn begin_and_die(stage: &Stage) {
    stage.taught(1).await;
    let (faulty, first) = stage.mortal(MOST_CALLS);
    faulty.next_appends([Fault::Pass, Fault::Refuse]);
    promote(first).await.unwrap_err();
    stage.home.clock.advance(LATER);
}

pub(crate) async fn tick(corkboard: Corkboard) -> Result<()> {
    corkboard.tick().await.map(|_| ())
}
