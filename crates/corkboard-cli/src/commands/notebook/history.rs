use clap::Args;

use super::Name;
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{json_object, one_line, time};

/// Show the changes to a notebook, oldest first
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork notebook history
  cork notebook history --name review --json")]
pub(crate) struct History {
    #[command(flatten)]
    name: Name,
}

impl History {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let history = self.name.open(session)?.history().await?;
        let document = json_object! { items: &history.revisions, next: None::<u64>, from_rev: history.from_rev };
        session.output.answer(&document, || {
            let mut lines = Vec::new();
            if history.from_rev > 0 {
                lines.push(format!("revisions before {} are no longer available", history.from_rev));
            }
            for revision in &history.revisions {
                lines.push(format!("{}  {}  {}", revision.rev, time(revision.at), one_line(&revision.author)));
                lines.extend(
                    revision.changes.changes.iter().map(|change| format!("  {}", one_line(&change.to_string()))),
                );
            }
            match lines.is_empty() {
                true => format!("notebook {} was never written", self.name.name),
                false => lines.join("\n"),
            }
        })
    }
}
