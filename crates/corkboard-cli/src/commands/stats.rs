//! `cork stats`: sizes and counts of an agent or the whole store.

use std::collections::BTreeMap;
use std::fmt;

use clap::Args;
use corkboard::store::StoreInfo;
use corkboard::{AgentSummary, BoardSummary, CoreSummary, Corkboard, LogSize, MemoryStats, SpaceKind};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::board::every_board;
use super::compact::{SpaceSize, about, compared, sizes};
use super::core::every_core;
use crate::command_session::{PAGE, Session, all_pages};
use crate::error::CliError;
use crate::output::{Fit, Rest, bytes, count, fields, one_line, table, time, warnings};

/// Show counts and sizes of an agent's memory or the whole store
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork stats
  cork --agent researcher stats --json
  cork stats --all")]
pub(crate) struct Stats {
    /// Show all agents, boards and memory cores
    #[arg(long)]
    all: bool,
}

impl Stats {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        if self.all {
            return all(session).await;
        }
        #[derive(Serialize)]
        struct Answer<'a> {
            agent: &'a str,
            #[serde(flatten)]
            stats: &'a MemoryStats,
            log: LogSize,
            warnings: &'a [String],
        }
        let stats = session.agent.stats().await?;
        let agent = session.agent.agent_id().as_str();
        let info = session.corkboard.store_info();
        let log = session.corkboard.log(SpaceKind::Agent, agent)?.size().await?;
        let answer = Answer { agent, stats: &stats, log, warnings: &info.warnings };
        session.output.answer(&answer, || with_warnings(one(agent, &stats, log), &info))
    }
}

/// Appends the store's warnings to a text.
fn with_warnings(text: String, info: &StoreInfo) -> String {
    [vec![text], warnings(info)].concat().join("\n")
}

fn one(agent: &str, stats: &MemoryStats, log: LogSize) -> String {
    let when = |at: Option<Timestamp>| at.map_or_else(|| "none".into(), time);
    let (used, limit) = (stats.storage_bytes_used, stats.storage_bytes_limit);
    fields(&[
        ("agent", one_line(agent)),
        ("revision", stats.rev.to_string()),
        ("entries", stats.total_entries_working.to_string()),
        ("notes", stats.total_notes.to_string()),
        ("notebooks", stats.total_notebooks.to_string()),
        ("scopes", stats.active_working_scopes.to_string()),
        (
            "long-term",
            format!(
                "{}, {} forgotten",
                count(stats.total_entries_long_term, "entry", "entries"),
                stats.total_entries_forgotten
            ),
        ),
        ("storage", format!("{} of {} ({:.1} %)", bytes(used), bytes(limit), stats.storage_percent_used)),
        ("log", format!("{}, {}", about(log.bytes, log.estimated), count(log.revisions, "revision", "revisions"))),
        ("context", format!("{} of {} tokens", stats.context_tokens_used, stats.context_tokens_max)),
        ("oldest entry", when(stats.oldest_entry)),
        ("newest entry", when(stats.newest_entry)),
    ])
}

#[derive(Serialize)]
struct StoreStats<'a> {
    agents: &'a [AgentSummary],
    boards: &'a Boards,
    cores: &'a Cores,
    sizes: &'a [SpaceSize],
    warnings: &'a [String],
}

#[derive(Serialize, Default)]
struct Boards {
    total: u64,
    /// The number per status. Idle boards also count as active.
    by_status: BTreeMap<String, u64>,
    idle: u64,
    bytes: u64,
}

impl Boards {
    fn count(boards: &[BoardSummary]) -> Self {
        let mut counted = Self::default();
        // The store may hold the ID of a board whose creation never committed.
        for board in boards.iter().filter(|board| board.summary.get("name").is_some()) {
            let status = board.summary.get("status").and_then(Value::as_str).unwrap_or_default();
            *counted.by_status.entry(status.into()).or_default() += 1;
            counted.total += 1;
            counted.idle += u64::from(board.idle_since.is_some());
            counted.bytes += number(&board.summary, "bytes");
        }
        counted
    }
}

impl fmt::Display for Boards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total == 0 {
            return f.write_str("none");
        }
        let by_status = self.by_status.iter().map(|(status, count)| match (status.as_str(), self.idle) {
            ("active", 1..) => format!("{count} active ({} idle)", self.idle),
            (status, _) => format!("{count} {status}"),
        });
        write!(f, "{}: {}; {}", self.total, by_status.collect::<Vec<_>>().join(", "), bytes(self.bytes))
    }
}

#[derive(Serialize, Default)]
struct Cores {
    total: u64,
    entries: u64,
    forgotten: u64,
    bytes: u64,
}

impl Cores {
    fn count(cores: &[CoreSummary]) -> Self {
        let sum = |name| cores.iter().map(|core| number(&core.summary, name)).sum();
        Self { total: cores.len() as u64, entries: sum("entries"), forgotten: sum("forgotten"), bytes: sum("bytes") }
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.total == 0 {
            return f.write_str("none");
        }
        let entries = count(self.entries, "entry", "entries");
        write!(f, "{}: {entries}, {} forgotten; {}", self.total, self.forgotten, bytes(self.bytes))
    }
}

fn number(summary: &Value, name: &str) -> u64 {
    summary.get(name).and_then(Value::as_u64).unwrap_or_default()
}

async fn all(session: &Session) -> Result<(), CliError> {
    let corkboard = &session.corkboard;
    let agents = every_agent(corkboard).await?;
    let boards = Boards::count(&every_board(corkboard).await?);
    let cores = Cores::count(&every_core(corkboard).await?);
    let info = corkboard.store_info();
    let sizes = sizes(corkboard).await?;
    let answer =
        StoreStats { agents: &agents, boards: &boards, cores: &cores, sizes: &sizes, warnings: &info.warnings };
    session.output.answer(&answer, || {
        let mut rest = vec![("boards", boards.to_string()), ("memory cores", cores.to_string())];
        if !sizes.is_empty() {
            rest.push(("logs", format!("{}; `cork compact` trims old history", compared(&sizes))));
        }
        let rest = fields(&rest);
        let rest = match boards.total + cores.total {
            0 => rest,
            _ => format!("{rest}\n\n{}", log_table(&sizes)),
        };
        if agents.is_empty() {
            return with_warnings(format!("no agents yet\n\n{rest}"), &info);
        }
        let rows = agents.iter().map(|agent| {
            let counted = |name| agent.summary.get(name).and_then(serde_json::Value::as_u64);
            let cell = |name| counted(name).map_or_else(|| "?".into(), |count| count.to_string());
            [
                one_line(agent.id.as_str()),
                agent.rev.to_string(),
                cell("entries"),
                cell("notes"),
                cell("scopes"),
                counted("bytes").map_or_else(|| "?".into(), bytes),
                log_of(&sizes, &format!("agent/{}", agent.id)),
            ]
        });
        let header = [
            ("AGENT", Rest),
            ("REVISION", Fit),
            ("ENTRIES", Fit),
            ("NOTES", Fit),
            ("SCOPES", Fit),
            ("STORAGE", Fit),
            ("LOG", Fit),
        ];
        with_warnings(format!("{}\n\n{rest}", table(header, rows)), &info)
    })
}

fn log_of(sizes: &[SpaceSize], space: &str) -> String {
    let found = sizes.iter().find(|size| size.space == space);
    found.map_or_else(|| "?".into(), |size| about(size.log.bytes, size.log.estimated))
}

/// The logs of boards and memory cores. The table of agents has theirs.
fn log_table(sizes: &[SpaceSize]) -> String {
    let rows = sizes.iter().filter(|size| !size.space.starts_with("agent/")).map(|size| {
        let log = about(size.log.bytes, size.log.estimated);
        [one_line(&size.space), size.log.revisions.to_string(), bytes(size.state_bytes), log]
    });
    let header = [("SPACE", Rest), ("REVISIONS", Fit), ("STORAGE", Fit), ("LOG", Fit)];
    table(header, rows)
}

pub(super) async fn every_agent(corkboard: &Corkboard) -> Result<Vec<AgentSummary>, CliError> {
    all_pages(async |last: Option<&AgentSummary>| corkboard.agents(last.map(|last| &last.id), PAGE).await).await
}
