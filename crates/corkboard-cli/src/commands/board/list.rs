//! `cork board list`.

use clap::{Args, ValueEnum};
use corkboard::{BoardSummary, Corkboard};
use jiff::Timestamp;
use serde_json::Value;

use crate::exit::Failure;
use crate::output::{Room, age, now, one_line, table};
use crate::session::Session;

/// Boards read at a time.
const PAGE: usize = 500;

/// List the boards in the store
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board list
  cork board list --status active
  cork board list --json")]
pub(crate) struct List {
    /// Only those in this state
    #[arg(long, value_name = "STATUS")]
    status: Option<StatusName>,
}

#[derive(Clone, Copy, ValueEnum)]
enum StatusName {
    Active,
    Completed,
    Cancelled,
    Archived,
}

impl StatusName {
    fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Archived => "archived",
        }
    }
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        let mut boards = every_board(&session.board).await?;
        // A board that was never made leaves no more than its name.
        boards.retain(|board| board.summary.get("name").is_some());
        if let Some(status) = self.status {
            boards.retain(|board| board.summary.get("status").and_then(Value::as_str) == Some(status.as_str()));
        }
        session.output.answer(&boards, || match (boards.is_empty(), self.status) {
            (false, _) => listing(&boards),
            (true, Some(_)) => "no such boards".into(),
            (true, None) => "there are no boards yet; `cork board create NAME` makes one".into(),
        })
    }
}

/// All boards in the store, by id.
pub(crate) async fn every_board(corkboard: &Corkboard) -> Result<Vec<BoardSummary>, Failure> {
    let mut boards: Vec<BoardSummary> = Vec::new();
    loop {
        let after = boards.last().map(|board| board.board.clone());
        let page = corkboard.boards(after.as_ref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        boards.extend(page);
        if is_last {
            return Ok(boards);
        }
    }
}

fn listing(boards: &[BoardSummary]) -> String {
    let now = now();
    let rows = boards.iter().map(|board| {
        let summary = &board.summary;
        let text = |name: &str| summary.get(name).and_then(Value::as_str).unwrap_or_default();
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).unwrap_or_default();
        let done = number(summary.get("by_status").and_then(|counts| counts.get("completed")));
        let status = match text("outcome") {
            "" => text("status").to_owned(),
            outcome => format!("{}: {outcome}", text("status")),
        };
        let created = text("created_at").parse::<Timestamp>().map_or_else(|_| String::new(), |at| age(at, now));
        [
            one_line(board.board.as_str()),
            one_line(text("name")),
            status,
            format!("{done}/{}", number(summary.get("tasks"))),
            number(summary.get("ready")).to_string(),
            created,
        ]
    });
    let header = [
        ("BOARD", Room::Percent(40)),
        ("NAME", Room::Rest),
        ("STATUS", Room::Whole),
        ("DONE", Room::Whole),
        ("READY", Room::Whole),
        ("CREATED", Room::Whole),
    ];
    table(header, rows)
}
