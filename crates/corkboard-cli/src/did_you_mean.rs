//! "Did you mean …?": which names to suggest for a mistyped command, option or value.

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, Error};
use strsim::osa_distance;

use crate::value_parsers::text_argument;

/// Minimum length of a beginning of a name to suggest the name for.
const SHORTEST_BEGINNING: usize = 3;

/// Removes clap's suggestions of names that have only some letters in common with what the user typed.
pub(crate) fn suggest_only_similar(error: &mut Error) {
    for (typed, suggested) in [
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ] {
        let Some(ContextValue::String(typed)) = error.get(typed).cloned() else { continue };
        let mut names = match error.remove(suggested) {
            Some(ContextValue::String(name)) => vec![name],
            Some(ContextValue::Strings(names)) => names,
            _ => continue,
        };
        names.retain(|name| is_similar(&typed, name));
        match names.pop() {
            Some(only) if names.is_empty() => error.insert(suggested, ContextValue::String(only)),
            Some(last) => error.insert(suggested, ContextValue::Strings([names, vec![last]].concat())),
            // Clap would print an empty line for an empty list of other tips.
            None => error.remove(ContextKind::Suggested),
        };
    }
    // The tip to pass a mistyped option as a value.
    if matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(typed)) if typed.starts_with("--")) {
        error.remove(ContextKind::Suggested);
    }
}

/// Whether at most every third letter differs, or `typed` is the beginning of the name.
fn is_similar(typed: &str, name: &str) -> bool {
    let (typed, name) = (typed.trim_start_matches('-'), name.trim_start_matches('-'));
    let letters = typed.chars().count().max(name.chars().count());
    osa_distance(typed, name) * 3 <= letters || (typed.len() >= SHORTEST_BEGINNING && name.starts_with(typed))
}

/// Whether the command that the user gave takes a text that may begin with a hyphen. Clap takes a mistyped option for it
/// and then reports the next argument as one too many.
pub(crate) fn takes_any_text(command: &Command) -> bool {
    given_command(command).get_positionals().any(Arg::is_allow_hyphen_values_set)
}

/// Explains an argument too many of a command that takes any text: it follows a mistyped option, or has no quotes.
pub(crate) fn explain_extra_argument(error: &mut Error, command: &Command) {
    let command = given_command(command);
    match mistyped_option(command) {
        Some(option) => explain_option(error, command, option),
        None => {
            let tip = vec!["put the text in quotes".into()];
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tip));
        }
    }
}

/// Changes the error about the text after a mistyped option into one about the option, which clap took for a text.
fn explain_option(error: &mut Error, command: &Command, option: String) {
    let names = command.get_arguments().filter_map(Arg::get_long).map(|name| format!("--{name}"));
    match names.min_by_key(|name| osa_distance(&option, name)).filter(|name| is_similar(&option, name)) {
        Some(name) => error.insert(ContextKind::SuggestedArg, ContextValue::String(name)),
        None => None,
    };
    error.insert(ContextKind::InvalidArg, ContextValue::String(option));
}

/// The command that the user gave.
fn given_command(mut command: &Command) -> &Command {
    for word in std::env::args() {
        command = command.find_subcommand(&word).unwrap_or(command);
    }
    command
}

/// The first word that has the form of an option, but is none of this command.
fn mistyped_option(command: &Command) -> Option<String> {
    let is_known = |word: &String| {
        let name = word.split('=').next().unwrap_or_default().trim_start_matches('-');
        command.get_arguments().any(|argument| {
            argument.get_long() == Some(name) || argument.get_all_aliases().is_some_and(|names| names.contains(&name))
        })
    };
    std::env::args().find(|word| text_argument(word).is_err() && !is_known(word))
}
