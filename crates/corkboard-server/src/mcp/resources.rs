//! Resources: memory and boards as texts that a client can show, attach and watch.

use std::sync::Arc;

use corkboard::context::{OUTSIDE_WARNING, escaped_line};
use corkboard::cores::{CoreEntry, Trust};
use corkboard::tools::{ToolRegistry, ToolSet};
use corkboard::{BoardId, ContextRequest, Core, CoreId, Error, ErrorKind, SESSION_HANDOFF_KEY};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::address::{Address, TEMPLATES};
use super::workspace::Workspace;

/// Boards or cores on a page of the list.
const PAGE: usize = 50;
/// Entries of a core that a resource shows.
const CORE_ENTRIES: usize = 100;

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let templates = TEMPLATES.into_iter().map(|(uri, name, description)| {
        ResourceTemplate::new(uri, name).with_description(description).with_mime_type("text/plain")
    });
    templates.collect()
}

/// One page: first the agent's own memory, then boards, then cores.
pub(super) async fn list(workspace: &Workspace, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let unknown = || ErrorData::invalid_params("unknown cursor: list the resources again, without a cursor", None);
    let mut resources = Vec::new();
    let (kind, after) = match cursor.as_deref() {
        None => ("boards", ""),
        Some(cursor) => cursor.split_once('/').ok_or_else(unknown)?,
    };
    if cursor.is_none() {
        resources.extend(own(workspace).await?);
    }
    let next = match kind {
        "boards" => match boards(workspace, after, &mut resources).await? {
            Some(last) => Some(format!("boards/{last}")),
            None => cores(workspace, "", &mut resources).await?,
        },
        "cores" => cores(workspace, after, &mut resources).await?,
        _ => return Err(unknown()),
    };
    let mut page = ListResourcesResult::with_all_items(resources);
    page.next_cursor = next;
    Ok(page)
}

/// Adds a page of boards. Returns the last one, if others may follow.
async fn boards(workspace: &Workspace, after: &str, listed: &mut Vec<Resource>) -> Result<Option<String>, ErrorData> {
    let corkboard = &workspace.corkboard;
    let after = (!after.is_empty()).then(|| BoardId::new(after, &corkboard.options().limits)).transpose();
    let boards = corkboard.boards(after.map_err(refused)?.as_ref(), PAGE).await.map_err(broken)?;
    let last = boards.last().map(|board| board.id.to_string()).filter(|_| boards.len() == PAGE);
    let granted = boards.into_iter().filter(|board| corkboard.board(board.id.as_str()).is_ok());
    listed.extend(granted.map(|board| {
        let address = Address::Board { board: board.id.to_string() };
        let title = board.summary.get("name").and_then(Value::as_str).unwrap_or_default();
        described(&address, format!("board {}", board.id)).with_title(title)
    }));
    Ok(last)
}

/// Adds a page of cores. Returns the cursor of the next page, if others may follow.
async fn cores(workspace: &Workspace, after: &str, listed: &mut Vec<Resource>) -> Result<Option<String>, ErrorData> {
    let corkboard = &workspace.corkboard;
    let after = (!after.is_empty()).then(|| CoreId::new(after, &corkboard.options().limits)).transpose();
    let cores = corkboard.cores(after.map_err(refused)?.as_ref(), PAGE).await.map_err(broken)?;
    let last = cores.last().map(|core| core.id.to_string()).filter(|_| cores.len() == PAGE);
    let granted = cores.into_iter().filter(|core| corkboard.core(core.id.as_str()).is_ok());
    listed.extend(
        granted.map(|core| described(&Address::Core { core: core.id.to_string() }, format!("core {}", core.id))),
    );
    Ok(last.map(|last| format!("cores/{last}")))
}

/// The agent's handoff, context, scratchpad and notebooks.
async fn own(workspace: &Workspace) -> Result<Vec<Resource>, ErrorData> {
    let agent = || workspace.context.agent.clone();
    let memory = workspace.corkboard.agent(&workspace.context.agent).map_err(refused)?;
    let notebooks = memory.notebooks().await.map_err(broken)?;
    let scratchpad = workspace.context.conversation.clone();
    let scratchpad = scratchpad.map(|conversation| Address::Scratchpad { agent: agent(), conversation });
    let notebooks = notebooks.into_iter().map(|notebook| {
        let notebook = notebook.name.to_string();
        let name = format!("notebook {notebook}");
        described(&Address::Notebook { agent: agent(), notebook }, name)
    });
    let fixed = [
        described(&Address::Handoff { agent: agent() }, "handoff".into()),
        described(&Address::Context { agent: agent() }, "context".into()),
    ];
    let scratchpad = scratchpad.map(|address| described(&address, "scratchpad".into()));
    Ok(fixed.into_iter().chain(scratchpad).chain(notebooks).collect())
}

fn described(address: &Address, name: String) -> Resource {
    let family = name.split(' ').next().unwrap_or_default();
    let description = TEMPLATES.iter().find(|(_, known, _)| *known == family).map(|(.., description)| *description);
    Resource::new(address.to_string(), name.clone())
        .with_description(description.unwrap_or_default())
        .with_mime_type("text/plain")
}

pub(super) async fn read(workspace: &Workspace, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let text = async { text(workspace, &uri.parse()?).await }.await;
    let text = text.map_err(|error| match error.code {
        // Clients compare this field, not the message.
        ErrorCode::RESOURCE_NOT_FOUND => ErrorData { data: Some(json!({ "uri": uri })), ..error },
        _ => error,
    })?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]))
}

/// The text of a resource. Tools write most of them, so that models read the same everywhere.
pub(super) async fn text(workspace: &Workspace, address: &Address) -> Result<String, ErrorData> {
    let corkboard = &workspace.corkboard;
    Ok(match address {
        Address::Handoff { agent } => {
            called(&workspace.of_agent(agent), "read_memory", json!({"key": SESSION_HANDOFF_KEY})).await?
        }
        Address::Scratchpad { agent, conversation } => {
            let mut workspace = workspace.of_agent(agent);
            workspace.context.conversation = Some(conversation.clone());
            called(&workspace, "memory_read", json!({})).await?
        }
        Address::Notebook { agent, notebook } => {
            called(&workspace.of_agent(agent), "read_notebook", json!({"name": notebook})).await?
        }
        Address::Context { agent } => {
            let memory = corkboard.agent(agent).map_err(refused)?;
            memory.context_window().preview(ContextRequest::new()).await.map_err(broken)?.text
        }
        Address::Board { board } => called(workspace, "board_status", json!({"board": board})).await?,
        Address::TaskContext { board, task } => {
            let board = corkboard.board(board).map_err(refused)?;
            board.preview_for_task(*task, None).await.map_err(broken)?.text
        }
        Address::Core { core } => core_text(workspace, core).await?,
    })
}

async fn called(workspace: &Workspace, tool: &str, input: Value) -> Result<String, ErrorData> {
    let tools = ToolRegistry::with_sets(&workspace.corkboard, &ToolSet::ALL);
    let output = tools.call(tool, input, &workspace.context).await;
    output.map(|output| output.text).map_err(|error| ErrorData::resource_not_found(error.to_string(), None))
}

/// The first entries of a core, one per line, each with its ID.
async fn core_text(workspace: &Workspace, name: &str) -> Result<String, ErrorData> {
    let core = match name.strip_prefix(CoreId::PRIVATE) {
        Some(agent) => {
            let long_term = workspace.corkboard.agent(agent).and_then(|agent| agent.long_term()).map_err(refused)?;
            Core::clone(&long_term)
        }
        None => workspace.corkboard.core(name).map_err(refused)?,
    };
    let page = core.entries().limit(CORE_ENTRIES).await.map_err(broken)?;
    if page.items.is_empty() {
        return Ok("This core has no entries.".into());
    }
    let line =
        |entry: &Arc<CoreEntry>| format!("{}{}: {}", entry.trust().mark(), entry.id, escaped_line(&entry.content));
    let mut lines: Vec<String> = page.items.iter().map(line).collect();
    if page.next.is_some() {
        lines.push(format!("… only the first {CORE_ENTRIES} entries are shown; `cork core search` finds the others"));
    }
    if page.items.iter().any(|entry| entry.trust() == Trust::Outside) {
        lines.push(OUTSIDE_WARNING.into());
    }
    Ok(lines.join("\n"))
}

pub(super) fn refused(error: impl Into<Error>) -> ErrorData {
    ErrorData::resource_not_found(error.into().to_string(), None)
}

pub(super) fn broken(error: Error) -> ErrorData {
    match error.kind() {
        ErrorKind::Gone => ErrorData::resource_not_found(error.to_string(), None),
        ErrorKind::Invalid => ErrorData::invalid_params(error.to_string(), None),
        _ => ErrorData::internal_error(error.to_string(), None),
    }
}
