//! Creates a board as a copy of another. The image must pass every check that its content once passed. It keeps no
//! trust and no approval that the caller could not have given.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::id::NumberedId;
use super::super::{
    BoardEvent, BoardImage, BoardInfo, BoardReply, Choice, ChoiceId, Contribution, Decision, ForkedFrom,
    LearningStatus, Task, TaskId, TaskStatus,
};
use super::graph::upstream_first;
use super::{BoardDecider, ReplyResult};
use crate::authority::admitted;
use crate::id::check_principal;
use crate::{AgentId, BoardId, Refusal};

/// No real board counts this far. A larger epoch would leave no room for later ones.
const MOST_EPOCHS: u64 = 1 << 53;

impl BoardDecider<'_> {
    pub(super) fn fork(&mut self, from: &ForkedFrom, name: Option<&str>, image: &BoardImage) -> ReplyResult {
        if self.state.info().is_some() {
            return Err(Refusal::BoardExists);
        }
        let mut image = admitted(image.clone(), self.state, self.context).without_claims();
        let Some(info) = &mut image.info else { return Err(Refusal::NoBoard) };
        if let Some(name) = name {
            Arc::make_mut(info).name = name.into();
        }
        BoardId::check(&from.board, self.limits())?;
        self.check_info(info)?;
        self.check_image(&image)?;
        self.push(BoardEvent::Forked { image: Box::new(image), from: from.clone() });
        let tasks = self.state.nodes.keys().copied().collect();
        self.settle(tasks);
        Ok(BoardReply::Done)
    }

    fn check_info(&self, info: &BoardInfo) -> Result<(), Refusal> {
        self.check_line("board name", &info.name)?;
        self.check_length(&info.goal)?;
        self.check_list("constraint", &info.constraints)?;
        self.check_names("memory core", &info.cores)?;
        // The board's list of cores may have changed since, so these need not be in it.
        self.check_count(info.drawn.len())?;
        info.drawn.iter().chain(&info.pattern).try_for_each(|drawn| self.check_line("memory core", &drawn.core))
    }

    fn check_image(&self, image: &BoardImage) -> Result<(), Refusal> {
        let BoardImage { info: _, tasks, decisions, discoveries, artifacts, choices, contributions, .. } = image;
        let epochs = tasks.iter().map(|task| task.epoch).chain([image.orchestrator_epoch]);
        expect(epochs.max() < Some(MOST_EPOCHS), || "an epoch is too large".into())?;
        expect_numbered(tasks.iter().map(|task| task.id))?;
        expect_numbered(decisions.iter().map(|decision| decision.id))?;
        expect_numbered(discoveries.iter().map(|discovery| discovery.id))?;
        expect_numbered(artifacts.iter().map(|artifact| artifact.id))?;
        expect_numbered(choices.iter().map(|choice| choice.id))?;
        let mut heads = BTreeMap::new();
        for choice in tasks.iter().filter_map(|task| task.choice) {
            *heads.entry(choice).or_insert(0) += 1;
        }
        let known = ImageIndex { tasks, choices, heads: &heads };
        tasks.iter().try_for_each(|task| self.check_task(task, known))?;
        let places = |task: &Arc<Task>| task.depends_on.iter().filter_map(|on| place(*on)).collect();
        upstream_first(&tasks.iter().map(places).collect::<Vec<_>>())
            .map_err(|round| contradicts(format!("T-{} depends on itself", round.first().map_or(0, |at| at + 1))))?;
        choices.iter().try_for_each(|choice| self.check_choice(choice, known))?;
        for decision in decisions {
            self.check_decision(decision, known)?;
            expect_superseded(decision, decisions)?;
        }
        for discovery in discoveries {
            self.check_text("content", &discovery.content)?;
            check_principal("author", &discovery.created_by, self.limits())?;
            self.check_known_tasks(&discovery.affects_tasks, known)?;
            discovery.promote_to_core.as_ref().map_or(Ok(()), |core| self.check_line("memory core", core))?;
        }
        self.check_approvals(image)?;
        self.check_learnings(image)?;
        let mut versions = BTreeMap::new();
        for artifact in artifacts {
            self.check_line("path", &artifact.path)?;
            self.check_length(&artifact.description)?;
            check_principal("author", &artifact.created_by, self.limits())?;
            self.check_known_tasks(artifact.task.as_slice(), known)?;
            self.check_inline(artifact.content.as_deref())?;
            self.check_checksum(artifact.checksum.as_deref())?;
            let version = versions.entry(&*artifact.path).or_insert(0);
            *version += 1;
            expect(artifact.version == *version, || format!("{} must be version {version} of its path", artifact.id))?;
        }
        self.check_contributions(contributions, image)
    }

    fn check_task(&self, task: &Task, known: ImageIndex<'_>) -> Result<(), Refusal> {
        let id = task.id;
        self.check_line("task title", &task.title)?;
        self.check_length(&task.description)?;
        let comment = task.cancellation.as_ref().and_then(|cancelled| cancelled.reason.as_ref());
        let said = [task.blocked_reason.as_ref(), task.failure.as_ref(), task.review_comment.as_ref(), comment];
        said.into_iter().try_for_each(|text| self.check_comment(text.map(|text| &**text)))?;
        expect(task.setbacks.len() <= Task::MOST_SETBACKS, || format!("{id} lists too many setbacks"))?;
        for setback in &task.setbacks {
            check_principal("author", &setback.by, self.limits())?;
            self.check_comment(setback.comment.as_deref())?;
        }
        if let Some(result) = &task.result {
            self.check_text("summary", &result.summary)?;
            self.check_list("next step", &result.next_steps)?;
        }
        let mut agents = [&task.assigned_to, &task.reviewer].into_iter().flatten();
        agents.try_for_each(|agent| AgentId::check(agent.as_str(), self.limits()))?;
        check_principal("author", &task.created_by, self.limits())?;
        task.reviewed_by.as_ref().map_or(Ok(()), |by| check_principal("reviewer", by, self.limits()))?;

        let has_worker = task.assigned_to.is_some();
        let fits = match task.status {
            TaskStatus::Pending => !has_worker,
            TaskStatus::Assigned | TaskStatus::Review | TaskStatus::Completed => has_worker,
            TaskStatus::Failed | TaskStatus::Cancelled => true,
            TaskStatus::InProgress | TaskStatus::Blocked => false,
        };
        expect(fits, || {
            let worker = if has_worker { "with" } else { "without" };
            format!("{id} is {} {worker} a worker, which a copied board cannot contain", task.status)
        })?;
        let may_wait = matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned);
        expect(task.not_before.is_none() || may_wait, || format!("{id} is {} but has a retry time", task.status))?;
        let is_cancelled = task.status == TaskStatus::Cancelled;
        expect(task.cancellation.is_some() == is_cancelled, || {
            format!("`cancellation` of {id} does not match its status, {}", task.status)
        })?;
        let cause = task.cancellation.as_ref().and_then(|cancelled| cancelled.caused_by);
        expect(cause.is_some() == task.is_stopped(), || {
            format!("`caused_by` of {id} does not match the cause of its cancellation")
        })?;
        expect(cause != Some(id), || format!("{id} names itself as the cause of its cancellation"))?;
        self.check_known(cause.as_slice(), known)?;
        self.check_known(&task.depends_on, known)?;
        let once: BTreeSet<_> = task.depends_on.iter().collect();
        expect(once.len() == task.depends_on.len(), || format!("{id} lists a dependency twice"))?;
        let is_there = task.choice.is_none_or(|choice| at(known.choices, choice).is_some());
        expect(is_there, || format!("{id} begins a branch of a choice that does not exist"))
    }

    fn check_choice(&self, choice: &Choice, known: ImageIndex<'_>) -> Result<(), Refusal> {
        let id = choice.id;
        self.check_text("question", &choice.question)?;
        self.check_comment(choice.rationale.as_deref())?;
        self.check_count(choice.options.len())?;
        expect(choice.options.len() >= 2, || format!("{id} has fewer than two branches"))?;
        let mut names = BTreeSet::new();
        for branch in &choice.options {
            self.check_line("branch", &branch.name)?;
            self.check_known_tasks(&branch.tasks, known)?;
            expect(!branch.tasks.is_empty() && names.insert(&branch.name), || {
                format!("{id} has a branch without tasks or two branches of the same name")
            })?;
        }
        let heads: Vec<TaskId> = choice.options.iter().flat_map(|branch| branch.tasks.iter().copied()).collect();
        let is_own = |head: &TaskId| known.task(*head).is_some_and(|task| task.choice == Some(id));
        let once: BTreeSet<_> = heads.iter().collect();
        let is_whole = once.len() == heads.len() && heads.len() == known.heads.get(&id).copied().unwrap_or(0);
        expect(is_whole && heads.iter().all(is_own), || {
            format!("the branches of {id} do not match the tasks that name it")
        })?;
        let is_there = choice.chosen.as_ref().is_none_or(|chosen| names.contains(chosen));
        expect(is_there, || format!("the chosen branch of {id} does not exist"))
    }

    fn check_decision(&self, decision: &Decision, known: ImageIndex<'_>) -> Result<(), Refusal> {
        self.check_text("question", &decision.question)?;
        self.check_text("choice", &decision.choice)?;
        self.check_list("alternative", &decision.alternatives)?;
        self.check_length(&decision.rationale)?;
        check_principal("author", &decision.created_by, self.limits())?;
        self.check_known_tasks(&decision.affects_tasks, known)
    }

    /// The verdict of each decision must equal its last approval.
    fn check_approvals(&self, image: &BoardImage) -> Result<(), Refusal> {
        expect_numbered(image.approvals.iter().map(|approval| approval.id))?;
        let mut last = BTreeMap::new();
        for approval in &image.approvals {
            check_principal("author", &approval.created_by, self.limits())?;
            self.check_comment(approval.comment.as_deref())?;
            expect(at(&image.decisions, approval.decision).is_some(), || {
                format!("{} is about a decision that does not exist", approval.id)
            })?;
            last.insert(approval.decision, approval.verdict);
        }
        for decision in &image.decisions {
            let id = decision.id;
            expect(decision.verdict == last.get(&id).copied(), || {
                format!("the verdict of {id} differs from its last approval")
            })?;
        }
        Ok(())
    }

    /// Each learning is listed once, and only refused learnings are copied.
    fn check_learnings(&self, image: &BoardImage) -> Result<(), Refusal> {
        let mut names = BTreeSet::new();
        for verdict in &image.learnings {
            let name = &verdict.id;
            expect(names.insert(name), || format!("{name} is listed twice"))?;
            let LearningStatus::Refused { decided_by, reason, .. } = &verdict.status else {
                return Err(contradicts(format!("{name} is {}: only refused learnings are copied", verdict.status)));
            };
            check_principal("author", decided_by, self.limits())?;
            self.check_comment(reason.as_deref())?;
        }
        Ok(())
    }

    /// Everything that is counted for an agent must exist and be that agent's.
    fn check_contributions(&self, contributions: &[Arc<Contribution>], image: &BoardImage) -> Result<(), Refusal> {
        let mut seen = BTreeSet::new();
        for contribution in contributions {
            let Contribution { tasks_completed, decisions_made, discoveries, artifacts_created, .. } = &**contribution;
            let agent = &*contribution.agent;
            let is_done = |task: &Arc<Task>| {
                let worker = task.assigned_to.as_ref().map(AgentId::as_str);
                task.status == TaskStatus::Completed && worker == Some(agent)
            };
            let are_theirs = tasks_completed.iter().all(|id| at(&image.tasks, *id).is_some_and(is_done))
                && decisions_made.iter().all(|id| at(&image.decisions, *id).is_some_and(|it| *it.created_by == *agent))
                && discoveries.iter().all(|id| at(&image.discoveries, *id).is_some_and(|it| *it.created_by == *agent))
                && artifacts_created
                    .iter()
                    .all(|id| at(&image.artifacts, *id).is_some_and(|it| *it.created_by == *agent));
            let things = tasks_completed.len() + decisions_made.len() + discoveries.len() + artifacts_created.len();
            let is_new = seen.insert((agent, contribution.role.as_str()));
            expect(are_theirs && is_new && things > 0, || {
                format!("the contributions of {agent} do not match the board's records")
            })?;
        }
        Ok(())
    }

    fn check_known_tasks(&self, tasks: &[TaskId], known: ImageIndex<'_>) -> Result<(), Refusal> {
        self.check_count(tasks.len())?;
        self.check_known(tasks, known)
    }

    fn check_known(&self, tasks: &[TaskId], known: ImageIndex<'_>) -> Result<(), Refusal> {
        match tasks.iter().find(|task| known.task(**task).is_none()) {
            Some(missing) => Err(super::not_on_board("task", missing)),
            None => Ok(()),
        }
    }
}

/// The tasks and choices of an image that other records may refer to.
#[derive(Clone, Copy)]
struct ImageIndex<'a> {
    tasks: &'a [Arc<Task>],
    choices: &'a [Arc<Choice>],
    /// How many tasks name each choice as the one whose branch they begin.
    heads: &'a BTreeMap<ChoiceId, usize>,
}

impl ImageIndex<'_> {
    fn task(&self, id: TaskId) -> Option<&Task> {
        at(self.tasks, id).map(|task| &**task)
    }
}

fn place(id: impl NumberedId) -> Option<usize> {
    usize::try_from(id.number().checked_sub(1)?).ok()
}

fn at<T>(things: &[T], id: impl NumberedId) -> Option<&T> {
    things.get(place(id)?)
}

/// Nothing is ever removed from a board, so its items are numbered from one without gaps.
fn expect_numbered<Id: NumberedId>(ids: impl Iterator<Item = Id>) -> Result<(), Refusal> {
    for (expected, id) in (1..).zip(ids) {
        expect(id.number() == expected, || format!("found {id} where {} was expected", Id::of(expected)))?;
    }
    Ok(())
}

/// If one decision supersedes another, each must name the other.
fn expect_superseded(decision: &Decision, decisions: &[Arc<Decision>]) -> Result<(), Refusal> {
    let id = decision.id;
    let replaces = |old: &Arc<Decision>| old.superseded_by == Some(id) && old.id < id;
    let is_old_right = decision.supersedes.is_none_or(|old| at(decisions, old).is_some_and(replaces));
    let is_new_right =
        decision.superseded_by.is_none_or(|new| at(decisions, new).is_some_and(|new| new.supersedes == Some(id)));
    expect(is_old_right && is_new_right, || {
        format!("`supersedes` or `superseded_by` of {id} does not match the other decision")
    })
}

fn expect(holds: bool, reason: impl FnOnce() -> String) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(contradicts(reason())) }
}

fn contradicts(reason: String) -> Refusal {
    Refusal::BoardContradicts { reason }
}
