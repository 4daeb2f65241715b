//! Types of settings: their values, parsing and display.

use std::path::PathBuf;
use std::time::Duration;

use corkboard::store::ServerUrl;

use super::ResolvedSettings;

/// A value as given by the user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RawSetting {
    /// From a variable, a flag or a string in the file.
    Text(String),
    Integer(u64),
    Switch(bool),
    List(Vec<String>),
    /// Any other value, such as a negative number, in words for an error message.
    Other(String),
}

/// The type of a setting, with access to its value.
pub(crate) enum SettingField {
    Text(fn(&mut ResolvedSettings) -> &mut String),
    /// A host and a port.
    Address(fn(&mut ResolvedSettings) -> &mut String),
    OptionalText(fn(&mut ResolvedSettings) -> &mut Option<String>),
    /// A URL. Its password is not shown.
    Url(fn(&mut ResolvedSettings) -> &mut Option<String>),
    Path(fn(&mut ResolvedSettings) -> &mut Option<PathBuf>),
    List(fn(&mut ResolvedSettings) -> &mut Vec<String>),
    Switch(fn(&mut ResolvedSettings) -> &mut bool),
    /// A number with a minimum.
    Count(u64, fn(&mut ResolvedSettings) -> &mut u64),
    /// A number of bytes with a minimum.
    Size(u64, fn(&mut ResolvedSettings) -> &mut u64),
    /// A duration with a minimum.
    Time(Duration, fn(&mut ResolvedSettings) -> &mut Duration),
    /// A value with its own syntax.
    Words {
        allowed: &'static str,
        set: fn(&mut ResolvedSettings, &str) -> bool,
        shown: fn(&ResolvedSettings) -> Option<String>,
    },
}

impl SettingField {
    /// Sets the value. Returns false if it is invalid.
    pub(crate) fn set(&self, settings: &mut ResolvedSettings, given: &RawSetting) -> bool {
        match (self, given) {
            (Self::Text(field) | Self::Address(field), RawSetting::Text(text)) if !text.trim().is_empty() => {
                put(field(settings), text.clone())
            }
            // An empty value would silently select the default store.
            (Self::Url(_), RawSetting::Text(text)) if text.trim().is_empty() => false,
            (Self::OptionalText(_), RawSetting::Text(text)) if text.trim().is_empty() => false,
            (Self::OptionalText(field) | Self::Url(field), RawSetting::Text(text)) => {
                put(field(settings), Some(text.clone()))
            }
            (Self::Path(field), RawSetting::Text(text)) => put(field(settings), Some(PathBuf::from(text))),
            (Self::List(field), RawSetting::List(list)) => put(field(settings), list.clone()),
            (Self::List(field), RawSetting::Text(text)) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                put(field(settings), parts.map(Into::into).collect())
            }
            (Self::Switch(field), RawSetting::Switch(is_on)) => put(field(settings), *is_on),
            (Self::Switch(field), RawSetting::Text(text)) => match text.as_str() {
                "true" | "yes" | "on" | "1" => put(field(settings), true),
                "false" | "no" | "off" | "0" => put(field(settings), false),
                _ => false,
            },
            (Self::Count(least, field), given) => {
                let count = match given {
                    RawSetting::Integer(number) => Some(*number),
                    RawSetting::Text(text) => text.parse().ok(),
                    _ => None,
                };
                count.filter(|count| count >= least).is_some_and(|count| put(field(settings), count))
            }
            (Self::Size(least, field), given) => {
                let size = match given {
                    RawSetting::Integer(number) => Some(*number),
                    RawSetting::Text(text) => size(text),
                    _ => None,
                };
                size.filter(|size| size >= least).is_some_and(|size| put(field(settings), size))
            }
            (Self::Time(least, field), RawSetting::Text(text)) => {
                duration(text).filter(|time| time >= least).is_some_and(|time| put(field(settings), time))
            }
            (Self::Words { set, .. }, RawSetting::Text(text)) => set(settings, text),
            _ => false,
        }
    }

    /// The value as text that `set` accepts, or None if there is none.
    pub(crate) fn shown(&self, settings: &mut ResolvedSettings) -> Option<String> {
        match self {
            Self::Text(field) | Self::Address(field) => Some(field(settings).clone()),
            Self::OptionalText(field) => field(settings).clone(),
            Self::Url(field) => field(settings).as_deref().map(|url| ServerUrl::new(url).to_string()),
            Self::Path(field) => field(settings).as_ref().map(|path| path.display().to_string()),
            Self::List(field) => Some(field(settings).join(",")).filter(|list| !list.is_empty()),
            Self::Switch(field) => Some(field(settings).to_string()),
            Self::Count(_, field) => Some(field(settings).to_string()),
            Self::Size(_, field) => Some(in_bytes(*field(settings))),
            Self::Time(_, field) => Some(in_time(*field(settings))),
            Self::Words { shown, .. } => shown(settings),
        }
    }

    /// The given value for an error message. Hides URLs, which can contain passwords.
    pub(crate) fn quoted(&self, given: &RawSetting) -> String {
        match (self, given) {
            (Self::Url(_), _) => "(not shown, because it may contain a password)".into(),
            (_, RawSetting::Text(text)) => format!("{text:?}"),
            (_, RawSetting::Integer(number)) => number.to_string(),
            (_, RawSetting::Switch(is_on)) => is_on.to_string(),
            (_, RawSetting::List(list)) => format!("{list:?}"),
            (_, RawSetting::Other(what)) => what.clone(),
        }
    }

    /// What to give instead of an invalid value.
    pub(crate) fn expected(&self, given: &RawSetting) -> String {
        let is_text = match self {
            Self::List(_) | Self::Switch(_) | Self::Count(..) | Self::Size(..) => false,
            Self::Text(_) | Self::Address(_) | Self::OptionalText(_) | Self::Url(_) | Self::Path(_) => true,
            Self::Time(..) | Self::Words { .. } => true,
        };
        let quotes = if is_text && !matches!(given, RawSetting::Text(_)) { "; put it in quotes" } else { "" };
        format!("{}{quotes}", self.allowed())
    }

    pub(crate) fn allowed(&self) -> String {
        match self {
            Self::Text(_) | Self::OptionalText(_) => "text".into(),
            Self::Address(_) => "an address, such as 127.0.0.1:7117".into(),
            Self::Url(_) => "a URL".into(),
            Self::Path(_) => "a path".into(),
            Self::List(_) => "a list: [\"a\", \"b\"] in the file, a,b elsewhere".into(),
            Self::Switch(_) => "true or false".into(),
            Self::Count(least, _) => format!("a whole number, at least {least}"),
            Self::Size(least, _) => {
                let bound = if *least == 0 { String::new() } else { format!(" of at least {}", in_bytes(*least)) };
                format!("a size{bound}, such as 1048576, \"64KiB\", \"8MiB\" or \"1GiB\"")
            }
            Self::Time(Duration::ZERO, _) => "a duration, such as 250ms, 30s, 5m, 12h or 7d".into(),
            Self::Time(least, _) => {
                format!("a duration of at least {}, such as 250ms, 30s, 5m, 12h or 7d", in_time(*least))
            }
            Self::Words { allowed, .. } => (*allowed).into(),
        }
    }
}

fn put<T>(field: &mut T, value: T) -> bool {
    *field = value;
    true
}

/// Maximum duration: a hundred years.
const LONGEST: u64 = 100 * 365 * 24 * 60 * 60 * 1000;
const TIMES: [(&str, u64); 5] =
    [("d", 24 * 60 * 60 * 1000), ("h", 60 * 60 * 1000), ("m", 60 * 1000), ("s", 1000), ("ms", 1)];
const SIZES: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

pub(super) fn duration(text: &str) -> Option<Duration> {
    let milliseconds = with_unit(text, &TIMES)?;
    (milliseconds <= LONGEST).then(|| Duration::from_millis(milliseconds))
}

pub(super) fn in_time(duration: Duration) -> String {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if milliseconds == 0 { "0s".into() } else { in_units(milliseconds, &TIMES) }
}

fn size(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| with_unit(text, &SIZES))
}

fn in_bytes(bytes: u64) -> String {
    in_units(bytes, &SIZES)
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let at = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(at)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// In the largest unit that gives a whole number.
fn in_units(number: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, factor): &&(&str, u64)| number > 0 && number.is_multiple_of(*factor);
    let (unit, factor) = units.iter().find(fits).or(units.last()).copied().unwrap_or(("", 1));
    format!("{}{unit}", number / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_as_they_are_shown() {
        for text in ["250ms", "1s", "90s", "5m", "36h", "7d", "0s"] {
            assert_eq!(duration(text).map(in_time).as_deref(), Some(text));
        }
        assert_eq!(duration("3600s"), Some(Duration::from_secs(3600)));
        for wrong in ["", "5", "s", "-1s", "1.5s", "1 week", "99999999999d", "18446744073709551615d"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
        for text in ["0B", "1B", "1000B", "64KiB", "8MiB", "3GiB"] {
            assert_eq!(size(text).map(in_bytes).as_deref(), Some(text));
        }
        assert_eq!((size("1024"), size("1 KiB"), size("1kb"), size("-1")), (Some(1024), Some(1024), None, None));
    }
}
