//! Boards: a task set's shared memory, for an orchestrator, its workers and the people around them.

mod artifact;
mod claim;
mod claim_task;
mod cores;
mod create;
mod diff;
mod document;
mod fork;
mod graph;
mod history;
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
pub use document::{AgentContribution, BoardDocument, Edge, EdgeType, TaskDocument, TaskGraph};
pub use fork::Fork;
pub use graph::GraphFormat;
pub use learnings::{
    BoardRolledBack, CoreRolledBack, CoresRolledBack, PromoteLearning, PromotedLearning, RollBackCores,
    RollBackProgress, RollBackStage,
};
pub use log_ref::{LogPage, LogRef, NoLogRef};
pub use orchestrate::Orchestrating;
pub use orchestrator::{Orchestrate, Orchestrator};
pub use progress::BoardProgress;
pub use search::BoardHit;
pub(crate) use sentence::written;
pub use view::BoardView;

/// Watches the log of a board.
pub type BoardWatch = Watch<BoardState>;

/// One board. Whoever has the handle works on it in the name of the handle's actor.
#[derive(Clone)]
pub struct Board {
    id: BoardId,
    actor: AuthenticatedActor,
    engine: Arc<Engine<BoardState>>,
    slot: Arc<Slot<BoardState>>,
    /// The memory cores of the same store.
    cores: Arc<Engine<CoreState>>,
    conditions: Conditions,
    /// The epoch of the orchestrator's role that its commands are sent under.
    orchestrator: Option<u64>,
    /// The task and the epoch of the claim that its commands are sent under.
    claim: Option<(TaskId, u64)>,
    /// The last revision that this handle, or one made from it, read or wrote.
    seen: Arc<AtomicU64>,
    /// What ticks and flushes goes on for as long as there are handles.
    corkboard: Arc<dyn Any + Send + Sync>,
    /// What else this handle opens.
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
        Self { actor: self.actor.by_same_token(actor), ..self.clone() }
    }

    /// The same board; what is written by this handle is refused unless the board is at this revision.
    pub fn if_rev(&self, rev: u64) -> Self {
        let conditions = Conditions { if_rev: Some(rev), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// The same board; what is written by this handle has this name: the same again, within a day, gets the same answer and
    /// has no second effect.
    pub fn idempotency_key(&self, key: impl Into<String>) -> Self {
        let conditions = Conditions { idempotency_key: Some(key.into()), ..self.conditions.clone() };
        self.conditions(conditions)
    }

    /// The same board; what is written by this handle is written under these conditions. A board as a whole has no version:
    /// `if_version` is passed over.
    pub fn conditions(&self, conditions: impl Into<Conditions>) -> Self {
        Self { conditions: conditions.into(), ..self.clone() }
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
        Self { conditions: Conditions::default(), orchestrator: None, claim: None, ..self.clone() }
    }

    /// The last revision that this handle, or one made from it, read or wrote: whoever writes by a handle of their own has
    /// here what their write is called. 0 if it did neither yet.
    pub fn last_rev(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }

    /// Remembers a revision that was read or written.
    fn saw(&self, rev: u64) {
        self.seen.fetch_max(rev, Ordering::Relaxed);
    }

    /// The board as it is now.
    pub async fn view(&self) -> Result<BoardView> {
        let current = self.engine.current(&self.slot).await?;
        self.saw(current.head.rev);
        BoardView::new(self.id.clone(), &current, self.engine.now(&self.slot, &current))
    }

    /// Every revision from the last that the caller has seen: 0 stands for the beginning.
    pub async fn watch(&self, from_rev: u64) -> Result<BoardWatch> {
        self.engine.watch(self.slot.clone(), from_rev).await
    }

    /// A memory core of the same store, in the name of this handle's actor.
    pub(crate) fn core_of(&self, id: CoreId) -> Core {
        Core::new(id, self.actor.clone(), self.cores.clone(), self.corkboard.clone())
    }

    pub(crate) fn options(&self) -> &Options {
        &self.engine.options
    }

    /// Sends a command and says what came of it.
    pub(crate) async fn ask(&self, command: BoardCommand) -> Result<Answer<BoardReply>> {
        // What is asked is the same under another epoch: whoever comes back after a crash has a new one.
        let name = self.name_of(&command)?;
        self.check_allowed_spaces(&command).await?;
        let answer = self.send(command, name).await?;
        self.saw(answer.rev);
        Ok(answer)
    }

    /// Refuses a command that reaches into memory cores that are not open to this handle.
    pub(crate) async fn check_allowed_spaces(&self, command: &BoardCommand) -> Result<()> {
        self.allowed_spaces.check_command(&self.actor, command, (&self.engine, &self.slot)).await
    }

    pub(crate) fn in_engine(&self) -> InEngine<BoardState> {
        InEngine::new(&self.engine, &self.slot.id)
    }

    /// Sends a command under the name of a request.
    fn send(&self, command: BoardCommand, name: Option<IdempotencyKey>) -> PendingAnswer<BoardReply> {
        let request = self.request(command, name);
        self.engine.ask(&self.slot, self.actor.clone(), Usage::default(), RequestSource::Request(request))
    }

    /// The name of a request by this handle, if it has one, with what is asked.
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

/// The value of the one kind of reply that belongs to the question. `unexpected` makes the error for any other.
macro_rules! expect_reply {
    ($answer:expr, $reply:pat => $value:expr) => {
        match $answer.reply {
            $reply => Ok($value),
            other => Err(unexpected(other)),
        }
    };
}
pub(crate) use expect_reply;

/// An answer that does not belong to the question: a defect of ours, said instead of hidden.
pub(crate) fn unexpected(reply: BoardReply) -> Error {
    Error::Damaged { space: "board".into(), message: format!("an answer that was not asked for: {reply:?}") }
}

impl std::fmt::Debug for Board {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Board").field("id", &self.id).field("actor", &self.actor).finish_non_exhaustive()
    }
}
