use clap::Args;
use clap::builder::TypedValueParser;
use corkboard::{BoardSummary, Corkboard, ListedStatus};
use jiff::Timestamp;
use serde_json::Value;

use crate::command_session::{PAGE, Session, all_pages};
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, age, count, day, now, one_line, table};
use crate::page::PageArguments;
use crate::value_parsers::one_of;

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
    #[arg(long, value_name = "STATUS", value_parser = status())]
    status: Option<ListedStatus>,

    /// Include archived boards
    #[arg(long, conflicts_with = "status")]
    all: bool,

    #[command(flatten)]
    page: PageArguments,
}

fn status() -> impl TypedValueParser<Value = ListedStatus> {
    one_of([
        ("active", ListedStatus::Active, "Work can go on"),
        ("idle", ListedStatus::Idle, "Active, but unchanged for a week"),
        ("completed", ListedStatus::Completed, "Completed, with outcome success, partial or failed"),
        ("cancelled", ListedStatus::Cancelled, "Cancelled"),
        ("archived", ListedStatus::Archived, "Archived and read-only"),
    ])
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
            None => boards.retain(|board| !ListedStatus::Archived.is_of(board)),
        }
        let archived = if self.status.is_none() { (total - boards.len()) as u64 } else { 0 };
        let boards = self.page.of(boards, |board| board.id.to_string())?;
        session.output.list(&boards, || match (boards.items.is_empty(), self.status) {
            (false, _) if archived == 0 => listing(&boards.items),
            (false, _) => format!("{}\n\n{}", listing(&boards.items), not_shown(archived)),
            (true, Some(_)) => "no boards match".into(),
            (true, None) if archived > 0 => not_shown(archived),
            (true, None) => "no boards to show; create one with `cork board create NAME`".into(),
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
            ("", None) if summary.get("paused").and_then(Value::as_bool) == Some(true) => {
                format!("{}, paused", text("status"))
            }
            ("", None) => text("status").to_owned(),
            (outcome, _) => format!("{}; outcome: {outcome}", text("status")),
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
