//! The states of a task: every transition, and every command in every state.

use crate::board_support::*;
use corkboard_core::board::{
    BoardCommand, CancelCause, NewTask, ReviewVerdict, TaskId, TaskStatus, TaskStatus::*, Unfinished,
};
use corkboard_core::{Actor, ActorKind, Refusal, Role};

const TASK: TaskId = TaskId(1);

/// A board with a task in some state, the actor with most rights over it, and the allowed transitions.
struct Case {
    name: &'static str,
    desk: Desk,
    actor: Actor,
    moves: &'static [TaskStatus],
}

fn cases() -> Vec<Case> {
    // An actor that may do everything, because permissions are tested elsewhere.
    let ann = named("ann", Role::Admin);
    let plain = || {
        let mut desk = Desk::new();
        desk.add(NewTask::new("task"));
        desk
    };
    let reviewed = || {
        let mut desk = Desk::new();
        desk.add(NewTask { needs_review: true, ..NewTask::new("task") });
        desk
    };
    let submitted = || {
        let mut desk = reviewed();
        desk.complete(TASK);
        desk
    };
    // A task with a dependency that can fail or be cancelled.
    let below = || {
        let mut desk = plain();
        let upstream = desk.add(NewTask::new("upstream"));
        desk.tell(BoardCommand::AddDependency { task: TASK, depends_on: upstream });
        (desk, upstream)
    };
    let case = |name, mut desk: Desk, commands: Vec<BoardCommand>, moves| {
        for command in commands {
            desk.ask(&ann, command).unwrap();
        }
        Case { name, desk, actor: ann.clone(), moves }
    };
    let blocked = || set_status(TASK, Blocked, None);
    let mut all = vec![
        case("pending", plain(), vec![], &[Assigned, Cancelled]),
        case("assigned", plain(), vec![assign(TASK, "ann")], &[Pending, InProgress, Failed, Cancelled]),
        case("in progress", plain(), vec![claim(TASK)], &[Pending, Blocked, Completed, Failed, Cancelled]),
        case("in progress, reviewed", reviewed(), vec![claim(TASK)], &[Pending, Blocked, Review, Failed, Cancelled]),
        case("blocked", plain(), vec![claim(TASK), blocked()], &[Pending, InProgress, Failed, Cancelled]),
        case("review, held", submitted(), vec![], &[InProgress, Completed, Failed, Cancelled]),
        case("completed", plain(), vec![claim(TASK), complete_task(TASK, None)], &[]),
        case("failed", plain(), vec![claim(TASK), fail_task(TASK, None)], &[Pending]),
        case("cancelled, requested", plain(), vec![cancel_task(TASK)], &[]),
    ];
    let mut desk = submitted();
    desk.pass(LEASE_MS as i64);
    desk.tell(BoardCommand::Tick);
    all.push(case("review, lease gone", desk, vec![], &[Pending, Completed, Failed, Cancelled]));
    let (mut desk, upstream) = below();
    desk.fail(upstream);
    all.push(case("cancelled, upstream failed", desk, vec![], &[Pending]));
    let mut desk = plain();
    let other = desk.add(NewTask::new("other"));
    let choice = desk.add_choice(&[("this", &[other]), ("that", &[TASK])]);
    desk.choose(choice, "this");
    all.push(case("cancelled, branch not taken", desk, vec![], &[]));
    all
}

#[test]
fn every_pair_of_states_is_a_move_or_is_refused_with_the_moves_allowed() {
    let mut pairs = std::collections::BTreeSet::new();
    for Case { name, desk, actor, moves } in cases() {
        let from = desk.status(TASK);
        // An agent cannot approve its own task, so a person does.
        let kind = if from == Review { ActorKind::Human } else { actor.kind };
        let actor = Actor { kind, ..actor };
        assert_eq!(desk.task(TASK).moves(), moves, "{name}");
        for to in TaskStatus::ALL {
            pairs.insert((from, to));
            let mut desk = desk.clone();
            let (reason, epoch, lease) = (Some("because".into()), None, LEASE);
            let command = BoardCommand::SetStatus { task: TASK, status: to, reason, epoch, lease };
            // Reporting the current state again counts as a heartbeat.
            let is_heard_of = from == to && matches!(from, InProgress | Blocked);
            if moves.contains(&to) || is_heard_of {
                desk.ask(&actor, command).unwrap();
                assert_eq!(desk.status(TASK), to, "{name}");
            } else {
                let refusal = desk.refused_to(&actor, command);
                assert_eq!(refusal, Refusal::TaskMove { task: TASK, from, to, allowed: moves.to_vec() }, "{name}");
            }
        }
    }
    assert_eq!(pairs.len(), 64);
}

#[test]
fn every_command_in_every_state_moves_the_task_or_says_why_not() {
    type Command = fn() -> BoardCommand;
    let commands: [(&str, Command); 11] = [
        ("claim", || claim(TASK)),
        ("assign", || assign(TASK, "bob")),
        ("heartbeat", || heartbeat(TASK, None)),
        ("release", || release(TASK, None)),
        ("complete", || complete_task(TASK, None)),
        ("fail", || fail_task(TASK, None)),
        ("approve", || review(TASK, ReviewVerdict::Approved)),
        ("rework", || review(TASK, ReviewVerdict::NeedsRework)),
        ("reject", || review(TASK, ReviewVerdict::Rejected)),
        ("cancel", || cancel_task(TASK)),
        ("retry", || BoardCommand::Retry { task: TASK }),
    ];
    let mut table = String::new();
    for Case { name, desk, actor, .. } in cases() {
        let cells = commands.map(|(command, make)| {
            let mut desk = desk.clone();
            // A worker if workers may send the command, because people and orchestrators may take any task.
            let is_for_workers = make().action().is_none_or(|action| action.is_allowed_to(Role::Worker));
            let role = if is_for_workers { Role::Worker } else { Role::Admin };
            let became = match desk.ask(&Actor { role, ..actor.clone() }, make()) {
                Ok(_) => desk.status(TASK).to_string(),
                Err(refusal) => shown(&refusal),
            };
            format!("{command}: {became}")
        });
        let (first, second) = cells.split_at(6);
        table.push_str(&format!("{name}\n  {}\n  {}\n", first.join(", "), second.join(", ")));
    }
    insta::assert_snapshot!(table, @r"
    pending
      claim: in_progress, assign: assigned, heartbeat: (Fenced), release: (Fenced), complete: (Fenced), fail: (Fenced)
      approve: (TaskMove), rework: (TaskMove), reject: (TaskMove), cancel: cancelled, retry: (TaskMove)
    assigned
      claim: in_progress, assign: assigned, heartbeat: (NotThisWay), release: pending, complete: (TaskMove), fail: failed
      approve: (TaskMove), rework: (NotThisWay), reject: (NotThisWay), cancel: cancelled, retry: (NotThisWay)
    in progress
      claim: (TaskHeld), assign: (TaskMove), heartbeat: in_progress, release: pending, complete: completed, fail: failed
      approve: (NotThisWay), rework: (TaskMove), reject: (NotThisWay), cancel: cancelled, retry: (NotThisWay)
    in progress, reviewed
      claim: (TaskHeld), assign: (TaskMove), heartbeat: in_progress, release: pending, complete: review, fail: failed
      approve: (TaskMove), rework: (TaskMove), reject: (NotThisWay), cancel: cancelled, retry: (NotThisWay)
    blocked
      claim: (TaskHeld), assign: (TaskMove), heartbeat: blocked, release: pending, complete: (TaskMove), fail: failed
      approve: (TaskMove), rework: (NotThisWay), reject: (NotThisWay), cancel: cancelled, retry: (NotThisWay)
    review, held
      claim: (TaskMove), assign: (TaskMove), heartbeat: review, release: (TaskMove), complete: (TaskMove), fail: (NotThisWay)
      approve: (OwnTask), rework: in_progress, reject: failed, cancel: cancelled, retry: (TaskMove)
    completed
      claim: (TaskMove), assign: (TaskMove), heartbeat: (Fenced), release: (Fenced), complete: (Fenced), fail: (Fenced)
      approve: (TaskMove), rework: (TaskMove), reject: (TaskMove), cancel: (TaskMove), retry: (TaskMove)
    failed
      claim: (TaskMove), assign: (TaskMove), heartbeat: (Fenced), release: (Fenced), complete: (Fenced), fail: (Fenced)
      approve: (TaskMove), rework: (TaskMove), reject: (TaskMove), cancel: (TaskMove), retry: pending
    cancelled, requested
      claim: (TaskMove), assign: (TaskMove), heartbeat: (Fenced), release: (Fenced), complete: (Fenced), fail: (Fenced)
      approve: (TaskMove), rework: (TaskMove), reject: (TaskMove), cancel: (TaskMove), retry: (TaskMove)
    review, lease gone
      claim: (TaskMove), assign: (TaskMove), heartbeat: (Fenced), release: (Fenced), complete: (Fenced), fail: (Fenced)
      approve: (OwnTask), rework: pending, reject: failed, cancel: cancelled, retry: (NotThisWay)
    cancelled, upstream failed
      claim: (TaskMove), assign: (TaskMove), heartbeat: (Fenced), release: (Fenced), complete: (Fenced), fail: (Fenced)
      approve: (TaskMove), rework: (TaskMove), reject: (TaskMove), cancel: (TaskMove), retry: pending
    cancelled, branch not taken
      claim: (TaskMove), assign: (TaskMove), heartbeat: (Fenced), release: (Fenced), complete: (Fenced), fail: (Fenced)
      approve: (TaskMove), rework: (TaskMove), reject: (TaskMove), cancel: (TaskMove), retry: (TaskMove)
    ");
}

fn shown(refusal: &Refusal) -> String {
    let name = format!("{refusal:?}");
    format!("({})", name.split([' ', '{']).next().unwrap())
}

#[test]
fn a_batch_is_claimed_by_assignment_then_priority_then_age() {
    let mut desk = Desk::new();
    let priority = |priority| NewTask { priority, ..NewTask::new("task") };
    desk.add_all(vec![priority(0), priority(5), priority(5), priority(-1), priority(1)]);
    desk.tell(assign(id(4), "ann"));
    let claimed = |desk: &mut Desk, actor: &Actor| match desk.ask(actor, claim_next()).unwrap() {
        corkboard_core::board::BoardReply::Claimed(claimed) => claimed.map(|claimed| claimed.task.0),
        other => panic!("{other:?}"),
    };
    assert_eq!(desk.ready(), ids(&[2, 3, 5, 1]));
    let taken: Vec<_> = (0..5).map(|_| claimed(&mut desk, &worker("ann"))).collect();
    assert_eq!(taken, [Some(4), Some(2), Some(3), Some(5), Some(1)]);
    let rev = desk.rev();
    assert_eq!(claimed(&mut desk, &worker("ann")), None);
    assert_eq!(desk.rev(), rev, "a claim without result should write nothing");
}

#[test]
fn a_board_ends_once_and_then_never_changes() {
    let end = |unfinished| BoardCommand::Complete { reason: None, unfinished };
    let mut desk = Desk::new();
    desk.add(NewTask::new("task"));
    assert_eq!(desk.refused(end(Unfinished::Refuse)), Refusal::Unfinished { unfinished: 1 });
    desk.claim(&worker("ann"), TASK);
    desk.ask(&orchestrator("ann"), BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    desk.tell(end(Unfinished::Cancel));
    assert_eq!(desk.cancelled(TASK), Some((CancelCause::BoardEnded, None)));
    assert_eq!((desk.state().orchestrator(), corkboard_core::Space::next_due(desk.state())), (None, None));
    let commands = [
        end(Unfinished::Cancel),
        BoardCommand::Cancel { reason: None },
        add_tasks(vec![NewTask::new("more")]),
        claim_next(),
        heartbeat(TASK, Some(1)),
        complete_task(TASK, Some(1)),
        BoardCommand::RetryFailed,
        BoardCommand::AcquireOrchestrator { lease: LEASE },
    ];
    for command in commands {
        let refusal = desk.refused(command);
        assert_eq!(refusal, Refusal::BoardEnded { status: corkboard_core::board::BoardStatus::Completed });
    }
    assert_eq!(desk.refused(BoardCommand::Create(Default::default())), Refusal::BoardExists);
    assert_eq!(Desk::empty(Default::default()).refused(claim_next()), Refusal::NoBoard);
}
