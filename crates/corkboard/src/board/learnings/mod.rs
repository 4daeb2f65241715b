//! What a board taught goes into memory cores, and comes out of them again.
//!
//! A board and a core are two spaces, and nothing is atomic across them. So the board first says what is begun, the core gets
//! or loses the entry, once, and the board says that it is finished. Whoever meets something
//! that was begun finishes it (`finish.rs`): after a crash at any point, somebody does.

mod author;
mod changes;
mod finish;

use corkboard_core::board::{
    BoardCommand, BoardReply, LearningCandidate, LearningChanges, LearningId, LearningState, WhichLearnings,
};
use corkboard_core::knowledge::{CoreEntryId, Trust};
use corkboard_core::{CoreId, MemoryKind, Refusal};
use serde::Serialize;

use super::claim_task::Future;
use super::{Board, unexpected};
use crate::{Error, Result};

pub(super) use changes::learning_changes;

pub use author::{BoardRolledBack, CoreRolledBack, CoresRolledBack, RollBackCores, RollBackProgress, RollBackStage};

/// How often somebody else's unfinished business is finished before one gives up on one's own.
pub(super) const ATTEMPTS: usize = 16;

/// A learning that is in a memory core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PromotedLearning {
    /// Which.
    pub learning: LearningId,
    /// In which core.
    pub core: CoreId,
    /// The entry that says it.
    pub entry: CoreEntryId,
}

/// Promotes a learning into a memory core. Made by [`Board::promote_learning`].
#[must_use = "nothing is promoted until this is awaited"]
#[derive(Debug, Clone)]
pub struct PromoteLearning {
    board: Board,
    learning: LearningId,
    core: Option<String>,
    changes: LearningChanges,
}

impl Board {
    /// What the board may have taught, the best first, each with what became of it: decisions with a reason, insights, what
    /// was marked for a core, and patterns among completed tasks. Once the board has ended, the board's log says that
    /// somebody looked.
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

    /// The same, and nothing is written.
    pub async fn learnings(&self) -> Result<Vec<LearningCandidate>> {
        Ok(self.view().await?.state().learning_candidates())
    }

    /// Promotes a learning into a memory core: the one that it suggests, unless another is named. Await it. Promoting it
    /// again has no second effect, and the same answer; what was refused stays refused. No agent promotes its own words.
    pub fn promote_learning(&self, learning: LearningId) -> PromoteLearning {
        PromoteLearning { board: self.clone(), learning, core: None, changes: LearningChanges::default() }
    }

    /// Says that a learning is not wanted: it is not promoted any more. What is in a core is rolled back first.
    pub async fn refuse_learning(&self, learning: LearningId, reason: Option<String>) -> Result<()> {
        self.insist(BoardCommand::RefuseLearning { learning, reason }).await.map(|_| ())
    }

    /// Takes learnings out of their cores: all of this board, or these. Returns those that this call took out. An entry that
    /// came from elsewhere too stays, without this origin. What was rolled back may be promoted again.
    pub async fn roll_back_learnings(&self, which: WhichLearnings, reason: Option<String>) -> Result<Vec<LearningId>> {
        match self.insist(BoardCommand::RollBackLearnings { which, reason }).await? {
            BoardReply::RollBack(learnings) => {
                self.finish_learnings(|verdict| learnings.contains(&verdict.id)).await?;
                Ok(learnings)
            }
            other => Err(unexpected(other)),
        }
    }

    /// Sends a command that may have to wait for something that was begun with a core: that is finished first.
    async fn insist(&self, command: BoardCommand) -> Result<BoardReply> {
        for _ in 1..ATTEMPTS {
            let finished = self.finish_open_learnings().await;
            match (self.ask(command.clone()).await, finished) {
                // Begun since, by somebody else.
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

    /// Finishes what others began, where that can be done.
    async fn tidy_up(&self) {
        warn_unfinished(self, self.finish_open_learnings().await);
    }
}

/// What others began, and cannot be finished now, is no business of the caller's.
fn warn_unfinished(board: &Board, finished: Result<()>) {
    if let Err(error) = finished {
        tracing::warn!(board = %board.id, %error, "what was begun with a memory core could not be finished yet");
    }
}

impl PromoteLearning {
    /// Into which core. Otherwise the one that is suggested.
    pub fn core(mut self, name: impl Into<String>) -> Self {
        self.core = Some(name.into());
        self
    }

    /// In other words. Not for agents: these would be their own, in another's name.
    pub fn content(mut self, content: impl Into<String>) -> Self {
        self.changes.content = Some(content.into());
        self
    }

    /// As another kind of memory.
    pub fn kind(mut self, kind: MemoryKind) -> Self {
        self.changes.kind = Some(kind);
        self
    }

    /// From 0 (trivial) to 1 (vital). Otherwise its score.
    pub fn importance(mut self, importance: f32) -> Self {
        self.changes.importance = Some(importance);
        self
    }

    /// All of its tags.
    pub fn tags(mut self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.changes.tags = Some(tags.into_iter().map(Into::into).collect());
        self
    }

    /// How far it may be trusted. Otherwise as far as what it was made of; only a person may say more.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.changes.trust = Some(trust);
        self
    }

    /// With these changes, in place of those named so far.
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
        match board.view().await?.state().learning_state(&learning) {
            // Even if somebody took it out in the meantime: it was there.
            LearningState::Promoted { core, entry, .. } | LearningState::RolledBack { core, entry, .. } => {
                Ok(PromotedLearning { learning, core, entry })
            }
            LearningState::RollingBack(roll_back) => {
                Ok(PromotedLearning { learning, core: roll_back.core, entry: roll_back.entry })
            }
            state @ (LearningState::Open | LearningState::Begun(_) | LearningState::Refused { .. }) => {
                Err(Refusal::PromotionOver { learning, state: state.as_str().into() }.into())
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
