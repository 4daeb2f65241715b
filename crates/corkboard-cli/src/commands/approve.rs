//! `cork approve` and `cork reject`: people's verdicts on decisions.

use clap::Args;
use corkboard::boards::{ApprovalId, DecisionId};

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::named_text::Comment;
use crate::output::json_object;

/// Approve a decision that waits for approval
#[derive(Args)]
#[command(after_help = "\
Example:
  cork approve D-1 'go ahead' --principal grace")]
pub(crate) struct Approve {
    #[command(flatten)]
    judged: Judged,
}

/// Reject a decision; tasks that wait for it continue without it
#[derive(Args)]
#[command(after_help = "\
Example:
  cork reject D-1 'too expensive' --principal grace")]
pub(crate) struct Reject {
    #[command(flatten)]
    judged: Judged,
}

#[derive(Args)]
struct Judged {
    /// Decision ID, such as D-1
    decision: DecisionId,

    #[command(flatten)]
    comment: Comment,

    #[command(flatten)]
    conditions: RequestConditions,
}

fn tell(session: &Session, id: ApprovalId, decision: DecisionId, verdict: &str) -> Result<(), CliError> {
    session.output.answer(&json_object! { id, decision, verdict }, || format!("{decision} is {verdict}"))
}

impl Approve {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Judged { decision, comment, conditions } = self.judged;
        let comment = comment.text()?;
        let id = conditions.open(session)?.approve(decision, comment).await?;
        tell(session, id, decision, "approved")
    }
}

impl Reject {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Judged { decision, comment, conditions } = self.judged;
        let comment = comment.text()?;
        let id = conditions.open(session)?.reject(decision, comment).await?;
        tell(session, id, decision, "rejected")
    }
}
