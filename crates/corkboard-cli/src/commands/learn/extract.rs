use clap::Args;

use super::candidates::Shown;
use crate::command_session::Session;
use crate::error::CliError;

/// Find what a board taught, the best first
///
/// Whatever was left half done with a memory core is finished. Once the board has ended, its log says that somebody
/// looked: then it may be purged when its time is over.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork learn extract
  cork --board add-login-1a2b3c4d learn extract --all
  cork learn extract --json | jq -r '.items[] | select(.score >= 0.6) | .id'")]
pub(crate) struct Extract {
    #[command(flatten)]
    shown: Shown,
}

impl Extract {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let learnings = session.open_board()?.extract_learning_candidates().await?;
        self.shown.tell(session, &learnings)
    }
}
