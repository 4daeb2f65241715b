//! How `--help` looks, and `cork help`: commands in groups, and the global options on a page of their own.

use std::fmt::Write;

use clap::builder::Styles;
use clap::{Args, Command, CommandFactory, FromArgMatches};

use crate::args::{Cli, Global};

/// Every command of `cork`, in the order in which `cork --help` lists them.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Run", &["serve", "token"]),
    ("Agent memory", &["memory", "scope", "notebook", "handoff", "context", "tools", "activity"]),
    ("Boards", &["board", "task"]),
    ("People", &["review", "approve", "reject", "choose", "nudge"]),
    ("Knowledge", &["core", "learn"]),
    ("Data", &["snapshot", "export", "import", "migrate"]),
    ("Operations", &["stats", "doctor", "gc", "compact", "forget", "config", "completions", "help"]),
];

const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

{all-args}

Global options: see `cork help options`{after-help}";

const TOPICS: &str = "\
Help on a command:  cork help COMMAND
Global options:     cork help options
Exit codes:         cork help exit-codes";

const VARIABLES: &str = "\
A flag overrides its variable, and a variable overrides the settings file.
Settings without a flag have variables too; `cork config show --json` lists them.
CORK_TOKEN is the token to send to a server. It has no flag.";

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  something is broken: damaged data or data of a newer version, a disk failure, an incomplete copy on stdout, a bug
  2  invalid command or value
  3  not found
  4  conflict: someone else changed it first; the error shows the current state
  5  a limit is reached
  6  permission denied
  7  the store or server is unavailable, busy or locked; retrying may help
  8  outcome unknown: check before you retry
  9  `cork board complete` ended the board, but not all of its tasks were completed
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
        Cli::from_arg_matches(&command.try_get_matches_from(words)?)
    }
}

/// Reads the command line. Help and the version come as errors too, as with clap.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
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
    let after = format!("{}\n{examples}\n\n{TOPICS}", groups(&command));
    command
        .override_usage("cork [OPTIONS] <COMMAND>")
        .help_template("{about-with-newline}\n{usage-heading} {usage}{after-help}")
        .after_help(after)
}

fn with_template(command: Command) -> Command {
    command.help_template(TEMPLATE).mut_subcommands(with_template)
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

    #[test]
    fn the_help_is_consistent() {
        command().debug_assert();
        options().debug_assert();
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
