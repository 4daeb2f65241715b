//! Leases that are renewed in the background while a program holds them.

use std::time::Duration;

use corkboard_core::board::TaskId;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::Board;
use crate::store::StoreError;
use crate::{Error, Result};

#[derive(Debug, Clone, Copy)]
pub(super) enum HeldLease {
    Task { task: TaskId, epoch: u64 },
    Orchestrator { epoch: u64 },
}

impl HeldLease {
    async fn renew(self, board: &Board) -> Result<Timestamp> {
        match self {
            Self::Task { task, epoch } => board.heartbeat(task, Some(epoch)).await,
            Self::Orchestrator { epoch } => board.renew_orchestrator(epoch).await,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseState {
    Held,
    Ended,
    /// Somebody else or nobody holds the lease: the program should stop.
    Lost,
}

/// Renews a lease every third of its duration until it is dropped, ended or lost.
#[derive(Debug)]
pub(super) struct LeaseRenewal {
    state: watch::Sender<LeaseState>,
    renewing: AbortHandle,
}

impl LeaseRenewal {
    pub(super) fn new(board: &Board, held: HeldLease, lease: Duration, deadline: Timestamp) -> Self {
        let state = watch::Sender::new(LeaseState::Held);
        let (told, board) = (state.clone(), board.clone());
        let engine = board.engine.clone();
        let renewing = engine.spawn(async move {
            let error = renew_until_lost(&board, held, lease, deadline).await;
            tracing::debug!(board = %board.id, ?held, %error, "a lease is lost");
            told.send_if_modified(|state| replace_held(state, LeaseState::Lost));
        });
        Self { state, renewing: renewing.abort_handle() }
    }

    pub(super) fn state(&self) -> LeaseState {
        *self.state.borrow()
    }

    /// Waits until the lease is lost. Never returns if the program ends the lease.
    pub(super) async fn lost(&self) {
        let mut state = self.state.subscribe();
        if state.wait_for(|state| *state == LeaseState::Lost).await.is_err() {
            std::future::pending().await
        }
    }

    pub(super) fn end(&self) {
        self.renewing.abort();
        self.state.send_if_modified(|state| replace_held(state, LeaseState::Ended));
    }

    /// Inspects an answer: if it says `fenced`, the lease is lost.
    pub(super) fn heard<T>(&self, answer: Result<T>) -> Result<T> {
        if let Err(Error::Refused(corkboard_core::Refusal::Fenced { .. })) = &answer {
            self.renewing.abort();
            self.state.send_if_modified(|state| replace_held(state, LeaseState::Lost));
        }
        answer
    }
}

impl Drop for LeaseRenewal {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

fn replace_held(state: &mut LeaseState, by: LeaseState) -> bool {
    let is_held = *state == LeaseState::Held;
    if is_held {
        *state = by;
    }
    is_held
}

/// Returns why the lease could not be renewed.
async fn renew_until_lost(board: &Board, held: HeldLease, lease: Duration, deadline: Timestamp) -> Error {
    let mut deadline = deadline;
    let mut pause = lease / 3;
    loop {
        tokio::time::sleep(pause).await;
        let left = Duration::try_from(deadline.duration_since(board.engine.now_in(&board.slot))).unwrap_or_default();
        // After the deadline the store reports that the lease is lost, if the store can be reached.
        let patience = left.max(lease / 3);
        match tokio::time::timeout(patience, held.renew(board)).await {
            Ok(Ok(renewed)) => {
                deadline = renewed;
                pause = lease / 3;
            }
            Ok(Err(error)) if may_pass(&error) && board.engine.now_in(&board.slot) < deadline => pause = lease / 20,
            Ok(Err(error)) => return error,
            Err(_) => return StoreError::Busy { waited: patience }.into(),
        }
    }
}

fn may_pass(error: &Error) -> bool {
    let is_closed = matches!(error, Error::Closed);
    !is_closed && (error.is_retryable() || matches!(error, Error::Store(StoreError::OutcomeUnknown(_))))
}
