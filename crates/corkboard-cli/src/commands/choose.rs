//! `cork choose`: choices between branches of a board's task graph.

use clap::{Args, Subcommand};
use corkboard::boards::{ChoiceId, NewBranch, NewChoice, TaskId, TaskRef};

use super::board::choices;
use crate::board_args::RevisionArgument;
use crate::board_view::ids;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::{json_object, one_line};
use crate::page::Page;
use crate::value_parsers::text_argument;

/// Choose between options of a board, or add a choice
///
/// Each option of a choice starts with one or more tasks. None of them starts until an option is chosen. Then the other options are
/// cancelled, with all dependent tasks that no other option needs.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  cork choose add 'Which library?' --option jose=T-1 --option hand=T-2,T-3
  cork choose C-1 jose --rationale 'it is maintained'
  cork choose list"
)]
pub(crate) struct Choose {
    #[command(subcommand)]
    command: Option<ChooseCommand>,

    /// Choice ID, such as C-1
    #[arg(required = true)]
    choice: Option<ChoiceId>,

    /// Name of the option
    #[arg(required = true)]
    option: Option<String>,

    /// Why this option was chosen
    #[arg(long, alias = "because", value_name = "TEXT")]
    rationale: Option<String>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Choose {
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.command, Some(ChooseCommand::List(_)))
    }
}

#[derive(Subcommand)]
enum ChooseCommand {
    Add(Add),
    List(List),
}

/// Add a choice between options
///
/// Prints its ID. A batch of new tasks can contain choices too; see `cork task add --help`.
#[derive(Args)]
#[command(after_help = "\
Example:
  cork choose add 'Which library?' --option jose=T-1 --option hand=T-2,T-3")]
struct Add {
    /// Question
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    question: String,

    /// Option: its name and first tasks; give at least two
    #[arg(long = "option", value_name = "NAME=TASK,…", value_parser = branch_argument, required = true)]
    options: Vec<NewBranch>,

    #[command(flatten)]
    conditions: RequestConditions,
}

/// List the choices of a board
#[derive(Args)]
#[command(after_help = "\
Example:
  cork choose list")]
struct List {
    #[command(flatten)]
    moment: RevisionArgument,
}

fn branch_argument(argument: &str) -> Result<NewBranch, String> {
    // A name can contain `=`; task IDs never do.
    let (name, tasks) = argument.rsplit_once('=').ok_or("expected a form like NAME=T-1 or NAME=T-1,T-2")?;
    let tasks: Result<Vec<TaskRef>, _> =
        tasks.split(',').map(|task| task.trim().parse::<TaskId>().map(TaskRef::Task)).collect();
    Ok(NewBranch { name: name.to_owned(), tasks: tasks.map_err(|error| error.to_string())? })
}

impl Choose {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self.command {
            Some(ChooseCommand::Add(add)) => return add.run(session).await,
            Some(ChooseCommand::List(list)) => return list.run(session).await,
            None => {}
        }
        // Clap requires both if there is no subcommand.
        let (Some(choice), Some(option)) = (self.choice, self.option) else {
            return Err(
                CliError::invalid("usage", "a choice and an option are required").hint("see `cork choose --help`")
            );
        };
        let board = self.conditions.open(session)?;
        let cancelled = board.choose(choice, &option, self.rationale).await?;
        session.output.answer(&json_object! { id: choice, chosen: &option, cancelled: &cancelled }, || {
            let chosen = format!("{choice}: {} is chosen", one_line(&option));
            match cancelled.as_slice() {
                [] => chosen,
                [one] => format!("{chosen}; {one} is cancelled"),
                many => format!("{chosen}; {} are cancelled", ids(many)),
            }
        })
    }
}

impl Add {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { question, options, conditions } = self;
        let board = conditions.open(session)?;
        let (_, added) = board.add_tasks(Vec::new(), vec![NewChoice { question, options }]).await?;
        match added.as_slice() {
            [id] => session.output.answer(&json_object! { id: *id }, || id.to_string()),
            _ => Err(CliError::not_found("the choice was not added")),
        }
    }
}

impl List {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let view = self.moment.view(&session.open_board()?).await?;
        let all: Vec<_> = view.state().choices().collect();
        session.output.list(&Page::whole(all), || {
            choices(view.state()).unwrap_or_else(|| format!("board {} has no choices", one_line(view.id().as_str())))
        })
    }
}
