//! Seed 003's tools: an agent reads its notebook and brings it up to date by a text in the notebook's language.

use corkboard_core::notebook::{Notebook, NotebookProblem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::{TypedTool, tool};
use super::{ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::{AgentNotebook, Corkboard, Error};

/// More problems than this are not told at once.
const PROBLEMS: usize = 12;

tool!(
    /// `read_notebook`: what a notebook shows, with its ids.
    ReadNotebookTool
);
tool!(
    /// `update_notebook`: applies a text in the notebook's language, all of it or nothing.
    UpdateNotebookTool
);

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadNotebookInput {
    /// main if left out.
    name: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateNotebookInput {
    /// A block in the form of the example. Sections without changes may be left out.
    updates: String,
    /// main if left out.
    name: Option<String>,
    /// Leave out ids that are not there, instead of changing nothing.
    ignore_unknown: Option<bool>,
}

fn open(corkboard: &Corkboard, context: &ToolContext, name: Option<&str>) -> Result<AgentNotebook, ToolError> {
    Ok(context.memory(corkboard)?.notebook(name.unwrap_or(Notebook::MAIN))?)
}

impl TypedTool for ReadNotebookTool {
    type Input = ReadNotebookInput;
    const NAME: &'static str = "read_notebook";
    const DESCRIPTION: &'static str = "Read your notebook: the task's progress, key learnings (KL-n) and \
        snippets kept word for word (VC-n).";
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

/// Every problem, so that all can be put right at once.
fn nothing_applied(problems: &[NotebookProblem]) -> String {
    let all: Vec<String> = problems.iter().take(PROBLEMS).map(ToString::to_string).collect();
    format!("nothing was applied: {}", all.join("; "))
}

impl TypedTool for UpdateNotebookTool {
    type Input = UpdateNotebookInput;
    const NAME: &'static str = "update_notebook";
    const DESCRIPTION: &'static str = "Bring your notebook up to date, all of it or nothing. CURRENT_PROGRESS is rewritten \
        whole (In Progress is mandatory; Completed, Remaining optional). ADD at most 3 learnings of one line; add a snippet \
        only if next steps need it, its lines below the label, indented deeper. To archive, write under ARCHIVE: - KL-2 because <reason>.";
    const EFFECT: ToolEffect = ToolEffect::Writes;

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
