//! `cork activity`: the writes to a memory, day by day.

use clap::Args;
use corkboard::{ActivityLine, DayActivity};
use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};
use serde::Serialize;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, json_object, one_line, table};
use crate::page::Page;

/// Show a day's writes to an agent's memory
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork activity
  cork activity yesterday
  cork activity 2026-02-04 --json
  cork activity --days")]
pub(crate) struct Activity {
    /// Day in UTC: today, yesterday, or a date such as 2026-02-04
    #[arg(value_name = "DATE", default_value = "today", value_parser = date_argument)]
    date: Date,

    /// List the days with writes, and the number of writes on each
    #[arg(long, conflicts_with = "date")]
    days: bool,
}

fn date_argument(argument: &str) -> Result<Date, String> {
    let today = Offset::UTC.to_datetime(Timestamp::now()).date();
    match argument {
        "today" => Ok(today),
        "yesterday" => today.checked_sub(1.day()).map_err(|error| error.to_string()),
        date => date.parse().map_err(|_| "expected today, yesterday, or a date such as 2026-02-04".into()),
    }
}

impl Activity {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        if self.days {
            return days(session).await;
        }
        #[derive(Serialize)]
        struct Line<'a> {
            #[serde(flatten)]
            line: &'a ActivityLine,
            text: String,
        }
        let day = session.agent.activity(self.date).await?;
        let lines = day.lines.iter().map(|line| Line { line, text: line.to_string() });
        let answer = json_object! { date: day.date, writes: day.writes, lines: lines.collect::<Vec<_>>() };
        session.output.answer(&answer, || text(&day))
    }
}

fn text(day: &DayActivity) -> String {
    if day.writes == 0 {
        return format!("nothing was written on {}", day.date);
    }
    let gone = day.writes.saturating_sub(day.lines.len() as u64);
    let gone = (gone > 0).then(|| format!("… {gone} earlier writes"));
    gone.into_iter().chain(day.lines.iter().map(|line| one_line(&line.to_string()))).collect::<Vec<_>>().join("\n")
}

async fn days(session: &Session) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Day {
        date: Date,
        writes: u64,
    }
    let days = session.agent.active_days().await?;
    let days = Page::whole(days.into_iter().map(|(date, writes)| Day { date, writes }).collect());
    session.output.list(&days, || match days.items.is_empty() {
        true => "nothing has been written yet".into(),
        false => {
            let rows = days.items.iter().map(|day| [day.date.to_string(), day.writes.to_string()]);
            table([("DATE", Fit), ("WRITES", Fit)], rows)
        }
    })
}
