//! Permissions on a board: every role sends every command.

use crate::board_support::*;
use corkboard_core::board::{
    ApprovalVerdict, BoardAction, BoardCommand, BoardEdit, BoardImage, DecisionId, ForkedFrom, LearningId, NewArtifact,
    NewBoard, NewDecision, NewDiscovery, NewNudge, NewTask, NudgePriority, NudgeTarget, RetainFor, ReviewVerdict,
    TaskEdit, TaskStatus, Unfinished, WhichLearnings,
};
use corkboard_core::knowledge::CoreEntryId;
use corkboard_core::{Refusal, Role};

/// The permissions, written a second time by hand: orchestrator, worker, reviewer, observer, human, admin.
const ALLOWED: [(BoardAction, [u8; 6]); 26] = [
    (BoardAction::Create, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Edit, [1, 0, 0, 0, 1, 1]),
    (BoardAction::AddTasks, [1, 0, 0, 0, 1, 1]),
    (BoardAction::EditTask, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Assign, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Review, [1, 0, 1, 0, 1, 1]),
    (BoardAction::CancelTask, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Retry, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Choose, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Orchestrate, [1, 0, 0, 0, 1, 1]),
    (BoardAction::End, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Archive, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Purge, [0, 0, 0, 0, 1, 1]),
    (BoardAction::Pause, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Work, [1, 1, 0, 0, 1, 1]),
    (BoardAction::TakeTask, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Record, [1, 1, 1, 0, 1, 1]),
    (BoardAction::Supersede, [1, 0, 0, 0, 1, 1]),
    (BoardAction::Approve, [0, 0, 0, 0, 1, 1]),
    (BoardAction::Nudge, [1, 0, 0, 0, 1, 1]),
    (BoardAction::HearNudges, [1, 1, 1, 0, 1, 1]),
    (BoardAction::Extract, [1, 0, 1, 0, 1, 1]),
    (BoardAction::Promote, [1, 0, 1, 0, 1, 1]),
    (BoardAction::Delete, [0, 0, 0, 0, 1, 1]),
    (BoardAction::Forget, [0, 0, 0, 0, 1, 1]),
    (BoardAction::Tick, [1, 1, 1, 0, 1, 1]),
];

fn is_allowed(action: BoardAction, role: Role) -> bool {
    let roles = ALLOWED.iter().find(|(named, _)| *named == action).unwrap().1;
    roles[Role::ALL.iter().position(|known| *known == role).unwrap()] == 1
}

#[test]
fn the_permissions_match_the_table() {
    assert_eq!(BoardAction::all().collect::<Vec<_>>(), ALLOWED.map(|(action, _)| action));
    for action in BoardAction::all() {
        for role in Role::ALL {
            assert_eq!(action.is_allowed_to(role), is_allowed(action, role), "{action:?} by a {role}");
        }
    }
}

#[test]
fn the_documentation_shows_the_table() {
    let documented = include_str!("../../../../docs/boards.md");
    let table = BoardAction::table();
    assert!(documented.contains(&table), "docs/boards.md should have\n{table}");
}

/// A board with a target for every command. "eve", who sends the commands, owns all of it.
fn desk() -> Desk {
    let mut desk = Desk::new();
    let review = NewTask { needs_review: true, ..NewTask::new("review") };
    let all = [NewTask::new("held"), NewTask::new("free"), review, NewTask::new("failed"), NewTask::new("assigned")];
    desk.add_all(all.into());
    desk.add_all(vec![NewTask::new("this"), NewTask::new("that")]);
    desk.add_choice(&[("this", &ids(&[6])), ("that", &ids(&[7]))]);
    desk.claim(&worker("eve"), id(1));
    desk.complete(id(3));
    desk.fail(id(4));
    desk.tell(assign(id(5), "eve"));
    desk.ask(&worker("eve"), BoardCommand::RecordDecision(decision(None))).unwrap();
    desk.tell(BoardCommand::RecordDecision(decision(None)));
    desk.tell(nudge());
    desk
}

fn decision(supersedes: Option<u64>) -> NewDecision {
    NewDecision {
        question: "Which?".into(),
        choice: "this".into(),
        supersedes: supersedes.map(DecisionId),
        ..NewDecision::default()
    }
}

fn learning() -> LearningId {
    LearningId::Decision(DecisionId(1))
}

fn nudge() -> BoardCommand {
    let (to, message, priority) = (NudgeTarget::Agent(agent("eve")), "look".into(), NudgePriority::Normal);
    BoardCommand::SendNudge(NewNudge { to, message, priority, expires_at: None })
}

/// Every command, in each of its meanings, with the action that it needs.
fn commands(desk: &Desk) -> Vec<(BoardAction, BoardCommand)> {
    use BoardAction as Does;
    let comment = None;
    let nudges = vec![corkboard_core::board::NudgeId(1)];
    let image = Box::new(BoardImage::from(desk.state().clone()));
    let edit = BoardEdit { goal: Some("another".into()), ..BoardEdit::default() };
    let under_claim = |command| BoardCommand::UnderClaim { task: id(1), epoch: 1, command: Box::new(command) };
    let (verdict, choice) = (ApprovalVerdict::Approved, desk.state().choices().next().unwrap().id);
    vec![
        (Does::Create, BoardCommand::Create(NewBoard { name: "b".into(), ..NewBoard::default() })),
        (Does::Create, BoardCommand::CreateWithTasks { board: NewBoard::default(), tasks: vec![] }),
        (Does::Create, BoardCommand::Fork { name: None, image, from: ForkedFrom { board: "b".into(), rev: 1 } }),
        (Does::Edit, BoardCommand::Edit { edit, if_version: None }),
        (Does::AddTasks, add_tasks(vec![NewTask::new("more")])),
        (Does::AddTasks, BoardCommand::AddDependency { task: id(2), depends_on: id(1) }),
        (Does::AddTasks, BoardCommand::RemoveDependency { task: id(2), depends_on: id(1) }),
        (Does::EditTask, BoardCommand::EditTask { task: id(2), edit: TaskEdit::default(), if_version: None }),
        (Does::Assign, assign(id(2), "eve")),
        (Does::Assign, BoardCommand::AssignReview { task: id(2), agent: agent("eve") }),
        (Does::Review, review(id(3), ReviewVerdict::Approved)),
        (Does::Review, set_status(id(3), TaskStatus::Completed, None)),
        (Does::CancelTask, cancel_task(id(2))),
        (Does::CancelTask, set_status(id(2), TaskStatus::Cancelled, None)),
        (Does::Retry, BoardCommand::Retry { task: id(4) }),
        (Does::Retry, BoardCommand::RetryFailed),
        (Does::Retry, set_status(id(4), TaskStatus::Pending, None)),
        (Does::Choose, BoardCommand::Choose { choice, option: "this".into(), rationale: None }),
        (Does::Orchestrate, BoardCommand::AcquireOrchestrator { lease: LEASE }),
        (Does::Orchestrate, BoardCommand::RenewOrchestrator { epoch: 1 }),
        (Does::Orchestrate, BoardCommand::ReleaseOrchestrator { epoch: 1 }),
        (Does::Orchestrate, BoardCommand::AsOrchestrator { epoch: 1, command: Box::new(BoardCommand::Tick) }),
        (Does::End, BoardCommand::Complete { reason: None, unfinished: Unfinished::Cancel }),
        (Does::End, BoardCommand::Cancel { reason: None }),
        (Does::Archive, BoardCommand::Archive { retain: RetainFor::Said { ms: 1 } }),
        (Does::Archive, BoardCommand::Discard { reason: None }),
        (Does::Purge, BoardCommand::Purge),
        (Does::Pause, BoardCommand::Pause { reason: None }),
        (Does::Pause, BoardCommand::Resume),
        (Does::Work, claim_next()),
        (Does::Work, heartbeat(id(1), Some(1))),
        (Does::Work, release(id(1), Some(1))),
        (Does::Work, complete_task(id(1), Some(1))),
        (Does::Work, fail_task(id(1), Some(1))),
        (Does::Work, set_status(id(1), TaskStatus::Blocked, Some(1))),
        (Does::Work, set_status(id(5), TaskStatus::InProgress, None)),
        (Does::Record, BoardCommand::RecordDecision(decision(None))),
        (Does::Record, BoardCommand::RecordDecision(decision(Some(1)))),
        (Does::Record, BoardCommand::RecordDiscovery(NewDiscovery { content: "x".into(), ..NewDiscovery::default() })),
        (Does::Record, BoardCommand::RecordArtifact(NewArtifact { path: "x".into(), ..NewArtifact::default() })),
        (Does::Approve, BoardCommand::Judge { decision: DecisionId(1), verdict, comment }),
        (Does::Nudge, nudge()),
        (Does::HearNudges, BoardCommand::DeliverNudges { nudges: nudges.clone() }),
        (Does::HearNudges, BoardCommand::AcknowledgeNudges { nudges }),
        (Does::Extract, BoardCommand::ExtractLearnings),
        (Does::Promote, BoardCommand::PromoteLearning { learning: learning(), core: None, changes: Box::default() }),
        (Does::Promote, BoardCommand::RefuseLearning { learning: learning(), reason: None }),
        (Does::Promote, BoardCommand::RollBackLearnings { which: WhichLearnings::All, reason: None }),
        (Does::Promote, BoardCommand::FinishPromotion { learning: learning(), begun_rev: 1, entry: CoreEntryId(1) }),
        (Does::Promote, BoardCommand::AbandonPromotion { learning: learning(), begun_rev: 1, reason: "x".into() }),
        (Does::Promote, BoardCommand::FinishAbandonment { learning: learning(), begun_rev: 1 }),
        (Does::Promote, BoardCommand::FinishRollBack { begun_rev: 1 }),
        (Does::Tick, BoardCommand::Tick),
        // A command inside another is checked as if it came alone.
        (Does::Edit, under_claim(BoardCommand::Edit { edit: BoardEdit::default(), if_version: None })),
        (Does::Pause, under_claim(BoardCommand::Pause { reason: None })),
    ]
}

#[test]
fn every_role_may_send_exactly_what_the_table_says() {
    let desk = desk();
    for (action, command) in commands(&desk) {
        assert!(command.action().is_none_or(|named| named == action), "{command:?}");
        for role in Role::ALL {
            let mut desk = desk.clone();
            let before = desk.live.clone();
            let answer = desk.ask(&named("eve", role), command.clone());
            let is_denied = matches!(&answer, Err(Refusal::RoleDenied { role: said, .. }) if *said == role);
            assert_eq!(is_denied, !is_allowed(action, role), "{command:?} by a {role}: {answer:?}");
            if is_denied {
                assert_eq!(desk.live, before, "{command:?} by a {role} was denied but changed something");
            }
        }
    }
}

#[test]
fn only_orchestrators_and_people_take_or_supersede_what_others_own() {
    for role in Role::ALL {
        let mut desk = desk();
        let answer = desk.ask(&named("zoe", role), release(id(1), None));
        assert_eq!(answer.is_ok(), is_allowed(BoardAction::TakeTask, role), "{role}: {answer:?}");
        let answer = desk.ask(&named("zoe", role), BoardCommand::RecordDecision(decision(Some(1))));
        assert_eq!(answer.is_ok(), is_allowed(BoardAction::Supersede, role), "{role}: {answer:?}");
    }
}

#[test]
fn denials_are_explained_in_words() {
    let refusal = desk().refused_to(&worker("eve"), BoardCommand::Pause { reason: None });
    assert_eq!(
        refusal.to_string(),
        "eve is a worker and may not pause or resume the board: only orchestrators, humans and admins may"
    );
    let refusal = desk().refused_to(
        &orchestrator("otto"),
        BoardCommand::Judge { decision: DecisionId(1), verdict: ApprovalVerdict::Rejected, comment: None },
    );
    assert_eq!(
        refusal.to_string(),
        "otto is an orchestrator and may not approve or reject a decision: only humans and admins may"
    );
}
