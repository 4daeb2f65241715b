//! Partial failure: the effect on other tasks, retries, and how a board ends.

use crate::board_support::*;
use corkboard_core::board::{
    BoardCommand, BoardOutcome, BoardReply, CancelCause, FailurePolicy, Hindrance, NewBoard, NewTask, ReviewVerdict,
    TaskEdit, TaskId, TaskStatus, TriggerRule, Unfinished,
};
use corkboard_core::{Refusal, Space};

fn upstream_failed(cause: TaskId) -> Option<(CancelCause, Option<TaskId>)> {
    Some((CancelCause::UpstreamFailed, Some(cause)))
}

fn policy(policy: FailurePolicy, task: NewTask) -> NewTask {
    NewTask { on_failure: Some(policy), ..task }
}

fn rule(rule: TriggerRule, task: NewTask) -> NewTask {
    NewTask { trigger_rule: rule, ..task }
}

/// T-1 <- T-2 <- T-3, and T-4 without dependencies.
fn chain(on_failure: FailurePolicy) -> Desk {
    let mut desk = Desk::with(NewBoard { name: "board".into(), on_failure, ..NewBoard::default() });
    desk.add_all(vec![member("a", &[]), member("b", &["a"]), member("c", &["b"]), member("beside", &[])]);
    desk
}

/// The stored reason of a cancellation.
fn reason(desk: &Desk, task: u64) -> String {
    let cancelled = serde_json::to_value(desk.task(id(task)).cancellation.as_ref().unwrap()).unwrap();
    format!("{} {}", cancelled["cause"].as_str().unwrap(), cancelled["caused_by"].as_str().unwrap_or("-"))
}

#[test]
fn dependents_of_a_cancelled_task_are_reported_with_the_cancellation() {
    let mut desk = chain(FailurePolicy::SkipDependents);
    let cancelled = desk.tell(cancel_task(id(1)));
    assert_eq!(tasks_of(&cancelled), ids(&[1, 2, 3]), "all cancelled tasks should be reported");
    assert_eq!(
        ["requested -", "upstream_cancelled T-1", "upstream_cancelled T-1"],
        [1, 2, 3].map(|it| reason(&desk, it))[..]
    );
    // Nothing failed, so there is nothing to retry.
    assert_eq!(desk.tell(BoardCommand::RetryFailed), BoardReply::Tasks(vec![]));
    let refused = Refusal::CauseNotRetried { task: id(3), cause: "T-1".into() };
    assert_eq!(desk.refused(BoardCommand::Retry { task: id(3) }), refused);
}

#[test]
fn cancelled_and_failed_dependencies_are_distinguished() {
    let mut desk = Desk::new();
    desk.add_all(vec![member("a", &[]), member("b", &[]), member("c", &["a", "b"]), member("d", &["c"])]);
    desk.fail(id(1));
    assert_eq!([reason(&desk, 3), reason(&desk, 4)], ["upstream_failed T-1", "upstream_failed T-1"]);
    assert_eq!(tasks_of(&desk.tell(cancel_task(id(2)))), ids(&[2]), "the others are cancelled already");
    // After the failed task is retried, the cancelled one remains as the reason.
    desk.tell(BoardCommand::RetryFailed);
    assert_eq!([reason(&desk, 3), reason(&desk, 4)], ["upstream_cancelled T-2", "upstream_cancelled T-2"]);
    // With a rule that accepts any ending, the task can start.
    let edit = TaskEdit { trigger_rule: Some(TriggerRule::AllDone), ..TaskEdit::default() };
    desk.tell(BoardCommand::EditTask { task: id(3), edit, if_version: None });
    assert_eq!((desk.status(id(3)), desk.status(id(4))), (TaskStatus::Pending, TaskStatus::Pending));
}

#[test]
fn answer_12_skip_dependents_cancels_tasks_that_can_no_longer_start() {
    let mut desk = chain(FailurePolicy::SkipDependents);
    desk.fail(id(1));
    assert_eq!(desk.status(id(1)), TaskStatus::Failed);
    assert_eq!((desk.cancelled(id(2)), desk.cancelled(id(3))), (upstream_failed(id(1)), upstream_failed(id(1))));
    assert_eq!(desk.ready(), ids(&[4]));
}

#[test]
fn answer_12_fail_fast_cancels_all_unfinished_tasks() {
    let mut desk = chain(FailurePolicy::FailFast);
    desk.complete(id(4));
    let other = desk.add(NewTask::new("other"));
    let held = desk.add(NewTask::new("held"));
    desk.claim(&worker("bob"), held);
    desk.fail(id(1));
    for task in [id(2), id(3), other, held] {
        assert_eq!(desk.cancelled(task), upstream_failed(id(1)));
    }
    assert_eq!((desk.status(id(4)), desk.state().next_due()), (TaskStatus::Completed, None));
    // A retry also restores tasks that do not depend on the failed one, but not their holders.
    assert_eq!(tasks_of(&desk.tell(BoardCommand::Retry { task: id(1) })), [id(1), id(2), id(3), other, held]);
    assert_eq!(desk.ready(), [id(1), other, held]);
}

#[test]
fn tasks_stopped_by_fail_fast_return_only_with_their_cause() {
    let mut desk = Desk::new();
    let other = desk.add(policy(FailurePolicy::Continue, NewTask::new("other")));
    let stopped = desk.add(after("stopped", &[other]));
    let stopper = desk.add(policy(FailurePolicy::FailFast, NewTask::new("stopper")));
    desk.fail(other);
    desk.fail(stopper);
    assert_eq!(desk.cancelled(stopped), upstream_failed(stopper));
    assert_eq!(tasks_of(&desk.tell(BoardCommand::Retry { task: other })), [other]);
    assert_eq!(desk.cancelled(stopped), upstream_failed(stopper), "its dependency is not what stopped it");
    // It returns by a retry of the cause, or when the cause's failure policy changes.
    let mut edited = desk.clone();
    assert_eq!(tasks_of(&desk.tell(BoardCommand::Retry { task: stopper })), [stopper, stopped]);
    let edit = TaskEdit { on_failure: Some(FailurePolicy::SkipDependents), ..TaskEdit::default() };
    edited.tell(BoardCommand::EditTask { task: stopper, edit, if_version: None });
    assert_eq!(edited.status(stopped), TaskStatus::Pending);
}

#[test]
fn answer_12_continue_lets_dependents_run_anyway() {
    let mut desk = chain(FailurePolicy::Continue);
    desk.fail(id(1));
    assert_eq!(desk.ready(), ids(&[2, 4]));
    for task in [2, 3, 4] {
        desk.complete(id(task));
    }
    let ended = desk.tell(BoardCommand::Complete { reason: None, unfinished: Unfinished::Refuse });
    assert_eq!(ended, BoardReply::Ended { outcome: BoardOutcome::Partial });
}

#[test]
fn a_tasks_policy_overrides_its_boards_and_a_board_edit_applies_to_new_tasks() {
    let mut desk = chain(FailurePolicy::FailFast);
    let own = desk.add(policy(FailurePolicy::Continue, NewTask::new("own")));
    desk.fail(own);
    assert_eq!(desk.state().count(TaskStatus::Cancelled), 0);
    let edit = corkboard_core::board::BoardEdit { on_failure: Some(FailurePolicy::Continue), ..Default::default() };
    desk.tell(BoardCommand::Edit { edit, if_version: None });
    let later = desk.add(NewTask::new("later"));
    let policies = [desk.task(id(1)).on_failure, desk.task(later).on_failure];
    assert_eq!(policies, [FailurePolicy::FailFast, FailurePolicy::Continue]);
}

#[test]
fn answer_12_a_task_is_retried_up_to_its_limit_with_growing_backoff() {
    let mut desk = Desk::new();
    let task = desk.add(NewTask { retry_limit: 3, retry_backoff_s: 10, ..NewTask::new("task") });
    let dependent = desk.add(after("dependent", &[task]));
    for seconds in [10, 20, 40] {
        desk.fail(task);
        let until = desk.now + jiff::SignedDuration::from_secs(seconds);
        assert_eq!((desk.status(task), desk.task(task).not_before), (TaskStatus::Pending, Some(until)));
        assert_eq!((desk.state().next_due(), desk.ready()), (Some(until), vec![]));
        let hindrances = vec![Hindrance::Backoff { not_before: until }];
        assert_eq!(desk.refused_to(&worker("ann"), claim(task)), Refusal::NotReady { task, hindrances });
        assert_eq!(desk.status(dependent), TaskStatus::Pending);
        desk.pass(seconds * 1000);
    }
    desk.fail(task);
    assert_eq!((desk.status(task), desk.task(task).attempt), (TaskStatus::Failed, 4));
    assert_eq!(desk.cancelled(dependent), upstream_failed(task));
    assert_eq!(desk.state().next_due(), None);
    // A manual retry resets the count and starts at once.
    desk.tell(BoardCommand::Retry { task });
    assert_eq!((desk.task(task).failures, desk.ready()), (0, vec![task]));
    desk.fail(task);
    assert_eq!(desk.status(task), TaskStatus::Pending);
}

#[test]
fn a_backoff_is_at_most_a_day_and_does_not_overflow() {
    let mut desk = Desk::new();
    let task = desk.add(NewTask { retry_limit: 1_000, retry_backoff_s: 86_400, ..NewTask::new("task") });
    for _ in 0..70 {
        desk.fail(task);
        let waits = desk.task(task).not_before.unwrap().duration_since(desk.now);
        assert_eq!(waits, jiff::SignedDuration::from_hours(24));
        desk.pass(24 * 3_600_000);
    }
    let at_once = desk.add(NewTask { retry_limit: 1, ..NewTask::new("at once") });
    desk.fail(at_once);
    assert_eq!((desk.task(at_once).not_before, desk.ready()), (None, vec![task, at_once]));
}

#[test]
fn a_task_assigned_during_its_backoff_and_then_cancelled_is_no_longer_due() {
    let mut desk = Desk::new();
    let task = desk.add(NewTask { retry_limit: 1, retry_backoff_s: 10, ..NewTask::new("task") });
    desk.fail(task);
    desk.tell(assign(task, "ann"));
    desk.ask(&worker("ann"), fail_task(task, None)).unwrap();
    assert_eq!((desk.status(task), desk.state().next_due()), (TaskStatus::Failed, None));
}

#[test]
fn answer_12_retry_failed_reopens_failed_tasks_and_the_tasks_they_cancelled() {
    let mut desk = chain(FailurePolicy::SkipDependents);
    let requested = desk.add(NewTask::new("not wanted"));
    desk.tell(cancel_task(requested));
    desk.fail(id(1));
    desk.fail(id(4));
    assert_eq!(tasks_of(&desk.tell(BoardCommand::RetryFailed)), ids(&[1, 4, 2, 3]));
    assert_eq!(desk.ready(), ids(&[1, 4]));
    assert_eq!(desk.cancelled(requested), Some((CancelCause::Requested, None)));
    for task in [1, 2, 3, 4] {
        desk.complete(id(task));
    }
    let rev = desk.rev();
    assert_eq!(tasks_of(&desk.tell(BoardCommand::RetryFailed)), []);
    assert_eq!(desk.rev(), rev);
}

#[test]
fn a_cancelled_task_returns_only_with_its_cause() {
    let mut desk = chain(FailurePolicy::SkipDependents);
    desk.fail(id(1));
    // Retrying a cancelled task retries the failed task that caused it.
    assert_eq!(tasks_of(&desk.tell(BoardCommand::Retry { task: id(3) })), ids(&[1, 2, 3]));
    desk.tell(cancel_task(id(1)));
    assert_eq!(desk.cancelled(id(3)), Some((CancelCause::UpstreamCancelled, Some(id(1)))));
    let refusal = desk.refused(BoardCommand::Retry { task: id(3) });
    assert_eq!(refusal, Refusal::CauseNotRetried { task: id(3), cause: "T-1".into() });
}

#[test]
fn a_task_with_several_causes_returns_when_none_is_left() {
    let mut desk = Desk::new();
    let (one, two) = (desk.add(NewTask::new("one")), desk.add(NewTask::new("two")));
    let both = desk.add(after("both", &[one, two]));
    let below = desk.add(after("below", &[both]));
    desk.fail(one);
    desk.fail(two);
    assert_eq!(desk.cancelled(both), upstream_failed(one));
    assert_eq!(tasks_of(&desk.tell(BoardCommand::Retry { task: one })), [one]);
    assert_eq!((desk.cancelled(both), desk.cancelled(below)), (upstream_failed(two), upstream_failed(two)));
    desk.complete(one);
    assert_eq!(tasks_of(&desk.tell(BoardCommand::Retry { task: two })), [two, both, below]);
}

#[test]
fn a_task_that_needs_one_of_several_returns_with_any_of_them() {
    let mut desk = Desk::new();
    let (one, two) = (desk.add(NewTask::new("one")), desk.add(NewTask::new("two")));
    let any = desk.add(rule(TriggerRule::OneSuccess, after("any", &[one, two])));
    let below = desk.add(after("below", &[any]));
    desk.fail(one);
    assert_eq!(desk.status(any), TaskStatus::Pending, "the other dependency can still succeed");
    desk.fail(two);
    assert_eq!(desk.cancelled(below), upstream_failed(one));
    // It was not the first to fail, but one retry is enough.
    desk.tell(BoardCommand::Retry { task: two });
    assert_eq!((desk.status(any), desk.status(below)), (TaskStatus::Pending, TaskStatus::Pending));
    desk.complete(two);
    assert_eq!(desk.ready(), [any]);
}

#[test]
fn a_failure_handler_runs_on_failure_and_is_skipped_on_success() {
    for fails in [true, false] {
        let mut desk = Desk::new();
        let task = desk.add(NewTask::new("task"));
        let handler = desk.add(rule(TriggerRule::OneFailed, after("clean up", &[task])));
        if fails {
            desk.fail(task)
        } else {
            desk.complete(task)
        }
        if fails {
            assert_eq!(desk.ready(), [handler]);
        } else {
            assert_eq!(desk.cancelled(handler), Some((CancelCause::BranchNotTaken, None)));
            let ended = desk.tell(BoardCommand::Complete { reason: None, unfinished: Unfinished::Refuse });
            assert_eq!(ended, BoardReply::Ended { outcome: BoardOutcome::Success });
        }
    }
}

#[test]
fn a_task_that_became_impossible_during_work_is_cancelled_on_release() {
    type GiveBack = fn(&mut Desk, TaskId);
    let give_back: [(&str, GiveBack); 4] = [
        ("released", |desk, task| drop(desk.tell(release(task, None)))),
        ("expired", |desk, _| {
            desk.pass(LEASE_MS as i64);
            desk.tell(BoardCommand::Tick);
        }),
        ("tried again", |desk, task| drop(desk.ask(&worker("bob"), fail_task(task, None)).unwrap())),
        ("to be done better", |desk, task| {
            desk.ask(&worker("bob"), complete_task(task, None)).unwrap();
            desk.pass(LEASE_MS as i64);
            desk.tell(review(task, ReviewVerdict::NeedsRework));
        }),
    ];
    for (how, give_back) in give_back {
        let mut desk = Desk::new();
        let upstream = desk.add(policy(FailurePolicy::Continue, NewTask::new("upstream")));
        let task = desk.add(NewTask { needs_review: true, retry_limit: 1, ..after("task", &[upstream]) });
        let below = desk.add(after("below", &[task]));
        desk.fail(upstream);
        desk.claim(&worker("bob"), task);
        // During the work, the upstream failure starts to count.
        let edit = TaskEdit { on_failure: Some(FailurePolicy::SkipDependents), ..TaskEdit::default() };
        desk.tell(BoardCommand::EditTask { task: upstream, edit, if_version: None });
        assert_eq!(desk.status(task), TaskStatus::InProgress, "its holder continues");
        give_back(&mut desk, task);
        assert_eq!(desk.cancelled(task), upstream_failed(upstream), "{how}");
        assert_eq!(desk.cancelled(below), upstream_failed(upstream), "{how}");
        // When the failure no longer counts, the tasks return.
        let edit = TaskEdit { on_failure: Some(FailurePolicy::Continue), ..TaskEdit::default() };
        desk.tell(BoardCommand::EditTask { task: upstream, edit, if_version: None });
        assert_eq!((desk.status(task), desk.status(below)), (TaskStatus::Pending, TaskStatus::Pending), "{how}");
    }
}

#[test]
fn a_rejected_task_fails_without_automatic_retry() {
    let mut desk = Desk::new();
    let task = desk.add(NewTask { needs_review: true, retry_limit: 5, ..NewTask::new("task") });
    let dependent = desk.add(after("dependent", &[task]));
    desk.complete(task);
    let (verdict, comment) = (ReviewVerdict::Rejected, Some("not this".into()));
    desk.tell(BoardCommand::Review { task, verdict, comment });
    assert_eq!((desk.status(task), desk.task(task).failure.as_deref()), (TaskStatus::Failed, Some("not this")));
    assert_eq!(desk.cancelled(dependent), upstream_failed(task));
    desk.tell(BoardCommand::Retry { task });
    assert_eq!(desk.ready(), [task]);
}

#[test]
fn answer_12_a_board_ends_with_success_partial_or_failed() {
    let end = |build: fn(&mut Desk)| {
        let mut desk = chain(FailurePolicy::SkipDependents);
        build(&mut desk);
        match desk.tell(BoardCommand::Complete { reason: Some("the end".into()), unfinished: Unfinished::Cancel }) {
            BoardReply::Ended { outcome } => {
                let info = desk.state().info().unwrap();
                assert_eq!((info.outcome, info.ended_at), (Some(outcome), Some(desk.now)));
                assert_eq!(info.reason.as_deref(), Some("the end"));
                outcome
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(end(|desk| [1, 2, 3, 4].into_iter().for_each(|task| desk.complete(id(task)))), BoardOutcome::Success);
    assert_eq!(end(|desk| desk.complete(id(1))), BoardOutcome::Partial);
    assert_eq!(end(|desk| desk.fail(id(1))), BoardOutcome::Failed);
    assert_eq!(end(|_| ()), BoardOutcome::Failed);
    let nothing = Desk::new().tell(BoardCommand::Cancel { reason: None });
    assert_eq!(nothing, BoardReply::Ended { outcome: BoardOutcome::Success });
}

#[test]
fn sending_a_task_back_or_rejecting_it_needs_a_reason() {
    let mut desk = Desk::new();
    let task = desk.add(NewTask { needs_review: true, ..NewTask::new("task") });
    desk.complete(task);
    let blank = Refusal::Blank { what: "comment".into() };
    let invisible = [None, Some(""), Some(" \n\t"), Some("\u{200b}\u{2060}\u{feff}"), Some("\u{202e} \u{ad}\u{e0041}")];
    for (verdict, status) in
        [(ReviewVerdict::NeedsRework, TaskStatus::InProgress), (ReviewVerdict::Rejected, TaskStatus::Failed)]
    {
        for said in invisible {
            let comment = said.map(Into::into);
            assert_eq!(desk.refused(BoardCommand::Review { task, verdict, comment }), blank, "{said:?}");
            let reason = said.map(Into::into);
            let moved = BoardCommand::SetStatus { task, status, reason, epoch: None, lease: LEASE };
            assert_eq!(desk.refused(moved), blank, "{said:?}");
        }
        let mut told = desk.clone();
        told.tell(BoardCommand::Review { task, verdict, comment: Some("\u{200b}?".into()) });
        assert_eq!(told.status(task), status);
    }
    // An approval needs no comment.
    let (verdict, comment) = (ReviewVerdict::Approved, None);
    desk.tell(BoardCommand::Review { task, verdict, comment });
    assert_eq!(desk.status(task), TaskStatus::Completed);
}
