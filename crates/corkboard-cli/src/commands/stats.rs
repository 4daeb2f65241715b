//! `cork stats`: how much is remembered.

use clap::Args;
use corkboard::store::StoreInfo;
use corkboard::{AgentSummary, Corkboard, MemoryStats};
use jiff::Timestamp;
use serde::Serialize;

use crate::exit::Failure;
use crate::output::{Room, bytes, fields, one_line, table, time, warnings};
use crate::session::Session;

/// Agents read at a time.
const PAGE: usize = 500;

/// Show how much an agent remembers, or list all agents
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork stats
  cork --agent researcher stats --json
  cork stats --all")]
pub(crate) struct Stats {
    /// List all agents with their counts
    #[arg(long)]
    all: bool,
}

impl Stats {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        if self.all {
            return all(session).await;
        }
        #[derive(Serialize)]
        struct Answer<'a> {
            agent: &'a str,
            #[serde(flatten)]
            stats: &'a MemoryStats,
            /// What the store warns of.
            warnings: &'a [String],
        }
        let stats = session.agent.stats().await?;
        let agent = session.agent.agent_id().as_str();
        let info = session.board.store_info();
        let answer = Answer { agent, stats: &stats, warnings: &info.warnings };
        session.output.answer(&answer, || with_warnings(one(agent, &stats), &info))
    }
}

/// A text, and below it what the store warns of.
fn with_warnings(text: String, info: &StoreInfo) -> String {
    [vec![text], warnings(info)].concat().join("\n")
}

fn one(agent: &str, stats: &MemoryStats) -> String {
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
            format!("{} entries, {} forgotten", stats.total_entries_long_term, stats.total_entries_forgotten),
        ),
        ("storage", format!("{} of {} ({:.1} %)", bytes(used), bytes(limit), stats.storage_percent_used)),
        ("context", format!("{} of {} tokens", stats.context_tokens_used, stats.context_tokens_max)),
        ("oldest entry", when(stats.oldest_entry)),
        ("newest entry", when(stats.newest_entry)),
    ])
}

async fn all(session: &Session) -> Result<(), Failure> {
    let agents = every_agent(&session.board).await?;
    let info = session.board.store_info();
    session.output.answer(&agents, || {
        if agents.is_empty() {
            return with_warnings("no agent has written anything yet".into(), &info);
        }
        let rows = agents.iter().map(|agent| {
            let counted = |name| agent.summary.get(name).and_then(serde_json::Value::as_u64);
            let cell = |name| counted(name).map_or_else(|| "?".into(), |count| count.to_string());
            [
                one_line(agent.agent.as_str()),
                agent.rev.to_string(),
                cell("entries"),
                cell("notes"),
                cell("scopes"),
                counted("bytes").map_or_else(|| "?".into(), bytes),
            ]
        });
        let header = [
            ("AGENT", Room::Rest),
            ("REVISION", Room::Whole),
            ("ENTRIES", Room::Whole),
            ("NOTES", Room::Whole),
            ("SCOPES", Room::Whole),
            ("STORAGE", Room::Whole),
        ];
        with_warnings(table(header, rows), &info)
    })
}

/// All agents of a store, in the order of their ids.
pub(super) async fn every_agent(board: &Corkboard) -> Result<Vec<AgentSummary>, Failure> {
    let mut agents: Vec<AgentSummary> = Vec::new();
    loop {
        let page = board.agents(agents.last().map(|last| &last.agent), PAGE).await?;
        let is_last = page.len() < PAGE;
        agents.extend(page);
        if is_last {
            return Ok(agents);
        }
    }
}
