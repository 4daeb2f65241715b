//! Which memory cores a command touches.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{BoardCommand, BoardState, CoreRef, LearningStatus, WhichLearnings};

impl BoardCommand {
    /// Whether it touches memory cores that it does not name. Only the board knows which.
    pub fn finds_cores(&self) -> bool {
        match self {
            Self::PromoteLearning { core, .. } => core.is_none(),
            Self::RollBackLearnings { .. } => true,
            Self::AsOrchestrator { command, .. } | Self::UnderClaim { command, .. } => command.finds_cores(),
            _ => false,
        }
    }

    /// The memory cores that it touches: the board draws on them, or a learning goes into or comes out of them. Unless
    /// [`finds_cores`](Self::finds_cores) is true, the result is the same for every board.
    pub fn cores(&self, board: &BoardState) -> Vec<String> {
        fn drawn<'c>(refs: impl IntoIterator<Item = &'c CoreRef>) -> impl Iterator<Item = String> {
            refs.into_iter().map(|entry| entry.core.as_str().to_owned())
        }
        match self {
            Self::Create(board) | Self::CreateWithTasks { board, .. } => {
                let named = board.cores.iter().cloned();
                named.chain(drawn(&board.drawn)).chain(drawn(&board.pattern)).collect()
            }
            Self::Edit { edit, .. } => {
                let named = edit.cores.iter().flatten().cloned();
                named.chain(drawn(edit.drawn.iter().flatten())).collect()
            }
            Self::Fork { image, .. } => {
                let named = image.info.iter().flat_map(|info| &info.cores).cloned();
                named.chain(image.info.iter().flat_map(|info| drawn(&info.drawn))).collect()
            }
            Self::PromoteLearning { core: Some(core), .. } => [core.clone()].into(),
            Self::PromoteLearning { learning, core: None, .. } => {
                board.learning_candidate(learning).and_then(|candidate| candidate.suggested_core).into_iter().collect()
            }
            Self::RollBackLearnings { which, .. } => board.cores_with(which),
            Self::AsOrchestrator { command, .. } | Self::UnderClaim { command, .. } => command.cores(board),
            _ => Vec::new(),
        }
    }
}

impl BoardState {
    /// The cores that learnings were promoted to, or are being promoted to.
    fn cores_with(&self, which: &WhichLearnings) -> Vec<String> {
        let verdicts = self.learning_verdicts().filter(|verdict| match which {
            WhichLearnings::All => true,
            WhichLearnings::These(these) => these.contains(&verdict.id),
        });
        let cores = verdicts.filter_map(|verdict| match &verdict.status {
            LearningStatus::Promoted { core, .. } => Some(core.to_string()),
            LearningStatus::Begun(promotion) => Some(promotion.core.to_string()),
            _ => None,
        });
        cores.collect()
    }
}
