use clap::Args;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::one_line;

/// Show what changed on a board between two revisions
///
/// A sentence for each change; what was changed and changed back is not told. `cork board watch --from-rev` tells all of it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board diff 3 7
  cork board diff 0 --json    # all since the beginning")]
pub(crate) struct Diff {
    /// The earlier revision; 0 is the time before the first
    from: u64,

    /// The later one [default: the present]
    to: Option<u64>,
}

impl Diff {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = session.open_board()?;
        let to = match self.to {
            Some(rev) => rev,
            None => board.view().await?.rev(),
        };
        let diff = board.diff(self.from, to).await?;
        session.output.answer(&diff, || {
            let text = diff.to_string();
            text.lines().map(one_line).collect::<Vec<_>>().join("\n")
        })
    }
}
