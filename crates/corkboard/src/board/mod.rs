//! Boards: a task set's shared memory, for an orchestrator, its workers and the people around them.

mod observer;
mod orchestrate;
mod task_context;
mod view;
mod work;

use std::any::Any;
use std::sync::Arc;

use corkboard_core::board::{BoardCommand, BoardReply, BoardState};
use corkboard_core::{Actor, BoardId, IdempotencyKey, Request, SpaceId, Usage};

use crate::engine::{Answer, Asked, Engine, Slot, Watch};
use crate::options::Options;
use crate::{Error, Result};

pub(crate) use observer::BoardObserver;
pub use orchestrate::Orchestrating;
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
        Self { id, actor, engine, slot, if_rev: None, idempotency_key: None, orchestrator: None, _corkboard: corkboard }
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
        let command = match self.orchestrator {
            Some(epoch) => BoardCommand::AsOrchestrator { epoch, command: Box::new(command) },
            None => command,
        };
        let limits = &self.engine.options.limits;
        let key = self.idempotency_key.as_deref();
        let idempotency = key.map(|key| IdempotencyKey::new(key, &command, limits)).transpose()?;
        let asked = Asked::Request(Request { command, if_rev: self.if_rev, idempotency });
        self.engine.ask(&self.slot, self.actor.clone(), Usage::default(), asked).await
    }
}

/// The id of a new board: words of its name that can be typed, and a few random characters.
pub(crate) fn new_id(name: &str) -> String {
    const LONGEST: usize = 32;
    let words = name.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut id = String::new();
    for word in words.map(str::to_ascii_lowercase) {
        if id.len() + word.len() > LONGEST {
            break;
        }
        id.push_str(&word);
        id.push('-');
    }
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{id}{}", random.get(..8).unwrap_or(&random))
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
