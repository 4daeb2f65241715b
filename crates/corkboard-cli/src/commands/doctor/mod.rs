//! `cork doctor`: health checks of a store or server.

mod server;

use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use corkboard::store::StoreInfo;
use corkboard::{AgentSummary, BoardSummary, Core, CoreSummary, Corkboard, Error, ErrorKind, Refusal};
use serde::Serialize;

use super::board::every_board;
use super::compact::{SpaceSize, about, compared, sizes};
use super::core::every_core;
use super::stats::every_agent;
use crate::args::Global;
use crate::command_session::{IfMissing, Session};
use crate::error::{CliError, say};
use crate::output::{Output, bytes, count, json_object, one_line, warnings};

/// Agent for test writes, deleted afterwards. The name is fixed because each deleted space leaves a tombstone.
const SCRATCH: &str = "cork doctor's scratch";
const WRITES: u32 = 20;
const MIN_FREE: u64 = 64 * 1024 * 1024;
const SHOWN_LOGS: usize = 5;
/// Print progress for steps that take longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// Check that the store works and that nothing in it is damaged
///
/// Opens the store, times a few durable writes for a scratch agent (deleted afterwards), looks for damage, and loads every
/// agent, board and memory core. Warns about spaces that are more than a minute ahead of the clock: a process with a wrong
/// clock wrote them. With --url, first checks the server: whether it answers and is ready, its version, its clock, and what
/// your token has access to. The checks cover only that. Exits with 1 if something is wrong.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork doctor
  cork doctor --store sqlite:corkboard.db --json
  cork doctor --url http://127.0.0.1:7117
  cork doctor --url http://127.0.0.1:7117 --quick")]
pub(crate) struct Doctor {
    /// Check only that the store opens, or that the server answers and is ready; writes nothing and needs no token
    #[arg(long)]
    quick: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Quick,
    Thorough,
}

impl Doctor {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        let mut report = Report::new(Output::new(global.json));
        let depth = if self.quick { Depth::Quick } else { Depth::Thorough };
        if let Some(address) = global.server() {
            return server::examine(global, &address, report, depth).await;
        }
        let started = Instant::now();
        let opening = Session::open(global, IfMissing::Fail);
        let session = match patiently(&report, "still opening the store", opening).await {
            Ok(session) => session,
            Err(CliError::Library(error)) if !matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Gone) => {
                report.add("open", Err(error.to_string()))?;
                report.finish(None)?;
                return Err(CliError::Reported(error));
            }
            Err(failure) => return Err(failure),
        };
        let result = examine(&session, &mut report, started.elapsed(), depth).await;
        session.close(result).await
    }
}

async fn examine(session: &Session, report: &mut Report, opening: Duration, depth: Depth) -> Result<(), CliError> {
    let corkboard = &session.corkboard;
    let info = corkboard.store_info();
    report.add("open", Ok(format!("the {} store opens in {}", info.kind, duration(opening))))?;
    report.about(&info)?;
    if let Some(free) = free_space(&info) {
        let text = format!("{} of disk space is free", bytes(free));
        report.add("disk", if free < MIN_FREE { Err(text) } else { Ok(text) })?;
    }
    if depth == Depth::Quick {
        return report.finish(Some(&info));
    }
    let written = patiently(report, "still writing", time_writes(corkboard)).await;
    report.add("write", written)?;
    look_for_damage(corkboard, report).await?;
    load_everything(corkboard, report).await?;
    report.finish(Some(&info))
}

async fn look_for_damage(corkboard: &Corkboard, report: &mut Report) -> Result<(), CliError> {
    let problems = patiently(report, "still looking for damage", corkboard.check()).await;
    report.add(
        "integrity",
        match problems {
            Ok(problems) if problems.is_empty() => Ok("no damage found".into()),
            Ok(problems) => Err(format!("the store is damaged: {}", one_line(&problems.join("; ")))),
            Err(error) => Err(format!("cannot check for damage: {error}")),
        },
    )
}

async fn load_everything(corkboard: &Corkboard, report: &mut Report) -> Result<(), CliError> {
    load_agents(corkboard, report).await?;
    load_boards(corkboard, report).await?;
    load_cores(corkboard, report).await?;
    compare_sizes(corkboard, report).await?;
    compare_clocks(corkboard, report)
}

/// Compares the sizes of logs and states. A log that is much larger than its state still works, so this only warns.
async fn compare_sizes(corkboard: &Corkboard, report: &mut Report) -> Result<(), CliError> {
    /// Warn only about logs that are larger than this, and more than TIMES as large as their states.
    const LARGE: u64 = 256 * 1024 * 1024;
    const TIMES: u64 = 10;
    let mut sizes = match sizes(corkboard).await {
        Ok(sizes) => sizes,
        Err(CliError::Library(error)) => return report.add("logs", Err(format!("cannot measure the logs: {error}"))),
        Err(failure) => return Err(failure),
    };
    let total = format!("logs take {}", compared(&sizes));
    sizes.sort_by_key(|size| std::cmp::Reverse(size.log.bytes));
    let is_large = |size: &SpaceSize| size.log.bytes > LARGE && size.log.bytes / TIMES > size.state_bytes;
    let large: Vec<String> = sizes.iter().filter(|size| is_large(size)).take(SHOWN_LOGS).map(told_size).collect();
    if !large.is_empty() {
        let advice = "`cork compact --older-than 30d` trims old history";
        return report.warn("logs", format!("{total}; {}; {advice}", large.join(", ")));
    }
    report.add("logs", Ok(total))?;
    sizes.iter().take(SHOWN_LOGS).try_for_each(|size| report.remark(&told_size(size)))
}

fn told_size(size: &SpaceSize) -> String {
    let log = about(size.log.bytes, size.log.estimated);
    format!("{}: log {log}, state {}", one_line(&size.space), bytes(size.state_bytes))
}

/// Warns about logs with times in the future. They still work, so this is not a failure.
fn compare_clocks(corkboard: &Corkboard, report: &mut Report) -> Result<(), CliError> {
    let ahead = corkboard.spaces_ahead();
    if ahead.is_empty() {
        return report.add("time", Ok("no agent, board or core has times in the future".into()));
    }
    let spaces = ahead.iter().map(|(space, lead)| format!("{} by {} s", one_line(&space.to_string()), lead.as_secs()));
    let spaces = spaces.collect::<Vec<_>>().join(", ");
    report.warn("time", format!("times in the future: {spaces}; a process with a wrong clock wrote there"))
}

/// Times durable writes in the memory of the scratch agent.
async fn time_writes(corkboard: &Corkboard) -> Result<String, String> {
    let timed = timed_writes(corkboard, SCRATCH).await;
    let deleted = corkboard.delete_agent(SCRATCH).await;
    let mut times = timed.map_err(|error| format!("durable writes fail: {error}"))?;
    deleted.map_err(|error| format!("cannot delete the scratch agent {SCRATCH}: {error}"))?;
    Ok(format!("a durable write takes {}", median(&mut times)))
}

fn median(times: &mut [Duration]) -> String {
    times.sort();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let slowest = times.last().copied().unwrap_or_default();
    format!("{} (median of {}; slowest {})", duration(median), times.len(), duration(slowest))
}

async fn timed_writes(corkboard: &Corkboard, scratch: &str) -> Result<Vec<Duration>, Error> {
    let memory = corkboard.agent(scratch)?.working();
    let mut times = Vec::new();
    for number in 0..WRITES {
        let started = Instant::now();
        memory.set("probe", &number).await?;
        times.push(started.elapsed());
    }
    Ok(times)
}

async fn load_agents(corkboard: &Corkboard, report: &mut Report) -> Result<(), CliError> {
    let words = LoadWords { check: "agents", plural: "agents", one: "agent", load: ("agent loads", "agents load") };
    let load = async |agent: &AgentSummary| {
        let id = agent.id.as_str();
        let loaded = async { corkboard.agent(id)?.rev().await.map(|_| ()) };
        (id.to_owned(), loaded.await)
    };
    load_all(report, words, every_agent(corkboard).await, load).await
}

async fn load_boards(corkboard: &Corkboard, report: &mut Report) -> Result<(), CliError> {
    let words = LoadWords { check: "boards", plural: "boards", one: "board", load: ("board loads", "boards load") };
    let load = async |board: &BoardSummary| {
        let id = board.id.as_str();
        let loaded = async { corkboard.board(id)?.view().await.map(|_| ()) };
        let loaded = match loaded.await {
            // Deleted meanwhile, or never completely created: not damage.
            Err(Error::Refused(Refusal::NoBoard | Refusal::BoardPurged)) => Ok(()),
            other => other,
        };
        (id.to_owned(), loaded)
    };
    load_all(report, words, every_board(corkboard).await, load).await
}

async fn load_cores(corkboard: &Corkboard, report: &mut Report) -> Result<(), CliError> {
    let load = ("memory core loads", "memory cores load");
    let words = LoadWords { check: "cores", plural: "memory cores", one: "core", load };
    let load = async |summary: &CoreSummary| {
        let name = summary.id.as_str();
        let loaded = async {
            let core = match summary.id.agent() {
                Some(agent) => Core::clone(&*corkboard.agent(agent.as_str())?.long_term()?),
                None => corkboard.core(name)?,
            };
            core.stats().await.map(|_| ())
        };
        (name.to_owned(), loaded.await)
    };
    load_all(report, words, every_core(corkboard).await, load).await
}

/// Words for a report about loading all spaces of a kind.
struct LoadWords {
    check: &'static str,
    plural: &'static str,
    one: &'static str,
    /// Singular and plural.
    load: (&'static str, &'static str),
}

/// Loads everything listed. `load` returns the item's name and the result.
async fn load_all<T>(
    report: &mut Report,
    words: LoadWords,
    listed: Result<Vec<T>, CliError>,
    load: impl AsyncFn(&T) -> (String, Result<(), Error>),
) -> Result<(), CliError> {
    let LoadWords { check, plural, one, load: (loads, load_all) } = words;
    let listed = match listed {
        Ok(listed) => listed,
        Err(CliError::Library(error)) => return report.add(check, Err(format!("cannot list {plural}: {error}"))),
        Err(failure) => return Err(failure),
    };
    let mut said = Instant::now();
    let mut loaded: u64 = 0;
    for item in &listed {
        if said.elapsed() > PATIENCE {
            said = Instant::now();
            report.progress(&format!("loaded {loaded} of {} {plural}", listed.len()));
        }
        match load(item).await {
            (_, Ok(())) => loaded += 1,
            (name, Err(error)) => {
                report.add(check, Err(format!("cannot load {one} {}: {error}", one_line(&name))))?;
            }
        }
    }
    let text = count(loaded, loads, load_all);
    if loaded == listed.len() as u64 { report.add(check, Ok(text)) } else { Ok(()) }
}

/// Prints a progress line for every [`PATIENCE`] that the work takes.
async fn patiently<T>(report: &Report, what: &str, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(PATIENCE, &mut work).await {
            Ok(done) => return done,
            Err(_) => report.progress(what),
        }
    }
}

/// Free bytes on the disk of the store, according to `df`.
fn free_space(info: &StoreInfo) -> Option<u64> {
    if !matches!(info.kind, "sqlite" | "file") {
        return None;
    }
    let file = Path::new(&info.location);
    let df = std::process::Command::new("df").arg("-Pk").arg("--").arg(file).output().ok()?;
    let text = String::from_utf8(df.stdout).ok()?;
    let kilobytes: u64 = text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn duration(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

/// Results of the checks. Text is printed line by line, JSON when the report is complete.
struct Report {
    output: Output,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    check: &'static str,
    ok: bool,
    detail: String,
}

impl Report {
    fn new(output: Output) -> Self {
        Self { output, checks: Vec::new() }
    }

    fn add(&mut self, check: &'static str, found: Result<String, String>) -> Result<(), CliError> {
        let (ok, mark, detail) = match found {
            Ok(detail) => (true, '✓', detail),
            Err(detail) => (false, '✗', detail),
        };
        self.push(check, ok, mark, detail)
    }

    /// A warning, which does not fail the check.
    fn warn(&mut self, check: &'static str, detail: String) -> Result<(), CliError> {
        self.push(check, true, '!', format!("warning: {detail}"))
    }

    fn push(&mut self, check: &'static str, ok: bool, mark: char, detail: String) -> Result<(), CliError> {
        if !self.output.is_json() {
            self.output.line(&format!("{mark} {detail}"))?;
        }
        self.checks.push(Check { check, ok, detail });
        Ok(())
    }

    /// A neutral detail.
    fn remark(&self, text: &str) -> Result<(), CliError> {
        if self.output.is_json() { Ok(()) } else { self.output.line(&format!("  {text}")) }
    }

    fn about(&self, info: &StoreInfo) -> Result<(), CliError> {
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line(&format!("  location: {}", one_line(&info.location)))?;
        self.output.line(&format!("  ownership: {}", info.ownership))?;
        for (name, value) in &info.details {
            self.output.line(&format!("  {name}: {value}"))?;
        }
        for warning in warnings(info) {
            self.output.line(&warning)?;
        }
        Ok(())
    }

    fn progress(&self, text: &str) {
        if !self.output.is_json() {
            say(&format!("… {text}"));
        }
    }

    /// Prints the JSON report, and fails if a check failed.
    fn finish(&self, store: Option<&StoreInfo>) -> Result<(), CliError> {
        let ok = self.conclude(store)?;
        // If the store did not open, the caller returns its error.
        if ok || store.is_none() { Ok(()) } else { Err(CliError::Unhealthy) }
    }

    fn conclude(&self, store: Option<&StoreInfo>) -> Result<bool, CliError> {
        let ok = self.checks.iter().all(|check| check.ok);
        if self.output.is_json() {
            self.output.document(&json_object! { ok, checks: &self.checks, store })?;
        }
        Ok(ok)
    }
}
