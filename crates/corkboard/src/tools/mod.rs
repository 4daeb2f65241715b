//! Tools that models call. Each has a name, a schema derived from its input's Rust type, and an answer as text.

mod advice;
mod board;
mod call;
mod definition;
mod error;
mod files;
mod learnings;
mod memory;
mod notebook;
mod nudges;
mod orchestrator;
mod plan;
mod record;
mod reference;
mod scratchpad;
mod status;
mod user_facts;
mod worker;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use corkboard_core::board::TaskId;
use corkboard_core::{Actor, ActorKind, Role};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use call::{ToolCall, ToolCallAnswer};
pub use definition::{ToolDefinition, ToolEffect, ToolFormat};
pub use error::ToolError;
pub use files::{FileAnswer, MemoryCommand, MemoryFiles, MemoryTool};
pub use learnings::{ExtractLearningsTool, PromoteLearningTool};
pub use memory::{
    DeleteMemoryTool, ReadMemoryTool, ScratchNoteTool, SearchMemoryTool, WriteMemoryTool, WriteSessionHandoffTool,
};
pub use notebook::{ReadNotebookTool, UpdateNotebookTool};
pub use nudges::CheckNudgesTool;
pub use orchestrator::{AssignTaskTool, ChooseBranchTool, ReviewTaskTool};
pub use plan::{AddTasksTool, CreateBoardTool};
pub use record::{RecordArtifactTool, RecordDecisionTool, RecordDiscoveryTool};
pub use reference::{
    AddObservationsTool, AddedObservations, CreateEntitiesTool, CreateRelationsTool, DeleteEntitiesTool,
    DeleteObservationsTool, DeleteRelationsTool, EntityObservations, Graph, GraphEntity, GraphRelation, KnowledgeGraph,
    MergedGraph, OpenNodesTool, ReadGraphTool, SearchNodesTool, parse_graph,
};
pub use scratchpad::{MemoryReadTool, MemoryWriteTool};
pub use status::BoardStatusTool;
pub use worker::{BoardContextTool, ClaimTaskTool, CompleteTaskTool, UpdateTaskTool};

use crate::{AgentMemory, Board, BoardId, Conversation, Corkboard};

/// Maximum bytes of text in one answer to a model.
const TEXT_BYTES: usize = 64 * 1024;

/// What a model can do about an answer that was cut.
const REST: &str = "For the rest, ask for less at a time: one key, one task, a smaller limit or budget";

/// A future that a tool returns.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A tool that a model can call.
pub trait Tool: Send + Sync {
    /// The tool's name, description and input schema.
    fn definition(&self) -> ToolDefinition;

    /// Runs the tool. A refused call changes nothing.
    fn call<'a>(&'a self, input: Value, context: &'a ToolContext) -> ToolFuture<'a>;
}

/// The agent, conversation, board and task that a tool call is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ToolContext {
    /// Agent whose memory the tool uses.
    pub agent: String,
    /// Conversation whose scratchpad the tool uses.
    pub conversation: Option<String>,
    /// Board that the tool works on.
    pub board: Option<String>,
    /// Task of that board that the tool works on.
    pub task: Option<String>,
    /// Folder that artifact paths are relative to. If `None`, the files are not read.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
    /// Author of changes; the agent itself if `None`.
    #[serde(skip)]
    pub actor: Option<Actor>,
    /// The claims of the connection that makes the calls. Two connections of one agent then cannot write to the same
    /// task: the claim of one fences the other.
    #[serde(skip)]
    pub claims: Option<RememberedClaims>,
}

/// The claims that the calls of one connection made. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct RememberedClaims {
    epochs: Arc<Mutex<HashMap<(BoardId, TaskId), u64>>>,
}

impl PartialEq for RememberedClaims {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.epochs, &other.epochs)
    }
}

impl RememberedClaims {
    fn remember(&self, board: &Board, task: TaskId, epoch: u64) {
        self.epochs.lock().insert((board.id().clone(), task), epoch);
    }

    /// The board with commands that are refused if another connection has claimed the task since.
    fn apply(&self, board: Board, task: TaskId) -> Board {
        match self.epochs.lock().get(&(board.id().clone(), task)) {
            Some(epoch) => board.under_claim(task, *epoch),
            None => board,
        }
    }
}

impl ToolContext {
    /// A context with this agent, and nothing else.
    pub fn agent(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), ..Self::default() }
    }

    /// Sets the conversation.
    pub fn in_conversation(self, conversation: impl Into<String>) -> Self {
        Self { conversation: Some(conversation.into()), ..self }
    }

    /// Sets the board.
    pub fn on_board(self, board: impl Into<String>) -> Self {
        Self { board: Some(board.into()), ..self }
    }

    /// Sets the task of that board.
    pub fn for_task(self, task: impl Into<String>) -> Self {
        Self { task: Some(task.into()), ..self }
    }

    /// Fills the missing fields of this context from `shared`.
    pub fn or(self, shared: &Self) -> Self {
        let agent = if self.agent.is_empty() { shared.agent.clone() } else { self.agent };
        Self {
            agent,
            conversation: self.conversation.or_else(|| shared.conversation.clone()),
            board: self.board.or_else(|| shared.board.clone()),
            task: self.task.or_else(|| shared.task.clone()),
            folder: self.folder.or_else(|| shared.folder.clone()),
            actor: self.actor.or_else(|| shared.actor.clone()),
            claims: self.claims.or_else(|| shared.claims.clone()),
        }
    }

    fn memory(&self, corkboard: &Corkboard) -> Result<AgentMemory, ToolError> {
        let memory = corkboard.agent(&self.agent)?;
        let own = || Actor::new(self.agent.clone(), ActorKind::Agent, Role::Worker);
        Ok(memory.acting_as(self.actor.clone().unwrap_or_else(own)))
    }

    fn scratchpad(&self, corkboard: &Corkboard, tool: &'static str) -> Result<Conversation, ToolError> {
        let id = self.conversation.as_deref().ok_or(ToolError::MissingContext { tool, what: "conversation" })?;
        Ok(self.memory(corkboard)?.conversation(id)?)
    }
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolOutput {
    /// The answer for the model.
    pub text: String,
    /// The answer for programs; `null` if the text says everything.
    pub data: Value,
}

impl ToolOutput {
    fn new(text: impl Into<String>, data: Value) -> Self {
        Self { text: text.into(), data }
    }

    /// Puts `first` before the answer, and cuts the answer so that both fit into [`TEXT_BYTES`].
    fn after(self, first: &str) -> Self {
        let Self { text, data } = self.capped(TEXT_BYTES.saturating_sub(first.len()));
        Self { text: format!("{first}\n\n{text}"), data }
    }

    /// Cuts the text to at most `most` bytes.
    fn capped(mut self, most: usize) -> Self {
        let all = self.text.len();
        if all > most {
            self.text.truncate(self.text.floor_char_boundary(most));
            let shown = self.text.len();
            self.text.push_str(&format!("\n… [cut: {shown} of the {all} bytes of this answer are shown. {REST}]"));
        }
        self
    }
}

/// Tools that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolSet {
    /// A conversation's scratchpad: `memory_read`, `memory_write`.
    Scratchpad,
    /// The agent's memory: `search_memory`, `read_memory`, `write_memory`, `delete_memory`, `write_session_handoff`,
    /// `scratch_note`.
    Memory,
    /// The agent's notebooks: `read_notebook`, `update_notebook`.
    Notebook,
    /// For workers on a board's tasks: `board_context`, `claim_task`, `update_task`, `complete_task`,
    /// `record_decision`, `record_discovery`, `record_artifact`, `check_nudges`.
    Worker,
    /// For the orchestrator of a board: `create_board`, `add_tasks`, `assign_task`, `review_task`, `choose_branch`,
    /// `board_status`, `extract_learnings`, `promote_learning`.
    Orchestrator,
    /// Anthropic's memory tool, `memory`: the agent's entries as files.
    Anthropic,
    /// The tools of the public MCP reference memory server, on a knowledge graph in the agent's long-term memory:
    /// `create_entities`, `create_relations`, `add_observations`, `delete_entities`, `delete_observations`,
    /// `delete_relations`, `read_graph`, `search_nodes`, `open_nodes`.
    Reference,
}

impl ToolSet {
    /// All sets.
    pub const ALL: [Self; 7] = [
        Self::Scratchpad,
        Self::Memory,
        Self::Notebook,
        Self::Worker,
        Self::Orchestrator,
        Self::Anthropic,
        Self::Reference,
    ];
    /// The sets of [`ToolRegistry::new`].
    pub const DEFAULT: [Self; 2] = [Self::Scratchpad, Self::Memory];

    /// The name of the set.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scratchpad => "scratchpad",
            Self::Memory => "memory",
            Self::Notebook => "notebook",
            Self::Worker => "worker",
            Self::Orchestrator => "orchestrator",
            Self::Anthropic => "anthropic",
            Self::Reference => "reference",
        }
    }

    /// Sets by their names, separated by commas; `all` names every set.
    pub fn parse_list(names: &str) -> Result<Vec<Self>, String> {
        match names.trim() {
            "all" => Ok(Self::ALL.into()),
            names => names.split(',').map(|name| name.trim().parse()).collect(),
        }
    }

    fn tools(self, corkboard: &Corkboard) -> Vec<Arc<dyn Tool>> {
        macro_rules! tools {
            ($($tool:ident),*) => { vec![$(Arc::new($tool::new(corkboard))),*] };
        }
        match self {
            Self::Scratchpad => tools![MemoryReadTool, MemoryWriteTool],
            Self::Memory => tools![
                SearchMemoryTool,
                ReadMemoryTool,
                WriteMemoryTool,
                DeleteMemoryTool,
                WriteSessionHandoffTool,
                ScratchNoteTool
            ],
            Self::Notebook => tools![ReadNotebookTool, UpdateNotebookTool],
            Self::Worker => tools![
                BoardContextTool,
                ClaimTaskTool,
                UpdateTaskTool,
                CompleteTaskTool,
                RecordDecisionTool,
                RecordDiscoveryTool,
                RecordArtifactTool,
                CheckNudgesTool
            ],
            Self::Orchestrator => tools![
                CreateBoardTool,
                AddTasksTool,
                AssignTaskTool,
                ReviewTaskTool,
                ChooseBranchTool,
                BoardStatusTool,
                ExtractLearningsTool,
                PromoteLearningTool
            ],
            Self::Anthropic => tools![MemoryTool],
            Self::Reference => tools![
                CreateEntitiesTool,
                CreateRelationsTool,
                AddObservationsTool,
                DeleteEntitiesTool,
                DeleteObservationsTool,
                DeleteRelationsTool,
                ReadGraphTool,
                SearchNodesTool,
                OpenNodesTool
            ],
        }
    }
}

impl fmt::Display for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ToolSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|set| set.as_str() == text);
        found.ok_or_else(|| format!("unknown tool set {text:?}; expected one of {}", known()))
    }
}

/// The tools that a model may call.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use corkboard::Corkboard;
/// use corkboard::tools::{ToolContext, ToolFormat, ToolRegistry};
/// use serde_json::json;
///
/// let corkboard = Corkboard::open("memory:").await?;
/// let tools = ToolRegistry::new(&corkboard);
/// let for_the_request = tools.tool_definitions(ToolFormat::OpenAi);
/// # assert_eq!(for_the_request.len(), 8);
///
/// let context = ToolContext::agent("alice").in_conversation("c-1");
/// tools.call("memory_write", json!({"action": "set", "key": "name", "value": "Ada"}), &context).await?;
/// let read = tools.call("memory_read", json!({"key": "name"}), &context).await?;
/// assert_eq!(read.text, "Ada");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ToolRegistry {
    tools: BTreeMap<&'static str, Arc<dyn Tool>>,
    /// Names in the order of registration, which is the order of the definitions.
    order: Vec<&'static str>,
    /// Used to look up nudges on the board of a call.
    corkboard: Corkboard,
}

impl ToolRegistry {
    /// A registry of the default sets, [`ToolSet::DEFAULT`].
    pub fn new(corkboard: &Corkboard) -> Self {
        Self::with_sets(corkboard, &ToolSet::DEFAULT)
    }

    /// A registry of these sets.
    pub fn with_sets(corkboard: &Corkboard, sets: &[ToolSet]) -> Self {
        let mut registry = Self { tools: BTreeMap::new(), order: Vec::new(), corkboard: corkboard.clone() };
        sets.iter().flat_map(|set| set.tools(corkboard)).for_each(|tool| registry.register(tool));
        registry
    }

    /// Adds a tool, or replaces the tool with the same name.
    pub fn register(&mut self, tool: Arc<dyn Tool>) {
        let name = tool.definition().name;
        if self.tools.insert(name, tool).is_none() {
            self.order.push(name);
        }
    }

    /// The definition of each tool.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.order.iter().filter_map(|name| self.tools.get(name)).map(|tool| tool.definition()).collect()
    }

    /// The definition of the tool with this name.
    pub fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.tools.get(name).map(|tool| tool.definition())
    }

    /// The definition of each tool in a provider's format.
    pub fn tool_definitions(&self, format: ToolFormat) -> Vec<Value> {
        self.definitions().iter().map(|definition| definition.in_format(format)).collect()
    }

    /// Calls a tool. The input is a JSON object, or a string that contains one, as OpenAI's models send it.
    ///
    /// While an urgent nudge for the caller waits on the call's board, every answer begins with it and says how many
    /// others wait.
    pub async fn call(&self, name: &str, input: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let input = definition::parsed(input);
        let board = input.get("board").and_then(Value::as_str).map(str::to_owned);
        let answer = match self.tools.get(name) {
            Some(tool) => tool.call(input, context).await.map(|output| match output.text.len() > TEXT_BYTES {
                // Programs parse this text, and a part of it would be invalid.
                true if tool.definition().output_schema.is_some() => output,
                _ => output.capped(TEXT_BYTES),
            }),
            None => Err(ToolError::UnknownTool { name: name.into(), known: self.order.clone() }),
        };
        nudges::interrupt(&self.corkboard, context, (name, board.as_deref()), answer).await
    }
}
