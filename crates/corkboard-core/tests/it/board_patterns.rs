//! Task patterns: how lines become tasks, which lines are refused, and boards that start with a pattern's tasks.

use crate::board_support::{Desk, human, member, orchestrator, worker};
use corkboard_core::board::{BoardCommand, BoardEdit, BoardEvent, BoardReply, CoreRef, NewBoard, NewTask, TaskId};
use corkboard_core::{LimitName, Limits, Refusal};
use proptest::prelude::*;

/// A task in short form: title, dependencies, review, minutes, description.
fn told(task: &NewTask) -> String {
    let after: Vec<String> = task.depends_on.iter().map(ToString::to_string).collect();
    let review = if task.needs_review { "r" } else { "" };
    let minutes = task.estimate_minutes.map_or_else(String::new, |minutes| minutes.to_string());
    format!("{}|{}|{review}|{minutes}|{}", task.title, after.join(","), task.description)
}

#[test]
fn lines_become_tasks() {
    for (text, tasks) in [
        ("1. Design", &["Design||||"][..]),
        ("1. Design\n2. Build\n3. Test", &["Design||||", "Build|1|||", "Test|2|||"]),
        ("How we do it\n\n 1. a\r\n\n2. b \n", &["a||||", "b|1|||"]),
        ("1. a\n2. b (after nothing)\n3. c (after 1, 2)\n4. d (after 1)", &["a||||", "b||||", "c|1,2|||", "d|1|||"]),
        ("1. a [review]\n2. b ~30m\n3. c ~2h", &["a||r||", "b|1||30|", "c|2||120|"]),
        ("1. a\n2. b ~5m [review] (after 1) — all of it", &["a||||", "b|1|r|5|all of it"]),
        ("1. a\n2. b (after 1) [review] ~5m — x — y", &["a||||", "b|1|r|5|x — y"]),
        // Everything else belongs to the title.
        ("1. f(x) and [later] about ~30m of it", &["f(x) and [later] about ~30m of it||||"]),
        ("1. a (afterwards)", &["a (afterwards)||||"]),
        ("3.5 ways to do it\n1. a", &["a||||"]),
        ("1. a — [review]", &["a||||[review]"]),
    ] {
        let read: Vec<String> = NewTask::from_pattern(text).unwrap().iter().map(told).collect();
        assert_eq!(read, tasks, "{text:?}");
    }
}

#[test]
fn a_problem_is_reported_with_its_line() {
    for (text, said) in [
        ("", "line 1: no line begins with a number and a full stop"),
        ("first this\nthen that", "line 2: no line begins with a number and a full stop"),
        ("1. a\n3. b", "line 2: expected number 2, found 3"),
        ("2. a", "line 1: expected number 1, found 2"),
        ("01. a", "line 1: expected number 1, found 01"),
        ("1. a\n\nand then", "line 3: must begin with a number and a full stop"),
        ("1.", "line 1: the title is missing"),
        ("1. [review]", "line 1: the title is missing"),
        ("1. — x", "line 1: the title is missing"),
        ("1. a (after 1)", "line 1: step 1 can only wait for earlier steps, not for 1"),
        ("1. a\n2. b (after 3)\n3. c", "line 2: step 2 can only wait for earlier steps, not for 3"),
        ("1. a\n2. b (after 0)", "line 2: step 2 can only wait for earlier steps, not for 0"),
        ("1. a\n2. b (after a)", "line 2: invalid step number \"a\""),
        ("1. a\n2. b (after 1,)", "line 2: invalid step number \"\""),
        ("1. a [review] [review]", "line 1: [review] appears twice"),
        ("1. a ~5m ~6m", "line 1: ~ appears twice"),
        ("1. a (after nothing) (after nothing)", "line 1: (after …) appears twice"),
        ("1. a ~0m", "line 1: ~0m is zero or too large; expected a duration like ~30m or ~2h"),
        ("1. a ~99999999999m", "line 1: ~99999999999m is zero or too large; expected a duration like ~30m or ~2h"),
        ("1. a ~71582789h", "line 1: ~71582789h is zero or too large; expected a duration like ~30m or ~2h"),
    ] {
        assert_eq!(NewTask::from_pattern(text).unwrap_err().to_string(), said, "{text:?}");
    }
}

fn board() -> NewBoard {
    let drawn = ["rules:E-3", "rules:E-1"].map(|it| it.parse().unwrap()).to_vec();
    let pattern = Some("elsewhere:E-2".parse().unwrap());
    NewBoard { name: "b".into(), cores: vec!["rules".into()], drawn, pattern, ..NewBoard::default() }
}

#[test]
fn a_board_is_created_with_its_tasks_in_one_revision_or_not_at_all() {
    let tasks = NewTask::from_pattern("1. a\n2. b [review]\n3. c (after 1)").unwrap();
    let create = BoardCommand::CreateWithTasks { board: board(), tasks };
    let mut desk = Desk::empty(Limits::default());
    let BoardReply::Added { tasks, choices } = desk.tell(create.clone()) else { panic!("no tasks") };
    assert_eq!((tasks, choices.len(), desk.rev()), (vec![TaskId(1), TaskId(2), TaskId(3)], 0, 1));
    let ready: Vec<TaskId> = desk.state().ready().collect();
    assert_eq!(ready, [TaskId(1)]);
    assert_eq!(desk.state().task(TaskId(3)).unwrap().depends_on[..], [TaskId(1)]);
    let info = desk.state().info().unwrap();
    assert_eq!((info.drawn.len(), info.pattern.as_ref().unwrap().to_string()), (2, "elsewhere:E-2".into()));
    assert_eq!(desk.refused(create), Refusal::BoardExists);

    let broken = vec![member("a", &["b"]), member("b", &["a"])];
    let mut desk = Desk::empty(Limits::default());
    let refused = desk.refused(BoardCommand::CreateWithTasks { board: board(), tasks: broken });
    assert!(matches!(refused, Refusal::Cycle { .. }), "{refused:?}");
    assert!(desk.state().info().is_none() && desk.rev() == 0);
    let create = |tasks| BoardCommand::CreateWithTasks { board: board(), tasks };
    let denied = desk.refused_to(&worker("ann"), create(vec![NewTask::new("a")]));
    assert!(matches!(denied, Refusal::RoleDenied { .. }), "{denied:?}");
    desk.ask(&orchestrator("otto"), create(vec![NewTask::new("a")])).unwrap();
    assert_eq!(desk.state().task_count(), 1);
}

#[test]
fn a_board_with_new_cores_draws_on_them() {
    let mut desk = Desk::empty(Limits::default());
    desk.tell(BoardCommand::Create(board()));
    let edit = |cores: Option<&str>, drawn: &str| BoardCommand::Edit {
        edit: BoardEdit {
            cores: cores.map(|core| vec![core.into()]),
            drawn: Some(vec![drawn.parse().unwrap()]),
            ..BoardEdit::default()
        },
        if_version: None,
    };
    let other = Refusal::NotOnBoard { what: "memory core".into(), id: "rules".into() };
    assert_eq!(desk.refused(edit(Some("others"), "rules:E-1")), other);
    desk.tell(edit(Some("others"), "others:E-7"));
    desk.tell(edit(None, "others:E-8"));
    let info = desk.state().info().unwrap();
    assert_eq!((info.drawn.len(), info.drawn[0].to_string(), desk.rev()), (1, "others:E-8".into(), 3));
    let unsaid = BoardEdit { goal: Some("another".into()), ..BoardEdit::default() };
    desk.tell(BoardCommand::Edit { edit: unsaid, if_version: None });
    assert_eq!(desk.state().info().unwrap().drawn.len(), 1, "omitted fields should stay unchanged");
}

#[test]
fn a_board_draws_on_cores_that_it_names() {
    let mut desk = Desk::empty(Limits { lines_per_list: 2, ..Limits::default() });
    let other = NewBoard { drawn: vec!["other:E-1".parse().unwrap()], ..board() };
    let refused = desk.refused(BoardCommand::Create(other));
    assert_eq!(refused, Refusal::NotOnBoard { what: "memory core".into(), id: "other".into() });
    let blank = NewBoard { pattern: Some(CoreRef { core: " ".into(), ..board().pattern.unwrap() }), ..board() };
    assert_eq!(desk.refused(BoardCommand::Create(blank)), Refusal::Blank { what: "memory core".into() });
    let many = NewBoard { drawn: vec![board().drawn[0].clone(); 3], ..board() };
    let refused = desk.refused(BoardCommand::Create(many));
    assert!(matches!(refused, Refusal::Limit { limit: LimitName::LinesPerList, used: 3, .. }), "{refused:?}");
    let bytes = |board: NewBoard| {
        let mut desk = Desk::empty(Limits::default());
        desk.ask(&human(), BoardCommand::Create(board)).unwrap();
        corkboard_core::Space::usage(desk.state()).bytes
    };
    let plain = NewBoard { drawn: Vec::new(), pattern: None, ..board() };
    assert_eq!(bytes(board()) - bytes(plain), ("rules".len() * 2 + "elsewhere".len() + 3 * 8) as u64);
    desk.tell(BoardCommand::Create(board()));
    let created = corkboard_core::Commit::<BoardEvent, BoardReply>::decode(&desk.log[0]).unwrap();
    assert!(matches!(&created.events[..], [BoardEvent::Created(made)] if **made == board()));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_at_one_of_its_lines(
        lines in prop::collection::vec("[0-9]{0,2}\\.? ?[a-z(]{0,6}(\\(after [0-9, a-z]{0,8}\\)?)?( \\[review\\])?( ~[0-9]{0,3}[mh]?)?( — .{0,4})?", 0..8),
    ) {
        let text = lines.join("\n");
        match NewTask::from_pattern(&text) {
            Ok(tasks) => {
                prop_assert!(!tasks.is_empty() && tasks.len() <= lines.len());
                let mut desk = Desk::empty(Limits::default());
                let answer = desk.ask(&human(), BoardCommand::CreateWithTasks { board: board(), tasks });
                prop_assert!(!matches!(answer, Err(Refusal::Cycle { .. } | Refusal::UnknownMember { .. })), "{:?}", answer);
            }
            Err(problem) => prop_assert!((1..=lines.len().max(1)).contains(&problem.line), "{}", problem),
        }
    }
}
