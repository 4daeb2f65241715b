//! The context window: a prompt composed from an agent's memory, within a token budget.
//!
//! Content that seldom changes comes first (handoff, entries by importance, notes). Content that changes with every
//! turn comes last (scratchpads, search results), so that a provider's prompt cache keeps hitting. The same content
//! gives the same bytes.
//!
//! Remembered text is data. It is between tags, indented and escaped, so that it can neither close its section nor pose
//! as an instruction.

mod board;
#[cfg(test)]
mod board_tests;
mod compact;
mod compose;
#[cfg(test)]
mod core_tests;
mod cores;
pub(crate) mod escape;
#[cfg(test)]
pub(crate) mod hostile;
pub(crate) mod item;
pub(crate) mod label;
mod list;
mod notebook;
mod part;
mod section;
mod shares;
mod sources;
mod summary;
mod task;
#[cfg(test)]
mod tests;
pub(crate) mod tokens;

use std::fmt;
use std::sync::Arc;

use corkboard_core::board::{Nudge, TaskId};
use serde::{Deserialize, Serialize};

pub(crate) use self::cores::Knowledge;
pub use self::label::WARNING as OUTSIDE_WARNING;
pub(crate) use self::shares::{LEAST_BUDGET, MOST_BUDGET};
pub use self::summary::{Summarizer, SummaryReport};
pub use self::tokens::estimate_tokens;
use crate::corkboard::check_tier;
use crate::memory::EntriesAndNotes;
use crate::options::Tier;
use crate::{AgentMemory, Board, BoardView, Error, Limits, Result};

/// The content and the budget of a context window.
///
/// ```
/// # use corkboard::{ContextRequest, Corkboard};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
/// # let agent = Corkboard::open("memory:").await?.agent("a")?;
/// agent.working().set("user_name", "Ada").await?;
/// let window = agent.context_window().compose(ContextRequest::new().budget(2_000)).await?;
/// assert!(window.text.contains("<entries>\n  - user_name: Ada\n</entries>\n"));
/// assert!(window.tokens <= 2_000);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "The content and the budget of a context window."))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ContextRequest {
    /// Maximum tokens of the window; by default [`Options::context_tokens`](crate::Options::context_tokens).
    #[cfg_attr(feature = "openapi", schema(minimum = 128, maximum = 10_000_000))]
    pub budget: Option<u64>,
    /// Conversation whose scratchpad to show.
    pub conversation: Option<String>,
    /// Board whose goal and constraints to show.
    pub board: Option<String>,
    /// Task of that board to show, with everything that concerns it.
    pub task: Option<TaskId>,
    /// Search query. Adds matches that are not shown otherwise.
    pub query: Option<String>,
    /// How to shrink a prompt that does not fit.
    pub strategy: Strategy,
}

impl ContextRequest {
    /// A request with the default budget, for only the sections that are always shown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of tokens.
    pub fn budget(mut self, tokens: u64) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// Adds the scratchpad of a conversation.
    pub fn conversation(mut self, id: impl Into<String>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// Adds the goal and the constraints of a board.
    pub fn board(mut self, id: impl Into<String>) -> Self {
        self.board = Some(id.into());
        self
    }

    /// Adds a task of the named board, with everything that concerns it.
    pub fn task(mut self, task: TaskId) -> Self {
        self.task = Some(task);
        self
    }

    /// Adds matches of a search query.
    pub fn query(mut self, query: impl Into<String>) -> Self {
        self.query = Some(query.into());
        self
    }

    /// Sets the strategy.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }
}

/// How to shrink a prompt that does not fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// Cuts long items, and omits the least important entries and the oldest notes.
    #[default]
    Trim,
    /// First merges entries with equal values and notes with equal text, and cuts old notes to their beginning. Needs
    /// the tier `teams`.
    Compact,
    /// Like `Compact`; then a model summarizes the entries and notes that are still omitted. Needs the tier `teams` and
    /// [`ContextWindow::summarizer`]. Without a summary, the window is the same as with `Compact`, and the composition
    /// says why.
    Summarize,
}

/// A section of the window, in the window's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SectionName {
    /// The handoff from the last session: the entry `session-handoff`.
    Handoff,
    /// The board's goal.
    Goal,
    /// The board's constraints.
    Constraints,
    /// Key learnings from the notebooks.
    KeyLearnings,
    /// Verbatim snippets from the notebooks.
    VerbatimContext,
    /// The entries, by importance, then by key.
    Entries,
    /// The notes, in the order they were added.
    Notes,
    /// A model's summary of entries and notes that are not shown.
    Summary,
    /// Entries of memory cores: drawn by the board, matching the task, from the agent's long-term memory,
    /// and about the user.
    Cores,
    /// The task's progress, from the notebooks.
    Progress,
    /// Decisions in force that concern the task, in their order.
    Decisions,
    /// Discoveries that concern the task, in their order.
    Discoveries,
    /// Results of the tasks that the task depends on.
    Results,
    /// Artifacts of the task and of the tasks that it depends on.
    Artifacts,
    /// The task itself, and its state.
    Task,
    /// Nudges to the reader, urgent ones first.
    Nudges,
    /// The working notes on the current task: the entry `scratchpad`.
    Scratchpad,
    /// The conversation's scratchpad.
    Conversation,
    /// Matches of the query.
    Found,
}

impl fmt::Display for SectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handoff => "handoff",
            Self::Goal => "goal",
            Self::Constraints => "constraints",
            Self::KeyLearnings => "key_learnings",
            Self::VerbatimContext => "verbatim_context",
            Self::Entries => "entries",
            Self::Notes => "notes",
            Self::Summary => "summary",
            Self::Cores => "cores",
            Self::Progress => "progress",
            Self::Decisions => "decisions",
            Self::Discoveries => "discoveries",
            Self::Results => "results",
            Self::Artifacts => "artifacts",
            Self::Task => "task",
            Self::Nudges => "nudges",
            Self::Scratchpad => "scratchpad",
            Self::Conversation => "conversation",
            Self::Found => "found",
        })
    }
}

/// A composed window, and a report of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Composition {
    /// The text for the prompt; empty if nothing is remembered.
    pub text: String,
    /// Number of tokens, by OpenAI's `o200k_base`. For other vendors' models it is an estimate.
    pub tokens: u64,
    /// Maximum number of tokens.
    pub budget: u64,
    /// The revision of the memory, or of the board if only a board is shown.
    pub rev: u64,
    /// The revision of the board, if one is shown.
    pub board_rev: Option<u64>,
    /// Shown and omitted items of each section, in the order of the text. Empty sections are absent.
    pub sections: Vec<SectionReport>,
    /// The result of [`Strategy::Summarize`], if something had to be summarized.
    pub summary: Option<SummaryReport>,
}

/// Shown and omitted items of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SectionReport {
    /// The section's name.
    pub name: SectionName,
    /// Tokens used, including the tags.
    pub tokens: u64,
    /// Maximum tokens.
    pub allowed: u64,
    /// Number of shown items.
    pub items: u64,
    /// Items that are omitted or cut.
    pub left_out: Vec<LeftOut>,
}

/// Items that a section omits or cuts for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeftOut {
    /// The reason.
    pub reason: OmissionReason,
    /// Number of items.
    pub count: u64,
    /// The first few items: keys of entries, numbers of notes.
    pub first: Vec<String>,
}

/// Why an item is omitted or cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OmissionReason {
    /// It is too long, so only a part of it is shown.
    Cut,
    /// Its section is full.
    NoRoom,
    /// It is shown in another section.
    AlreadyShown,
    /// Another item says the same.
    Merged,
    /// Its log is damaged, or newer than this program.
    Unreadable,
}

/// The context of a task on a board, within a token budget.
pub(crate) fn for_task(
    view: &BoardView,
    task: TaskId,
    (told, knowledge): (&[Arc<Nudge>], &Knowledge),
    budget: u64,
) -> Result<Composition> {
    check_budget(budget)?;
    view.task(task)?;
    let lines = board::BoardLines::of(view.state(), Some(task)).telling(told).knowing(knowledge);
    let compose::Composed { text, tokens, sections, .. } = task::compose(&lines, budget);
    Ok(Composition { text, tokens, budget, rev: view.rev(), board_rev: Some(view.rev()), sections, summary: None })
}

/// Whether a composed text shows all of a nudge.
pub(crate) fn shows(text: &str, nudge: &Nudge) -> bool {
    let line = board::BoardLine::Nudge(0, nudge).render(u64::MAX);
    // Lines of other items are indented further, so none of them can pose as a nudge.
    line.is_some_and(|line| text.contains(&["\n", line.text.as_str()].concat()))
}

/// Number of tokens of a text, by OpenAI's `o200k_base`. For other vendors' models it is an estimate.
pub fn count_tokens(text: &str) -> u64 {
    tokens::count(text)
}

/// Remembered text on one line, escaped so that it is safe to show to a model anywhere.
pub fn escaped_line(text: &str) -> String {
    let mut line = String::new();
    escape::push_line(&mut line, text);
    line
}

impl AgentMemory {
    /// The context window of this memory. Available in every tier.
    pub fn context_window(&self) -> ContextWindow {
        ContextWindow { memory: self.clone(), summarizer: None }
    }
}

/// Whether the composed window counts as read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadKind {
    Read,
    Preview,
}

/// Composes prompts from an agent's memory.
#[derive(Clone)]
pub struct ContextWindow {
    memory: AgentMemory,
    summarizer: Option<Summarizer>,
}

impl ContextWindow {
    /// Sets the model for [`Strategy::Summarize`].
    pub fn summarizer(mut self, summarizer: &Summarizer) -> Self {
        self.summarizer = Some(summarizer.clone());
        self
    }

    /// Composes a window from the current memory. It never has more tokens than its budget.
    ///
    /// The actor of this memory counts as the reader of the board: a claim on the task is renewed, and nudges whose
    /// whole text is in the window are recorded as delivered.
    pub async fn compose(&self, request: ContextRequest) -> Result<Composition> {
        let (composition, reading) = self.look(request, ReadKind::Read).await?;
        if let Some(BoardReading { board, told, .. }) = reading {
            board.shown(&told, &composition.text).await?;
        }
        Ok(composition)
    }

    /// Composes the same window without counting it as read, and writes nothing.
    pub async fn preview(&self, request: ContextRequest) -> Result<Composition> {
        Ok(self.look(request, ReadKind::Preview).await?.0)
    }

    async fn look(&self, request: ContextRequest, look: ReadKind) -> Result<(Composition, Option<BoardReading>)> {
        let options = self.memory.options();
        match request.strategy {
            Strategy::Trim => {}
            Strategy::Compact => check_tier(options, "compacting the context window", Tier::Teams)?,
            Strategy::Summarize => check_tier(options, "summarizing for the context window", Tier::Teams)?,
        }
        let budget = request.budget.unwrap_or(options.context_tokens.max(LEAST_BUDGET));
        check_budget(budget)?;
        let hits = match request.query.as_deref() {
            Some(query) => sources::hits(&self.memory, query).await?,
            None => Vec::new(),
        };
        let pad = match request.conversation.as_deref() {
            Some(id) => self.memory.conversation(id)?.entries_and_notes().await?,
            None => EntriesAndNotes::default(),
        };
        let reading = self.read_board(&request, look).await?;
        let mut knowledge = match &reading {
            Some(BoardReading { board, view, .. }) => board.knowledge(view, request.task).await?,
            None => Knowledge::default(),
        };
        knowledge.extend(sources::knowledge(&self.memory).await?);
        let (current, now) = self.memory.current().await?;
        let mut material = sources::remembered(&current.state, now);
        let lines = match (&reading, request.task) {
            (Some(BoardReading { view, told, .. }), task) => {
                task.map(|task| view.task(task)).transpose()?;
                board::BoardLines::of(view.state(), task).telling(told)
            }
            (None, _) => board::BoardLines::default(),
        };
        material.board = Some(lines.knowing(&knowledge));
        material.hits = &hits;
        material.has_conversation = request.conversation.is_some();
        sources::add_scratchpad(&mut material, &pad);
        let (composed, summary) = match request.strategy {
            Strategy::Summarize => summary::compose(material, budget, self.summarizer.as_ref()).await,
            strategy => (compose::compose(material, budget, strategy), None),
        };
        let compose::Composed { text, tokens, sections, .. } = composed;
        let (rev, board_rev) = (current.head.rev, reading.as_ref().map(|reading| reading.view.rev()));
        Ok((Composition { text, tokens, budget, rev, board_rev, sections, summary }, reading))
    }

    async fn read_board(&self, request: &ContextRequest, look: ReadKind) -> Result<Option<BoardReading>> {
        let board = request.board.as_deref().map(|id| self.memory.board(id)).transpose()?;
        let (board, view) = match (board, request.task) {
            (Some(board), Some(task)) if look == ReadKind::Read => (board.clone(), board.view_for(task).await?),
            (Some(board), _) => (board.clone(), board.view().await?),
            (None, Some(_)) => return Err(Error::TaskWithoutBoard),
            (None, None) => return Ok(None),
        };
        let told = board.told(&view);
        Ok(Some(BoardReading { board, view, told }))
    }
}

/// A board as a window shows it, and the nudges to the reader.
struct BoardReading {
    board: Board,
    view: BoardView,
    told: Vec<Arc<Nudge>>,
}

fn check_budget(budget: u64) -> Result<()> {
    Ok(Limits::check_range("budget", budget, LEAST_BUDGET..=MOST_BUDGET)?)
}
