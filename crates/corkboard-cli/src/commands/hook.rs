//! `cork hook`: what clients run when a session begins or ends. It never fails: a client could stop its session.

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use clap::Args;
use corkboard::store::StoreError;
use corkboard::{ContextRequest, Conversations, Error};
use serde_json::{Value, json};

use crate::args::Global;
use crate::command_session::{IfMissing, Session};
use crate::error::{CliError, report, say};
use crate::output::Output;
use crate::project::Project;
use crate::value_parsers::seconds;

/// Show a project's memory when an assistant's session begins
///
/// Clients run this command at the beginning and end of a session, with a JSON object on stdin. At the beginning it prints
/// the project's memory in the client's form; after a compaction also the conversation's scratchpad. At the end it copies
/// the scratchpad to the entry sessions/ID, which expires after 30 days. `cork setup` adds it to the clients' settings.
/// It always exits with 0. Problems are printed to stderr.
#[derive(Args)]
#[command(after_help = "\
Examples:
  echo '{\"hook_event_name\":\"SessionStart\",\"session_id\":\"s-1\"}' | cork hook
  echo '{\"hook_event_name\":\"SessionEnd\",\"session_id\":\"s-1\"}' | cork hook")]
pub(crate) struct Hook {
    /// Seconds after which to give up and print nothing [default: 2, at the end of a session 0.9]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout_s: Option<f64>,
}

/// Tokens of the context, as estimated: at most 7,200 bytes. Claude Code shows 10,000 characters, Codex 2,500 tokens.
const BUDGET: u64 = 2_400;
/// Bytes of input that are read. The beginning of a session needs less.
const MOST_INPUT: u64 = 1 << 20;
const START_LIMIT: Duration = Duration::from_secs(2);
/// Codex and Claude Code give a hook at the end of a session one second or a little more.
const END_LIMIT: Duration = Duration::from_millis(900);

/// What a client says about an event.
#[derive(Debug, PartialEq, Eq)]
struct Event {
    kind: Kind,
    session: Option<String>,
    /// The folder of the session.
    folder: Option<PathBuf>,
    dialect: Dialect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Start,
    /// The client has summarized the conversation.
    Compacted,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// Claude Code, and the clients that have copied its form: Codex, Gemini CLI and VS Code.
    Claude,
    Cursor,
}

impl Hook {
    pub(crate) fn run(self, global: Global) {
        corkboard::context::estimate_tokens();
        let started = Instant::now();
        let json = global.json;
        let given = self.timeout_s.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        let Some(event) = within(given.unwrap_or(END_LIMIT), || event(&read_stdin())) else { return };
        let event = match event {
            Ok(Some(event)) => event,
            Ok(None) => return,
            Err(problem) => return say(&format!("cork hook: {problem}")),
        };
        let limit = if event.kind == Kind::End { END_LIMIT } else { START_LIMIT };
        let left = given.unwrap_or(limit).saturating_sub(started.elapsed());
        let Some(answer) = within(left, move || answer(global, &event)) else { return };
        // A reader that has gone needs no answer.
        match answer {
            Ok(Some(text)) => drop(Output::new(json).line(&text)),
            Ok(None) => {}
            Err(error) => drop(report(json, Err(error))),
        }
    }
}

/// The result of a closure, unless it takes too long or panics.
fn within<T: Send + 'static>(limit: Duration, run: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(run()));
    let result = receiver.recv_timeout(limit);
    match result {
        Ok(_) => {}
        Err(RecvTimeoutError::Timeout) => say("cork hook: gave up, because it took too long"),
        Err(RecvTimeoutError::Disconnected) => say("cork hook: gave up after a bug"),
    }
    result.ok()
}

fn read_stdin() -> Vec<u8> {
    let (stdin, mut bytes) = (std::io::stdin(), Vec::new());
    if !stdin.is_terminal() {
        // What cannot be read is missing from the JSON, which is reported.
        let _ = stdin.lock().take(MOST_INPUT).read_to_end(&mut bytes);
    }
    bytes
}

/// The event in a client's input; `None` if there is nothing to do.
fn event(input: &[u8]) -> Result<Option<Event>, String> {
    let input = input.strip_prefix("\u{feff}".as_bytes()).unwrap_or(input);
    let input: Value = serde_json::from_slice(input)
        .map_err(|error| format!("expected a client's event as JSON on stdin: {error}"))?;
    let text = |names: &[&str]| names.iter().find_map(|name| input.get(name)?.as_str()).filter(|text| !text.is_empty());
    let name = text(&["hook_event_name", "hookEventName"]).ok_or("the event has no hook_event_name")?;
    let kind = match name.to_ascii_lowercase().as_str() {
        "sessionstart" if text(&["source"]) == Some("compact") => Kind::Compacted,
        "sessionstart" => Kind::Start,
        // VS Code has no event for the end of a session, only for the end of a turn.
        "sessionend" | "stop" => Kind::End,
        _ => return Ok(None),
    };
    let root = input.get("workspace_roots").and_then(|roots| roots.get(0)).and_then(Value::as_str);
    let folder = root.or(text(&["cwd"])).map(PathBuf::from).filter(|path| path.is_absolute());
    let is_cursor = name.starts_with('s') || input.get("cursor_version").is_some();
    let dialect = if is_cursor { Dialect::Cursor } else { Dialect::Claude };
    let session = text(&["session_id", "sessionId", "conversation_id"]).map(str::to_owned);
    Ok(Some(Event { kind, session, folder, dialect }))
}

fn answer(mut global: Global, event: &Event) -> Result<Option<String>, CliError> {
    global.configure(Vec::new())?;
    if global.config.is_default("agent")
        && let Some(project) = Project::of_session(event.folder.as_deref())
    {
        global.agent = project.agent();
    }
    let options = &mut global.config.settings.options;
    options.conversations = Conversations::Shared;
    options.busy_timeout = options.busy_timeout.min(END_LIMIT);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CliError::Output)?;
    runtime.block_on(async {
        let session = match Session::open(&global, IfMissing::Fail).await {
            // The first write creates the store.
            Err(CliError::Library(Error::Store(StoreError::Missing { .. }))) => return Ok(None),
            opened => opened?,
        };
        let result = remember(&session, event).await;
        match result {
            Ok(answer) => session.close(Ok(())).await.map(|()| answer),
            Err(error) => session.close(Err(error)).await.map(|()| None),
        }
    })
}

async fn remember(session: &Session, event: &Event) -> Result<Option<String>, CliError> {
    let agent = session.agent.acting_as(session.reader.clone());
    if event.kind == Kind::End {
        if let Some(conversation) = &event.session {
            agent.keep_session(conversation).await?;
        }
        return Ok(None);
    }
    let mut request = ContextRequest::new().budget(BUDGET);
    request.conversation = event.session.clone().filter(|_| event.kind == Kind::Compacted);
    request.board.clone_from(&session.board_id);
    let window = agent.context_window().compose(request).await?;
    if window.text.is_empty() {
        return Ok(None);
    }
    let text = format!(
        "This project's memory, kept by Corkboard under the name {}:\n{}",
        session.agent.agent_id().as_str(),
        window.text
    );
    let answer = match event.dialect {
        Dialect::Cursor => json!({ "additional_context": text }),
        Dialect::Claude => {
            json!({ "hookSpecificOutput": { "hookEventName": "SessionStart", "additionalContext": text } })
        }
    };
    Ok(Some(answer.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(input: &Value) -> (Kind, Option<String>, Option<PathBuf>, Dialect) {
        let Event { kind, session, folder, dialect } = event(input.to_string().as_bytes()).unwrap().unwrap();
        (kind, session, folder, dialect)
    }

    #[test]
    fn every_dialect_is_understood() {
        let (id, folder) = (Some("s-1".to_owned()), Some(PathBuf::from("/home/lin/app")));
        for (input, kind, dialect) in [
            (
                json!({"session_id": "s-1", "transcript_path": "/t", "cwd": "/home/lin/app",
                    "hook_event_name": "SessionStart", "source": "startup", "model": "m"}),
                Kind::Start,
                Dialect::Claude,
            ),
            (
                json!({"session_id": "s-1", "cwd": "/home/lin/app", "hook_event_name": "SessionStart", "source": "compact"}),
                Kind::Compacted,
                Dialect::Claude,
            ),
            (
                json!({"session_id": "s-1", "cwd": "/home/lin/app", "hook_event_name": "SessionEnd", "reason": "exit",
                    "timestamp": "2026-01-01T00:00:00Z"}),
                Kind::End,
                Dialect::Claude,
            ),
            (
                json!({"sessionId": "s-1", "cwd": "/home/lin/app", "hookEventName": "Stop", "stop_hook_active": false}),
                Kind::End,
                Dialect::Claude,
            ),
            (
                json!({"conversation_id": "s-1", "workspace_roots": ["/home/lin/app"], "hook_event_name": "sessionStart",
                    "cwd": "/home/me/.cursor"}),
                Kind::Start,
                Dialect::Cursor,
            ),
            (
                json!({"session_id": "s-1", "conversation_id": "c", "workspace_roots": ["/home/lin/app", "/other"],
                    "hook_event_name": "SessionStart", "cursor_version": "2.4"}),
                Kind::Start,
                Dialect::Cursor,
            ),
        ] {
            assert_eq!(parsed(&input), (kind, id.clone(), folder.clone(), dialect), "{input}");
        }
    }

    #[test]
    fn other_events_and_wrong_types_do_nothing() {
        for name in ["PreCompact", "UserPromptSubmit", "preCompact", "beforeSubmitPrompt", "PreCompress", ""] {
            let input = json!({"hook_event_name": name}).to_string();
            assert!(!matches!(event(input.as_bytes()), Ok(Some(_))), "{name}");
        }
        for input in ["", "garbage", "[]", "null", "3", "{\"hook_event_name\": 3}", "{\"hook_event_name\":"] {
            assert!(event(input.as_bytes()).is_err(), "{input}");
        }
        let odd = json!({"hook_event_name": "SessionStart", "session_id": 3, "cwd": ["x"], "workspace_roots": "x"});
        assert_eq!(parsed(&odd), (Kind::Start, None, None, Dialect::Claude));
        let relative = json!({"hook_event_name": "SessionStart", "cwd": "app"});
        assert_eq!(parsed(&relative).2, None);
    }
}
