//! Boards: the shared memory of a task set, used by an orchestrator, its workers and people.

mod artifact;
mod claim;
mod claim_task;
mod cores;
mod create;
mod diff;
mod forget;
mod fork;
mod graph;
mod history;
mod json_form;
mod learnings;
mod lease_renewal;
mod lifetime;
mod log_ref;
mod orchestrate;
mod orchestrator;
mod people;
mod progress;
mod search;
mod sentence;
mod task_context;
mod view;
mod work;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use corkboard_core::board::{BoardCommand, BoardReply, BoardState, TaskId};
use corkboard_core::knowledge::CoreState;
use corkboard_core::{Actor, BoardId, CoreId, IdempotencyKey, Request, SpaceId, Usage};
use serde::Serialize;

use crate::access::{AllowedSpaces, AuthenticatedActor};
use crate::engine::{Answer, Engine, PendingAnswer, RequestSource, Slot, Watch};
use crate::knowledge::Core;
use crate::log::InEngine;
use crate::options::Options;
use crate::{Conditions, Error, Result};

pub use artifact::{NoChecksum, RecordArtifact, RecordedArtifact};
pub use claim::Claim;
pub use claim_task::{ClaimTask, WorkOn};
pub use cores::{TaskPattern, UnreadablePattern};
pub use create::{CreateBoard, CreatedBoard};
pub use diff::{BoardChange, BoardDiff};
pub use fork::Fork;
pub use graph::GraphFormat;
pub use json_form::{AgentContribution, BoardDocument, EdgeType, TaskDocument, TaskEdge, TaskGraph};
pub use learnings::{
    BoardRolledBack, CoreRolledBack, CoresRolledBack, PromoteLearning, PromotedLearning, RollBackCores,
    RollBackProgress, RollBackStage,
};
pub use log_ref::{LogPage, LogRef, NoLogRef};
pub use orchestrate::Orchestrating;
pub use orchestrator::{Orchestrate, Orchestrator};
pub use progress::{BoardProgress, BoardProgressCounts};
pub(crate) use sentence::written;
pub use view::BoardView;

/// Watches the log of a board.
pub type BoardWatch = Watch<BoardState>;

/// One board. The handle acts as its actor.
#[derive(Clone)]
pub struct Board {
    id: BoardId,
    actor: AuthenticatedActor,
    engine: Arc<Engine<BoardState>>,
    slot: Arc<Slot<BoardState>>,
    /// The memory cores of the same store.
    cores: Arc<Engine<CoreState>>,
    conditions: Conditions,
    /// The orchestrator epoch under which this handle sends its commands.
    orchestrator: Option<u64>,
    /// The task and the claim epoch under which this handle sends its commands.
    claim: Option<(TaskId, u64)>,
    /// The last revision that this handle, or a handle made from it, read or wrote.
    seen: Arc<AtomicU64>,
    /// Keeps the background tasks (ticks, flushes) running while handles exist.
    corkboard: Arc<dyn Any + Send + Sync>,
    /// The other spaces that this handle can open.
    allowed_spaces: AllowedSpaces,
}

impl Board {
    pub(crate) fn new(
        id: BoardId,
        actor: AuthenticatedActor,
        engine: Arc<Engine<BoardState>>,
        cores: Arc<Engine<CoreState>>,
        corkboard: Arc<dyn Any + Send + Sync>,
        allowed_spaces: AllowedSpaces,
    ) -> Self {
        let slot = engine.slot(&SpaceId::board(&id));
        Self {
            id,
            actor,
            engine,
            slot,
            cores,
            conditions: Conditions::default(),
            orchestrator: None,
            claim: None,
            seen: Arc::default(),
            corkboard,
            allowed_spaces,
        }
    }

    /// The board's ID.
    pub fn id(&self) -> &BoardId {
        &self.id
    }

    /// The actor that this handle acts as.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Returns a handle to the same board that acts as another actor.
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor: self.actor.by_same_token(actor), ..self.clone() }
    }

    /// Returns a handle whose writes are refused unless the board is at revision `rev`.
    pub fn if_rev(&self, rev: u64) -> Self {
        let conditions = Conditions { if_rev: Some(rev), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// Returns a handle whose writes carry this idempotency key. A repeat within 24 hours gets the same answer and has
    /// no further effect.
    pub fn idempotency_key(&self, key: impl Into<String>) -> Self {
        let conditions = Conditions { idempotency_key: Some(key.into()), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// Returns a handle whose writes have these conditions. It ignores `if_version`: a board as a whole has no version.
    pub fn conditions(&self, conditions: impl Into<Conditions>) -> Self {
        Self { conditions: conditions.into(), ..self.clone() }
    }

    /// Returns a handle whose writes are refused as fenced unless its actor is the orchestrator with this epoch.
    pub fn as_orchestrator(&self, epoch: u64) -> Self {
        Self { orchestrator: Some(epoch), ..self.clone() }
    }

    /// Returns a handle whose writes are refused as fenced unless its actor holds the task with this epoch.
    pub fn under_claim(&self, task: TaskId, epoch: u64) -> Self {
        Self { claim: Some((task, epoch)), ..self.clone() }
    }

    /// A handle to the same board without conditions, orchestrator role or claim.
    fn unconditional(&self) -> Self {
        Self { conditions: Conditions::default(), orchestrator: None, claim: None, ..self.clone() }
    }

    /// Returns the last revision that this handle, or a handle made from it, read or wrote; 0 if none. A caller that
    /// uses a separate handle for each write finds the write's revision here.
    pub fn last_rev(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Remembers a revision that was read or written.
    fn saw(&self, rev: u64) {
        self.seen.fetch_max(rev, Ordering::Relaxed);
    }

    /// Returns the current state of the board.
    pub async fn view(&self) -> Result<BoardView> {
        let current = self.engine.current(&self.slot).await?;
        self.saw(current.head.rev);
        BoardView::new(self.id.clone(), &current, self.engine.now(&self.slot, &current))
    }

    /// Watches every revision after `from_rev`, the last one that the caller has seen. 0 starts at the beginning.
    pub async fn watch(&self, from_rev: u64) -> Result<BoardWatch> {
        self.engine.watch(self.slot.clone(), from_rev).await
    }

    /// A memory core of the same store, acting as this handle's actor.
    pub(crate) fn core_of(&self, id: CoreId) -> Core {
        Core::new(id, self.actor.clone(), self.cores.clone(), self.corkboard.clone())
    }

    pub(crate) fn options(&self) -> &Options {
        &self.engine.options
    }

    /// Sends a command and returns its answer.
    pub(crate) async fn ask(&self, command: BoardCommand) -> Result<Answer<BoardReply>> {
        // The key covers the command without its epoch: a process that retries after a crash has a new epoch.
        let name = self.name_of(&command)?;
        self.check_allowed_spaces(&command).await?;
        let answer = self.send(command, name).await?;
        self.saw(answer.rev);
        Ok(answer)
    }

    /// Refuses a command that uses memory cores which this handle cannot open.
    pub(crate) async fn check_allowed_spaces(&self, command: &BoardCommand) -> Result<()> {
        self.allowed_spaces.check_command(&self.actor, command, (&self.engine, &self.slot)).await
    }

    pub(crate) fn in_engine(&self) -> InEngine<BoardState> {
        InEngine::new(&self.engine, &self.slot.id)
    }

    /// Sends a command with an idempotency key.
    fn send(&self, command: BoardCommand, name: Option<IdempotencyKey>) -> PendingAnswer<BoardReply> {
        let request = self.request(command, name);
        self.engine.ask(&self.slot, self.actor.clone(), Usage::default(), RequestSource::Request(request))
    }

    /// The handle's idempotency key, if it has one, bound to the content of the request.
    fn name_of(&self, asked: &impl Serialize) -> Result<Option<IdempotencyKey>> {
        let limits = &self.engine.options.limits;
        let key = self.conditions.idempotency_key.as_deref();
        Ok(key.map(|key| IdempotencyKey::new(key, asked, limits)).transpose()?)
    }

    /// The command with the conditions of this handle.
    fn request(&self, command: BoardCommand, idempotency: Option<IdempotencyKey>) -> Request<BoardCommand> {
        let command = match self.claim {
            Some((task, epoch)) => BoardCommand::UnderClaim { task, epoch, command: Box::new(command) },
            None => command,
        };
        let command = match self.orchestrator {
            Some(epoch) => BoardCommand::AsOrchestrator { epoch, command: Box::new(command) },
            None => command,
        };
        Request { command, if_rev: self.conditions.if_rev, idempotency }
    }
}

/// Extracts the value from the expected kind of reply. Calls `unexpected` for any other kind.
macro_rules! expect_reply {
    ($answer:expr, $reply:pat => $value:expr) => {
        match $answer.reply {
            $reply => Ok($value),
            other => Err(unexpected(other)),
        }
    };
}
pub(crate) use expect_reply;

/// The error for a reply of the wrong kind, which is a bug in Corkboard.
pub(crate) fn unexpected(reply: BoardReply) -> Error {
    Error::Damaged { space: "board".into(), message: format!("unexpected reply: {reply:?}") }
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("id", &self.id).field("actor", &self.actor).finish_non_exhaustive()
    }
}
