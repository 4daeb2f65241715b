//! `cork import --from mcp-memory`: the knowledge graph of the public MCP reference memory server.

use std::path::Path;

use corkboard::tools::{Graph, KnowledgeGraph, MergedGraph, parse_graph};
use tokio::io::AsyncReadExt;

use super::SHOWN_PROBLEMS;
use crate::args::Global;
use crate::atomic_file::unreadable_file;
use crate::command_session::{IfMissing, Session};
use crate::error::CliError;
use crate::output::{count, json_object};
use crate::progress::{ProgressLine, unless_interrupted};

/// Adds what the file has and the agent's graph lacks. Nothing is opened or created for a file with faulty lines.
pub(super) async fn run(file: Option<&Path>, global: &Global) -> Result<(), CliError> {
    let graph = parse_graph(&read(file).await?).map_err(|faulty| refused(file, &faulty))?;
    let session = Session::open(global, IfMissing::Create).await?;
    let merged = unless_interrupted("run the same command to continue", merge(&graph, &session)).await;
    session.close(merged).await
}

async fn read(file: Option<&Path>) -> Result<Vec<u8>, CliError> {
    let Some(file) = file else {
        let mut text = Vec::new();
        let read = tokio::io::stdin().read_to_end(&mut text).await;
        read.map_err(|error| CliError::invalid("stdin", format!("cannot read stdin: {error}")))?;
        return Ok(text);
    };
    tokio::fs::read(file).await.map_err(|error| unreadable_file(file, &error))
}

fn refused(file: Option<&Path>, faulty: &[String]) -> CliError {
    let name = file.map_or("stdin".into(), |file| file.display().to_string());
    let lines = count(faulty.len() as u64, "line", "lines");
    let mut message = format!("nothing was imported: {name} has {lines} without an entity or a relation:");
    faulty.iter().take(SHOWN_PROBLEMS).for_each(|line| message.push_str(&format!("\n  {line}")));
    if faulty.len() > SHOWN_PROBLEMS {
        message.push_str(&format!("\n  and {} more", faulty.len() - SHOWN_PROBLEMS));
    }
    CliError::invalid("file", message).hint("correct or delete these lines, and import the file again")
}

async fn merge(graph: &Graph, session: &Session) -> Result<(), CliError> {
    // An agent wrote the graph, so its entries are trusted like an agent's.
    let agent = session.agent.acting_as(session.tool_actor.clone());
    let (mut line, total) = (ProgressLine::new(session.output), graph.entities.len() + graph.relations.len());
    let tell = |done| line.tell_count("importing", done, total as u64, "entities and relations");
    let merged = KnowledgeGraph::of(&agent)?.merge(graph, tell).await?;
    let MergedGraph { entities, observations, relations } = merged;
    let answer = json_object! { agent: agent.agent_id().as_str(), entities, observations, relations };
    session.output.answer(&answer, || {
        let entities = count(entities, "entity", "entities");
        let observations = count(observations, "observation", "observations");
        let relations = count(relations, "relation", "relations");
        let added =
            format!("imported {entities}, {observations} and {relations} into the memory of {}", agent.agent_id());
        if merged == MergedGraph::default() { format!("{added}: it has the rest already") } else { added }
    })
}
