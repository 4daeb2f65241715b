//! A value as text to search in and to quote from.

use std::borrow::Cow;

use corkboard_core::Content;
use serde_json::Value;

/// A text as it is; of any other value its keys, strings and numbers in reading order.
pub(crate) fn text_of(content: &Content) -> Cow<'_, str> {
    if let Some(text) = content.as_text() {
        return text;
    }
    // What is nested too deep to be parsed is quoted as it is.
    let Ok(value) = content.parse::<Value>() else { return content.as_json().into() };
    let mut text = String::new();
    write(&value, &mut text);
    text.into()
}

fn write(value: &Value, text: &mut String) {
    use std::fmt::Write;
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => {
            // Writing to a string does not fail.
            let _ = write!(text, "{number}");
        }
        Value::String(string) => text.push_str(string),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                write(item, text);
            }
        }
        Value::Object(map) => {
            for (index, (key, item)) in map.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { ", " });
                text.push_str(key);
                text.push_str(": ");
                write(item, text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_in_reading_order() {
        let deep = format!("{}1{}", "[".repeat(1000), "]".repeat(1000));
        for (json, text) in [
            (r#""a \"quoted\"\ntext""#, "a \"quoted\"\ntext"),
            (
                r#"{"goal": "add login", "steps": ["draft", 2.50], "done": false}"#,
                "done: false, goal: add login, steps: draft, 2.5",
            ),
            ("[[1, null], {}]", "1, null, "),
            ("-12", "-12"),
            (&deep, &deep),
        ] {
            assert_eq!(text_of(&Content::from_json(json).unwrap()), text);
        }
    }
}
