//! `memory`: Anthropic's memory tool.

use serde_json::{Value, json};

use super::{MemoryCommand, MemoryFiles};
use crate::tools::definition::{TypedTool, tool};
use crate::tools::{ToolContext, ToolEffect, ToolError, ToolOutput};

tool!(
    /// `memory`: the commands of Anthropic's `memory_20250818` on the agent's entries.
    MemoryTool
);

impl TypedTool for MemoryTool {
    type Input = MemoryCommand;
    const NAME: &'static str = "memory";
    const DESCRIPTION: &'static str = "Your PERMANENT memory as text files below /memories: \
        view, create, str_replace, insert, delete, rename. View /memories before you start a task.";
    const EFFECT: ToolEffect = ToolEffect::Changes;
    const ANTHROPIC_TYPE: Option<&'static str> = Some("memory_20250818");

    fn example() -> Value {
        json!({"command": "view", "path": "/memories"})
    }

    async fn run(&self, input: MemoryCommand, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let answer = MemoryFiles::new(context.memory(&self.corkboard)?.working()).run(input).await?;
        if answer.is_error {
            return Err(ToolError::Failed { message: answer.text });
        }
        Ok(ToolOutput::new(answer.text, Value::Null))
    }
}
