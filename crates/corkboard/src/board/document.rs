//! A whole board as one JSON document.

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

/// A whole board at one revision, as one value with a JSON form.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardDocument<'a> {
    /// The board's id.
    pub id: &'a BoardId,
    /// The revision that is shown.
    pub rev: u64,
    /// The moment that is shown.
    pub at: Timestamp,
    /// What it is called.
    pub name: &'a str,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who created it.
    pub created_by: &'a str,
    /// When its own fields (name, goal, status, …) last changed.
    pub updated_at: Timestamp,
    /// Where it is in its life.
    pub status: BoardStatus,
    /// How it ended.
    pub outcome: Option<BoardOutcome>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it ended, if a reason was given.
    pub reason: Option<&'a str>,
    /// The board that it was made from.
    pub forked_from: Option<&'a ForkedFrom>,
    /// That it is paused.
    pub paused: Option<&'a Pause>,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
    /// Until when it is kept at least, once it is archived.
    pub retain_until: Option<Timestamp>,
    /// That it was looked through what it taught, after its end.
    pub learnings_extracted: Option<&'a Extraction>,
    /// That nobody wants to know what it taught.
    pub waived: Option<&'a Waiver>,
    /// What is to be accomplished.
    pub goal: &'a str,
    /// Boundaries and requirements.
    pub constraints: &'a [String],
    /// The names of the memory cores that it draws on.
    pub cores: &'a [String],
    /// What becomes of it when a task fails, where the task does not say.
    pub on_failure: FailurePolicy,
    /// The version of what it says of itself.
    pub version: u64,
    /// Who is the orchestrator.
    pub orchestrator: Option<&'a Lease>,
    /// The tasks, in order.
    pub tasks: Vec<TaskDocument<'a>>,
    /// How they hang together.
    pub task_graph: TaskGraph,
    /// The decisions, in order, those that no longer hold included.
    pub decisions: Vec<&'a Decision>,
    /// The discoveries, in order.
    pub discoveries: Vec<&'a Discovery>,
    /// The artifacts in all versions, in order.
    pub artifacts: Vec<&'a Artifact>,
    /// The choices, in order.
    pub choices: Vec<&'a Choice>,
    /// What agents did.
    pub agent_contributions: Vec<AgentContribution>,
    /// What people said to agents.
    pub nudges: Vec<&'a Nudge>,
    /// What people signed off.
    pub approvals: Vec<&'a Approval>,
}

/// A task, and what follows from the graph.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskDocument<'a> {
    /// The task itself.
    #[serde(flatten)]
    pub task: &'a Task,
    /// The tasks that wait for it.
    pub blocks: Vec<TaskId>,
    /// What hinders it.
    pub hindrances: Vec<Hindrance>,
}

/// How a board's tasks hang together. They themselves are in `tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TaskGraph {
    /// All of them, in order.
    pub nodes: Vec<TaskId>,
    /// The edges of each task: the tasks that it depends on, then the tasks that it blocks.
    pub edges: Vec<Edge>,
    /// Those that may be claimed, the highest priority first, then the oldest.
    pub ready: Vec<TaskId>,
    /// Those that something hinders, oldest first.
    pub blocked: Vec<TaskId>,
    /// Those that are worked on, oldest first.
    pub in_progress: Vec<TaskId>,
    /// Those that wait for review, oldest first.
    pub needs_review: Vec<TaskId>,
}

/// That a task has to do with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Edge {
    /// Which task.
    pub from: TaskId,
    /// Which other.
    pub to: TaskId,
    /// In which way.
    #[serde(rename = "type")]
    pub kind: EdgeType,
}

/// In which way a task has to do with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EdgeType {
    /// It waits for the other.
    DependsOn,
    /// The other waits for it.
    Blocks,
}

/// What an agent did on a board in one role, and where in the log it can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentContribution {
    /// What was done.
    #[serde(flatten)]
    pub contribution: Contribution,
    /// The agent's part of the log: `board/ID#FIRST..LAST@AGENT`, the revisions of the first and of the last thing done.
    pub log_ref: String,
}

impl BoardView {
    /// The whole board as one document.
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
            updated_at: info.updated_at,
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

    /// A task, and what follows from the graph.
    pub fn task_document<'a>(&'a self, task: &'a Task) -> TaskDocument<'a> {
        let state = self.state();
        TaskDocument { task, blocks: state.blocks(task.id).collect(), hindrances: state.hindrances(task.id) }
    }

    /// How the tasks hang together.
    pub fn task_graph(&self) -> TaskGraph {
        let state = self.state();
        let edges = state.tasks().flat_map(|task| {
            let edge = |kind| move |to| Edge { from: task.id, to, kind };
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

    /// What agents did, by agent and role.
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
    /// What agents did, by agent and role.
    pub async fn contributions(&self) -> Result<Vec<AgentContribution>> {
        Ok(self.view().await?.contributions())
    }
}
