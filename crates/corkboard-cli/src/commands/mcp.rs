//! `cork mcp`: the MCP server for one assistant, over stdin and stdout.

use std::sync::Arc;

use clap::Args;
use corkboard::Corkboard;
use corkboard::tools::{ToolContext, ToolRegistry, ToolSet};
use corkboard_server::mcp::{
    ServerListing, StdioWorkspace, Tool, Workspace, WorkspaceError, default_sets, serve_stdio,
};
use serde::Serialize;
use serde_json::json;

use crate::args::Global;
use crate::command_session::{IfMissing, Session};
use crate::error::CliError;
use crate::output::{Fit, Output, Rest, count, table};
use crate::project::Project;

/// Variables in which clients name the session.
const SESSIONS: [&str; 2] = ["CLAUDE_CODE_SESSION_ID", "GEMINI_SESSION_ID"];

/// Serve an assistant over MCP, on stdin and stdout
///
/// Assistants start this command themselves: `cork setup CLIENT` configures them. The memory is the project's: its agent is
/// named after the folder that the client names, else the Git repository, else the current folder. --agent chooses another.
/// With --url, the command uses a server. Assistants that connect to a server over HTTP use its path /mcp instead.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork mcp --check
  cork mcp --check --tools memory,notebook
  cork --url http://127.0.0.1:7117 mcp
  cork --board add-login-1a2b3c4d mcp")]
pub(crate) struct Mcp {
    /// Tool sets, separated by commas, or all: scratchpad, memory, notebook, worker, orchestrator, anthropic, reference
    /// [default: scratchpad,memory; with --board, also worker]
    #[arg(long, value_name = "SETS", env = "CORK_TOOLS", hide_env_values = true)]
    tools: Option<String>,

    /// Conversation whose scratchpad to use [default: the client's session]
    #[arg(long, value_name = "ID", env = "CORK_CONVERSATION", hide_env_values = true)]
    conversation: Option<String>,

    /// Show what a client would see, and exit: tools with their tokens, resources, prompts, store and agent
    #[arg(long)]
    check: bool,
}

impl Mcp {
    pub(crate) async fn run(self, global: Arc<Global>) -> Result<(), CliError> {
        let sets = match self.tools.as_deref().filter(|names| !names.is_empty()) {
            Some(names) => ToolSet::parse_list(names).map_err(|message| CliError::invalid("tool_set", message))?,
            None => default_sets(global.board.as_deref()),
        };
        let conversation = self.conversation.filter(|id| !id.is_empty()).or_else(client_session);
        if !self.check {
            // The tokenizer takes time to load, and 20 MB.
            corkboard::context::estimate_tokens();
        }
        let conversation = conversation.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let definitions = ToolRegistry::with_sets(&Corkboard::open("memory:").await?, &sets);
        let opened = global.clone();
        let workspace = StdioWorkspace::new(
            definitions,
            Box::new(move || {
                let (global, sets, conversation) = (opened.clone(), sets.clone(), conversation.clone());
                Box::pin(async move {
                    let opened = open(&global, sets, conversation).await;
                    opened.map_err(|error| WorkspaceError(error.text()))
                })
            }),
        );
        let served = match self.check {
            true => check(&workspace, &global).await,
            false => serve_stdio(workspace.clone()).await.map_err(CliError::Output),
        };
        if let Some(opened) = workspace.opened() {
            opened.corkboard.close().await?;
        }
        served
    }
}

/// The session that the client names.
fn client_session() -> Option<String> {
    SESSIONS.into_iter().find_map(|name| std::env::var(name).ok().filter(|id| !id.is_empty()))
}

async fn open(global: &Global, sets: Vec<ToolSet>, conversation: String) -> Result<Workspace, CliError> {
    let session = Session::open(global, IfMissing::Create).await?;
    let context = ToolContext {
        agent: session.agent.agent_id().to_string(),
        conversation: Some(conversation),
        board: session.board_id.clone(),
        task: None,
        folder: Project::or_current_folder().map(|project| project.root().to_owned()),
        actor: Some(session.tool_actor.clone()),
        // The server remembers the claims of its connection.
        claims: None,
    };
    Ok(Workspace { corkboard: session.corkboard, context, sets })
}

#[derive(Serialize)]
struct Checked<'a> {
    agent: &'a str,
    project: Option<String>,
    store: &'a str,
    board: Option<&'a str>,
    conversation: Option<&'a str>,
    tokens: u64,
    #[serde(flatten)]
    listing: &'a ServerListing,
}

async fn check(workspace: &StdioWorkspace, global: &Global) -> Result<(), CliError> {
    let failed = |WorkspaceError(message): WorkspaceError| {
        CliError::unavailable("mcp", message.strip_prefix("error: ").unwrap_or(&message).to_owned())
    };
    let opened = workspace.open().await.map_err(failed)?;
    let listing = ServerListing::of(workspace).await.map_err(failed)?;
    // What a model reads of a tool; the rest is for the client.
    let tokens = |tool: &Tool| {
        let read = json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema});
        corkboard::context::count_tokens(&read.to_string())
    };
    let counted: Vec<u64> = listing.tools.iter().map(tokens).collect();
    let location = opened.corkboard.store_info().location;
    let checked = Checked {
        agent: &opened.context.agent,
        project: Project::or_current_folder().map(|project| project.root().display().to_string()),
        store: &location,
        board: opened.context.board.as_deref(),
        conversation: opened.context.conversation.as_deref(),
        tokens: counted.iter().sum(),
        listing: &listing,
    };
    Output::new(global.json).answer(&checked, || checked.text(&counted))
}

impl Checked<'_> {
    fn text(&self, counted: &[u64]) -> String {
        let ServerListing { tools, resources, resource_templates, prompts } = self.listing;
        let effect = |tool: &Tool| match &tool.annotations {
            Some(hints) if hints.read_only_hint == Some(true) => "reads",
            Some(hints) if hints.destructive_hint == Some(false) => "adds",
            _ => "changes",
        };
        let rows = tools.iter().zip(counted).map(|(tool, tokens)| {
            let description = tool.description.as_deref().unwrap_or_default();
            let first = description.split_once(". ").map_or(description, |(first, _)| first);
            [tool.name.to_string(), tokens.to_string(), effect(tool).to_owned(), first.to_owned()]
        });
        let tools_table = table([("TOOL", Fit), ("TOKENS", Fit), ("EFFECT", Fit), ("DESCRIPTION", Rest)], rows);
        let resource_rows = resources
            .iter()
            .map(|resource| [resource.name.clone(), resource.uri.clone()])
            .chain(resource_templates.iter().map(|template| [template.name.clone(), template.uri_template.clone()]));
        let resources_table = table([("RESOURCE", Fit), ("URI", Rest)], resource_rows);
        let prompt_names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        let none = "none";
        format!(
            "agent         {}\nproject       {}\nstore         {}\nboard         {}\nconversation  {}\n\n{tools_table}\n{}, {} tokens\n\n{resources_table}\n\nPrompts: {}",
            self.agent,
            self.project.as_deref().unwrap_or(none),
            self.store,
            self.board.unwrap_or(none),
            self.conversation.unwrap_or(none),
            count(tools.len() as u64, "tool", "tools"),
            self.tokens,
            prompt_names.join(", ")
        )
    }
}
