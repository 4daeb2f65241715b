//! Claims and the orchestrator's role are leases: they expire, can be renewed, and a former holder is fenced.

use std::time::Duration;

use crate::board_support::*;
use corkboard_core::board::{
    BoardCommand, BoardEvent, BoardReply, Claimed, Lease, NewArtifact, NewDecision, NewDiscovery, NewTask,
    ReviewVerdict, TaskId, TaskStatus, Unfinished,
};
use corkboard_core::{Actor, Refusal, Role, Space};

const TASK: TaskId = TaskId(1);
const TENTH: i64 = LEASE_MS as i64 / 10;

fn one_task() -> Desk {
    let mut desk = Desk::new();
    desk.add(NewTask::new("task"));
    desk
}

fn fenced(holder: Option<&str>, epoch: u64) -> Refusal {
    Refusal::Fenced { what: TASK.to_string(), holder: holder.map(agent), epoch, sent: None, status: None }
}

/// The refusal without the epoch that the caller sent and without the task's state.
fn refused(desk: &mut Desk, actor: &Actor, command: BoardCommand) -> Refusal {
    match desk.refused_to(actor, command) {
        Refusal::Fenced { what, holder, epoch, .. } => {
            Refusal::Fenced { what, holder, epoch, sent: None, status: None }
        }
        other => other,
    }
}

/// All commands that a holder sends under the claim.
fn under_the_claim(epoch: Option<u64>) -> Vec<BoardCommand> {
    let mut commands =
        vec![heartbeat(TASK, epoch), release(TASK, epoch), complete_task(TASK, epoch), fail_task(TASK, epoch)];
    if epoch.is_some() {
        commands.extend(TaskStatus::ALL.map(|status| set_status(TASK, status, epoch)));
    }
    commands
}

fn assert_fenced(desk: &mut Desk, actor: &Actor, epoch: Option<u64>, expected: &Refusal) {
    for command in under_the_claim(epoch) {
        assert_eq!(refused(desk, actor, command.clone()), *expected, "{command:?}");
    }
}

#[test]
fn answer_5_an_expired_claim_returns_the_task_with_the_attempt_counted() {
    let ann = worker("ann");
    let mut desk = one_task();
    let claimed = desk.claim(&ann, TASK);
    assert_eq!((claimed.epoch, claimed.attempt), (1, 1));
    assert_eq!(desk.state().next_due(), Some(claimed.deadline));
    desk.pass(LEASE_MS as i64 - 1);
    desk.tell(BoardCommand::Tick);
    assert_eq!(desk.status(TASK), TaskStatus::InProgress, "a millisecond before its deadline the lease is valid");
    desk.pass(1);
    desk.tell(BoardCommand::Tick);
    let task = desk.task(TASK);
    assert_eq!((task.status, task.attempt, task.assigned_to.as_ref()), (TaskStatus::Pending, 1, None));
    assert_eq!(desk.last_events(), [BoardEvent::LeaseExpired { task: TASK }]);
    let again = desk.claim(&worker("bob"), TASK);
    assert_eq!((again.epoch, again.attempt), (2, 2));
}

#[test]
fn answer_5_every_command_first_expires_due_leases() {
    let mut desk = one_task();
    desk.claim(&worker("ann"), TASK);
    desk.pass(LEASE_MS as i64);
    // Nobody ticked. The other worker's claim finds the task free, in one revision.
    let rev = desk.rev();
    let claimed = desk.claim(&worker("bob"), TASK);
    assert_eq!((claimed.epoch, desk.rev()), (2, rev + 1));
    assert!(matches!(
        desk.last_events()[..],
        [BoardEvent::LeaseExpired { .. }, BoardEvent::TaskStarted { agent: Some(_), .. }]
    ));
}

#[test]
fn answer_5_every_command_of_a_stale_holder_is_fenced() {
    let (ann, bob) = (worker("ann"), worker("bob"));
    let mut desk = one_task();
    desk.claim(&ann, TASK);
    // Expired, and not yet swept.
    desk.pass(LEASE_MS as i64);
    assert_fenced(&mut desk, &ann, Some(1), &fenced(None, 1));
    desk.tell(BoardCommand::Tick);
    assert_fenced(&mut desk, &ann, Some(1), &fenced(None, 1));
    assert_fenced(&mut desk, &ann, None, &fenced(None, 1));
    // Assigned to another worker who has not started.
    desk.tell(assign(TASK, "bob"));
    assert_fenced(&mut desk, &ann, Some(1), &fenced(Some("bob"), 1));
    // Claimed by another worker.
    desk.claim(&bob, TASK);
    assert_fenced(&mut desk, &ann, Some(1), &fenced(Some("bob"), 2));
    assert_fenced(&mut desk, &ann, None, &fenced(Some("bob"), 2));
    // The other worker's epoch does not help.
    assert_fenced(&mut desk, &ann, Some(2), &fenced(Some("bob"), 2));
    desk.ask(&bob, complete_task(TASK, Some(2))).unwrap();
    assert_fenced(&mut desk, &ann, Some(1), &fenced(None, 2));
}

#[test]
fn answer_5_the_epoch_distinguishes_processes_with_the_same_name() {
    let ann = worker("ann");
    let mut desk = one_task();
    desk.claim(&ann, TASK);
    let deadline = desk.task(TASK).claim.as_ref().map(|claim| claim.deadline);
    let held = Refusal::TaskHeld { task: TASK, holder: agent("ann"), deadline };
    assert_eq!(refused(&mut desk, &ann, claim(TASK)), held, "another process can have the same name");
    desk.pass(LEASE_MS as i64);
    desk.claim(&ann, TASK);
    assert_fenced(&mut desk, &ann, Some(1), &fenced(Some("ann"), 2));
    assert_eq!(desk.ask(&ann, complete_task(TASK, Some(2))), Ok(BoardReply::Moved { status: TaskStatus::Completed }));
}

#[test]
fn a_holder_that_released_or_lost_its_task_is_fenced() {
    let ann = worker("ann");
    let mut desk = one_task();
    desk.claim(&ann, TASK);
    assert_eq!(refused(&mut desk, &worker("bob"), release(TASK, None)), fenced(Some("ann"), 1));
    desk.ask(&ann, release(TASK, Some(1))).unwrap();
    assert_fenced(&mut desk, &ann, Some(1), &fenced(None, 1));
    for (epoch, role) in (2..).zip([Role::Orchestrator, Role::Human, Role::Admin]) {
        desk.claim(&ann, TASK);
        desk.ask(&named("olga", role), release(TASK, None)).unwrap();
        assert_eq!(desk.status(TASK), TaskStatus::Pending);
        assert_fenced(&mut desk, &ann, Some(epoch), &fenced(None, epoch));
    }
    desk.claim(&ann, TASK);
    desk.tell(cancel_task(TASK));
    assert_fenced(&mut desk, &ann, Some(5), &fenced(None, 5));
}

#[test]
fn an_assignment_has_no_lease_until_work_begins() {
    let ann = worker("ann");
    let mut desk = one_task();
    desk.tell(assign(TASK, "ann"));
    assert_eq!(desk.state().next_due(), None);
    desk.pass(365 * 24 * 3_600_000);
    assert_eq!(
        refused(&mut desk, &worker("bob"), claim(TASK)),
        Refusal::TaskHeld { task: TASK, holder: agent("ann"), deadline: None }
    );
    desk.tell(assign(TASK, "bob"));
    assert_eq!(refused(&mut desk, &ann, set_status(TASK, TaskStatus::InProgress, None)), fenced(Some("bob"), 0));
    desk.ask(&worker("bob"), set_status(TASK, TaskStatus::InProgress, None)).unwrap();
    assert_eq!(desk.task(TASK).claim.as_ref().unwrap().epoch, 1);
    assert_eq!(desk.state().next_due(), Some(Lease::deadline_from(desk.now, LEASE)));
}

#[test]
fn answer_5_a_heartbeat_that_moves_the_deadline_by_more_than_a_tenth_is_stored() {
    let ann = worker("ann");
    let mut desk = one_task();
    let first = desk.claim(&ann, TASK);
    let (rev, version) = (desk.rev(), desk.task(TASK).version);
    desk.pass(TENTH);
    let held = desk.ask(&ann, heartbeat(TASK, Some(1))).unwrap();
    assert_eq!(
        held,
        BoardReply::Held { epoch: 1, deadline: first.deadline },
        "the answer should contain the stored deadline"
    );
    assert_eq!((desk.rev(), desk.task(TASK).claim.as_ref().unwrap().deadline), (rev, first.deadline));
    desk.pass(1);
    let deadline = Lease::deadline_from(desk.now, LEASE);
    assert_eq!(desk.ask(&ann, heartbeat(TASK, Some(1))), Ok(BoardReply::Held { epoch: 1, deadline }));
    assert_eq!((desk.rev(), desk.task(TASK).version), (rev + 1, version));
    assert_eq!(desk.last_events(), [BoardEvent::LeaseRenewed { task: TASK, deadline }]);
    assert_eq!(desk.state().next_due(), Some(deadline));
    // A renewal does not conflict with an edit based on the earlier version.
    let edit = corkboard_core::board::TaskEdit { priority: Some(1), ..Default::default() };
    desk.tell(BoardCommand::EditTask { task: TASK, edit, if_version: Some(version) });
}

#[test]
fn a_worker_that_heartbeats_before_half_of_its_lease_is_over_keeps_its_task() {
    let ann = worker("ann");
    let mut desk = one_task();
    let claimed = desk.claim(&ann, TASK);
    // A reported case: a lease of 10 s, a heartbeat at 4.5 s, completion at 10.5 s.
    desk.pass(LEASE_MS as i64 * 45 / 100);
    desk.ask(&ann, heartbeat(TASK, Some(claimed.epoch))).unwrap();
    desk.pass(LEASE_MS as i64 * 60 / 100);
    let done = desk.ask(&ann, complete_task(TASK, Some(claimed.epoch)));
    assert_eq!(done, Ok(BoardReply::Moved { status: TaskStatus::Completed }));
}

#[test]
fn answer_5_every_call_of_the_holder_about_its_task_renews() {
    let ann = worker("ann");
    let decision =
        NewDecision { question: "q".into(), choice: "c".into(), affects_tasks: vec![TASK], ..Default::default() };
    let discovery = NewDiscovery { content: "d".into(), affects_tasks: vec![TASK], ..Default::default() };
    let artifact = NewArtifact { path: "p".into(), task: Some(TASK), ..Default::default() };
    let calls = [
        heartbeat(TASK, None),
        set_status(TASK, TaskStatus::InProgress, None),
        set_status(TASK, TaskStatus::Blocked, None),
        BoardCommand::RecordDecision(decision),
        BoardCommand::RecordDiscovery(discovery.clone()),
        BoardCommand::RecordArtifact(artifact),
        complete_task(TASK, None),
    ];
    for call in calls {
        let mut desk = Desk::new();
        desk.add(NewTask { needs_review: true, ..NewTask::new("task") });
        desk.claim(&ann, TASK);
        desk.pass(TENTH + 1);
        desk.ask(&ann, call.clone()).unwrap();
        let deadline = desk.task(TASK).claim.as_ref().unwrap().deadline;
        assert_eq!(deadline, Lease::deadline_from(desk.now, LEASE), "{call:?}");
    }
    // Calls of other workers do not renew it.
    let mut desk = one_task();
    let claimed = desk.claim(&ann, TASK);
    desk.pass(TENTH + 1);
    desk.ask(&worker("bob"), BoardCommand::RecordDiscovery(discovery)).unwrap();
    assert_eq!(desk.task(TASK).claim.as_ref().unwrap().deadline, claimed.deadline);
}

#[test]
fn answer_5_commands_under_a_claim_are_fenced_with_it_and_renew_it() {
    let (ann, bob) = (worker("ann"), worker("bob"));
    let found = NewDiscovery { content: "found".into(), ..NewDiscovery::default() };
    let under = |epoch, command| BoardCommand::UnderClaim { task: TASK, epoch, command: Box::new(command) };
    let record = |epoch| under(epoch, BoardCommand::RecordDiscovery(found.clone()));
    let mut desk = one_task();
    desk.claim(&ann, TASK);
    desk.pass(TENTH + 1);
    desk.ask(&ann, record(1)).unwrap();
    assert_eq!(desk.task(TASK).claim.as_ref().unwrap().deadline, Lease::deadline_from(desk.now, LEASE));
    assert_eq!(refused(&mut desk, &bob, record(1)), fenced(Some("ann"), 1));
    assert_eq!(refused(&mut desk, &ann, record(2)), fenced(Some("ann"), 1));
    desk.pass(LEASE_MS as i64);
    assert_eq!(refused(&mut desk, &ann, record(1)), fenced(None, 1));
    desk.claim(&ann, TASK);
    assert_eq!(refused(&mut desk, &ann, record(1)), fenced(Some("ann"), 2));
    assert_eq!(desk.state().discoveries().count(), 1);
    // If the inner command is refused, the whole command is refused and the claim is not renewed.
    desk.pass(TENTH + 1);
    assert_eq!(
        refused(&mut desk, &ann, under(2, claim(id(9)))),
        Refusal::NotOnBoard { what: "task".into(), id: "T-9".into() }
    );
}

#[test]
fn a_lease_that_ends_in_review_leaves_the_task_there_and_rework_to_anyone() {
    let ann = worker("ann");
    let mut desk = Desk::new();
    desk.add(NewTask { needs_review: true, ..NewTask::new("task") });
    desk.complete(TASK);
    // While the claim is held, rework goes back to its holder.
    let mut held = desk.clone();
    held.tell(review(TASK, ReviewVerdict::NeedsRework));
    assert_eq!((held.status(TASK), held.task(TASK).attempt), (TaskStatus::InProgress, 2));
    held.ask(&ann, complete_task(TASK, Some(1))).unwrap();
    // Without a holder, the task stays in review, and any worker can claim the rework.
    desk.pass(LEASE_MS as i64);
    desk.tell(BoardCommand::Tick);
    assert_eq!((desk.status(TASK), desk.state().next_due()), (TaskStatus::Review, None));
    assert_fenced(&mut desk, &ann, Some(1), &fenced(None, 1));
    desk.tell(review(TASK, ReviewVerdict::NeedsRework));
    assert_eq!((desk.status(TASK), desk.task(TASK).assigned_to.as_ref()), (TaskStatus::Pending, None));
    assert_eq!(desk.claim(&worker("bob"), TASK).attempt, 2);
}

/// A task of ann's that was sent back to her, and another task that is ready.
fn sent_back() -> Desk {
    let mut desk = Desk::new();
    desk.add(NewTask { needs_review: true, ..NewTask::new("task") });
    desk.add(NewTask { priority: 9, ..NewTask::new("beside") });
    desk.complete(TASK);
    desk.tell(review(TASK, ReviewVerdict::NeedsRework));
    desk
}

fn claimed(reply: BoardReply) -> Option<Claimed> {
    match reply {
        BoardReply::Claimed(claimed) => claimed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_holder_claims_its_own_reworked_task_before_anything_else() {
    let (ann, bob) = (worker("ann"), worker("bob"));
    let mut desk = sent_back();
    desk.pass(LEASE_MS as i64 - 1);
    assert_eq!(claimed(desk.clone().ask(&bob, claim_next()).unwrap()).map(|claimed| claimed.task), Some(id(2)));
    let again =
        claimed(desk.ask(&ann, claim_next()).unwrap()).expect("the claim should return the task that was sent back");
    // The same attempt, with a new epoch and a full lease.
    assert_eq!((again.task, again.epoch, again.attempt), (TASK, 2, 2));
    assert_eq!(again.deadline, Lease::deadline_from(desk.now, LEASE));
    assert_fenced(&mut desk, &ann, Some(1), &fenced(Some("ann"), 2));
    // Once it is resumed, the next claim finds other work.
    assert_eq!(claimed(desk.ask(&ann, claim_next()).unwrap()).map(|claimed| claimed.task), Some(id(2)));
    assert_eq!(claimed(desk.ask(&ann, claim_next()).unwrap()), None);
    desk.ask(&ann, complete_task(TASK, Some(2))).unwrap();
    assert_eq!(claimed(desk.ask(&ann, claim_next()).unwrap()), None, "a task in review should not be claimed");
    desk.tell(review(TASK, ReviewVerdict::NeedsRework));
    assert_eq!(
        claimed(desk.ask(&ann, claim(TASK)).unwrap()).map(|claimed| (claimed.epoch, claimed.attempt)),
        Some((3, 3))
    );
}

#[test]
fn rework_gets_a_full_lease_after_a_long_review() {
    let ann = worker("ann");
    let mut desk = Desk::new();
    desk.add(NewTask { needs_review: true, ..NewTask::new("task") });
    desk.claim(&ann, TASK);
    desk.ask(&ann, complete_task(TASK, None)).unwrap();
    desk.pass(LEASE_MS as i64 - 1);
    desk.tell(review(TASK, ReviewVerdict::NeedsRework));
    desk.pass(LEASE_MS as i64 - 1);
    desk.ask(&ann, complete_task(TASK, Some(1))).unwrap();
}

fn claim_again(epoch: u64) -> BoardCommand {
    BoardCommand::Claim { task: Some(TASK), epoch: Some(epoch), lease: LEASE }
}

#[test]
fn a_restarted_worker_reclaims_its_task_by_task_and_epoch() {
    let (ann, bob) = (worker("ann"), worker("bob"));
    let mut desk = one_task();
    desk.claim(&ann, TASK);
    desk.pass(LEASE_MS as i64 - 1);
    let deadline = desk.task(TASK).claim.as_ref().map(|claim| claim.deadline);
    let held = Refusal::TaskHeld { task: TASK, holder: agent("ann"), deadline };
    assert_eq!(
        refused(&mut desk, &ann, claim(TASK)),
        held,
        "without the epoch it could be another process with the same name"
    );
    assert_eq!(refused(&mut desk, &bob, claim_again(1)), held);
    let again = claimed(desk.ask(&ann, claim_again(1)).unwrap()).unwrap();
    assert_eq!((again.epoch, again.attempt), (2, 1));
    assert_eq!(again.deadline, Lease::deadline_from(desk.now, LEASE));
    // The old process is fenced in everything it sends.
    assert_fenced(&mut desk, &ann, Some(1), &fenced(Some("ann"), 2));
    assert_eq!(refused(&mut desk, &ann, claim_again(1)), fenced(Some("ann"), 2));
    // Reclaiming a blocked task resumes it.
    desk.ask(&ann, set_status(TASK, TaskStatus::Blocked, Some(2))).unwrap();
    desk.tell(BoardCommand::Pause { reason: None });
    desk.ask(&ann, claim_again(2)).unwrap();
    assert_eq!(desk.status(TASK), TaskStatus::InProgress, "a holder should reclaim its task during a pause");
    desk.tell(BoardCommand::Resume);
    // The lease ended, and nobody has claimed it since.
    desk.pass(LEASE_MS as i64);
    let late = claimed(desk.ask(&ann, claim_again(3)).unwrap()).unwrap();
    assert_eq!((late.epoch, late.attempt), (4, 2), "reclaiming after expiry should count as a new attempt");
    // Another worker held the task in between.
    desk.pass(LEASE_MS as i64);
    desk.claim(&bob, TASK);
    assert_eq!(refused(&mut desk, &ann, claim_again(4)), fenced(Some("bob"), 5));
    desk.ask(&bob, release(TASK, None)).unwrap();
    assert_eq!(
        refused(&mut desk, &ann, claim_again(6)),
        fenced(None, 5),
        "an epoch that was never given should be refused"
    );
    // The task is free now. A worker that was killed before it stored its newest epoch must still get it.
    let free = claimed(desk.ask(&ann, claim_again(4)).unwrap()).unwrap();
    assert_eq!((free.epoch, free.attempt), (6, 4));
    let nameless = BoardCommand::Claim { task: None, epoch: Some(5), lease: LEASE };
    assert_eq!(refused(&mut desk, &ann, nameless), Refusal::Blank { what: "task".into() });
}

#[test]
fn a_lease_is_neither_too_short_nor_too_long() {
    let mut desk = one_task();
    let (least, most, moment) = (Lease::LEAST, Lease::MOST, Duration::from_millis(1));
    for lease in [Duration::ZERO, least - moment, most + moment, Duration::from_millis(u64::MAX)] {
        let refusal = Refusal::LeaseLength { lease_s: lease.as_secs_f64() };
        assert_eq!(desk.refused(BoardCommand::Claim { task: None, epoch: None, lease }), refusal);
        assert_eq!(desk.refused(BoardCommand::AcquireOrchestrator { lease }), refusal);
        desk.tell(assign(TASK, "hugo"));
        let (task, status) = (TASK, TaskStatus::InProgress);
        let start = BoardCommand::SetStatus { task, status, reason: None, epoch: None, lease };
        assert_eq!(desk.refused(start), refusal);
        desk.tell(release(TASK, None));
    }
    for lease in [least, most] {
        desk.tell(BoardCommand::Claim { task: None, epoch: None, lease });
        desk.tell(release(TASK, None));
    }
}

fn acquire() -> BoardCommand {
    BoardCommand::AcquireOrchestrator { lease: LEASE }
}

fn role_fenced(holder: Option<&str>, epoch: u64) -> Refusal {
    Refusal::Fenced { what: "orchestrator".into(), holder: holder.map(agent), epoch, sent: None, status: None }
}

fn as_orchestrator(epoch: u64) -> BoardCommand {
    BoardCommand::AsOrchestrator { epoch, command: Box::new(add_tasks(vec![NewTask::new("more")])) }
}

#[test]
fn answer_5_a_dead_orchestrator_is_replaced_and_fenced() {
    let (olga, otto) = (orchestrator("olga"), orchestrator("otto"));
    let mut desk = Desk::new();
    let deadline = Lease::deadline_from(desk.now, LEASE);
    assert_eq!(desk.ask(&olga, acquire()), Ok(BoardReply::Held { epoch: 1, deadline }));
    assert_eq!(desk.state().next_due(), Some(deadline));
    let held = Refusal::OrchestratorHeld { holder: agent("olga"), deadline };
    assert_eq!(refused(&mut desk, &otto, acquire()), held);
    // A command under the role renews the role if that moves the deadline by more than a tenth.
    desk.pass(TENTH);
    desk.ask(&olga, as_orchestrator(1)).unwrap();
    assert_eq!(desk.state().orchestrator().unwrap().deadline, deadline);
    desk.pass(1);
    desk.ask(&olga, as_orchestrator(1)).unwrap();
    let deadline = Lease::deadline_from(desk.now, LEASE);
    assert_eq!(desk.state().orchestrator().unwrap().deadline, deadline);
    let rev = desk.rev();
    desk.ask(&olga, BoardCommand::RenewOrchestrator { epoch: 1 }).unwrap();
    assert_eq!(desk.rev(), rev, "a role that was just renewed should not be written again");

    desk.pass(LEASE_MS as i64);
    assert_eq!(refused(&mut desk, &olga, as_orchestrator(1)), role_fenced(None, 1));
    desk.ask(&otto, acquire()).unwrap();
    assert_eq!(desk.state().orchestrator().unwrap().epoch, 2);
    let stale = [
        as_orchestrator(1),
        BoardCommand::RenewOrchestrator { epoch: 1 },
        BoardCommand::ReleaseOrchestrator { epoch: 1 },
    ];
    for command in stale {
        assert_eq!(refused(&mut desk, &olga, command), role_fenced(Some("otto"), 2));
    }
    // Not even with the right epoch: somebody else holds the role.
    assert_eq!(refused(&mut desk, &olga, as_orchestrator(2)), role_fenced(Some("otto"), 2));
    desk.ask(&otto, BoardCommand::ReleaseOrchestrator { epoch: 2 }).unwrap();
    assert_eq!(refused(&mut desk, &otto, as_orchestrator(2)), role_fenced(None, 2));
    desk.ask(&olga, acquire()).unwrap();
    assert_eq!(desk.state().orchestrator().unwrap().epoch, 3);
}

#[test]
fn answer_5_an_orchestrator_with_the_same_name_takes_over_with_a_new_epoch() {
    let olga = orchestrator("olga");
    let mut desk = Desk::new();
    desk.ask(&olga, acquire()).unwrap();
    desk.ask(&olga, acquire()).unwrap();
    assert_eq!(refused(&mut desk, &olga, as_orchestrator(1)), role_fenced(Some("olga"), 2));
    desk.ask(&olga, as_orchestrator(2)).unwrap();
}

#[test]
fn an_orchestrator_without_the_role_changes_nothing_while_another_holds_it() {
    let (olga, otto) = (orchestrator("olga"), orchestrator("otto"));
    let mut desk = one_task();
    desk.claim(&worker("ann"), TASK);
    desk.ask(&olga, acquire()).unwrap();
    let commands = [
        add_tasks(vec![NewTask::new("more")]),
        assign(TASK, "bob"),
        cancel_task(TASK),
        release(TASK, None),
        review(TASK, ReviewVerdict::Approved),
        set_status(TASK, TaskStatus::Cancelled, None),
        claim_next(),
        BoardCommand::RetryFailed,
        BoardCommand::Complete { reason: None, unfinished: Unfinished::Cancel },
        BoardCommand::Cancel { reason: None },
    ];
    for command in commands {
        assert_eq!(refused(&mut desk, &otto, command), role_fenced(Some("olga"), 1));
    }
    // Others continue to work, and people steer. A command that only names the orchestrator counts as the holder's.
    desk.ask(&worker("ann"), heartbeat(TASK, None)).unwrap();
    desk.tell(release(TASK, None));
    desk.ask(&olga, add_tasks(vec![NewTask::new("more")])).unwrap();
}
