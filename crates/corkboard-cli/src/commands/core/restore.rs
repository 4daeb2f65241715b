//! `cork core restore`.

use clap::Args;
use corkboard::cores::CoreEntryId;

use crate::command_session::Session;
use crate::core_args::{CoreArgument, CoreEntryConditions};
use crate::core_view::ChangedEntry;
use crate::error::CliError;

/// Bring back an entry that was forgotten
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core show house-rules --forgotten
  cork core restore house-rules E-1")]
pub(crate) struct Restore {
    #[command(flatten)]
    core: CoreArgument,

    /// Which entry
    entry: CoreEntryId,

    #[command(flatten)]
    conditions: CoreEntryConditions,
}

impl Restore {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.conditions.on(self.core.open(session)?);
        let (id, version) = (self.entry, core.restore(self.entry).await?);
        session.output.answer(&ChangedEntry { id, version }, || format!("{id} is back"))
    }
}
