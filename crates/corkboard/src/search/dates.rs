//! Dates that a query mentions: "8 May 2023", "2023-05", "last Tuesday", "two weeks ago".

use std::ops::RangeInclusive;

use jiff::civil::{Date, Weekday};
use jiff::{Span, ToSpan};

/// A range of days, counted from 1970-01-01.
pub(super) type Days = RangeInclusive<i32>;

/// A date in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MentionedDate {
    /// Parts of a calendar date. Without a year: in every year.
    Calendar { year: Option<i16>, month: Option<i8>, day: Option<i8> },
    /// From this many days before the day of the search until that many.
    Recent { from: i64, until: i64 },
    /// The calendar week this many weeks before the day of the search.
    Week { ago: i64 },
    /// The calendar month this many months before the day of the search.
    Month { ago: i64 },
    /// The calendar year this many years before the day of the search.
    Year { ago: i16 },
    /// The last such day of the week before the day of the search.
    Last(Weekday),
}

/// The number of a day, counted from 1970-01-01.
pub(super) fn day_number(date: Date) -> i32 {
    let days = date.since((jiff::Unit::Day, Date::constant(1970, 1, 1))).map(|span| span.get_days());
    days.unwrap_or_default()
}

impl MentionedDate {
    /// The days that it means on a day, among the years that matter.
    pub(super) fn days(&self, today: Date, years: RangeInclusive<i16>) -> Vec<Days> {
        let whole = |year, month, day| calendar_days(year, month, day);
        let days_before = |date: Date, days: i64| date.saturating_sub(Span::new().days(days.clamp(0, 1_000_000)));
        let range = |first: Date, last: Date| Some(day_number(first)..=day_number(last));
        match *self {
            Self::Calendar { year: Some(year), month, day } => whole(year, month, day).into_iter().collect(),
            Self::Calendar { year: None, month, day } => {
                years.filter_map(|year| calendar_days(year, month, day)).collect()
            }
            Self::Recent { from, until } => {
                range(days_before(today, from), days_before(today, until.max(0))).into_iter().collect()
            }
            Self::Week { ago } => {
                let monday = days_before(today, i64::from(today.weekday().to_monday_zero_offset()) + 7 * ago);
                range(monday, monday.saturating_add(6.days())).into_iter().collect()
            }
            Self::Month { ago } => {
                let month = today.first_of_month().saturating_sub(Span::new().months(ago.clamp(0, 100_000)));
                range(month, month.last_of_month()).into_iter().collect()
            }
            Self::Year { ago } => whole(today.year().saturating_sub(ago), None, None).into_iter().collect(),
            Self::Last(weekday) => {
                let back =
                    (today.weekday().to_monday_zero_offset() - weekday.to_monday_zero_offset() - 1).rem_euclid(7);
                let day = days_before(today, i64::from(back) + 1);
                range(day, day).into_iter().collect()
            }
        }
    }
}

fn calendar_days(year: i16, month: Option<i8>, day: Option<i8>) -> Option<Days> {
    let first = Date::new(year, month.unwrap_or(1), day.unwrap_or(1)).ok()?;
    let last = match (month, day) {
        (_, Some(_)) => first,
        (Some(_), None) => first.last_of_month(),
        (None, None) => first.last_of_year(),
    };
    Some(day_number(first)..=day_number(last))
}

/// The days that a date in a filter means, such as `2023-05-08`, `2023-05` or `2023`.
pub(super) fn filter_days(text: &str) -> Option<Days> {
    match iso(text) {
        Some((year, month, day)) => calendar_days(year, Some(month), day),
        None => calendar_days(year(text)?, None, None),
    }
}

/// The dates that a text mentions, in its order.
pub(super) fn mentioned_dates(text: &str) -> Vec<MentionedDate> {
    let lower = text.to_lowercase();
    let is_part = |character: char| character.is_alphanumeric() || character == '-';
    let words: Vec<&str> = lower
        .split(|character| !is_part(character))
        .map(|word| word.trim_matches('-'))
        .filter(|it| !it.is_empty())
        .collect();
    let mut found = Vec::new();
    let mut rest = words.as_slice();
    let mut before = "";
    while let Some(word) = rest.first() {
        let (date, length) = match date_at(rest, before) {
            Some((date, length)) => (Some(date), length),
            None => (None, 1),
        };
        found.extend(date);
        before = word;
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

/// The date that words begin with, and its number of words.
fn date_at(words: &[&str], before: &str) -> Option<(MentionedDate, usize)> {
    let word = *words.first()?;
    let next = |at: usize| words.get(at).copied().unwrap_or_default();
    let calendar = |year, month, day| MentionedDate::Calendar { year, month, day };
    if let Some((year, month, day)) = iso(word) {
        return Some((calendar(Some(year), Some(month), day), 1));
    }
    if let Some(day) = day_of_month(word) {
        let of = usize::from(next(1) == "of");
        let Some(month) = month(next(1 + of)) else { return relative(words) };
        return Some(match year(next(2 + of)) {
            Some(year) => (calendar(Some(year), Some(month), Some(day)), 3 + of),
            None => (calendar(None, Some(month), Some(day)), 2 + of),
        });
    }
    if let Some(number) = month(word) {
        if let Some(day) = day_of_month(next(1)) {
            return Some(match year(next(2)) {
                Some(year) => (calendar(Some(year), Some(number), Some(day)), 3),
                None => (calendar(None, Some(number), Some(day)), 2),
            });
        }
        let of = usize::from(next(1) == "of");
        if let Some(year) = year(next(1 + of)) {
            return Some((calendar(Some(year), Some(number), None), 2 + of));
        }
        // "may" and "march" are words, too, and short forms are not used alone.
        let is_meant = match word {
            "may" | "march" => PREPOSITIONS.contains(&before),
            _ => MONTHS.contains(&word),
        };
        return is_meant.then(|| (calendar(None, Some(number), None), 1));
    }
    if let Some(year) = year(word) {
        return Some((calendar(Some(year), None, None), 1));
    }
    relative(words)
}

/// Words that show that "may" or "march" is a month.
const PREPOSITIONS: [&str; 9] = ["in", "since", "during", "of", "last", "next", "this", "early", "late"];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// `2023-05-08` or `2023-05`.
fn iso(word: &str) -> Option<(i16, i8, Option<i8>)> {
    let mut parts = word.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next());
    if year.len() != 4 || month.len() != 2 || day.is_some_and(|day| day.len() != 2) || parts.next().is_some() {
        return None;
    }
    let day = match day {
        Some(day) => Some(day.parse().ok()?),
        None => None,
    };
    let (year, month) = (year.parse().ok()?, month.parse().ok()?);
    Date::new(year, month, day.unwrap_or(1)).is_ok().then_some((year, month, day))
}

fn day_of_month(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    let is_number = matches!(digits.len(), 1 | 2) && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|day| is_number && (1..=31).contains(day))
}

fn month(word: &str) -> Option<i8> {
    let word = if word == "sept" { "sep" } else { word };
    let at = MONTHS.iter().position(|name| *name == word || (word.len() == 3 && name.starts_with(word)))?;
    i8::try_from(at + 1).ok()
}

/// A year of the last and of this century.
fn year(word: &str) -> Option<i16> {
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    word.parse().ok().filter(|_| is_year)
}

fn relative(words: &[&str]) -> Option<(MentionedDate, usize)> {
    let (first, second) = (*words.first()?, words.get(1).copied().unwrap_or_default());
    match (first, second) {
        ("today", _) => return Some((MentionedDate::Recent { from: 0, until: 0 }, 1)),
        ("yesterday", _) => return Some((MentionedDate::Recent { from: 1, until: 1 }, 1)),
        ("this" | "last", _) => {
            let ago = i16::from(first == "last");
            let weekday = || WEEKDAYS.iter().position(|day| *day == second);
            let date = match second {
                "week" => MentionedDate::Week { ago: ago.into() },
                "month" => MentionedDate::Month { ago: ago.into() },
                "year" => MentionedDate::Year { ago },
                _ => MentionedDate::Last(Weekday::from_monday_zero_offset(i8::try_from(weekday()?).ok()?).ok()?),
            };
            return Some((date, 2));
        }
        _ => {}
    }
    let number: i64 = match first {
        "a" | "an" | "one" => 1,
        "two" => 2,
        "three" => 3,
        "four" => 4,
        "five" => 5,
        "six" => 6,
        digits => digits.parse().ok().filter(|number| (1..=10_000).contains(number))?,
    };
    // Longer times are remembered less exactly.
    let (days, blur) = match second.strip_suffix('s').unwrap_or(second) {
        "day" => (1, 0),
        "week" => (7, 3),
        "month" => (30, 15),
        "year" => (365, 90),
        _ => return None,
    };
    let ago = number * days;
    (words.get(2) == Some(&"ago")).then(|| (MentionedDate::Recent { from: ago + blur, until: ago - blur }, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_recognized() {
        // A Thursday.
        let today = Date::constant(2026, 11, 19);
        for (text, expected) in [
            ("What did we decide on 8 May 2023?", &[("2023-05-08", "2023-05-08")] as &[_]),
            ("the 8th of May, 2023", &[("2023-05-08", "2023-05-08")]),
            ("May 8, 2023", &[("2023-05-08", "2023-05-08")]),
            ("Sept. 3rd 2024", &[("2024-09-03", "2024-09-03")]),
            ("(2023-05-08)", &[("2023-05-08", "2023-05-08")]),
            ("2024-02", &[("2024-02-01", "2024-02-29")]),
            ("in February of 2023 and in 2025", &[("2023-02-01", "2023-02-28"), ("2025-01-01", "2025-12-31")]),
            ("8 May", &[("2025-05-08", "2025-05-08"), ("2026-05-08", "2026-05-08")]),
            ("since may", &[("2025-05-01", "2025-05-31"), ("2026-05-01", "2026-05-31")]),
            ("December", &[("2025-12-01", "2025-12-31"), ("2026-12-01", "2026-12-31")]),
            ("who may march, sat or dec", &[]),
            ("31 february, 2023-13-01, 1850, 8 apples, 123", &[]),
            ("today and yesterday", &[("2026-11-19", "2026-11-19"), ("2026-11-18", "2026-11-18")]),
            ("last Tuesday", &[("2026-11-17", "2026-11-17")]),
            ("last Thursday", &[("2026-11-12", "2026-11-12")]),
            ("this week", &[("2026-11-16", "2026-11-22")]),
            ("last month", &[("2026-10-01", "2026-10-31")]),
            ("last year", &[("2025-01-01", "2025-12-31")]),
            ("two weeks ago", &[("2026-11-02", "2026-11-08")]),
            ("3 days ago", &[("2026-11-16", "2026-11-16")]),
            ("99999999999 days ago, last but not least", &[]),
        ] {
            let dates = mentioned_dates(text);
            let days: Vec<Days> = dates.iter().flat_map(|date| date.days(today, 2025..=2026)).collect();
            let number = |date: &str| day_number(date.parse().unwrap());
            let expected: Vec<Days> = expected.iter().map(|(first, last)| number(first)..=number(last)).collect();
            assert_eq!(days, expected, "{text}");
        }
    }
}
