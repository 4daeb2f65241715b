use clap::Args;
use corkboard::notebook::NotebookItemId;

use super::Name;
use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::count;

/// Forget an item, or a whole notebook, for good
///
/// Archiving keeps an item; this takes it out of the log, the snapshot and the store's files, with its reasons. A bullet
/// of the progress that repeats its words stays: where that matters, forget the whole notebook.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook forget VC-2 --hard
  cork notebook forget --everything --hard --yes")]
pub(crate) struct Forget {
    /// The item: KL-1, VC-2
    #[arg(required_unless_present = "everything")]
    item: Option<NotebookItemId>,

    /// All that the notebook has or ever had
    #[arg(long, conflicts_with = "item")]
    everything: bool,

    #[command(flatten)]
    name: Name,

    /// Say that history shall go too
    #[arg(long)]
    hard: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl Forget {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        if !self.hard {
            let message = "forgetting takes it out of the history as well: say --hard if you mean that";
            return Err(CliError::invalid("needs_hard", message).hint("an `ARCHIVE` bullet keeps it"));
        }
        let what = self.item.map_or_else(|| "all".into(), |item| item.to_string());
        confirm(Consent::from_flag(self.yes), &format!("forget {what} of notebook {}", self.name.name))?;
        let forgotten = self.name.open(session)?.forget(self.item).await?;
        if forgotten.removed == 0 && forgotten.revisions == 0 {
            let what = self.item.map_or_else(|| "nothing to forget".into(), |item| format!("no {item}, and never had"));
            return Err(CliError::not_found(format!("notebook {} has {what}", self.name.name)));
        }
        session.output.answer(&forgotten, || {
            let revisions = count(forgotten.revisions, "revision", "revisions");
            format!("forgotten: {} removed, {revisions} of the log rewritten", forgotten.removed)
        })
    }
}
