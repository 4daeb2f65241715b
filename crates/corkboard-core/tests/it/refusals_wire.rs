//! Every refusal reaches a server's client unchanged.

use std::collections::BTreeSet;

use crate::board_support::wire::check_same;
use corkboard_core::board::{
    BoardStatus, ChoiceId, DecisionId, DiscoveryId, Hindrance, KeptBy, LearningId, NewTask, NudgeId, TaskId, TaskRef,
    TaskStatus,
};
use corkboard_core::knowledge::{CoreEntryId, Trust};
use corkboard_core::notebook::{NotebookItemId, SnippetId};
use corkboard_core::tokens::TokenId;
use corkboard_core::{AgentId, CoreId, Key, LimitName, Limits, NotebookName, OwnPart, Refusal, Role, ScopeId};
use jiff::Timestamp;
use proptest::prelude::*;

/// The parts of a case's refusals.
#[derive(Debug, Clone)]
struct Parts {
    text: String,
    number: u64,
    character: char,
    importance: f32,
    at: Timestamp,
    role: Role,
}

fn parts() -> impl Strategy<Value = Parts> {
    let number = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    let importance = prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY), any::<f32>()];
    let role = prop::sample::select(
        &[Role::Worker, Role::Orchestrator, Role::Reviewer, Role::Observer, Role::Human, Role::Admin][..],
    );
    let second = -1_000_000_000_000i64..250_000_000_000;
    let at = second.prop_filter_map("no time", |second| Timestamp::from_second(second).ok());
    (any::<String>(), number, any::<char>(), importance, at, role).prop_map(
        |(text, number, character, importance, at, role)| Parts { text, number, character, importance, at, role },
    )
}

fn refusals(parts: &Parts) -> Vec<Refusal> {
    let Parts { text, number, character, importance, at, role } = parts.clone();
    let limits = Limits::default();
    let name = format!("n{}", text.chars().filter(|character| !character.is_control()).take(20).collect::<String>());
    let key = Key::new(&name, &limits).unwrap();
    let notebook = NotebookName::new(&name, &limits).unwrap();
    let agent = AgentId::new(&name, &limits).unwrap();
    let core = CoreId::new(&name, &limits).unwrap();
    let mut memory = crate::support::Memory::new(Limits::default());
    memory.tell(crate::support::set(ScopeId::ROOT, "key", "1"));
    let entry = memory.entry(ScopeId::ROOT, "key").unwrap();
    let mut desk = crate::board_support::Desk::new();
    let added = desk.add(NewTask { description: text.clone(), ..NewTask::new("a task") });
    let mut shelf = crate::core_support::Shelf::new();
    let known = shelf.add(&crate::core_support::human("ann"), "what is known").id;
    let task = TaskId(number);
    let (choice, decision, nudge) = (ChoiceId(number), DecisionId(number), NudgeId(number));
    let learnings = [
        LearningId::Decision(decision),
        LearningId::Discovery(DiscoveryId(number)),
        LearningId::Rework(task),
        LearningId::Estimate("add".into()),
        LearningId::Sequence("add.test".into()),
    ];
    let learning = learnings[number as usize % learnings.len()].clone();
    let (said, text) = (text.clone(), || text.clone());
    let hindrances = vec![
        Hindrance::Dependencies { depends_on: vec![task] },
        Hindrance::Choice { choice },
        Hindrance::Approval { decision },
        Hindrance::Backoff { not_before: at },
        Hindrance::Reported { reason: Some(said.as_str().into()) },
        Hindrance::Reported { reason: None },
    ];
    let by = vec![
        KeptBy::Active,
        KeptBy::NotArchived,
        KeptBy::Retention { retain_until: at },
        KeptBy::Learnings,
        KeptBy::Undecided { learnings: number },
        KeptBy::Promotion,
    ];
    let (from, to) = (TaskStatus::InProgress, TaskStatus::Completed);
    vec![
        Refusal::Blank { what: text().into() },
        Refusal::TextTooShort { least: number },
        Refusal::ControlCharacter { what: text().into(), character, at: number as usize },
        Refusal::Limit { limit: LimitName::KeyBytes, used: number, allowed: number },
        Refusal::OutOfRange { name: text().into(), value: number, minimum: number, maximum: number },
        Refusal::Importance { importance },
        Refusal::Expiry { reason: text().into() },
        Refusal::RoleDenied { principal: text(), role, what: text().into(), may: text() },
        Refusal::Conflict { key: key.clone(), expected: number, current: None },
        Refusal::Conflict { key: key.clone(), expected: number, current: Some(Box::new((**entry).clone())) },
        Refusal::RevConflict { expected: number, current: number },
        Refusal::NotText { key: key.clone(), found: text().into() },
        Refusal::NoEntry { key },
        Refusal::ScopeGone { scope: ScopeId::ROOT },
        Refusal::RootScope,
        Refusal::AgentMismatch { expected: text(), found: text() },
        Refusal::UnknownItems { notebook: notebook.clone(), ids: vec![NotebookItemId::Snippet(SnippetId(number))] },
        Refusal::NotebookConflict { notebook: notebook.clone(), expected: number, current: number },
        Refusal::Unreadable { what: text().into(), text: text() },
        Refusal::NotebookContradicts { notebook, reason: text() },
        Refusal::NoBoard,
        Refusal::BoardExists,
        Refusal::BoardEnded { status: BoardStatus::Cancelled },
        Refusal::BoardActive,
        Refusal::BoardKept { by },
        Refusal::BoardPurged,
        Refusal::NotOnBoard { what: text().into(), id: text() },
        Refusal::UnknownMember { key: text() },
        Refusal::DuplicateMember { key: text() },
        Refusal::KeyReadsAsId { key: text() },
        Refusal::Cycle { path: vec![TaskRef::Task(task), TaskRef::Member(format!("member {said}"))] },
        Refusal::TaskMove { task, from, to, allowed: vec![TaskStatus::Pending, TaskStatus::Cancelled] },
        Refusal::NotThisWay { task, from, to },
        Refusal::NotReady { task, hindrances },
        Refusal::AlreadyBegun { task, status: from },
        Refusal::TaskHeld { task, holder: agent.clone(), deadline: Some(at) },
        Refusal::TaskHeld { task, holder: agent.clone(), deadline: None },
        Refusal::OrchestratorHeld { holder: agent.clone(), deadline: at },
        Refusal::Fenced {
            what: text(),
            holder: Some(agent.clone()),
            epoch: number,
            sent: Some(number),
            status: Some(from),
        },
        Refusal::Fenced { what: text(), holder: None, epoch: number, sent: None, status: None },
        Refusal::TaskConflict { expected: number, current: Box::new(desk.task(added).clone()) },
        Refusal::BoardConflict { expected: number, current: Box::new(desk.state().info().unwrap().clone()) },
        Refusal::NotAuthor { decision, author: text() },
        Refusal::Superseded { decision, by: decision },
        Refusal::Irreversible { decision },
        Refusal::NotReviewer { task, reviewer: agent },
        Refusal::OwnTask { task, principal: text() },
        Refusal::UrgentNudges { task, nudges: vec![NudgeId(number), NudgeId(1)] },
        Refusal::NothingWaits,
        Refusal::AwaitsApproval { task, decisions: vec![decision] },
        Refusal::Paused { by: text(), at },
        Refusal::NotForYou { nudge, to: text() },
        Refusal::AlreadyChosen { choice, chosen: text() },
        Refusal::NoBranch { choice, option: text(), options: vec![text(), text()] },
        Refusal::BadChoice { reason: text() },
        Refusal::BoardContradicts { reason: text() },
        Refusal::CauseNotRetried { task, cause: text() },
        Refusal::Unfinished { unfinished: number },
        Refusal::LearningRefused { learning: learning.clone(), by: text() },
        Refusal::LearningPromoted { learning: learning.clone(), core },
        Refusal::NotPromoted { learning: learning.clone(), status: text().into() },
        Refusal::PromotionOpen { learning: learning.clone() },
        Refusal::PromotionOver { learning: learning.clone(), status: text().into() },
        Refusal::OwnLearning { learning: learning.clone(), principal: text(), own_part: OwnPart::Contributor },
        Refusal::NoCore { learning },
        Refusal::LeaseLength { lease_s: 0.5 },
        Refusal::Checksum { text: text() },
        Refusal::ReservedName { what: text().into(), prefix: text().into() },
        Refusal::NotInCore { entry: CoreEntryId(number) },
        Refusal::EntryForgotten { entry: CoreEntryId(number) },
        Refusal::CoreConflict { expected: number, current: Box::new(shelf.entry(known).clone()) },
        Refusal::SameText { entry: CoreEntryId(number), other: CoreEntryId(number) },
        Refusal::TaskPattern { line: number as usize, reason: text() },
        Refusal::TrustDenied { principal: text(), asked: Trust::Own, most: Trust::Outside },
        Refusal::NoToken { token: TokenId(number) },
        Refusal::NoPromotion { item: text(), board_rev: number },
        Refusal::MemoryContradicts { reason: text() },
        Refusal::CoreContradicts { reason: text() },
        Refusal::IdempotencyMismatch { key: text(), rev: number, at },
    ]
}

/// The names of all refusals, taken from the deserializer's error.
fn all_names() -> BTreeSet<String> {
    let error = serde_json::from_str::<Refusal>(r#"{"no_such_refusal":{}}"#).unwrap_err().to_string();
    let (_, expected) = error.split_once("expected one of ").unwrap();
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn name(refusal: &Refusal) -> String {
    match serde_json::to_value(refusal).unwrap() {
        serde_json::Value::String(name) => name,
        other => other.as_object().and_then(|object| object.keys().next().cloned()).unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_refusal_arrives_unchanged(parts in parts()) {
        let refusals = refusals(&parts);
        prop_assert_eq!(refusals.iter().map(name).collect::<BTreeSet<_>>(), all_names());
        for refusal in refusals {
            check_same(&refusal);
            prop_assert_eq!(crate::board_support::wire::arrived(&refusal).to_string(), refusal.to_string());
        }
    }
}

/// Programs of an earlier version call the end of a lease `until`.
#[test]
fn earlier_names_of_fields_are_accepted() {
    let held = Refusal::TaskHeld {
        task: "T-1".parse().unwrap(),
        holder: AgentId::new("ann", &Limits::default()).unwrap(),
        deadline: Some(Timestamp::UNIX_EPOCH),
    };
    let earlier = serde_json::to_string(&held).unwrap().replace("deadline", "until");
    assert_eq!(serde_json::from_str::<Refusal>(&earlier).unwrap(), held);
}
