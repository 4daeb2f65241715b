use clap::{Args, ValueEnum};
use corkboard::{BoardSummary, Corkboard};
use jiff::Timestamp;
use serde_json::Value;

use crate::command_session::{PAGE, Session, all_pages};
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, count, day, now, one_line, table};
use crate::page::PageArguments;

/// List the boards in the store
///
/// Archived boards are shown only with --all or --status archived.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board list
  cork board list --status idle
  cork board list --all
  cork board list --json")]
pub(crate) struct List {
    /// Only boards with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<StatusName>,

    /// Include archived boards
    #[arg(long, conflicts_with = "status")]
    all: bool,

    #[command(flatten)]
    page: PageArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum StatusName {
    /// Work can go on
    Active,
    /// Active, but unchanged for a week
    Idle,
    /// Completed, with outcome success, partial or failed
    Completed,
    /// Cancelled
    Cancelled,
    /// Archived and read-only
    Archived,
}

impl StatusName {
    fn is_of(self, board: &BoardSummary) -> bool {
        let has = |status: &str| status_of(board) == status;
        match self {
            Self::Active => has("active"),
            Self::Idle => board.idle_since.is_some(),
            Self::Completed => has("completed"),
            Self::Cancelled => has("cancelled"),
            Self::Archived => has("archived"),
        }
    }
}

fn status_of(board: &BoardSummary) -> &str {
    board.summary.get("status").and_then(Value::as_str).unwrap_or_default()
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let mut boards = every_board(&session.corkboard).await?;
        // The store may hold the ID of a board whose creation never committed.
        boards.retain(|board| board.summary.get("name").is_some());
        let total = boards.len();
        match self.status {
            Some(status) => boards.retain(|board| status.is_of(board)),
            None if self.all => {}
            None => boards.retain(|board| status_of(board) != "archived"),
        }
        let archived = if self.status.is_none() { (total - boards.len()) as u64 } else { 0 };
        let boards = self.page.of(boards, |board| board.id.to_string())?;
        session.output.list(&boards, || match (boards.items.is_empty(), self.status) {
            (false, _) if archived == 0 => listing(&boards.items),
            (false, _) => format!("{}\n\n{}", listing(&boards.items), not_shown(archived)),
            (true, Some(_)) => "no boards match".into(),
            (true, None) if archived > 0 => not_shown(archived),
            (true, None) => "no boards yet; create one with `cork board create NAME`".into(),
        })
    }
}

pub(crate) async fn every_board(corkboard: &Corkboard) -> Result<Vec<BoardSummary>, CliError> {
    all_pages(async |last: Option<&BoardSummary>| corkboard.boards(last.map(|last| &last.id), PAGE).await).await
}

fn not_shown(archived: u64) -> String {
    let them = if archived == 1 { "it" } else { "them" };
    format!("not shown: {}; add --all to show {them}", count(archived, "archived board", "archived boards"))
}

fn listing(boards: &[BoardSummary]) -> String {
    let now = now();
    let rows = boards.iter().map(|board| {
        let summary = &board.summary;
        let text = |name: &str| summary.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or_default();
        let done = number(summary.get("by_status").and_then(|counts| counts.get("completed")));
        let status = match (text("outcome"), board.idle_since) {
            ("", Some(since)) => format!("{}, idle since {}", text("status"), day(since)),
            ("", None) if summary.get("paused").is_some() => format!("{}, paused", text("status")),
            ("", None) => text("status").to_owned(),
            (outcome, _) => format!("{}: {outcome}", text("status")),
        };
        let created = text("created_at").parse::<Timestamp>().map_or_else(|_| String::new(), |at| age(at, now));
        [
            one_line(board.id.as_str()),
            one_line(text("name")),
            status,
            format!("{done}/{}", number(summary.get("tasks"))),
            number(summary.get("ready")).to_string(),
            created,
        ]
    });
    let header =
        [("BOARD", Percent(40)), ("NAME", Rest), ("STATUS", Fit), ("DONE", Fit), ("READY", Fit), ("CREATED", Fit)];
    table(header, rows)
}
