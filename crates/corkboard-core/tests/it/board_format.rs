//! The stored format of boards: fixtures of every format version, which must stay readable.
//!
//! `fixtures/board-v<n>.events.jsonl` is a log in format `n`, one commit per line. `board-v<n>.snapshot.json` is the
//! state after it. The other pairs are boards that:
//!
//! - `board-copy`: were forked from another
//! - `board-small`: set only required fields
//! - `board-people`: have nudges, approvals and pauses
//! - `board-retired`: were archived, discarded and purged
//! - `board-drawn`: started with entries of their memory cores
//! - `board-redrawn`: got other cores later
//! - `board-learned`: have learnings in every state
//! - `board-given-up`: have promotions that a core refused
//! - `board-outside`: have results from outside
//! - `board-untied`: had dependencies removed
//! - `board-reworked`: had work sent back, resumed after a restart, and cancelled
//!
//! This command writes missing fixtures from the histories in this file:
//!
//! ```text
//! CORK_WRITE_FIXTURES=1 cargo test -p corkboard-core --test it board_format
//! ```
//!
//! Existing files are never overwritten: a difference from them changes the format and needs a new version. Boards
//! exist since format 2.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::board_support::*;
use crate::support::{check_fields, edited_fields};
use corkboard_core::board::{
    ApprovalId, ApprovalVerdict, ArtifactId, ArtifactType, BoardCommand, BoardEdit, BoardEvent, BoardForget,
    BoardImage, BoardOutcome, BoardReply, BoardState, CancelCause, Cancellation, ChoiceId, DecisionId, DiscoveryId,
    DiscoveryType, FailurePolicy, ForkedFrom, LearningChanges, LearningId, NewArtifact, NewBoard, NewDecision,
    NewDiscovery, NewNudge, NewTask, NudgeId, NudgePriority, NudgeTarget, RetainFor, ReviewVerdict, TaskEdit, TaskId,
    TaskResult, TaskStatus, TriggerRule, Unfinished, WhichLearnings,
};
use corkboard_core::knowledge::{CoreEntryId, Trust};
use corkboard_core::{
    Actor, FORMAT_VERSION, FormatError, IdempotencyKey, Limits, MemoryKind, Request, Revisioned, Role, Space, Stamp,
};
use jiff::SignedDuration;
use serde_json::Value;

const FIRST: u32 = 2;
const KINDS: [&str; 13] = [
    "board",
    "board-copy",
    "board-small",
    "board-people",
    "board-retired",
    "board-drawn",
    "board-redrawn",
    "board-learned",
    "board-given-up",
    "board-outside",
    "board-untied",
    "board-reworked",
    "board-forgotten",
];

#[test]
fn the_log_of_every_version_folds_to_its_snapshot() {
    for (kind, version) in fixtures() {
        let fixture = Fixture::read(kind, version);
        let snapshot = Revisioned::<BoardState>::decode(&fixture.snapshot).unwrap();
        let folded = replay(Revisioned::default(), &fixture.log, &Limits::default());
        scan::check(&folded.state);
        let [folded, snapshot] =
            [folded, snapshot].map(|board| if version < 3 { without_what_format_3_added(board) } else { board });
        assert_eq!(folded, snapshot, "{kind} in format {version}");
        scan::check(&snapshot.state);
    }
}

#[test]
fn the_current_version_is_still_written_byte_for_byte() {
    for kind in KINDS {
        let fixture = Fixture::read(kind, FORMAT_VERSION);
        for line in &fixture.log {
            let again = BoardCommit::decode(line).unwrap().encode().unwrap();
            assert_eq!(text(&again), text(line), "the format has changed: see the top of this file");
        }
        let snapshot = Revisioned::<BoardState>::decode(&fixture.snapshot).unwrap();
        assert_eq!(text(&snapshot.encode().unwrap()), text(&fixture.snapshot));
    }
}

#[test]
fn the_fixtures_contain_every_event_and_every_reply() {
    let (mut events, mut replies) = (BTreeSet::new(), BTreeSet::new());
    for commit in commits() {
        events.extend(commit.events.iter().map(event_name));
        replies.extend(commit.answered.iter().map(|(_, reply)| reply_name(reply)));
    }
    assert_eq!(events.len(), 53, "{events:?}");
    assert_eq!(replies.len(), 17, "{replies:?}");
}

#[test]
fn the_fixtures_contain_every_variant_of_every_enum() {
    let text: String =
        KINDS.iter().flat_map(|kind| Fixture::read(kind, FORMAT_VERSION).log).map(|line| text(&line)).collect();
    let words = [
        "all_success all_done one_success one_failed none_failed none_failed_min_one_success",
        "skip_dependents fail_fast continue approved needs_rework rejected",
        "requested branch_not_taken upstream_failed upstream_cancelled board_ended constraint opportunity risk insight",
        "file code document config test completed success",
        "all orchestrator agent low normal urgent approved rejected own outside human service",
    ];
    for word in words.iter().flat_map(|words| words.split(' ')) {
        assert!(text.contains(&format!("\"{word}\"")), "{word}");
    }
    let snapshots: Vec<_> = KINDS.iter().map(|kind| Fixture::read(kind, FORMAT_VERSION).snapshot).collect();
    let snapshots = snapshots.iter().map(|bytes| self::text(bytes)).collect::<String>();
    for status in TaskStatus::ALL {
        assert!(snapshots.contains(&format!("\"status\":\"{status}\"")), "no fixture has a task that is {status}");
    }
}

#[test]
fn the_fixtures_contain_every_optional_field_present_and_absent() {
    let lines_of = |version: u32| -> Vec<Value> {
        let lines = kinds_of(version).flat_map(|kind| Fixture::read(kind, version).log);
        lines.map(|line| serde_json::from_slice(&line).unwrap()).collect()
    };
    let events_in = |lines: &[Value], name: &str| -> Vec<Value> {
        let events = lines.iter().flat_map(|commit| commit["events"].as_array().unwrap());
        events.filter_map(|event| event.get(name)).cloned().collect()
    };
    let lines = lines_of(FORMAT_VERSION);
    let events = |name: &str| events_in(&lines, name);
    let inner =
        |name: &str, field: &str| -> Vec<Value> { events(name).iter().map(|event| event[field].clone()).collect() };
    check_fields(&lines, "answered");
    check_fields(&events("board_created"), "constraints cores drawn pattern");
    check_fields(&edited_fields(&events("board_edited")), "name goal constraints cores on_failure drawn");
    let task = "description depends_on trigger_rule priority estimate_minutes needs_review retry_limit retry_backoff_s";
    check_fields(&inner("task_added", "task"), task);
    let edit =
        "title description trigger_rule on_failure priority estimate_minutes needs_review retry_limit retry_backoff_s";
    check_fields(&edited_fields(&inner("task_edited", "edit")), edit);
    check_fields(&events("task_started"), "agent");
    check_fields(&events("task_blocked"), "reason");
    check_fields(&events("task_submitted"), "result");
    check_fields(&events("task_completed"), "result");
    let results = ["task_submitted", "task_completed"].map(|name| inner(name, "result")).concat();
    let results: Vec<Value> = results.into_iter().filter(Value::is_object).collect();
    check_fields(&results, "next_steps trust");
    check_fields(&events("task_reviewed"), "comment remembered");
    // Since setbacks were added, every failure is remembered. Only older events lack the field.
    assert!(events("task_failed").iter().all(|failed| failed["remembered"] == true));
    check_fields(&events_in(&lines_of(2), "task_failed"), "remembered");
    check_fields(&events("task_retried"), "not_before by_hand");
    check_fields(&events("task_cancelled"), "caused_by reason");
    let decision = "alternatives rationale affects_tasks reversible supersedes force needs_approval trust";
    check_fields(&inner("decision_recorded", "decision"), decision);
    check_fields(&inner("discovery_recorded", "discovery"), "affects_tasks promote_to_core trust");
    check_fields(&inner("artifact_recorded", "artifact"), "description task checksum size content trust");
    check_fields(&events("branch_chosen"), "rationale");
    check_fields(&events("board_ended"), "reason");
    check_fields(&events("decision_judged"), "comment");
    check_fields(&events("board_paused"), "reason");
    check_fields(&events("learning_refused"), "reason");
    check_fields(&events("roll_back_begun"), "reason");
    check_fields(&inner("promotion_begun", "entry"), "contributors");
    check_fields(&events("board_discarded"), "reason");
    check_fields(&inner("nudge_sent", "nudge"), "expires_at");

    let states = KINDS.map(|kind| {
        serde_json::from_slice::<Value>(&Fixture::read(kind, FORMAT_VERSION).snapshot).unwrap()["state"].clone()
    });
    let of_image = |field: &str| -> Vec<Value> {
        states.iter().flat_map(|state| state[field].as_array().unwrap()).cloned().collect()
    };
    let task = "assigned_to assigned_at estimate_minutes not_before claim worked_as started_at blocked_reason result \
                completed_at failure cancellation reviewer reviewed_by review_verdict review_comment choice setbacks rework";
    check_fields(&of_image("tasks"), task);
    let cancellations: Vec<Value> =
        of_image("tasks").iter().map(|task| task["cancellation"].clone()).filter(Value::is_object).collect();
    check_fields(&cancellations, "caused_by reason");
    check_fields(&of_image("decisions"), "supersedes superseded_by needs_approval verdict trust");
    check_fields(&of_image("approvals"), "comment");
    check_fields(&of_image("nudges"), "expires_at expired delivered acknowledged");
    check_fields(&of_image("discoveries"), "promote_to_core trust");
    check_fields(&of_image("artifacts"), "task checksum size content trust");
    check_fields(&of_image("choices"), "chosen chosen_by chosen_at rationale");
    // The fields of a learning depend on its state.
    check_fields(&of_image("learnings"), "core entry reason begun_rev refused");
    let with = |field: &str| -> Vec<Value> {
        of_image("learnings").into_iter().filter(|verdict| verdict.get(field).is_some()).collect()
    };
    check_fields(&with("reason"), "reason");
    check_fields(&with("refused"), "refused");
    check_fields(&states, "orchestrator approvals nudges learnings");
    let infos = states.each_ref().map(|state| state["info"].clone());
    let info = "cores drawn pattern outcome ended_at reason forked_from paused archived_at retain_until waived \
                learnings_extracted";
    check_fields(&infos, info);
}

#[test]
fn a_cancellation_is_read_in_every_format() {
    let cancelled = |said: &str| -> BoardEvent {
        serde_json::from_str(&format!(r#"{{"task_cancelled":{{"task":"T-2",{said}}}}}"#)).unwrap()
    };
    let is = |cause, caused_by: Option<u64>, reason: Option<&str>| BoardEvent::TaskCancelled {
        task: id(2),
        cancellation: Cancellation { cause, caused_by: caused_by.map(id), reason: reason.map(Into::into) },
    };
    for (said, event) in [
        (r#""reason":"board_ended""#, is(CancelCause::BoardEnded, None, None)),
        (r#""reason":"upstream_failed","cause":"T-1""#, is(CancelCause::UpstreamFailed, Some(1), None)),
        (r#""reason":"requested","comment":"board_ended""#, is(CancelCause::Requested, None, Some("board_ended"))),
        (r#""cause":"upstream_failed","caused_by":"T-1""#, is(CancelCause::UpstreamFailed, Some(1), None)),
        // In format 2, this free-text reason has the name of a cause.
        (r#""cause":"requested","reason":"board_ended""#, is(CancelCause::Requested, None, Some("board_ended"))),
    ] {
        assert_eq!(cancelled(said), event, "{said}");
        let again = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<BoardEvent>(&again).unwrap(), event, "{again}");
    }
}

#[test]
fn a_lease_is_stored_in_seconds_and_older_logs_have_milliseconds() {
    let stored = |lease: &str| {
        format!(r#"{{"task_resumed":{{"task":"T-1","epoch":1,"deadline":"2026-01-01T00:00:00Z",{lease}}}}}"#)
    };
    for (written, ms, again) in [
        (r#""lease_ms":10"#, 10, r#""lease_s":0.01"#),
        (r#""lease_ms":30000"#, 30_000, r#""lease_s":30"#),
        (r#""lease_s":1.001"#, 1_001, r#""lease_s":1.001"#),
        (r#""lease_s":604800"#, 604_800_000, r#""lease_s":604800"#),
    ] {
        let event: BoardEvent = serde_json::from_str(&stored(written)).unwrap();
        assert!(
            matches!(event, BoardEvent::TaskResumed { lease, .. } if lease == Duration::from_millis(ms)),
            "{written}: {event:?}"
        );
        assert_eq!(serde_json::to_string(&event).unwrap(), stored(again));
        let started = BoardEvent::TaskStarted {
            task: id(1),
            agent: None,
            epoch: 1,
            deadline: at(1),
            lease: Duration::from_millis(ms),
        };
        let commit = BoardCommit::new(at(1), worker("ann"), None, vec![started]);
        assert_eq!(text(&BoardState::encode(&commit).unwrap()), text(&commit.encode().unwrap()));
    }
    assert!(serde_json::from_str::<BoardEvent>(&stored(r#""epoch_s":1"#)).is_err(), "a lease has a duration");
}

#[test]
fn an_event_that_does_not_fit_is_a_misfit() {
    let mut desk = Desk::new();
    desk.add(NewTask::new("task"));
    desk.ask(&worker("ann"), BoardCommand::RecordDecision(decision(None))).unwrap();
    let (task, nowhere) = (id(1), id(9));
    let new_task = |on: &[TaskId]| Box::new(after("x", on));
    let misfits = [
        BoardEvent::Created(Box::default()),
        BoardEvent::Forked { image: Box::default(), from: ForkedFrom { board: "b".into(), rev: 1 } },
        BoardEvent::TaskAdded { id: task, task: new_task(&[]) },
        BoardEvent::TaskAdded { id: id(2), task: new_task(&[nowhere]) },
        BoardEvent::TaskAdded { id: id(2), task: Box::new(member("x", &["y"])) },
        BoardEvent::DependencyAdded { task, depends_on: nowhere },
        BoardEvent::DependencyAdded { task: nowhere, depends_on: task },
        BoardEvent::DependencyRemoved { task, depends_on: task },
        BoardEvent::DependencyRemoved { task, depends_on: nowhere },
        BoardEvent::DependencyRemoved { task: nowhere, depends_on: task },
        BoardEvent::TaskStarted { task, agent: None, epoch: 1, deadline: at(1), lease: Duration::from_millis(1) },
        BoardEvent::LeaseRenewed { task, deadline: at(1) },
        BoardEvent::TaskReleased { task: nowhere },
        BoardEvent::TaskCompleted { task: nowhere, result: None },
        BoardEvent::DecisionRecorded { id: DecisionId(1), decision: Box::new(decision(None)) },
        BoardEvent::DecisionRecorded { id: DecisionId(3), decision: Box::new(decision(None)) },
        BoardEvent::DecisionRecorded { id: DecisionId(2), decision: Box::new(decision(Some(7))) },
        BoardEvent::DiscoveryRecorded { id: DiscoveryId(2), discovery: Box::default() },
        BoardEvent::ArtifactRecorded { id: ArtifactId(0), artifact: Box::default() },
        BoardEvent::ChoiceAdded { id: ChoiceId(2), choice: Box::default() },
        BoardEvent::ChoiceAdded { id: ChoiceId(1), choice: Box::new(choice(&[("a", &[nowhere])])) },
        BoardEvent::BranchChosen { choice: ChoiceId(1), option: "a".into(), rationale: None },
        BoardEvent::OrchestratorRenewed { deadline: at(1) },
        BoardEvent::DecisionJudged {
            id: ApprovalId(2),
            decision: DecisionId(1),
            verdict: ApprovalVerdict::Approved,
            comment: None,
        },
        BoardEvent::DecisionJudged {
            id: ApprovalId(1),
            decision: DecisionId(9),
            verdict: ApprovalVerdict::Approved,
            comment: None,
        },
        BoardEvent::NudgeSent { id: NudgeId(2), nudge: Box::new(nudge(NudgeTarget::All)) },
        BoardEvent::NudgeDelivered { nudge: NudgeId(1), agent: "ann".into() },
        BoardEvent::NudgeAcknowledged { nudge: NudgeId(1), agent: "ann".into() },
        BoardEvent::NudgeExpired { nudge: NudgeId(1) },
        BoardEvent::Resumed,
    ];
    let stamp = Stamp { rev: 9, at: at(2_000), principal: "ann", role: Role::Worker };
    for event in misfits {
        let applied = desk.state().clone().apply(&event, stamp);
        assert!(matches!(applied, Err(FormatError::Misfit(_))), "{event:?}: {applied:?}");
    }
    let never_made = BoardState::default().apply(&BoardEvent::Edited(Box::default()), stamp);
    assert!(matches!(never_made, Err(FormatError::Misfit(_))));
}

fn fixtures() -> impl Iterator<Item = (&'static str, u32)> {
    (FIRST..=FORMAT_VERSION).flat_map(|version| kinds_of(version).map(move |kind| (kind, version)))
}

/// The kinds that a version has. Nothing could be forgotten in format 2.
fn kinds_of(version: u32) -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().filter(move |kind| version > 2 || *kind != "board-forgotten")
}

/// Sets the fields that only format 3 stores to one value: when a record was last changed, and who made a choice or a
/// verdict on a learning and when. A log contains all of it in its stamps, even an old log. An old snapshot does not,
/// and loading fills in a best guess. Artifacts and approvals never change after their creation, so they need no guess
/// and stay as they are.
fn without_what_format_3_added(mut board: Revisioned<BoardState>) -> Revisioned<BoardState> {
    let mut image = BoardImage::from(board.state);
    macro_rules! forget_updates {
        ($($records:ident),*) => {
            $(for record in image.$records.iter_mut() {
                let record = Arc::make_mut(record);
                record.updated_at = record.created_at;
            })*
        };
    }
    macro_rules! forget_authors {
        ($($records:ident),*) => {
            $(for record in image.$records.iter_mut() {
                let record = Arc::make_mut(record);
                (record.created_at, record.created_by, record.updated_at) = (at(1), "somebody".into(), at(1));
            })*
        };
    }
    forget_updates!(info, tasks, decisions, discoveries, nudges);
    forget_authors!(choices, learnings);
    board.state = image.into();
    board
}

fn commits() -> Vec<BoardCommit> {
    let logs = KINDS.iter().flat_map(|kind| Fixture::read(kind, FORMAT_VERSION).log);
    logs.map(|line| BoardCommit::decode(&line).unwrap()).collect()
}

struct Fixture {
    log: Vec<Vec<u8>>,
    snapshot: Vec<u8>,
}

impl Fixture {
    fn read(kind: &str, version: u32) -> Self {
        static WRITTEN: LazyLock<()> = LazyLock::new(|| {
            if std::env::var_os("CORK_WRITE_FIXTURES").is_some() {
                let source = history();
                write_if_missing("board-copy", &copied(&source));
                write_if_missing("board", &ended(source));
                write_if_missing("board-small", &small());
                write_if_missing("board-people", &steered());
                write_if_missing("board-retired", &retired());
                write_if_missing("board-drawn", &drawn());
                write_if_missing("board-redrawn", &redrawn());
                write_if_missing("board-learned", &learned());
                write_if_missing("board-given-up", &given_up());
                write_if_missing("board-outside", &told_from_outside());
                write_if_missing("board-untied", &untied());
                write_if_missing("board-reworked", &reworked());
                write_if_missing("board-forgotten", &forgotten());
            }
        });
        LazyLock::force(&WRITTEN);
        let [log, snapshot] = paths(kind, version).map(|path| {
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; see the top of this file", path.display()))
        });
        let log = log.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        Self { log, snapshot: snapshot.strip_suffix(b"\n").unwrap().to_vec() }
    }
}

fn write_if_missing(kind: &str, desk: &Desk) {
    let log = desk.log.iter().map(|line| line.to_vec()).collect::<Vec<_>>().join(&b'\n');
    for (path, content) in paths(kind, FORMAT_VERSION).iter().zip([log, desk.live.encode().unwrap()]) {
        match File::create_new(path) {
            Ok(mut file) => file.write_all(&[&content, &b"\n"[..]].concat()).unwrap(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{}: {error}", path.display()),
        }
    }
}

fn paths(kind: &str, version: u32) -> [PathBuf; 2] {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    ["events.jsonl", "snapshot.json"].map(|what| folder.join(format!("{kind}-v{version}.{what}")))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn decision(supersedes: Option<u64>) -> NewDecision {
    NewDecision {
        question: "Which library?".into(),
        choice: "jose".into(),
        supersedes: supersedes.map(DecisionId),
        ..NewDecision::default()
    }
}

/// A board that started with entries of its cores and with tasks.
fn drawn() -> Desk {
    let mut desk = Desk::empty(Limits::default());
    let board = NewBoard {
        name: "Drawn".into(),
        cores: vec!["house rules".into(), "a:b".into()],
        drawn: ["a:b:E-12", "house rules:E-1"].map(|it| it.parse().unwrap()).to_vec(),
        pattern: Some("house rules:E-3".parse().unwrap()),
        ..NewBoard::default()
    };
    let tasks = NewTask::from_pattern("1. Design ~30m\n2. Build [review] — with tests").unwrap();
    desk.tell(BoardCommand::CreateWithTasks { board, tasks });
    desk
}

/// The same board after its cores were replaced.
fn redrawn() -> Desk {
    let mut desk = drawn();
    let (cores, drawn) = (vec!["acme".into()], vec!["acme:E-4".parse().unwrap()]);
    let edit = BoardEdit { cores: Some(cores), drawn: Some(drawn), ..BoardEdit::default() };
    desk.tell(BoardCommand::Edit { edit, if_version: None });
    desk
}

/// A history in which everything happens that a board can store.
fn history() -> Desk {
    let (ann, bob) = (worker("ann"), worker("bob"));
    let mut desk = Desk::empty(Limits::default());
    let mut keys = 0;
    // With an idempotency key, the reply is stored, too.
    let mut keyed = |desk: &mut Desk, actor: &Actor, command: BoardCommand| {
        keys += 1;
        let key = IdempotencyKey::new(&format!("key-{keys}"), &command, &Limits::default()).unwrap();
        desk.request(actor, &Request { command, if_rev: None, idempotency: Some(key) }).unwrap()
    };
    desk.tell(BoardCommand::Create(NewBoard {
        name: "Token service 🗝".into(),
        goal: "Add \"JWT\"\nto the API".into(),
        constraints: vec!["No breaking changes".into()],
        cores: vec!["auth-jwt".into()],
        on_failure: FailurePolicy::SkipDependents,
        ..NewBoard::default()
    }));
    desk.tell(BoardCommand::Edit { edit: BoardEdit::default(), if_version: None });
    let edit =
        BoardEdit { name: Some("Tokens".into()), on_failure: Some(FailurePolicy::FailFast), ..BoardEdit::default() };
    keyed(&mut desk, &human(), BoardCommand::Edit { edit, if_version: None });
    let edit = BoardEdit {
        goal: Some("Ship it".into()),
        constraints: Some(vec![]),
        cores: Some(vec!["acme".into()]),
        ..BoardEdit::default()
    };
    desk.tell(BoardCommand::Edit { edit, if_version: None });
    let edit = BoardEdit { on_failure: Some(FailurePolicy::SkipDependents), ..BoardEdit::default() };
    desk.tell(BoardCommand::Edit { edit, if_version: None });
    let rule = |trigger_rule, on: &[&str]| NewTask { trigger_rule, ..member("rule", on) };
    let unnamed = |task: NewTask| NewTask { key: None, ..task };
    let tasks = vec![
        NewTask {
            description: "Claims and refresh".into(),
            priority: 3,
            estimate_minutes: Some(30),
            ..member("t1", &[])
        },
        NewTask { needs_review: true, ..member("t2", &["t1", "t3"]) },
        NewTask { retry_limit: 2, retry_backoff_s: 60, on_failure: Some(FailurePolicy::Continue), ..member("t3", &[]) },
        unnamed(rule(TriggerRule::AllDone, &["t1"])),
        unnamed(rule(TriggerRule::OneSuccess, &["t1"])),
        unnamed(rule(TriggerRule::OneFailed, &["t1"])),
        unnamed(rule(TriggerRule::NoneFailed, &["t2"])),
        unnamed(rule(TriggerRule::NoneFailedMinOneSuccess, &["t2"])),
        member("a", &[]),
        member("b", &[]),
        NewTask { on_failure: Some(FailurePolicy::FailFast), ..member("unused", &[]) },
    ];
    let options: [(&str, &[TaskId]); 2] = [("A", &[id(9)]), ("B", &[id(10)])];
    keyed(&mut desk, &human(), BoardCommand::AddTasks { tasks, choices: vec![choice(&options)] });
    let heads = desk.add_all(vec![NewTask::new("c"), NewTask::new("d")]);
    desk.add_choice(&[("C", &heads[..1]), ("D", &heads[1..])]);
    desk.tell(BoardCommand::AddDependency { task: id(4), depends_on: id(3) });
    let edits = [
        TaskEdit { title: Some("Unused".into()), description: Some("nothing".into()), ..TaskEdit::default() },
        TaskEdit {
            trigger_rule: Some(TriggerRule::AllDone),
            on_failure: Some(FailurePolicy::Continue),
            ..TaskEdit::default()
        },
        TaskEdit { priority: Some(-1), estimate_minutes: Some(5), needs_review: Some(true), ..TaskEdit::default() },
        TaskEdit { retry_limit: Some(1), retry_backoff_s: Some(1), ..TaskEdit::default() },
    ];
    for edit in edits {
        desk.tell(BoardCommand::EditTask { task: id(11), edit, if_version: None });
    }
    desk.ask(&orchestrator("olga"), BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    desk.pass(LEASE_MS as i64 - 5_000);
    keyed(&mut desk, &orchestrator("olga"), BoardCommand::RenewOrchestrator { epoch: 1 });
    desk.ask(&orchestrator("olga"), BoardCommand::ReleaseOrchestrator { epoch: 1 }).unwrap();
    desk.ask(&orchestrator("olga"), BoardCommand::AcquireOrchestrator { lease: Duration::from_millis(10) }).unwrap();
    desk.pass(10);
    desk.tell(BoardCommand::Tick);

    let choose = |choice, option: &str, rationale| BoardCommand::Choose { choice, option: option.into(), rationale };
    keyed(&mut desk, &human(), choose(ChoiceId(1), "A", Some("it is faster".into())));
    keyed(&mut desk, &ann, claim_next());
    desk.ask(
        &ann,
        BoardCommand::SetStatus {
            task: id(1),
            status: TaskStatus::Blocked,
            reason: Some("no answer".into()),
            epoch: Some(1),
            lease: Duration::from_millis(1),
        },
    )
    .unwrap();
    desk.ask(&ann, set_status(id(1), TaskStatus::InProgress, None)).unwrap();
    desk.pass(LEASE_MS as i64 - 5_000);
    desk.ask(&ann, heartbeat(id(1), Some(1))).unwrap();
    keyed(&mut desk, &ann, complete_task(id(1), Some(1)));
    desk.tell(assign(id(9), "bob"));
    desk.claim(&bob, id(9));
    desk.pass(LEASE_MS as i64);
    desk.claim(&bob, id(9));
    desk.ask(&bob, set_status(id(9), TaskStatus::Completed, None)).unwrap();
    desk.fail(id(3));
    desk.pass(60_000);
    desk.tell(BoardCommand::Tick);
    desk.complete(id(3));
    // Reviewed three times.
    desk.tell(BoardCommand::AssignReview { task: id(2), agent: agent("rita") });
    desk.claim(&ann, id(2));
    desk.ask(&ann, set_status(id(2), TaskStatus::Review, None)).unwrap();
    desk.tell(review(id(2), ReviewVerdict::NeedsRework));
    let result = TaskResult { summary: "done better".into(), next_steps: vec!["write tests".into()], trust: None };
    desk.ask(&ann, BoardCommand::CompleteTask { task: id(2), result, epoch: None, heed_nudges: false }).unwrap();
    let (verdict, comment) = (ReviewVerdict::Rejected, Some("not yet".into()));
    desk.ask(&named("rita", Role::Reviewer), BoardCommand::Review { task: id(2), verdict, comment }).unwrap();
    keyed(&mut desk, &human(), BoardCommand::RetryFailed);
    desk.complete(id(2));
    let (task, verdict, comment) = (id(2), ReviewVerdict::Approved, Some("now it is".into()));
    desk.ask(&named("rita", Role::Reviewer), BoardCommand::Review { task, verdict, comment }).unwrap();

    keyed(&mut desk, &ann, BoardCommand::RecordDecision(decision(None)));
    desk.ask(
        &ann,
        BoardCommand::RecordDecision(NewDecision {
            alternatives: vec!["jsonwebtoken".into()],
            rationale: "it is more modern".into(),
            affects_tasks: vec![id(1), id(2)],
            reversible: Some(false),
            ..decision(Some(1))
        }),
    )
    .unwrap();
    for (kind, affects_tasks, promote_to_core) in [
        (DiscoveryType::Constraint, vec![id(1)], None),
        (DiscoveryType::Opportunity, vec![], Some("auth-jwt".into())),
        (DiscoveryType::Risk, vec![], None),
        (DiscoveryType::Insight, vec![], None),
    ] {
        let content = "a column is missing".into();
        let discovery = NewDiscovery { content, kind, affects_tasks, promote_to_core, trust: None };
        keyed(&mut desk, &bob, BoardCommand::RecordDiscovery(discovery));
    }
    for kind in
        [ArtifactType::File, ArtifactType::Code, ArtifactType::Document, ArtifactType::Config, ArtifactType::Test]
    {
        let artifact = NewArtifact { kind, path: "src/token.rs".into(), ..NewArtifact::default() };
        keyed(&mut desk, &bob, BoardCommand::RecordArtifact(artifact));
    }
    let artifact = NewArtifact {
        path: "notes.md".into(),
        description: "Notes".into(),
        task: Some(id(1)),
        checksum: Some("ab".repeat(32)),
        size: Some(5),
        content: Some("notes".into()),
        ..NewArtifact::default()
    };
    desk.ask(&bob, BoardCommand::RecordArtifact(artifact)).unwrap();

    desk.tell(BoardCommand::CancelTask { task: id(4), reason: Some("not wanted".into()) });
    desk.tell(assign(id(5), "bob"));
    desk.tell(release(id(5), None));
    // Tasks in every state that a copy can start with.
    let more = desk.add_all(vec![
        NewTask::new("fails"),
        NewTask { retry_limit: 1, retry_backoff_s: 3_600, ..NewTask::new("waits") },
        NewTask { needs_review: true, ..NewTask::new("in review") },
        NewTask::new("assigned"),
    ]);
    desk.tell(BoardCommand::AddDependency { task: id(8), depends_on: more[0] });
    desk.fail(more[0]);
    desk.fail(more[1]);
    desk.complete(more[2]);
    desk.tell(assign(more[3], "bob"));
    desk
}

/// A fork of that board, with work in progress.
fn copied(source: &Desk) -> Desk {
    let (ann, mut copy) = (worker("ann"), Desk::empty(Limits::default()));
    copy.now = source.now;
    let image = Box::new(BoardImage::from(source.state().clone()));
    copy.tell(BoardCommand::Fork { name: None, image, from: ForkedFrom { board: "tokens".into(), rev: source.rev() } });
    copy.tell(BoardCommand::Choose { choice: ChoiceId(2), option: "D".into(), rationale: None });
    copy.claim(&ann, id(13));
    copy.claim(&ann, id(5));
    copy.ask(&ann, set_status(id(5), TaskStatus::Blocked, None)).unwrap();
    let blocked = copy.add(NewTask::new("blocked"));
    copy.claim(&ann, blocked);
    let (status, reason, epoch) = (TaskStatus::Blocked, Some("no answer".into()), Some(1));
    copy.ask(&ann, BoardCommand::SetStatus { task: blocked, status, reason, epoch, lease: Duration::from_millis(1) })
        .unwrap();
    copy.ask(&orchestrator("olga"), BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    copy
}

fn ended(mut desk: Desk) -> Desk {
    let command = BoardCommand::Complete { reason: Some("enough".into()), unfinished: Unfinished::Cancel };
    let key = IdempotencyKey::new("the end", &command, &Limits::default()).unwrap();
    let reply = desk.request(&human(), &Request { command, if_rev: None, idempotency: Some(key) }).unwrap();
    assert_eq!(reply, BoardReply::Ended { outcome: BoardOutcome::Partial });
    desk
}

/// A board that sets only required fields.
fn small() -> Desk {
    let mut desk = Desk::with(NewBoard { name: "small".into(), ..NewBoard::default() });
    desk.add(NewTask::new("task"));
    desk.complete(id(1));
    desk.tell(BoardCommand::Complete { reason: None, unfinished: Unfinished::Refuse });
    desk
}

/// A board with nudges, approvals and pauses, paused at the end.
fn steered() -> Desk {
    let (ann, bob, mut keys) = (worker("ann"), worker("bob"), 0);
    let mut desk = Desk::new();
    desk.add_all(vec![NewTask::new("a"), NewTask::new("b")]);
    let mut keyed = |desk: &mut Desk, actor: &Actor, command: BoardCommand| {
        keys += 1;
        let key = IdempotencyKey::new(&format!("key-{keys}"), &command, &Limits::default()).unwrap();
        desk.request(actor, &Request { command, if_rev: None, idempotency: Some(key) }).unwrap()
    };
    let to_ann = NudgeTarget::Agent(agent("ann"));
    let urgent = NewNudge { priority: NudgePriority::Urgent, ..nudge(NudgeTarget::All) };
    let low = NewNudge { priority: NudgePriority::Low, expires_at: Some(desk.now + LASTS), ..nudge(to_ann) };
    keyed(&mut desk, &human(), BoardCommand::SendNudge(urgent));
    desk.tell(BoardCommand::SendNudge(low));
    desk.tell(BoardCommand::SendNudge(nudge(NudgeTarget::Orchestrator)));
    keyed(&mut desk, &ann, BoardCommand::DeliverNudges { nudges: vec![NudgeId(1), NudgeId(2)] });
    desk.ask(&bob, BoardCommand::AcknowledgeNudges { nudges: vec![NudgeId(1)] }).unwrap();
    let asks = NewDecision { needs_approval: true, affects_tasks: vec![id(1)], ..decision(None) };
    for _ in 0..2 {
        desk.ask(&ann, BoardCommand::RecordDecision(asks.clone())).unwrap();
    }
    let judge = |decision, verdict, comment| BoardCommand::Judge { decision: DecisionId(decision), verdict, comment };
    keyed(&mut desk, &human(), judge(1, ApprovalVerdict::Rejected, Some("too slow".into())));
    desk.tell(judge(1, ApprovalVerdict::Approved, None));
    desk.tell(BoardCommand::RecordDecision(decision(Some(1))));
    desk.claim(&bob, id(2));
    desk.tell(BoardCommand::Pause { reason: None });
    desk.pass(7_000);
    desk.tell(BoardCommand::Resume);
    desk.pass(LASTS.as_millis() as i64);
    desk.tell(BoardCommand::Tick);
    desk.tell(BoardCommand::Pause { reason: Some("lunch".into()) });
    desk
}

/// A board that was archived and discarded in every way, and purged.
fn retired() -> Desk {
    let mut desk = Desk::new();
    desk.tell(BoardCommand::Cancel { reason: None });
    let archive = |retain| BoardCommand::Archive { retain };
    let keyed = archive(RetainFor::Unsaid { ms: 5_000 });
    let key = IdempotencyKey::new("away", &keyed, &Limits::default()).unwrap();
    desk.request(&human(), &Request { command: keyed, if_rev: None, idempotency: Some(key) }).unwrap();
    desk.pass(1_000);
    desk.tell(BoardCommand::Discard { reason: None });
    desk.pass(1_000);
    desk.tell(archive(RetainFor::Said { ms: 9_000 }));
    desk.pass(1_000);
    desk.tell(BoardCommand::Discard { reason: Some("it was \"only\" a try".into()) });
    desk.tell(BoardCommand::Purge);
    desk
}

/// A board with learnings in every state.
fn learned() -> Desk {
    let (ann, rita, mut keys) = (worker("ann"), named("rita", Role::Reviewer), 0);
    let mut desk = Desk::with(NewBoard { name: "learned".into(), cores: vec!["rules".into()], ..NewBoard::default() });
    let mut keyed = |desk: &mut Desk, actor: &Actor, command: BoardCommand| {
        keys += 1;
        let key = IdempotencyKey::new(&format!("key-{keys}"), &command, &Limits::default()).unwrap();
        desk.request(actor, &Request { command, if_rev: None, idempotency: Some(key) }).unwrap()
    };
    desk.tell(BoardCommand::RecordDecision(NewDecision { rationale: "it is more modern".into(), ..decision(None) }));
    desk.ask(&ann, BoardCommand::RecordDecision(decision(None))).unwrap();
    for (number, trust) in (1..).zip([Some(Trust::Outside), None, None, None, None, None]) {
        let content = format!("insight {number}");
        desk.ask(&ann, BoardCommand::RecordDiscovery(NewDiscovery { content, trust, ..NewDiscovery::default() }))
            .unwrap();
    }
    let page = NewArtifact { path: "page.html".into(), trust: Some(Trust::Outside), ..NewArtifact::default() };
    desk.ask(&ann, BoardCommand::RecordArtifact(page)).unwrap();
    let task = desk.add(NewTask { needs_review: true, retry_limit: 1, ..NewTask::new("Write the routes") });
    desk.fail(task);
    desk.complete(task);
    let (verdict, comment) = (ReviewVerdict::NeedsRework, Some("no \"test\"".into()));
    desk.ask(&rita, BoardCommand::Review { task, verdict, comment }).unwrap();
    desk.ask(&ann, complete_task(task, None)).unwrap();
    desk.tell(review(task, ReviewVerdict::NeedsRework));
    desk.ask(&ann, complete_task(task, None)).unwrap();
    desk.tell(review(task, ReviewVerdict::Approved));
    desk.tell(BoardCommand::Complete { reason: None, unfinished: Unfinished::Refuse });
    desk.ask(&rita, BoardCommand::ExtractLearnings).unwrap();

    let learning = |name: &str| name.parse::<LearningId>().unwrap();
    let promote =
        |name: &str| BoardCommand::PromoteLearning { learning: learning(name), core: None, changes: Box::default() };
    let finish = |desk: &mut Desk, name: &str| {
        let begun_rev = desk.rev();
        let command =
            BoardCommand::FinishPromotion { learning: learning(name), begun_rev, entry: CoreEntryId(begun_rev) };
        desk.ask(&Actor::system(), command).unwrap();
    };
    let roll_back = |name: &str, reason: Option<&str>| BoardCommand::RollBackLearnings {
        which: WhichLearnings::These(vec![learning(name)]),
        reason: reason.map(Into::into),
    };
    keyed(&mut desk, &rita, promote("F-2"));
    finish(&mut desk, "F-2");
    for (name, reason) in [("D-1", Some("wrong")), ("F-4", None)] {
        desk.tell(promote(name));
        finish(&mut desk, name);
        keyed(&mut desk, &human(), roll_back(name, reason));
        let begun_rev = desk.rev();
        desk.ask(&Actor::system(), BoardCommand::FinishRollBack { begun_rev }).unwrap();
    }
    desk.tell(BoardCommand::RefuseLearning { learning: learning("F-3"), reason: Some("not true".into()) });
    desk.tell(BoardCommand::RefuseLearning { learning: learning("F-5"), reason: None });
    desk.ask(&Actor::system(), promote("F-6")).unwrap();
    let (begun_rev, reason) = (desk.rev(), "the core is full".into());
    let abandon = BoardCommand::AbandonPromotion { learning: learning("F-6"), begun_rev, reason };
    desk.ask(&Actor::system(), abandon).unwrap();
    let give_up = BoardCommand::FinishAbandonment { learning: learning("F-6"), begun_rev };
    desk.ask(&Actor::system(), give_up).unwrap();
    let changes = LearningChanges {
        content: Some("Routes need tests".into()),
        kind: Some(MemoryKind::Insight),
        importance: Some(0.75),
        tags: Some(vec!["routes".into()]),
        trust: Some(Trust::Own),
    };
    let (learning_of_task, core) = (learning("rework:T-1"), Some("facts".into()));
    desk.tell(BoardCommand::PromoteLearning { learning: learning_of_task, core, changes: Box::new(changes) });
    finish(&mut desk, "rework:T-1");
    desk.tell(roll_back("rework:T-1", Some("too \"short\"")));
    desk.ask(&rita, promote("F-1")).unwrap();
    desk
}

/// A board with two learnings that a core refused: one promotion is abandoned, one is about to be.
fn given_up() -> Desk {
    let mut desk = Desk::with(NewBoard { name: "given up".into(), ..NewBoard::default() });
    for name in ["F-1", "F-2"] {
        let discovery = NewDiscovery { content: format!("insight {name}"), ..NewDiscovery::default() };
        desk.tell(BoardCommand::RecordDiscovery(discovery));
        let (learning, core) = (name.parse::<LearningId>().unwrap(), Some("rules".into()));
        desk.tell(BoardCommand::PromoteLearning { learning: learning.clone(), core, changes: Box::default() });
        let (begun_rev, reason) = (desk.rev(), "the core is full".into());
        let abandon = BoardCommand::AbandonPromotion { learning: learning.clone(), begun_rev, reason };
        desk.ask(&Actor::system(), abandon).unwrap();
        if name == "F-1" {
            let give_up = BoardCommand::FinishAbandonment { learning, begun_rev };
            desk.ask(&Actor::system(), give_up).unwrap();
        }
    }
    desk
}

/// A board with task results from outside.
fn told_from_outside() -> Desk {
    let ann = worker("ann");
    let mut desk = Desk::with(NewBoard { name: "outside".into(), ..NewBoard::default() });
    let read = desk.add(NewTask::new("Read the page"));
    let judge = desk.add(NewTask { needs_review: true, ..after("Judge it", &[read]) });
    let vouch = desk.add(after("Vouch for it", &[judge]));
    for (task, next_steps, trust) in [
        (read, vec![], Some(Trust::Outside)),
        (judge, vec!["say \"yes\"".into()], Some(Trust::Outside)),
        (judge, vec!["say no".into()], Some(Trust::Agent)),
    ] {
        if desk.task(task).claim.is_none() {
            desk.claim(&ann, task);
        }
        let result = TaskResult { summary: "so it says".into(), next_steps, trust };
        desk.ask(&ann, BoardCommand::CompleteTask { task, result, epoch: None, heed_nudges: false }).unwrap();
        if desk.status(task) == TaskStatus::Review && trust == Some(Trust::Outside) {
            desk.tell(review(task, ReviewVerdict::NeedsRework));
        }
    }
    desk.tell(review(judge, ReviewVerdict::Approved));
    desk.tell(BoardCommand::Claim { task: Some(vouch), epoch: None, lease: LEASE });
    let result = TaskResult { summary: "it is so".into(), next_steps: vec![], trust: Some(Trust::Own) };
    desk.tell(BoardCommand::CompleteTask { task: vouch, result, epoch: None, heed_nudges: false });
    desk
}

/// A board on which work was sent back and resumed, a task was cancelled with its dependents, and an irreversible
/// decision was superseded.
fn reworked() -> Desk {
    let ann = worker("ann");
    let mut desk = Desk::with(NewBoard { name: "reworked".into(), ..NewBoard::default() });
    for title in ["Build", "Test"] {
        let task = desk.add(NewTask { needs_review: true, ..NewTask::new(title) });
        desk.complete(task);
        desk.tell(review(task, ReviewVerdict::NeedsRework));
    }
    // The second task still waits for its holder.
    desk.ask(&ann, claim(id(1))).unwrap();
    desk.ask(&ann, BoardCommand::Claim { task: Some(id(1)), epoch: Some(2), lease: LEASE }).unwrap();
    let dropped = desk.add(NewTask::new("Drop it"));
    desk.add(after("Below", &[dropped]));
    desk.tell(cancel_task(dropped));
    let decision = NewDecision { question: "Delete it?".into(), choice: "yes".into(), ..NewDecision::default() };
    desk.tell(BoardCommand::RecordDecision(NewDecision { reversible: Some(false), ..decision.clone() }));
    let anew = NewDecision { supersedes: Some(DecisionId(1)), force: true, choice: "no".into(), ..decision };
    desk.tell(BoardCommand::RecordDecision(anew));
    desk
}

/// A board with a decision whose texts were forgotten, and a task that lost one of its texts.
fn forgotten() -> Desk {
    let mut desk = Desk::with(NewBoard { name: "forgotten".into(), ..NewBoard::default() });
    desk.add(NewTask { description: "the password is hunter2".into(), ..NewTask::new("Log in") });
    let decision = NewDecision { question: "Which?".into(), choice: "this one".into(), ..NewDecision::default() };
    desk.tell(BoardCommand::RecordDecision(decision));
    let forget = |forget| BoardCommand::Forget { forget };
    let key = IdempotencyKey::new("forget", &1, &desk.limits).unwrap();
    let record = BoardForget::Record { id: "D-1".parse().unwrap() };
    desk.request(&human(), &Request { idempotency: Some(key), ..Request::new(forget(record)) }).unwrap();
    desk.tell(forget(BoardForget::Text { text: "hunter2".into() }));
    desk
}

/// A board whose dependencies were removed.
fn untied() -> Desk {
    let mut desk = Desk::with(NewBoard { name: "untied".into(), ..NewBoard::default() });
    desk.add_all(vec![member("a", &[]), member("b", &["a"]), member("c", &["a", "b"])]);
    desk.tell(BoardCommand::RemoveDependency { task: id(3), depends_on: id(1) });
    desk.fail(id(1));
    desk.tell(BoardCommand::RemoveDependency { task: id(2), depends_on: id(1) });
    desk
}

/// How long the nudges here last.
const LASTS: SignedDuration = SignedDuration::from_secs(20);

fn nudge(to: NudgeTarget) -> NewNudge {
    NewNudge { to, message: "Mind the \"budget\"".into(), priority: NudgePriority::Normal, expires_at: None }
}

// These have no wildcard: add new variants of the format to the history above.

fn event_name(event: &BoardEvent) -> &'static str {
    match event {
        BoardEvent::Created(_) => "board_created",
        BoardEvent::Edited(_) => "board_edited",
        BoardEvent::TaskAdded { .. } => "task added",
        BoardEvent::DependencyAdded { .. } => "dependency added",
        BoardEvent::DependencyRemoved { .. } => "dependency removed",
        BoardEvent::TaskEdited { .. } => "task edited",
        BoardEvent::TaskAssigned { .. } => "task assigned",
        BoardEvent::TaskStarted { .. } => "task started",
        BoardEvent::TaskResumed { .. } => "task resumed",
        BoardEvent::LeaseRenewed { .. } => "lease renewed",
        BoardEvent::LeaseExpired { .. } => "lease expired",
        BoardEvent::TaskReleased { .. } => "task released",
        BoardEvent::TaskBlocked { .. } => "task blocked",
        BoardEvent::TaskUnblocked { .. } => "task unblocked",
        BoardEvent::TaskSubmitted { .. } => "task submitted",
        BoardEvent::TaskCompleted { .. } => "task completed",
        BoardEvent::ReviewAssigned { .. } => "review assigned",
        BoardEvent::TaskReviewed { .. } => "task reviewed",
        BoardEvent::TaskFailed { .. } => "task failed",
        BoardEvent::TaskRetried { .. } => "task retried",
        BoardEvent::RetryDue { .. } => "retry due",
        BoardEvent::TaskCancelled { .. } => "task cancelled",
        BoardEvent::TaskReopened { .. } => "task reopened",
        BoardEvent::DecisionRecorded { .. } => "decision recorded",
        BoardEvent::DiscoveryRecorded { .. } => "discovery recorded",
        BoardEvent::ArtifactRecorded { .. } => "artifact recorded",
        BoardEvent::ChoiceAdded { .. } => "choice added",
        BoardEvent::BranchChosen { .. } => "branch chosen",
        BoardEvent::OrchestratorAcquired { .. } => "orchestrator acquired",
        BoardEvent::OrchestratorRenewed { .. } => "orchestrator renewed",
        BoardEvent::OrchestratorReleased => "orchestrator released",
        BoardEvent::OrchestratorExpired => "orchestrator expired",
        BoardEvent::DecisionJudged { .. } => "decision judged",
        BoardEvent::NudgeSent { .. } => "nudge sent",
        BoardEvent::NudgeDelivered { .. } => "nudge delivered",
        BoardEvent::NudgeAcknowledged { .. } => "nudge acknowledged",
        BoardEvent::NudgeExpired { .. } => "nudge expired",
        BoardEvent::Paused { .. } => "board_paused",
        BoardEvent::Resumed => "board_resumed",
        BoardEvent::Ended { .. } => "board_ended",
        BoardEvent::Archived { .. } => "board_archived",
        BoardEvent::Discarded { .. } => "board_discarded",
        BoardEvent::Purged => "board_purged",
        BoardEvent::LearningsExtracted { .. } => "learnings extracted",
        BoardEvent::PromotionBegun { .. } => "promotion begun",
        BoardEvent::LearningPromoted { .. } => "learning promoted",
        BoardEvent::PromotionRefused { .. } => "promotion refused",
        BoardEvent::PromotionAbandoned { .. } => "promotion abandoned",
        BoardEvent::LearningRefused { .. } => "learning refused",
        BoardEvent::RollBackBegun { .. } => "roll-back begun",
        BoardEvent::LearningsRolledBack { .. } => "learnings rolled back",
        BoardEvent::RecordForgotten { .. } => "record forgotten",
        BoardEvent::Forked { .. } => "board_forked",
    }
}

fn reply_name(reply: &BoardReply) -> &'static str {
    match reply {
        BoardReply::Added { .. } => "added",
        BoardReply::Claimed(_) => "claimed",
        BoardReply::Held { .. } => "held",
        BoardReply::Moved { .. } => "moved",
        BoardReply::Decision(_) => "decision",
        BoardReply::Discovery(_) => "discovery",
        BoardReply::Artifact { .. } => "artifact",
        BoardReply::Approval(_) => "approval",
        BoardReply::Nudge(_) => "nudge",
        BoardReply::Nudges(_) => "nudges",
        BoardReply::Tasks(_) => "tasks",
        BoardReply::Ended { .. } => "ended",
        BoardReply::Retained { .. } => "retained",
        BoardReply::Promotion { .. } => "promotion",
        BoardReply::RollBack(_) => "roll-back",
        BoardReply::Forgotten { .. } => "forgotten",
        BoardReply::Done => "done",
    }
}
