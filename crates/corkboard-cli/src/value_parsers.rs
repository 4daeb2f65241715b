//! Parsers for the values of arguments.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use corkboard::boards::{FailurePolicy, TriggerRule};
use corkboard::cores::Trust;
use corkboard::{MemoryKind, Role, json_error};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

/// A parser for one of these values. Each has a name and an optional help text.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    values: impl IntoIterator<Item = (&'static str, T, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let values: Vec<_> = values.into_iter().collect();
    let names: Vec<PossibleValue> = values
        .iter()
        .map(|(name, _, help)| match *help {
            "" => PossibleValue::new(*name),
            help => PossibleValue::new(*name).help(help),
        })
        .collect();
    PossibleValuesParser::new(names).try_map(move |given| {
        let found = values.iter().find(|(name, ..)| *name == given);
        found.map(|(_, value, _)| value.clone()).ok_or("unknown value")
    })
}

pub(crate) fn role() -> impl TypedValueParser<Value = Role> {
    one_of(Role::ALL.map(|role| (role.as_str(), role, "")))
}

pub(crate) fn memory_kind() -> impl TypedValueParser<Value = MemoryKind> {
    one_of([
        ("fact", MemoryKind::Fact, ""),
        ("event", MemoryKind::Event, ""),
        ("insight", MemoryKind::Insight, ""),
        ("preference", MemoryKind::Preference, ""),
        ("correction", MemoryKind::Correction, ""),
        ("conversation", MemoryKind::Conversation, ""),
    ])
}

pub(crate) fn trust() -> impl TypedValueParser<Value = Trust> {
    one_of([
        ("own", Trust::Own, "From a person who works with this store"),
        ("agent", Trust::Agent, "From an agent"),
        ("outside", Trust::Outside, "From elsewhere: a web page, a tool, a stranger"),
    ])
}

pub(crate) fn trigger_rule() -> impl TypedValueParser<Value = TriggerRule> {
    let success = "All finished, none failed, and at least one succeeded";
    one_of([
        ("all_success", TriggerRule::AllSuccess, "All succeeded (ignoring options that were not chosen)"),
        ("all_done", TriggerRule::AllDone, "All finished, with any result"),
        ("one_success", TriggerRule::OneSuccess, "At least one succeeded"),
        ("one_failed", TriggerRule::OneFailed, "At least one failed"),
        ("none_failed", TriggerRule::NoneFailed, "All finished, and none failed"),
        ("none_failed_min_one_success", TriggerRule::NoneFailedMinOneSuccess, success),
    ])
}

pub(crate) fn failure_policy() -> impl TypedValueParser<Value = FailurePolicy> {
    one_of([
        ("skip_dependents", FailurePolicy::SkipDependents, "Cancel tasks that can no longer start because of it"),
        ("fail_fast", FailurePolicy::FailFast, "Cancel all unfinished tasks"),
        ("continue", FailurePolicy::Continue, "Continue as if it had succeeded"),
    ])
}

/// For texts that may start with a hyphen: refuses what looks like a mistyped option, unless it follows `--`.
pub(crate) fn text_argument(argument: &str) -> Result<String, String> {
    let is_option = argument
        .strip_prefix("--")
        .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_lowercase()) && !name.contains(' '));
    if is_option && !std::env::args_os().any(|argument| argument == "--") {
        return Err(format!("unknown option; to pass it as text, write `-- {argument}`"));
    }
    Ok(argument.to_owned())
}

/// A name for the log.
pub(crate) fn name_argument(argument: &str) -> Result<String, String> {
    if argument.trim().is_empty() || argument.contains(char::is_control) {
        return Err("a name must not be blank or contain control characters".into());
    }
    Ok(argument.to_owned())
}

pub(crate) fn time_argument(argument: &str) -> Result<Timestamp, String> {
    argument.parse().map_err(|_| "expected an RFC 3339 time, such as 2030-12-31T23:59:59Z".into())
}

/// A time, or a duration from now: `30d`, `12h`, `45m`, `90s`.
pub(crate) fn moment_argument(argument: &str) -> Result<Timestamp, String> {
    let wrong = || {
        format!(
            "invalid time {argument:?}: expected a duration, such as 30d or 12h, or an RFC 3339 time, such as \
             2030-12-31T23:59:59Z"
        )
    };
    let later = match length(argument) {
        Some(length) => length.ok_or_else(wrong)?,
        None => return argument.parse().map_err(|_| wrong()),
    };
    Timestamp::now().checked_add(later).map_err(|_| format!("{argument:?} is too long"))
}

pub(crate) fn length_argument(argument: &str) -> Result<SignedDuration, String> {
    length(argument).flatten().ok_or_else(|| format!("invalid duration {argument:?}: expected a form like 30d or 12h"))
}

/// None if the text does not end in a unit of time; Some(None) if no number precedes the unit.
fn length(argument: &str) -> Option<Option<SignedDuration>> {
    let (number, unit) = argument.split_at_checked(argument.len().saturating_sub(1))?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return None,
    };
    Some(number.parse::<u32>().ok().map(|length| SignedDuration::from_secs(i64::from(length) * seconds)))
}

pub(crate) fn object_argument(argument: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(argument).map_err(|error| match json_error::is_json(argument.as_bytes()) {
        true => json_error::wording(&error),
        false => "expected a JSON object".into(),
    })
}

pub(crate) fn seconds(argument: &str) -> Result<f64, String> {
    match argument.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(seconds),
        Ok(seconds) if seconds < 0.0 => Err("a duration must not be negative".into()),
        _ => Err("expected a number of seconds".into()),
    }
}
