//! The prompt that asks a model to update a notebook, within a token budget: the language with an example, the rules,
//! the notebook's content and the task.
//!
//! Constant text comes first, and text that changes most comes last. Remembered text is data. It is between tags,
//! indented and escaped, so that it can neither close its section nor pose as an instruction.

mod judge;
mod notebook_rules;
mod notebook_update;
mod report;

use corkboard_core::notebook::Notebook;
use serde::Serialize;

pub use self::notebook_update::{Reprompt, UpdateMode, UpdateRequest};
pub use self::report::{Attempt, AttemptProblem, UpdateOutcome, UpdateReport};
use crate::context::{MOST_BUDGET, tokens};
use crate::{Limits, Result};

/// The prompt that asks a model to update a notebook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct NotebookPrompt {
    /// The instructions, which are the same for every notebook.
    pub instructions: String,
    /// The notebook's content, the task and the transcript.
    pub data: String,
    /// Tokens of both, by OpenAI's `o200k_base`. For other vendors' models it is an estimate.
    pub tokens: u64,
    /// Maximum tokens of both.
    pub budget: u64,
    /// The version of the notebook that is shown; 0 if it was never written.
    pub version: u64,
    /// Content that was cut or omitted to fit the budget: IDs of items, `progress`, `task`, `transcript`. The text says
    /// so too.
    pub left_out: Vec<String>,
}

impl NotebookPrompt {
    /// The minimum budget. A smaller one would have room for little more than the instructions.
    pub const LEAST_BUDGET: u64 = 1_500;

    /// The whole prompt as one text.
    pub fn text(&self) -> String {
        [self.instructions.as_str(), "\n", &self.data].concat()
    }
}

/// Content of the prompt besides the notebook itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptSources<'a> {
    /// Description of the current task.
    pub task: Option<&'a str>,
    /// What happened since the last update, such as the agent's conversation. If it is too long, its end is kept.
    pub transcript: Option<&'a str>,
}

impl<'a> From<Option<&'a str>> for PromptSources<'a> {
    /// Only a task.
    fn from(task: Option<&'a str>) -> Self {
        Self { task, transcript: None }
    }
}

/// Composes the prompt that asks for an update of a notebook, in at most `budget` tokens. The same input gives the same
/// bytes.
///
/// ```
/// use corkboard::prompt::{NotebookPrompt, notebook_prompt};
/// use corkboard_core::notebook::Notebook;
///
/// let prompt: NotebookPrompt = notebook_prompt(&Notebook::default(), Some("Write the parser"), 4_000)?;
/// assert!(prompt.text().contains("<task>\n  Write the parser\n</task>\n"));
/// assert!(prompt.tokens <= 4_000);
/// # Ok::<(), corkboard::Error>(())
/// ```
pub fn notebook_prompt<'a>(
    notebook: &Notebook,
    sources: impl Into<PromptSources<'a>>,
    budget: u64,
) -> Result<NotebookPrompt> {
    Limits::check_range("budget", budget, NotebookPrompt::LEAST_BUDGET..=MOST_BUDGET)?;
    let instructions = notebook_rules::instructions();
    // The line end between the two is one more token.
    let room = budget.saturating_sub(tokens::count(&instructions) + 1);
    let (data, left_out) = notebook_rules::data(notebook, sources.into(), room);
    let mut prompt = NotebookPrompt { instructions, data, tokens: 0, budget, version: notebook.version, left_out };
    prompt.tokens = tokens::count(&prompt.text());
    Ok(prompt)
}
