//! A board: the shared memory of a set of tasks, for an orchestrator, its workers and the people around them.

mod apply;
mod command;
mod contribution;
mod decide;
mod event;
mod graph;
mod id;
mod image;
mod info;
mod item;
mod kept;
mod lease;
mod record;
mod rule;
mod size;
mod task;
mod views;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::{OrdMap, OrdSet};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::space::{Decision as Decided, Space, Stamp};
use crate::{Context, FormatError, Refusal, SpaceKind, Usage};

pub use command::{BoardCommand, BoardEdit, BoardReply, Claimed, NewBoard, Unfinished};
pub use contribution::Contribution;
pub use event::BoardEvent;
pub use id::{ArtifactId, ChoiceId, DecisionId, DiscoveryId, NoBoardId, TaskId, TaskRef};
pub(crate) use id::{Numbered, numbered};
pub use image::BoardImage;
pub use info::{BoardInfo, BoardStatus, ForkedFrom, Outcome};
pub use item::BoardItem;
pub use lease::Lease;
pub use record::{
    Artifact, ArtifactType, Branch, Choice, Decision, Discovery, DiscoveryType, NewArtifact, NewBranch, NewChoice,
    NewDecision, NewDiscovery,
};
pub use rule::{Fate, Tally, Verdict};
pub use task::{
    CancelReason, Cancellation, FailurePolicy, NewTask, ReviewStatus, Task, TaskEdit, TaskResult, TaskStatus,
    TriggerRule,
};
pub use views::Hindrance;

use views::Views;

/// A board at one revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BoardImage", into = "BoardImage")]
pub struct BoardState {
    /// None before it was made.
    info: Option<Arc<BoardInfo>>,
    nodes: OrdMap<TaskId, Node>,
    decisions: OrdMap<DecisionId, Arc<Decision>>,
    discoveries: OrdMap<DiscoveryId, Arc<Discovery>>,
    artifacts: OrdMap<ArtifactId, Arc<Artifact>>,
    /// The newest artifact of every path.
    paths: OrdMap<Arc<str>, ArtifactId>,
    choices: OrdMap<ChoiceId, Arc<Choice>>,
    contributions: OrdMap<(Arc<str>, &'static str), Arc<Contribution>>,
    /// Who is the orchestrator.
    orchestrator: Option<Lease>,
    /// The last epoch given to an orchestrator.
    orchestrator_epoch: u64,
    edges: u64,
    /// Those of them that lead from a task to one that was added later.
    forward_edges: u64,
    bytes: u64,
    views: Views,
}

/// A task in the graph.
#[derive(Debug, Clone, PartialEq)]
struct Node {
    task: Arc<Task>,
    /// Those that depend on it.
    blocks: OrdSet<TaskId>,
    /// What became of those it depends on.
    tally: Tally,
}

impl BoardState {
    /// What the board says of itself; none if it was never made.
    pub fn info(&self) -> Option<&BoardInfo> {
        self.info.as_deref()
    }

    /// The task with that id.
    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.nodes.get(&id).map(|node| &*node.task)
    }

    /// All tasks, in the order in which they were added.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.nodes.values().map(|node| &*node.task)
    }

    /// How many tasks there are.
    pub fn task_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many dependencies there are.
    pub fn edge_count(&self) -> u64 {
        self.edges
    }

    /// The tasks that depend on this one.
    pub fn blocks(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        self.nodes.get(&id).into_iter().flat_map(|node| node.blocks.iter().copied())
    }

    /// How many tasks depend on this one.
    pub fn blocks_count(&self, id: TaskId) -> usize {
        self.nodes.get(&id).map_or(0, |node| node.blocks.len())
    }

    /// What became of those that a task depends on.
    pub fn tally(&self, id: TaskId) -> Tally {
        self.nodes.get(&id).map(|node| node.tally).unwrap_or_default()
    }

    /// The decision with that id.
    pub fn decision(&self, id: DecisionId) -> Option<&Decision> {
        self.decisions.get(&id).map(|decision| &**decision)
    }

    /// All decisions, in order, those that no longer hold included.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &Arc<Decision>> {
        self.decisions.values()
    }

    /// The discovery with that id.
    pub fn discovery(&self, id: DiscoveryId) -> Option<&Discovery> {
        self.discoveries.get(&id).map(|discovery| &**discovery)
    }

    /// All discoveries, in order.
    pub fn discoveries(&self) -> impl DoubleEndedIterator<Item = &Arc<Discovery>> {
        self.discoveries.values()
    }

    /// The artifact with that id.
    pub fn artifact(&self, id: ArtifactId) -> Option<&Artifact> {
        self.artifacts.get(&id).map(|artifact| &**artifact)
    }

    /// The newest version of the artifact with that path.
    pub fn artifact_at(&self, path: &str) -> Option<&Artifact> {
        self.paths.get(path).and_then(|id| self.artifact(*id))
    }

    /// All artifacts in all versions, in order.
    pub fn artifacts(&self) -> impl DoubleEndedIterator<Item = &Arc<Artifact>> {
        self.artifacts.values()
    }

    /// The choice with that id.
    pub fn choice(&self, id: ChoiceId) -> Option<&Choice> {
        self.choices.get(&id).map(|choice| &**choice)
    }

    /// All choices, in order.
    pub fn choices(&self) -> impl DoubleEndedIterator<Item = &Arc<Choice>> {
        self.choices.values()
    }

    /// Who is the orchestrator.
    pub fn orchestrator(&self) -> Option<&Lease> {
        self.orchestrator.as_ref()
    }

    /// The board as it is at that time: what is due by then has expired. `rev` is the revision that it has; what expired
    /// has the version that the next revision will give it, so that whoever read it can build on it.
    pub fn at(&self, now: Timestamp, rev: u64) -> Self {
        let mut state = self.clone();
        let stamp = Stamp { rev: rev + 1, at: now, principal: "corkboard", role: crate::Role::Admin };
        for event in self.expire(now) {
            // The state itself named these events, so they fit it.
            let _ = state.apply(&event, stamp);
        }
        state
    }
}

impl Space for BoardState {
    const KIND: SpaceKind = SpaceKind::Board;
    type Command = BoardCommand;
    type Event = BoardEvent;
    type Reply = BoardReply;
    /// Nothing on a board can be forgotten for good but the board itself.
    type Forget = core::convert::Infallible;

    fn expire(&self, now: Timestamp) -> Vec<BoardEvent> {
        decide::expire(self, now)
    }

    fn decide(
        &self,
        command: &BoardCommand,
        context: &Context<'_>,
    ) -> Result<Decided<BoardEvent, BoardReply>, Refusal> {
        decide::decide(self, command, context)
    }

    fn apply(&mut self, event: &BoardEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
        apply::apply(self, event, stamp)
    }

    fn redact(_event: &mut BoardEvent, forget: &mut Self::Forget) -> bool {
        match *forget {}
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.views.next_due()
    }

    fn summary(&self) -> String {
        let Some(info) = &self.info else { return "{}".into() };
        let (name, goal) = (beginning(&info.name), beginning(&info.goal));
        let outcome = info.outcome.map_or_else(String::new, |outcome| format!(r#","outcome":"{outcome}""#));
        let counts: Vec<String> = TaskStatus::ALL
            .into_iter()
            .map(|status| (status, self.count(status)))
            .filter(|(_, count)| *count > 0)
            .map(|(status, count)| format!(r#""{status}":{count}"#))
            .collect();
        format!(
            r#"{{"name":{name},"goal":{goal},"status":"{}"{outcome},"created_at":"{}","tasks":{},"by_status":{{{}}},"ready":{},"bytes":{}}}"#,
            info.status,
            info.created_at,
            self.nodes.len(),
            counts.join(","),
            self.ready().len(),
            self.bytes
        )
    }

    fn usage(&self) -> Usage {
        let records = self.decisions.len() + self.discoveries.len() + self.artifacts.len() + self.choices.len();
        Usage { entries: (self.nodes.len() + records) as u64, scopes: 0, bytes: self.bytes }
    }
}

/// The beginning of a text as JSON, of at most a thousand bytes: a summary stays under 4 KiB whatever is written.
fn beginning(text: &str) -> String {
    const MOST: usize = 1000;
    // No character takes less than a byte.
    let end = text.char_indices().nth(MOST).map_or(text.len(), |(end, _)| end);
    let mut shown = text.get(..end).unwrap_or_default();
    loop {
        let is_whole = shown.len() == text.len();
        let json = if is_whole { serde_json::to_string(shown) } else { serde_json::to_string(&format!("{shown}…")) };
        let json = json.unwrap_or_else(|_| "\"\"".into());
        if json.len() <= MOST {
            return json;
        }
        // Each step takes a quarter away: a handful of them is enough even for a text of nothing but escapes.
        let fewer = shown.chars().count() * 3 / 4;
        shown = shown.char_indices().nth(fewer).and_then(|(end, _)| shown.get(..end)).unwrap_or_default();
    }
}
