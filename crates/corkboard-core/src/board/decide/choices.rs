//! Choices between branches.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::{
    BoardEvent, BoardReply, CancelReason, ChoiceId, NewBranch, NewChoice, TaskId, TaskRef, TaskStatus, TriggerRule,
};
use super::{Draft, Reply, not_on_board};
use crate::Refusal;

impl Draft<'_> {
    /// Adds a choice. `resolve` finds the task that a branch begins with.
    pub(super) fn add_choice(
        &mut self,
        choice: &NewChoice,
        resolve: impl Fn(&TaskRef) -> Result<TaskId, Refusal>,
    ) -> Result<ChoiceId, Refusal> {
        self.check_text("question", &choice.question)?;
        if choice.options.len() < 2 {
            return Err(bad("it needs two branches at least"));
        }
        let (mut names, mut heads) = (BTreeSet::new(), BTreeSet::new());
        let mut options = Vec::new();
        for branch in &choice.options {
            self.check_line("branch", &branch.name)?;
            if !names.insert(&branch.name) {
                return Err(bad(format!("two branches are called {:?}", branch.name)));
            }
            if branch.tasks.is_empty() {
                return Err(bad(format!("branch {:?} begins with no task", branch.name)));
            }
            let mut tasks = Vec::new();
            for task in &branch.tasks {
                let id = resolve(task)?;
                let task = self.task(id)?;
                if !matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned) {
                    return Err(bad(format!("{id} is {} already", task.status)));
                }
                if let Some(other) = task.choice {
                    return Err(bad(format!("{id} begins a branch of {other} already")));
                }
                if !heads.insert(id) {
                    return Err(bad(format!("{id} is named twice")));
                }
                tasks.push(TaskRef::Task(id));
            }
            options.push(NewBranch { name: branch.name.clone(), tasks });
        }
        let id = self.state.choices.get_max().map(|(id, _)| *id).unwrap_or_default().next();
        let choice = NewChoice { question: choice.question.clone(), options };
        self.push(BoardEvent::ChoiceAdded { id, choice: Box::new(choice) });
        Ok(id)
    }

    pub(super) fn choose(&mut self, id: ChoiceId, option: &str, rationale: Option<&str>) -> Reply {
        rationale.map_or(Ok(()), |rationale| self.check_length(rationale))?;
        let choice = self.state.choice(id).ok_or_else(|| not_on_board("choice", id))?.clone();
        if let Some(chosen) = choice.chosen {
            return Err(Refusal::AlreadyChosen { choice: id, chosen });
        }
        let (winners, losers): (Vec<_>, Vec<_>) = choice.options.into_iter().partition(|branch| branch.name == option);
        if winners.is_empty() {
            let options = losers.into_iter().map(|branch| branch.name).collect();
            return Err(Refusal::NoBranch { choice: id, option: option.into(), options });
        }
        let rationale = rationale.map(String::from);
        self.push(BoardEvent::BranchChosen { choice: id, option: option.into(), rationale });
        let taken = self.below(winners.iter().flat_map(|branch| branch.tasks.iter().copied()));
        let lost = losers.iter().flat_map(|branch| branch.tasks.iter().copied());
        let cancelled = self.cancel_branches(lost.collect(), &taken);
        Ok(BoardReply::Tasks(cancelled))
    }

    /// These tasks, and all that depend on them, directly or not.
    fn below(&self, heads: impl Iterator<Item = TaskId>) -> BTreeSet<TaskId> {
        let mut tasks: Vec<TaskId> = heads.collect();
        let mut found = BTreeSet::new();
        while let Some(task) = tasks.pop() {
            if found.insert(task) {
                tasks.extend(self.state.blocks(task));
            }
        }
        found
    }

    /// Cancels branches not taken: where they begin, and all below that has no other reason to run. What also lies below
    /// the branch taken is a join, and runs.
    fn cancel_branches(&mut self, heads: BTreeSet<TaskId>, taken: &BTreeSet<TaskId>) -> Vec<TaskId> {
        let mut cancelled = Vec::new();
        let mut tasks: Vec<TaskId> = heads.iter().copied().rev().collect();
        while let Some(id) = tasks.pop() {
            let Some(task) = self.state.task(id) else { continue };
            let waits = matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned);
            let tally = self.state.tally(id);
            // One that takes any end of what it depends on still has what is on no branch.
            let is_cut =
                task.trigger_rule == TriggerRule::AllSuccess || tally.open + tally.succeeded + tally.failed == 0;
            if !waits || taken.contains(&id) || !(heads.contains(&id) || is_cut) {
                continue;
            }
            let reason = CancelReason::BranchNotTaken;
            self.push(BoardEvent::TaskCancelled { task: id, reason, cause: None, comment: None });
            cancelled.push(id);
            tasks.extend(self.state.blocks(id));
        }
        // A join may have lost its last chance all the same.
        let below = cancelled.iter().flat_map(|id| self.state.blocks(*id)).collect();
        self.settle(below);
        cancelled
    }
}

fn bad(reason: impl Into<String>) -> Refusal {
    Refusal::BadChoice { reason: reason.into() }
}
