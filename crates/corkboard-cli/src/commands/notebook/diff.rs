use clap::Args;

use super::Name;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::shown;

/// Show what changed between two revisions
#[derive(Args)]
#[command(after_help = "\
Example:
  cork notebook diff 3 7")]
pub(crate) struct Diff {
    /// First revision
    #[arg(value_name = "A")]
    from: u64,

    /// Second revision
    #[arg(value_name = "B")]
    to: u64,

    #[command(flatten)]
    name: Name,
}

impl Diff {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let diff = self.name.open(session)?.diff(self.from, self.to).await?;
        session.output.answer(&diff, || shown(diff.to_string().trim_end()))
    }
}
