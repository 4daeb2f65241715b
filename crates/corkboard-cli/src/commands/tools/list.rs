use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use corkboard::tools::{ToolFormat, ToolRegistry, ToolSet};

use super::set_argument;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::json_object;

/// Show the tools, or their definitions for a model provider
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork tools list
  cork tools list --set memory
  cork tools list --format openai > tools.json            # Chat Completions
  cork tools list --format openai_responses > tools.json  # Responses")]
pub(crate) struct List {
    /// Tool set: scratchpad, memory, notebook, worker, orchestrator, anthropic or reference; repeatable [default: scratchpad and memory]
    #[arg(long = "set", value_name = "SET", value_parser = set_argument)]
    sets: Vec<ToolSet>,

    /// Print definitions as JSON: openai, openai_responses, anthropic or mcp
    #[arg(long, value_name = "FORMAT", value_parser = format_argument(), hide_possible_values = true)]
    format: Option<ToolFormat>,
}

/// Parses the name of a format, with completion in shells.
fn format_argument() -> impl TypedValueParser<Value = ToolFormat> {
    PossibleValuesParser::new(ToolFormat::ALL.map(ToolFormat::as_str)).try_map(|name| name.parse::<ToolFormat>())
}

impl List {
    pub(crate) fn run(self, session: &Session) -> Result<(), CliError> {
        let sets = if self.sets.is_empty() { ToolSet::DEFAULT.to_vec() } else { self.sets };
        let registry = |sets: &[ToolSet]| ToolRegistry::with_sets(&session.corkboard, sets);
        if let Some(format) = self.format {
            return session.output.document(&registry(&sets).tool_definitions(format));
        }
        if session.output.is_json() {
            let definitions = registry(&sets).tool_definitions(ToolFormat::Mcp);
            return session.output.document(&json_object! { items: definitions, next: None::<u64> });
        }
        let described = sets.iter().flat_map(|set| {
            let tools = registry(&[*set]).definitions().into_iter();
            tools.map(move |tool| format!("{} ({set})\n  {}\n  {}\n", tool.name, tool.description, tool.example))
        });
        session.output.line(described.collect::<Vec<_>>().join("\n").trim_end())
    }
}
