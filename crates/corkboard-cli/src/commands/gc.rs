//! `cork gc`: which boards can be purged, and why the others are kept.

use clap::Args;
use corkboard::boards::{BoardStatus, KeptBy};
use corkboard::{Error, Garbage, GarbageBoard, GarbageFate, Refusal};
use serde::Serialize;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, count, day, one_line, table};
use crate::progress::{ProgressLine, unless_interrupted};

/// List the boards that can be purged; purge them with --yes
///
/// Purging deletes a board with its log for good. A board can be purged when it is archived, its retention period is over,
/// and its learnings were extracted and each was promoted or refused, or the board was discarded. Boards without changes for
/// a week are listed as idle and never purged. Memory cores and agents' memories are not affected. You can interrupt this
/// command and run it again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork gc
  cork gc --yes
  cork gc --json | jq -r '.items[] | select(.fate == \"idle\") | .id'")]
pub(crate) struct Gc {
    /// Purge; without this, nothing changes
    #[arg(long, short)]
    yes: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    dry_run: bool,
    #[serde(flatten)]
    garbage: &'a Garbage,
    purged: &'a [String],
}

impl Gc {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let garbage = session.corkboard.garbage().await?;
        if !self.yes {
            let answer = Answer { dry_run: true, garbage: &garbage, purged: &[] };
            return session.output.answer(&answer, || plan(&garbage));
        }
        let mut purged = Vec::new();
        let then = "run the same command to continue";
        let done = unless_interrupted(then, purge(session, &garbage, &mut purged)).await;
        // Report the boards that were purged before an error.
        if done.is_ok() || !purged.is_empty() {
            let answer = Answer { dry_run: false, garbage: &garbage, purged: &purged };
            session.output.answer(&answer, || told(&garbage, &purged))?;
        }
        done
    }
}

async fn purge(session: &Session, garbage: &Garbage, purged: &mut Vec<String>) -> Result<(), CliError> {
    let mut line = ProgressLine::new(session.output);
    // Purging finishes an open promotion, which then no longer keeps the board.
    let is_meant = |board: &&GarbageBoard| board.fate == GarbageFate::Purge || board.kept_by == [KeptBy::Promotion];
    let meant: Vec<&GarbageBoard> = garbage.boards.iter().filter(is_meant).collect();
    let mut done = Ok(());
    for (place, board) in meant.iter().enumerate() {
        line.tell_count("purging", place as u64, meant.len() as u64, "boards");
        match session.corkboard.purge(board.id.as_str()).await {
            Ok(()) => purged.push(board.id.to_string()),
            // Another process purged the board, or it is needed again.
            Err(Error::Refused(Refusal::NoBoard | Refusal::BoardKept { .. })) => {}
            // A board that cannot be read does not stop the others.
            Err(error) if error.is_unreadable_space() => done = done.and(Err(error.into())),
            Err(error) => return Err(error.into()),
        }
    }
    done
}

fn of(garbage: &Garbage, fate: GarbageFate) -> impl Iterator<Item = &GarbageBoard> {
    garbage.boards.iter().filter(move |board| board.fate == fate)
}

/// What --yes would purge, and what to do about the other boards.
fn plan(garbage: &Garbage) -> String {
    let mut parts = Vec::new();
    if !garbage.boards.is_empty() {
        let rows = garbage
            .boards
            .iter()
            .map(|board| [one_line(board.id.as_str()), one_line(&board.name), fate(board.fate).to_owned(), why(board)]);
        let header = [("BOARD", Percent(30)), ("NAME", Percent(20)), ("STATE", Fit), ("WHY", Rest)];
        parts.push(table(header, rows));
    }
    parts.extend(advice(garbage));
    parts.push(conclusion(garbage));
    parts.join("\n\n")
}

fn fate(fate: GarbageFate) -> &'static str {
    match fate {
        GarbageFate::Purge => "purgeable",
        GarbageFate::Keep => "kept",
        GarbageFate::Ended => "ended",
        GarbageFate::Idle => "idle",
    }
}

fn why(board: &GarbageBoard) -> String {
    match (board.fate, board.status) {
        (GarbageFate::Idle, _) => {
            format!("active, but nothing has happened since {}", board.updated_at.map_or_else(String::new, day))
        }
        (_, BoardStatus::Purged) => "a purge of it was interrupted".into(),
        (GarbageFate::Purge, _) => "archived, and nothing keeps it".into(),
        _ => board.kept_by.iter().map(reason).collect::<Vec<_>>().join("; "),
    }
}

fn reason(kept_by: &KeptBy) -> String {
    match kept_by {
        KeptBy::Active => "active".into(),
        KeptBy::NotArchived => "not archived".into(),
        KeptBy::Retention { retain_until: until } => format!("kept until {}", day(*until)),
        KeptBy::Learnings => "learnings not extracted yet".into(),
        KeptBy::Undecided { .. } => kept_by.to_string(),
        KeptBy::Promotion => "a promotion is not finished".into(),
    }
}

/// What to do about kept boards. Only lines that concern one of them.
fn advice(garbage: &Garbage) -> Option<String> {
    let keeps = |is_meant: fn(&KeptBy) -> bool| {
        garbage.boards.iter().any(|board| board.fate != GarbageFate::Idle && board.kept_by.iter().any(is_meant))
    };
    let is_idle = of(garbage, GarbageFate::Idle).next().is_some();
    let all = [
        (is_idle, "idle: end it with `cork board complete BOARD` or `cork board cancel BOARD`"),
        (keeps(|by| *by == KeptBy::NotArchived), "not archived: archive it with `cork board archive BOARD`"),
        (
            keeps(|by| matches!(by, KeptBy::Retention { .. })),
            "kept until a date: change the date with `cork board archive BOARD --retain-days DAYS` (counts from now)",
        ),
        (
            keeps(|by| *by == KeptBy::Learnings),
            "learnings not extracted: find them with `cork --board BOARD learn extract`, or waive them with \
             `cork board discard BOARD` to make the board purgeable at once",
        ),
        (
            keeps(|by| matches!(by, KeptBy::Undecided { .. })),
            "learnings undecided: list them with `cork --board BOARD learn list`; decide with \
             `cork --board BOARD learn promote ID` or `cork --board BOARD learn refuse ID`; or waive all with \
             `cork board discard BOARD` to make the board purgeable at once",
        ),
        (keeps(|by| *by == KeptBy::Promotion), "promotion not finished: `cork gc --yes` finishes it first"),
    ];
    let lines: Vec<&str> = all.iter().filter(|(concerns, _)| *concerns).map(|(_, line)| *line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn conclusion(garbage: &Garbage) -> String {
    let purged = of(garbage, GarbageFate::Purge).count() as u64;
    let active = count(garbage.active, "board is active", "boards are active");
    match (purged, garbage.boards.len() as u64, garbage.active) {
        (0, 0, 0) => "no boards".into(),
        (0, 0, _) => format!("nothing to purge: {active}"),
        (0, kept, 0) => format!("nothing to purge: {}", count(kept, "board is kept", "boards are kept")),
        (0, kept, _) => format!("nothing to purge: {}, {active}", count(kept, "board is kept", "boards are kept")),
        (purged, ..) => format!("nothing purged yet: `cork gc --yes` purges {}", boards(purged)),
    }
}

fn boards(number: u64) -> String {
    count(number, "board", "boards")
}

fn told(garbage: &Garbage, purged: &[String]) -> String {
    let mut lines: Vec<String> = purged.iter().map(|board| format!("purged {}", one_line(board))).collect();
    let rest = (garbage.boards.len() - purged.len().min(garbage.boards.len())) as u64 + garbage.active;
    lines.push(match (purged.is_empty(), rest) {
        (true, 0) => "no boards".into(),
        (true, _) => "nothing to purge; `cork gc` says why boards are kept".into(),
        (false, 0) => format!("{} purged", boards(purged.len() as u64)),
        (false, _) => format!("{} purged; `cork gc` says why the others are kept", boards(purged.len() as u64)),
    });
    lines.join("\n")
}
