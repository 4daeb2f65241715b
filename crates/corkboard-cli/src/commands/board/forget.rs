use clap::Args;
use corkboard::boards::RecordId;

use crate::command_session::Session;
use crate::confirm::{Consent, confirm};
use crate::error::CliError;
use crate::output::{count, one_line};

/// Erase the texts of a record, including history
///
/// Rewrites the log, the snapshot and the store's files. The record stays with its ID, status and dependencies; its texts
/// read `[forgotten]`. A learning made from the record is erased too, except in memory cores that already hold it. Forgetting
/// cannot reach copies: exports, backups, forks of the board, and a database's own log and replicas.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board forget D-1 --hard
  cork board forget T-3 --hard --yes --board add-login-1a2b3c4d
  cork board forget board --hard    # the board's own texts")]
pub(crate) struct Forget {
    /// Record ID, such as D-1, T-3, F-2, A-4, C-1, N-1, AP-1 or learning:D-1; `board` for the board's own texts
    record: RecordId,

    /// Required: history is erased too. The command still asks before it erases, unless --yes
    #[arg(long)]
    hard: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

impl Forget {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let (record, board) = (&self.record, session.open_board()?);
        if !self.hard {
            let message = "forgetting also erases history; add --hard to confirm";
            return Err(CliError::invalid("needs_hard", message)
                .hint("to keep history, edit the task or the board, or supersede the decision"));
        }
        // Report a missing board before asking for confirmation.
        board.view().await?;
        let name = one_line(board.id().as_str());
        confirm(Consent::from_flag(self.yes), &format!("erase all texts that {record} of board {name} ever had"))?;
        let forgotten = board.forget_record(record.clone()).await?;
        session.output.answer(&forgotten, || {
            let what = match record {
                RecordId::Board => "the board's own texts".to_owned(),
                record => record.to_string(),
            };
            let revisions = count(forgotten.revisions, "log revision", "log revisions");
            let mut said = match (forgotten.removed, forgotten.revisions, record) {
                (0, 0, RecordId::Board) => format!("nothing to erase: {what} were already forgotten"),
                (0, 0, _) => format!("nothing to erase: {what} was already forgotten"),
                _ => format!("erased {what}; rewrote {revisions}"),
            };
            if !forgotten.copies.is_empty() {
                let cores = forgotten.copies.join(", ");
                said.push_str(&format!("\na learning made from it is still in {cores}: use `cork core forget --hard`"));
            }
            said
        })
    }
}
