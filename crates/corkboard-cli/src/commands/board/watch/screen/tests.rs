use corkboard::boards::{NewBoard, NewTask, TaskId};
use corkboard::{Actor, Board, Corkboard};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

async fn board() -> Board {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    corkboard
        .create_board(NewBoard { name: "Plan".into(), goal: "Users sign in".into(), ..NewBoard::default() })
        .await
        .unwrap()
}

async fn add(board: &Board, title: &str, after: &[u64]) -> TaskId {
    let depends_on = after.iter().map(|number| TaskId(*number).into()).collect();
    board.add_task(NewTask { depends_on, ..NewTask::new(title) }).await.unwrap()
}

/// The lines that a terminal of this size shows.
fn drawn(screen: &mut Screen, columns: u16, rows: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let line = |row| (0..columns).map(|column| buffer[(column, row)].symbol()).collect::<String>();
    (0..rows).map(line).collect()
}

fn has(lines: &[String], text: &str) -> bool {
    lines.iter().any(|line| line.contains(text))
}

/// The pane with the tasks.
fn left(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| line.chars().take(46).collect()).collect()
}

#[tokio::test]
async fn every_size_can_be_drawn() {
    let board = board().await;
    for number in 0..50 {
        add(&board, &format!("Task {number} with a title that is much too long for a narrow terminal"), &[]).await;
    }
    let mut screen = Screen::new(board.view().await.unwrap());
    for (columns, rows) in [(1, 1), (2, 3), (10, 4), (20, 5), (69, 10), (70, 10), (80, 24), (300, 100)] {
        drawn(&mut screen, columns, rows);
        for action in [
            KeyAction::Bottom,
            KeyAction::NextPane,
            KeyAction::PageDown,
            KeyAction::NextPane,
            KeyAction::PageUp,
            KeyAction::NextPane,
            KeyAction::Top,
        ] {
            screen.apply(action);
            drawn(&mut screen, columns, rows);
        }
    }
}

#[tokio::test]
async fn an_empty_board_says_so() {
    let mut screen = Screen::new(board().await.view().await.unwrap());
    let lines = drawn(&mut screen, 80, 24);
    for said in ["Plan", "Users sign in", "no tasks", "no changes since revision 1", "q quit"] {
        assert!(has(&lines, said), "{said}: {lines:#?}");
    }
    screen.show_absence(&corkboard::Error::Closed);
    assert!(has(&drawn(&mut screen, 80, 24), "possibly outdated: this Corkboard is closed"));
}

#[tokio::test]
async fn tasks_are_listed_below_their_dependencies() {
    let board = board().await;
    add(&board, "Root", &[]).await;
    add(&board, "Left", &[1]).await;
    add(&board, "Right", &[1]).await;
    add(&board, "Join", &[2, 3]).await;
    let ada = board.acting_as(Actor { principal: "ada".into(), ..Actor::local() });
    ada.claim_task(None, std::time::Duration::from_secs(60)).await.unwrap();
    let mut screen = Screen::new(board.view().await.unwrap());
    let lines = drawn(&mut screen, 100, 30);
    for line in [
        "▶ T-1 Root  ada",
        "  · T-2 Left",
        "    · T-4 Join  also after T-3",
        "  · T-3 Right",
        "T-1 ada 0 s Root",
        "waiting (3)",
    ] {
        assert!(has(&lines, line), "{line}: {lines:#?}");
    }
}

#[tokio::test]
async fn lists_scroll_and_stay_where_they_are() {
    let board = board().await;
    for number in 1..=50 {
        add(&board, &format!("Number {number}."), &[]).await;
    }
    let mut screen = Screen::new(board.view().await.unwrap());
    assert!(has(&left(&drawn(&mut screen, 80, 24)), "Number 1."));
    screen.apply(KeyAction::Bottom);
    let lines = left(&drawn(&mut screen, 80, 24));
    assert!(has(&lines, "Number 50.") && !has(&lines, "Number 1.") && has(&lines, "of 50"), "{lines:#?}");
    add(&board, "Number 51.", &[]).await;
    screen.show(board.view().await.unwrap());
    assert!(!has(&left(&drawn(&mut screen, 80, 24)), "Number 51."), "nothing moves under the reader's eyes");
    screen.apply(KeyAction::Down);
    assert!(has(&left(&drawn(&mut screen, 80, 24)), "Number 51."));
    // The newest comes first. A scrolled pane stays where it is.
    let told =
        |rev| EventLine { rev, at: "2026-01-01T12:00:00Z".into(), who: "ada".into(), words: format!("event {rev}.") };
    screen.tell((1..=30).map(told));
    assert!(has(&drawn(&mut screen, 80, 24), "event 30."));
    screen.apply(KeyAction::NextPane);
    screen.apply(KeyAction::NextPane);
    screen.apply(KeyAction::Down);
    screen.tell(std::iter::once(told(31)));
    let lines = drawn(&mut screen, 80, 24);
    assert!(has(&lines, "event 29.") && !has(&lines, "event 31."), "{lines:#?}");
    screen.apply(KeyAction::Top);
    assert!(has(&drawn(&mut screen, 80, 24), "event 31."));
}

#[tokio::test]
async fn stored_text_cannot_control_the_terminal() {
    let board = board().await;
    add(&board, "Turned \u{202e}around", &[]).await;
    let ada = board.acting_as(Actor { principal: "ada".into(), ..Actor::local() });
    let claimed = ada.claim_task(None, std::time::Duration::from_secs(60)).await.unwrap().unwrap();
    ada.fail_task(claimed.task, "red \u{1b}[31m\nbell\u{7}", None).await.unwrap();
    let mut screen = Screen::new(board.view().await.unwrap());
    let lines = drawn(&mut screen, 120, 24);
    assert!(has(&lines, "\\u{202e}around") && has(&lines, "\\u{1b}[31m"), "{lines:#?}");
    assert!(
        !lines.iter().any(|line| line.contains(|character: char| character.is_control() || character == '\u{202e}'))
    );
}
