//! `cork tools call`: one call, or many in one process.

use clap::Args;
use corkboard::tools::{ToolContext, ToolError, ToolOutput, ToolRegistry, ToolSet};
use corkboard::{ErrorKind, Strict};
use serde::{Deserialize, Serialize};
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

With --stdin, each line is a call, and each is answered by a line:
  {\"name\": \"memory_write\", \"input\": {\"action\": \"note\", \"value\": \"likes tea\"}}
  {\"name\": \"memory_write\", \"ok\": true, \"text\": \"Added note 1.\", \"data\": {\"note\": 1}}
A line may have an \"id\", which its answer repeats, and a \"context\" with another agent, conversation, board or task.")]
pub(crate) struct Call {
    /// Which tool
    #[arg(value_name = "TOOL", required_unless_present = "stdin")]
    name: Option<String>,

    /// Its input, a JSON object; - reads it from stdin
    #[arg(value_name = "JSON", default_value = "{}")]
    input: String,

    /// Read calls from stdin, one JSON object per line
    #[arg(long, conflicts_with_all = ["name", "input"])]
    stdin: bool,

    /// In which conversation
    #[arg(long, value_name = "ID", env = "CORK_CONVERSATION", hide_env_values = true)]
    conversation: Option<String>,

    /// For which task of the board that --board or CORK_BOARD names
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default)]
    id: Option<Value>,
    name: String,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    context: LineContext,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct LineContext {
    agent: Option<String>,
    conversation: Option<String>,
    board: Option<String>,
    task: Option<String>,
}

#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    ok: bool,
    #[serde(flatten)]
    output: Option<&'a ToolOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ToolCallProblem<'a>>,
}

#[derive(Serialize)]
struct ToolCallProblem<'a> {
    code: &'a str,
    kind: &'a str,
    message: &'a str,
}

impl Call {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let tools = ToolRegistry::with_sets(&session.corkboard, &ToolSet::ALL);
        let agent = session.agent.agent_id().to_string();
        let actor = Some(session.tool_actor.clone());
        let (conversation, board) = (self.conversation, session.board_id.clone());
        let folder = Some(".".into());
        let context = ToolContext { agent, conversation, board, actor, folder, task: self.task };
        let Some(name) = self.name else { return answer_lines(session, &tools, &context).await };
        let input = text_or_stdin(self.input)?;
        let input = serde_json::from_str(without_mark(&input))
            .map_err(|error| CliError::invalid("input", format!("the input is not JSON: {error}")))?;
        let output = tools.call(&name, input, &context).await.map_err(failure)?;
        session.output.answer(&output, || output.text.clone())
    }
}

/// Answers every line, whatever became of the ones before.
async fn answer_lines(session: &Session, tools: &ToolRegistry, context: &ToolContext) -> Result<(), CliError> {
    let mut stdin = BufReader::new(tokio::io::stdin());
    let (mut calls, mut failed) = (0_u64, Vec::new());
    for number in 1_u64.. {
        let mut line = Vec::new();
        let read = (&mut stdin).take(LINE_BYTES).read_until(b'\n', &mut line).await;
        if read.map_err(|error| CliError::invalid("stdin", format!("stdin cannot be read: {error}")))? == 0 {
            break;
        }
        if line.len() as u64 == LINE_BYTES {
            return Err(CliError::invalid("line_too_long", format!("a line has more than {LINE_BYTES} bytes")));
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
            let message = format!("{} of {calls} calls failed; their answers say why", failed.len());
            Err(CliError::Own { code: "calls_failed", kind: *kind, message, hint: None })
        }
    }
}

/// A line, and which one of stdin it is, counted from 1.
struct Numbered<'a> {
    number: u64,
    line: &'a [u8],
}

/// Returns what kind of failure it was, if it was one.
async fn answer_line(
    session: &Session,
    tools: &ToolRegistry,
    context: &ToolContext,
    Numbered { number, line }: Numbered<'_>,
) -> Result<Option<ErrorKind>, CliError> {
    let parsed = serde_json::from_slice::<Strict<Line>>(line);
    let (id, name, result) = match parsed {
        Ok(Strict(Line { id, name, input, context: own })) => {
            let context = own.over(context);
            let result = tools.call(&name, input, &context).await;
            (id, Some(name), result.map_err(|error| (error.code(), error.kind(), text_of(&error))))
        }
        Err(error) => {
            // What was read is one line: which one of the input, the error cannot know.
            let (column, said) = (error.column(), error.to_string());
            let said = said.rsplit_once(" at line ").map_or(&*said, |(said, _)| said);
            let message = format!("line {number}, column {column}: not a call: {said}");
            (None, None, Err(("invalid_line", ErrorKind::Invalid, message)))
        }
    };
    let problem = result.as_ref().err();
    let error = problem.map(|(code, kind, message)| ToolCallProblem { code, kind: kind.as_str(), message });
    let answer = Answer { id, name: name.as_deref(), ok: error.is_none(), output: result.as_ref().ok(), error };
    session.output.document(&answer)?;
    Ok(result.err().map(|(_, kind, _)| kind))
}

fn text_of(error: &ToolError) -> String {
    error.to_string()
}

impl LineContext {
    /// What the line says, and else what the command line says.
    fn over(self, context: &ToolContext) -> ToolContext {
        let agent = self.agent.unwrap_or_else(|| context.agent.clone());
        let mut actor = context.actor.clone();
        if agent != context.agent
            && let Some(actor) = &mut actor
            && actor.principal == context.agent
        {
            actor.principal.clone_from(&agent);
        }
        ToolContext {
            agent,
            conversation: self.conversation.or_else(|| context.conversation.clone()),
            board: self.board.or_else(|| context.board.clone()),
            task: self.task.or_else(|| context.task.clone()),
            folder: context.folder.clone(),
            actor,
        }
    }
}
