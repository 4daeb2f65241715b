use clap::Args;
use corkboard::cores::CoreEntryId;

use crate::command_session::Session;
use crate::core_args::{CoreArgument, CoreEntryConditions};
use crate::error::CliError;
use crate::output::json_object;

/// Hide an entry of a core; it can be restored
///
/// A forgotten entry is neither listed nor found until it is restored or added again. Its text stays in the core and its
/// log.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core forget house-rules E-1
  cork core forget house-rules E-1 --reason 'now on Fridays' --if-version 3")]
pub(crate) struct Forget {
    #[command(flatten)]
    core: CoreArgument,

    /// Entry ID, such as E-1
    entry: CoreEntryId,

    /// Why; recorded with the entry
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    conditions: CoreEntryConditions,
}

impl Forget {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?.conditions(&self.conditions);
        let (id, version) = (self.entry, core.forget(self.entry, self.reason.as_deref()).await?);
        session.output.answer(&json_object! { id, version }, || format!("{id} is forgotten"))
    }
}
