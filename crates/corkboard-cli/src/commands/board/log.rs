use clap::Args;
use corkboard::LogRef;
use corkboard::boards::BoardEvent;

use crate::command_session::Session;
use crate::error::CliError;
use crate::event_text::event_text;
use crate::output::{json_object, one_line, time};
use crate::page::page_size;

const PAGE: usize = 1000;

/// Show the revisions that a reference names
///
/// `cork board show --json` and `GET …/contributions` give references as `log_ref`: board, revisions, author. The author
/// is optional, and the range can be a single revision. With an author, shows the revisions that the author wrote and
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

    /// Maximum number of revisions; `next` is then the reference of the rest [default: all]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u64>,
}

impl Log {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        session.board_named(&self.reference.board)?;
        let mut revisions = Vec::new();
        let mut rest = Some(self.reference.clone());
        let limit = page_size(self.limit)?.unwrap_or(usize::MAX);
        while let Some(reference) = rest.take_if(|_| revisions.len() < limit) {
            let page = session.corkboard.revisions(&reference, PAGE.min(limit - revisions.len())).await?;
            revisions.extend(page.items);
            rest = page.next;
        }
        session.output.answer(&json_object! { items: &revisions, next: rest.map(|rest| rest.to_string()) }, || {
            let lines = revisions.iter().flat_map(|revision| {
                let (rev, at, who) = (revision.rev, time(revision.at), one_line(&revision.actor.principal));
                let events: Vec<BoardEvent> = revision.parse_events().unwrap_or_default();
                events.into_iter().map(move |event| format!("{rev:>6}  {at}  {who}  {}", event_text(&event)))
            });
            match lines.collect::<Vec<_>>() {
                lines if lines.is_empty() => format!("no revisions match {}", one_line(&self.reference.to_string())),
                lines => lines.join("\n"),
            }
        })
    }
}
