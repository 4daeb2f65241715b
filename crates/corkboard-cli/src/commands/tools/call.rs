//! `cork tools call`: one tool call, or many in one process.

use clap::Args;
use corkboard::tools::{ToolCall, ToolCallAnswer, ToolContext, ToolError, ToolRegistry, ToolSet};
use corkboard::{ErrorKind, Problem, Strict, json_error};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::failure;
use crate::command_session::Session;
use crate::error::CliError;
use crate::text_input::{BYTE_ORDER_MARK, text_or_stdin, without_mark};

const LINE_BYTES: u64 = 16 * 1024 * 1024;

/// Call a tool as a model would
///
/// A conversation's scratchpad lives in this process (with --stdin, many calls share it), in the server with --url, or in
/// the store with the setting `conversations = "shared"`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork tools call write_memory '{\"key\": \"plan\", \"content\": \"ship on Friday\"}'
  cork tools call search_memory '{\"query\": \"when do we ship?\"}' --json
  cork tools call --conversation c-1 --stdin < calls.jsonl
  cork tools call claim_task --board add-login-1a2b3c4d --agent ada

With --stdin, each input line is a call, and each output line is its answer:
  {\"name\": \"memory_write\", \"input\": {\"action\": \"note\", \"value\": \"likes tea\"}}
  {\"id\": null, \"name\": \"memory_write\", \"output\": {\"text\": …, \"data\": …}, \"problem\": null}
A call can have an \"id\", which its answer repeats, and a \"context\" with another agent,
conversation, board or task.
POST /v1/tools takes them as {\"calls\": […]} and returns {\"answers\": […]}.")]
pub(crate) struct Call {
    /// Tool name
    #[arg(value_name = "TOOL", required_unless_present = "stdin")]
    name: Option<String>,

    /// Input, a JSON object; - reads stdin
    #[arg(value_name = "JSON", default_value = "{}")]
    input: String,

    /// Read calls from stdin, one JSON object per line
    #[arg(long, conflicts_with_all = ["name", "input"])]
    stdin: bool,

    /// Conversation whose scratchpad the tools use
    #[arg(long, value_name = "ID", env = "CORK_CONVERSATION", hide_env_values = true)]
    conversation: Option<String>,

    /// Task of the board that --board or CORK_BOARD names
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

impl Call {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let tools = ToolRegistry::with_sets(&session.corkboard, &ToolSet::ALL);
        let agent = session.agent.agent_id().to_string();
        let actor = Some(session.tool_actor.clone());
        let (conversation, board) = (self.conversation, session.board_id.clone());
        let folder = Some(".".into());
        let context = ToolContext { agent, conversation, board, actor, folder, task: self.task, claims: None };
        let Some(name) = self.name else { return answer_lines(session, &tools, &context).await };
        let input = text_or_stdin(self.input)?;
        let input = serde_json::from_str(without_mark(&input))
            .map_err(|error| CliError::invalid("input", json_error::describe("the input", input.as_bytes(), &error)))?;
        let output = tools.call(&name, input, &context).await.map_err(failure)?;
        session.output.answer(&output, || output.text.clone())
    }
}

/// Answers every line, even after a failed call.
async fn answer_lines(session: &Session, tools: &ToolRegistry, context: &ToolContext) -> Result<(), CliError> {
    let mut stdin = BufReader::new(tokio::io::stdin());
    let (mut calls, mut failed) = (0_u64, Vec::new());
    for number in 1_u64.. {
        let mut line = Vec::new();
        let read = (&mut stdin).take(LINE_BYTES).read_until(b'\n', &mut line).await;
        if read.map_err(|error| CliError::invalid("stdin", format!("cannot read stdin: {error}")))? == 0 {
            break;
        }
        if line.len() as u64 == LINE_BYTES {
            return Err(CliError::invalid("line_too_long", format!("a line is longer than {LINE_BYTES} bytes")));
        }
        let line = match line.strip_prefix(BYTE_ORDER_MARK.as_bytes()) {
            Some(rest) if number == 1 => rest,
            _ => &line,
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        calls += 1;
        if let Some(kind) = answer_line(session, tools, context, Numbered { number, line }).await? {
            failed.push(kind);
        }
    }
    match failed.first() {
        None => Ok(()),
        Some(kind) => {
            let message = format!("{} of {calls} calls failed; see their answers", failed.len());
            Err(CliError::Own { code: "calls_failed", kind: *kind, message, hint: None })
        }
    }
}

/// A line of stdin with its number, counted from 1.
struct Numbered<'a> {
    number: u64,
    line: &'a [u8],
}

/// Returns the kind of failure if the call failed.
async fn answer_line(
    session: &Session,
    tools: &ToolRegistry,
    context: &ToolContext,
    Numbered { number, line }: Numbered<'_>,
) -> Result<Option<ErrorKind>, CliError> {
    let parsed = serde_json::from_slice::<Strict<ToolCall>>(line);
    let (answer, kind) = match parsed {
        Ok(Strict(ToolCall { id, name, input, context: own })) => {
            let called = tools.call(&name, input, &over(own, context)).await;
            let kind = called.as_ref().err().map(ToolError::kind);
            let problem = called.as_ref().err().map(Problem::from);
            (ToolCallAnswer { id, name: Some(name), output: called.ok(), problem }, kind)
        }
        Err(error) => {
            let message = json_error::describe_line(number, line, &error);
            let problem = Some(Problem::new("invalid_line", ErrorKind::Invalid, message));
            (ToolCallAnswer { id: Value::Null, name: None, output: None, problem }, Some(ErrorKind::Invalid))
        }
    };
    session.output.document(&answer)?;
    Ok(kind)
}

/// The line's context, completed from the command line.
fn over(line: ToolContext, context: &ToolContext) -> ToolContext {
    let mut merged = line.or(context);
    if let Some(actor) = &mut merged.actor
        && actor.principal == context.agent
    {
        actor.principal.clone_from(&merged.agent);
    }
    merged
}
