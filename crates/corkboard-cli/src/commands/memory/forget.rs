//! `cork memory forget`.

use clap::Args;
use corkboard::NoteId;
use serde::Serialize;

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::count;

/// Forget a value, a note or a whole agent for good
///
/// `remove` keeps history; this takes it out of the log, the snapshot and the store's files. All values that the key ever
/// had go, in every scope of the agent; a note goes with every other that says the same. What was copied elsewhere before
/// (exports, backups, a database's own log and replicas) is beyond its reach. It goes through the whole log and may hold
/// up the store for a while.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory forget api-key --hard
  cork memory forget --note 3 --hard --yes
  cork memory forget --everything --hard    # all that the agent ever remembered")]
pub(crate) struct Forget {
    /// Under which key
    #[arg(required_unless_present_any = ["note", "everything"])]
    key: Option<String>,

    /// The number of a note
    #[arg(long, conflicts_with = "key")]
    note: Option<u64>,

    /// The agent, with all that it ever remembered
    #[arg(long, conflicts_with_all = ["key", "note"])]
    everything: bool,

    /// Say that history shall go too
    #[arg(long)]
    hard: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Forget {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let agent = &session.agent;
        let id = agent.agent_id();
        if !self.hard {
            let message = "forgetting takes it out of the history as well: say --hard if you mean that";
            return Err(CliError::invalid("needs_hard", message)
                .hint("`cork memory remove` and `cork memory note remove` keep the history"));
        }
        let consent = Consent::from_flag(self.yes);
        let forgotten = match (&self.key, self.note) {
            (Some(key), _) => {
                confirm(consent, &format!("forget all values that {key} ever had in agent {id}"))?;
                agent.forget(key).await?
            }
            (None, Some(note)) => {
                confirm(consent, &format!("forget note {note} of agent {id} and all that say the same"))?;
                agent.forget_note(NoteId(note)).await?
            }
            (None, None) => {
                confirm(consent, &format!("forget all that agent {id} ever remembered"))?;
                return forget_everything(session).await;
            }
        };
        if forgotten.removed == 0 && forgotten.revisions == 0 {
            let what = self.key.map_or_else(|| "such note".into(), |key| format!("entry {key:?}"));
            return Err(CliError::not_found(format!("agent {id} has no {what}, and never had")));
        }
        session.output.answer(&forgotten, || {
            let revisions = count(forgotten.revisions, "revision", "revisions");
            format!("forgotten: {} removed, {revisions} of the log rewritten", forgotten.removed)
        })
    }
}

async fn forget_everything(session: &Session) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Answer {
        forgotten: bool,
    }
    let id = session.agent.agent_id();
    if !session.corkboard.forget_agent(id.as_str()).await? {
        return Err(CliError::not_found(format!("agent {id} has no memory")));
    }
    session.output.answer(&Answer { forgotten: true }, || format!("agent {id} is forgotten"))
}
