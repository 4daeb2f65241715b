//! What is typed while a board is watched.

use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc::{Receiver, channel};

/// How soon the reader of keys notices that nobody listens any more.
const POLL: Duration = Duration::from_millis(100);

/// What whoever watches wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Leave,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    NextPane,
    /// The terminal has another size now.
    Redraw,
}

/// Reads keys in a thread of its own: a terminal is read by waiting for it.
pub(super) fn listen() -> Receiver<Wish> {
    let (sender, wishes) = channel(64);
    std::thread::spawn(move || {
        while !sender.is_closed() {
            match event::poll(POLL) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(_) => break,
            }
            let Ok(event) = event::read() else { break };
            if let Some(wish) = wish(&event)
                && sender.blocking_send(wish).is_err()
            {
                break;
            }
        }
    });
    wishes
}

fn wish(event: &Event) -> Option<Wish> {
    let key = match event {
        Event::Resize(..) => return Some(Wish::Redraw),
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        _ => return None,
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c' | 'd') if control => Wish::Leave,
        KeyCode::Char('q') | KeyCode::Esc => Wish::Leave,
        KeyCode::Up | KeyCode::Char('k') => Wish::Up,
        KeyCode::Down | KeyCode::Char('j') => Wish::Down,
        KeyCode::PageUp => Wish::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Wish::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Wish::Top,
        KeyCode::End | KeyCode::Char('G') => Wish::Bottom,
        KeyCode::Tab => Wish::NextPane,
        _ => return None,
    })
}
