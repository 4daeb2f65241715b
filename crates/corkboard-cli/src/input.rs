//! What a person or a pipe gives: values, texts, times, consent.

use std::io::{BufRead, IsTerminal, Read};

use corkboard::{LimitName, Limits, Refusal};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::exit::{Failure, say};

/// The argument, or all of stdin where the argument is `-`, less one newline at its end.
pub(crate) fn text_or_stdin(argument: String) -> Result<String, Failure> {
    if argument != "-" {
        return Ok(argument);
    }
    let allowed = Limits::default().command_bytes;
    let mut bytes = Vec::new();
    // One byte for the newline, and one to notice that it is too much.
    std::io::stdin()
        .take(allowed + 2)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::invalid("stdin", format!("stdin cannot be read: {error}")))?;
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    let used = bytes.len() as u64;
    if used > allowed {
        let too_much = Refusal::Limit { limit: LimitName::CommandBytes, used, allowed };
        return Err(Failure::Library(too_much.into()));
    }
    String::from_utf8(bytes).map_err(|error| Failure::invalid("stdin", format!("stdin is not UTF-8 text: {error}")))
}

/// With which some editors begin a file of UTF-8.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// JSON without the mark that may be before it. Texts keep theirs: they are kept as they came.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

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

/// Asks before something that cannot be undone, unless `--yes` said so already. Without a terminal there is nobody to ask.
pub(crate) fn confirm(consent: Consent, action: &str) -> Result<(), Failure> {
    if consent == Consent::Given {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        let message = format!("this would {action}, and there is no terminal to ask at");
        return Err(Failure::invalid("not_confirmed", message).hint("if you mean it, add --yes"));
    }
    say(&format!("This will {action}. Go on? [y/N]"));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    match (read, answer.trim().to_ascii_lowercase().as_str()) {
        (Ok(_), "y" | "yes") => Ok(()),
        _ => Err(Failure::invalid("not_confirmed", "nothing was changed")),
    }
}

/// Whether the user has agreed beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    Given,
    ToBeAsked,
}

impl Consent {
    /// What `--yes` says.
    pub(crate) fn from_flag(yes: bool) -> Self {
        if yes { Self::Given } else { Self::ToBeAsked }
    }
}
