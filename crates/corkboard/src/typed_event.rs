//! Events as other programs see them: `{"type": "task_started", "task": "T-1", …}`.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Events as one JSON array.
pub(crate) fn typed_events<E: Serialize>(events: &[E]) -> serde_json::Result<Box<RawValue>> {
    let events: Vec<String> = events.iter().map(typed_event).collect::<Result<_, _>>()?;
    RawValue::from_string(format!("[{}]", events.join(",")))
}

/// Parses the output of [`typed_events`].
pub(crate) fn parse_events<E: DeserializeOwned>(events: &RawValue) -> serde_json::Result<Vec<E>> {
    let events: Vec<Map<String, Value>> = serde_json::from_str(events.get())?;
    let parse = |mut fields: Map<String, Value>| {
        let name = fields.remove("type").unwrap_or_default();
        let stored = match (&name, fields.is_empty()) {
            (Value::String(name), false) => Value::Object(Map::from_iter([(name.clone(), fields.into())])),
            _ => name,
        };
        serde_json::from_value(stored)
    };
    events.into_iter().map(parse).collect()
}

/// Moves the name of a stored event, `{"task_started":{"task":"T-1"}}` or `"resumed"`, into its body.
///
/// The stored form stays as it is because serde reads it without a copy.
fn typed_event(event: &impl Serialize) -> serde_json::Result<String> {
    let stored = serde_json::to_string(event)?;
    Ok(match stored.strip_prefix('{').and_then(|named| named.strip_suffix('}')?.split_once(":{")) {
        Some((name, "}")) => format!("{{\"type\":{name}}}"),
        Some((name, fields)) => format!("{{\"type\":{name},{fields}"),
        None => format!("{{\"type\":{stored}}}"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "what does not hold in a test ends the test")]
mod tests {
    use corkboard_core::board::{BoardEvent, NewBoard, NudgeId, TaskId};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_name_of_an_event_is_its_type() {
        let board = Box::new(NewBoard { name: "a:{b}".into(), ..NewBoard::default() });
        let events = [
            BoardEvent::Created(board),
            BoardEvent::TaskReopened { task: TaskId(1) },
            BoardEvent::NudgeExpired { nudge: NudgeId(2) },
            BoardEvent::Resumed,
        ];
        let written = typed_events(&events).unwrap();
        assert_eq!(parse_events::<BoardEvent>(&written).unwrap(), events);
        let typed: Value = serde_json::from_str(written.get()).unwrap();
        assert_eq!((&typed[0]["type"], &typed[0]["name"]), (&json!("board_created"), &json!("a:{b}")));
        assert_eq!(typed[1], json!({"type": "task_reopened", "task": "T-1"}));
        assert_eq!(typed[2], json!({"type": "nudge_expired", "nudge": "N-2"}));
        assert_eq!(typed[3], json!({"type": "board_resumed"}));
        assert_eq!(typed_events::<BoardEvent>(&[]).unwrap().get(), "[]");
    }
}
