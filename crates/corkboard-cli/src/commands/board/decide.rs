use clap::Args;
use corkboard::boards::{DecisionId, NewDecision, TaskId};

use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::core_args::TrustArguments;
use crate::error::CliError;
use crate::output::json_object;
use crate::value_parsers::text_argument;

/// Record a decision
///
/// Prints its ID. To choose an option of a choice, use `cork choose`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board decide 'Which hash?' argon2id --alternative bcrypt --affects-task T-1
  cork board decide 'Which hash?' scrypt --supersedes D-1 --rationale 'argon2id is too slow'
  cork board decide 'Delete old logins?' yes --affects-task T-3 --needs-approval")]
pub(crate) struct Decide {
    /// Question that was decided
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    question: String,

    /// Chosen answer
    #[arg(value_name = "ANSWER", value_parser = text_argument, allow_hyphen_values = true)]
    choice: String,

    /// Rejected alternative; repeatable
    #[arg(long = "alternative", alias = "over", value_name = "TEXT")]
    alternatives: Vec<String>,

    /// Why this answer was chosen
    #[arg(long, alias = "because", value_name = "TEXT")]
    rationale: Option<String>,

    /// Tasks that it affects [default: all]
    #[arg(long = "affects-task", alias = "affects", value_name = "TASK", value_delimiter = ',')]
    affects_tasks: Vec<TaskId>,

    /// Mark as irreversible: only a person can supersede it, with --force
    #[arg(long)]
    irreversible: bool,

    /// Hold the affected tasks until someone approves or rejects the decision
    #[arg(long, requires = "affects_tasks")]
    needs_approval: bool,

    /// Earlier decision that this one replaces: your own, or anyone's if you run the board
    #[arg(long, value_name = "DECISION")]
    supersedes: Option<DecisionId>,

    /// Supersede an irreversible decision; persons only
    #[arg(long, requires = "supersedes")]
    force: bool,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Decide {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let decision = NewDecision {
            question: self.question,
            choice: self.choice,
            alternatives: self.alternatives,
            rationale: self.rationale.unwrap_or_default(),
            affects_tasks: self.affects_tasks,
            reversible: self.irreversible.then_some(false),
            supersedes: self.supersedes,
            force: self.force,
            needs_approval: self.needs_approval,
            trust: self.trust.said(),
        };
        let id = board.record_decision(decision).await?;
        session.output.answer(&json_object! { id }, || id.to_string())
    }
}
