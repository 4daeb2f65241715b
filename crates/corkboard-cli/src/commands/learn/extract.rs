use clap::Args;

use super::candidates::LearningFilter;
use crate::command_session::Session;
use crate::error::CliError;

/// Find what a board taught, best first
///
/// Also finishes promotions and rollbacks that were interrupted. For an ended board, records that its learnings were
/// extracted, which is required before the board can be purged.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork learn extract
  cork --board add-login-1a2b3c4d learn extract --all
  cork learn extract --json | jq -r '.items[] | select(.score >= 0.6) | .id'")]
pub(crate) struct Extract {
    #[command(flatten)]
    shown: LearningFilter,
}

impl Extract {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let learnings = session.open_board()?.extract_learning_candidates().await?;
        self.shown.tell(session, &learnings)
    }
}
