//! `cork handoff`: the note that opens the next session's prompt.

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::exit::Failure;
use crate::input::{text_argument, text_or_stdin};
use crate::session::Session;

/// Show or write the note that opens the agent's next session
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

#[derive(Subcommand)]
enum Action {
    /// Show it
    Show,
    /// Replace it
    Write(Write),
    /// Remove it
    Clear,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  cork handoff write \"Migration half done; next: run step 3\"
  git log -3 --oneline | cork handoff write -")]
struct Write {
    /// What the next session must know; - reads it from stdin
    #[arg(allow_hyphen_values = true, value_parser = text_argument)]
    text: String,
}

#[derive(Serialize)]
struct Answer {
    handoff: Option<String>,
}

impl Handoff {
    pub(crate) async fn run(self, session: &Session) -> Result<(), Failure> {
        match self.action {
            None | Some(Action::Show) => {
                let handoff = session.agent.handoff().await?;
                let none = || format!("{} was left no handoff", session.agent.agent_id());
                let text = handoff.clone().unwrap_or_else(none);
                session.output.answer(&Answer { handoff }, || text)
            }
            Some(Action::Write(write)) => {
                let text = text_or_stdin(write.text)?;
                if text.trim().is_empty() {
                    return Err(Failure::invalid("blank", "a handoff must say something")
                        .hint("`cork handoff clear` removes it"));
                }
                session.agent.write_handoff(&text).await?;
                session.output.answer(&Answer { handoff: Some(text) }, || "handoff written".into())
            }
            Some(Action::Clear) => {
                let existed = session.memory().remove(corkboard::SESSION_HANDOFF_KEY).await?;
                let text = if existed { "handoff removed" } else { "there was no handoff" };
                session.output.answer(&Answer { handoff: None }, || text.into())
            }
        }
    }
}
