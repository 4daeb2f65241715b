use clap::{ArgGroup, Args};
use corkboard::boards::{BoardEdit, FailurePolicy};

use crate::board_args::BoardArgument;
use crate::board_view::references;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::error::CliError;
use crate::output::json_object;
use crate::text_input::text_or_stdin;
use crate::value_parsers::failure_policy;

/// Change a board's name, goal, constraints, cores or failure policy
#[derive(Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true), after_help = "\
Examples:
  cork board edit --goal 'Users sign in with a passkey'
  cork board edit --constraint 'no new crate' --constraint 'no breaking change' --if-version 1")]
pub(crate) struct Edit {
    #[command(flatten)]
    board: BoardArgument,

    /// New name of the board
    #[arg(long, value_name = "TEXT", group = "change")]
    name: Option<String>,

    /// Goal; - reads stdin
    #[arg(long, value_name = "TEXT", group = "change")]
    goal: Option<String>,

    /// Constraint; replaces the current constraints; repeatable
    #[arg(long = "constraint", value_name = "TEXT", group = "change")]
    constraints: Option<Vec<String>>,

    /// Memory core to draw knowledge from; replaces the current cores, and draws from them again; repeatable
    #[arg(long = "core", value_name = "NAME", group = "change")]
    cores: Option<Vec<String>>,

    /// What to do when a task fails, for tasks added from now on
    #[arg(long, value_name = "POLICY", group = "change", value_parser = failure_policy())]
    on_failure: Option<FailurePolicy>,

    /// Only if the board is at this version
    #[arg(long, value_name = "VERSION", help_heading = "Conditions")]
    if_version: Option<u64>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Edit {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?.conditions(&self.conditions);
        let named = self.cores.is_some();
        let edit = BoardEdit {
            name: self.name,
            goal: self.goal.map(text_or_stdin).transpose()?,
            constraints: self.constraints,
            cores: self.cores,
            on_failure: self.on_failure,
            drawn: None,
        };
        let version = board.edit(edit, self.if_version).await?;
        let id = board.id().as_str();
        if named {
            let drawn = board.view().await?.info()?.drawn.clone();
            session.output.aside(&match drawn.is_empty() {
                true => "no entries of its cores match this board".into(),
                false => format!("drawn from its cores: {}", references(&drawn)),
            });
        }
        session.output.answer(&json_object! { id, version }, || format!("{id} is at version {version}"))
    }
}
