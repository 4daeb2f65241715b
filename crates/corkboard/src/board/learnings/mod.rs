//! Promotes learnings from a board to memory cores, and rolls them back.
//!
//! A board and a core are two spaces, and nothing is atomic across them. So the board first records the intent. Then
//! the entry is added to the core or removed from it, exactly once. Finally the board records that the operation is
//! finished. Any process that finds an open operation finishes it (`finish.rs`), so a crash at any point is harmless.

mod author;
mod changes;
mod finish;

use corkboard_core::board::{
    BoardCommand, BoardReply, LearningCandidate, LearningChanges, LearningId, LearningStatus, WhichLearnings,
};
use corkboard_core::knowledge::{CoreEntryId, Trust};
use corkboard_core::{CoreId, MemoryKind, Refusal};
use serde::Serialize;

use super::claim_task::Future;
use super::{Board, unexpected};
use crate::{Error, Result};

pub(super) use changes::learning_changes;

pub use author::{BoardRolledBack, CoreRolledBack, CoresRolledBack, RollBackCores, RollBackProgress, RollBackStage};

/// Maximum number of attempts when operations of others get in the way.
pub(super) const ATTEMPTS: usize = 16;

/// A learning that was promoted to a memory core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PromotedLearning {
    /// The board's record that was promoted, such as `D-1`.
    pub learning: LearningId,
    /// The core that it was added to.
    pub core: CoreId,
    /// The core's entry.
    pub entry: CoreEntryId,
}

/// Promotes a learning to a memory core. Created by [`Board::promote_learning`].
#[must_use = "nothing is promoted until this is awaited"]
#[derive(Debug, Clone)]
pub struct PromoteLearning {
    board: Board,
    learning: LearningId,
    core: Option<String>,
    changes: LearningChanges,
}

impl Board {
    /// Returns learning candidates, the best first, each with its state: decisions with a rationale, insights, items
    /// marked for a core, and patterns among completed tasks. If the board has ended, its log records the extraction.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
    /// use corkboard::Corkboard;
    /// use corkboard::boards::{NewBoard, NewDecision, WhichLearnings};
    ///
    /// let corkboard = Corkboard::open("memory:").await?;
    /// let board = corkboard.create_board(NewBoard { name: "Login".into(), ..NewBoard::default() }).await?;
    /// let (question, choice) = ("Which hash?".into(), "argon2id".into());
    /// let rationale = "It is hard on memory".into();
    /// board.record_decision(NewDecision { question, choice, rationale, ..NewDecision::default() }).await?;
    ///
    /// let learnings = board.extract_learning_candidates().await?;
    /// let promoted = board.promote_learning(learnings[0].id.clone()).core("house-rules").await?;
    /// let entry = corkboard.core("house-rules")?.get(promoted.entry).await?.unwrap();
    /// assert_eq!(&*entry.content, "Which hash? argon2id\nBecause: It is hard on memory");
    ///
    /// board.roll_back_learnings(WhichLearnings::All, Some("we were wrong".into())).await?;
    /// assert_eq!(corkboard.core("house-rules")?.get(promoted.entry).await?, None);
    /// # Ok(()) }
    /// ```
    pub async fn extract_learning_candidates(&self) -> Result<Vec<LearningCandidate>> {
        self.tidy_up().await;
        self.ask(BoardCommand::ExtractLearnings).await?;
        self.learnings().await
    }

    /// Returns learning candidates like [`Board::extract_learning_candidates`], but writes nothing.
    pub async fn learnings(&self) -> Result<Vec<LearningCandidate>> {
        Ok(self.view().await?.state().learning_candidates())
    }

    /// Promotes a learning to a memory core. The default is the core that the learning suggests. Await it.
    ///
    /// A repeat gets the same answer and has no further effect. A refused learning stays refused. Agents cannot promote
    /// their own words.
    pub fn promote_learning(&self, learning: LearningId) -> PromoteLearning {
        PromoteLearning { board: self.clone(), learning, core: None, changes: LearningChanges::default() }
    }

    /// Refuses a learning permanently, so it cannot be promoted any more. If it is in a core, roll it back first.
    pub async fn refuse_learning(&self, learning: LearningId, reason: Option<String>) -> Result<()> {
        self.insist(BoardCommand::RefuseLearning { learning, reason }).await.map(|_| ())
    }

    /// Removes learnings from their cores: all of this board, or the given ones. Returns those that this call removed.
    /// An entry with other origins stays, without this one. A rolled-back learning can be promoted again.
    pub async fn roll_back_learnings(&self, which: WhichLearnings, reason: Option<String>) -> Result<Vec<LearningId>> {
        match self.insist(BoardCommand::RollBackLearnings { which, reason }).await? {
            BoardReply::RollBack(learnings) => {
                self.finish_learnings(|verdict| learnings.contains(&verdict.id)).await?;
                Ok(learnings)
            }
            other => Err(unexpected(other)),
        }
    }

    /// Sends a command that may have to wait for an open promotion or rollback, which is finished first.
    async fn insist(&self, command: BoardCommand) -> Result<BoardReply> {
        for _ in 1..ATTEMPTS {
            let finished = self.finish_open_learnings().await;
            match (self.ask(command.clone()).await, finished) {
                // Another process has begun one since.
                (Err(Error::Refused(Refusal::PromotionOpen { .. })), Ok(())) => {}
                (Err(Error::Refused(Refusal::PromotionOpen { .. })), Err(error)) => return Err(error),
                (answer, finished) => {
                    warn_unfinished(self, finished);
                    return answer.map(|answer| answer.reply);
                }
            }
        }
        self.ask(command).await.map(|answer| answer.reply)
    }

    /// Finishes open promotions and rollbacks if possible.
    async fn tidy_up(&self) {
        warn_unfinished(self, self.finish_open_learnings().await);
    }
}

/// Only logs the error: the caller does not depend on operations of others.
fn warn_unfinished(board: &Board, finished: Result<()>) {
    if let Err(error) = finished {
        tracing::warn!(board = %board.id, %error, "could not finish an open promotion or rollback yet");
    }
}

impl PromoteLearning {
    /// Sets the core. Default: the suggested one.
    pub fn core(mut self, name: impl Into<String>) -> Self {
        self.core = Some(name.into());
        self
    }

    /// Replaces the text. Not allowed for agents: the new words would be their own, under another author's name.
    pub fn content(mut self, content: impl Into<String>) -> Self {
        self.changes.content = Some(content.into());
        self
    }

    /// Sets the kind of memory.
    pub fn kind(mut self, kind: MemoryKind) -> Self {
        self.changes.kind = Some(kind);
        self
    }

    /// Sets the importance, from 0 (trivial) to 1 (vital). Default: the learning's score.
    pub fn importance(mut self, importance: f32) -> Self {
        self.changes.importance = Some(importance);
        self
    }

    /// Replaces all tags.
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.changes.tags = Some(tags.into_iter().map(Into::into).collect());
        self
    }

    /// Sets how far the entry can be trusted. Default: as far as its sources. Only a person can raise it.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.changes.trust = Some(trust);
        self
    }

    /// Replaces all changes that were set so far.
    pub fn changes(mut self, changes: LearningChanges) -> Self {
        self.changes = changes;
        self
    }

    async fn promote(self) -> Result<PromotedLearning> {
        let Self { board, learning, core, changes } = self;
        let command = BoardCommand::PromoteLearning { learning: learning.clone(), core, changes: Box::new(changes) };
        match board.insist(command).await? {
            BoardReply::Promotion { core, entry: Some(entry) } => {
                return Ok(PromotedLearning { learning, core, entry });
            }
            BoardReply::Promotion { entry: None, .. } => {}
            other => return Err(unexpected(other)),
        }
        board.finish_learnings(|verdict| verdict.id == learning).await?;
        match board.view().await?.state().learning_status(&learning) {
            // Even if somebody rolled it back meanwhile, it was promoted.
            LearningStatus::Promoted { core, entry, .. } | LearningStatus::RolledBack { core, entry, .. } => {
                Ok(PromotedLearning { learning, core, entry })
            }
            LearningStatus::RollingBack(roll_back) => {
                Ok(PromotedLearning { learning, core: roll_back.core, entry: roll_back.entry })
            }
            status @ (LearningStatus::Open | LearningStatus::Begun(_) | LearningStatus::Refused { .. }) => {
                Err(Refusal::PromotionOver { learning, status: status.as_str().into() }.into())
            }
        }
    }
}

impl IntoFuture for PromoteLearning {
    type Output = Result<PromotedLearning>;
    type IntoFuture = Future<'static, PromotedLearning>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.promote())
    }
}
