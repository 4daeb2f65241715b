//! `cork tools`: the tools that models call.

mod call;
mod list;

use clap::Subcommand;
use corkboard::tools::{ToolError, ToolSet};

use crate::command_session::Session;
use crate::error::CliError;

/// List and call the tools that models use
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork tools list
  cork tools list --format anthropic
  cork tools call search_memory '{\"query\": \"deadline\"}'
  cork tools call --stdin < calls.jsonl")]
pub(crate) enum Tools {
    List(list::List),
    Call(call::Call),
}

impl Tools {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(session),
            Self::Call(call) => call.run(session).await,
        }
    }
}

fn set_argument(argument: &str) -> Result<ToolSet, String> {
    argument.parse()
}

fn failure(error: ToolError) -> CliError {
    match error {
        ToolError::Memory(error) => error.into(),
        ToolError::MissingContext { what: "conversation", .. } => CliError::invalid(error.code(), error.to_string())
            .hint("name the conversation with --conversation ID or CORK_CONVERSATION"),
        ToolError::MissingContext { what: "board", .. } => {
            CliError::invalid(error.code(), error.to_string()).hint("name the board with --board ID or CORK_BOARD")
        }
        error => {
            // Some tools start their messages with "Error: ", which cork adds itself.
            let said = error.to_string();
            let message = said.strip_prefix("Error: ").unwrap_or(&said).to_owned();
            CliError::Own { code: error.code(), kind: error.kind(), message, hint: None }
        }
    }
}
