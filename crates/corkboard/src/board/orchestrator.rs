//! The orchestrator's role, held by a program.

use std::time::Duration;

use corkboard_core::Refusal;
use corkboard_core::board::Lease;
use tokio::time::Instant;

use super::claim_task::{Future, LONGEST, due_at};
use super::lease_renewal::{HeldLease, LeaseRenewal, LeaseState};
use super::{Board, Orchestrating};
use crate::engine::joined;
use crate::{Error, Result};

/// Becomes the orchestrator. Made by [`Board::orchestrate`].
#[must_use = "nothing is acquired until this is awaited"]
#[derive(Debug, Clone)]
pub struct Orchestrate {
    board: Board,
    lease: Duration,
    wait: Duration,
}

/// The orchestrator's role, held by this program. It is renewed in the background while this value lives; dropping it gives
/// the role back.
#[derive(Debug)]
pub struct Orchestrator {
    role: Orchestrating,
    renewal: LeaseRenewal,
}

impl Board {
    /// Becomes the orchestrator, if nobody else is, and stays it: for programs. Await it.
    pub fn orchestrate(&self, lease: Duration) -> Orchestrate {
        Orchestrate { board: self.unconditional(), lease, wait: Duration::ZERO }
    }
}

impl Orchestrate {
    /// Stands by that long for another orchestrator to give the role back, or not to be heard of.
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

/// In a task: if whoever asked is gone by the time of the answer, the role is dropped there, and so given back.
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

    /// The board; every command of this handle carries the epoch, and renews the role.
    pub fn board(&self) -> Board {
        self.role.board()
    }

    /// Whether it is known that the role is no longer this program's.
    pub fn is_lost(&self) -> bool {
        self.renewal.state() == LeaseState::Lost
    }

    /// Waits until the role is no longer this program's. Never returns once it is given back.
    pub async fn lost(&self) {
        self.renewal.lost().await;
    }

    /// Gives the role back.
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
                    tracing::debug!(%error, "the orchestrator's role could not be given back; its lease will end");
                }
            });
        }
    }
}
