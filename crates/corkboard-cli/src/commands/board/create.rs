use clap::Args;
use corkboard::boards::{FailurePolicy, NewBoard};
use corkboard::{CreatedBoard, Error, Problem, TaskPattern};

use crate::board_view::{exists_already, ids, references};
use crate::command_session::Session;
use crate::error::{CliError, say};
use crate::output::{json_object, one_line};
use crate::text_input::text_or_stdin;
use crate::value_parsers::{failure_policy, text_argument};

/// Create a board
///
/// Prints its ID, which starts with words of its name. `cork board show` and --json show which entries it drew from its
/// memory cores.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board create 'Add login'
  cork board create 'Add login' --goal 'Users sign in' --constraint 'no breaking changes'
  export CORK_BOARD=$(cork board create 'Add login')
  cork board create 'Add login' --core house-rules --pattern best
  cork board create 'Nightly checks' --id nightly-checks --on-failure continue")]
pub(crate) struct Create {
    /// Short name of the work, such as its title
    #[arg(value_parser = text_argument, allow_hyphen_values = true)]
    name: String,

    /// Goal; - reads stdin [default: the name]
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,

    /// Constraint that the work must respect; repeatable
    #[arg(long = "constraint", value_name = "TEXT")]
    constraints: Vec<String>,

    /// Memory core to draw knowledge from; repeatable
    #[arg(long = "core", value_name = "NAME")]
    cores: Vec<String>,

    /// Create the first tasks from a task pattern (an entry of a core that lists tasks). Either `best`, the best match in the
    /// board's cores, or CORE:ENTRY, such as house-rules:E-3
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<TaskPattern>,

    /// What to do when a task without its own policy fails [default: skip_dependents]
    #[arg(long, value_name = "POLICY", value_parser = failure_policy())]
    on_failure: Option<FailurePolicy>,

    /// ID [default: words of its name and a few random characters]
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Idempotency key; a repeat within 24 hours returns the same board. Without --id, the board's ID is derived from the
    /// key
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
}

impl Create {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let Self { name, goal, constraints, cores, pattern, on_failure, id, idempotency_key } = self;
        let without_tasks = match (&pattern, cores.is_empty()) {
            (None, _) => None,
            (Some(_), true) => Some("a pattern needs at least one --core"),
            (Some(_), false) => Some("its cores have no matching task pattern"),
        };
        let goal = goal.map(text_or_stdin).transpose()?.unwrap_or_else(|| name.clone());
        let on_failure = on_failure.unwrap_or_default();
        let new = NewBoard { name: name.clone(), goal, constraints, cores, on_failure, ..NewBoard::default() };
        let mut create = session.corkboard.create_board(new);
        if let Some(id) = &id {
            create = create.id(id);
        }
        if let Some(key) = idempotency_key {
            create = create.idempotency_key(key);
        }
        if let Some(pattern) = pattern {
            if let TaskPattern::Entry(entry) = &pattern {
                session.names_core(entry.core.as_str());
            }
            create = create.tasks_from_pattern(pattern);
        }
        let created = create.report().await.map_err(|error| match may_not_create(&error, id.as_deref(), session) {
            Some(explained) => explained,
            None => exists_already(error, id.as_deref()),
        })?;
        let CreatedBoard { board, drawn, pattern, tasks, passed_over } = &created;
        let id = board.id().as_str();
        if !drawn.is_empty() {
            session.output.aside(&format!("drawn from its cores: {}", references(drawn)));
        }
        if let Some(pattern) = pattern {
            session.output.aside(&format!("created from {}: {}", one_line(&pattern.to_string()), ids(tasks)));
        }
        if !session.output.is_json() {
            if let Some(why) = without_tasks.filter(|_| pattern.is_none()) {
                say(&format!("warning: the board has no tasks yet: {why}"));
            }
            // Shown even without a terminal, because the board has other tasks than the user asked for.
            passed_over.iter().for_each(|passed| say(&format!("warning: skipped: {}", one_line(&passed.to_string()))));
        }
        let answer = json_object! { id, name: &name, drawn, pattern: pattern.as_ref(), tasks, passed_over };
        session.output.answer(&answer, || id.to_owned())
    }
}

/// The error if the token has no access to the new board, whose ID may be generated.
fn may_not_create(error: &Error, asked: Option<&str>, session: &Session) -> Option<CliError> {
    let said = error.to_string();
    let (who, board) = said.split_once(" has no access to the board ")?;
    let granted = match asked {
        Some(id) => id.to_owned(),
        // Without its random characters, which differ each time.
        None => format!("{}-*", board.trim_matches('"').rsplit_once('-')?.0),
    };
    let principal = &session.corkboard.actor().principal;
    let hint = format!(
        "ask an admin for a token with access to it, such as `cork token create --principal {} --boards '{}'`",
        one_line(principal),
        one_line(&granted)
    );
    let problem = Problem { detail: format!("{who} may not create the board {board}"), ..Problem::from(error) };
    Some(CliError::Explained {
        error: Box::new(Error::Server { problem: Box::new(problem) }),
        message: None,
        hint: Some(hint),
    })
}
