//! Forgotten texts of a board are in no revision. Everything else stays: IDs, status, dependencies and other texts.

use std::collections::BTreeSet;

use crate::board_support::*;
use corkboard_core::board::{
    ApprovalVerdict, BoardCommand, BoardEdit, BoardForget, BoardImage, BoardReply, BoardState, ChoiceId, DecisionId,
    ForkedFrom, LearningStatus, NewArtifact, NewBoard, NewBranch, NewChoice, NewDecision, NewDiscovery, NewNudge,
    NewTask, NudgePriority, NudgeTarget, RecordId, ReviewVerdict, TaskEdit, TaskRef, TaskResult, TaskStatus,
};
use corkboard_core::{Actor, ActorKind, Refusal, Revisioned, Role, Space};

/// The log without what is to be forgotten.
pub(crate) fn redacted(log: &[impl AsRef<[u8]>], forget: &BoardForget) -> Vec<Vec<u8>> {
    let without = log.iter().map(|line| {
        let mut commit = BoardCommit::decode(line.as_ref()).unwrap();
        for event in &mut commit.events {
            BoardState::redact(event, &mut forget.clone());
        }
        commit.encode().unwrap()
    });
    without.collect()
}

/// All texts in a log and a state, each with its record.
pub(crate) fn texts(log: &[impl AsRef<[u8]>], state: &BoardState) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for line in log {
        for event in BoardCommit::decode(line.as_ref()).unwrap().events {
            BoardState::each_text_of(&event, &mut |id, text| texts.push((id.to_string(), text.to_owned())));
        }
    }
    state.each_text(&mut |id, text| texts.push((id.to_string(), text.to_owned())));
    texts
}

fn secret(what: &str) -> String {
    format!("{what} hunter2")
}

fn said(what: &str) -> Option<String> {
    Some(secret(what))
}

/// A board on which every text contains the secret: in the present state, in overwritten values and in texts that only
/// the log has.
fn desk() -> Desk {
    let mut desk = Desk::with(NewBoard {
        name: secret("name"),
        goal: secret("goal"),
        constraints: vec![secret("constraint"), "kept constraint".into()],
        cores: vec!["rules".into()],
        ..NewBoard::default()
    });
    let goal = said("second goal");
    desk.tell(BoardCommand::Edit { edit: BoardEdit { goal, ..BoardEdit::default() }, if_version: None });
    let task = |title: &str| NewTask {
        title: secret(title),
        description: secret("description"),
        needs_review: true,
        ..NewTask::default()
    };
    desk.add(task("first"));
    desk.add(NewTask { depends_on: vec![TaskRef::Task(id(1))], ..task("second") });
    let edit = TaskEdit { description: said("new description"), ..TaskEdit::default() };
    desk.tell(BoardCommand::EditTask { task: id(1), edit, if_version: None });
    let ann = worker("ann");
    desk.ask(&ann, claim(id(1))).unwrap();
    let lease = LEASE;
    let (reason, status) = (said("blocked"), TaskStatus::Blocked);
    desk.ask(&ann, BoardCommand::SetStatus { task: id(1), status, reason, epoch: None, lease }).unwrap();
    let status = TaskStatus::InProgress;
    desk.ask(&ann, BoardCommand::SetStatus { task: id(1), status, reason: None, epoch: None, lease }).unwrap();
    let result = |summary: &str| TaskResult {
        summary: secret(summary),
        next_steps: vec![secret("next"), "kept step".into()],
        trust: None,
    };
    let complete = |result| BoardCommand::CompleteTask { task: id(1), result, epoch: None, heed_nudges: false };
    desk.ask(&ann, complete(result("draft"))).unwrap();
    let (first, comment) = (id(1), said("rework"));
    desk.tell(BoardCommand::Review { task: first, verdict: ReviewVerdict::NeedsRework, comment });
    desk.ask(&ann, complete(result("result"))).unwrap();
    desk.tell(BoardCommand::Review { task: first, verdict: ReviewVerdict::Approved, comment: said("well done") });
    let fork = |name: &str, task: &str| NewBranch { name: name.into(), tasks: vec![TaskRef::Member(task.into())] };
    let branch = |key: &str| NewTask { key: Some(key.into()), ..task(key) };
    let choice = NewChoice { question: secret("question"), options: vec![fork("left", "l"), fork("right", "r")] };
    desk.tell(BoardCommand::AddTasks { tasks: vec![branch("l"), branch("r")], choices: vec![choice] });
    let (choice, option, rationale) = (ChoiceId(1), "left".into(), said("rationale"));
    desk.tell(BoardCommand::Choose { choice, option, rationale });
    desk.tell(BoardCommand::CancelTask { task: id(3), reason: said("cancelled") });
    desk.tell(BoardCommand::RecordDecision(NewDecision {
        question: secret("question"),
        choice: secret("choice"),
        alternatives: vec![secret("alternative"), "kept alternative".into()],
        rationale: secret("because of a reason"),
        affects_tasks: vec![id(2)],
        needs_approval: true,
        ..NewDecision::default()
    }));
    let (decision, comment) = (DecisionId(1), said("approved"));
    desk.tell(BoardCommand::Judge { decision, verdict: ApprovalVerdict::Approved, comment });
    desk.tell(BoardCommand::RecordDiscovery(NewDiscovery { content: secret("insight"), ..NewDiscovery::default() }));
    desk.tell(BoardCommand::RecordDiscovery(NewDiscovery {
        content: "kept insight".into(),
        ..NewDiscovery::default()
    }));
    for content in ["old", "new"] {
        desk.tell(BoardCommand::RecordArtifact(NewArtifact {
            path: "src/a.rs".into(),
            description: secret("description"),
            content: said(content),
            checksum: Some("0".repeat(64)),
            ..NewArtifact::default()
        }));
    }
    let (to, priority) = (NudgeTarget::All, NudgePriority::Urgent);
    desk.tell(BoardCommand::SendNudge(NewNudge { to, message: secret("hurry"), priority, expires_at: None }));
    desk.tell(BoardCommand::Pause { reason: said("pause") });
    let promote = |learning: &str| BoardCommand::PromoteLearning {
        learning: learning.parse().unwrap(),
        core: None,
        changes: Box::default(),
    };
    desk.tell(promote("F-1"));
    desk.tell(promote("D-1"));
    let begun_rev = desk.rev();
    let entry = corkboard_core::knowledge::CoreEntryId(7);
    desk.tell(BoardCommand::FinishPromotion { learning: "D-1".parse().unwrap(), begun_rev, entry });
    desk.tell(BoardCommand::RefuseLearning { learning: "rework:T-1".parse().unwrap(), reason: said("not true") });
    desk
}

/// A copy of the board, whose first event contains the whole image.
fn copy() -> Desk {
    let (source, mut copy) = (desk(), Desk::new());
    copy = Desk { log: Vec::new(), live: Revisioned::default(), now: source.now, ..copy };
    let from = ForkedFrom { board: "source".into(), rev: source.rev() };
    let image = Box::new(BoardImage::from(source.state().clone()));
    copy.tell(BoardCommand::Fork { from, name: said("copy"), image });
    copy
}

/// Everything except texts.
fn shape(state: &BoardState) -> Vec<String> {
    let tasks = state.tasks().map(|task| {
        let (status, on, choice) = (task.status, &task.depends_on, task.choice);
        format!("{} {status} {on:?} {choice:?} {:?} {:?}", task.id, task.assigned_to, task.review_verdict)
    });
    let artifacts = state.artifacts().map(|artifact| format!("{} {} {}", artifact.id, artifact.path, artifact.version));
    let newest = state.artifact_at("src/a.rs").map(|artifact| artifact.id.to_string());
    let decisions = state.decisions().map(|decision| format!("{} {:?}", decision.id, decision.verdict));
    let choices = state.choices().map(|choice| format!("{} {:?}", choice.id, choice.chosen));
    tasks.chain(artifacts).chain(newest).chain(decisions).chain(choices).collect()
}

fn forget(desk: &mut Desk, forget: BoardForget) -> u64 {
    let before = shape(desk.state());
    let BoardReply::Forgotten { records } = desk.tell(BoardCommand::Forget { forget: forget.clone() }) else {
        panic!()
    };
    let log = redacted(&desk.log, &forget);
    assert_eq!(replay(Revisioned::default(), &log, &desk.limits), desk.live, "{forget:?}");
    assert_eq!(shape(desk.state()), before);
    desk.log = log.into_iter().map(Into::into).collect();
    records
}

#[test]
fn a_forgotten_record_is_in_no_revision() {
    for start in [desk, copy] {
        let all = texts(&start().log, start().state());
        let records: BTreeSet<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
        assert!(records.len() > 10, "{records:?}");
        for record in records {
            let mut desk = start();
            let id: RecordId = record.parse().unwrap();
            if forget(&mut desk, BoardForget::Record { id: id.clone() }) == 0 {
                // Only the log has texts of this learning: it is in its core.
                assert_eq!(record, "learning:D-1");
            }
            let left = texts(&desk.log, desk.state());
            let is_left = |text: &&(String, String)| text.0 == record && text.1 != "[forgotten]";
            assert_eq!(left.iter().find(is_left), None);
            let learning = format!("learning:{record}");
            for other in all.iter().filter(|(id, _)| id != record && *id != learning) {
                let is_of_task = record == "T-1" && other.0 == "learning:rework:T-1";
                assert!(left.contains(other) || is_of_task, "{other:?} was forgotten with {record}");
            }
            let rev = desk.rev();
            assert_eq!(forget(&mut desk, BoardForget::Record { id }), 0, "{record} was forgotten before");
            assert_eq!(desk.rev(), rev);
        }
    }
}

#[test]
fn a_forgotten_text_is_in_no_revision_and_other_texts_stay() {
    for mut desk in [desk(), copy()] {
        assert!(forget(&mut desk, BoardForget::Text { text: "hunter2".into() }) > 8);
        let stored = [desk.log.concat(), desk.live.encode().unwrap()].concat();
        assert!(!String::from_utf8(stored).unwrap().contains("hunter2"));
        assert!(!desk.state().summary(desk.now).contains("hunter2"));
        let (log, state) = (texts(&desk.log, desk.state()), desk.state());
        for kept in ["kept constraint", "kept step", "kept alternative", "kept insight"] {
            assert!(log.iter().any(|(_, text)| text == kept), "{kept}");
        }
        let info = state.info().unwrap();
        assert_eq!(info.constraints, ["[forgotten]", "kept constraint"]);
        assert_eq!(state.task(id(1)).unwrap().result.as_ref().unwrap().next_steps, ["[forgotten]", "kept step"]);
        assert_eq!(state.artifact_at("src/a.rs").unwrap().checksum, None, "the checksum could confirm a guess");
        assert_eq!(forget(&mut desk, BoardForget::Text { text: "hunter2".into() }), 0);
    }
}

#[test]
fn a_forgotten_record_is_no_learning_and_reaches_no_core() {
    let mut desk = desk();
    forget(&mut desk, BoardForget::Text { text: "hunter2".into() });
    let learnings = desk.state().learning_candidates();
    let open: Vec<_> = learnings.iter().filter(|found| found.status == LearningStatus::Open).collect();
    assert_eq!(open.iter().map(|found| found.content.as_str()).collect::<Vec<_>>(), ["kept insight"]);
    // The promotion under way is refused, so that the process that finishes it removes what may be in the core.
    let LearningStatus::Begun(promotion) = desk.state().learning_status(&"F-1".parse().unwrap()) else { panic!() };
    assert_eq!(promotion.refused.as_deref(), Some("[forgotten]"));
}

#[test]
fn an_ended_board_forgets_and_a_full_one() {
    let mut desk = desk();
    desk.tell(BoardCommand::Resume);
    desk.tell(BoardCommand::Cancel { reason: said("cancelled") });
    desk.limits.state_bytes = 1;
    assert_eq!(forget(&mut desk, BoardForget::Record { id: RecordId::Board }), 1);
    assert_eq!(desk.state().info().unwrap().reason.as_deref(), Some("[forgotten]"));
    assert_eq!(desk.state().info().unwrap().goal, "[forgotten]");
}

#[test]
fn what_cannot_be_forgotten_is_refused() {
    let mut desk = desk();
    for record in ["T-9", "D-2", "F-3", "A-3", "C-2", "N-2", "AP-2", "learning:F-2"] {
        let id: RecordId = record.parse().unwrap();
        let refusal = desk.refused(BoardCommand::Forget { forget: BoardForget::Record { id } });
        assert_eq!(refusal, Refusal::NotOnBoard { what: "record".into(), id: record.into() });
    }
    for text in ["", "ab", " a "] {
        let refusal = desk.refused(BoardCommand::Forget { forget: BoardForget::Text { text: text.into() } });
        assert_eq!(refusal, Refusal::TextTooShort { least: 3 });
    }
    for role in [Role::Orchestrator, Role::Worker, Role::Reviewer] {
        let actor = Actor::new("bob", ActorKind::Agent, role);
        let id = "D-1".parse().unwrap();
        let refusal = desk.refused_to(&actor, BoardCommand::Forget { forget: BoardForget::Record { id } });
        assert!(matches!(refusal, Refusal::RoleDenied { .. }), "{refusal:?}");
    }
}

#[test]
fn record_ids_parse_and_print_alike() {
    for name in ["T-7", "D-3", "F-2", "A-4", "C-1", "N-5", "AP-6", "learning:rework:T-1", "learning:D-1", "board"] {
        assert_eq!(name.parse::<RecordId>().unwrap().to_string(), name);
    }
    for name in ["", "X-1", "E-1", "learning:", "learning:T-1", "Board", "D-"] {
        let error = name.parse::<RecordId>().unwrap_err().to_string();
        assert!(error.contains("expected a form like T-1"), "{error}");
    }
}
