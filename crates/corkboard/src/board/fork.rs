//! Forks a board.

use corkboard_core::Refusal;
use corkboard_core::board::{BoardCommand, BoardImage, ForkedFrom};

use super::claim_task::Future;
use super::create::new_id;
use super::{Board, BoardView};
use crate::{Error, Result};

/// Forks a board. Created by [`Board::fork`].
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
    /// Creates a new board from the current or an earlier state of this one. Await it.
    ///
    /// The new board is active, even if this one has ended. Tasks in progress become pending, and nobody is its
    /// orchestrator. It keeps no trust and no approval that this handle's actor could not give.
    pub fn fork(&self) -> Fork {
        let (board, id_prefix) = (self.unconditional(), String::new());
        Fork { board, at: None, name: None, id: None, id_prefix, idempotency_key: None }
    }
}

impl Fork {
    /// Forks this revision. Default: the current one.
    pub fn at(mut self, rev: u64) -> Self {
        self.at = Some(rev);
        self
    }

    /// Sets the name of the new board. Default: the name of this one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the ID of the new board. If it is taken, the fork is refused with `board_exists`.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets a prefix for the generated ID. Ignored if an ID is set.
    pub fn id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.id_prefix = prefix.into();
        self
    }

    /// Sets an idempotency key: a repeat within 24 hours returns the same board. Unless an ID is set, the ID is derived
    /// from the key and the caller.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    async fn make(self) -> Result<Board> {
        let Self { board, at, name, id, id_prefix, idempotency_key } = self;
        let key = idempotency_key.as_deref();
        let id_for = |name: &str| id.clone().unwrap_or_else(|| new_id(&id_prefix, name, &board.actor, key));
        let at = match (at, key) {
            // With a key, the ID does not depend on the board's name.
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
    /// The initial content of a fork: this board as it is, or as it was at that revision.
    async fn fork_image(&self, at: Option<u64>) -> Result<(ForkedFrom, Box<BoardImage>)> {
        let view = match at {
            Some(rev) => self.at(rev).await?,
            None => self.view().await?,
        };
        let from = ForkedFrom { board: self.id.as_str().into(), rev: view.rev() };
        Ok((from, Box::new(BoardImage::from(view.state().clone()))))
    }

    /// Completes a fork command from outside. It names only the source board, whose content is read here if this handle
    /// can open it.
    pub(crate) async fn read_source(&self, command: &mut BoardCommand) -> Result<()> {
        if let BoardCommand::Fork { from, image, .. } = command {
            *image = self.sibling(&from.board)?.fork_image(Some(from.rev)).await?.1;
        }
        Ok(())
    }
}

/// The revision that the first request with this key forked. A repeat must use the same one.
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
