//! Creates and deletes boards.

use std::sync::Arc;

use corkboard_core::board::{BoardAction, BoardCommand, BoardReply, CoreRef, NewBoard, TaskId};
use corkboard_core::{Actor, BoardId, Head, SpaceId, SpaceKind};

use super::claim_task::Future;
use super::cores::PreparedBoard;
use super::learnings::ATTEMPTS;
use super::{Board, TaskPattern, UnreadablePattern};
use crate::engine::Deletion;
use crate::{Conditions, Corkboard, Delete, Error, Refusal, Result};

/// Creates a board. Made by [`Corkboard::create_board`].
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

/// A board that was created, with its initial content.
#[derive(Debug, Clone)]
pub struct CreatedBoard {
    /// The new board.
    pub board: Board,
    /// Entries drawn from its memory cores, the best first.
    pub drawn: Vec<CoreRef>,
    /// The task pattern from which its first tasks were created.
    pub pattern: Option<CoreRef>,
    /// The tasks created from the pattern.
    pub tasks: Vec<TaskId>,
    /// Better fitting task patterns that cannot be parsed. Empty if the board existed already.
    pub passed_over: Vec<UnreadablePattern>,
}

impl Corkboard {
    /// Creates a board. Await it.
    ///
    /// Unless an ID is set, it is generated from the board's name. The board draws the entries of its memory cores that
    /// fit its name and goal best. It stores references: readers get the current text. Missing and unreadable cores are
    /// skipped.
    pub fn create_board(&self, board: NewBoard) -> CreateBoard {
        let actor = self.actor().clone();
        let (corkboard, id_prefix) = (self.clone(), String::new());
        CreateBoard { corkboard, board, id: None, id_prefix, actor, idempotency_key: None, pattern: None }
    }

    /// Deletes a board, in any status, and its log. Only people and admins may do that. Returns whether the board
    /// existed.
    ///
    /// Open promotions and rollbacks are finished first if possible. Promoted entries remain in their cores;
    /// [`Corkboard::roll_back_board`] removes them.
    pub fn delete_board(&self, board_id: &str) -> Delete {
        let (may, board) = (BoardAction::Delete.check(self.actor()), self.board(board_id));
        Delete::new(async move |deletion| {
            may?;
            let board = board?;
            let deleted = board.delete_settled().await?;
            if deletion == Deletion::Hard {
                // Even if there was no board: it may have been deleted earlier, without scrubbing.
                board.engine.store.scrub().await?;
            }
            Ok(deleted)
        })
    }
}

impl CreateBoard {
    /// Sets the board's ID. If it is taken, the request is refused with `board_exists`.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets a prefix for the generated ID. Ignored if an ID is set.
    pub fn id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.id_prefix = prefix.into();
        self
    }

    /// Sets the actor that creates the board and that the handle acts as.
    pub fn acting_as(mut self, actor: Actor) -> Self {
        self.actor = actor;
        self
    }

    /// Sets an idempotency key: a repeat within 24 hours returns the same board. Unless an ID is set, the ID is derived
    /// from the key and the caller.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Creates the first tasks from a task pattern, in the same revision. With [`TaskPattern::Best`], no task is
    /// created if no pattern fits. [`CreateBoard::report`] returns better fitting patterns that cannot be parsed.
    pub fn tasks_from_pattern(mut self, pattern: TaskPattern) -> Self {
        self.pattern = Some(pattern);
        self
    }

    /// Creates the board, and returns it with its initial content.
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
        // Check before reading: an error must not reveal the content of a core that the caller cannot open.
        made.check_allowed_spaces(&asked).await?;
        if let Some(TaskPattern::Entry(entry)) = &pattern {
            made.allowed_spaces.check(&made.actor, SpaceKind::Core, entry.core.as_str())?;
        }
        // The key does not cover what the cores contain: a repeat may find something else.
        let name = match &pattern {
            Some(pattern) => made.name_of(&(&asked, pattern))?,
            None => made.name_of(&asked)?,
        };
        let (command, passed_over) = if may_be_there && made.is_there().await? {
            (asked, Vec::new())
        } else {
            let PreparedBoard { board, tasks, passed_over } = made.prepare(board, pattern.as_ref()).await?;
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
    /// Sends the command that creates this board.
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
    /// Deletes the board, after its open promotions and rollbacks were finished if possible.
    async fn delete_settled(&self) -> Result<bool> {
        for _ in 0..ATTEMPTS {
            let Some(head) = self.settled_head().await else { break };
            if self.delete_if_at(Some(head)).await? {
                return Ok(true);
            }
        }
        // The board is unreadable, or a promotion or rollback cannot be finished. Neither prevents deletion.
        self.delete_if_at(None).await
    }

    /// Deletes the board if it is at that head, or at any head if none is given. Returns whether it was deleted.
    async fn delete_if_at(&self, head: Option<Head>) -> Result<bool> {
        match head {
            Some(head) => self.engine.delete_at(&self.slot, head).await,
            None => self.engine.delete(&self.slot).await,
        }
    }
}

/// The ID of a new board, with the prefix. It is derived from the idempotency key and the caller. Without a key, it
/// consists of typeable words of the board's name and a few random characters.
pub(super) fn new_id(prefix: &str, name: &str, actor: &Actor, idempotency_key: Option<&str>) -> String {
    const LONGEST: usize = 32;
    const DERIVED: usize = 24;
    if let Some(key) = idempotency_key {
        let mut hash = blake3::Hasher::new_derive_key("corkboard board id from principal and idempotency key");
        // Hash the length too, so that no two pairs give the same bytes.
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
