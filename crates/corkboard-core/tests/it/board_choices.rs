//! Choices between branches: branches wait for the choice, the branches not taken are cancelled, joins below still run.

use crate::board_support::*;
use corkboard_core::Refusal;
use corkboard_core::board::{
    BoardCommand, BoardOutcome, BoardReply, CancelCause, ChoiceId, Hindrance, NewBranch, NewChoice, NewTask, TaskId,
    TaskRef, TaskStatus, TriggerRule, Unfinished,
};

const NOT_TAKEN: Option<(CancelCause, Option<TaskId>)> = Some((CancelCause::BranchNotTaken, None));
const CHOICE: ChoiceId = ChoiceId(1);

fn with_rule(rule: TriggerRule, task: NewTask) -> NewTask {
    NewTask { trigger_rule: rule, ..task }
}

/// Two branches of two tasks each, T-1 T-2 and T-3 T-4, and T-5, which joins both.
fn two_branches() -> Desk {
    let mut desk = Desk::new();
    let tasks = vec![
        member("a1", &[]),
        member("a2", &["a1"]),
        member("b1", &[]),
        member("b2", &["b1"]),
        member("join", &["a2", "b2"]),
    ];
    let branch = |name: &str, head: &str| NewBranch { name: name.into(), tasks: vec![TaskRef::from(head)] };
    let choice = NewChoice { question: "A or B?".into(), options: vec![branch("A", "a1"), branch("B", "b1")] };
    let added = desk.tell(BoardCommand::AddTasks { tasks, choices: vec![choice] });
    assert_eq!(added, BoardReply::Added { tasks: ids(&[1, 2, 3, 4, 5]), choices: vec![CHOICE] });
    desk
}

#[test]
fn answer_8_no_branch_begins_before_the_choice() {
    let mut desk = two_branches();
    assert_eq!(desk.ready(), []);
    assert_eq!(desk.state().hindrances(id(1)), [Hindrance::Choice { choice: CHOICE }]);
    let hindrances = vec![Hindrance::Choice { choice: CHOICE }];
    assert_eq!(desk.refused_to(&worker("ann"), claim(id(1))), Refusal::NotReady { task: id(1), hindrances });
    desk.choose(CHOICE, "A");
    assert_eq!(desk.ready(), ids(&[1]));
}

#[test]
fn answer_8_choosing_cancels_the_losers_below_and_the_join_still_runs() {
    let mut desk = two_branches();
    let rev = desk.rev();
    assert_eq!(desk.choose(CHOICE, "B"), ids(&[1, 2]));
    assert_eq!(desk.rev(), rev + 1, "in the same revision");
    assert_eq!((desk.cancelled(id(1)), desk.cancelled(id(2))), (NOT_TAKEN, NOT_TAKEN));
    for task in [3, 4, 5] {
        assert_eq!(desk.ready(), ids(&[task]));
        desk.complete(id(task));
    }
    let ended = desk.tell(BoardCommand::Complete { reason: None, unfinished: Unfinished::Refuse });
    assert_eq!(ended, BoardReply::Ended { outcome: BoardOutcome::Success });
    let chosen = desk.state().choice(CHOICE).unwrap();
    assert_eq!((chosen.chosen.as_deref(), chosen.chosen_by.as_deref()), (Some("B"), Some("hugo")));
}

#[test]
fn answer_8_the_rule_of_a_task_below_a_branch_and_another_task_decides() {
    use TriggerRule::*;
    let expected = [
        (AllSuccess, TaskStatus::Cancelled),
        (AllDone, TaskStatus::Pending),
        (OneSuccess, TaskStatus::Pending),
        (OneFailed, TaskStatus::Pending),
        (NoneFailed, TaskStatus::Pending),
        (NoneFailedMinOneSuccess, TaskStatus::Pending),
    ];
    for (rule, status) in expected {
        let mut desk = two_branches();
        let outside = desk.add(NewTask::new("on no branch"));
        let both = desk.add(with_rule(rule, after("below the loser and that", &[id(2), outside])));
        let only = desk.add(with_rule(rule, after("below the loser alone", &[id(2)])));
        desk.choose(CHOICE, "B");
        assert_eq!(desk.status(both), status, "{rule:?}");
        assert_eq!(desk.cancelled(only), NOT_TAKEN, "{rule:?}: without another dependency, it is cancelled");
    }
}

#[test]
fn a_losing_branch_that_depends_on_the_winner_is_cancelled() {
    let mut desk = Desk::new();
    let first = desk.add(NewTask::new("quick way"));
    let second = desk.add(after("thorough way, on top of the quick one", &[first]));
    let below = desk.add(after("below the thorough way", &[second]));
    let outside = desk.add(NewTask::new("on no branch"));
    let both = desk.add(after("below the thorough way and that", &[second, outside]));
    let choice = desk.add_choice(&[("quick", &[first]), ("thorough", &[second])]);
    assert_eq!(
        desk.choose(choice, "quick"),
        [second, both, below],
        "a task that depends on a losing branch is not a join"
    );
    assert_eq!(desk.ready(), [first, outside]);
}

#[test]
fn a_losing_branch_stays_cancelled_when_its_dependency_is_retried() {
    let mut desk = Desk::new();
    let base = desk.add(NewTask::new("base"));
    let (one, two) = (desk.add(after("one", &[base])), desk.add(after("two", &[base])));
    let below = desk.add(after("below two", &[two]));
    let choice = desk.add_choice(&[("one", &[one]), ("two", &[two])]);
    desk.fail(base);
    assert_eq!(desk.cancelled(below), Some((CancelCause::UpstreamFailed, Some(base))));
    assert_eq!(desk.choose(choice, "one"), [two, below]);
    let back = desk.tell(BoardCommand::Retry { task: base });
    assert_eq!(tasks_of(&back), [base, one]);
    assert_eq!((desk.cancelled(two), desk.cancelled(below)), (NOT_TAKEN, NOT_TAKEN));
    desk.complete(base);
    assert_eq!(desk.ready(), [one]);
}

#[test]
fn a_failed_task_of_a_losing_branch_is_not_retried() {
    let mut desk = two_branches();
    desk.tell(assign(id(1), "ann"));
    desk.ask(&worker("ann"), fail_task(id(1), None)).unwrap();
    assert_eq!(desk.cancelled(id(5)), Some((CancelCause::UpstreamFailed, Some(id(1)))));
    desk.choose(CHOICE, "B");
    assert_eq!((desk.status(id(1)), desk.cancelled(id(2))), (TaskStatus::Failed, NOT_TAKEN));
    assert_eq!(desk.status(id(5)), TaskStatus::Pending, "the join can still run through the other branch");
    assert_eq!(tasks_of(&desk.tell(BoardCommand::RetryFailed)), []);
    assert_eq!(desk.cancelled(id(1)), NOT_TAKEN);
}

#[test]
fn a_join_cancelled_by_a_failure_on_the_losing_branch_runs() {
    let mut desk = Desk::new();
    let trouble = desk.add(NewTask::new("needed for one way"));
    let one = desk.add(after("one", &[trouble]));
    let two = desk.add(NewTask::new("two"));
    let join = desk.add(after("join", &[one, two]));
    let choice = desk.add_choice(&[("one", &[one]), ("two", &[two])]);
    desk.fail(trouble);
    assert_eq!(desk.cancelled(join), Some((CancelCause::UpstreamFailed, Some(trouble))));
    desk.choose(choice, "two");
    assert_eq!((desk.cancelled(one), desk.status(join)), (NOT_TAKEN, TaskStatus::Pending));
    desk.complete(two);
    assert_eq!(desk.ready(), [join]);
}

#[test]
fn a_choice_inside_a_branch_waits_for_its_own_decision() {
    let mut desk = two_branches();
    let (inner, other) = (desk.add(after("inner", &[id(1)])), desk.add(after("other", &[id(1)])));
    let nested = desk.add_choice(&[("inner", &[inner]), ("other", &[other])]);
    desk.choose(CHOICE, "A");
    desk.complete(id(1));
    assert_eq!(desk.ready(), ids(&[2]));
    assert_eq!(desk.choose(nested, "other"), [inner]);
    assert_eq!(desk.ready(), [id(2), other]);
    // A choice inside a branch not taken can still be made, without effect.
    let mut desk = two_branches();
    let (inner, other) = (desk.add(after("inner", &[id(1)])), desk.add(after("other", &[id(1)])));
    let nested = desk.add_choice(&[("inner", &[inner]), ("other", &[other])]);
    assert_eq!(desk.choose(CHOICE, "B").len(), 4);
    assert_eq!(desk.choose(nested, "other"), []);
    assert_eq!(desk.ready(), ids(&[3]));
}

#[test]
fn a_choice_is_made_once_and_for_an_existing_branch() {
    let mut desk = two_branches();
    let choose = |choice, option: &str| BoardCommand::Choose { choice, option: option.into(), rationale: None };
    let options = vec!["A".into(), "B".into()];
    assert_eq!(desk.refused(choose(CHOICE, "C")), Refusal::NoBranch { choice: CHOICE, option: "C".into(), options });
    assert_eq!(desk.refused(choose(ChoiceId(2), "A")), Refusal::NotOnBoard { what: "choice".into(), id: "C-2".into() });
    desk.choose(CHOICE, "A");
    assert_eq!(desk.refused(choose(CHOICE, "A")), Refusal::AlreadyChosen { choice: CHOICE, chosen: "A".into() });
}

#[test]
fn an_invalid_choice_is_refused_with_its_batch() {
    let mut desk = two_branches();
    desk.add_all(vec![NewTask::new("six"), NewTask::new("seven")]);
    desk.claim(&worker("ann"), id(7));
    let refuse = |desk: &mut Desk, options: &[(&str, &[TaskId])]| {
        let (tasks, choices) = (vec![NewTask::new("new")], vec![choice(options)]);
        match desk.refused(BoardCommand::AddTasks { tasks, choices }) {
            Refusal::BadChoice { reason } => reason,
            other => other.to_string(),
        }
    };
    assert_eq!(refuse(&mut desk, &[("x", &[id(6)])]), "it needs at least two options");
    assert_eq!(refuse(&mut desk, &[("x", &[id(6)]), ("x", &[id(5)])]), "two options are named \"x\"");
    assert_eq!(refuse(&mut desk, &[("x", &[id(6)]), ("y", &[])]), "option \"y\" has no tasks");
    assert_eq!(refuse(&mut desk, &[("x", &[id(6)]), ("y", &[id(6)])]), "T-6 is named twice");
    assert_eq!(refuse(&mut desk, &[("x", &[id(6)]), ("y", &[id(1)])]), "T-1 already begins an option of C-1");
    assert_eq!(refuse(&mut desk, &[("x", &[id(6)]), ("y", &[id(7)])]), "T-7 is already in progress");
    assert_eq!(refuse(&mut desk, &[("x", &[id(6)]), ("y", &[id(99)])]), "task T-99 not found on this board");
    assert_eq!(refuse(&mut desk, &[("x", &[id(6)]), (" ", &[id(5)])]), "option must not be blank");
}
