//! A store, a board that taught something, and the processes that work on it.

use std::sync::Arc;
use std::time::Duration;

use corkboard::boards::{LearningId, LearningStatus, NewBoard, NewDiscovery, Unfinished};
use corkboard::cores::CoreEntry;
use corkboard::store::{MemoryStore, Store};
use corkboard::{Actor, ActorKind, Board, Corkboard, Options, Role};
use corkboard_testing::{FaultPlan, FaultyStore, Harness};

use crate::common::Home;

/// Longer than others wait before they finish an open promotion.
pub(crate) const LATER: Duration = Duration::from_secs(31);
/// More store calls than any operation here makes.
pub(crate) const MOST_CALLS: u64 = 200;

pub(crate) const BOARD: &str = "login";

pub(crate) fn learning(number: usize) -> LearningId {
    format!("F-{number}").parse().unwrap()
}

/// A store and the processes that use it: one that dies, and others that come after it.
pub(crate) struct Stage {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) home: Home,
    _harness: Option<Harness>,
}

impl Stage {
    pub(crate) async fn memory() -> Self {
        Self { store: Arc::new(MemoryStore::shared()), home: Home::memory(), _harness: None }
    }

    pub(crate) async fn sqlite() -> Self {
        let harness = Harness::sqlite("");
        Self { store: harness.open().await, home: Home::memory(), _harness: Some(harness) }
    }

    /// A process that does not die.
    pub(crate) fn corkboard(&self) -> Corkboard {
        Corkboard::with_store(self.store.clone(), self.home.options())
    }

    /// A process that dies after `calls` store calls.
    pub(crate) fn mortal(&self, calls: u64) -> (Arc<FaultyStore>, Corkboard) {
        let faulty = Arc::new(FaultyStore::new(self.store.clone(), FaultPlan::none()));
        faulty.end_after(calls);
        // Do not wait for the outcome of a lost answer.
        let options = Options { busy_timeout: Duration::ZERO, ..self.home.options() };
        (faulty.clone(), Corkboard::with_store(faulty, options))
    }

    /// A board that has ended, with insights by bob.
    pub(crate) async fn taught(&self, insights: usize) -> Board {
        let board = self.corkboard().create_board(NewBoard { name: "b".into(), ..NewBoard::default() });
        let board = board.id(BOARD).await.unwrap();
        let bob = board.acting_as(Actor::new("bob", ActorKind::Agent, Role::Worker));
        for number in 1..=insights {
            let content = format!("insight {number}");
            bob.record_discovery(NewDiscovery { content, ..NewDiscovery::default() }).await.unwrap();
        }
        board.complete(None, Unfinished::Refuse).await.unwrap();
        board
    }

    /// The entries that came from the board.
    pub(crate) async fn entries(&self) -> Vec<CoreEntry> {
        let corkboard = self.corkboard();
        let mut entries = Vec::new();
        for core in corkboard.cores(None, 9).await.unwrap() {
            let image = corkboard.core(core.id.as_str()).unwrap().image().await.unwrap();
            entries.extend(image.entries.into_iter().filter(|entry| entry.provenance[0].board.is_some()));
        }
        entries
    }

    /// Checks that core and board agree: each learning that the board calls promoted is in its core once, and nothing
    /// else is.
    pub(crate) async fn is_settled(&self) -> Vec<LearningStatus> {
        let view = self.corkboard().board(BOARD).unwrap().view().await.unwrap();
        let state = view.state();
        assert!(!state.has_open_promotion(), "{:?}", state.open_learnings());
        let mut said = Vec::new();
        for verdict in state.learning_verdicts() {
            if let LearningStatus::Promoted { entry, .. } = &verdict.status {
                said.push((verdict.id.to_string(), *entry));
            }
        }
        let entries = self.entries().await;
        let item = |entry: &CoreEntry| (entry.provenance[0].item.as_deref().unwrap().to_string(), entry.id);
        let mut found: Vec<_> = entries.iter().map(item).collect();
        found.sort();
        said.sort();
        assert_eq!(found, said, "the core does not agree with the board");
        assert!(entries.iter().all(|entry| entry.provenance.len() == 1));
        let all = state.discoveries().map(|discovery| state.learning_status(&LearningId::Discovery(discovery.id)));
        all.collect()
    }
}
