//! `cork nudge`: what people say to those who work on a board.

use std::sync::Arc;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use corkboard::AgentId;
use corkboard::boards::{NewNudge, Nudge, NudgeId, NudgePriority, NudgeTarget, Receipt};
use jiff::SignedDuration;

use crate::board_args::{BoardConditions, RevisionArgument};
use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, json_object, now, one_line, table};
use crate::text_input::text_or_stdin;
use crate::value_parsers::{one_of, seconds, text_argument};

/// Say something to those who work on a board
///
/// It is shown to each of them, in their context and by `cork nudge check`, until they acknowledge it. Prints its id;
/// `cork nudge list` shows whom it reached.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  cork nudge 'Use the staging database' --to ada --priority urgent
  cork nudge 'Freeze at noon' --for 3600
  cork nudge list
  cork nudge check --as ada
  cork nudge ack N-1 --as ada"
)]
pub(crate) struct NudgeCommand {
    #[command(subcommand)]
    command: Option<Sub>,

    /// What is said; - reads stdin
    #[arg(required = true, value_parser = text_argument, allow_hyphen_values = true)]
    message: Option<String>,

    /// To one agent [default: to all]
    #[arg(long, value_name = "NAME", conflicts_with = "to_orchestrator")]
    to: Option<String>,

    /// To whoever is the orchestrator
    #[arg(long)]
    to_orchestrator: bool,

    /// How much it matters
    #[arg(long, value_name = "PRIORITY", default_value = "normal", value_parser = priority())]
    priority: NudgePriority,

    /// For how long it is shown [default: until it is acknowledged]
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    lasts: Option<f64>,

    #[command(flatten)]
    conditions: BoardConditions,
}

fn priority() -> impl TypedValueParser<Value = NudgePriority> {
    one_of([
        ("low", NudgePriority::Low, "Good to know"),
        ("normal", NudgePriority::Normal, "To be heeded"),
        ("urgent", NudgePriority::Urgent, "Comes before everything else"),
    ])
}

impl NudgeCommand {
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.command, Some(Sub::List(_)))
    }
}

#[derive(Subcommand)]
enum Sub {
    List(List),
    Check(Check),
    Ack(Ack),
}

/// List what was said, and whom it reached
#[derive(Args)]
#[command(after_help = "\
Example:
  cork nudge list")]
struct List {
    #[command(flatten)]
    moment: RevisionArgument,
}

/// Read what is said to you; that you read it is written down
///
/// --as says who reads. What is said to all is for those who work: with --role worker, with a task of the board, or with
/// something done or recorded on it.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork nudge check --as ada --role worker")]
struct Check {}

/// Say that you heed what was said to you: it is not shown to you again
#[derive(Args)]
#[command(after_help = "\
Example:
  cork nudge ack N-1 N-2 --as ada")]
struct Ack {
    /// Which
    #[arg(required = true)]
    nudges: Vec<NudgeId>,

    #[command(flatten)]
    conditions: BoardConditions,
}

impl NudgeCommand {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self.command {
            Some(Sub::List(list)) => return list.run(session).await,
            Some(Sub::Check(Check {})) => return check(session).await,
            Some(Sub::Ack(ack)) => return ack.run(session).await,
            None => {}
        }
        // It is required where there is no subcommand.
        let Some(message) = self.message else {
            return Err(CliError::invalid("usage", "what is to be said?").hint("`cork nudge --help`"));
        };
        let to = match (self.to, self.to_orchestrator) {
            (Some(name), _) => NudgeTarget::Agent(AgentId::new(&name, &Default::default())?),
            (None, true) => NudgeTarget::Orchestrator,
            (None, false) => NudgeTarget::All,
        };
        let until = |lasts: f64| {
            let lasts = SignedDuration::try_from_secs_f64(lasts).ok();
            lasts
                .and_then(|lasts| now().checked_add(lasts).ok())
                .ok_or_else(|| CliError::invalid("expiry", "too far away"))
        };
        let board = self.conditions.open(session)?;
        let message = text_or_stdin(message)?;
        let nudge = NewNudge { to, message, priority: self.priority, expires_at: self.lasts.map(until).transpose()? };
        let id = board.inject_nudge(nudge).await?;
        session.output.answer(&json_object! { id }, || id.to_string())
    }
}

impl List {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let view = self.moment.view(&session.open_board()?).await?;
        let all: Vec<&Arc<Nudge>> = view.state().nudges().collect();
        session.output.answer(&all, || match all.is_empty() {
            true => format!("nobody said anything on board {}", one_line(view.id().as_str())),
            false => nudge_table(&all),
        })
    }
}

async fn check(session: &Session) -> Result<(), CliError> {
    let told = session.open_board()?.nudges_for().await?;
    session.output.answer(&told, || match told.is_empty() {
        true => "nobody tells you anything new".into(),
        false => {
            let line = |nudge: &Arc<Nudge>| {
                let (by, message) = (one_line(&nudge.created_by), one_line(&nudge.message));
                format!("{} ({}) from {by}: {message}", nudge.id, nudge.priority)
            };
            told.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    })
}

impl Ack {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let acknowledged = board.acknowledge(&self.nudges).await?;
        session.output.answer(&json_object! { acknowledged: &acknowledged }, || match acknowledged.as_slice() {
            [] => "that was acknowledged before".into(),
            some => format!("acknowledged {}", some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
        })
    }
}

fn nudge_table(nudges: &[&Arc<Nudge>]) -> String {
    let names = |receipts: &[Receipt]| {
        let names: Vec<String> = receipts.iter().map(|receipt| one_line(&receipt.agent)).collect();
        names.join(", ")
    };
    let rows = nudges.iter().map(|nudge| {
        let (to, message) = (one_line(&nudge.to.to_string()), one_line(&nudge.message));
        let reached = names(&nudge.delivered);
        [nudge.id.to_string(), nudge.priority.to_string(), to, message, reached, names(&nudge.acknowledged)]
    });
    let header = [
        ("NUDGE", Fit),
        ("PRIORITY", Fit),
        ("TO", Percent(15)),
        ("MESSAGE", Rest),
        ("REACHED", Percent(15)),
        ("ACKNOWLEDGED", Percent(15)),
    ];
    table(header, rows)
}
