use clap::Args;

use super::candidates::LearningFilter;
use crate::command_session::Session;
use crate::error::CliError;

/// List what a board taught, without writing anything
///
/// Shows the same list as `cork learn extract`, but works for every role and on archived boards.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork learn list
  cork learn list --all --role observer
  cork learn list --json | jq -r '.items[] | select(.trust == \"outside\") | .id'")]
pub(crate) struct List {
    #[command(flatten)]
    shown: LearningFilter,
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let learnings = session.open_board()?.learnings().await?;
        self.shown.tell(session, &learnings)
    }
}
