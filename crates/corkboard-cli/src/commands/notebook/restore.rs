use clap::Args;

use super::Name;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{json_object, shown};

/// Show again what the notebook showed at a revision
///
/// What it shows now and did not then is archived; nothing is lost, and ids stay as they were.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork notebook restore 3")]
pub(crate) struct Restore {
    /// Which revision
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
