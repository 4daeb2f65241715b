//! Limits of a board: every text, list and number. A refusal contains the limit, the used amount and the maximum.

use crate::board_support::*;
use corkboard_core::board::{
    BoardCommand, BoardEdit, ChoiceId, NewArtifact, NewBoard, NewBranch, NewChoice, NewDecision, NewDiscovery, NewTask,
    ReviewVerdict, TaskEdit, TaskId, TaskResult, TaskStatus, Unfinished,
};
use corkboard_core::{LimitName, LimitWarning, Limits, Refusal, Space};

const LINE: u64 = 8;
const TEXT: u64 = 16;
const LIST: u64 = 3;

fn small() -> Limits {
    Limits {
        board_line_bytes: LINE,
        board_text_bytes: TEXT,
        lines_per_list: LIST,
        inline_bytes: TEXT,
        ..Limits::default()
    }
}

/// A board with a task in review, one in progress by hugo, one assigned to him, one pending, and a choice.
fn busy(limits: Limits) -> Desk {
    let mut desk = Desk::empty(limits);
    desk.tell(BoardCommand::Create(NewBoard { name: "board".into(), ..NewBoard::default() }));
    desk.add_all(vec![
        NewTask { needs_review: true, ..NewTask::new("one") },
        NewTask::new("two"),
        NewTask::new("three"),
        NewTask::new("four"),
        NewTask::new("five"),
    ]);
    desk.complete(id(1));
    desk.claim(&human(), id(2));
    desk.tell(assign(id(3), "hugo"));
    desk.add_choice(&[("a", &[id(4)]), ("b", &[id(5)])]);
    desk
}

/// Puts a text, or a list of texts, into a command.
type WithText = fn(String) -> BoardCommand;
type WithList = fn(Vec<String>) -> BoardCommand;

fn new_task(change: impl FnOnce(&mut NewTask)) -> BoardCommand {
    let mut task = NewTask::new("task");
    change(&mut task);
    add_tasks(vec![task])
}

fn new_decision(change: impl FnOnce(&mut NewDecision)) -> BoardCommand {
    let mut decision = NewDecision { question: "q".into(), choice: "c".into(), ..NewDecision::default() };
    change(&mut decision);
    BoardCommand::RecordDecision(decision)
}

fn edit(change: impl FnOnce(&mut BoardEdit)) -> BoardCommand {
    let mut edit = BoardEdit::default();
    change(&mut edit);
    BoardCommand::Edit { edit, if_version: None }
}

fn edit_task(edit: TaskEdit) -> BoardCommand {
    BoardCommand::EditTask { task: id(4), edit, if_version: None }
}

fn status(status: TaskStatus, reason: String) -> BoardCommand {
    BoardCommand::SetStatus { task: id(2), status, reason: Some(reason), epoch: None, lease: LEASE }
}

fn result(summary: String, next_steps: Vec<String>) -> BoardCommand {
    BoardCommand::CompleteTask {
        task: id(2),
        result: TaskResult { summary, next_steps, trust: None },
        epoch: None,
        heed_nudges: false,
    }
}

fn question(question: String, name: &str) -> BoardCommand {
    let branch = |name: &str| NewBranch { name: name.into(), tasks: vec![format!("k{name}").as_str().into()] };
    let task = |name: &str| member(&format!("k{name}"), &[]);
    let choices = vec![NewChoice { question, options: vec![branch(name), branch("y")] }];
    BoardCommand::AddTasks { tasks: vec![task(name), task("y")], choices }
}

#[test]
fn answer_1_every_line_has_a_limit_and_must_be_printable_and_not_blank() {
    let lines: [(&str, WithText); 10] = [
        ("board name", |text| edit(|edit| edit.name = Some(text))),
        ("memory core", |text| edit(|edit| edit.cores = Some(vec![text]))),
        ("task title", |text| new_task(|task| task.title = text)),
        ("task title", |text| edit_task(TaskEdit { title: Some(text), ..TaskEdit::default() })),
        ("key", |text| new_task(|task| task.key = Some(text))),
        ("path", |path| BoardCommand::RecordArtifact(NewArtifact { path, ..NewArtifact::default() })),
        ("memory core", |text| {
            let (content, promote_to_core) = ("c".into(), Some(text));
            BoardCommand::RecordDiscovery(NewDiscovery { content, promote_to_core, ..NewDiscovery::default() })
        }),
        ("option", |name| {
            let options = vec![
                NewBranch { name, tasks: vec!["x".into()] },
                NewBranch { name: "other".into(), tasks: vec!["y".into()] },
            ];
            let choices = vec![NewChoice { question: "q".into(), options }];
            BoardCommand::AddTasks { tasks: vec![member("x", &[]), member("y", &[])], choices }
        }),
        ("board name", |name| BoardCommand::Create(NewBoard { name, ..NewBoard::default() })),
        ("memory core", |core| {
            BoardCommand::Create(NewBoard { name: "n".into(), cores: vec![core], ..NewBoard::default() })
        }),
    ];
    for (what, line) in lines {
        let busy = busy(small());
        let command = line("x".into());
        let begin = if matches!(command, BoardCommand::Create(_)) { Desk::empty(small()) } else { busy };
        let refused = |text: &str| begin.clone().refused(line(text.into()));
        let long = "x".repeat(LINE as usize + 1);
        let expected = Refusal::Limit { limit: LimitName::BoardLineBytes, used: LINE + 1, allowed: LINE };
        assert_eq!(refused(&long), expected, "{what}");
        assert_eq!(refused(" \t"), Refusal::Blank { what: what.into() });
        assert_eq!(refused("a\nb"), Refusal::ControlCharacter { what: what.into(), character: '\n', at: 1 });
        begin.clone().tell(line("x".repeat(LINE as usize)));
    }
}

#[test]
fn answer_1_every_text_has_a_limit() {
    let texts: [WithText; 22] = [
        |goal| BoardCommand::Create(NewBoard { name: "n".into(), goal, ..NewBoard::default() }),
        |text| edit(|edit| edit.goal = Some(text)),
        |text| new_task(|task| task.description = text),
        |text| edit_task(TaskEdit { description: Some(text), ..TaskEdit::default() }),
        |text| new_decision(|decision| decision.question = text),
        |text| new_decision(|decision| decision.choice = text),
        |text| new_decision(|decision| decision.rationale = text),
        |content| BoardCommand::RecordDiscovery(NewDiscovery { content, ..NewDiscovery::default() }),
        |description| {
            BoardCommand::RecordArtifact(NewArtifact { path: "p".into(), description, ..NewArtifact::default() })
        },
        |text| question(text, "x"),
        |text| BoardCommand::Choose { choice: ChoiceId(1), option: "a".into(), rationale: Some(text) },
        |text| result(text, vec![]),
        |reason| BoardCommand::FailTask { task: id(2), reason, epoch: None },
        |text| status(TaskStatus::Blocked, text),
        |text| status(TaskStatus::Failed, text),
        |text| status(TaskStatus::Cancelled, text),
        |text| BoardCommand::Review { task: id(1), verdict: ReviewVerdict::Rejected, comment: Some(text) },
        |text| BoardCommand::Review { task: id(1), verdict: ReviewVerdict::Approved, comment: Some(text) },
        |text| BoardCommand::CancelTask { task: id(2), reason: Some(text) },
        |text| BoardCommand::Complete { reason: Some(text), unfinished: Unfinished::Cancel },
        |text| BoardCommand::Cancel { reason: Some(text) },
        |text| BoardCommand::AsOrchestrator { epoch: 1, command: Box::new(new_task(|task| task.description = text)) },
    ];
    for (place, text) in texts.into_iter().enumerate() {
        let mut desk = busy(small());
        match text("x".into()) {
            BoardCommand::Create(_) => desk = Desk::empty(small()),
            BoardCommand::AsOrchestrator { .. } => {
                desk.tell(BoardCommand::AcquireOrchestrator { lease: LEASE });
            }
            _ => {}
        }
        let refusal = desk.refused(text("x".repeat(TEXT as usize + 1)));
        let expected = Refusal::Limit { limit: LimitName::BoardTextBytes, used: TEXT + 1, allowed: TEXT };
        assert_eq!(refusal, expected, "text {place}");
        desk.tell(text("x".repeat(TEXT as usize)));
    }
    let content = Some("x".repeat(TEXT as usize + 1));
    let inline = BoardCommand::RecordArtifact(NewArtifact { path: "p".into(), content, ..NewArtifact::default() });
    let expected = Refusal::Limit { limit: LimitName::InlineBytes, used: TEXT + 1, allowed: TEXT };
    assert_eq!(busy(small()).refused(inline), expected);
}

#[test]
fn answer_1_every_list_has_a_limit() {
    let lists: [(&str, WithList); 4] = [
        ("constraint", |list| edit(|edit| edit.constraints = Some(list))),
        ("memory core", |list| edit(|edit| edit.cores = Some(list))),
        ("alternative", |list| new_decision(|decision| decision.alternatives = list)),
        ("next step", |list| result("done".into(), list)),
    ];
    let lines = |count: u64| (0..count).map(|at| format!("line {at}")).collect::<Vec<_>>();
    let over = Refusal::Limit { limit: LimitName::LinesPerList, used: LIST + 1, allowed: LIST };
    for (what, list) in lists {
        let mut desk = busy(small());
        assert_eq!(desk.refused(list(lines(LIST + 1))), over, "{what}");
        assert_eq!(desk.refused(list(vec![String::new()])), Refusal::Blank { what: what.into() });
        let long = vec!["x".repeat(LINE as usize + 1)];
        let expected = Refusal::Limit { limit: LimitName::BoardLineBytes, used: LINE + 1, allowed: LINE };
        assert_eq!(desk.refused(list(long)), expected, "{what}");
        desk.tell(list(lines(LIST)));
    }
    let mut desk = busy(small());
    let affects = vec![id(1); LIST as usize + 1];
    assert_eq!(desk.refused(new_decision(|decision| decision.affects_tasks = affects.clone())), over);
    let found = NewDiscovery { content: "c".into(), affects_tasks: affects, ..NewDiscovery::default() };
    assert_eq!(desk.refused(BoardCommand::RecordDiscovery(found)), over);
    let tasks: Vec<NewTask> = (0..=LIST).map(|at| member(&format!("k{at}"), &[])).collect();
    let heads = |range: std::ops::Range<u64>| range.map(|at| format!("k{at}").as_str().into()).collect();
    let branch = |name: &str, tasks| NewBranch { name: name.into(), tasks };
    let wide = vec![branch("wide", heads(0..LIST + 1)), branch("other", heads(0..1))];
    let many = (0..=LIST).map(|at| branch(&format!("b{at}"), heads(at..at + 1))).collect();
    for options in [wide, many] {
        let choices = vec![NewChoice { question: "q".into(), options }];
        assert_eq!(desk.refused(BoardCommand::AddTasks { tasks: tasks.clone(), choices }), over);
    }
}

#[test]
fn answer_1_tasks_edges_and_records_have_limits_and_warnings() {
    let limits = Limits { tasks_per_board: 5, dependencies_per_board: 5, records_per_board: 5, ..Limits::default() };
    /// Adds tasks, ignoring the limit on them.
    fn add(desk: &mut Desk, count: usize) -> Vec<TaskId> {
        let limits = Limits { tasks_per_board: 100, ..desk.limits.clone() };
        let limits = std::mem::replace(&mut desk.limits, limits);
        let added = desk.add_all((0..count).map(|_| NewTask::new("task")).collect());
        desk.limits = limits;
        added
    }
    type Record = fn(&mut Desk) -> BoardCommand;
    let record: [(LimitName, Record); 6] = [
        (LimitName::TasksPerBoard, |_| add_tasks(vec![NewTask::new("task")])),
        (LimitName::DependenciesPerBoard, |desk| {
            let added = add(desk, 2);
            BoardCommand::AddDependency { task: added[1], depends_on: added[0] }
        }),
        (LimitName::RecordsPerBoard, |_| new_decision(|_| ())),
        (LimitName::RecordsPerBoard, |_| {
            BoardCommand::RecordDiscovery(NewDiscovery { content: "c".into(), ..NewDiscovery::default() })
        }),
        (LimitName::RecordsPerBoard, |_| {
            BoardCommand::RecordArtifact(NewArtifact { path: "p".into(), ..NewArtifact::default() })
        }),
        (LimitName::RecordsPerBoard, |desk| {
            let heads = add(desk, 2);
            desk.limits.tasks_per_board = 100;
            let choices = vec![choice(&[("a", &heads[..1]), ("b", &heads[1..])])];
            BoardCommand::AddTasks { tasks: vec![], choices }
        }),
    ];
    for (limit, record) in record {
        let mut desk = Desk::empty(limits.clone());
        desk.tell(BoardCommand::Create(NewBoard { name: "board".into(), ..NewBoard::default() }));
        for at in 0..5 {
            let command = record(&mut desk);
            desk.tell(command);
            let warnings = if at == 3 { vec![LimitWarning { limit, used: 4, allowed: 5 }] } else { vec![] };
            assert_eq!(desk.warnings, warnings, "{limit} after {}", at + 1);
        }
        let command = record(&mut desk);
        assert_eq!(desk.refused(command), Refusal::Limit { limit, used: 6, allowed: 5 });
    }
}

#[test]
fn answer_1_states_and_commands_have_a_maximum_size() {
    let text = |bytes: usize| new_task(|task| task.description = "x".repeat(bytes));
    let mut desk = busy(Limits::default());
    let used = desk.state().usage().bytes;
    desk.limits.state_bytes = used + 1000;
    let refusal = desk.refused(text(600));
    assert_eq!(
        refusal,
        Refusal::Limit { limit: LimitName::StateBytes, used: used + 400 + 4 + 600, allowed: used + 1000 }
    );
    desk.tell(text(596));
    // Over a lowered limit, commands that do not grow the state are still accepted.
    desk.limits.state_bytes = 1;
    desk.tell(release(id(2), None));
    assert!(matches!(desk.refused(text(1)), Refusal::Limit { limit: LimitName::StateBytes, .. }));

    let mut desk = busy(Limits { command_bytes: 100, ..Limits::default() });
    let expected = |used| Refusal::Limit { limit: LimitName::CommandBytes, used, allowed: 100 };
    assert_eq!(desk.refused(text(97)), expected(101));
    desk.tell(text(96));
    let long = || "x".repeat(50);
    let commands = [
        add_tasks(vec![
            NewTask { description: long(), ..NewTask::new("a") },
            NewTask { description: long(), ..NewTask::new("b") },
        ]),
        add_tasks(vec![after("x", &[id(1); 13])]),
        edit(|edit| (edit.name, edit.goal, edit.constraints) = (Some(long()), Some(long()), Some(vec!["c".into()]))),
        new_decision(|decision| (decision.rationale, decision.alternatives) = (long(), vec![long()])),
        new_decision(|decision| decision.affects_tasks = vec![id(1); 13]),
        BoardCommand::RecordDiscovery(NewDiscovery {
            content: "c".into(),
            affects_tasks: vec![id(1); 13],
            ..NewDiscovery::default()
        }),
        result(long(), vec![long(), "x".into()]),
        question("x".repeat(99), "x"),
        BoardCommand::RecordDiscovery(NewDiscovery { content: "x".repeat(101), ..NewDiscovery::default() }),
        BoardCommand::RecordArtifact(NewArtifact {
            path: long(),
            description: long(),
            content: Some("x".into()),
            ..NewArtifact::default()
        }),
        BoardCommand::FailTask { task: id(2), reason: "x".repeat(101), epoch: None },
        BoardCommand::AsOrchestrator { epoch: 1, command: Box::new(text(97)) },
    ];
    for command in commands {
        let refusal = desk.refused(command.clone());
        assert!(matches!(refusal, Refusal::Limit { limit: LimitName::CommandBytes, .. }), "{command:?}: {refusal}");
    }
}

#[test]
fn a_summary_stays_under_4_kib_for_any_texts() {
    let texts = ["\u{1}", "\"", "\\", "🗝", "a", "\n", "ä", "\u{2028}"];
    for text in texts {
        for count in [1, 165, 166, 167, 330, 999, 1000, 1001, 16_000] {
            let long: String = text.repeat(count);
            let goal = long.get(..long.len().min(64 * 1024)).unwrap_or(text).to_owned();
            let name =
                if text.trim().is_empty() || text == "\u{1}" { "n".into() } else { long.chars().take(1000).collect() };
            let mut desk = Desk::with(NewBoard { name, goal: goal.clone(), ..NewBoard::default() });
            // The fields that the end of the board adds count, too.
            desk.tell(BoardCommand::Cancel { reason: None });
            desk.tell(BoardCommand::Discard { reason: Some(goal.clone()) });
            let summary = desk.state().summary(desk.now);
            assert!(summary.len() <= 4096, "{} bytes for {count} of {text:?}", summary.len());
            let read: serde_json::Value = serde_json::from_str(&summary).unwrap();
            let shown = read["goal"].as_str().unwrap();
            assert!(goal.starts_with(shown.strip_suffix('…').unwrap_or(shown)), "{shown:?}");
            assert_eq!(shown.ends_with('…'), shown != goal);
        }
    }
}

#[test]
fn numbers_of_tasks_have_a_maximum() {
    let mut desk = Desk::new();
    let (minutes, retries, backoff) = (NewTask::MOST_MINUTES, NewTask::MOST_RETRIES, NewTask::MOST_BACKOFF_S);
    let with = |[minutes, retries, backoff]: [u64; 3]| NewTask {
        estimate_minutes: Some(minutes as u32),
        retry_limit: retries as u32,
        retry_backoff_s: backoff as u32,
        ..NewTask::new("x")
    };
    desk.add(with([minutes, retries, backoff]));
    let cases = [
        ("estimate_minutes", minutes, [minutes + 1, 0, 0]),
        ("retry_limit", retries, [0, retries + 1, 0]),
        ("retry_backoff_s", backoff, [0, 0, backoff + 1]),
    ];
    for (name, maximum, numbers) in cases {
        let refusal = Refusal::OutOfRange { name: name.into(), value: maximum + 1, minimum: 0, maximum };
        let added = BoardCommand::AddTasks { tasks: vec![with(numbers)], choices: Vec::new() };
        assert_eq!(desk.refused(added), refusal);
        let NewTask { estimate_minutes, retry_limit, retry_backoff_s, .. } = with(numbers);
        let (retry_limit, retry_backoff_s) = (Some(retry_limit), Some(retry_backoff_s));
        let edit = TaskEdit { estimate_minutes, retry_limit, retry_backoff_s, ..TaskEdit::default() };
        assert_eq!(desk.refused(BoardCommand::EditTask { task: id(1), edit, if_version: None }), refusal);
    }
}
