use clap::Args;
use corkboard::boards::LearningId;

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::named_text::Reason;
use crate::output::json_object;

/// Refuse a learning for good
///
/// A refused learning cannot be promoted. If it is in a core, roll it back first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork learn refuse F-2
  cork learn refuse rework:T-5 'the tests were flaky, not the code'")]
pub(crate) struct Refuse {
    /// Learning ID, as shown by `cork learn list`
    learning: LearningId,

    #[command(flatten)]
    reason: Reason,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Refuse {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let reason = self.reason.text()?;
        let learning = self.learning;
        board.refuse_learning(learning.clone(), reason).await?;
        session.output.answer(&json_object! { id: learning, status: "refused" }, || format!("{learning} is refused"))
    }
}
