//! Finds and purges boards that are no longer needed: archived, past their retention time, and with their learnings
//! dealt with.

use corkboard_core::board::{BoardAction, BoardStatus, KeptBy, Lifetime};
use corkboard_core::{BoardId, SpaceId, SpaceKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Corkboard, Error, Refusal, Result};

const PAGE: usize = 1000;

/// The boards of a store that have ended or are idle, and whether each can be purged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Garbage {
    /// Boards that have ended or are idle, by ID.
    #[serde(rename = "items")]
    pub boards: Vec<GarbageBoard>,
    /// Always null: the list has one page.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    next: Option<()>,
    /// Number of other boards, which are in use.
    pub active: u64,
}

/// A board that has ended or is idle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GarbageBoard {
    /// The board's ID.
    pub id: BoardId,
    /// The board's name, shortened if it is long.
    pub name: String,
    /// What cleaning up does with the board.
    pub fate: GarbageFate,
    /// The board's status.
    pub status: BoardStatus,
    /// Every reason why the board cannot be purged.
    pub kept_by: Vec<KeptBy>,
    /// Time of the last change.
    pub updated_at: Option<Timestamp>,
}

/// The boards that were purged, and the state before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PurgedGarbage {
    /// The boards found before purging.
    #[serde(flatten)]
    pub garbage: Garbage,
    /// The purged boards.
    pub purged: Vec<BoardId>,
    /// Boards that should be purged but cannot be read.
    pub unreadable: Vec<BoardId>,
}

/// What cleaning up a store does with a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GarbageFate {
    /// Archived, and nothing keeps it: it is purged.
    Purge,
    /// Archived, and something still keeps it.
    Keep,
    /// Completed or cancelled, and not archived yet.
    Ended,
    /// Active, without changes for a long time. It is never purged.
    Idle,
}

/// The facts of a board's summary that decide about purging.
#[derive(Deserialize)]
struct Facts {
    #[serde(default)]
    name: String,
    #[serde(flatten)]
    lifetime: Lifetime,
}

impl Corkboard {
    /// Lists every board that has ended or is idle, with whether it can be purged and why. This reads only the boards'
    /// summaries. [`Corkboard::purge`] deletes a board. Memory cores and agents' memories are never garbage.
    pub async fn garbage(&self) -> Result<Garbage> {
        self.garbage_among(|_| true).await
    }

    /// Like [`Corkboard::garbage`], for selected boards only. Other boards are neither listed nor counted.
    pub async fn garbage_among(&self, is_meant: impl Fn(&BoardId) -> bool) -> Result<Garbage> {
        let now = self.time();
        let (mut garbage, mut after) = (Garbage::default(), None::<SpaceId>);
        loop {
            let page = self.list(SpaceKind::Board, after.as_ref(), PAGE).await?;
            for listed in &page {
                // A board that is being copied has no summary yet, and a newer Corkboard's may not parse.
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
    ///     corkboard.purge(garbage.id.as_str()).await?;
    /// }
    /// assert!(corkboard.boards(None, 10).await?.is_empty());
    /// # Ok(()) }
    /// ```
    pub async fn purge(&self, board_id: &str) -> Result<()> {
        self.board(board_id)?.purge().await
    }

    /// Purges all selected boards that nothing keeps. After a crash, calling this again finishes the work.
    pub async fn purge_garbage_among(&self, is_meant: impl Fn(&BoardId) -> bool) -> Result<PurgedGarbage> {
        BoardAction::Purge.check(self.actor())?;
        let garbage = self.garbage_among(is_meant).await?;
        let mut done = PurgedGarbage { garbage, ..PurgedGarbage::default() };
        for board in &done.garbage.boards {
            // Purging completes open promotions, which then keep the board no longer.
            if board.fate != GarbageFate::Purge && board.kept_by != [KeptBy::Promotion] {
                continue;
            }
            match self.purge(board.id.as_str()).await {
                Ok(()) => done.purged.push(board.id.clone()),
                // Another process purged the board first, or it is kept after all.
                Err(Error::Refused(Refusal::NoBoard | Refusal::BoardKept { .. })) => {}
                // An unreadable board must not stop the others.
                Err(error) if error.is_unreadable_space() => done.unreadable.push(board.id.clone()),
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// The board's fate; none if it is in use.
    fn fate(&self, lifetime: &Lifetime, now: Timestamp) -> Option<GarbageFate> {
        match lifetime.status {
            BoardStatus::Active => self.idle_since(lifetime, now).map(|_| GarbageFate::Idle),
            BoardStatus::Completed | BoardStatus::Cancelled => Some(GarbageFate::Ended),
            BoardStatus::Archived if !lifetime.kept_by(now).is_empty() => Some(GarbageFate::Keep),
            BoardStatus::Archived | BoardStatus::Purged => Some(GarbageFate::Purge),
        }
    }

    /// The time since which a board is idle, if it is.
    pub(crate) fn idle_since(&self, lifetime: &Lifetime, now: Timestamp) -> Option<Timestamp> {
        let idle_after = self.options().idle_after.try_into().unwrap_or(jiff::SignedDuration::MAX);
        lifetime.idle_since(now, idle_after)
    }
}
