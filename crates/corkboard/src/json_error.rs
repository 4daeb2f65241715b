//! Errors of the JSON parser in plain words. serde's own words name Rust types and put the position last.

use serde::de::IgnoredAny;

/// What is wrong with a JSON text, after its position: `line 1, column 13: task: expected a string, found 5`. `what` names
/// the text, such as `the body`.
pub fn describe(what: &str, json: &[u8], error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match (is_json(json), column) {
        (false, _) => format!("{what} is not JSON (line {line}, column {column})"),
        // A value that was parsed before has no position.
        (true, 0) => wording(error),
        (true, _) => format!("line {line}, column {column}: {}", wording(error)),
    }
}

/// What is wrong with one line of a text with many.
pub fn describe_line(number: u64, line: &[u8], error: &serde_json::Error) -> String {
    match (is_json(line), error.column()) {
        (false, _) => format!("line {number} is not JSON"),
        // The parser saw only this line, so it does not know the line's number.
        (true, 0) => format!("line {number}: {}", wording(error)),
        (true, column) => format!("line {number}, column {column}: {}", wording(error)),
    }
}

/// The message without the position.
pub fn wording(error: &serde_json::Error) -> String {
    in_words(&message(error))
}

/// Whether the text is JSON at all, even if not with the expected content.
pub fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((message, _)) if error.line() > 0 => message.into(),
        _ => text,
    }
}

/// Replaces serde's words in a message, and keeps what comes before them.
pub fn in_words(message: &str) -> String {
    let at = |words: &str| message.split_once(words);
    if let Some((path, said)) = at("invalid type: ").or_else(|| at("invalid value: "))
        && let Some((found, expected)) = said.split_once(", expected ")
    {
        return format!("{path}expected {}, found {}", expected_in_words(expected, found), found_in_words(found));
    }
    for (kind, name) in [("unknown field `", "unknown field"), ("unknown variant `", "unknown value")] {
        if let Some((path, said)) = at(kind)
            && let Some((found, expected)) = said.split_once("`, expected ")
        {
            return format!("{path}{name} `{found}`: must be {expected}");
        }
    }
    // serde's words if neither a string nor an object names the variant.
    if let Some(path) = message.strip_suffix("expected value") {
        return format!("{path}expected a string or a JSON object");
    }
    match message {
        "invalid digit found in string" | "cannot parse integer from empty string" => "expected a whole number".into(),
        "number too large to fit in target type" | "number too small to fit in target type" => {
            "the number is too large".into()
        }
        "invalid float literal" | "cannot parse float from empty string" => "expected a number".into(),
        "provided string was not `true` or `false`" => "expected true or false".into(),
        other => other.into(),
    }
}

fn expected_in_words<'a>(expected: &'a str, found: &str) -> &'a str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" if found.contains("`-") => {
            "a whole number that is not negative"
        }
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            "a whole number"
        }
        "f32" | "f64" => "a number",
        "a map" => "a JSON object",
        "a sequence" => "an array",
        "unit" => "null",
        other if other.starts_with("struct ") => "a JSON object",
        other => other,
    }
}

fn found_in_words(found: &str) -> String {
    let value = |kind: &str| found.strip_prefix(kind).and_then(|rest| rest.strip_suffix('`'));
    match value("integer `").or_else(|| value("floating point `")).or_else(|| value("boolean `")) {
        Some(value) => value.into(),
        None => match found {
            "sequence" | "array" => "an array".into(),
            "map" => "an object".into(),
            "unit value" => "null".into(),
            text if text.starts_with("string \"") => format!("the {text}"),
            other => other.into(),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what does not hold in a test ends the test")]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::Strict;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Color {
        Red,
        Green,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only parsed")]
    struct Thing {
        name: String,
        count: Option<u32>,
        color: Option<Color>,
        parts: Option<Vec<Thing>>,
    }

    #[test]
    fn errors_are_in_plain_words_after_their_position() {
        for (json, expected) in [
            ("x", "the body is not JSON (line 1, column 1)"),
            ("{\"name\":\"a\",\n \"parts\":[{]}", "the body is not JSON (line 2, column 12)"),
            ("{\"name\":", "the body is not JSON (line 1, column 8)"),
            ("[]", "line 1, column 2: expected a JSON object, found an array"),
            ("{\"name\":\"a\",\"color\":[]}", "line 1, column 21: color: expected a string or a JSON object"),
            ("{\"name\":5}", "line 1, column 9: name: expected a string, found 5"),
            (
                "{\"name\":\"a\",\"count\":\"b\"}",
                "line 1, column 23: count: expected a whole number, found the string \"b\"",
            ),
            (
                "{\"name\":\"a\",\"count\":-1}",
                "line 1, column 22: count: expected a whole number that is not negative, found -1",
            ),
            ("{\"name\":\"a\",\"count\":1.5}", "line 1, column 23: count: expected a whole number, found 1.5"),
            (
                "{\"name\":\"a\",\"color\":\"blue\"}",
                "line 1, column 26: color: unknown value `blue`: must be `red` or `green`",
            ),
            ("{}", "line 1, column 2: missing field `name`"),
        ] {
            let error = serde_json::from_str::<Strict<Thing>>(json).unwrap_err();
            assert_eq!(describe("the body", json.as_bytes(), &error), expected, "{json}: {error}");
        }
        let error = serde_json::from_str::<Strict<Thing>>("{\"name\":\"a\",\"parts\":[{\"nme\":1}]}").unwrap_err();
        assert_eq!(wording(&error), "parts[0].nme: unknown field; must be one of `name`, `count`, `color`, `parts`");
    }

    #[test]
    fn a_line_has_the_number_that_the_caller_knows() {
        for (json, expected) in [
            ("{oops", "line 3 is not JSON"),
            ("[]", "line 3, column 2: expected a JSON object, found an array"),
            ("{}", "line 3, column 2: missing field `name`"),
        ] {
            let error = serde_json::from_str::<Strict<Thing>>(json).unwrap_err();
            assert_eq!(describe_line(3, json.as_bytes(), &error), expected, "{error}");
        }
    }
}
