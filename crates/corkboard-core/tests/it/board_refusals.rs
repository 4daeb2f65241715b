//! The messages of refused board commands.

use crate::board_support::{Desk, agent, at, id};
use corkboard_core::board::{
    BoardStatus, ChoiceId, DecisionId, Hindrance, KeptBy, LearningId, NewTask, NudgeId, TaskRef, TaskStatus,
};
use corkboard_core::{CoreId, LimitName, Limits, OwnPart, Refusal, Role};

#[test]
fn every_refusal_says_what_is_wrong_and_what_is_allowed() {
    let mut desk = Desk::new();
    desk.add(NewTask::new("task"));
    let (task, from, to) = (id(1), TaskStatus::Pending, TaskStatus::Completed);
    let member = |key: &str| TaskRef::Member(key.into());
    let hindrances = vec![
        Hindrance::Dependencies { depends_on: (1..9).map(id).collect() },
        Hindrance::Choice { choice: ChoiceId(1) },
        Hindrance::Approval { decision: DecisionId(4) },
        Hindrance::Backoff { not_before: at(0) },
        Hindrance::Reported { reason: Some("no answer".into()) },
        Hindrance::Reported { reason: None },
    ];
    let learning: LearningId = "rework:T-5".parse().unwrap();
    let all_that_keeps =
        vec![KeptBy::NotArchived, KeptBy::Retention { retain_until: at(0) }, KeptBy::Learnings, KeptBy::Promotion];
    let refusals = [
        Refusal::NoBoard,
        Refusal::BoardExists,
        Refusal::BoardEnded { status: BoardStatus::Cancelled },
        Refusal::BoardActive,
        Refusal::BoardKept { by: vec![KeptBy::Active] },
        Refusal::BoardKept { by: all_that_keeps },
        Refusal::BoardPurged,
        Refusal::NotOnBoard { what: "task".into(), id: "T-9".into() },
        Refusal::UnknownMember { key: "x".into() },
        Refusal::DuplicateMember { key: "x".into() },
        Refusal::KeyReadsAsId { key: "T-1".into() },
        Refusal::Cycle { path: vec![member("a"), TaskRef::Task(task), member("a")] },
        Refusal::Cycle { path: (0..30).map(|at| TaskRef::Task(id(at))).collect() },
        Refusal::TaskMove { task, from, to, allowed: vec![TaskStatus::Assigned, TaskStatus::Cancelled] },
        Refusal::TaskMove { task, from: to, to: from, allowed: vec![] },
        Refusal::NotThisWay { task, from: TaskStatus::InProgress, to: from },
        Refusal::NotReady { task, hindrances },
        Refusal::AlreadyBegun { task, status: TaskStatus::Review },
        Refusal::TaskHeld { task, holder: agent("ann"), deadline: None },
        Refusal::OrchestratorHeld { holder: agent("olga"), deadline: at(0) },
        fenced("T-1", Some("bob"), 2, Some(2)),
        fenced("T-1", Some("bob"), 2, Some(1)),
        fenced("orchestrator", None, 2, None),
        fenced("T-1", None, 2, Some(2)),
        Refusal::Fenced {
            what: "T-1".into(),
            holder: None,
            epoch: 2,
            sent: Some(2),
            status: Some(TaskStatus::Completed),
        },
        fenced("T-1", None, 0, None),
        Refusal::TaskConflict { expected: 1, current: Box::new(desk.task(task).clone()) },
        Refusal::BoardConflict { expected: 2, current: Box::new(desk.state().info().unwrap().clone()) },
        Refusal::NotAuthor { decision: DecisionId(1), author: "ann".into() },
        Refusal::Superseded { decision: DecisionId(1), by: DecisionId(2) },
        Refusal::Irreversible { decision: DecisionId(1) },
        Refusal::NotReviewer { task, reviewer: agent("qa") },
        Refusal::OwnTask { task, principal: "ann".into() },
        Refusal::UrgentNudges { task, nudges: vec![NudgeId(1)] },
        Refusal::UrgentNudges { task, nudges: vec![NudgeId(1), NudgeId(3)] },
        Refusal::NothingWaits,
        Refusal::AwaitsApproval { task, decisions: vec![DecisionId(1)] },
        Refusal::AwaitsApproval { task, decisions: vec![DecisionId(1), DecisionId(2)] },
        Refusal::Paused { by: "hugo".into(), at: at(0) },
        Refusal::NotForYou { nudge: NudgeId(1), to: "the orchestrator".into() },
        Refusal::RoleDenied {
            principal: "ann".into(),
            role: Role::Worker,
            what: "pause or resume the board".into(),
            may: "orchestrators, humans and admins".into(),
        },
        Refusal::AlreadyChosen { choice: ChoiceId(1), chosen: "A".into() },
        Refusal::NoBranch { choice: ChoiceId(1), option: "C".into(), options: vec!["A".into(), "B".into()] },
        Refusal::BadChoice { reason: "it needs at least two options".into() },
        Refusal::BoardContradicts { reason: "T-1 depends on itself".into() },
        Refusal::CauseNotRetried { task, cause: "T-2".into() },
        Refusal::Unfinished { unfinished: 3 },
        Refusal::LearningRefused { learning: learning.clone(), by: "hugo".into() },
        Refusal::LearningPromoted {
            learning: learning.clone(),
            core: CoreId::new("rules", &Limits::default()).unwrap(),
        },
        Refusal::NotPromoted { learning: learning.clone(), status: "open".into() },
        Refusal::PromotionOpen { learning: learning.clone() },
        Refusal::PromotionOver { learning: learning.clone(), status: "rolled_back".into() },
        own_learning(&learning, OwnPart::Author),
        own_learning(&learning, OwnPart::Contributor),
        own_learning(&learning, OwnPart::NewContent),
        Refusal::NoCore { learning },
        Refusal::LeaseLength { lease_s: 0.001 },
        Refusal::Checksum { text: "abc".into() },
        Refusal::Limit { limit: LimitName::TasksPerBoard, used: 6, allowed: 5 },
    ];
    let messages: Vec<_> = refusals.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n"), @r#"
    board not found
    the board already exists
    the board is cancelled and can no longer be changed
    the board is active: complete or cancel it first
    the board cannot be purged: it has not ended
    the board cannot be purged: it is not archived; it is retained until 1970-01-01T00:00:00Z; its learnings were neither extracted nor waived; a promotion or rollback of a learning is unfinished
    the board was purged
    task T-9 not found on this board
    unknown task "x": expected a task ID such as T-1, or the key of a task in this batch
    two tasks of this batch have the key "x"
    "T-1" cannot be the key of a task: it has the form of a task ID
    dependency cycle: a -> T-1 -> a
    dependency cycle: T-0 -> T-1 -> T-2 -> T-3 -> T-4 -> T-5 -> T-6 -> T-7 -> T-8 -> T-9 -> (10 more) -> T-20 -> T-21 -> T-22 -> T-23 -> T-24 -> T-25 -> T-26 -> T-27 -> T-28 -> T-29
    T-1 is not in review: it is pending
    T-1 is completed; that can no longer change
    T-1 is in progress: only a failed task can be retried
    T-1 waits for T-1, T-2, T-3, T-4, T-5 and 3 more; C-1 is not decided; D-4 is not approved; it will be retried at 1970-01-01T00:00:00Z; no answer; its holder reported that it is blocked
    T-1 is in review: its dependencies can change only before work begins
    T-1 is assigned to ann
    olga is the orchestrator until 1970-01-01T00:00:00Z
    fenced: bob holds T-1 at epoch 2, not you
    fenced: bob holds T-1 at epoch 2; you sent 1
    fenced: nobody holds the orchestrator's role: it was released, or its lease expired
    fenced: nobody holds T-1: it was released, or its lease expired
    T-1 is already completed
    nobody has claimed T-1 yet
    T-1 is at version 2, not 1
    the board is at version 1, not 2
    D-1 was made by ann: only ann, orchestrators, humans and admins may supersede it
    D-1 was superseded by D-2
    D-1 is irreversible: only a person can supersede it, with force
    the review of T-1 is assigned to qa: only qa or a person can give it
    ann cannot approve T-1: agents cannot approve their own tasks
    T-1 cannot be completed yet: read the urgent nudge N-1 first
    T-1 cannot be completed yet: read the urgent nudges N-1, N-3 first
    a decision that needs approval must name the tasks that wait for it in affects_tasks
    T-1 cannot be completed: D-1 is not approved
    T-1 cannot be completed: D-1, D-2 are not approved
    hugo paused the board at 1970-01-01T00:00:00Z: no task can start until it is resumed
    N-1 is not for you, it is for the orchestrator
    ann is a worker and may not pause or resume the board: only orchestrators, humans and admins may
    C-1 was already decided: A
    C-1 has no option "C"; its options are A, B
    invalid choice: it needs at least two options
    invalid board: T-1 depends on itself
    T-1 was cancelled because of T-2, which did not fail and cannot be retried
    3 tasks are not finished
    hugo refused rework:T-5; it can no longer be promoted
    rework:T-5 is already in the core rules
    rework:T-5 is not in a core: it is open
    a promotion or rollback of rework:T-5 has begun and must finish first
    rework:T-5 is no longer being promoted: it is rolled_back
    ann cannot promote rework:T-5: ann recorded it, and agents cannot promote what they recorded; a person or another agent can
    ann cannot promote rework:T-5: ann is among its contributors, and agents cannot promote what they contributed to; a person or another agent can
    ann cannot promote rework:T-5: agents cannot reword what they promote; a person or another agent can
    no core is suggested for rework:T-5; name one
    a lease of 0.001 s is not allowed: it must last from 0.01 to 604800 s
    invalid SHA-256 checksum "abc": expected 64 hexadecimal digits
    limit reached: tasks per board would be 6; the maximum is 5
    "#);
}

fn own_learning(learning: &LearningId, own_part: OwnPart) -> Refusal {
    Refusal::OwnLearning { learning: learning.clone(), principal: "ann".into(), own_part }
}

fn fenced(what: &str, holder: Option<&str>, epoch: u64, sent: Option<u64>) -> Refusal {
    Refusal::Fenced { what: what.into(), holder: holder.map(agent), epoch, sent, status: None }
}
