//! What of a store can go: boards that have ended, were kept for a while, and taught what they had to teach.

use corkboard_core::board::{BoardAction, BoardStatus, KeptBy, Lifetime};
use corkboard_core::{BoardId, SpaceId, SpaceKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Corkboard, Error, Refusal, Result};

const PAGE: usize = 1000;

/// What is garbage, and what is not, and why. Nothing changes by it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Garbage {
    /// The boards that something is to be said of, in the order of their ids.
    pub boards: Vec<GarbageBoard>,
    /// How many more there are, on which work goes on.
    pub active: u64,
}

/// A board that may be purged, or may not yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GarbageBoard {
    /// The board's id.
    pub id: BoardId,
    /// What it is called; the beginning of it, if that is long.
    pub name: String,
    /// What becomes of it.
    pub fate: GarbageFate,
    /// Where it is in its life.
    pub status: BoardStatus,
    /// All that keeps it.
    pub kept_by: Vec<KeptBy>,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
}

/// What was deleted, and what was found before that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PurgedGarbage {
    /// What was found.
    #[serde(flatten)]
    pub garbage: Garbage,
    /// The boards that are gone.
    pub purged: Vec<BoardId>,
    /// Those that should be, and cannot be read.
    pub unreadable: Vec<BoardId>,
}

/// What becomes of a board when a store is cleaned up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GarbageFate {
    /// It is purged.
    Purge,
    /// It is archived, and something keeps it.
    Keep,
    /// It has ended, and nobody archived it.
    Ended,
    /// It is active, and nothing has happened on it for long. It is never purged.
    Idle,
}

/// What a board's summary says that concerns its life.
#[derive(Deserialize)]
struct Facts {
    #[serde(default)]
    name: String,
    #[serde(flatten)]
    lifetime: Lifetime,
}

impl Corkboard {
    /// What of this store can go: every board that has ended or is idle, what becomes of it, and why. It follows from the
    /// boards' summaries alone, no board is read. What may go, [`Corkboard::purge`] deletes. Memory cores and agents'
    /// memories are never garbage.
    pub async fn garbage(&self) -> Result<Garbage> {
        self.garbage_among(|_| true).await
    }

    /// The same of some of the boards: of the others nothing is said, and none of them is counted.
    pub async fn garbage_among(&self, is_meant: impl Fn(&BoardId) -> bool) -> Result<Garbage> {
        let now = self.time();
        let (mut garbage, mut after) = (Garbage::default(), None::<SpaceId>);
        loop {
            let page = self.list(SpaceKind::Board, after.as_ref(), PAGE).await?;
            for listed in &page {
                // What is being copied has no summary yet, and what a newer Corkboard wrote may not be understood.
                let Ok(facts) = serde_json::from_slice::<Facts>(&listed.summary) else { continue };
                let Some(board) = listed.space.as_board().filter(&is_meant) else { continue };
                match self.fate(&facts.lifetime, now) {
                    Some(fate) => garbage.boards.push(GarbageBoard {
                        id: board,
                        name: facts.name,
                        fate,
                        status: facts.lifetime.status,
                        kept_by: facts.lifetime.kept_by(now),
                        updated_at: facts.lifetime.updated_at,
                    }),
                    None => garbage.active += 1,
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE => after = Some(last.space.clone()),
                _ => return Ok(garbage),
            }
        }
    }

    /// Deletes a board with its log, if nothing keeps it: see [`Board::purge`](crate::Board::purge).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// use corkboard::boards::NewBoard;
    /// use corkboard::{Corkboard, GarbageFate};
    ///
    /// let corkboard = Corkboard::open("memory:").await?;
    /// let board = corkboard.create_board(NewBoard { name: "A try".into(), ..NewBoard::default() }).await?;
    /// board.cancel(None).await?;
    /// board.discard(Some("nothing to learn from it".into())).await?;
    /// for garbage in corkboard.garbage().await?.boards {
    ///     assert_eq!(garbage.fate, GarbageFate::Purge);
    ///     corkboard.purge(garbage.board.as_str()).await?;
    /// }
    /// assert!(corkboard.boards(None, 10).await?.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn purge(&self, board_id: &str) -> Result<()> {
        self.board(board_id)?.purge().await
    }

    /// Deletes all boards that nothing keeps, of some. What a crash leaves, doing it again finishes.
    pub async fn purge_garbage_among(&self, is_meant: impl Fn(&BoardId) -> bool) -> Result<PurgedGarbage> {
        BoardAction::Purge.check(self.actor())?;
        let garbage = self.garbage_among(is_meant).await?;
        let mut done = PurgedGarbage { garbage, ..PurgedGarbage::default() };
        for board in &done.garbage.boards {
            // What is on its way into a core is finished by purging, and then keeps the board no longer.
            if board.fate != GarbageFate::Purge && board.kept_by != [KeptBy::Promotion] {
                continue;
            }
            match self.purge(board.id.as_str()).await {
                Ok(()) => done.purged.push(board.id.clone()),
                // Somebody else was faster, or thought better of it meanwhile.
                Err(Error::Refused(Refusal::NoBoard | Refusal::BoardKept { .. })) => {}
                // One that cannot be read does not keep the others.
                Err(error) if error.is_unreadable_space() => done.unreadable.push(board.id.clone()),
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// What becomes of a board; none if work goes on.
    fn fate(&self, lifetime: &Lifetime, now: Timestamp) -> Option<GarbageFate> {
        match lifetime.status {
            BoardStatus::Active => self.idle_since(lifetime, now).map(|_| GarbageFate::Idle),
            BoardStatus::Completed | BoardStatus::Cancelled => Some(GarbageFate::Ended),
            BoardStatus::Archived if !lifetime.kept_by(now).is_empty() => Some(GarbageFate::Keep),
            BoardStatus::Archived | BoardStatus::Purged => Some(GarbageFate::Purge),
        }
    }

    /// Since when a board is idle, if it is.
    pub(crate) fn idle_since(&self, lifetime: &Lifetime, now: Timestamp) -> Option<Timestamp> {
        let idle_after = self.options().idle_after.try_into().unwrap_or(jiff::SignedDuration::MAX);
        lifetime.idle_since(now, idle_after)
    }
}
