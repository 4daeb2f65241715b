//! Events become state, and the views follow.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::OrdSet;

use super::{
    Artifact, ArtifactId, BoardEvent, BoardInfo, BoardState, BoardStatus, Branch, Cancellation, Choice, ChoiceId,
    Decision, DecisionId, Discovery, DiscoveryId, Fate, Lease, NewArtifact, NewChoice, NewDecision, NewDiscovery, Node,
    ReviewStatus, Tally, Task, TaskId, TaskRef, TaskStatus,
};
use crate::FormatError;
use crate::space::{Stamp, misfit};

pub(super) fn apply(state: &mut BoardState, event: &BoardEvent, stamp: Stamp<'_>) -> Result<(), FormatError> {
    state.count_contribution(event, stamp);
    match event {
        BoardEvent::Created(board) => {
            if state.info.is_some() {
                return Err(misfit("the board was made already"));
            }
            state.put_info(BoardInfo::new(board, stamp));
        }
        BoardEvent::Edited(edit) => state.change_info(stamp, |info| info.edit(edit))?,
        BoardEvent::TaskAdded { id, task } => {
            let depends_on: Option<Vec<TaskId>> = task
                .depends_on
                .iter()
                .map(|on| match on {
                    TaskRef::Task(on) => Some(*on),
                    TaskRef::Member(_) => None,
                })
                .collect();
            let depends_on = depends_on.ok_or_else(|| misfit(format!("{id} depends on what has no id")))?;
            state.add_task(Task::new(*id, task, depends_on.into(), stamp))?;
        }
        BoardEvent::DependencyAdded { task, on } => state.add_dependency(*task, *on, stamp)?,
        BoardEvent::TaskEdited { task, edit } => state.change(*task, stamp, |task| task.edit(edit))?,
        BoardEvent::TaskAssigned { task, to } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::Assigned;
            task.assigned_to = Some(to.clone());
            task.assigned_at = Some(stamp.at);
        })?,
        BoardEvent::TaskStarted { task, epoch, deadline, lease_ms } => {
            let holder = state.expect(*task)?.assigned_to.clone();
            let holder = holder.ok_or_else(|| misfit(format!("{task} is nobody's")))?;
            state.change(*task, stamp, |task| {
                task.status = TaskStatus::InProgress;
                task.claim = Some(Lease { holder, epoch: *epoch, deadline: *deadline, lease_ms: *lease_ms });
                task.epoch = *epoch;
                task.attempt += 1;
                task.started_at = Some(stamp.at);
            })?;
        }
        BoardEvent::LeaseRenewed { task, deadline } => {
            // Whoever edits the task meanwhile is not disturbed by it.
            let version = state.expect(*task)?.version;
            state.change(*task, Stamp { rev: version, ..stamp }, |task| {
                if let Some(claim) = &mut task.claim {
                    claim.deadline = *deadline;
                }
            })?;
        }
        BoardEvent::LeaseExpired { task } => state.change(*task, stamp, |task| match task.status {
            TaskStatus::Review => task.claim = None,
            _ => give_back(task),
        })?,
        BoardEvent::TaskReleased { task } | BoardEvent::TaskReopened { task } => {
            state.change(*task, stamp, give_back)?
        }
        BoardEvent::TaskBlocked { task, reason } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::Blocked;
            task.blocked_reason = reason.clone();
        })?,
        BoardEvent::TaskUnblocked { task } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::InProgress;
            task.blocked_reason = None;
        })?,
        BoardEvent::TaskSubmitted { task, result } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::Review;
            task.result = result.clone();
        })?,
        BoardEvent::TaskCompleted { task, result } => state.change(*task, stamp, |task| {
            complete(task, stamp);
            task.result = result.clone();
        })?,
        BoardEvent::ReviewAssigned { task, to } => {
            state.change(*task, stamp, |task| task.reviewer = Some(to.clone()))?;
        }
        BoardEvent::TaskReviewed { task, verdict, comments } => state.change(*task, stamp, |task| {
            task.reviewed_by = Some(stamp.principal.into());
            task.review_status = Some(*verdict);
            task.review_comments = comments.clone();
            match verdict {
                ReviewStatus::Approved => complete(task, stamp),
                ReviewStatus::NeedsRework if task.claim.is_some() => {
                    task.status = TaskStatus::InProgress;
                    task.attempt += 1;
                    task.started_at = Some(stamp.at);
                }
                ReviewStatus::NeedsRework => give_back(task),
                ReviewStatus::Rejected => fail(task, comments.clone().unwrap_or_else(|| "rejected in review".into())),
            }
        })?,
        BoardEvent::TaskFailed { task, reason } => state.change(*task, stamp, |task| fail(task, reason.clone()))?,
        BoardEvent::TaskRetried { task, not_before, by_hand } => state.change(*task, stamp, |task| {
            give_back(task);
            task.not_before = *not_before;
            if *by_hand {
                task.failures = 0;
            }
        })?,
        BoardEvent::RetryDue { task } => state.change(*task, stamp, |task| task.not_before = None)?,
        BoardEvent::TaskCancelled { task, reason, cause, comment } => state.change(*task, stamp, |task| {
            task.status = TaskStatus::Cancelled;
            task.claim = None;
            task.not_before = None;
            task.blocked_reason = None;
            task.cancellation = Some(Cancellation { reason: *reason, cause: *cause, comment: comment.clone() });
        })?,
        BoardEvent::DecisionRecorded { id, decision } => state.add_decision(*id, decision, stamp)?,
        BoardEvent::DiscoveryRecorded { id, discovery } => state.add_discovery(*id, discovery, stamp),
        BoardEvent::ArtifactRecorded { id, artifact } => state.add_artifact(*id, artifact, stamp),
        BoardEvent::ChoiceAdded { id, choice } => state.add_choice(*id, choice, stamp)?,
        BoardEvent::BranchChosen { choice, option, rationale } => {
            state.change_choice(*choice, |choice| {
                choice.chosen = Some(option.clone());
                choice.chosen_by = Some(stamp.principal.into());
                choice.chosen_at = Some(stamp.at);
                choice.rationale = rationale.clone();
                choice.version = stamp.rev;
            })?;
        }
        BoardEvent::OrchestratorAcquired { by, epoch, deadline, lease_ms } => {
            let (epoch, deadline, lease_ms) = (*epoch, *deadline, *lease_ms);
            state.orchestrator_epoch = epoch;
            state.set_orchestrator(Some(Lease { holder: by.clone(), epoch, deadline, lease_ms }));
        }
        BoardEvent::OrchestratorRenewed { deadline } => {
            let lease = state.orchestrator.clone().ok_or_else(|| misfit("nobody is the orchestrator"))?;
            state.set_orchestrator(Some(Lease { deadline: *deadline, ..lease }));
        }
        BoardEvent::OrchestratorReleased | BoardEvent::OrchestratorExpired => state.set_orchestrator(None),
        BoardEvent::Ended { status, outcome, comment } => {
            state.set_orchestrator(None);
            state.change_info(stamp, |info| {
                info.status = *status;
                info.outcome = Some(*outcome);
                info.ended_at = Some(stamp.at);
                info.comment = comment.clone();
            })?;
        }
        BoardEvent::Forked { image, from } => {
            let mut forked = BoardState::from(image.renewed(stamp));
            forked.change_info(stamp, |info| {
                info.status = BoardStatus::Active;
                info.outcome = None;
                info.ended_at = None;
                info.comment = None;
                info.forked_from = Some(from.clone());
                info.created_at = stamp.at;
                info.created_by = stamp.principal.into();
            })?;
            *state = forked;
        }
    }
    Ok(())
}

fn give_back(task: &mut Task) {
    task.status = TaskStatus::Pending;
    task.assigned_to = None;
    task.assigned_at = None;
    task.claim = None;
    task.blocked_reason = None;
    task.cancellation = None;
}

fn complete(task: &mut Task, stamp: Stamp<'_>) {
    task.status = TaskStatus::Completed;
    task.completed_at = Some(stamp.at);
    task.claim = None;
    task.failure = None;
}

fn fail(task: &mut Task, reason: Arc<str>) {
    task.status = TaskStatus::Failed;
    task.claim = None;
    task.blocked_reason = None;
    task.failure = Some(reason);
    task.failures += 1;
}

impl BoardState {
    fn expect(&self, id: TaskId) -> Result<&Task, FormatError> {
        self.task(id).ok_or_else(|| misfit(format!("there is no {id}")))
    }

    pub(super) fn put_info(&mut self, info: BoardInfo) {
        self.bytes += info.bytes();
        if let Some(old) = self.info.replace(Arc::new(info)) {
            self.bytes -= old.bytes();
        }
    }

    fn change_info(&mut self, stamp: Stamp<'_>, change: impl FnOnce(&mut BoardInfo)) -> Result<(), FormatError> {
        let mut info = self.info.as_deref().cloned().ok_or_else(|| misfit("the board was never made"))?;
        change(&mut info);
        info.version = stamp.rev;
        self.put_info(info);
        Ok(())
    }

    /// Changes a task, and everything that follows from it.
    fn change(&mut self, id: TaskId, stamp: Stamp<'_>, change: impl FnOnce(&mut Task)) -> Result<(), FormatError> {
        let before = self.nodes.get(&id).cloned().ok_or_else(|| misfit(format!("there is no {id}")))?;
        let mut task = Task::clone(&before.task);
        change(&mut task);
        task.version = stamp.rev;
        self.bytes = self.bytes + task.bytes() - before.task.bytes();
        let (was, is) = (Fate::of(&before.task), Fate::of(&task));
        let blocks = before.blocks.clone();
        let after = Node { task: Arc::new(task), ..before.clone() };
        self.replace(&before, after);
        if was != is {
            for dependent in blocks {
                self.retally(dependent, |tally| {
                    tally.take(was);
                    tally.add(is);
                });
            }
        }
        Ok(())
    }

    fn replace(&mut self, before: &Node, after: Node) {
        self.take_from_views(before);
        self.put_into_views(&after);
        self.nodes.insert(after.task.id, after);
    }

    fn take_from_views(&mut self, node: &Node) {
        let is_undecided = self.is_undecided(&node.task);
        self.views.take(node, is_undecided);
    }

    pub(super) fn put_into_views(&mut self, node: &Node) {
        let is_undecided = self.is_undecided(&node.task);
        self.views.put(node, is_undecided);
    }

    fn retally(&mut self, id: TaskId, change: impl FnOnce(&mut Tally)) {
        let Some(before) = self.nodes.get(&id).cloned() else { return };
        let mut after = before.clone();
        change(&mut after.tally);
        self.replace(&before, after);
    }

    fn add_task(&mut self, task: Task) -> Result<(), FormatError> {
        let id = task.id;
        if self.nodes.contains_key(&id) {
            return Err(misfit(format!("{id} is there already")));
        }
        let mut tally = Tally::default();
        for on in task.depends_on.iter() {
            tally.add(Fate::of(self.expect(*on)?));
        }
        self.bytes += task.bytes();
        let depends_on = task.depends_on.clone();
        let node = Node { task: Arc::new(task), blocks: OrdSet::new(), tally };
        self.put_into_views(&node);
        self.nodes.insert(id, node);
        depends_on.iter().for_each(|on| self.link(id, *on));
        Ok(())
    }

    pub(super) fn link(&mut self, task: TaskId, on: TaskId) {
        self.edges += 1;
        if on > task {
            self.forward_edges += 1;
        }
        if let Some(node) = self.nodes.get_mut(&on) {
            node.blocks.insert(task);
        }
    }

    fn add_dependency(&mut self, task: TaskId, on: TaskId, stamp: Stamp<'_>) -> Result<(), FormatError> {
        let fate = Fate::of(self.expect(on)?);
        self.change(task, stamp, |task| task.depends_on = task.depends_on.iter().copied().chain([on]).collect())?;
        self.retally(task, |tally| tally.add(fate));
        self.link(task, on);
        Ok(())
    }

    fn add_decision(&mut self, id: DecisionId, new: &NewDecision, stamp: Stamp<'_>) -> Result<(), FormatError> {
        let NewDecision { question, choice, alternatives, rationale, affects_tasks, reversible, supersedes } =
            new.clone();
        if let Some(old) = supersedes {
            let old = self.decisions.get(&old).ok_or_else(|| misfit(format!("there is no {old} to supersede")))?;
            let replaced = Decision { superseded_by: Some(id), version: stamp.rev, ..Decision::clone(old) };
            self.put_decision(replaced);
        }
        self.put_decision(Decision {
            id,
            made_at: stamp.at,
            made_by: stamp.principal.into(),
            question,
            choice,
            alternatives,
            rationale,
            affects_tasks,
            reversible: reversible.unwrap_or(true),
            supersedes,
            superseded_by: None,
            version: stamp.rev,
        });
        Ok(())
    }

    pub(super) fn put_decision(&mut self, decision: Decision) {
        self.bytes += decision.bytes();
        if let Some(old) = self.decisions.insert(decision.id, Arc::new(decision)) {
            self.bytes -= old.bytes();
        }
    }

    fn add_discovery(&mut self, id: DiscoveryId, new: &NewDiscovery, stamp: Stamp<'_>) {
        let NewDiscovery { content, kind, affects_tasks, promote_to_core } = new.clone();
        let (discovered_at, discovered_by) = (stamp.at, stamp.principal.into());
        let version = stamp.rev;
        self.put_discovery(Discovery {
            id,
            discovered_at,
            discovered_by,
            content,
            kind,
            affects_tasks,
            promote_to_core,
            version,
        });
    }

    pub(super) fn put_discovery(&mut self, discovery: Discovery) {
        self.bytes += discovery.bytes();
        self.discoveries.insert(discovery.id, Arc::new(discovery));
    }

    fn add_artifact(&mut self, id: ArtifactId, new: &NewArtifact, stamp: Stamp<'_>) {
        let NewArtifact { kind, path, description, associated_task, checksum, size, content } = new.clone();
        let version = self.artifact_at(&path).map_or(1, |before| before.version + 1);
        self.put_artifact(Artifact {
            id,
            created_at: stamp.at,
            created_by: stamp.principal.into(),
            kind,
            path: path.into(),
            description,
            associated_task,
            version,
            checksum,
            size,
            content: content.map(Arc::from),
        });
    }

    pub(super) fn put_artifact(&mut self, artifact: Artifact) {
        self.bytes += artifact.bytes();
        self.paths.insert(artifact.path.clone(), artifact.id);
        self.artifacts.insert(artifact.id, Arc::new(artifact));
    }

    fn add_choice(&mut self, id: ChoiceId, new: &NewChoice, stamp: Stamp<'_>) -> Result<(), FormatError> {
        let mut options = Vec::new();
        for branch in &new.options {
            let mut tasks = Vec::new();
            for task in &branch.tasks {
                let TaskRef::Task(task) = task else { return Err(misfit(format!("{id} begins with what has no id"))) };
                tasks.push(*task);
            }
            options.push(Branch { name: branch.name.clone(), tasks });
        }
        let heads: Vec<TaskId> = options.iter().flat_map(|branch| branch.tasks.iter().copied()).collect();
        let question = new.question.clone();
        self.put_choice(Choice {
            id,
            question,
            options,
            chosen: None,
            chosen_by: None,
            chosen_at: None,
            rationale: None,
            version: stamp.rev,
        });
        for head in heads {
            self.change(head, stamp, |task| task.choice = Some(id))?;
        }
        Ok(())
    }

    pub(super) fn put_choice(&mut self, choice: Choice) {
        self.bytes += choice.bytes();
        if let Some(old) = self.choices.insert(choice.id, Arc::new(choice)) {
            self.bytes -= old.bytes();
        }
    }

    /// Changes a choice. The tasks that its branches begin with may be hindered by it no longer.
    fn change_choice(&mut self, id: ChoiceId, change: impl FnOnce(&mut Choice)) -> Result<(), FormatError> {
        let mut choice = self
            .choices
            .get(&id)
            .map(|choice| Choice::clone(choice))
            .ok_or_else(|| misfit(format!("there is no {id}")))?;
        let heads: Vec<Node> = choice
            .options
            .iter()
            .flat_map(|branch| &branch.tasks)
            .filter_map(|task| self.nodes.get(task).cloned())
            .collect();
        heads.iter().for_each(|head| self.take_from_views(head));
        change(&mut choice);
        self.put_choice(choice);
        heads.iter().for_each(|head| self.put_into_views(head));
        Ok(())
    }

    pub(super) fn set_orchestrator(&mut self, lease: Option<Lease>) {
        let deadline = |lease: &Option<Lease>| lease.as_ref().map(|lease| lease.deadline);
        self.views.set_orchestrator(deadline(&self.orchestrator), deadline(&lease));
        self.orchestrator = lease;
    }
}
