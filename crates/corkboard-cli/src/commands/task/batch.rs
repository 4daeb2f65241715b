//! Tasks and choices from a file of JSON or JSON lines.

use std::path::Path;

use corkboard::boards::{NewChoice, NewTask};
use corkboard::{LimitName, Limits, Strict, json_error};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::CliError;
use crate::text_input::{expect_within, is_dash, text_or_stdin, without_mark};

/// Fields of a task in a batch. Others are refused, so that a misspelt dependency is not ignored.
const TASK_FIELDS: [&str; 11] = [
    "key",
    "title",
    "description",
    "depends_on",
    "trigger_rule",
    "on_failure",
    "priority",
    "estimate_minutes",
    "needs_review",
    "retry_limit",
    "retry_backoff_s",
];
const CHOICE_FIELDS: [&str; 2] = ["question", "options"];

#[derive(Debug, Default, PartialEq)]
pub(super) struct Batch {
    pub(super) tasks: Vec<NewTask>,
    pub(super) choices: Vec<NewChoice>,
}

pub(super) fn read(file: &Path) -> Result<Batch, CliError> {
    let text = match is_dash(file) {
        true => text_or_stdin("-".into())?,
        false => {
            let unreadable =
                |error| CliError::invalid("unreadable", format!("cannot read {}: {error}", file.display()));
            let used = std::fs::metadata(file).map_err(unreadable)?.len();
            let allowed = Limits::default().command_bytes;
            expect_within(LimitName::CommandBytes, used, allowed)?;
            std::fs::read_to_string(file).map_err(unreadable)?
        }
    };
    parse(without_mark(&text)).map_err(|message| {
        CliError::invalid("bad_batch", message).hint("see the example of a batch in `cork task add --help`")
    })
}

fn parse(text: &str) -> Result<Batch, String> {
    let mut batch = Batch::default();
    match serde_json::from_str(text) {
        Ok(Value::Array(items)) => {
            for (index, item) in items.into_iter().enumerate() {
                batch.add(item).map_err(|error| format!("item {}: {error}", index + 1))?;
            }
        }
        Ok(Value::Object(mut object)) if object.contains_key("tasks") || object.contains_key("choices") => {
            for (name, list) in [("tasks", object.remove("tasks")), ("choices", object.remove("choices"))] {
                let Some(list) = list else { continue };
                let Value::Array(items) = list else { return Err(format!("{name:?} must be an array")) };
                for (index, item) in items.into_iter().enumerate() {
                    batch.add(item).map_err(|error| format!("{name}, item {}: {error}", index + 1))?;
                }
            }
            if let Some(name) = object.keys().next() {
                return Err(format!("unknown field {name:?} in a batch; expected tasks or choices"));
            }
        }
        Ok(item) => batch.add(item)?,
        // Not a single document: read one document per line.
        Err(whole) => {
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            for (index, line) in lines {
                let item = serde_json::from_str(line).map_err(|_| match index {
                    0 => json_error::describe("the batch", text.as_bytes(), &whole),
                    _ => format!("line {} is not JSON", index + 1),
                })?;
                batch.add(item).map_err(|error| format!("line {}: {error}", index + 1))?;
            }
        }
    }
    if batch.tasks.is_empty() && batch.choices.is_empty() {
        return Err("the batch is empty".into());
    }
    Ok(batch)
}

impl Batch {
    /// A task, or a choice if it has options.
    fn add(&mut self, item: Value) -> Result<(), String> {
        let Value::Object(object) = item else {
            return Err("expected a task or a choice, which are JSON objects".into());
        };
        if object.contains_key("options") || object.contains_key("question") {
            expect_known(&object, "choice", &CHOICE_FIELDS)?;
            self.choices.push(typed(object, "choice")?);
        } else {
            expect_known(&object, "task", &TASK_FIELDS)?;
            if !object.contains_key("title") {
                return Err("a task needs a title".into());
            }
            self.tasks.push(typed(object, "task")?);
        }
        Ok(())
    }
}

fn expect_known(object: &Map<String, Value>, what: &str, fields: &[&str]) -> Result<(), String> {
    match object.keys().find(|name| !fields.contains(&name.as_str())) {
        Some(name) => Err(format!("unknown field {name:?} of a {what}; expected one of {}", fields.join(", "))),
        None => Ok(()),
    }
}

fn typed<T: DeserializeOwned>(object: Map<String, Value>, what: &str) -> Result<T, String> {
    let read = serde_json::from_value(Value::Object(object));
    read.map(|Strict(item)| item).map_err(|error| format!("invalid {what}: {}", json_error::wording(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use corkboard::boards::{FailurePolicy, TaskRef, TriggerRule};

    #[test]
    fn every_form_gives_the_same_batch() {
        let lines = r#"{"key": "a", "title": "A"}

            {"title": "B", "depends_on": ["a", "T-1"]}
            {"question": "Q", "options": [{"name": "x", "tasks": ["a"]}]}"#;
        let batch = parse(lines).unwrap();
        assert_eq!(batch.tasks[1].depends_on, [TaskRef::Member("a".into()), TaskRef::from("T-1")]);
        assert_eq!(batch.choices[0].question, "Q");
        let items: Vec<&str> = lines.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(parse(&format!("[{}]", items.join(","))).unwrap(), batch);
        let object = format!(r#"{{"choices": [{}], "tasks": [{}, {}]}}"#, items[2], items[0], items[1]);
        assert_eq!(parse(&object).unwrap(), batch);
        assert_eq!(parse(items[0]).unwrap().tasks, batch.tasks[..1]);
    }

    #[test]
    fn errors_name_the_mistake() {
        for (text, said) in [
            ("", "the batch is empty"),
            ("[]", "the batch is empty"),
            ("7", "which are JSON objects"),
            ("[{\"title\": \"A\"}, 7]", "item 2"),
            (
                "{\"title\": \"A\", \"depend_on\": []}",
                "unknown field \"depend_on\" of a task; expected one of key, title",
            ),
            ("{\"titel\": \"A\"}", "unknown field \"titel\" of a task; expected one of key, title"),
            ("{\"key\": \"a\"}", "a task needs a title"),
            ("{\"title\": \"A\"}\n{\"title\": ", "line 2 is not JSON"),
            ("{\"title\": \"A\"}\n{\"title\": 3}", "line 2: invalid task"),
            ("{\"tasks\": 3}", "must be an array"),
            ("{\"tasks\": [], \"nudges\": []}", "unknown field \"nudges\""),
            ("{\"question\": \"Q\", \"options\": [], \"by\": 1}", "unknown field \"by\" of a choice"),
            ("[[null, \"A\"]]", "which are JSON objects"),
            (
                "{\"question\": \"Q\", \"options\": [[\"x\", [\"T-1\"]]]}",
                "invalid choice: options[0]: expected a JSON object, found an array",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn every_field_of_a_task_is_known() {
        let full = NewTask {
            key: Some("k".into()),
            title: "t".into(),
            description: "d".into(),
            depends_on: vec!["T-1".into()],
            trigger_rule: TriggerRule::AllDone,
            on_failure: Some(FailurePolicy::Continue),
            priority: 1,
            estimate_minutes: Some(1),
            needs_review: true,
            retry_limit: 1,
            retry_backoff_s: 1,
        };
        let value = serde_json::to_value(&full).unwrap();
        assert_eq!(value.as_object().unwrap().len(), TASK_FIELDS.len());
        assert_eq!(parse(&value.to_string()).unwrap().tasks, [full]);
    }
}
