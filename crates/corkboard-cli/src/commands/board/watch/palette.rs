//! The live view's colours.

use corkboard::boards::TaskStatus;
use ratatui::style::{Color, Modifier, Style};

/// Colours, unless NO_COLOR is set.
#[derive(Clone, Copy)]
pub(super) struct Palette {
    is_coloured: bool,
}

impl Palette {
    pub(super) fn from_environment() -> Self {
        Self { is_coloured: std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()) }
    }

    pub(super) fn of(self, status: TaskStatus) -> Style {
        let colour = match status {
            TaskStatus::Pending => Color::Reset,
            TaskStatus::Assigned => Color::Cyan,
            TaskStatus::InProgress => Color::Blue,
            TaskStatus::Blocked => Color::Yellow,
            TaskStatus::Review => Color::Magenta,
            TaskStatus::Completed => Color::Green,
            TaskStatus::Failed => Color::Red,
            TaskStatus::Cancelled => Color::DarkGray,
        };
        if self.is_coloured { Style::new().fg(colour) } else { Style::new() }
    }

    pub(super) fn faint(self) -> Style {
        if self.is_coloured { Style::new().fg(Color::DarkGray) } else { Style::new() }
    }

    pub(super) fn focus(self) -> Style {
        if self.is_coloured { Style::new().fg(Color::Cyan) } else { Style::new().add_modifier(Modifier::BOLD) }
    }
}
