//! A task that a program works on.

use std::time::Duration;

use corkboard_core::board::{
    ArtifactId, Claimed, DecisionId, DiscoveryId, NewArtifact, NewDecision, NewDiscovery, TaskId, TaskResult,
    TaskStatus,
};

use super::Board;
use super::claim_task::give_back;
use super::lease_renewal::{HeldLease, LeaseRenewal, LeaseState};
use crate::Result;

/// A task that this program holds. Heartbeats are sent in the background while this value lives; dropping it gives the task
/// back, unless it is done.
///
/// What is done through it is refused as fenced once the task is another's; [`Claim::lost`] tells a program to stop.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
/// use std::time::Duration;
///
/// use corkboard::Corkboard;
/// use corkboard::boards::{NewBoard, NewTask, TaskResult, TaskStatus};
///
/// let corkboard = Corkboard::open("memory:").await?;
/// let board = corkboard.create_board(NewBoard { name: "Release".into(), ..NewBoard::default() }).await?;
/// board.add_task(NewTask::new("Write the notes")).await?;
///
/// // Waits for a task to become ready, if none is.
/// let claim = board.work_on(None, Duration::from_secs(30)).wait(Duration::from_secs(60)).await?;
/// let Some(claim) = claim else { return Ok(()) };
/// let work = async { "three pages" };
/// tokio::select! {
///     () = claim.lost() => println!("somebody else does it"),
///     result = work => {
///         let result = TaskResult { summary: result.into(), next_steps: vec![], trust: None };
///         assert_eq!(claim.complete(result).await?, TaskStatus::Completed);
///     }
/// }
/// corkboard.close().await
/// # }
/// ```
#[derive(Debug)]
pub struct Claim {
    board: Board,
    claimed: Claimed,
    renewal: LeaseRenewal,
}

impl Claim {
    pub(super) fn new(board: &Board, claimed: Claimed, lease: Duration) -> Self {
        let board = board.unconditional();
        let held = HeldLease::Task { task: claimed.task, epoch: claimed.epoch };
        let renewal = LeaseRenewal::new(&board, held, lease, claimed.deadline);
        Self { board, claimed, renewal }
    }

    /// Which task.
    pub fn task(&self) -> TaskId {
        self.claimed.task
    }

    /// The claim's epoch.
    pub fn epoch(&self) -> u64 {
        self.claimed.epoch
    }

    /// Which attempt it was when it was claimed.
    pub fn attempt(&self) -> u32 {
        self.claimed.attempt
    }

    /// The board; every command of this handle is sent under the claim, and renews it.
    pub fn board(&self) -> Board {
        self.board.under_claim(self.claimed.task, self.claimed.epoch)
    }

    /// Whether it is known that the task is no longer this program's.
    pub fn is_lost(&self) -> bool {
        self.renewal.state() == LeaseState::Lost
    }

    /// Waits until the task is no longer this program's: it was not heard of in time, somebody took the task, cancelled
    /// it or ended the board. Never returns once the task is done or given back through this handle.
    pub async fn lost(&self) {
        self.renewal.lost().await;
    }

    /// Says that the task is done. Returns `completed`, or `review` if somebody is to look at it: while this handle lives it
    /// stays the holder, who goes on if the task needs rework. The next claim by the same name takes a reworked task over: then
    /// this handle is fenced.
    pub async fn complete(&self, result: TaskResult) -> Result<TaskStatus> {
        let status = self.renewal.heard(self.board.complete_task(self.task(), result, Some(self.epoch())).await)?;
        if status != TaskStatus::Review {
            self.renewal.end();
        }
        Ok(status)
    }

    /// Says that the task did not work. Returns `failed`, or `pending` if it is tried again.
    pub async fn fail(&self, reason: &str) -> Result<TaskStatus> {
        let status = self.renewal.heard(self.board.fail_task(self.task(), reason, Some(self.epoch())).await)?;
        self.renewal.end();
        Ok(status)
    }

    /// Gives the task back.
    pub async fn release(&self) -> Result<()> {
        self.renewal.heard(self.board.release_task(self.task(), Some(self.epoch())).await)?;
        self.renewal.end();
        Ok(())
    }

    /// Says that the program cannot go on for now.
    pub async fn block(&self, reason: Option<String>) -> Result<()> {
        self.update(TaskStatus::Blocked, reason).await
    }

    /// Says that the program goes on.
    pub async fn unblock(&self) -> Result<()> {
        self.update(TaskStatus::InProgress, None).await
    }

    async fn update(&self, status: TaskStatus, reason: Option<String>) -> Result<()> {
        let updated = self.board.update_task_status(self.task(), status, reason, Some(self.epoch())).await;
        self.renewal.heard(updated).map(|_| ())
    }

    /// Records a decision.
    pub async fn record_decision(&self, decision: NewDecision) -> Result<DecisionId> {
        self.renewal.heard(self.board().record_decision(decision).await)
    }

    /// Records a discovery.
    pub async fn record_discovery(&self, discovery: NewDiscovery) -> Result<DiscoveryId> {
        self.renewal.heard(self.board().record_discovery(discovery).await)
    }

    /// Records an artifact. Returns its id, and the how-manieth with its path it is.
    pub async fn record_artifact(&self, artifact: NewArtifact) -> Result<(ArtifactId, u64)> {
        self.renewal.heard(self.board().record_artifact(artifact).await)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.renewal.state() == LeaseState::Held {
            let (board, claimed) = (self.board.clone(), self.claimed);
            self.board.engine.spawn(async move { give_back(&board, claimed).await });
        }
    }
}
