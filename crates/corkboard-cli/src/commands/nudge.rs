//! `cork nudge`: messages from people to the workers on a board.

use std::sync::Arc;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use corkboard::boards::{NewNudge, Nudge, NudgeId, NudgePriority, NudgeTarget, Receipt};
use jiff::Timestamp;

use crate::board_args::RevisionArgument;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::{Fit, Percent, Rest, json_object, one_line, table};
use crate::page::Page;
use crate::text_input::text_or_stdin;
use crate::value_parsers::{moment_argument, one_of, text_argument};

/// Send a message to the workers on a board
///
/// Workers see the message in their context and with `cork nudge check` until they acknowledge it. Prints the nudge's ID.
/// `cork nudge list` shows who received it.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  cork nudge 'Use the staging database' --to ada --priority urgent
  cork nudge 'Freeze at noon' --to orchestrator --expires-at 1h
  cork nudge list
  cork nudge check --principal ada
  cork nudge ack N-1 --principal ada"
)]
pub(crate) struct NudgeCommand {
    #[command(subcommand)]
    command: Option<NudgeSubcommand>,

    #[command(flatten)]
    send: SendNudge,
}

/// Send a message, even one that is also a subcommand's name, such as `list`
#[derive(Args)]
#[command(after_help = "\
Example:
  cork nudge send list --to ada")]
struct SendNudge {
    /// Message; - reads stdin
    #[arg(required = true, value_parser = text_argument, allow_hyphen_values = true)]
    message: Option<String>,

    /// Target: all (who works or has worked on the board), orchestrator, or an agent's name; {"agent": "NAME"} for an agent called all or orchestrator
    #[arg(long, value_name = "TARGET", default_value = "all")]
    to: NudgeTarget,

    /// How urgent it is
    #[arg(long, value_name = "PRIORITY", default_value = "normal", value_parser = priority())]
    priority: NudgePriority,

    /// When it expires: 30d, 12h, 45m, or an RFC 3339 time [default: never]
    #[arg(long, value_name = "WHEN", value_parser = moment_argument)]
    expires_at: Option<Timestamp>,

    #[command(flatten)]
    conditions: RequestConditions,
}

fn priority() -> impl TypedValueParser<Value = NudgePriority> {
    one_of([
        ("low", NudgePriority::Low, "Good to know"),
        ("normal", NudgePriority::Normal, "Workers should follow it"),
        ("urgent", NudgePriority::Urgent, "Shown first; the tool complete_task is refused until the agent has read it"),
    ])
}

impl NudgeCommand {
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.command, Some(NudgeSubcommand::List(_)))
    }
}

#[derive(Subcommand)]
enum NudgeSubcommand {
    Send(SendNudge),
    List(List),
    Check(Check),
    Ack(Ack),
}

/// List the nudges of a board and who received them
#[derive(Args)]
#[command(after_help = "\
Example:
  cork nudge list")]
struct List {
    #[command(flatten)]
    moment: RevisionArgument,
}

/// Show your nudges, and record that you received them
///
/// Set who you are with --principal. Nudges to all are for workers: those with --role worker, with a task on the board, or
/// with an earlier contribution to it.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork nudge check --principal ada --role worker")]
struct Check {}

/// Acknowledge nudges, so that they are not shown to you again
#[derive(Args)]
#[command(after_help = "\
Example:
  cork nudge ack N-1 N-2 --principal ada")]
struct Ack {
    /// Nudge IDs, such as N-1
    #[arg(required = true)]
    nudges: Vec<NudgeId>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl NudgeCommand {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self.command {
            Some(NudgeSubcommand::Send(send)) => send.run(session).await,
            Some(NudgeSubcommand::List(list)) => list.run(session).await,
            Some(NudgeSubcommand::Check(Check {})) => check(session).await,
            Some(NudgeSubcommand::Ack(ack)) => ack.run(session).await,
            None => {
                self.send.check_spelling()?;
                self.send.run(session).await
            }
        }
    }
}

impl SendNudge {
    /// Refuses a message that is probably a misspelt subcommand.
    fn check_spelling(&self) -> Result<(), CliError> {
        let word = self.message.as_deref().unwrap_or_default();
        let meant = ["list", "check", "ack"].into_iter().find(|name| strsim::osa_distance(name, word) <= 1);
        meant.map_or(Ok(()), |meant| {
            let hint = format!("did you mean `cork nudge {meant}`? To send this word: `cork nudge send {word}`");
            Err(CliError::invalid("usage", format!("unknown subcommand {word:?}")).hint(hint))
        })
    }

    async fn run(self, session: &Session) -> Result<(), CliError> {
        // Clap requires the message if there is no subcommand.
        let Some(message) = self.message else {
            return Err(CliError::invalid("usage", "a message is required").hint("see `cork nudge --help`"));
        };
        let board = self.conditions.open(session)?;
        let message = text_or_stdin(message)?;
        let nudge = NewNudge { to: self.to, message, priority: self.priority, expires_at: self.expires_at };
        let id = board.send_nudge(nudge).await?;
        session.output.answer(&json_object! { id }, || id.to_string())
    }
}

impl List {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let view = self.moment.view(&session.open_board()?).await?;
        let all = Page::whole(view.state().nudges().collect());
        session.output.list(&all, || match all.items.is_empty() {
            true => format!("board {} has no nudges", one_line(view.id().as_str())),
            false => nudge_table(&all.items),
        })
    }
}

async fn check(session: &Session) -> Result<(), CliError> {
    let told = Page::whole(session.open_board()?.receive_nudges().await?);
    session.output.list(&told, || match told.items.is_empty() {
        true => "no new nudges".into(),
        false => {
            let line = |nudge: &Arc<Nudge>| {
                let (by, message) = (one_line(&nudge.created_by), one_line(&nudge.message));
                format!("{} ({}) from {by}: {message}", nudge.id, nudge.priority)
            };
            told.items.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    })
}

impl Ack {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.conditions.open(session)?;
        let acknowledged = board.acknowledge(&self.nudges).await?;
        session.output.answer(&json_object! { acknowledged: &acknowledged }, || match acknowledged.as_slice() {
            [] => "already acknowledged".into(),
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
