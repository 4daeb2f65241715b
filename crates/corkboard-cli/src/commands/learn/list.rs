use clap::Args;
use clap::builder::TypedValueParser;

use super::candidates::LearningFilter;
use crate::command_session::Session;
use crate::error::CliError;
use crate::value_parsers::one_of;

/// List what a board taught, without writing anything
///
/// Shows the same list as `cork learn extract`, but works for every role and on archived boards.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork learn list
  cork learn list --all --role observer
  cork learn list --all --status promoted --tag api
  cork learn list --json | jq -r '.items[] | select(.trust == \"outside\") | .id'")]
pub(crate) struct List {
    /// Only learnings with this status: open, begun, promoted, refused, rolling_back or rolled_back
    #[arg(long, value_name = "STATUS", value_parser = status())]
    status: Option<&'static str>,

    /// Only learnings with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    #[command(flatten)]
    shown: LearningFilter,
}

fn status() -> impl TypedValueParser<Value = &'static str> {
    one_of(["open", "begun", "promoted", "refused", "rolling_back", "rolled_back"].map(|status| (status, status, "")))
}

impl List {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let mut learnings = session.open_board()?.learnings().await?;
        learnings.retain(|learning| {
            self.status.is_none_or(|status| learning.status.as_str() == status)
                && self.tag.as_ref().is_none_or(|tag| learning.tags.contains(tag))
        });
        self.shown.tell(session, &learnings)
    }
}
