//! Nudges, approvals and pauses: what people do on a board, and its effect on workers.

use crate::board_support::*;
use corkboard_core::board::{
    ApprovalId, ApprovalVerdict, BoardCommand, BoardEvent, BoardImage, BoardReply, DecisionId, ForkedFrom, Hindrance,
    NewDecision, NewDiscovery, NewNudge, NewTask, NudgeId, NudgePriority, NudgeTarget, ReviewVerdict, TaskEdit, TaskId,
    TaskStatus,
};
use corkboard_core::{Actor, Limits, Refusal, Revisioned, Role};
use jiff::SignedDuration;

fn to(name: &str) -> NudgeTarget {
    NudgeTarget::Agent(agent(name))
}

fn nudge(to: NudgeTarget, priority: NudgePriority) -> BoardCommand {
    BoardCommand::SendNudge(NewNudge { to, message: "look".into(), priority, expires_at: None })
}

fn shown(desk: &Desk, actor: &Actor) -> Vec<u64> {
    let state = desk.state().at(desk.now, desk.rev());
    state.nudges_for(&actor.principal, actor.role).iter().map(|nudge| nudge.id.0).collect()
}

fn deliver(nudges: &[u64]) -> BoardCommand {
    BoardCommand::DeliverNudges { nudges: nudges.iter().copied().map(NudgeId).collect() }
}

fn acknowledge(nudges: &[u64]) -> BoardCommand {
    BoardCommand::AcknowledgeNudges { nudges: nudges.iter().copied().map(NudgeId).collect() }
}

fn asks(tasks: &[u64]) -> BoardCommand {
    BoardCommand::RecordDecision(NewDecision {
        question: "Which?".into(),
        choice: "this".into(),
        affects_tasks: ids(tasks),
        needs_approval: true,
        ..NewDecision::default()
    })
}

fn judge(decision: u64, verdict: ApprovalVerdict) -> BoardCommand {
    BoardCommand::Judge { decision: DecisionId(decision), verdict, comment: None }
}

#[test]
fn a_nudge_is_shown_only_to_its_targets_urgent_first() {
    let mut desk = Desk::new();
    desk.tell(nudge(to("ann"), NudgePriority::Low));
    desk.tell(nudge(NudgeTarget::All, NudgePriority::Normal));
    desk.tell(nudge(NudgeTarget::Orchestrator, NudgePriority::Normal));
    desk.tell(nudge(to("ann"), NudgePriority::Urgent));
    desk.tell(nudge(to("ann"), NudgePriority::Normal));
    assert_eq!(shown(&desk, &worker("ann")), [4, 2, 5, 1]);
    assert_eq!(shown(&desk, &worker("bob")), [2]);
    assert_eq!(shown(&desk, &named("rita", Role::Reviewer)), [2]);
    assert_eq!(shown(&desk, &orchestrator("olga")), [2, 3]);
    assert_eq!(shown(&desk, &named("olga", Role::Observer)), [0u64; 0]);
    assert_eq!(shown(&desk, &human()), [0u64; 0], "the sender should not get the nudge");
    assert_eq!(shown(&desk, &named("paul", Role::Admin)), [0u64; 0], "an onlooker should not get the nudge");
    // The holder of the role is the orchestrator, even if it acts as a worker.
    desk.ask(&orchestrator("olga"), BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    assert_eq!(shown(&desk, &worker("olga")), [2, 3]);
    assert_eq!(shown(&desk, &orchestrator("otto")), [2]);
    // A nudge to all reaches everybody who holds a task.
    desk.add(NewTask::new("task"));
    desk.claim(&named("paul", Role::Admin), id(1));
    assert_eq!(shown(&desk, &named("paul", Role::Admin)), [2]);
    // It also reaches everybody who has worked here, because it may concern their work.
    let by = |name| named(name, Role::Admin);
    desk.ask(&by("paul"), complete_task(id(1), None)).unwrap();
    let found = NewDiscovery { content: "it rains".into(), ..NewDiscovery::default() };
    desk.ask(&by("dora"), BoardCommand::RecordDiscovery(found)).unwrap();
    assert_eq!((shown(&desk, &by("paul")), shown(&desk, &by("dora"))), (vec![2], vec![2]));
    assert_eq!(desk.ask(&by("dora"), acknowledge(&[2])).unwrap(), BoardReply::Nudges(vec![NudgeId(2)]));
    let refused = desk.refused_to(&by("nina"), acknowledge(&[2]));
    assert_eq!(refused.to_string(), "N-2 is not for you, it is for all others who work on the board");
}

#[test]
fn a_nudge_is_shown_until_acknowledged_by_each_target() {
    let (ann, bob) = (worker("ann"), worker("bob"));
    let mut desk = Desk::new();
    desk.tell(nudge(NudgeTarget::All, NudgePriority::Normal));
    desk.tell(nudge(to("ann"), NudgePriority::Normal));
    assert_eq!(desk.ask(&ann, deliver(&[1, 2])).unwrap(), BoardReply::Nudges(vec![NudgeId(1), NudgeId(2)]));
    let proof = (desk.rev(), desk.now);
    desk.pass(1_000);
    assert_eq!(
        desk.ask(&ann, deliver(&[1, 2])).unwrap(),
        BoardReply::Nudges(vec![]),
        "delivery should be recorded once"
    );
    assert_eq!(desk.rev(), proof.0);
    let delivered = &desk.state().nudge(NudgeId(1)).unwrap().delivered;
    assert_eq!((delivered.len(), &*delivered[0].agent, delivered[0].at), (1, "ann", proof.1));
    assert_eq!(shown(&desk, &ann), [1, 2], "a delivered nudge should be shown until it is acknowledged");
    assert_eq!(desk.ask(&ann, acknowledge(&[1])).unwrap(), BoardReply::Nudges(vec![NudgeId(1)]));
    let rev = desk.rev();
    assert_eq!(desk.ask(&ann, acknowledge(&[1])).unwrap(), BoardReply::Nudges(vec![]));
    assert_eq!(desk.rev(), rev, "a second acknowledgement should write nothing");
    assert_eq!((shown(&desk, &ann), shown(&desk, &bob)), (vec![2], vec![1]));
    // Acknowledging a nudge implies that it was read.
    desk.ask(&bob, acknowledge(&[1])).unwrap();
    assert_eq!(
        desk.last_events(),
        [
            BoardEvent::NudgeDelivered { nudge: NudgeId(1), agent: "bob".into() },
            BoardEvent::NudgeAcknowledged { nudge: NudgeId(1), agent: "bob".into() },
        ]
    );
    // A worker that joins later gets it, too. A replay of the log gives the same state.
    assert_eq!(shown(&desk, &worker("cat")), [1]);
    assert_eq!(replay(Revisioned::default(), &desk.log, &desk.limits), desk.live);
    assert_eq!(Revisioned::decode(&desk.live.encode().unwrap()).unwrap(), desk.live);
    desk.tell(BoardCommand::Cancel { reason: None });
    assert_eq!(shown(&desk, &worker("cat")), [0u64; 0], "an ended board should show no nudges");
}

#[test]
fn nudges_to_others_are_neither_read_nor_acknowledged() {
    let mut desk = Desk::new();
    desk.tell(nudge(to("ann"), NudgePriority::Normal));
    desk.tell(nudge(NudgeTarget::All, NudgePriority::Normal));
    let refusal = Refusal::NotForYou { nudge: NudgeId(1), to: "ann".into() };
    assert_eq!(desk.refused_to(&worker("bob"), acknowledge(&[2, 1])), refusal);
    assert_eq!(desk.refused_to(&worker("bob"), deliver(&[2, 1])), refusal);
    assert_eq!(
        desk.refused_to(&worker("ann"), acknowledge(&[9])),
        Refusal::NotOnBoard { what: "nudge".into(), id: "N-9".into() }
    );
    let (to, message, priority) = (NudgeTarget::All, " ".into(), NudgePriority::Low);
    let empty = BoardCommand::SendNudge(NewNudge { to, message, priority, expires_at: None });
    assert_eq!(desk.refused(empty), Refusal::Blank { what: "message".into() });
}

#[test]
fn one_acknowledgement_is_enough_for_a_nudge_to_the_orchestrator() {
    let (olga, otto) = (orchestrator("olga"), orchestrator("otto"));
    let mut desk = Desk::new();
    desk.tell(nudge(NudgeTarget::Orchestrator, NudgePriority::Urgent));
    assert_eq!(shown(&desk, &otto), [1]);
    desk.ask(&olga, acknowledge(&[1])).unwrap();
    assert_eq!((shown(&desk, &olga), shown(&desk, &otto)), (vec![], vec![]));
}

#[test]
fn a_nudge_expires() {
    let mut desk = Desk::new();
    let now = desk.now;
    let until = |at| {
        let (to, message, priority) = (NudgeTarget::All, "soon".into(), NudgePriority::Normal);
        BoardCommand::SendNudge(NewNudge { to, message, priority, expires_at: Some(at) })
    };
    assert!(matches!(desk.refused(until(now)), Refusal::Expiry { .. }));
    desk.tell(until(now + SignedDuration::from_secs(10)));
    desk.pass(9_999);
    assert_eq!(shown(&desk, &worker("ann")), [1]);
    desk.pass(1);
    assert_eq!(shown(&desk, &worker("ann")), [0u64; 0]);
    desk.tell(BoardCommand::Tick);
    assert_eq!(desk.last_events(), [BoardEvent::NudgeExpired { nudge: NudgeId(1) }]);
}

#[test]
fn a_task_waits_for_the_approval_of_a_decision_about_it() {
    let ann = worker("ann");
    let mut desk = Desk::new();
    desk.add_all(vec![NewTask::new("a"), NewTask::new("b"), NewTask { needs_review: true, ..NewTask::new("c") }]);
    desk.claim(&ann, id(2));
    desk.claim(&ann, id(3));
    desk.ask(&ann, asks(&[1, 2, 3])).unwrap();
    assert_eq!(desk.ready(), [TaskId(0); 0]);
    let decision = DecisionId(1);
    assert_eq!(desk.state().hindrances(id(1)), [Hindrance::Approval { decision }]);
    assert!(matches!(desk.refused_to(&ann, claim(id(1))), Refusal::NotReady { .. }));
    let waits = |task| Refusal::AwaitsApproval { task, decisions: vec![decision] };
    assert_eq!(desk.refused_to(&ann, complete_task(id(2), None)), waits(id(2)));
    assert_eq!(desk.refused_to(&ann, set_status(id(2), TaskStatus::Completed, None)), waits(id(2)));
    // The task can be submitted for review, but the reviewer cannot approve it.
    desk.ask(&ann, complete_task(id(3), None)).unwrap();
    assert_eq!(desk.refused(review(id(3), ReviewVerdict::Approved)), waits(id(3)));
    assert_eq!(desk.refused(set_status(id(3), TaskStatus::Completed, None)), waits(id(3)));
    assert!(!desk.state().decision(decision).unwrap().holds());

    assert_eq!(desk.tell(judge(1, ApprovalVerdict::Approved)), BoardReply::Approval(ApprovalId(1)));
    let approval = desk.state().approval(ApprovalId(1)).unwrap();
    assert_eq!((approval.decision, &*approval.created_by, approval.created_at), (decision, "hugo", desk.now));
    assert!(desk.state().decision(decision).unwrap().holds());
    assert_eq!(desk.ready(), [id(1)]);
    desk.ask(&ann, complete_task(id(2), None)).unwrap();
    desk.tell(review(id(3), ReviewVerdict::Approved));
}

#[test]
fn a_rejected_decision_does_not_hold_and_its_verdicts_are_kept() {
    let mut desk = Desk::new();
    desk.add(NewTask::new("a"));
    desk.ask(&worker("ann"), asks(&[1])).unwrap();
    desk.tell(BoardCommand::Judge {
        decision: DecisionId(1),
        verdict: ApprovalVerdict::Rejected,
        comment: Some("too dear".into()),
    });
    let holds = |desk: &Desk| desk.state().decision(DecisionId(1)).unwrap().holds();
    assert!(!holds(&desk));
    assert_eq!(desk.ready(), [id(1)], "a rejection should count as a verdict");
    // The same verdict again changes nothing. Another verdict is a new one.
    assert_eq!(desk.tell(judge(1, ApprovalVerdict::Rejected)), BoardReply::Approval(ApprovalId(1)));
    assert_eq!(desk.tell(judge(1, ApprovalVerdict::Approved)), BoardReply::Approval(ApprovalId(2)));
    assert!(holds(&desk));
    assert_eq!(desk.state().approvals().count(), 2);
    assert_eq!(desk.refused_to(&worker("ann"), asks(&[])), Refusal::NothingWaits);
}

#[test]
fn orchestrators_and_people_supersede_any_decision_and_open_its_gate() {
    let mut desk = Desk::new();
    desk.add(NewTask::new("a"));
    for (number, actor) in (1..).zip([human(), orchestrator("olga"), named("root", Role::Admin)]) {
        desk.ask(&worker("ann"), asks(&[1])).unwrap();
        let old = Some(DecisionId(2 * number - 1));
        let better = BoardCommand::RecordDecision(NewDecision {
            question: "Which?".into(),
            choice: "that".into(),
            supersedes: old,
            ..NewDecision::default()
        });
        for other in [worker("bob"), named("rita", Role::Reviewer)] {
            assert!(matches!(desk.refused_to(&other, better.clone()), Refusal::NotAuthor { .. }));
        }
        assert_eq!(desk.ready(), [TaskId(0); 0]);
        desk.ask(&actor, better).unwrap();
        assert_eq!(desk.ready(), [id(1)]);
        let by = DecisionId(2 * number);
        assert_eq!(
            desk.refused(judge(2 * number - 1, ApprovalVerdict::Approved)),
            Refusal::Superseded { decision: DecisionId(2 * number - 1), by }
        );
    }
    // For a decision that was replaced twice, the refusal names the latest replacement.
    let again = NewDecision {
        question: "Which?".into(),
        choice: "another".into(),
        supersedes: Some(DecisionId(2)),
        ..NewDecision::default()
    };
    desk.tell(BoardCommand::RecordDecision(again));
    let twice = Refusal::Superseded { decision: DecisionId(1), by: DecisionId(7) };
    assert_eq!(desk.refused(judge(1, ApprovalVerdict::Rejected)), twice);
    // A fork keeps that, too.
    let (mut copy, image) = (Desk::empty(Limits::default()), Box::new(BoardImage::from(desk.state().clone())));
    copy.tell(BoardCommand::Fork { name: None, image, from: ForkedFrom { board: "b".into(), rev: 1 } });
}

#[test]
fn a_paused_board_starts_nothing_and_loses_nothing() {
    let (ann, olga) = (worker("ann"), orchestrator("olga"));
    let mut desk = Desk::new();
    desk.add_all(vec![
        NewTask::new("a"),
        NewTask::new("b"),
        NewTask { retry_limit: 1, retry_backoff_s: 30, ..NewTask::new("c") },
    ]);
    desk.tell(assign(id(2), "ann"));
    desk.fail(id(3));
    let claimed = desk.claim(&ann, id(1));
    desk.ask(&olga, BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    desk.pass(3_000);
    desk.tell(BoardCommand::Pause { reason: Some("look first".into()) });
    let since = desk.now;
    let paused = Refusal::Paused { by: "hugo".into(), at: since };
    let hour = SignedDuration::from_hours(1);
    desk.pass(hour.as_millis() as i64);
    assert_eq!(desk.refused_to(&ann, claim_next()), paused);
    assert_eq!(desk.refused_to(&ann, claim(id(2))), paused);
    assert_eq!(desk.refused_to(&ann, set_status(id(2), TaskStatus::InProgress, None)), paused);
    desk.tell(BoardCommand::Tick);
    assert_eq!(desk.status(id(1)), TaskStatus::InProgress, "a pause should freeze leases");
    // Holders can send heartbeats and continue. A lease acquired during the pause counts from the pause's start.
    desk.ask(&ann, heartbeat(id(1), Some(claimed.epoch))).unwrap();
    desk.ask(&olga, BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    let rev = desk.rev();
    desk.tell(BoardCommand::Pause { reason: None });
    assert_eq!(desk.rev(), rev, "pausing a paused board changes nothing");
    desk.tell(BoardCommand::Resume);
    assert_eq!(desk.task(id(1)).claim.as_ref().unwrap().deadline, claimed.deadline + hour);
    let lease = SignedDuration::from_millis(LEASE_MS as i64);
    assert_eq!(desk.state().orchestrator().unwrap().deadline, desk.now + lease);
    assert_eq!(desk.task(id(3)).not_before, Some(desk.now + SignedDuration::from_secs(27)));
    desk.pass(27_000);
    desk.tell(BoardCommand::Tick);
    assert_eq!((desk.status(id(1)), desk.ready()), (TaskStatus::Pending, ids(&[1, 3])));
    desk.claim(&ann, id(2));
    let rev = desk.rev();
    desk.tell(BoardCommand::Resume);
    assert_eq!(desk.rev(), rev);
    // Ending a board ends its pause, and a fork of it is not paused either.
    desk.tell(BoardCommand::Pause { reason: None });
    let image = Box::new(BoardImage::from(desk.state().clone()));
    desk.tell(BoardCommand::Cancel { reason: None });
    assert!(desk.state().info().unwrap().paused.is_none());
    let mut copy = Desk::empty(Limits::default());
    copy.tell(BoardCommand::Fork { name: None, image, from: ForkedFrom { board: "b".into(), rev: 1 } });
    assert!(copy.state().info().unwrap().paused.is_none());
}

/// A task of ann's in review.
fn submitted() -> Desk {
    let mut desk = Desk::new();
    desk.add(NewTask { needs_review: true, ..NewTask::new("task") });
    desk.complete(id(1));
    desk
}

#[test]
fn an_assigned_review_is_given_only_by_its_reviewer_or_a_person() {
    let (qa, olga) = (named("qa", Role::Reviewer), orchestrator("olga"));
    let mut desk = submitted();
    desk.tell(BoardCommand::AssignReview { task: id(1), agent: agent("qa") });
    let others = [named("other", Role::Reviewer), olga.clone(), named("root", Role::Admin)];
    for (other, verdict) in others.iter().flat_map(|other| {
        [ReviewVerdict::Approved, ReviewVerdict::NeedsRework, ReviewVerdict::Rejected].map(|verdict| (other, verdict))
    }) {
        let refusal = desk.refused_to(other, review(id(1), verdict));
        assert!(refusal.to_string().contains("qa"), "{refusal}");
    }
    // Setting the status is refused, too.
    for status in [TaskStatus::Completed, TaskStatus::InProgress, TaskStatus::Failed] {
        let refusal = desk.refused_to(&olga, set_status(id(1), status, None));
        assert!(refusal.to_string().contains("qa"), "{refusal}");
    }
    // Other agents cannot take over the review. A person can, and can assign it to anybody.
    let take = |to: &str| BoardCommand::AssignReview { task: id(1), agent: agent(to) };
    assert_eq!(desk.refused_to(&olga, take("olga")), Refusal::NotReviewer { task: id(1), reviewer: agent("qa") });
    desk.clone().tell(take("olga"));
    for who in [qa, human()] {
        desk.clone().ask(&who, review(id(1), ReviewVerdict::Approved)).unwrap();
    }
    // Without an assigned reviewer, any reviewer may review.
    submitted().ask(&others[0], review(id(1), ReviewVerdict::Approved)).unwrap();
}

#[test]
fn no_agent_approves_its_own_task() {
    let mut desk = submitted();
    for role in [Role::Orchestrator, Role::Reviewer, Role::Admin] {
        let refusal = desk.refused_to(&named("ann", role), review(id(1), ReviewVerdict::Approved));
        assert!(refusal.to_string().contains("own"), "{refusal}");
        desk.refused_to(&named("ann", role), set_status(id(1), TaskStatus::Completed, None));
    }
    // Not even as the assigned reviewer. But anybody may send their own work back.
    desk.tell(BoardCommand::AssignReview { task: id(1), agent: agent("ann") });
    desk.refused_to(&named("ann", Role::Reviewer), review(id(1), ReviewVerdict::Approved));
    desk.clone().ask(&named("ann", Role::Reviewer), review(id(1), ReviewVerdict::NeedsRework)).unwrap();
    // After the lease has expired, it is still ann's work.
    desk.pass(LEASE_MS as i64);
    desk.tell(BoardCommand::Tick);
    desk.refused_to(&named("ann", Role::Reviewer), review(id(1), ReviewVerdict::Approved));
    // An agent cannot remove the review from its own task, either.
    let edit = TaskEdit { needs_review: Some(false), ..TaskEdit::default() };
    let drop_review = BoardCommand::EditTask { task: id(1), edit, if_version: None };
    let refusal = Refusal::OwnTask { task: id(1), principal: "ann".into() };
    assert_eq!(desk.refused_to(&named("ann", Role::Orchestrator), drop_review.clone()), refusal);
    desk.clone().ask(&orchestrator("olga"), drop_review).unwrap();
    // A person may approve their own work.
    let mut own = Desk::new();
    own.add(NewTask { needs_review: true, ..NewTask::new("task") });
    own.tell(claim(id(1)));
    own.tell(complete_task(id(1), None));
    own.tell(review(id(1), ReviewVerdict::Approved));
}

fn irreversible(supersedes: Option<u64>, force: bool) -> BoardCommand {
    BoardCommand::RecordDecision(NewDecision {
        force,
        question: "Delete the old data?".into(),
        choice: "yes".into(),
        reversible: Some(false),
        supersedes: supersedes.map(DecisionId),
        ..NewDecision::default()
    })
}

#[test]
fn an_irreversible_decision_is_superseded_only_by_a_person_with_force() {
    let ann = worker("ann");
    let mut desk = Desk::new();
    desk.ask(&ann, irreversible(None, false)).unwrap();
    let refusal = Refusal::Irreversible { decision: DecisionId(1) };
    for who in [ann, orchestrator("olga"), named("root", Role::Admin)] {
        assert_eq!(desk.refused_to(&who, irreversible(Some(1), false)), refusal);
        assert_eq!(desk.refused_to(&who, irreversible(Some(1), true)), refusal, "only a person may use force");
    }
    assert_eq!(desk.refused(irreversible(Some(1), false)), refusal);
    desk.tell(irreversible(Some(1), true));
    assert_eq!(desk.state().decision(DecisionId(1)).unwrap().superseded_by, Some(DecisionId(2)));
}

#[test]
fn a_worker_that_asks_for_it_cannot_complete_before_urgent_nudges_are_delivered() {
    let ann = worker("ann");
    let mut desk = Desk::new();
    desk.add(NewTask::new("task"));
    desk.claim(&ann, id(1));
    let done = |heed_nudges| match complete_task(id(1), None) {
        BoardCommand::CompleteTask { task, result, epoch, .. } => {
            BoardCommand::CompleteTask { task, result, epoch, heed_nudges }
        }
        other => other,
    };
    desk.tell(nudge(to("ann"), NudgePriority::Normal));
    desk.tell(nudge(to("bob"), NudgePriority::Urgent));
    desk.tell(nudge(to("ann"), NudgePriority::Urgent));
    desk.tell(nudge(NudgeTarget::All, NudgePriority::Urgent));
    let refusal = Refusal::UrgentNudges { task: id(1), nudges: vec![NudgeId(3), NudgeId(4)] };
    assert_eq!(desk.refused_to(&ann, done(true)), refusal);
    assert!(
        matches!(desk.refused_to(&worker("bob"), done(true)), Refusal::Fenced { .. }),
        "bob does not hold the task"
    );
    // Without asking for the check, as people and scripts do.
    desk.clone().ask(&ann, done(false)).unwrap();
    desk.ask(&ann, deliver(&[3])).unwrap();
    assert_eq!(desk.refused_to(&ann, done(true)), Refusal::UrgentNudges { task: id(1), nudges: vec![NudgeId(4)] });
    desk.ask(&ann, deliver(&[4])).unwrap();
    desk.ask(&ann, done(true)).unwrap();
}
