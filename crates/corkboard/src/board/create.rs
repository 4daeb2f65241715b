//! Boards are made and deleted.

use std::sync::Arc;

use corkboard_core::board::{BoardAction, BoardCommand, BoardReply, CoreRef, NewBoard, TaskId};
use corkboard_core::{Actor, BoardId, Head, SpaceId, SpaceKind};

use super::claim_task::Future;
use super::cores::Prepared;
use super::learnings::ATTEMPTS;
use super::{Board, TaskPattern, UnreadablePattern};
use crate::{Conditions, Corkboard, Error, Refusal, Result};

/// Makes a board. Made by [`Corkboard::create_board`].
#[must_use = "nothing is made until this is awaited"]
#[derive(Debug, Clone)]
pub struct CreateBoard {
    corkboard: Corkboard,
    board: NewBoard,
    id: Option<String>,
    id_prefix: String,
    actor: Actor,
    idempotency_key: Option<String>,
    pattern: Option<TaskPattern>,
}

/// A board that was made, and what it began with.
#[derive(Debug, Clone)]
pub struct CreatedBoard {
    /// The board.
    pub board: Board,
    /// What it drew from its memory cores, the best first.
    pub drawn: Vec<CoreRef>,
    /// The task pattern that its first tasks were made from.
    pub pattern: Option<CoreRef>,
    /// Those tasks.
    pub tasks: Vec<TaskId>,
    /// Task patterns that fit better and cannot be read. Of a board that was there already nothing is told.
    pub passed_over: Vec<UnreadablePattern>,
}

impl Corkboard {
    /// Makes a board. It gets an id of its own, which begins with words of its name, unless one is asked for. Of what its
    /// memory cores know, the best for its name and goal is drawn, by reference: whoever works on it is shown the text as it
    /// is then. A core that is not there, or cannot be read, gives nothing. Await it.
    pub fn create_board(&self, board: NewBoard) -> CreateBoard {
        let actor = self.actor().clone();
        let (corkboard, id_prefix) = (self.clone(), String::new());
        CreateBoard { corkboard, board, id: None, id_prefix, actor, idempotency_key: None, pattern: None }
    }

    /// Deletes a board with its log, whatever state it is in: for people and admins. Returns whether there was one. What is
    /// on its way into a memory core or out of it is finished first, where that can be done; what was promoted stays there
    /// ([`Corkboard::roll_back_board`] takes it out).
    pub async fn delete_board(&self, board_id: &str) -> Result<bool> {
        BoardAction::Delete.check(self.actor())?;
        let board = self.board(board_id)?;
        for _ in 0..ATTEMPTS {
            let Some(head) = board.settled_head().await else { break };
            if board.delete_if_at(Some(head)).await? {
                return Ok(true);
            }
        }
        // It cannot be read, or something that was begun cannot be finished: that does not keep anybody from deleting it.
        board.delete_if_at(None).await
    }

    /// Deletes a board as [`Corkboard::delete_board`] does, and sees to it that nothing of it is left in the store's files,
    /// tables and keys. It may take long.
    pub async fn forget_board(&self, board_id: &str) -> Result<bool> {
        let deleted = self.delete_board(board_id).await?;
        // Even if there was none: it may have been deleted before, without this.
        self.board(board_id)?.engine.store.scrub().await?;
        Ok(deleted)
    }
}

impl CreateBoard {
    /// The id it is to have. `board_exists` if it is taken.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// How its id is to begin, unless one is asked for.
    pub fn id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.id_prefix = prefix.into();
        self
    }

    /// In whose name it is made, and the handle works.
    pub fn acting_as(mut self, actor: Actor) -> Self {
        self.actor = actor;
        self
    }

    /// Names the request: the same again, within a day, gives the same board. Its id follows from the key and from who
    /// asks, unless one is asked for.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Makes its first tasks from a task pattern, in the same revision. Where the best is asked for and none fits, there are
    /// none; [`CreateBoard::report`] tells those that would have fitted better and cannot be read.
    pub fn tasks_from_pattern(mut self, pattern: TaskPattern) -> Self {
        self.pattern = Some(pattern);
        self
    }

    /// Makes it, and tells what it began with.
    pub async fn report(self) -> Result<CreatedBoard> {
        let (board, tasks, passed_over) = self.make().await?;
        let view = board.view().await?;
        let (drawn, pattern) = (view.info()?.drawn.clone(), view.info()?.pattern.clone());
        Ok(CreatedBoard { board, drawn, pattern, tasks, passed_over })
    }

    async fn make(self) -> Result<(Board, Vec<TaskId>, Vec<UnreadablePattern>)> {
        let Self { corkboard, board, id, id_prefix, actor, idempotency_key, pattern } = self;
        let may_be_there = id.is_some() || idempotency_key.is_some();
        let id = id.unwrap_or_else(|| new_id(&id_prefix, &board.name, &actor, idempotency_key.as_deref()));
        let conditions = Conditions { idempotency_key, ..Conditions::default() };
        let made = corkboard.board(&id)?.acting_as(actor).conditions(conditions);
        let asked = BoardCommand::Create(board.clone());
        // Before anything is read there: what is wrong with it is nobody's business to whom it is not open.
        made.check_allowed_spaces(&asked).await?;
        if let Some(TaskPattern::Entry(entry)) = &pattern {
            made.allowed_spaces.check(&made.actor, SpaceKind::Core, entry.core.as_str())?;
        }
        // What is found in the cores is no part of what is asked: the same again may find something else.
        let name = match &pattern {
            Some(pattern) => made.name_of(&(&asked, pattern))?,
            None => made.name_of(&asked)?,
        };
        let (command, passed_over) = if may_be_there && made.is_there().await? {
            (asked, Vec::new())
        } else {
            let Prepared { board, tasks, passed_over } = made.prepare(board, pattern.as_ref()).await?;
            let command = match tasks.is_empty() {
                true => BoardCommand::Create(board),
                false => BoardCommand::CreateWithTasks { board, tasks },
            };
            (command, passed_over)
        };
        let answer = made.send(command, name).await?;
        made.saw(answer.rev);
        let tasks = match answer.reply {
            BoardReply::Added { tasks, .. } => tasks,
            _ => Vec::new(),
        };
        Ok((made.unconditional(), tasks, passed_over))
    }
}

impl IntoFuture for CreateBoard {
    type Output = Result<Board>;
    type IntoFuture = Future<'static, Board>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.make().await?.0) })
    }
}

impl Board {
    /// Sends the command that makes this board.
    pub(super) async fn make(&self, command: BoardCommand, idempotency_key: Option<String>) -> Result<()> {
        let conditions = Conditions { idempotency_key, ..Conditions::default() };
        self.unconditional().conditions(conditions).ask(command).await.map(|_| ())
    }

    async fn is_there(&self) -> Result<bool> {
        match self.view().await {
            Ok(_) => Ok(true),
            Err(Error::Refused(Refusal::NoBoard)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn sibling(&self, id: &str) -> Result<Self> {
        let id = BoardId::new(id, &self.options().limits)?;
        self.allowed_spaces.check(&self.actor, SpaceKind::Board, id.as_str())?;
        let slot = self.engine.slot(&SpaceId::board(&id));
        Ok(Self { id, slot, seen: Arc::default(), ..self.unconditional() })
    }
}

impl Board {
    /// Deletes the board if it is at that head, or wherever it is. Returns whether it did.
    async fn delete_if_at(&self, head: Option<Head>) -> Result<bool> {
        match head {
            Some(head) => self.engine.delete_at(&self.slot, head).await,
            None => self.engine.delete(&self.slot).await,
        }
    }
}

/// The id of a new board. It follows from an idempotency key and from who asks; without one, it is words of the board's name
/// that can be typed, and a few random characters. In both cases it begins as is asked for.
pub(super) fn new_id(prefix: &str, name: &str, actor: &Actor, idempotency_key: Option<&str>) -> String {
    const LONGEST: usize = 32;
    const DERIVED: usize = 24;
    if let Some(key) = idempotency_key {
        let mut hash = blake3::Hasher::new_derive_key("corkboard board id from principal and idempotency key");
        // With its length, so that no two pairs read the same.
        hash.update(&(actor.principal.len() as u64).to_le_bytes()).update(actor.principal.as_bytes());
        let hash = hash.update(key.as_bytes()).finalize().to_hex();
        return format!("{prefix}b-{}", hash.get(..DERIVED).unwrap_or(&hash));
    }
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
    format!("{prefix}{id}{}", random.get(..8).unwrap_or(&random))
}
