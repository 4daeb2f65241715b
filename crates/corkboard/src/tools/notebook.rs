//! Tools with which an agent reads its notebook and updates it with a text in the notebook's language.

use corkboard_core::notebook::{Notebook, NotebookProblem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::{TypedTool, tool};
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::{AgentNotebook, Corkboard, Error};

/// Maximum number of problems in one error.
const PROBLEMS: usize = 12;

tool!(
    /// `read_notebook`: reads a notebook with its IDs.
    ReadNotebookTool
);
tool!(
    /// `update_notebook`: applies a text in the notebook's language completely, or not at all.
    UpdateNotebookTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadNotebookInput {
    /// Default: main.
    name: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateNotebookInput {
    /// A block like the example. Omit unchanged sections.
    updates: String,
    /// Default: main.
    name: Option<String>,
    /// Skip unknown IDs instead of applying nothing.
    ignore_unknown: Option<bool>,
}

fn open(corkboard: &Corkboard, context: &ToolContext, name: Option<&str>) -> Result<AgentNotebook, ToolError> {
    Ok(context.memory(corkboard)?.notebook(name.unwrap_or(Notebook::MAIN))?)
}

impl TypedTool for ReadNotebookTool {
    type Input = ReadNotebookInput;
    const NAME: &'static str = "read_notebook";
    const DESCRIPTION: &'static str = "Read your notebook: the task's progress, key learnings (KL-n) and \
        verbatim snippets (VC-n).";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({})
    }

    async fn run(&self, input: ReadNotebookInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let notebook = open(&self.corkboard, context, input.name.as_deref())?.get().await?;
        let data = json!({
            "version": notebook.version,
            "progress": notebook.progress,
            "learnings": notebook.learnings,
            "snippets": notebook.snippets,
        });
        Ok(ToolOutput::new(listing(&notebook), data))
    }
}

fn listing(notebook: &Notebook) -> String {
    let is_empty = notebook.progress.is_empty() && notebook.learnings.is_empty() && notebook.snippets.is_empty();
    if is_empty {
        return "The notebook is empty.".into();
    }
    let mut text = String::new();
    for (name, bullets) in notebook.progress.lists().into_iter().filter(|(_, bullets)| !bullets.is_empty()) {
        text.push_str(&format!("{name}:\n"));
        bullets.iter().for_each(|bullet| text.push_str(&format!("  - {bullet}\n")));
    }
    for learning in &notebook.learnings {
        text.push_str(&format!("{}: {} (because {})\n", learning.id, learning.text, learning.reason));
    }
    for snippet in &notebook.snippets {
        let indented = snippet.text.replace('\n', "\n  ");
        text.push_str(&format!("{} {} (because {}) =>\n  {indented}\n", snippet.id, snippet.label, snippet.reason));
    }
    text.trim_end().into()
}

/// Lists every problem, so that the model can correct all of them at once.
fn nothing_applied(problems: &[NotebookProblem]) -> String {
    let all: Vec<String> = problems.iter().take(PROBLEMS).map(ToString::to_string).collect();
    format!("nothing was applied: {}", all.join("; "))
}

impl TypedTool for UpdateNotebookTool {
    type Input = UpdateNotebookInput;
    const NAME: &'static str = "update_notebook";
    const DESCRIPTION: &'static str = "Update your notebook. If anything is invalid, nothing is applied. \
        CURRENT_PROGRESS replaces the old progress (In Progress is required; Completed and Remaining are optional). \
        ADD at most 3 one-line learnings. Add a snippet only if next steps need it: its lines go below the label, \
        indented deeper. To archive, write under ARCHIVE: - KL-2 because <reason>.";
    const EFFECT: ToolEffect = ToolEffect::Changes;

    fn example() -> Value {
        json!({"updates": "CURRENT_PROGRESS:\n  In Progress:\n    - Fix the parser\nKEY_LEARNINGS:\n  ADD:\n    \
            - because it cost an hour: Tabs count as two spaces\n\
            VERBATIM_CONTEXT:\n  ADD:\n    - because the fix needs it: src/parse.rs =>\n      fn parse() {}\n"})
    }

    async fn run(&self, input: UpdateNotebookInput, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let notebook = open(&self.corkboard, context, input.name.as_deref())?;
        let mut apply = notebook.apply(&input.updates);
        if input.ignore_unknown == Some(true) {
            apply = apply.ignore_unknown();
        }
        let applied = apply.await.map_err(|error| match error {
            Error::NotebookProblems { problems } => Self::invalid(nothing_applied(&problems)),
            other => other.into(),
        })?;
        let mut text = match applied.changed {
            true => format!("Updated.\n{}", applied.changes),
            false => "Nothing to change.".into(),
        };
        text.truncate(text.trim_end().len());
        applied.warnings.iter().for_each(|warning| text.push_str(&format!("\n{warning}")));
        Ok(ToolOutput::new(text, json!(applied)))
    }
}
