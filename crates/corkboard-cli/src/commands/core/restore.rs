use clap::Args;
use corkboard::cores::CoreEntryId;

use crate::command_session::Session;
use crate::core_args::{CoreArgument, CoreEntryConditions};
use crate::error::CliError;
use crate::output::json_object;

/// Restore a forgotten entry
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core show house-rules --forgotten
  cork core restore house-rules E-1")]
pub(crate) struct Restore {
    #[command(flatten)]
    core: CoreArgument,

    /// Entry ID, such as E-1
    entry: CoreEntryId,

    #[command(flatten)]
    conditions: CoreEntryConditions,
}

impl Restore {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?.conditions(&self.conditions);
        let (id, version) = (self.entry, core.restore(self.entry).await?);
        session.output.answer(&json_object! { id, version }, || format!("{id} is restored"))
    }
}
