//! A board as plain data, for snapshots and the event `Forked`.

use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Approval, Artifact, BoardInfo, BoardState, CancelCause, Choice, Contribution, Decision, Discovery, LearningStatus,
    LearningVerdict, Lease, Nudge, Tally, Task, TaskNode, TaskOutcome, TaskStatus,
};
use crate::space::Stamp;

/// The whole content of a board, without derived data (views, reverse dependencies).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct BoardImage {
    /// The board's name, goal, settings and status; none if it was never created.
    pub info: Option<Arc<BoardInfo>>,
    pub tasks: Vec<Arc<Task>>,
    pub decisions: Vec<Arc<Decision>>,
    pub discoveries: Vec<Arc<Discovery>>,
    pub artifacts: Vec<Arc<Artifact>>,
    pub choices: Vec<Arc<Choice>>,
    /// Approvals and rejections of decisions, in order.
    pub approvals: Vec<Arc<Approval>>,
    /// Nudges, in order.
    pub nudges: Vec<Arc<Nudge>>,
    /// What agents did.
    pub contributions: Vec<Arc<Contribution>>,
    /// What became of learnings, by ID.
    pub learnings: Vec<Arc<LearningVerdict>>,
    /// Who is the orchestrator.
    pub orchestrator: Option<Lease>,
    /// The last epoch given to an orchestrator.
    pub orchestrator_epoch: u64,
}

impl BoardImage {
    /// The image as the start of a new board. Nobody holds anything. Tasks that were in progress or blocked are pending
    /// again, and so are tasks that were cancelled only because the board ended. Epochs continue, so a holder on the
    /// source board is fenced on the new one.
    pub(super) fn without_claims(mut self) -> Self {
        self.orchestrator = None;
        // Nudges were meant for agents on the source board.
        self.nudges.clear();
        // Promotions belong to the source board; refusals also hold on the new one.
        self.learnings.retain(|verdict| matches!(verdict.status, LearningStatus::Refused { .. }));
        if let Some(info) = &mut self.info {
            Arc::make_mut(info).renew();
        }
        for task in &mut self.tasks {
            let task = Arc::make_mut(task);
            task.claim = None;
            let is_ended = task.cancellation.as_ref().is_some_and(|it| it.cause == CancelCause::BoardEnded);
            if is_ended || matches!(task.status, TaskStatus::InProgress | TaskStatus::Blocked) {
                task.give_back();
            }
        }
        self
    }

    /// The image with every version set to this revision, since versions never repeat.
    pub(super) fn renewed(&self, stamp: Stamp<'_>) -> Self {
        let mut image = self.clone();
        macro_rules! renew {
            ($($records:ident),*) => {
                $(for record in &mut image.$records {
                    let record = Arc::make_mut(record);
                    (record.version, record.updated_at) = (stamp.rev, stamp.at);
                })*
            };
        }
        renew!(tasks, decisions, discoveries, choices, learnings);
        for contribution in &mut image.contributions {
            let contribution = Arc::make_mut(contribution);
            (contribution.first_rev, contribution.last_rev) = (stamp.rev, stamp.rev);
        }
        image
    }
}

impl BoardImage {
    /// Fills in authors and times that are missing in an image of format 2.
    fn complete(&mut self) {
        let Some(info) = &self.info else { return };
        let (made_at, made_by) = (info.created_at, info.created_by.clone());
        for verdict in self.learnings.iter_mut().filter(|verdict| verdict.created_at == Timestamp::default()) {
            Arc::make_mut(verdict).created_at = made_at;
        }
        for choice in self.choices.iter_mut().filter(|choice| choice.created_at == Timestamp::default()) {
            let choice = Arc::make_mut(choice);
            (choice.created_at, choice.created_by) = (made_at, made_by.clone());
            choice.updated_at = choice.chosen_at.unwrap_or(made_at);
        }
        macro_rules! complete {
            ($($records:ident),*) => {
                $(for record in self.$records.iter_mut().filter(|record| record.updated_at == Timestamp::default()) {
                    let record = Arc::make_mut(record);
                    record.updated_at = record.created_at;
                })*
            };
        }
        complete!(info, tasks, decisions, discoveries, artifacts, approvals, nudges, learnings);
    }
}

impl From<BoardState> for BoardImage {
    fn from(state: BoardState) -> Self {
        // The ignored fields are derived from the others.
        let BoardState {
            info,
            nodes,
            decisions,
            discoveries,
            artifacts,
            paths: _,
            odd_paths: _,
            choices,
            open_choices: _,
            approvals,
            nudges,
            open_nudges: _,
            contributions,
            learnings,
            open_learnings: _,
            orchestrator,
            orchestrator_epoch,
            edges: _,
            forward_edges: _,
            bytes: _,
            views: _,
        } = state;
        Self {
            info,
            tasks: nodes.values().map(|node| node.task.clone()).collect(),
            decisions: decisions.values().cloned().collect(),
            discoveries: discoveries.values().cloned().collect(),
            artifacts: artifacts.values().cloned().collect(),
            choices: choices.values().cloned().collect(),
            approvals: approvals.values().cloned().collect(),
            nudges: nudges.values().cloned().collect(),
            contributions: contributions.values().cloned().collect(),
            learnings: learnings.values().cloned().collect(),
            orchestrator,
            orchestrator_epoch,
        }
    }
}

impl From<BoardImage> for BoardState {
    fn from(mut image: BoardImage) -> Self {
        image.complete();
        let BoardImage {
            info,
            tasks,
            decisions,
            discoveries,
            artifacts,
            choices,
            approvals,
            nudges,
            contributions,
            learnings,
            orchestrator,
            orchestrator_epoch,
        } = image;
        let mut state = Self { orchestrator_epoch, ..Self::default() };
        if let Some(info) = info {
            state.put_info(Arc::unwrap_or_clone(info));
        }
        for choice in choices {
            state.put_choice(Arc::unwrap_or_clone(choice));
        }
        for task in tasks {
            state.bytes += task.bytes();
            let node =
                TaskNode { blocks: Default::default(), tally: Tally::default(), awaits: Default::default(), task };
            state.nodes.insert(node.task.id, node);
        }
        state.link_all();
        for decision in decisions {
            state.put_decision(Arc::unwrap_or_clone(decision));
        }
        for discovery in discoveries {
            state.put_discovery(Arc::unwrap_or_clone(discovery));
        }
        for artifact in artifacts {
            state.put_artifact(Arc::unwrap_or_clone(artifact));
        }
        for approval in approvals {
            state.put_approval(Arc::unwrap_or_clone(approval));
        }
        for nudge in nudges {
            state.put_nudge(Arc::unwrap_or_clone(nudge));
        }
        for contribution in contributions {
            let key = (contribution.agent.clone(), contribution.role.as_str());
            state.contributions.insert(key, contribution);
        }
        for verdict in learnings {
            state.put_learning(Arc::unwrap_or_clone(verdict));
        }
        state.set_orchestrator(orchestrator);
        state
    }
}

impl BoardState {
    /// Computes everything that is derived from the tasks alone.
    fn link_all(&mut self) {
        let tasks: Vec<Arc<Task>> = self.nodes.values().map(|node| node.task.clone()).collect();
        for task in &tasks {
            task.depends_on.iter().for_each(|on| self.link(task.id, *on));
        }
        for task in &tasks {
            let mut tally = Tally::default();
            for on in task.depends_on.iter() {
                tally.add(self.task(*on).map_or(TaskOutcome::Open, TaskOutcome::of));
            }
            if let Some(node) = self.nodes.get_mut(&task.id) {
                node.tally = tally;
            }
            if let Some(node) = self.nodes.get(&task.id).cloned() {
                self.put_into_views(&node);
            }
        }
    }
}
