//! Boards: a task set's shared memory, for an orchestrator, its workers and the people around them.

mod artifact;
mod claim;
mod create;
mod diff;
mod document;
mod fork;
mod graph;
mod history;
mod hold;
mod keep;
mod observer;
mod orchestrate;
mod orchestrator;
mod people;
mod search;
mod sentence;
mod task_context;
mod view;
mod work;

use std::any::Any;
use std::sync::Arc;

use corkboard_core::board::{BoardCommand, BoardReply, BoardState, TaskId};
use corkboard_core::{Actor, BoardId, IdempotencyKey, Request, SpaceId, Usage};

use crate::engine::{Answer, Asked, Engine, Slot, Waiting, Watch};
use crate::options::Options;
use crate::{Error, Result};

pub use artifact::RecordArtifact;
pub use claim::{ClaimTask, WorkOn};
pub use create::CreateBoard;
pub use diff::{BoardChange, BoardDiff};
pub use document::{AgentContribution, BoardDocument, Edge, EdgeType, TaskDocument, TaskGraph};
pub use fork::Fork;
pub use graph::GraphFormat;
pub use hold::Claim;
pub(crate) use observer::BoardObserver;
pub use orchestrate::Orchestrating;
pub use orchestrator::{Orchestrate, Orchestrator};
pub use search::{BoardHit, BoardSearch};
pub use view::BoardView;

/// Watches the log of a board.
pub type BoardWatch = Watch<BoardState>;

/// One board. Whoever has the handle works on it in the name of the handle's actor.
#[derive(Clone)]
pub struct Board {
    id: BoardId,
    actor: Actor,
    engine: Arc<Engine<BoardState>>,
    slot: Arc<Slot<BoardState>>,
    if_rev: Option<u64>,
    idempotency_key: Option<String>,
    /// The epoch of the orchestrator's role that its commands are sent under.
    orchestrator: Option<u64>,
    /// The task and the epoch of the claim that its commands are sent under.
    claim: Option<(TaskId, u64)>,
    /// What ticks and flushes goes on for as long as there are handles.
    _corkboard: Arc<dyn Any + Send + Sync>,
}

impl Board {
    pub(crate) fn new(
        id: BoardId,
        actor: Actor,
        engine: Arc<Engine<BoardState>>,
        corkboard: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let slot = engine.slot(&SpaceId::board(&id));
        Self {
            id,
            actor,
            engine,
            slot,
            if_rev: None,
            idempotency_key: None,
            orchestrator: None,
            claim: None,
            _corkboard: corkboard,
        }
    }

    /// The board's id.
    pub fn id(&self) -> &BoardId {
        &self.id
    }

    /// In whose name this handle works.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The same board in another name.
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { actor, ..self.clone() }
    }

    /// The same board; what is written by this handle is refused unless the board is at this revision.
    pub fn if_rev(&self, rev: u64) -> Self {
        Self { if_rev: Some(rev), ..self.clone() }
    }

    /// The same board; what is written by this handle has this name: the same again, within a day, gets the same answer and
    /// has no second effect.
    pub fn idempotency_key(&self, key: impl Into<String>) -> Self {
        Self { idempotency_key: Some(key.into()), ..self.clone() }
    }

    /// The same board; what is written by this handle is refused as fenced unless its actor is the orchestrator by this
    /// epoch.
    pub fn as_orchestrator(&self, epoch: u64) -> Self {
        Self { orchestrator: Some(epoch), ..self.clone() }
    }

    /// The same board; what is written by this handle is refused as fenced unless its actor holds the task by this epoch.
    pub fn under_claim(&self, task: TaskId, epoch: u64) -> Self {
        Self { claim: Some((task, epoch)), ..self.clone() }
    }

    /// The same board, without the conditions of this handle.
    fn unconditional(&self) -> Self {
        Self { if_rev: None, idempotency_key: None, orchestrator: None, claim: None, ..self.clone() }
    }

    /// The board as it is now.
    pub async fn view(&self) -> Result<BoardView> {
        let current = self.engine.current(&self.slot).await?;
        BoardView::new(self.id.clone(), &current, self.engine.now(&current))
    }

    /// Every revision from the last that the caller has seen: 0 stands for the beginning.
    pub async fn watch(&self, from_rev: u64) -> Result<BoardWatch> {
        self.engine.watch(self.slot.clone(), from_rev).await
    }

    pub(crate) fn options(&self) -> &Options {
        &self.engine.options
    }

    /// Sends a command and says what came of it.
    pub(crate) async fn ask(&self, command: BoardCommand) -> Result<Answer<BoardReply>> {
        self.send(command)?.await
    }

    fn send(&self, command: BoardCommand) -> Result<Waiting<BoardReply>> {
        let request = self.request(command)?;
        Ok(self.engine.ask(&self.slot, self.actor.clone(), Usage::default(), Asked::Request(request)))
    }

    /// The command with the conditions of this handle.
    fn request(&self, command: BoardCommand) -> Result<Request<BoardCommand>> {
        let limits = &self.engine.options.limits;
        let key = self.idempotency_key.as_deref();
        // What is asked is the same under another epoch: whoever comes back after a crash has a new one.
        let idempotency = key.map(|key| IdempotencyKey::new(key, &command, limits)).transpose()?;
        let command = match self.claim {
            Some((task, epoch)) => BoardCommand::UnderClaim { task, epoch, command: Box::new(command) },
            None => command,
        };
        let command = match self.orchestrator {
            Some(epoch) => BoardCommand::AsOrchestrator { epoch, command: Box::new(command) },
            None => command,
        };
        Ok(Request { command, if_rev: self.if_rev, idempotency })
    }
}

/// An answer that does not belong to the question: a defect of ours, said instead of hidden.
pub(crate) fn unexpected(reply: BoardReply) -> Error {
    Error::Damaged { space: "board".into(), message: format!("an answer that was not asked for: {reply:?}") }
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("id", &self.id).field("actor", &self.actor).finish_non_exhaustive()
    }
}
