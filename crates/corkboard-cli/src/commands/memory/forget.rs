//! `cork memory forget`.

use clap::Args;
use corkboard::NoteId;
use serde::Serialize;

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::count;

/// Erase an entry, a note or a whole agent, including history
///
/// `remove` keeps the history; `forget` rewrites the log, the snapshot and the store's files. It erases all values that the
/// key ever had, in every scope of the agent, or a note and all notes with the same text. It cannot reach copies: exports,
/// backups, and a database's own log and replicas. It reads the whole log and can slow down the store for a while.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory forget api-key --hard
  cork memory forget --note 3 --hard --yes
  cork memory forget --everything --hard    # the agent's whole memory")]
pub(crate) struct Forget {
    /// Key of the entry to forget
    #[arg(required_unless_present_any = ["note", "everything"])]
    key: Option<String>,

    /// Number of a note
    #[arg(long, conflicts_with = "key")]
    note: Option<u64>,

    /// The agent's whole memory
    #[arg(long, conflicts_with_all = ["key", "note"])]
    everything: bool,

    /// Required: history is erased too. The command still asks before it erases, unless --yes
    #[arg(long)]
    hard: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Forget {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let agent = &session.agent;
        let id = agent.agent_id();
        if !self.hard {
            let message = "forgetting also erases history; add --hard to confirm";
            return Err(CliError::invalid("needs_hard", message)
                .hint("to keep history, use `cork memory remove` or `cork memory note remove`"));
        }
        let consent = Consent::from_flag(self.yes);
        let forgotten = match (&self.key, self.note) {
            (Some(key), _) => {
                confirm(consent, &format!("erase all values that {key} ever had in agent {id}"))?;
                agent.forget(key).await?
            }
            (None, Some(note)) => {
                confirm(consent, &format!("erase note {note} of agent {id} and all notes with the same text"))?;
                agent.forget_note(NoteId(note)).await?
            }
            (None, None) => {
                confirm(consent, &format!("erase the whole memory of agent {id}"))?;
                return forget_everything(session).await;
            }
        };
        if forgotten.removed == 0 && forgotten.revisions == 0 {
            let what = self.key.map_or_else(|| "note with this number".into(), |key| format!("entry {key:?}"));
            return Err(CliError::not_found(format!("agent {id} has no {what}, now or in its log")));
        }
        session.output.answer(&forgotten, || {
            let items = count(forgotten.removed, "item", "items");
            let revisions = count(forgotten.revisions, "log revision", "log revisions");
            format!("erased {items}; rewrote {revisions}")
        })
    }
}

async fn forget_everything(session: &Session) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Answer {
        forgotten: bool,
    }
    let id = session.agent.agent_id();
    if !session.corkboard.delete_agent(id.as_str()).hard().await? {
        return Err(CliError::not_found(format!("agent {id} has no memory")));
    }
    session.output.answer(&Answer { forgotten: true }, || format!("agent {id} is forgotten"))
}
