//! The orchestrator's role with background renewal.

use std::time::Duration;

use corkboard_core::Refusal;
use corkboard_core::board::Lease;
use tokio::time::Instant;

use super::claim_task::{Future, LONGEST, due_at};
use super::lease_renewal::{HeldLease, LeaseRenewal, LeaseState};
use super::{Board, Orchestrating};
use crate::engine::joined;
use crate::{Error, Result};

/// Acquires the orchestrator's role. Created by [`Board::orchestrate`].
#[must_use = "nothing is acquired until this is awaited"]
#[derive(Debug, Clone)]
pub struct Orchestrate {
    board: Board,
    lease: Duration,
    wait: Duration,
}

/// The orchestrator's role, held by this program. It is renewed in the background while this value lives. Dropping it
/// releases the role.
#[derive(Debug)]
pub struct Orchestrator {
    role: Orchestrating,
    renewal: LeaseRenewal,
}

impl Board {
    /// Acquires the orchestrator's role if nobody else holds it, and renews it in the background. Await it.
    pub fn orchestrate(&self, lease: Duration) -> Orchestrate {
        Orchestrate { board: self.unconditional(), lease, wait: Duration::ZERO }
    }
}

impl Orchestrate {
    /// Waits up to this long for another orchestrator to release the role or let it expire.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    async fn acquire(self) -> Result<Orchestrator> {
        let Self { board, lease, wait } = self;
        let until = Instant::now() + wait.min(LONGEST);
        let mut changes = board.engine.changes(&board.slot);
        loop {
            changes.mark();
            let is_last = Instant::now() >= until;
            let view = board.view().await?;
            let is_own = |lease: &Lease| lease.holder.as_str() == board.actor.principal;
            if is_last || view.state().orchestrator().is_none_or(is_own) {
                match acquire(board.clone(), lease).await {
                    Err(Error::Refused(Refusal::OrchestratorHeld { .. })) if !is_last => {}
                    answer => return answer,
                }
            }
            changes.wait(until.min(due_at(&view))).await?;
        }
    }
}

/// Runs in a task: if the caller is gone when the answer arrives, the role is dropped there and thereby released.
async fn acquire(board: Board, lease: Duration) -> Result<Orchestrator> {
    let engine = board.engine.clone();
    let acquiring = engine.spawn(async move {
        let role = board.acquire_orchestrator(lease).await?;
        Ok(Orchestrator::new(&board, role, lease))
    });
    joined(acquiring).await
}

impl IntoFuture for Orchestrate {
    type Output = Result<Orchestrator>;
    type IntoFuture = Future<'static, Orchestrator>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.acquire())
    }
}

impl Orchestrator {
    fn new(board: &Board, role: Orchestrating, lease: Duration) -> Self {
        let renewal = LeaseRenewal::new(board, HeldLease::Orchestrator { epoch: role.epoch() }, lease, role.deadline());
        Self { role, renewal }
    }

    /// The role's epoch.
    pub fn epoch(&self) -> u64 {
        self.role.epoch()
    }

    /// Returns a board handle whose commands carry the epoch and renew the role.
    pub fn board(&self) -> Board {
        self.role.board()
    }

    /// Whether this program knows that it lost the role.
    pub fn is_lost(&self) -> bool {
        self.renewal.state() == LeaseState::Lost
    }

    /// Waits until this program loses the role. Never returns after it was released through this handle.
    pub async fn lost(&self) {
        self.renewal.lost().await;
    }

    /// Releases the role.
    pub async fn release(&self) -> Result<()> {
        self.renewal.heard(self.role.clone().release().await)?;
        self.renewal.end();
        Ok(())
    }
}

impl Drop for Orchestrator {
    fn drop(&mut self) {
        if self.renewal.state() == LeaseState::Held {
            let role = self.role.clone();
            let engine = role.board().engine.clone();
            engine.spawn(async move {
                if let Err(error) = role.release().await {
                    tracing::debug!(%error, "could not release the orchestrator's role; its lease will expire");
                }
            });
        }
    }
}
