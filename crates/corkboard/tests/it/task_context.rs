//! The context of a task: alone, and as a part of an agent's context window.

use std::time::Duration;

use corkboard::boards::{NewBoard, NewDecision, NewTask, TaskId};
use corkboard::context::SectionName;
use corkboard::{Actor, ActorKind, Board, ContextRequest, Corkboard, Role};

use crate::common::{Home, on_every_store};

async fn a_board(corkboard: &Corkboard) -> Board {
    let (name, goal) = ("b".into(), "Add login".into());
    let new = NewBoard { name, goal, constraints: vec!["No breaking changes".into()], ..NewBoard::default() };
    let board = corkboard.create_board(new).await.unwrap();
    let build = NewTask { depends_on: vec![TaskId(1).into()], ..NewTask::new("Build") };
    board.add_task(NewTask::new("Design")).await.unwrap();
    board.add_task(build).await.unwrap();
    board
}

fn worker(name: &str) -> Actor {
    Actor::new(name, ActorKind::Agent, Role::Worker)
}

#[tokio::test]
async fn the_same_board_gives_everybody_the_same_bytes() {
    let home = Home::sqlite();
    let (mine, theirs) = (home.open().await, home.open().await);
    let board = a_board(&mine).await;
    let decision = NewDecision { question: "Which way?".into(), choice: "this".into(), ..NewDecision::default() };
    board.record_decision(decision).await.unwrap();
    let context = board.context_for_task(TaskId(2), None).await.unwrap();
    assert!(context.text.contains("D-1") && context.text.contains("it waits for T-1"), "{}", context.text);
    assert_eq!((context.budget, context.rev, context.board_rev), (8_000, 4, Some(4)));
    let other = theirs.board(board.id().as_str()).unwrap().acting_as(worker("ann"));
    assert_eq!(other.context_for_task(TaskId(2), None).await.unwrap(), context);
    // Passing time alone changes nothing.
    home.clock.advance(Duration::from_secs(24 * 3600));
    assert_eq!(other.context_for_task(TaskId(2), None).await.unwrap(), context);
}

#[tokio::test]
async fn a_missing_task_or_board_has_no_context() {
    let corkboard = Home::memory().open().await;
    let board = a_board(&corkboard).await;
    assert_eq!(board.context_for_task(TaskId(9), None).await.unwrap_err().code(), "not_on_board");
    assert_eq!(board.context_for_task(TaskId(1), Some(127)).await.unwrap_err().code(), "out_of_range");
    let nowhere = corkboard.board("nowhere").unwrap();
    assert_eq!(nowhere.context_for_task(TaskId(1), None).await.unwrap_err().code(), "no_board");
}

#[tokio::test]
async fn reading_renews_the_holders_claim_once_a_tenth_of_it_is_over() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let board = a_board(&corkboard).await;
        let ann = board.acting_as(worker("ann"));
        ann.claim_task(None, Duration::from_secs(60)).await.unwrap().unwrap();
        let read = async |board: &Board| {
            let rev = board.context_for_task(TaskId(1), None).await.unwrap().rev;
            let view = board.view().await.unwrap();
            assert_eq!(view.rev(), rev, "the context should be read after the renewal");
            let claim = view.task(TaskId(1)).unwrap().claim.clone().unwrap();
            (rev, claim.deadline.duration_since(view.at()).as_secs())
        };
        let (rev, left) = read(&ann).await;
        assert_eq!(left, 60);
        home.clock.advance(Duration::from_secs(6));
        assert_eq!(read(&ann).await, (rev, 54));
        home.clock.advance(Duration::from_secs(2));
        // Only reads by the holder count as heartbeats.
        assert_eq!(read(&board.acting_as(worker("bob"))).await, (rev, 52));
        assert_eq!(read(&ann).await, (rev + 1, 60));
        // The agent's context window counts as reading, too.
        home.clock.advance(Duration::from_secs(31));
        let memory = corkboard.agent("ann").unwrap().acting_as(worker("ann"));
        let request = ContextRequest::new().board(board.id().as_str()).task(TaskId(1));
        let window = memory.context_window().compose(request).await.unwrap();
        assert_eq!(window.board_rev, Some(rev + 2));
    })
    .await;
}

#[tokio::test]
async fn a_window_shows_the_board_in_its_stable_part_and_the_task_in_its_tail() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let board = a_board(&corkboard).await;
        let agent = corkboard.agent("ann").unwrap();
        agent.write_handoff("go on").await.unwrap();
        agent.working().set("name", "Ada").await.unwrap();
        agent.working().set("scratchpad", "half done").await.unwrap();
        let updates = "CURRENT_PROGRESS:\n  In Progress:\n    - reading\n";
        agent.notebook("main").unwrap().apply(updates).await.unwrap();
        let compose = async |request: ContextRequest| agent.context_window().compose(request).await.unwrap();

        let alone = compose(ContextRequest::new()).await;
        assert_eq!((alone.text.contains("<goal>"), alone.board_rev), (false, None));
        let of_board = compose(ContextRequest::new().board(board.id().as_str())).await;
        let (_, sections) = of_board.text.split_once('\n').unwrap();
        let expected = "\
<handoff>
  go on
</handoff>
<goal>
  Add login
</goal>
<constraints>
  - No breaking changes
</constraints>
<entries>
  - name: Ada
</entries>
<progress>
  - In Progress: reading
</progress>
<scratchpad>
  half done
</scratchpad>
";
        assert_eq!(sections, expected);
        let of_task = compose(ContextRequest::new().board(board.id().as_str()).task(TaskId(2))).await;
        let task =
            "<task>\n  - T-2: Build\n  - status: pending\n  - cannot proceed: it waits for T-1\n</task>\n<scratchpad>";
        assert_eq!(of_task.text, of_board.text.replace("<scratchpad>", task));
        let names: Vec<SectionName> = of_task.sections.iter().map(|section| section.name).collect();
        use SectionName::{Constraints, Entries, Goal, Handoff, Progress, Scratchpad, Task};
        assert_eq!(names, [Handoff, Goal, Constraints, Entries, Progress, Task, Scratchpad]);
        assert_eq!(of_task.board_rev, Some(3));

        let window = agent.context_window();
        let error = window.compose(ContextRequest::new().task(TaskId(1))).await.unwrap_err();
        assert_eq!(error.to_string(), "a task needs its board: name the board, too");
        let error = window.compose(ContextRequest::new().board("nowhere")).await.unwrap_err();
        assert_eq!(error.code(), "no_board");
        let request = ContextRequest::new().board(board.id().as_str()).task(TaskId(9));
        assert_eq!(window.compose(request).await.unwrap_err().code(), "not_on_board");
    })
    .await;
}

/// The tail of a window reserves room for the task, however full the memory is.
#[tokio::test]
async fn a_full_memory_leaves_room_for_the_task() {
    let corkboard = Home::memory().open().await;
    let board = a_board(&corkboard).await;
    let agent = corkboard.agent("ann").unwrap();
    for number in 0..200 {
        agent.working().set(&format!("key-{number}"), &"a value of some length ".repeat(10)).await.unwrap();
        agent.working().add_note(&format!("a note of some length, number {number}")).await.unwrap();
    }
    let request = ContextRequest::new().budget(1_000).board(board.id().as_str()).task(TaskId(2));
    let window = agent.context_window().compose(request).await.unwrap();
    assert!(window.text.contains("  - T-2: Build\n  - status: pending\n"), "{}", window.text);
    assert!(window.tokens <= 1_000);
}
