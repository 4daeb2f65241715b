//! Removes everything from memory cores that somebody added or that a board taught, and records it on the boards of
//! origin.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use corkboard_core::board::{BoardAction, BoardState, LearningId, LearningStatus, WhichLearnings};
use corkboard_core::knowledge::{CoreEntry, CoreEntryId, Provenance, Withdrawal};
use corkboard_core::{Actor, BoardId, CoreId, Refusal, SpaceId, SpaceKind};
use serde::Serialize;

use super::super::claim_task::Future;
use crate::{Corkboard, Error, Result};

const PAGE: usize = 256;

/// Rolls back an author's contributions or a board's learnings in all memory cores. Created by
/// [`Corkboard::roll_back_author`] and [`Corkboard::roll_back_board`].
#[must_use = "nothing is rolled back until this is awaited"]
#[derive(Debug, Clone)]
pub struct RollBackCores {
    corkboard: Corkboard,
    of: Withdrawal,
    actor: Actor,
    reason: Option<String>,
}

/// The result of [`RollBackCores`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoresRolledBack {
    /// The cores that contained some of it, including private ones.
    pub cores: Vec<CoreRolledBack>,
    /// The boards from which it was promoted.
    pub boards: Vec<BoardRolledBack>,
}

/// The result of a rollback in one core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CoreRolledBack {
    /// The core that was searched for entries of the author.
    pub core: CoreId,
    /// Number of removed entries.
    pub removed: u64,
    /// Number of entries that stay because they have other origins too.
    pub kept: u64,
    /// Number of other authors' entries that are forgotten because their text was edited. They can be restored.
    pub forgotten: u64,
}

/// The result of a rollback on one board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardRolledBack {
    /// The board that the learnings came from.
    pub board: BoardId,
    /// The learnings that are no longer in a core.
    pub learnings: Vec<LearningId>,
}

/// Progress of a rollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RollBackProgress {
    /// The current stage.
    pub stage: RollBackStage,
    /// Number of cores and boards that are finished in this stage.
    pub done: u64,
    /// Total number of cores and boards in this stage.
    pub total: u64,
}

/// A stage of a rollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollBackStage {
    /// Searching all cores.
    Looking,
    /// Removing entries from cores, and recording that on boards.
    TakingOut,
}

/// The entries to remove, and the learnings that they came from.
#[derive(Default)]
struct RollBackTargets {
    cores: BTreeMap<CoreId, Vec<CoreEntryId>>,
    boards: BTreeMap<BoardId, BTreeSet<LearningId>>,
}

impl Corkboard {
    /// Removes everything from all memory cores, including private ones, that an author said, added or edited. Boards
    /// that promoted it record the rollback. Await it.
    ///
    /// This is not atomic across cores. If it fails in between, call it again to do the rest.
    pub fn roll_back_author(&self, author: impl Into<String>) -> RollBackCores {
        self.roll_back(Withdrawal::Author { name: author.into() })
    }

    /// Removes everything that was learned on a board from all memory cores, even if the board no longer exists. An
    /// existing board can also do this itself ([`Board::roll_back_learnings`](crate::Board::roll_back_learnings)).
    /// Await it.
    pub fn roll_back_board(&self, board_id: &str) -> Result<RollBackCores> {
        let board = BoardId::new(board_id, &self.options().limits)?;
        Ok(self.roll_back(Withdrawal::Board { board }))
    }

    fn roll_back(&self, of: Withdrawal) -> RollBackCores {
        RollBackCores { corkboard: self.clone(), of, actor: self.actor().clone(), reason: None }
    }
}

impl RollBackCores {
    /// Sets the actor of the rollback.
    pub fn acting_as(mut self, actor: Actor) -> Self {
        self.actor = actor;
        self
    }

    /// Sets the reason of the rollback.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Performs the rollback, and reports progress before each core that is searched and before each board and core
    /// that is changed.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// use corkboard::cores::NewCoreEntry;
    /// use corkboard::{Corkboard, RollBackStage};
    ///
    /// let corkboard = Corkboard::open("memory:").await?;
    /// let said = |text: &str, name: &str| NewCoreEntry { author: Some(name.into()), ..NewCoreEntry::new(text) };
    /// corkboard.core("rules")?.add(said("Trust me", "mallory")).await?;
    /// corkboard.core("other")?.add(said("Test first", "ada")).await?;
    ///
    /// let mut told = Vec::new();
    /// let tell = &mut |at: &corkboard::RollBackProgress| told.push((at.stage, at.done, at.total));
    /// let done = corkboard.roll_back_author("mallory").with_progress(tell).await?;
    /// assert_eq!((done.cores.len(), done.cores[0].removed), (1, 1));
    /// let looking = RollBackStage::Looking;
    /// assert_eq!(told, [(looking, 0, 2), (looking, 1, 2), (RollBackStage::TakingOut, 0, 1)]);
    /// # Ok(()) }
    /// ```
    pub async fn with_progress(self, tell: &mut (dyn FnMut(&RollBackProgress) + Send)) -> Result<CoresRolledBack> {
        let Self { corkboard, of, actor, .. } = &self;
        BoardAction::Promote.check(actor)?;
        // An open promotion is not in its core yet, so finish those first.
        let soon = BoardState::LEARNING_PATIENCE * 2;
        let boards: Vec<BoardId> = corkboard.boards_due_within(soon).await?;
        for board in boards {
            corkboard.board_of(board).finish_open_learnings().await?;
        }
        let found = self.find(of, tell).await?;
        let mut done = CoresRolledBack::default();
        let total = (found.boards.len() + found.cores.len()) as u64;
        let mut places = 0..total;
        let mut next = || {
            let done = places.next().unwrap_or(total);
            tell(&RollBackProgress { stage: RollBackStage::TakingOut, done, total });
        };
        // Boards first: after a crash in between, a repeat finds the rest in the cores.
        for (board, learnings) in found.boards {
            next();
            let learnings = self.roll_back_on(&board, learnings).await?;
            if !learnings.is_empty() {
                done.boards.push(BoardRolledBack { board, learnings });
            }
        }
        for (id, entries) in found.cores {
            next();
            let core = corkboard.core_of(id.clone()).acting_as(actor.clone());
            core.withdraw(of.clone()).await?;
            let (current, _) = core.current().await?;
            let left: Vec<_> = entries.iter().filter_map(|entry| current.state.entries().get(entry)).collect();
            let changed = |entry: &&&Arc<CoreEntry>| entry.provenance.iter().any(|origin| of.concerns(origin));
            let forgotten = left.iter().filter(changed).count() as u64;
            let (removed, kept) = ((entries.len() - left.len()) as u64, left.len() as u64 - forgotten);
            done.cores.push(CoreRolledBack { core: id, removed, kept, forgotten });
        }
        Ok(done)
    }

    async fn find(&self, of: &Withdrawal, tell: &mut (dyn FnMut(&RollBackProgress) + Send)) -> Result<RollBackTargets> {
        let mut found = RollBackTargets::default();
        let cores = self.every_core().await?;
        for (core, done) in cores.iter().zip(0..) {
            tell(&RollBackProgress { stage: RollBackStage::Looking, done, total: cores.len() as u64 });
            let (current, _) = self.corkboard.core_of(core.clone()).current().await?;
            for (id, entry) in current.state.entries() {
                // An entry that the author only edited is done once it is forgotten.
                let is_open = |origin: &&Provenance| entry.forgotten.is_none() || of.editor(origin).is_none();
                let concerned = entry.provenance.iter().filter(|origin| of.concerns(origin));
                let mut origins = concerned.filter(is_open).peekable();
                if origins.peek().is_some() {
                    found.cores.entry(core.clone()).or_default().push(*id);
                }
                for origin in origins {
                    if let (Some(board), Some(item)) = (&origin.board, &origin.item)
                        && let Ok(learning) = item.parse()
                    {
                        found.boards.entry(board.clone()).or_default().insert(learning);
                    }
                }
            }
        }
        Ok(found)
    }

    async fn every_core(&self) -> Result<Vec<CoreId>> {
        let mut cores = Vec::new();
        let mut after: Option<SpaceId> = None;
        loop {
            let page = self.corkboard.list(SpaceKind::Core, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(cores) };
            after = Some(last.space.clone());
            cores.extend(page.iter().filter_map(|listed| listed.space.as_core()));
        }
    }

    /// Rolls back those learnings that the board promoted itself. Skips a board that no longer exists.
    async fn roll_back_on(&self, board: &BoardId, learnings: BTreeSet<LearningId>) -> Result<Vec<LearningId>> {
        let board = self.corkboard.board_of(board.clone()).acting_as(self.actor.clone());
        let view = match board.view().await {
            Err(Error::Refused(Refusal::NoBoard | Refusal::BoardPurged)) => return Ok(Vec::new()),
            view => view?,
        };
        let is_promoted = |learning: &LearningId| {
            matches!(view.state().learning_status(learning), LearningStatus::Promoted { .. } | LearningStatus::Begun(_))
        };
        let promoted: Vec<LearningId> = learnings.into_iter().filter(is_promoted).collect();
        let at_once = usize::try_from(board.options().limits.lines_per_list).unwrap_or(usize::MAX).max(1);
        let mut rolled_back = Vec::new();
        for these in promoted.chunks(at_once) {
            let which = WhichLearnings::These(these.to_vec());
            rolled_back.extend(board.roll_back_learnings(which, self.reason.clone()).await?);
        }
        Ok(rolled_back)
    }
}

impl IntoFuture for RollBackCores {
    type Output = Result<CoresRolledBack>;
    type IntoFuture = Future<'static, CoresRolledBack>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.with_progress(&mut |_| {}).await })
    }
}
