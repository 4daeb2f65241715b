use clap::Args;
use corkboard::store::StoreError;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::one_line;

/// Show what changed on a board between two revisions
///
/// Prints a sentence for each net change. `cork board watch --from-rev` shows every single event.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board diff 3 7
  cork board diff 0 --json    # everything since the beginning")]
pub(crate) struct Diff {
    /// Earlier revision; 0 is the time before the first
    from: u64,

    /// Later revision [default: the newest]
    to: Option<u64>,
}

impl Diff {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = session.open_board()?;
        let to = match self.to {
            Some(rev) => rev,
            None => board.view().await?.rev(),
        };
        if self.to.is_none() && self.from > to {
            return Err(StoreError::Future { asked: self.from, head: to }.into());
        }
        let diff = board.diff(self.from, to).await?;
        session.output.answer(&diff, || {
            let text = diff.to_string();
            text.lines().map(one_line).collect::<Vec<_>>().join("\n")
        })
    }
}
