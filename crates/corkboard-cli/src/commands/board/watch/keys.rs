//! Keys of the live view.

use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc::{Receiver, channel};

/// How often the reading thread checks whether the live view has closed.
const POLL: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyAction {
    Leave,
    Up,
    Down,
    PageUp,
    PageDown,
    Top,
    Bottom,
    NextPane,
    /// The terminal was resized.
    Redraw,
}

/// Reads keys in a separate thread, because reading a terminal blocks.
pub(super) fn listen() -> Receiver<KeyAction> {
    let (sender, actions) = channel(64);
    std::thread::spawn(move || {
        while !sender.is_closed() {
            match event::poll(POLL) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(_) => break,
            }
            let Ok(event) = event::read() else { break };
            if let Some(action) = action(&event)
                && sender.blocking_send(action).is_err()
            {
                break;
            }
        }
    });
    actions
}

fn action(event: &Event) -> Option<KeyAction> {
    let key = match event {
        Event::Resize(..) => return Some(KeyAction::Redraw),
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        _ => return None,
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c' | 'd') if control => KeyAction::Leave,
        KeyCode::Char('q') | KeyCode::Esc => KeyAction::Leave,
        KeyCode::Up | KeyCode::Char('k') => KeyAction::Up,
        KeyCode::Down | KeyCode::Char('j') => KeyAction::Down,
        KeyCode::PageUp => KeyAction::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => KeyAction::PageDown,
        KeyCode::Home | KeyCode::Char('g') => KeyAction::Top,
        KeyCode::End | KeyCode::Char('G') => KeyAction::Bottom,
        KeyCode::Tab => KeyAction::NextPane,
        _ => return None,
    })
}
