//! Changes to everything on a board except its tasks: its info, records, choices, nudges and orchestrator.

use alloc::borrow::Cow;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use imbl::OrdMap;

use super::id::{NumberedId, next_id};
use super::views::Due;
use super::{
    Approval, Artifact, ArtifactId, BoardInfo, BoardState, Branch, Choice, ChoiceId, Decision, DecisionId, Discovery,
    DiscoveryId, Lease, NewArtifact, NewChoice, NewDecision, NewDiscovery, NewNudge, Nudge, NudgeId, TaskId, TaskNode,
    TaskRef, normal_path,
};
use crate::FormatError;
use crate::space::{Stamp, misfit};

impl BoardState {
    pub(super) fn put_info(&mut self, info: BoardInfo) {
        self.bytes += info.bytes();
        if let Some(old) = self.info.replace(Arc::new(info)) {
            self.bytes -= old.bytes();
        }
    }

    pub(super) fn change_info(
        &mut self,
        stamp: Stamp<'_>,
        change: impl FnOnce(&mut BoardInfo),
    ) -> Result<(), FormatError> {
        let mut info = self.info.as_deref().cloned().ok_or_else(|| misfit("the board was never created"))?;
        change(&mut info);
        (info.version, info.updated_at) = (stamp.rev, stamp.at);
        self.put_info(info);
        Ok(())
    }

    pub(super) fn add_decision(
        &mut self,
        id: DecisionId,
        new: &NewDecision,
        stamp: Stamp<'_>,
    ) -> Result<(), FormatError> {
        let NewDecision {
            question,
            choice,
            alternatives,
            rationale,
            affects_tasks,
            reversible,
            supersedes,
            needs_approval,
            trust,
            force: _,
        } = new.clone();
        expect_next(id, &self.decisions)?;
        if let Some(old) = supersedes {
            let old = self.decisions.get(&old).ok_or_else(|| misfit(format!("there is no {old} to supersede")))?;
            let (version, updated_at) = (stamp.rev, stamp.at);
            self.put_decision(Decision { superseded_by: Some(id), version, updated_at, ..Decision::clone(old) });
        }
        self.put_decision(Decision {
            id,
            created_at: stamp.at,
            created_by: stamp.principal.into(),
            updated_at: stamp.at,
            question,
            choice,
            alternatives,
            rationale,
            affects_tasks,
            reversible: reversible.unwrap_or(true),
            supersedes,
            superseded_by: None,
            needs_approval,
            verdict: None,
            trust: trust.unwrap_or_default(),
            version: stamp.rev,
        });
        Ok(())
    }

    pub(super) fn put_decision(&mut self, decision: Decision) {
        let (id, decision) = (decision.id, Arc::new(decision));
        self.bytes += decision.bytes();
        let old = self.decisions.insert(id, decision.clone());
        self.bytes -= old.as_ref().map_or(0, |old| old.bytes());
        let was_undecided = old.is_some_and(|old| old.is_undecided());
        if was_undecided == decision.is_undecided() {
            return;
        }
        for task in &decision.affects_tasks {
            self.await_decision(*task, |awaits| match decision.is_undecided() {
                true => drop(awaits.insert(id)),
                false => drop(awaits.remove(&id)),
            });
        }
    }

    pub(super) fn judge(&mut self, approval: Approval, stamp: Stamp<'_>) -> Result<(), FormatError> {
        expect_next(approval.id, &self.approvals)?;
        let id = approval.decision;
        let decision = self.decisions.get(&id).ok_or_else(|| misfit(format!("there is no {id}")))?;
        let (verdict, version, updated_at) = (Some(approval.verdict), stamp.rev, stamp.at);
        self.put_decision(Decision { verdict, version, updated_at, ..Decision::clone(decision) });
        self.put_approval(approval);
        Ok(())
    }

    pub(super) fn put_approval(&mut self, approval: Approval) {
        self.bytes += approval.bytes();
        self.approvals.insert(approval.id, Arc::new(approval));
    }

    pub(super) fn add_nudge(&mut self, id: NudgeId, new: &NewNudge, stamp: Stamp<'_>) -> Result<(), FormatError> {
        expect_next(id, &self.nudges)?;
        let NewNudge { to, message, priority, expires_at } = new.clone();
        self.put_nudge(Nudge {
            id,
            created_at: stamp.at,
            created_by: stamp.principal.into(),
            updated_at: stamp.at,
            to,
            message: message.into(),
            priority,
            expires_at,
            expired: false,
            delivered: Vec::new(),
            acknowledged: Vec::new(),
            version: stamp.rev,
        });
        Ok(())
    }

    pub(super) fn change_nudge(
        &mut self,
        id: NudgeId,
        stamp: Stamp<'_>,
        change: impl FnOnce(&mut Nudge),
    ) -> Result<(), FormatError> {
        let nudge = self.nudges.get(&id).ok_or_else(|| misfit(format!("there is no {id}")))?;
        let mut nudge = Nudge::clone(nudge);
        change(&mut nudge);
        (nudge.version, nudge.updated_at) = (stamp.rev, stamp.at);
        self.put_nudge(nudge);
        Ok(())
    }

    pub(super) fn put_nudge(&mut self, nudge: Nudge) {
        // A nudge that nobody still has to see need not expire.
        let due = |nudge: &Nudge| nudge.expires_at.filter(|_| nudge.is_open());
        let (id, rank, is_open, after) = (nudge.id, nudge.rank(), nudge.is_open(), due(&nudge));
        self.bytes += nudge.bytes();
        let old = self.nudges.insert(id, Arc::new(nudge));
        self.bytes -= old.as_ref().map_or(0, |old| old.bytes());
        self.views.set_due(Due::Nudge(id), old.as_deref().and_then(due), after);
        if is_open {
            self.open_nudges.insert(rank);
        } else {
            self.open_nudges.remove(&rank);
        }
    }

    pub(super) fn add_discovery(
        &mut self,
        id: DiscoveryId,
        new: &NewDiscovery,
        stamp: Stamp<'_>,
    ) -> Result<(), FormatError> {
        expect_next(id, &self.discoveries)?;
        let NewDiscovery { content, kind, affects_tasks, promote_to_core, trust } = new.clone();
        let (created_at, created_by) = (stamp.at, stamp.principal.into());
        let version = stamp.rev;
        self.put_discovery(Discovery {
            id,
            created_at,
            created_by,
            updated_at: created_at,
            content,
            kind,
            affects_tasks,
            promote_to_core,
            trust: trust.unwrap_or_default(),
            version,
        });
        Ok(())
    }

    pub(super) fn put_discovery(&mut self, discovery: Discovery) {
        self.bytes += discovery.bytes();
        self.discoveries.insert(discovery.id, Arc::new(discovery));
    }

    pub(super) fn add_artifact(
        &mut self,
        id: ArtifactId,
        new: &NewArtifact,
        stamp: Stamp<'_>,
    ) -> Result<(), FormatError> {
        expect_next(id, &self.artifacts)?;
        let NewArtifact { kind, path, description, task, checksum, size, content, trust } = new.clone();
        // Looked up by the path as written: artifacts recorded before paths were normalised keep their versions.
        let before = self.paths.get(&*path).and_then(|id| self.artifact(*id));
        let version = before.map_or(1, |before| before.version + 1);
        self.put_artifact(Artifact {
            id,
            created_at: stamp.at,
            created_by: stamp.principal.into(),
            updated_at: stamp.at,
            kind,
            path: path.into(),
            description,
            task,
            version,
            checksum,
            size,
            content: content.map(Arc::from),
            trust: trust.unwrap_or_default(),
        });
        Ok(())
    }

    pub(super) fn put_artifact(&mut self, artifact: Artifact) {
        self.bytes += artifact.bytes();
        self.paths.insert(artifact.path.clone(), artifact.id);
        if let Cow::Owned(normal) = normal_path(&artifact.path)
            && *normal != *artifact.path
        {
            self.odd_paths.insert(normal.into(), artifact.path.clone());
        }
        self.artifacts.insert(artifact.id, Arc::new(artifact));
    }

    pub(super) fn add_choice(&mut self, id: ChoiceId, new: &NewChoice, stamp: Stamp<'_>) -> Result<(), FormatError> {
        expect_next(id, &self.choices)?;
        let mut options = Vec::new();
        for branch in &new.options {
            let mut tasks = Vec::new();
            for task in &branch.tasks {
                let TaskRef::Task(task) = task else {
                    return Err(misfit(format!("{id} begins with a task without an ID")));
                };
                tasks.push(*task);
            }
            options.push(Branch { name: branch.name.clone(), tasks });
        }
        let heads: Vec<TaskId> = options.iter().flat_map(|branch| branch.tasks.iter().copied()).collect();
        let question = new.question.clone();
        self.put_choice(Choice {
            id,
            created_at: stamp.at,
            created_by: stamp.principal.into(),
            updated_at: stamp.at,
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
        match choice.chosen {
            None => self.open_choices.insert(choice.id),
            Some(_) => self.open_choices.remove(&choice.id),
        };
        self.bytes += choice.bytes();
        if let Some(old) = self.choices.insert(choice.id, Arc::new(choice)) {
            self.bytes -= old.bytes();
        }
    }

    /// Changes a choice. The first tasks of its branches may become ready.
    pub(super) fn change_choice(&mut self, id: ChoiceId, change: impl FnOnce(&mut Choice)) -> Result<(), FormatError> {
        let mut choice = self
            .choices
            .get(&id)
            .map(|choice| Choice::clone(choice))
            .ok_or_else(|| misfit(format!("there is no {id}")))?;
        let heads: Vec<TaskNode> = choice
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
        self.views.set_due(Due::Orchestrator, deadline(&self.orchestrator), deadline(&lease));
        self.orchestrator = lease;
    }
}

/// A new record must have the ID after the last, so that none is skipped or overwritten.
fn expect_next<Id: NumberedId, T>(id: Id, things: &OrdMap<Id, T>) -> Result<(), FormatError> {
    let next = next_id(things);
    if id == next { Ok(()) } else { Err(misfit(format!("found {id} where {next} was expected"))) }
}
