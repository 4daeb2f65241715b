//! The content of a board for a window: its goal and constraints, and everything that concerns one of its tasks.
//!
//! Only references are gathered here. An item is rendered when there is room for it, so omitted items cost almost
//! nothing.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use corkboard_core::board::{Artifact, BoardState, BoardStatus, Decision, Discovery, Nudge, Task, TaskId, TaskStatus};
use corkboard_core::knowledge::Trust;

use super::cores::{CoreLines, Knowledge};
use super::item::{self, Body, Rendered};
use crate::board::written;
use crate::knowledge::SourcedEntry;

#[derive(Clone, Default)]
pub(super) struct BoardLines<'a> {
    pub(super) goal: &'a str,
    pub(super) constraints: Vec<BoardLine<'a>>,
    /// Nudges to the reader, urgent ones first.
    pub(super) nudges: Vec<BoardLine<'a>>,
    pub(super) task: Option<TaskLines<'a>>,
    pub(super) cores: CoreLines<'a>,
}

/// Everything that concerns a task. The best items of every list come first, because a full section omits the end.
#[derive(Clone)]
pub(super) struct TaskLines<'a> {
    pub(super) decisions: Vec<BoardLine<'a>>,
    pub(super) discoveries: Vec<BoardLine<'a>>,
    pub(super) results: Vec<BoardLine<'a>>,
    pub(super) artifacts: Vec<BoardLine<'a>>,
    pub(super) task: &'a Task,
    /// The task's state, and everything else that changes during work on it.
    pub(super) state: Vec<StateLine<'a>>,
}

#[derive(Clone, Copy)]
pub(super) enum BoardLine<'a> {
    Constraint(u64, &'a str),
    Decision(&'a Decision),
    Discovery(&'a Discovery),
    /// The result of a task that this one depends on.
    Result(&'a Task),
    /// An artifact, of which the newest version is shown.
    Artifact(&'a Artifact, &'a BoardState),
    /// The nudge's position among the shown nudges, and the nudge.
    Nudge(u64, &'a Nudge),
    /// The entry's position among the shown entries, and an entry of a memory core.
    Core(u64, &'a SourcedEntry),
}

#[derive(Clone)]
pub(super) struct StateLine<'a> {
    pub(super) label: &'static str,
    pub(super) text: Cow<'a, str>,
    pub(super) trust: Trust,
}

impl StateLine<'_> {
    pub(super) fn body(&self) -> Body<'_> {
        Body::said(&self.text, self.trust)
    }
}

impl<'a> BoardLines<'a> {
    pub(super) fn of(state: &'a BoardState, task: Option<TaskId>) -> Self {
        let Some(info) = state.info() else { return Self::default() };
        let constraints = (1..).zip(&info.constraints).map(|(number, text)| BoardLine::Constraint(number, text));
        let task = task.and_then(|id| state.task(id)).map(|task| TaskLines::of(state, task));
        Self {
            goal: &info.goal,
            constraints: constraints.collect(),
            nudges: Vec::new(),
            task,
            cores: CoreLines::default(),
        }
    }

    /// Adds nudges to the reader.
    pub(super) fn telling(self, nudges: &'a [Arc<Nudge>]) -> Self {
        let nudges = (1..).zip(nudges).map(|(place, nudge)| BoardLine::Nudge(place, nudge)).collect();
        Self { nudges, ..self }
    }

    /// Adds entries of memory cores.
    pub(super) fn knowing(self, knowledge: &'a Knowledge) -> Self {
        Self { cores: knowledge.lines(), ..self }
    }
}

impl<'a> TaskLines<'a> {
    fn of(state: &'a BoardState, task: &'a Task) -> Self {
        let concern = Concern { task: task.id, above: above(state, task) };
        let holding = state.decisions().rev().filter(|decision| decision.holds() || decision.is_undecided());
        let decisions = holding.map(|decision| (&*decision.affects_tasks, BoardLine::Decision(decision)));
        let discoveries = state.discoveries().rev();
        let discoveries = discoveries.map(|discovery| (&*discovery.affects_tasks, BoardLine::Discovery(discovery)));
        let finished = task.depends_on.iter().rev().filter_map(|id| state.task(*id));
        let finished = finished.filter(|task| task.status.is_finished());
        Self {
            decisions: concern.best_first(decisions),
            discoveries: concern.best_first(discoveries),
            results: finished.map(BoardLine::Result).collect(),
            artifacts: artifacts(state, task),
            task,
            state: state_lines(state, task),
        }
    }
}

/// A task and those that it depends on: an item is shown for the task if it affects one of them.
struct Concern {
    task: TaskId,
    above: HashSet<TaskId>,
}

impl Concern {
    /// Lines that affect the task itself, then those that affect its dependencies, then those that affect everything.
    /// Each group keeps the order of `lines`, which is newest first. Other lines are dropped.
    fn best_first<'a>(&self, lines: impl Iterator<Item = (&'a [TaskId], BoardLine<'a>)>) -> Vec<BoardLine<'a>> {
        let (mut own, mut above, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for (affected, line) in lines {
            if affected.is_empty() {
                all.push(line);
            } else if affected.contains(&self.task) {
                own.push(line);
            } else if affected.iter().any(|task| self.above.contains(task)) {
                above.push(line);
            }
        }
        own.append(&mut above);
        own.append(&mut all);
        own
    }
}

fn above(state: &BoardState, task: &Task) -> HashSet<TaskId> {
    let mut found = HashSet::new();
    let mut tasks: Vec<TaskId> = task.depends_on.to_vec();
    while let Some(id) = tasks.pop() {
        if found.insert(id) {
            tasks.extend(state.task(id).into_iter().flat_map(|task| task.depends_on.iter()));
        }
    }
    found
}

/// Artifacts of the task, of its dependencies, and without a task: each path once, the newest first.
fn artifacts<'a>(state: &'a BoardState, task: &Task) -> Vec<BoardLine<'a>> {
    let near: HashSet<TaskId> = task.depends_on.iter().copied().chain([task.id]).collect();
    let mut paths = HashSet::new();
    let related = state.artifacts().rev().filter(|artifact| artifact.task.is_none_or(|id| near.contains(&id)));
    let once = related.filter(|artifact| paths.insert(&*artifact.path));
    once.map(|artifact| BoardLine::Artifact(artifact, state)).collect()
}

fn state_lines<'a>(state: &BoardState, task: &'a Task) -> Vec<StateLine<'a>> {
    let mut lines = Vec::new();
    let mut say = |label, text: Cow<'a, str>| lines.push(StateLine { label, text, trust: Trust::Agent });
    if task.needs_review {
        let by = task.reviewer.as_ref().map_or_else(String::new, |agent| format!(" by {agent}"));
        say("before completion: ", format!("a review{by} is required").into());
    }
    if let Some(result) = &task.result {
        lines.push(StateLine { label: "result: ", text: result_text(result).into(), trust: result.trust() });
    }
    let mut say = |label, text: Cow<'a, str>| lines.push(StateLine { label, text, trust: Trust::Agent });
    if let Some(failure) = &task.failure {
        say("failed: ", (&**failure).into());
    }
    if let Some(verdict) = task.review_verdict {
        let by = task.reviewed_by.as_deref().unwrap_or("nobody");
        let comments = task.review_comment.as_deref().map_or_else(String::new, |comments| format!(": {comments}"));
        say("review: ", format!("{} by {by}{comments}", written(&verdict)).into());
    }
    let mut status = task.status.to_string();
    if let Some(agent) = &task.assigned_to {
        status.push_str(&format!(", assigned to {agent}"));
    }
    if task.attempt > 1 {
        status.push_str(&format!(", attempt {}", task.attempt));
    }
    if let Some(cancelled) = &task.cancellation {
        let by = cancelled.caused_by.map_or_else(String::new, |task| format!(" ({task})"));
        status.push_str(&format!(", {}{by}", written(&cancelled.cause)));
    }
    say("status: ", status.into());
    for hindrance in state.hindrances(task.id) {
        say("cannot proceed: ", hindrance.to_string().into());
    }
    if let Some(ended) = state.info().map(|info| info.status).filter(|status| *status != BoardStatus::Active) {
        say("board: ", ended.to_string().into());
    }
    lines
}

fn result_text(result: &corkboard_core::board::TaskResult) -> String {
    let next = result.next_steps.iter().map(|step| format!("\nnext: {step}"));
    [result.summary.clone()].into_iter().chain(next).collect()
}

impl BoardLine<'_> {
    /// The number that orders lines of the same kind.
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Constraint(number, _) => *number,
            Self::Decision(decision) => decision.id.0,
            Self::Discovery(discovery) => discovery.id.0,
            Self::Result(task) => task.id.0,
            Self::Artifact(artifact, _) => artifact.id.0,
            Self::Nudge(place, _) | Self::Core(place, _) => *place,
        }
    }

    /// Renders the line, if any of it fits.
    pub(super) fn render(&self, most: u64) -> Option<Rendered> {
        match self {
            Self::Constraint(_, text) => item::listed("", Body::Text(text), most),
            Self::Decision(decision) => {
                let Decision { question, choice, alternatives, rationale, .. } = decision;
                let mut text = format!("{question} -> {choice}");
                if !rationale.trim().is_empty() {
                    text.push_str(&format!("\nbecause: {rationale}"));
                }
                if !alternatives.is_empty() {
                    text.push_str(&format!("\ninstead of: {}", alternatives.join("; ")));
                }
                if !decision.reversible {
                    text.push_str("\nirreversible");
                }
                if decision.is_undecided() {
                    text.push_str("\nnot approved yet");
                }
                let label = said_by(&decision.id.to_string(), &decision.created_by);
                item::listed(&label, Body::said(&text, decision.trust), most)
            }
            Self::Discovery(discovery) => {
                let what = format!("{} {}", discovery.id, written(&discovery.kind));
                let body = Body::said(&discovery.content, discovery.trust);
                item::listed(&said_by(&what, &discovery.created_by), body, most)
            }
            Self::Result(task) => {
                let mut text = task.title.to_string();
                let mut trust = Trust::Agent;
                match (task.status, &task.result, &task.failure) {
                    (TaskStatus::Failed, _, Some(failure)) => text.push_str(&format!("\n{failure}")),
                    (_, Some(result), _) => {
                        text.push_str(&format!("\n{}", result_text(result)));
                        trust = result.trust();
                    }
                    _ => {}
                }
                item::listed(&format!("{} {}: ", task.id, task.status), Body::said(&text, trust), most)
            }
            Self::Nudge(_, nudge) => {
                // Unlike everything else here, it comes from the people running the board, and the reader should follow
                // it.
                let what = format!("{} {}, follow and acknowledge, sent", nudge.id, nudge.priority);
                item::listed(&said_by(&what, &nudge.created_by), Body::Text(&nudge.message), most)
            }
            Self::Artifact(artifact, state) => {
                let newest = state.artifact_at(&artifact.path).unwrap_or(artifact);
                let mut label = format!("{} {} ", newest.id, written(&newest.kind));
                item::push_key(&mut label, &newest.path);
                if newest.version > 1 {
                    label.push_str(&format!(" version {}", newest.version));
                }
                if let Some(task) = newest.task {
                    label.push_str(&format!(" of {task}"));
                }
                label.push_str(": ");
                let mut text = newest.description.clone();
                if let Some(content) = &newest.content {
                    text.push_str(&format!("\n{content}"));
                }
                item::listed(&label, Body::said(&text, newest.trust), most)
            }
            Self::Core(_, SourcedEntry { core, entry }) => {
                let mut what = String::new();
                item::push_key(&mut what, core.as_str());
                what.push_str(&format!(" {}", entry.id));
                item::listed(&said_by(&what, entry.author()), Body::said(&entry.content, entry.trust()), most)
            }
        }
    }
}

impl fmt::Display for BoardLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constraint(number, _) => write!(f, "constraint {number}"),
            Self::Decision(decision) => decision.id.fmt(f),
            Self::Discovery(discovery) => discovery.id.fmt(f),
            Self::Result(task) => task.id.fmt(f),
            Self::Artifact(artifact, _) => f.write_str(&artifact.path),
            Self::Nudge(_, nudge) => nudge.id.fmt(f),
            Self::Core(_, known) => known.reference().fmt(f),
        }
    }
}

fn said_by(what: &str, who: &str) -> String {
    let mut label = format!("{what} by ");
    item::push_key(&mut label, who);
    label.push_str(": ");
    label
}
