//! Content of the live view: progress, tasks, who works on what, and the last events.

use std::collections::VecDeque;

use corkboard::boards::{Task, TaskStatus};
use corkboard::{BoardView, Error};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::keys::KeyAction;
use super::palette::Palette;
use super::tree::{self, Row};
use crate::board_view::{ids, progress, ready, remark};
use crate::output::one_line;

const KEPT_EVENTS: usize = 1000;
/// On narrower screens, only one pane of tasks is shown at a time.
const TWO_PANES: u16 = 70;

pub(super) struct EventLine {
    pub(super) rev: u64,
    pub(super) at: String,
    pub(super) who: String,
    pub(super) words: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pane {
    Tasks,
    States,
    Events,
}

/// How far a pane is scrolled, and how far it can be.
#[derive(Clone, Copy, Default)]
struct Scroll {
    first: usize,
    height: usize,
    lines: usize,
}

impl Scroll {
    fn fit(&mut self, lines: usize, height: usize) {
        (self.lines, self.height) = (lines, height);
        self.first = self.first.min(lines.saturating_sub(height));
    }

    fn apply(&mut self, action: KeyAction) {
        let last = self.lines.saturating_sub(self.height);
        let page = self.height.saturating_sub(1).max(1);
        self.first = match action {
            KeyAction::Up => self.first.saturating_sub(1),
            KeyAction::Down => (self.first + 1).min(last),
            KeyAction::PageUp => self.first.saturating_sub(page),
            KeyAction::PageDown => (self.first + page).min(last),
            KeyAction::Top => 0,
            KeyAction::Bottom => last,
            KeyAction::Leave | KeyAction::NextPane | KeyAction::Redraw => self.first,
        };
    }
}

pub(super) struct Screen {
    view: BoardView,
    rows: Vec<Row>,
    events: VecDeque<EventLine>,
    focus: Pane,
    tasks: Scroll,
    states: Scroll,
    /// Counted from the newest.
    recent: Scroll,
    /// The error, if the last refresh failed.
    absence: Option<String>,
    palette: Palette,
}

impl Screen {
    pub(super) fn new(view: BoardView) -> Self {
        let rows = tree::rows(view.state());
        let (events, focus, palette) = (VecDeque::new(), Pane::Tasks, Palette::from_environment());
        let (tasks, states, recent) = Default::default();
        Self { view, rows, events, focus, tasks, states, recent, absence: None, palette }
    }

    pub(super) fn show(&mut self, view: BoardView) {
        if view.rev() != self.view.rev() {
            self.rows = tree::rows(view.state());
        }
        (self.view, self.absence) = (view, None);
    }

    /// The store is unavailable; keep showing the last view.
    pub(super) fn show_absence(&mut self, error: &Error) {
        self.absence = Some(one_line(&error.to_string()));
    }

    pub(super) fn tell(&mut self, events: impl Iterator<Item = EventLine>) {
        for event in events {
            self.events.push_front(event);
            // Keep the lines under the reader's eyes in place if the pane is scrolled.
            self.recent.first += usize::from(self.recent.first > 0);
        }
        self.events.truncate(KEPT_EVENTS);
    }

    pub(super) fn apply(&mut self, action: KeyAction) {
        if action == KeyAction::NextPane {
            self.focus = match self.focus {
                Pane::Tasks => Pane::States,
                Pane::States => Pane::Events,
                Pane::Events => Pane::Tasks,
            };
        }
        match self.focus {
            Pane::Tasks => self.tasks.apply(action),
            Pane::States => self.states.apply(action),
            Pane::Events => self.recent.apply(action),
        }
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let events = (area.height / 3).clamp(3, 10);
        let rows = [Constraint::Length(3), Constraint::Min(3), Constraint::Length(events), Constraint::Length(1)];
        let [head, middle, events, foot] = Layout::vertical(rows).areas(area);
        self.draw_head(frame, head);
        if area.width < TWO_PANES {
            match self.focus {
                Pane::States => self.draw_states(frame, middle),
                _ => self.draw_tasks(frame, middle),
            }
        } else {
            let [left, right] =
                Layout::horizontal([Constraint::Percentage(58), Constraint::Percentage(42)]).areas(middle);
            self.draw_tasks(frame, left);
            self.draw_states(frame, right);
        }
        self.draw_events(frame, events);
        let foot_line = match &self.absence {
            Some(why) => Line::styled(format!(" possibly outdated: {why}"), self.palette.of(TaskStatus::Failed)),
            None => Line::styled(" q quit   ↑ ↓ PgUp PgDn Home End scroll   Tab next pane", self.palette.faint()),
        };
        frame.render_widget(foot_line, foot);
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect) {
        let Ok(info) = self.view.info() else { return };
        let state = self.view.state();
        let right = format!("{}  revision {} ", info.status, self.view.rev());
        let [left, corner] =
            Layout::horizontal([Constraint::Min(0), Constraint::Length(to_width(right.len()))]).areas(first(area));
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.render_widget(Line::styled(format!(" {}", one_line(&info.name)), bold), left);
        frame.render_widget(Line::styled(right, self.palette.faint()), corner);
        let goal = Line::styled(format!(" {}", one_line(&info.goal)), self.palette.faint());
        let [_, second, third] = Layout::vertical([Constraint::Length(1); 3]).areas(area);
        frame.render_widget(goal, second);
        let finished: u64 = [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Cancelled]
            .into_iter()
            .map(|status| state.count(status))
            .sum();
        let width = usize::from(area.width / 4);
        let full = (finished as usize * width).checked_div(state.task_count()).unwrap_or_default();
        let bar = Line::from(vec![
            Span::raw(" "),
            Span::styled("━".repeat(full), self.palette.of(TaskStatus::Completed)),
            Span::styled("─".repeat(width.saturating_sub(full)), self.palette.faint()),
            Span::raw(format!(" {}", progress(state))),
        ]);
        frame.render_widget(bar, third);
    }

    fn block(&self, pane: Pane, title: String, scroll: Scroll) -> Block<'static> {
        let style = if self.focus == pane { self.palette.focus() } else { self.palette.faint() };
        let block = Block::bordered().border_style(style).title(format!(" {title} "));
        let shown = (scroll.first + scroll.height).min(scroll.lines);
        match scroll.lines > scroll.height {
            true => block.title_bottom(
                Line::from(format!(" {}–{shown} of {} ", scroll.first + 1, scroll.lines)).right_aligned(),
            ),
            false => block,
        }
    }

    fn draw_tasks(&mut self, frame: &mut Frame<'_>, area: Rect) {
        self.tasks.fit(self.rows.len(), inside(area));
        let visible = self.rows.iter().skip(self.tasks.first).take(self.tasks.height);
        let lines: Vec<Line<'_>> = visible.filter_map(|row| self.task_line(row)).collect();
        let lines = or_nothing(lines, "no tasks yet", self.palette);
        let block = self.block(Pane::Tasks, "Tasks".into(), self.tasks);
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }

    fn task_line(&self, row: &Row) -> Option<Line<'static>> {
        let state = self.view.state();
        let task = state.task(row.task)?;
        let style = self.palette.of(task.status);
        let mut spans = vec![
            Span::raw("  ".repeat(row.indent)),
            Span::styled(format!("{} {}", symbol(task, state.may_begin(task.id)), task.id), style),
            Span::raw(format!(" {}", one_line(&task.title))),
        ];
        if let (false, Some(agent)) = (task.status.is_finished(), &task.assigned_to) {
            spans.push(Span::styled(format!("  {}", one_line(agent.as_str())), style));
        }
        if !row.also_after.is_empty() {
            spans.push(Span::styled(format!("  also after {}", ids(&row.also_after)), self.palette.faint()));
        }
        Some(Line::from(spans))
    }

    fn draw_states(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let lines = self.state_lines();
        self.states.fit(lines.len(), inside(area));
        let visible: Vec<_> = lines.into_iter().skip(self.states.first).take(self.states.height).collect();
        let visible = or_nothing(visible, "nothing to do", self.palette);
        let block = self.block(Pane::States, "By state".into(), self.states);
        frame.render_widget(Paragraph::new(visible).block(block), area);
    }

    /// The tasks by status; those that need attention come first.
    fn state_lines(&self) -> Vec<Line<'static>> {
        let view = &self.view;
        let mut lines = Vec::new();
        let groups: [(&str, TaskStatus, Vec<&Task>); 7] = [
            ("failed", TaskStatus::Failed, view.with_status(TaskStatus::Failed).collect()),
            ("in review", TaskStatus::Review, view.needs_review().collect()),
            ("in progress", TaskStatus::InProgress, view.in_progress().collect()),
            (ready(view.state()), TaskStatus::Assigned, view.ready().collect()),
            ("waiting", TaskStatus::Blocked, view.blocked().collect()),
            ("completed", TaskStatus::Completed, view.with_status(TaskStatus::Completed).collect()),
            ("cancelled", TaskStatus::Cancelled, view.with_status(TaskStatus::Cancelled).collect()),
        ];
        for (name, status, tasks) in groups.into_iter().filter(|(_, _, tasks)| !tasks.is_empty()) {
            lines.push(Line::styled(format!("{name} ({})", tasks.len()), self.palette.of(status)));
            lines.extend(tasks.into_iter().map(|task| self.state_line(task)));
        }
        lines
    }

    fn state_line(&self, task: &Task) -> Line<'static> {
        let mut spans = vec![Span::raw(format!("  {}", task.id))];
        if let Some(agent) = &task.assigned_to {
            spans.push(Span::raw(format!(" {}", one_line(agent.as_str()))));
        }
        if let (TaskStatus::InProgress, Some(since)) = (task.status, task.started_at) {
            let seconds = (self.view.at().as_second() - since.as_second()).max(0);
            spans.push(Span::raw(format!(" {}", duration(seconds))));
        }
        let remark = remark(self.view.state(), task);
        // Without a remark, show the title.
        let is_plain = remark.is_empty() || remark == ready(self.view.state());
        let said = if is_plain { one_line(&task.title) } else { remark };
        spans.push(Span::styled(format!(" {said}"), self.palette.faint()));
        Line::from(spans)
    }

    fn draw_events(&mut self, frame: &mut Frame<'_>, area: Rect) {
        self.recent.fit(self.events.len(), inside(area));
        let lines: Vec<Line<'_>> = self
            .events
            .iter()
            .skip(self.recent.first)
            .take(self.recent.height)
            .map(|told| {
                let clock = told.at.split_once('T').map_or("", |(_, clock)| clock.trim_end_matches('Z'));
                Line::from(vec![
                    Span::styled(format!("{:>5} {clock} ", told.rev), self.palette.faint()),
                    Span::raw(format!("{} ", told.who)),
                    Span::raw(told.words.clone()),
                ])
            })
            .collect();
        // Only events since the view was opened are listed.
        let nothing = format!("no changes since revision {}", self.view.rev());
        let lines = or_nothing(lines, &nothing, self.palette);
        let block = self.block(Pane::Events, "Last events".into(), self.recent);
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }
}

fn symbol(task: &Task, may_begin: bool) -> &'static str {
    match task.status {
        TaskStatus::Pending if may_begin => "◇",
        TaskStatus::Pending => "·",
        TaskStatus::Assigned => "○",
        TaskStatus::InProgress => "▶",
        TaskStatus::Blocked => "■",
        TaskStatus::Review => "?",
        TaskStatus::Completed => "✓",
        TaskStatus::Failed => "✗",
        TaskStatus::Cancelled => "–",
    }
}

fn or_nothing<'a>(lines: Vec<Line<'a>>, nothing: &'a str, palette: Palette) -> Vec<Line<'a>> {
    if lines.is_empty() { vec![Line::styled(nothing, palette.faint())] } else { lines }
}

/// "12 s", "3 min", "2 h".
fn duration(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

fn inside(area: Rect) -> usize {
    usize::from(area.height.saturating_sub(2))
}

fn first(area: Rect) -> Rect {
    Rect { height: area.height.min(1), ..area }
}

fn to_width(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
