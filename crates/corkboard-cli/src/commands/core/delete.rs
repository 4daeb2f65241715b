use clap::Args;

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::core_args::CoreArgument;
use crate::core_view::emptiness;
use crate::error::CliError;
use crate::output::{json_object, one_line};

/// Delete a core with its log
///
/// Asks for confirmation. To keep a copy, run `cork export --core NAME` first. Boards that draw on the core work without it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core delete house-rules
  cork core delete house-rules --hard --yes    # also from the store's files")]
pub(crate) struct Delete {
    #[command(flatten)]
    core: CoreArgument,

    /// Also remove every trace of it from the store's files; this may take long
    #[arg(long)]
    hard: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Delete {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?;
        // Report a missing core before asking for confirmation.
        emptiness(&core).await?;
        let id = core.id().to_string();
        confirm(Consent::from_flag(self.yes), &format!("delete core {} with its history", one_line(&id)))?;
        let deleted = match self.hard {
            true => core.delete().hard().await?,
            false => core.delete().await?,
        };
        if !deleted {
            return Err(CliError::not_found(format!("core {} not found", one_line(&id))));
        }
        session.output.answer(&json_object! { id: &id, deleted }, || format!("deleted core {}", one_line(&id)))
    }
}
