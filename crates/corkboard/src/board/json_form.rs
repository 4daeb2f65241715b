//! A whole board as a JSON document.

use std::sync::Arc;

use corkboard_core::BoardId;
use corkboard_core::board::{
    Approval, Artifact, BoardOutcome, BoardStatus, Choice, Contribution, Decision, Discovery, Extraction,
    FailurePolicy, ForkedFrom, Hindrance, Lease, Nudge, Pause, Task, TaskId, Waiver,
};
use jiff::Timestamp;
use serde::Serialize;

use super::{Board, BoardView, LogRef};
use crate::Result;

/// A whole board at one revision, with a JSON form.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardDocument<'a> {
    /// The board's ID.
    pub id: &'a BoardId,
    /// The revision shown.
    pub rev: u64,
    /// The time for which the board is shown.
    pub at: Timestamp,
    /// The board's name.
    pub name: &'a str,
    /// When the board was created.
    pub created_at: Timestamp,
    /// Who created the board.
    pub created_by: &'a str,
    /// When anything on the board last changed.
    pub updated_at: Timestamp,
    /// The board's status.
    pub status: BoardStatus,
    /// How the board ended.
    pub outcome: Option<BoardOutcome>,
    /// When the board ended.
    pub ended_at: Option<Timestamp>,
    /// Why the board ended, if a reason was given.
    pub reason: Option<&'a str>,
    /// The board and revision that it was forked from.
    pub forked_from: Option<&'a ForkedFrom>,
    /// The pause, if the board is paused.
    pub paused: Option<&'a Pause>,
    /// When the board was archived.
    pub archived_at: Option<Timestamp>,
    /// The time until which an archived board is kept at least.
    pub retain_until: Option<Timestamp>,
    /// Who extracted the learnings after the board's end, and when.
    pub learnings_extracted: Option<&'a Extraction>,
    /// Who waived the learnings, and when.
    pub waived: Option<&'a Waiver>,
    /// The board's goal.
    pub goal: &'a str,
    /// Boundaries and requirements.
    pub constraints: &'a [String],
    /// The names of the board's memory cores.
    pub cores: &'a [String],
    /// What happens when a task fails, unless the task has its own policy.
    pub on_failure: FailurePolicy,
    /// The version of the board's own fields.
    pub version: u64,
    /// The orchestrator's lease.
    pub orchestrator: Option<&'a Lease>,
    /// The tasks, in order.
    pub tasks: Vec<TaskDocument<'a>>,
    /// How the tasks depend on each other.
    pub task_graph: TaskGraph,
    /// The decisions, in order, including superseded and rejected ones.
    pub decisions: Vec<&'a Decision>,
    /// The discoveries, in order.
    pub discoveries: Vec<&'a Discovery>,
    /// All versions of the artifacts, in order.
    pub artifacts: Vec<&'a Artifact>,
    /// The choices, in order.
    pub choices: Vec<&'a Choice>,
    /// What each agent did.
    pub agent_contributions: Vec<AgentContribution>,
    /// The nudges that people sent to agents.
    pub nudges: Vec<&'a Nudge>,
    /// Approvals and rejections of decisions.
    pub approvals: Vec<&'a Approval>,
}

/// A task with what follows from the graph.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskDocument<'a> {
    /// The task itself.
    #[serde(flatten)]
    pub task: &'a Task,
    /// The tasks that wait for it.
    pub blocks: Vec<TaskId>,
    /// What blocks the task.
    pub hindrances: Vec<Hindrance>,
}

/// How a board's tasks depend on each other. The tasks themselves are in `tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskGraph {
    /// All tasks, in order.
    pub nodes: Vec<TaskId>,
    /// The edges of each task: the tasks that it depends on, then the tasks that it blocks.
    pub edges: Vec<TaskEdge>,
    /// The tasks that can be claimed, by priority, then oldest first.
    pub ready: Vec<TaskId>,
    /// The blocked tasks, oldest first.
    pub blocked: Vec<TaskId>,
    /// The tasks in progress, oldest first.
    pub in_progress: Vec<TaskId>,
    /// The tasks that wait for review, oldest first.
    pub needs_review: Vec<TaskId>,
}

/// A relation between two tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = TaskEdges))]
pub struct TaskEdge {
    /// The first task.
    pub from: TaskId,
    /// The second task.
    pub to: TaskId,
    /// The kind of relation.
    #[serde(rename = "type")]
    pub kind: EdgeType,
}

/// The kind of relation between two tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EdgeType {
    /// The first task depends on the second.
    DependsOn,
    /// The second task depends on the first.
    Blocks,
}

/// What an agent did on a board in one role, with a reference to its part of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentContribution {
    /// The contribution itself.
    #[serde(flatten)]
    pub contribution: Contribution,
    /// The agent's part of the log as `board/ID#FIRST..LAST@AGENT`, with the first and the last revision of the
    /// contribution.
    pub log_ref: String,
}

impl BoardView {
    /// Returns the whole board as one document.
    pub fn document(&self) -> Result<BoardDocument<'_>> {
        let (state, info) = (self.state(), self.info()?);
        let task_document = |task| self.task_document(task);
        Ok(BoardDocument {
            id: self.id(),
            rev: self.rev(),
            at: self.at(),
            name: &info.name,
            created_at: info.created_at,
            created_by: &info.created_by,
            updated_at: self.updated_at(),
            status: info.status,
            outcome: info.outcome,
            ended_at: info.ended_at,
            reason: info.reason.as_deref(),
            forked_from: info.forked_from.as_ref(),
            paused: info.paused.as_ref(),
            archived_at: info.archived_at,
            retain_until: info.retain_until,
            learnings_extracted: info.learnings_extracted.as_ref(),
            waived: info.waived.as_ref(),
            goal: &info.goal,
            constraints: &info.constraints,
            cores: &info.cores,
            on_failure: info.on_failure,
            version: info.version,
            orchestrator: state.orchestrator(),
            tasks: state.tasks().map(task_document).collect(),
            task_graph: self.task_graph(),
            decisions: state.decisions().map(Arc::as_ref).collect(),
            discoveries: state.discoveries().map(Arc::as_ref).collect(),
            artifacts: state.artifacts().map(Arc::as_ref).collect(),
            choices: state.choices().map(Arc::as_ref).collect(),
            agent_contributions: self.contributions(),
            nudges: state.nudges().map(Arc::as_ref).collect(),
            approvals: state.approvals().map(Arc::as_ref).collect(),
        })
    }

    /// A task with what follows from the graph.
    pub fn task_document<'a>(&'a self, task: &'a Task) -> TaskDocument<'a> {
        let state = self.state();
        TaskDocument { task, blocks: state.blocks(task.id).collect(), hindrances: state.hindrances(task.id) }
    }

    /// Returns how the tasks depend on each other.
    pub fn task_graph(&self) -> TaskGraph {
        let state = self.state();
        let edges = state.tasks().flat_map(|task| {
            let edge = |kind| move |to| TaskEdge { from: task.id, to, kind };
            let depends_on = task.depends_on.iter().copied().map(edge(EdgeType::DependsOn));
            depends_on.chain(state.blocks(task.id).map(edge(EdgeType::Blocks)))
        });
        TaskGraph {
            nodes: state.tasks().map(|task| task.id).collect(),
            edges: edges.collect(),
            ready: state.ready().collect(),
            blocked: state.blocked().collect(),
            in_progress: state.in_progress().collect(),
            needs_review: state.needs_review().collect(),
        }
    }

    /// Returns what each agent did, by agent and role.
    pub fn contributions(&self) -> Vec<AgentContribution> {
        let of = |contribution: &Contribution| {
            let Contribution { agent, first_rev, last_rev, .. } = contribution;
            let (board, author) = (self.id().to_string(), Some(agent.to_string()));
            let log_ref = LogRef { board, from: *first_rev, to: *last_rev, author }.to_string();
            AgentContribution { contribution: contribution.clone(), log_ref }
        };
        self.state().contributions().map(of).collect()
    }
}

impl Board {
    /// Returns what each agent did, by agent and role.
    pub async fn contributions(&self) -> Result<Vec<AgentContribution>> {
        Ok(self.view().await?.contributions())
    }
}
