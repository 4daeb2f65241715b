//! Claims a task, now or as soon as one is ready.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use corkboard_core::board::{BoardCommand, BoardReply, BoardState, BoardStatus, Claimed, TaskId};
use corkboard_core::{AgentId, Refusal, Revisioned};
use tokio::time::Instant;

use super::{Board, BoardView, Claim, expect_reply, unexpected};
use crate::engine::{Answer, PendingAnswer};
use crate::{Error, Result};

/// Upper bound for waits.
pub(super) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(super) type Future<'a, T> = Pin<Box<dyn std::future::Future<Output = Result<T>> + Send + 'a>>;

/// Claims a task. Created by [`Board::claim_task`]; resolves to `None` if no task is ready.
#[must_use = "nothing is claimed until this is awaited"]
#[derive(Debug, Clone)]
pub struct ClaimTask {
    board: Board,
    task: Option<TaskId>,
    epoch: Option<u64>,
    lease: Duration,
    wait: Duration,
}

/// Claims a task and renews its lease. Created by [`Board::work_on`]; resolves to `None` if no task is ready.
#[must_use = "nothing is claimed until this is awaited"]
#[derive(Debug, Clone)]
pub struct WorkOn(ClaimTask);

impl Board {
    /// Claims a task: the named one, or the next. The next task is one sent back to the caller for rework, then one
    /// assigned to the caller, then by priority and age. Resolves to `None` if no task is ready.
    ///
    /// A reworked task keeps its holder and its attempt, and gets a new epoch. A [`Claim`] or another process of the
    /// same principal that has the old epoch is fenced.
    ///
    /// If the caller drops the future before the answer arrives, a task claimed by it is released. With an idempotency
    /// key the task stays claimed, and repeating the request returns it.
    pub fn claim_task(&self, task: Option<TaskId>, lease: Duration) -> ClaimTask {
        ClaimTask { board: self.clone(), task, epoch: None, lease, wait: Duration::ZERO }
    }

    /// Claims a task like [`Board::claim_task`] and renews its lease in the background.
    pub fn work_on(&self, task: Option<TaskId>, lease: Duration) -> WorkOn {
        WorkOn(self.claim_task(task, lease))
    }
}

impl ClaimTask {
    /// Resumes the named task with the caller's last epoch. A restarted worker gets its unfinished task back, with a
    /// new epoch and a full lease; the old epoch is fenced. Refused as fenced if the task was claimed since.
    pub fn epoch(mut self, epoch: u64) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Waits up to this long for a task to become ready, in any process: because a task was changed, a lease expired, a
    /// retry delay ended or a paused board was resumed. With a named task, waits while it is not ready or held by
    /// another.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    async fn claim(self, command: BoardCommand) -> Result<Option<Claimed>> {
        let Self { board, task, epoch, wait, .. } = self;
        let names_one = task.is_some() || epoch.is_some();
        let until = Instant::now() + wait.min(LONGEST);
        let mut changes = board.engine.changes(&board.slot);
        loop {
            changes.mark();
            if Instant::now() >= until {
                return PendingClaim::new(board.clone(), command).await;
            }
            let current = board.engine.current(&board.slot).await?;
            let view = BoardView::new(board.id.clone(), &current, board.engine.now(&board.slot, &current))?;
            if names_one || is_worth_asking(&board, &command, &current, &view)? {
                match PendingClaim::new(board.clone(), command.clone()).await {
                    Ok(None)
                    | Err(Error::Refused(
                        Refusal::NotReady { .. } | Refusal::TaskHeld { .. } | Refusal::Paused { .. },
                    )) => {}
                    answer => return answer,
                }
            }
            changes.wait(until.min(due_at(&view))).await?;
        }
    }
}

/// Whether a claim could be answered with anything but "nothing is ready". Many callers may wait, and reading is
/// cheaper than sending a command.
fn is_worth_asking(
    board: &Board,
    command: &BoardCommand,
    current: &Revisioned<BoardState>,
    view: &BoardView,
) -> Result<bool> {
    let state = view.state();
    let limits = &board.options().limits;
    let caller = AgentId::new(&board.actor.principal, limits)?;
    if state.rework_of(&caller).next().is_some() {
        return Ok(true);
    }
    if view.info()?.paused.is_some() {
        return Ok(false);
    }
    if state.ready().len() > 0 || view.info()?.status != BoardStatus::Active {
        return Ok(true);
    }
    if state.assigned_to(&caller).any(|task| state.may_begin(task)) {
        return Ok(true);
    }
    // A repeated request: the remembered answer decides.
    let Some(key) = board.name_of(command)? else { return Ok(false) };
    let found = current.answered.find(caller.as_str(), &key, view.at(), limits);
    Ok(!matches!(found, Ok(None)))
}

/// The moment just after the next expiry on the board.
pub(super) fn due_at(view: &BoardView) -> Instant {
    const MOMENT: Duration = Duration::from_millis(1);
    let due = view.state().next_expiry().map(|due| due.duration_since(view.at()));
    let due = due.map_or(LONGEST, |due| Duration::try_from(due).unwrap_or_default() + MOMENT);
    Instant::now() + due.min(LONGEST)
}

impl IntoFuture for ClaimTask {
    type Output = Result<Option<Claimed>>;
    type IntoFuture = Future<'static, Option<Claimed>>;

    fn into_future(self) -> Self::IntoFuture {
        let (task, epoch, lease) = (self.task, self.epoch, self.lease);
        let command = BoardCommand::Claim { task, epoch, lease };
        match self.wait.is_zero() {
            true => Box::pin(PendingClaim::new(self.board, command)),
            false => Box::pin(self.claim(command)),
        }
    }
}

impl WorkOn {
    /// Resumes the named task with this program's last epoch, like [`ClaimTask::epoch`].
    pub fn epoch(self, epoch: u64) -> Self {
        Self(self.0.epoch(epoch))
    }

    /// Waits up to this long for a task to become ready, like [`ClaimTask::wait`].
    pub fn wait(self, wait: Duration) -> Self {
        Self(self.0.wait(wait))
    }
}

impl IntoFuture for WorkOn {
    type Output = Result<Option<Claim>>;
    type IntoFuture = Future<'static, Option<Claim>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (board, lease) = (self.0.board.clone(), self.0.lease);
            Ok(self.0.await?.map(|claimed| Claim::new(&board, claimed, lease)))
        })
    }
}

/// A claim that runs to its end once sent. If the caller is gone by then, the task is released.
struct PendingClaim {
    board: Board,
    claim: ClaimRequest,
}

enum ClaimRequest {
    Unsent(BoardCommand),
    Sent(PendingAnswer<BoardReply>),
    Answered,
}

impl PendingClaim {
    fn new(board: Board, command: BoardCommand) -> Self {
        Self { board, claim: ClaimRequest::Unsent(command) }
    }

    fn sent(&mut self) -> Result<Option<&mut PendingAnswer<BoardReply>>> {
        if let ClaimRequest::Unsent(_) = &self.claim
            && let ClaimRequest::Unsent(command) = std::mem::replace(&mut self.claim, ClaimRequest::Answered)
        {
            let name = self.board.name_of(&command)?;
            self.claim = ClaimRequest::Sent(self.board.send(command, name));
        }
        Ok(match &mut self.claim {
            ClaimRequest::Sent(waiting) => Some(waiting),
            ClaimRequest::Unsent(_) | ClaimRequest::Answered => None,
        })
    }
}

impl std::future::Future for PendingClaim {
    type Output = Result<Option<Claimed>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(waiting) = self.sent()? else { return Poll::Ready(Ok(None)) };
        let polled = Pin::new(waiting).poll(context);
        if let Poll::Ready(answer) = &polled {
            self.claim = ClaimRequest::Answered;
            answer.iter().for_each(|answer| self.board.saw(answer.rev));
        }
        polled.map(claimed)
    }
}

fn claimed(answer: Result<Answer<BoardReply>>) -> Result<Option<Claimed>> {
    expect_reply!(answer?, BoardReply::Claimed(claimed) => claimed)
}

impl Drop for PendingClaim {
    fn drop(&mut self) {
        let ClaimRequest::Sent(waiting) = std::mem::replace(&mut self.claim, ClaimRequest::Answered) else { return };
        if self.board.conditions.idempotency_key.is_some() {
            return;
        }
        let board = self.board.unconditional();
        self.board.engine.spawn(async move {
            if let Ok(Some(claimed)) = claimed(waiting.await) {
                give_back(&board, claimed).await;
            }
        });
    }
}

/// Releases a task that nobody works on. If that fails, its lease expires.
pub(super) async fn give_back(board: &Board, claimed: Claimed) {
    let Claimed { task, epoch, .. } = claimed;
    if let Err(error) = board.release_task(task, Some(epoch)).await {
        tracing::debug!(board = %board.id, %task, %error, "could not release the task; its lease will expire");
    }
}
