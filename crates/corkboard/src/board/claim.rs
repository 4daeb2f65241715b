//! A claimed task whose lease is renewed in the background.

use std::time::Duration;

use corkboard_core::board::{
    ArtifactId, Claimed, DecisionId, DiscoveryId, NewArtifact, NewDecision, NewDiscovery, TaskId, TaskResult,
    TaskStatus,
};

use super::Board;
use super::claim_task::give_back;
use super::lease_renewal::{HeldLease, LeaseRenewal, LeaseState};
use crate::Result;

/// A task that this program holds. Heartbeats are sent in the background while this value lives. Dropping it releases
/// the task unless it is done.
///
/// Its methods are refused as fenced once another worker holds the task. [`Claim::lost`] tells a program when to stop.
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
///     () = claim.lost() => println!("another worker has the task"),
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

    /// The claimed task.
    pub fn task(&self) -> TaskId {
        self.claimed.task
    }

    /// The claim's epoch.
    pub fn epoch(&self) -> u64 {
        self.claimed.epoch
    }

    /// The task's attempt number at the time of the claim.
    pub fn attempt(&self) -> u32 {
        self.claimed.attempt
    }

    /// Returns a board handle whose commands are sent under the claim and renew it.
    pub fn board(&self) -> Board {
        self.board.under_claim(self.claimed.task, self.claimed.epoch)
    }

    /// Whether this program knows that it lost the task.
    pub fn is_lost(&self) -> bool {
        self.renewal.state() == LeaseState::Lost
    }

    /// Waits until this program loses the task: its lease expired, somebody took or cancelled the task, or the board
    /// ended. Never returns after the task was completed, failed or released through this handle.
    pub async fn lost(&self) {
        self.renewal.lost().await;
    }

    /// Completes the task. Returns `completed`, or `review` if the task needs a review.
    ///
    /// During a review this handle remains the holder and continues if the task needs rework. If the same principal
    /// claims the reworked task again, this handle is fenced.
    pub async fn complete(&self, result: TaskResult) -> Result<TaskStatus> {
        let status = self.renewal.heard(self.board.complete_task(self.task(), result, Some(self.epoch())).await)?;
        if status != TaskStatus::Review {
            self.renewal.end();
        }
        Ok(status)
    }

    /// Fails the task. Returns `failed`, or `pending` if the task will be retried.
    pub async fn fail(&self, reason: &str) -> Result<TaskStatus> {
        let status = self.renewal.heard(self.board.fail_task(self.task(), reason, Some(self.epoch())).await)?;
        self.renewal.end();
        Ok(status)
    }

    /// Releases the task.
    pub async fn release(&self) -> Result<()> {
        self.renewal.heard(self.board.release_task(self.task(), Some(self.epoch())).await)?;
        self.renewal.end();
        Ok(())
    }

    /// Marks the task as blocked.
    pub async fn block(&self, reason: Option<String>) -> Result<()> {
        self.update(TaskStatus::Blocked, reason).await
    }

    /// Marks the task as in progress again.
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

    /// Records an artifact. Returns its ID and its version number at its path.
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
