//! Tools: what a model calls. Each has a name, a schema that follows from its input's Rust type, and an answer in words.

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
mod scratchpad;
mod status;
mod worker;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use corkboard_core::{Actor, ActorKind, Role};
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
pub use scratchpad::{MemoryReadTool, MemoryWriteTool};
pub use status::BoardStatusTool;
pub use worker::{BoardContextTool, ClaimTaskTool, CompleteTaskTool, UpdateTaskTool};

use crate::{AgentMemory, Conversation, Corkboard};

/// The most bytes of text that a model is shown in one answer.
const TEXT_BYTES: usize = 64 * 1024;

/// A future that a tool returns.
pub type ToolFuture<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// Something a model can call.
pub trait Tool: Send + Sync {
    /// What the model is told about it.
    fn definition(&self) -> ToolDefinition;

    /// Does it. A refused call changed nothing.
    fn call<'a>(&'a self, input: Value, context: &'a ToolContext) -> ToolFuture<'a>;
}

/// For whom a tool is called.
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
    /// The folder in which the files are that artifacts' paths name; if nothing is said, they are not looked at.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
    /// In whose name; the agent's own if nothing is said.
    #[serde(skip)]
    pub actor: Option<Actor>,
}

impl ToolContext {
    /// A call by an agent.
    pub fn agent(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), ..Self::default() }
    }

    /// The same in a conversation.
    pub fn in_conversation(self, conversation: impl Into<String>) -> Self {
        Self { conversation: Some(conversation.into()), ..self }
    }

    /// The same on a board.
    pub fn on_board(self, board: impl Into<String>) -> Self {
        Self { board: Some(board.into()), ..self }
    }

    /// The same for a task of that board.
    pub fn for_task(self, task: impl Into<String>) -> Self {
        Self { task: Some(task.into()), ..self }
    }

    /// This context; `shared` supplies what it leaves out.
    pub fn or(self, shared: &Self) -> Self {
        let agent = if self.agent.is_empty() { shared.agent.clone() } else { self.agent };
        Self {
            agent,
            conversation: self.conversation.or_else(|| shared.conversation.clone()),
            board: self.board.or_else(|| shared.board.clone()),
            task: self.task.or_else(|| shared.task.clone()),
            folder: self.folder.or_else(|| shared.folder.clone()),
            actor: self.actor.or_else(|| shared.actor.clone()),
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

/// What a tool answers.
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

    /// The answer after something that comes first. It is cut so that both keep to the cap.
    fn after(self, first: &str) -> Self {
        let Self { text, data } = self.capped(TEXT_BYTES.saturating_sub(first.len()));
        Self { text: format!("{first}\n\n{text}"), data }
    }

    /// What a model is shown has a hard cap.
    fn capped(mut self, most: usize) -> Self {
        let all = self.text.len();
        if all > most {
            self.text.truncate(self.text.floor_char_boundary(most));
            let shown = self.text.len();
            self.text.push_str(&format!("\n… [cut: {shown} of the {all} bytes of this answer are shown]"));
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
    /// For whoever works on a board's tasks: `board_context`, `claim_task`, `update_task`, `complete_task`,
    /// `record_decision`, `record_discovery`, `record_artifact`, `check_nudges`.
    Worker,
    /// For whoever runs a board: `create_board`, `add_tasks`, `assign_task`, `review_task`, `choose_branch`,
    /// `board_status`, `extract_learnings`, `promote_learning`.
    Orchestrator,
    /// Anthropic's memory tool: `memory`, files over the agent's entries.
    Anthropic,
}

impl ToolSet {
    /// All sets.
    pub const ALL: [Self; 6] =
        [Self::Scratchpad, Self::Memory, Self::Notebook, Self::Worker, Self::Orchestrator, Self::Anthropic];
    /// The sets that a registry has unless others are asked for.
    pub const DEFAULT: [Self; 2] = [Self::Scratchpad, Self::Memory];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scratchpad => "scratchpad",
            Self::Memory => "memory",
            Self::Notebook => "notebook",
            Self::Worker => "worker",
            Self::Orchestrator => "orchestrator",
            Self::Anthropic => "anthropic",
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
    /// As they were registered: the order in which a model reads them.
    order: Vec<&'static str>,
    /// Where the boards are on which nudges wait.
    corkboard: Corkboard,
}

impl ToolRegistry {
    /// The default sets.
    pub fn new(corkboard: &Corkboard) -> Self {
        Self::with_sets(corkboard, &ToolSet::DEFAULT)
    }

    /// The sets that are named.
    pub fn with_sets(corkboard: &Corkboard, sets: &[ToolSet]) -> Self {
        let mut registry = Self { tools: BTreeMap::new(), order: Vec::new(), corkboard: corkboard.clone() };
        sets.iter().flat_map(|set| set.tools(corkboard)).for_each(|tool| registry.register(tool));
        registry
    }

    /// Adds a tool, or replaces the one of that name.
    pub fn register(&mut self, tool: Arc<dyn Tool>) {
        let name = tool.definition().name;
        if self.tools.insert(name, tool).is_none() {
            self.order.push(name);
        }
    }

    /// What the model is told about each tool.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.order.iter().filter_map(|name| self.tools.get(name)).map(|tool| tool.definition()).collect()
    }

    /// The same in the form that a provider wants.
    pub fn tool_definitions(&self, format: ToolFormat) -> Vec<Value> {
        self.definitions().iter().map(|definition| definition.in_format(format)).collect()
    }

    /// Calls a tool. The input is a JSON object, or a string that holds one, as OpenAI's models send it. While an urgent nudge waits for the caller on the board that the call is about, every answer begins
    /// with it, and says how many others wait.
    pub async fn call(&self, name: &str, input: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let input = definition::parsed(input);
        let board = input.get("board").and_then(Value::as_str).map(str::to_owned);
        let answer = match self.tools.get(name) {
            Some(tool) => tool.call(input, context).await.map(|output| output.capped(TEXT_BYTES)),
            None => Err(ToolError::UnknownTool { name: name.into(), known: self.order.clone() }),
        };
        nudges::interrupt(&self.corkboard, context, (name, board.as_deref()), answer).await
    }
}
