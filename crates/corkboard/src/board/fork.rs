//! A new board from what another one was.

use corkboard_core::Refusal;
use corkboard_core::board::{BoardCommand, BoardImage, ForkedFrom};

use super::claim_task::Future;
use super::create::new_id;
use super::{Board, BoardView};
use crate::{Error, Result};

/// Makes a board from what another one was. Made by [`Board::fork`].
#[must_use = "nothing is made until this is awaited"]
#[derive(Debug, Clone)]
pub struct Fork {
    board: Board,
    at: Option<u64>,
    name: Option<String>,
    id: Option<String>,
    id_prefix: String,
    idempotency_key: Option<String>,
}

impl Board {
    /// Makes a new board from this one as it is, or was. It is active, whatever became of this one; what was worked on is
    /// pending again, and nobody is its orchestrator. It shows no trust and no approval that this handle's actor could not
    /// give. Await it.
    pub fn fork(&self) -> Fork {
        let (board, id_prefix) = (self.unconditional(), String::new());
        Fork { board, at: None, name: None, id: None, id_prefix, idempotency_key: None }
    }
}

impl Fork {
    /// From what the board was at that revision. Otherwise from what it is.
    pub fn at(mut self, rev: u64) -> Self {
        self.at = Some(rev);
        self
    }

    /// What the new board is called. Otherwise as this one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

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

    /// Names the request: the same again, within a day, gives the same board. Its id follows from the key and from who
    /// asks, unless one is asked for.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    async fn make(self) -> Result<Board> {
        let Self { board, at, name, id, id_prefix, idempotency_key } = self;
        let key = idempotency_key.as_deref();
        let id_for = |name: &str| id.clone().unwrap_or_else(|| new_id(&id_prefix, name, &board.actor, key));
        let at = match (at, key) {
            // With a key, its name is no part of the id.
            (None, Some(_)) => made_before(&board, &id_for("")).await?,
            (at, _) => at,
        };
        let (from, image) = board.fork_image(at).await?;
        let called = name.as_deref().or(image.info.as_ref().map(|info| &*info.name));
        let forked = board.sibling(&id_for(called.unwrap_or_default()))?;
        forked.make(BoardCommand::Fork { from, name, image }, idempotency_key).await?;
        Ok(forked)
    }
}

impl Board {
    /// What a fork of this board begins with: the board as it is, or as it was at that revision.
    async fn fork_image(&self, at: Option<u64>) -> Result<(ForkedFrom, Box<BoardImage>)> {
        let view = match at {
            Some(rev) => self.at(rev).await?,
            None => self.view().await?,
        };
        let from = ForkedFrom { board: self.id.as_str().into(), rev: view.rev() };
        Ok((from, Box::new(BoardImage::from(view.state().clone()))))
    }

    /// Adds to a command from outside what is not sent with it: a fork names the board that it is made from, and that is read
    /// here, if it is open to this handle.
    pub(crate) async fn read_source(&self, command: &mut BoardCommand) -> Result<()> {
        if let BoardCommand::Fork { from, image, .. } = command {
            *image = self.sibling(&from.board)?.fork_image(Some(from.rev)).await?.1;
        }
        Ok(())
    }
}

/// The revision that was forked from when the same was asked before: "as it is" was said of that one.
async fn made_before(board: &Board, id: &str) -> Result<Option<u64>> {
    let made: BoardView = match board.sibling(id)?.view().await {
        Ok(view) => view,
        Err(Error::Refused(Refusal::NoBoard)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let from = made.info()?.forked_from.as_ref();
    Ok(from.filter(|from| from.board == board.id.as_str()).map(|from| from.rev))
}

impl IntoFuture for Fork {
    type Output = Result<Board>;
    type IntoFuture = Future<'static, Board>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.make())
    }
}
