use clap::Args;
use corkboard::LogRef;
use corkboard::boards::BoardEvent;

use crate::command_session::Session;
use crate::error::CliError;
use crate::event_text::event_text;
use crate::output::{one_line, time};

const PAGE: usize = 1000;

/// Show the revisions that a reference names
///
/// `cork board show --json` and `GET …/contributions` give references as `log_ref`: board, revisions, author. The author
/// may be left out, and the range may be a single revision. With an author, shows the revisions that the author wrote and
/// the reviews that completed the author's tasks.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board log board/add-login-1a2b3c4d#6..12@dev
  cork board log board/add-login-1a2b3c4d#6..12
  cork board log board/add-login-1a2b3c4d#6 --json")]
pub(crate) struct Log {
    /// The reference: board/ID#FROM..TO@AUTHOR
    #[arg(value_name = "REF")]
    reference: LogRef,
}

impl Log {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        session.board_named(&self.reference.board)?;
        let mut revisions = Vec::new();
        let mut rest = Some(self.reference.clone());
        while let Some(reference) = rest {
            let page = session.corkboard.revisions(&reference, PAGE).await?;
            revisions.extend(page.revisions);
            rest = page.next;
        }
        session.output.answer(&revisions, || {
            let lines = revisions.iter().flat_map(|revision| {
                let (rev, at, who) = (revision.rev, time(revision.at), one_line(&revision.actor.principal));
                let events: Vec<BoardEvent> = serde_json::from_str(revision.events.get()).unwrap_or_default();
                events.into_iter().map(move |event| format!("{rev:>6}  {at}  {who}  {}", event_text(&event)))
            });
            match lines.collect::<Vec<_>>() {
                lines if lines.is_empty() => format!("no revisions match {}", one_line(&self.reference.to_string())),
                lines => lines.join("\n"),
            }
        })
    }
}
