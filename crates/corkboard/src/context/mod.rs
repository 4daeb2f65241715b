//! The context window: a prompt composed from what an agent remembers, within a budget of tokens.
//!
//! What seldom changes comes first (handoff, entries by importance, notes), what changes with every turn last (scratchpads,
//! what a query found), so that a provider's prompt cache keeps hitting. The same content gives the same bytes.
//!
//! Remembered text is data. It stands between tags, indented and escaped, so that it can neither close its section nor pose
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
pub(crate) use self::shares::LEAST_BUDGET;
pub use self::summary::{Summarizer, SummaryReport};
use crate::corkboard::check_tier;
use crate::memory::EntriesAndNotes;
use crate::options::Tier;
use crate::{AgentMemory, Board, BoardView, Error, Refusal, Result};

/// What a window is to show.
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
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ContextRequest {
    /// How many tokens it may have; nothing said: [`Options::context_tokens`](crate::Options::context_tokens).
    pub budget: Option<u64>,
    /// The conversation whose scratchpad belongs to it.
    pub conversation: Option<String>,
    /// The board that it is for: its goal and constraints belong to it.
    pub board: Option<String>,
    /// The task of that board that it is for: what concerns the task belongs to it.
    pub task: Option<TaskId>,
    /// What is asked about: what is found and not shown otherwise is added.
    pub query: Option<String>,
    /// What is done about want of room.
    pub strategy: Strategy,
}

impl ContextRequest {
    /// The default budget, and no more than what is always shown.
    pub fn new() -> Self {
        Self::default()
    }

    /// With at most so many tokens.
    pub fn budget(mut self, tokens: u64) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// With the scratchpad of a conversation.
    pub fn conversation(mut self, id: impl Into<String>) -> Self {
        self.conversation = Some(id.into());
        self
    }

    /// With the goal and the constraints of a board.
    pub fn board(mut self, id: impl Into<String>) -> Self {
        self.board = Some(id.into());
        self
    }

    /// With what concerns a task of the board that is named.
    pub fn task(mut self, task: TaskId) -> Self {
        self.task = Some(task);
        self
    }

    /// With what is found for a query.
    pub fn query(mut self, query: impl Into<String>) -> Self {
        self.query = Some(query.into());
        self
    }

    /// With another strategy.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }
}

/// What is done about want of room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strategy {
    /// Long items are cut; the least important entries and the oldest notes are left out.
    #[default]
    Trim,
    /// Before that, entries with the same value share a line, notes that say the same are shown once, and old notes are cut
    /// to their beginning. Needs the tier `teams`.
    Compact,
    /// After that, a model says in a few words what is still left out: the oldest notes, the least important entries. Needs
    /// the tier `teams` and [`ContextWindow::summarizer`]. Where there is no summary to be had, it is `Compact`, and the
    /// composition says why.
    Summarize,
}

/// A section of the window, in the window's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SectionName {
    /// What the last session left: the entry `session-handoff`.
    Handoff,
    /// What the board is to accomplish.
    Goal,
    /// Boundaries and requirements of the board.
    Constraints,
    /// What was learned, as the notebooks keep it.
    KeyLearnings,
    /// What is needed word for word, as the notebooks keep it.
    VerbatimContext,
    /// The entries, by importance, then by key.
    Entries,
    /// The notes, in the order they were added.
    Notes,
    /// What a model says about entries and notes that are not shown.
    Summary,
    /// What memory cores know: what the board drew, what fits the task, and the agent's own long-term memory.
    Cores,
    /// Where the task stands, as the notebooks keep it.
    Progress,
    /// The decisions that hold and concern the task, in their order.
    Decisions,
    /// The discoveries that concern the task, in their order.
    Discoveries,
    /// What came of the tasks that it depends on.
    Results,
    /// What was made for it and for those.
    Artifacts,
    /// The task itself, and how far it is.
    Task,
    /// What people said to whoever reads, the urgent first.
    Nudges,
    /// The active task's jotting: the entry `scratchpad`.
    Scratchpad,
    /// The conversation's scratchpad.
    Conversation,
    /// What the query found.
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

/// A window, and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Composition {
    /// The text for the prompt; empty if nothing is remembered.
    pub text: String,
    /// Its tokens, by OpenAI's `o200k_base`. For other vendors' models it is an estimate.
    pub tokens: u64,
    /// What it was allowed.
    pub budget: u64,
    /// The revision of the memory that it shows; of the board, if it shows a board alone.
    pub rev: u64,
    /// The revision of the board that it shows.
    pub board_rev: Option<u64>,
    /// What each section shows and leaves out, in the text's order. Empty ones are missing here as they are there.
    pub sections: Vec<SectionReport>,
    /// What came of [`Strategy::Summarize`], if something had to be summarized.
    pub summary: Option<SummaryReport>,
}

/// What a section shows and leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SectionReport {
    /// Which one.
    pub name: SectionName,
    /// The tokens it uses, its tags included.
    pub tokens: u64,
    /// The tokens it might have used.
    pub allowed: u64,
    /// How many items it shows.
    pub items: u64,
    /// What is not shown, or not all of it.
    pub left_out: Vec<LeftOut>,
}

/// Things that a section leaves out for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeftOut {
    /// The reason.
    pub why: OmissionReason,
    /// How many.
    pub count: u64,
    /// The first few of them: keys of entries, numbers of notes.
    pub first: Vec<String>,
}

/// Why something is not shown, or not all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OmissionReason {
    /// It is too long: a part of it is shown.
    Cut,
    /// Its section is full.
    NoRoom,
    /// It is shown in another section.
    AlreadyShown,
    /// Another one says the same.
    Merged,
    /// It could not be read: its log is damaged, or newer than this program.
    Unreadable,
}

/// What a board tells whoever works on a task, within a budget of tokens.
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

/// Whether a composed text shows a nudge, and all of it.
pub(crate) fn shows(text: &str, nudge: &Nudge) -> bool {
    let line = board::BoardLine::Nudge(0, nudge).render(u64::MAX);
    // Other things' lines are indented further: none of them can pose as it.
    line.is_some_and(|line| text.contains(&["\n", line.text.as_str()].concat()))
}

/// Remembered text on one line, as it may be shown to a model anywhere.
pub(crate) fn escaped_line(text: &str) -> String {
    let mut line = String::new();
    escape::push_line(&mut line, text);
    line
}

impl AgentMemory {
    /// The context window: what to tell a model of this memory. Available in every tier.
    pub fn context_window(&self) -> ContextWindow {
        ContextWindow { memory: self.clone(), summarizer: None }
    }
}

/// Whether somebody reads what is composed, or looks at what it would be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
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
    /// With a model for [`Strategy::Summarize`].
    pub fn summarizer(mut self, summarizer: &Summarizer) -> Self {
        self.summarizer = Some(summarizer.clone());
        self
    }

    /// A window on the memory as it is now. It never has more tokens than its budget.
    ///
    /// What it shows of a board is read by whoever acts here: a claim on the task is renewed, and that nudges were read is
    /// written down, of those that are in the text from beginning to end.
    pub async fn compose(&self, request: ContextRequest) -> Result<Composition> {
        let (composition, reading) = self.look(request, Look::Read).await?;
        if let Some(BoardReading { board, told, .. }) = reading {
            board.shown(&told, &composition.text).await?;
        }
        Ok(composition)
    }

    /// The same window for whoever wants to know what would be in it: nobody has read it then, and nothing is written.
    pub async fn preview(&self, request: ContextRequest) -> Result<Composition> {
        Ok(self.look(request, Look::Preview).await?.0)
    }

    async fn look(&self, request: ContextRequest, look: Look) -> Result<(Composition, Option<BoardReading>)> {
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
        knowledge.extend(sources::long_term(&self.memory).await?);
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

    async fn read_board(&self, request: &ContextRequest, look: Look) -> Result<Option<BoardReading>> {
        let board = request.board.as_deref().map(|id| self.memory.board(id)).transpose()?;
        let (board, view) = match (board, request.task) {
            (Some(board), Some(task)) if look == Look::Read => (board.clone(), board.view_for(task).await?),
            (Some(board), _) => (board.clone(), board.view().await?),
            // A task is a task of a board.
            (None, Some(_)) => return Err(Refusal::Blank { what: "board".into() }.into()),
            (None, None) => return Ok(None),
        };
        let told = board.told(&view);
        Ok(Some(BoardReading { board, view, told }))
    }
}

/// A board as a window shows it, and the nudges that the reader is told.
struct BoardReading {
    board: Board,
    view: BoardView,
    told: Vec<Arc<Nudge>>,
}

fn check_budget(budget: u64) -> Result<()> {
    match budget < LEAST_BUDGET {
        true => Err(Error::ContextBudget { budget, least: LEAST_BUDGET }),
        false => Ok(()),
    }
}
