//! Parsers for the values of arguments.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

/// For texts that may begin with a hyphen: refuses what is rather a mistyped option. After `--`, anything goes.
pub(crate) fn text_argument(argument: &str) -> Result<String, String> {
    let is_option = argument
        .strip_prefix("--")
        .is_some_and(|name| name.starts_with(|first: char| first.is_ascii_lowercase()) && !name.contains(' '));
    if is_option && !std::env::args_os().any(|argument| argument == "--") {
        return Err(format!("no such option; if it is meant as text, write it as `-- {argument}`"));
    }
    Ok(argument.to_owned())
}

/// A name that the log can show.
pub(crate) fn name_argument(argument: &str) -> Result<String, String> {
    if argument.trim().is_empty() || argument.contains(char::is_control) {
        return Err("a name must not be blank, nor contain control characters".into());
    }
    Ok(argument.to_owned())
}

pub(crate) fn time_argument(argument: &str) -> Result<Timestamp, String> {
    argument.parse().map_err(|_| "not a time as RFC 3339 writes it, such as 2030-12-31T23:59:59Z".into())
}

/// A time, or how long from now: `30d`, `12h`, `45m`, `90s`.
pub(crate) fn moment_argument(argument: &str) -> Result<Timestamp, String> {
    let wrong =
        || format!("{argument:?} is neither a length of time, such as 30d or 12h, nor a time as RFC 3339 writes it");
    let later = match length(argument) {
        Some(length) => length.ok_or_else(wrong)?,
        None => return argument.parse().map_err(|_| wrong()),
    };
    Timestamp::now().checked_add(later).map_err(|_| format!("{argument:?} is too long"))
}

/// A length of time: `30d`, `12h`, `45m`, `90s`.
pub(crate) fn length_argument(argument: &str) -> Result<SignedDuration, String> {
    length(argument).flatten().ok_or_else(|| format!("{argument:?} is not a length of time such as 30d or 12h"))
}

/// None if it does not end in a unit of time, and no length if what precedes the unit is not a number.
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
    serde_json::from_str(argument).map_err(|error| format!("not a JSON object: {error}"))
}

/// A number of seconds, fractions allowed.
pub(crate) fn seconds(argument: &str) -> Result<f64, String> {
    match argument.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(seconds),
        Ok(seconds) if seconds < 0.0 => Err("a length of time is not negative".into()),
        _ => Err("not a number of seconds".into()),
    }
}
