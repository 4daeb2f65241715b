//! How `--help` looks, and `cork help`: commands in groups, and the global options on a page of their own.

use std::fmt::Write;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::builder::Styles;
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Args, Command, CommandFactory, Error, FromArgMatches};

use crate::args::{Cli, Global};
use crate::did_you_mean::{explain_extra_argument, suggest_only_similar, takes_any_text};

/// Every command of `cork`, in the order in which `cork --help` lists them.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Run", &["setup", "mcp", "hook", "serve", "token"]),
    ("Agent memory", &["memory", "search", "scope", "notebook", "handoff", "context", "tools", "activity"]),
    ("Boards", &["board", "task"]),
    ("People", &["review", "approve", "reject", "choose", "nudge"]),
    ("Knowledge", &["core", "learn"]),
    ("Data", &["snapshot", "export", "import", "migrate"]),
    ("Operations", &["stats", "doctor", "gc", "compact", "forget", "config", "bench", "completions", "help"]),
];

const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{all-args}

Global options: see `cork help options`{after-help}";

const TOPICS: &str = "More: cork help COMMAND, cork help options, cork help exit-codes";

const VARIABLES: &str = "\
A flag overrides its variable, and a variable overrides the settings file.
Settings without a flag have variables too; `cork config show --json` lists them.
CORK_TOKEN has no flag. `cork serve` accepts it as the admin's token; other commands send it to the server.";

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  something is broken: damaged data or data of a newer version, a disk failure, an export that
     could not be written completely to stdout, a bug
  2  invalid command or value
  3  not found, or no task is ready
  4  conflict with the current state, such as a change by someone else; the error shows the current state
  5  a limit is reached
  6  permission denied
  7  the store or server is unavailable, busy or locked; retrying may help
  8  outcome unknown: check before you retry
  9  `cork board complete` ended the board as partial or failed: a task failed or was cancelled
     (tasks of options that were not chosen do not count)
  130  interrupted by Ctrl-C";

/// Show help on a command, the global options or the exit codes
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork help task claim
  cork help options
  cork help exit-codes")]
pub(crate) struct Help {
    /// A command, such as `task claim`, or a topic: options, exit-codes
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

impl Help {
    /// Parses `WORDS --help`, which clap answers with the help text as an "error".
    fn page(&self) -> Result<Cli, clap::Error> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let (command, words) = match words.as_slice() {
            ["options"] => (options(), &[][..]),
            ["exit-codes"] => (Command::new("cork").override_help(EXIT_CODES), &[][..]),
            words => (command(), words),
        };
        let words = ["cork"].iter().chain(words).chain(&["--help"]);
        let matches = command.clone().try_get_matches_from(words);
        Cli::from_arg_matches(&matches.map_err(|error| in_plain_words(&command, error))?)
    }
}

/// Reads the command line. Help and the version come as errors too, as with clap.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let matches = matches.map_err(|error| in_plain_words(&command, error))?;
    match Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))? {
        Cli { command: crate::commands::Command::Help(help), .. } => help.page(),
        cli => Ok(cli),
    }
}

/// The command line with its help in the form that users see. Shell completions use [`Cli::command`], because clap does
/// not complete hidden options.
fn command() -> Command {
    let command = Cli::command()
        .mut_args(|argument| match argument.is_global_set() {
            true => argument.hide(true),
            false => argument,
        })
        .mut_subcommands(with_template);
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let after = format!("{}\n{examples}\n{TOPICS}", groups(&command));
    command
        .override_usage("cork [OPTIONS] <COMMAND>")
        .help_template("{about-with-newline}\n{usage-heading} {usage}{after-help}")
        .after_help(after)
}

/// Replaces the messages of Rust's number parsers, names the long verdicts, which clap accepts but does not list, and
/// keeps only suggestions of similar names.
fn in_plain_words(command: &Command, mut error: Error) -> Error {
    suggest_only_similar(&mut error);
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (argument, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    let source = std::error::Error::source(&error);
    if error.kind() == ErrorKind::InvalidSubcommand
        && ["agent", "agents"].contains(&&*context(ContextKind::InvalidSubcommand))
    {
        let text = "unrecognized subcommand\n\n  tip: `cork stats --all` lists the agents; --agent NAME selects one\n";
        return Error::raw(error.kind(), text).with_cmd(command);
    }
    if error.kind() == ErrorKind::UnknownArgument && !argument.starts_with('-') && takes_any_text(command) {
        explain_extra_argument(&mut error, command);
        return error;
    }
    let why = match error.kind() {
        ErrorKind::InvalidValue if argument == "<VERDICT>" && !value.is_empty() => Some(format!(
            "must be one of {} (also: approved, needs_rework, rejected)",
            context(ContextKind::ValidValue)
        )),
        ErrorKind::ValueValidation => source.and_then(|source| number_error(source, &argument, &value)),
        _ => None,
    };
    match why {
        Some(why) => {
            Error::raw(error.kind(), format!("invalid value '{value}' for '{argument}': {why}\n")).with_cmd(command)
        }
        None => error,
    }
}

/// What is wrong with a number, if that is the problem.
fn number_error(source: &(dyn std::error::Error + 'static), argument: &str, value: &str) -> Option<String> {
    if let Some(error) = source.downcast_ref::<ParseIntError>() {
        return Some(match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "the number is too large".into(),
            _ if value.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) => {
                "must not be negative".into()
            }
            _ => "expected a whole number".into(),
        });
    }
    if source.is::<ParseFloatError>() {
        let range = if argument.starts_with("--importance") { " from 0 to 1" } else { "" };
        return Some(format!("expected a number{range}"));
    }
    // Clap's message for a number out of range: `0 is not in 1..=4294967295`.
    let said = source.to_string();
    let (number, range) = said.split_once(" is not in ")?;
    let (least, most) = range.split_once("..=").or_else(|| range.split_once(".."))?;
    let (number, least) = (number.parse::<i128>().ok()?, least.parse::<i128>().ok()?);
    Some(match number {
        _ if number < 0 && least == 0 => "must not be negative".into(),
        _ if number < least => format!("must be at least {least}"),
        _ => format!("must be at most {most}"),
    })
}

fn with_template(command: Command) -> Command {
    command.help_template(TEMPLATE).mut_args(with_negative_numbers).mut_subcommands(with_template)
}

/// Lets an argument take a negative number, so that the error is about the number. Clap takes it for an unknown option.
fn with_negative_numbers(argument: Arg) -> Arg {
    match argument.get_action().takes_values() && !argument.is_allow_hyphen_values_set() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    }
}

fn groups(command: &Command) -> String {
    let header = *Styles::default().get_header();
    let mut text = String::new();
    for (name, members) in GROUPS {
        let _ = writeln!(text, "{header}{name}:{header:#}");
        for member in members {
            let about = command.find_subcommand(member).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {member:<11}  {about}");
        }
    }
    text
}

fn options() -> Command {
    Global::augment_args(Command::new("cork"))
        .version(env!("CARGO_PKG_VERSION"))
        .about("Options that every command takes, before or after its name")
        .help_template("{about-with-newline}\n{all-args}{after-help}")
        .after_help(VARIABLES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::WIDTH;

    #[test]
    fn the_help_is_consistent() {
        command().debug_assert();
        options().debug_assert();
    }

    #[test]
    fn no_example_is_wrapped() {
        fn check(command: &Command) {
            let texts = [command.get_after_help(), command.get_after_long_help()];
            for line in texts
                .into_iter()
                .flatten()
                .flat_map(|text| text.to_string().lines().map(str::to_owned).collect::<Vec<_>>())
            {
                let width = line.chars().count();
                assert!(width <= WIDTH, "{}: {width} characters: {line}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&command());
    }

    #[test]
    fn values_are_explained_in_plain_words() {
        for (arguments, expected) in [
            (
                &["task", "list", "--limit", "x"][..],
                "invalid value 'x' for '--limit <NUMBER>': expected a whole number",
            ),
            (&["board", "show", "--at", "0"], "invalid value '0' for '--at <REV>': must be at least 1"),
            (&["task", "list", "--limit", "99999999999999999999"], "the number is too large"),
            (&["memory", "set", "a", "1", "--if-version=-1"], "must not be negative"),
            (&["task", "list", "--limit", "-1"], "invalid value '-1' for '--limit <NUMBER>': must not be negative"),
            (&["memory", "set", "a", "1", "--expiry-days", "-3"], "must not be negative"),
            (&["board", "diff", "-2"], "must not be negative"),
            (&["memory", "set", "a", "1", "--importance", "x"], "expected a number from 0 to 1"),
            (
                &["review", "T-1", "fine"],
                "invalid value 'fine' for '<VERDICT>': must be one of approve, rework, reject (also: approved, \
                 needs_rework, rejected)",
            ),
        ] {
            let command = command();
            let error = command.clone().try_get_matches_from(["cork"].iter().chain(arguments)).unwrap_err();
            let said = in_plain_words(&command, error).to_string();
            assert!(said.contains(expected), "{arguments:?}: {said}");
        }
    }

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, members)| members.iter().copied()).collect();
        grouped.sort_unstable();
        let command = Cli::command();
        let mut commands: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }
}
