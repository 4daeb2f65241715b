//! `cork handoff`: the note at the start of the next session's prompt.

use clap::{Args, Subcommand};
use corkboard::cores::Trust;
use serde::Serialize;

use crate::command_session::Session;
use crate::core_view::marked;
use crate::error::CliError;
use crate::text_input::text_or_stdin;
use crate::value_parsers::text_argument;

/// Show or write the note for the agent's next session
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  cork handoff
  cork handoff write \"Migration half done; next: run step 3\"
  cork handoff clear")]
pub(crate) struct Handoff {
    #[command(subcommand)]
    action: Option<Action>,
}

impl Handoff {
    /// Whether this command only reads.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.action, None | Some(Action::Show))
    }
}

#[derive(Subcommand)]
enum Action {
    /// Show the handoff
    #[command(after_help = "Example:\n  cork handoff show")]
    Show,
    /// Replace the handoff
    Write(Write),
    /// Remove the handoff
    #[command(after_help = "Example:\n  cork handoff clear")]
    Clear,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  cork handoff write \"Migration half done; next: run step 3\"
  git log -3 --oneline | cork handoff write -")]
struct Write {
    /// What the next session must know; - reads stdin
    #[arg(allow_hyphen_values = true, value_parser = text_argument)]
    text: String,

    /// The text comes from a web page, a tool or a stranger
    #[arg(long)]
    outside: bool,
}

#[derive(Serialize)]
struct Answer {
    handoff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
}

impl Handoff {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self.action {
            None | Some(Action::Show) => {
                let handoff = session.agent.handoff().await?;
                let entry = session.memory().get_entry(corkboard::SESSION_HANDOFF_KEY).await?;
                let trust = entry.and_then(|entry| entry.trust);
                let none = || format!("agent {} has no handoff", session.agent.agent_id());
                let text = handoff.as_ref().map(|text| marked(text, trust.unwrap_or_default())).unwrap_or_else(none);
                session.output.answer(&Answer { handoff, trust }, || text)
            }
            Some(Action::Write(write)) => {
                let text = text_or_stdin(write.text)?;
                if text.trim().is_empty() {
                    return Err(CliError::invalid("blank", "a handoff must not be empty")
                        .hint("remove the handoff with `cork handoff clear`"));
                }
                let handoff = session.agent.write_handoff(&text);
                let (handoff, trust) = match write.outside {
                    true => (handoff.from_outside(), Some(Trust::Outside)),
                    false => (handoff, None),
                };
                handoff.await?;
                session.output.answer(&Answer { handoff: Some(text), trust }, || "handoff written".into())
            }
            Some(Action::Clear) => {
                let existed = session.memory().remove(corkboard::SESSION_HANDOFF_KEY).await?;
                let text = if existed { "handoff removed" } else { "there was no handoff" };
                session.output.answer(&Answer { handoff: None, trust: None }, || text.into())
            }
        }
    }
}
