use clap::Args;

use super::Name;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{json_object, shown};

/// Restore the notebook to an earlier revision
///
/// Items that were added since are archived, so nothing is lost. IDs stay the same.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork notebook restore 3")]
pub(crate) struct Restore {
    /// Revision
    rev: u64,

    #[command(flatten)]
    name: Name,
}

impl Restore {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let (rev, changes) = self.name.open(session)?.restore(self.rev).await?;
        session.output.answer(&json_object! { rev, changes }, || shown(changes.to_string().trim_end()))
    }
}
