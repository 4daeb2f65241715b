use clap::Args;
use corkboard::notebook::NotebookItemId;

use super::Name;
use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::count;

/// Erase an item or a whole notebook, including history
///
/// Archiving keeps an item; this erases it and its reasons from the log, the snapshot and the store's files. Progress
/// bullets that repeat the item's words stay. If that matters, erase the whole notebook.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook forget VC-2 --hard
  cork notebook forget --everything --hard --yes")]
pub(crate) struct Forget {
    /// Item ID, such as KL-1 or VC-2
    #[arg(required_unless_present = "everything")]
    item: Option<NotebookItemId>,

    /// The whole notebook
    #[arg(long, conflicts_with = "item")]
    everything: bool,

    #[command(flatten)]
    name: Name,

    /// Required: history is erased too. The command still asks before it erases, unless --yes
    #[arg(long)]
    hard: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Forget {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        if !self.hard {
            let message = "forgetting also erases history; add --hard to confirm";
            return Err(CliError::invalid("needs_hard", message)
                .hint("to keep history, archive the item with an `ARCHIVE` bullet"));
        }
        let what = self.item.map_or_else(|| "all items".into(), |item| item.to_string());
        confirm(Consent::from_flag(self.yes), &format!("erase {what} of notebook {}", self.name.name))?;
        let forgotten = self.name.open(session)?.forget(self.item).await?;
        if forgotten.removed == 0 && forgotten.revisions == 0 {
            let what =
                self.item.map_or_else(|| "nothing to forget".into(), |item| format!("no {item}, now or in its log"));
            return Err(CliError::not_found(format!("notebook {} has {what}", self.name.name)));
        }
        session.output.answer(&forgotten, || {
            let items = count(forgotten.removed, "item", "items");
            let revisions = count(forgotten.revisions, "log revision", "log revisions");
            format!("erased {items}; rewrote {revisions}")
        })
    }
}
