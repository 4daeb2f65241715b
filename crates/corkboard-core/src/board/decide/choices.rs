//! Choices between branches.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::id::next_id;
use super::super::{
    BoardEvent, BoardReply, Branch, CancelCause, Cancellation, ChoiceId, NewBranch, NewChoice, Task, TaskId, TaskRef,
    TaskStatus, TriggerRule,
};
use super::{BoardDecider, ReplyResult, not_on_board};
use crate::Refusal;

impl BoardDecider<'_> {
    /// Adds a choice. `resolve` finds the task that a branch begins with.
    pub(super) fn add_choice(
        &mut self,
        choice: &NewChoice,
        resolve: impl Fn(&TaskRef) -> Result<TaskId, Refusal>,
    ) -> Result<ChoiceId, Refusal> {
        self.check_text("question", &choice.question)?;
        if choice.options.len() < 2 {
            return Err(bad("it needs at least two options"));
        }
        self.check_count(choice.options.len())?;
        let (mut names, mut heads) = (BTreeSet::new(), BTreeSet::new());
        let mut options = Vec::new();
        for branch in &choice.options {
            self.check_line("option", &branch.name)?;
            if !names.insert(&branch.name) {
                return Err(bad(format!("two options are named {:?}", branch.name)));
            }
            if branch.tasks.is_empty() {
                return Err(bad(format!("option {:?} has no tasks", branch.name)));
            }
            self.check_count(branch.tasks.len())?;
            let mut tasks = Vec::new();
            for task in &branch.tasks {
                let id = resolve(task)?;
                let task = self.task(id)?;
                if !matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned) {
                    return Err(bad(format!("{id} is already {}", task.status.in_words())));
                }
                if let Some(other) = task.choice {
                    return Err(bad(format!("{id} already begins an option of {other}")));
                }
                if !heads.insert(id) {
                    return Err(bad(format!("{id} is named twice")));
                }
                tasks.push(TaskRef::Task(id));
            }
            options.push(NewBranch { name: branch.name.clone(), tasks });
        }
        let id = next_id(&self.state.choices);
        let choice = NewChoice { question: choice.question.clone(), options };
        self.push(BoardEvent::ChoiceAdded { id, choice: Box::new(choice) });
        Ok(id)
    }

    pub(super) fn choose(&mut self, id: ChoiceId, option: &str, rationale: Option<&str>) -> ReplyResult {
        self.check_comment(rationale)?;
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
        let heads = |branches: &[Branch]| branches.iter().flat_map(|branch| branch.tasks.clone()).collect();
        let lost: BTreeSet<TaskId> = heads(&losers);
        let taken = self.below(heads(&winners), &lost);
        let before = self.events.len();
        self.cancel_branches(&lost, &taken);
        Ok(BoardReply::Tasks(self.cancelled_since(before)))
    }

    /// These tasks and their direct and indirect dependents, along paths that avoid the others.
    fn below(&self, heads: BTreeSet<TaskId>, others: &BTreeSet<TaskId>) -> BTreeSet<TaskId> {
        let mut tasks: Vec<TaskId> = heads.into_iter().collect();
        let mut found = BTreeSet::new();
        while let Some(task) = tasks.pop() {
            if !others.contains(&task) && found.insert(task) {
                tasks.extend(self.state.blocks(task));
            }
        }
        found
    }

    /// Cancels branches not taken: their first tasks, and all tasks below that have no other reason to run. A task that
    /// is also below the chosen branch is a join, and runs.
    fn cancel_branches(&mut self, heads: &BTreeSet<TaskId>, taken: &BTreeSet<TaskId>) {
        let mut below = Vec::new();
        let mut tasks: Vec<TaskId> = heads.iter().copied().rev().collect();
        while let Some(id) = tasks.pop() {
            let Some(task) = self.state.task(id) else { continue };
            // A task that was cancelled because of others would be reopened with them, on a branch not taken.
            let waits = matches!(task.status, TaskStatus::Pending | TaskStatus::Assigned) || task.is_stopped();
            let is_lost = heads.contains(&id) || (!taken.contains(&id) && self.is_cut(task));
            if waits && is_lost {
                self.cancel_one(id, Cancellation::new(CancelCause::BranchNotTaken, None));
            } else if !heads.contains(&id) {
                // Skip this task and what is below it. Below a head that failed or was cancelled earlier, continue.
                continue;
            }
            let dependents: Vec<TaskId> = self.state.blocks(id).collect();
            tasks.extend(&dependents);
            below.extend(dependents);
        }
        // A join that was impossible because of a failure on a branch not taken may be possible now; another may have
        // become impossible.
        below.extend(self.revive(below.clone()));
        self.settle(below);
    }

    /// Whether a task below a branch not taken has no other reason to run. With a rule other than `all_success`,
    /// dependencies outside the branch are a reason.
    fn is_cut(&self, task: &Task) -> bool {
        let tally = self.state.tally(task.id);
        task.trigger_rule == TriggerRule::AllSuccess || tally.open + tally.succeeded + tally.failed == 0
    }
}

fn bad(reason: impl Into<String>) -> Refusal {
    Refusal::BadChoice { reason: reason.into() }
}
