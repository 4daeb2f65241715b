//! A board: the shared memory of a set of tasks, for an orchestrator, its workers and the people around them.

mod apply;
mod apply_records;
mod approval;
mod check;
mod command;
mod contribution;
mod core_ref;
mod cores;
mod decide;
mod encode;
mod event;
mod forget;
mod graph;
mod id;
mod image;
mod info;
mod item;
mod learning;
mod lease;
mod new_task;
mod nudge;
mod path;
mod pattern;
mod pause;
mod permissions;
mod record;
mod retention;
mod rule;
mod size;
mod status;
mod summary;
mod task;
mod texts;
mod views;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Bound;

use imbl::{OrdMap, OrdSet};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::forget::VisitText;
use crate::space::{CommandEffects, PerformError, Space, Stamp};
use crate::{Actor, Commit, Context, FormatError, Limits, Refusal, SpaceKind, Usage};

pub use approval::{Approval, ApprovalVerdict};
pub use command::{BoardCommand, BoardEdit, BoardReply, Claimed, NewBoard, RetainFor, Unfinished};
pub use contribution::Contribution;
pub use core_ref::{CoreRef, ParseCoreRefError};
pub use event::BoardEvent;
pub use forget::BoardForget;
pub use id::{ApprovalId, ArtifactId, ChoiceId, DecisionId, DiscoveryId, NudgeId, ParseIdError, TaskId, TaskRef};
pub(crate) use id::{NumberedId, numbered_id};
pub use image::BoardImage;
pub use info::{BoardInfo, BoardOutcome, BoardStatus, ForkedFrom, Pause};
pub use item::BoardItem;
pub use learning::{
    LearningCandidate, LearningChanges, LearningId, LearningSource, LearningStatus, LearningVerdict,
    ParseLearningIdError, Promotion, RollBack, Setback, SetbackKind, WhichLearnings,
};
pub use lease::Lease;
pub use new_task::{NewTask, TaskEdit};
pub use nudge::{NewNudge, Nudge, NudgePriority, NudgeTarget, Receipt};
pub use path::normal_path;
pub(crate) use pattern::{EXAMPLE as PATTERN_EXAMPLE, check_tagged};
pub use pattern::{PatternProblem, TASK_PATTERN_TAG};
pub use permissions::BoardAction;
pub use record::{
    Artifact, ArtifactType, BoardRecord, Branch, Choice, Decision, Discovery, DiscoveryType, NewArtifact, NewBranch,
    NewChoice, NewDecision, NewDiscovery,
};
pub use retention::{Extraction, KeptBy, Learnings, Lifetime, Waiver};
pub use rule::{Tally, TaskOutcome, TriggerVerdict};
pub use status::{CancelCause, Cancellation, FailurePolicy, ReviewVerdict, TaskStatus, TriggerRule};
pub use task::{Task, TaskResult};
pub use texts::{ParseRecordIdError, RecordId};
pub use views::{Hindrance, TaskList, TaskPosition, TaskView};

use views::Views;

/// A board at one revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BoardImage", into = "BoardImage")]
pub struct BoardState {
    /// None until the board is created.
    info: Option<Arc<BoardInfo>>,
    nodes: OrdMap<TaskId, TaskNode>,
    decisions: OrdMap<DecisionId, Arc<Decision>>,
    discoveries: OrdMap<DiscoveryId, Arc<Discovery>>,
    artifacts: OrdMap<ArtifactId, Arc<Artifact>>,
    /// The newest artifact of every path.
    paths: OrdMap<Arc<str>, ArtifactId>,
    /// By normal path: the newest spelling that was recorded before paths were normalised.
    odd_paths: OrdMap<Arc<str>, Arc<str>>,
    choices: OrdMap<ChoiceId, Arc<Choice>>,
    /// The choices that nobody has made.
    open_choices: OrdSet<ChoiceId>,
    approvals: OrdMap<ApprovalId, Arc<Approval>>,
    nudges: OrdMap<NudgeId, Arc<Nudge>>,
    /// The nudges that somebody still has to see.
    open_nudges: OrdSet<(Reverse<NudgePriority>, NudgeId)>,
    contributions: OrdMap<(Arc<str>, &'static str), Arc<Contribution>>,
    learnings: OrdMap<LearningId, Arc<LearningVerdict>>,
    /// The learnings whose promotion or rollback is unfinished.
    open_learnings: OrdSet<LearningId>,
    orchestrator: Option<Lease>,
    /// The last epoch given to an orchestrator.
    orchestrator_epoch: u64,
    edges: u64,
    /// The edges from a task to a dependency that was added later.
    forward_edges: u64,
    bytes: u64,
    views: Views,
}

/// A task in the graph.
#[derive(Debug, Clone, PartialEq)]
struct TaskNode {
    task: Arc<Task>,
    /// The tasks that depend on it.
    blocks: OrdSet<TaskId>,
    /// The outcomes of the tasks it depends on.
    tally: Tally,
    /// The decisions that it waits for: neither approved nor rejected yet.
    awaits: OrdSet<DecisionId>,
}

impl BoardState {
    /// The board's name, goal, settings and status; none if it was never created.
    pub fn info(&self) -> Option<&BoardInfo> {
        self.info.as_deref()
    }

    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.nodes.get(&id).map(|node| &*node.task)
    }

    /// All tasks, in the order in which they were added.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.nodes.values().map(|node| &*node.task)
    }

    pub fn task_count(&self) -> usize {
        self.nodes.len()
    }

    pub fn edge_count(&self) -> u64 {
        self.edges
    }

    pub fn blocks(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        self.nodes.get(&id).into_iter().flat_map(|node| node.blocks.iter().copied())
    }

    pub fn blocks_count(&self, id: TaskId) -> usize {
        self.nodes.get(&id).map_or(0, |node| node.blocks.len())
    }

    pub fn tally(&self, id: TaskId) -> Tally {
        self.nodes.get(&id).map(|node| node.tally).unwrap_or_default()
    }

    /// The decisions that a task waits for: they need approval and are neither approved nor rejected.
    pub fn awaits(&self, id: TaskId) -> impl Iterator<Item = DecisionId> {
        self.nodes.get(&id).into_iter().flat_map(|node| node.awaits.iter().copied())
    }

    /// The clock for leases and retry delays. It stops while the board is paused.
    pub fn clock(&self, now: Timestamp) -> Timestamp {
        let paused = self.info().and_then(|info| info.paused.as_ref());
        paused.map_or(now, |pause| pause.at.min(now))
    }

    /// When something on the board expires next. Nothing expires while the board is paused, or once it is purged.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        let never_expires = |info: &BoardInfo| info.paused.is_some() || info.status == BoardStatus::Purged;
        self.views.next_due().filter(|_| !self.info().is_some_and(never_expires))
    }

    pub fn decision(&self, id: DecisionId) -> Option<&Decision> {
        self.decisions.get(&id).map(|decision| &**decision)
    }

    /// All decisions, in order, including those that no longer hold.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &Arc<Decision>> {
        self.decisions.values()
    }

    pub fn discovery(&self, id: DiscoveryId) -> Option<&Discovery> {
        self.discoveries.get(&id).map(|discovery| &**discovery)
    }

    /// All discoveries, in order.
    pub fn discoveries(&self) -> impl DoubleEndedIterator<Item = &Arc<Discovery>> {
        self.discoveries.values()
    }

    pub fn artifact(&self, id: ArtifactId) -> Option<&Artifact> {
        self.artifacts.get(&id).map(|artifact| &**artifact)
    }

    /// The newest version of the artifact at a path. Spelling does not matter: `./a` is `a`.
    pub fn artifact_at(&self, path: &str) -> Option<&Artifact> {
        let normal = normal_path(path);
        let odd = self.odd_paths.get(&*normal).and_then(|path| self.paths.get(path));
        let newest = self.paths.get(&*normal).into_iter().chain(odd).max()?;
        self.artifact(*newest)
    }

    /// All artifacts in all versions, in order.
    pub fn artifacts(&self) -> impl DoubleEndedIterator<Item = &Arc<Artifact>> {
        self.artifacts.values()
    }

    pub fn choice(&self, id: ChoiceId) -> Option<&Choice> {
        self.choices.get(&id).map(|choice| &**choice)
    }

    /// All choices, in order.
    pub fn choices(&self) -> impl DoubleEndedIterator<Item = &Arc<Choice>> {
        self.choices.values()
    }

    /// The choices that nobody has made, in order.
    pub fn open_choices(&self) -> impl ExactSizeIterator<Item = ChoiceId> {
        self.open_choices.iter().copied()
    }

    /// The records of one kind in order, from the first or after an ID.
    pub fn records_after<R: BoardRecord>(&self, after: Option<R::Id>) -> impl Iterator<Item = Arc<R>> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        R::all(self).range((start, Bound::Unbounded)).map(|(_, record)| record.clone())
    }

    pub fn orchestrator(&self) -> Option<&Lease> {
        self.orchestrator.as_ref()
    }

    /// The board at a time: everything due by then has expired. `rev` is the revision of this state. Expired items have
    /// the version that the next revision will give them, so that a reader can send it as the expected version.
    pub fn at(&self, now: Timestamp, rev: u64) -> Self {
        let mut state = self.clone();
        let stamp = Stamp { rev: rev + 1, at: now, principal: "corkboard", role: crate::Role::Admin };
        for event in self.expire(now) {
            // `expire` derived these events from this state, so they fit it.
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
    type Forget = BoardForget;

    fn expire(&self, now: Timestamp) -> Vec<BoardEvent> {
        decide::expire(self, now)
    }

    fn check(command: &mut BoardCommand, _: &Actor, limits: &Limits) -> Result<(), Refusal> {
        check::check(command, limits)
    }

    fn decide(
        &self,
        command: &BoardCommand,
        context: &Context<'_>,
    ) -> Result<CommandEffects<BoardEvent, BoardReply>, Refusal> {
        decide::decide(self, command, context)
    }

    fn apply(&mut self, event: &BoardEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
        apply::apply(self, event, stamp)
    }

    fn perform(
        &mut self,
        command: &BoardCommand,
        context: &Context<'_>,
    ) -> Result<CommandEffects<BoardEvent, BoardReply>, PerformError> {
        decide::perform(self, command, context)
    }

    fn encode(commit: &Commit<BoardEvent, BoardReply>) -> Result<Vec<u8>, FormatError> {
        encode::encode(commit).map_or_else(|| commit.encode(), Ok)
    }

    fn redact(event: &mut BoardEvent, forget: &mut BoardForget) -> bool {
        texts::redact_event(event, &mut |id, _, text| forget.is_meant(id, text))
    }

    /// A summary contains the board's name and goal.
    fn is_in_summaries(forget: &BoardForget) -> bool {
        matches!(forget, BoardForget::Text { .. } | BoardForget::Record { id: RecordId::Board })
    }

    fn each_text_of(event: &BoardEvent, visit: &mut VisitText<'_>) {
        texts::redact_event(&mut event.clone(), &mut texts::only_reads(visit));
    }

    fn each_text(&self, visit: &mut VisitText<'_>) {
        texts::redact_image(&mut BoardImage::from(self.clone()), &mut texts::only_reads(visit));
    }

    fn next_due(&self) -> Option<Timestamp> {
        self.next_expiry().into_iter().chain(self.learnings_due()).min()
    }

    fn summary(&self, updated_at: Timestamp) -> String {
        summary::summary(self, updated_at)
    }

    fn usage(&self) -> Usage {
        let records = self.decisions.len() + self.discoveries.len() + self.artifacts.len() + self.choices.len();
        let records = records + self.approvals.len() + self.nudges.len() + self.learnings.len();
        Usage { entries: (self.nodes.len() + records) as u64, scopes: 0, bytes: self.bytes }
    }
}
