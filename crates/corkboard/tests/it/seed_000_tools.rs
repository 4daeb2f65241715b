//! The skills of 000, as a model calls them: one test per acceptance criterion and test case.

use corkboard::scratchpad::ScratchpadContents;
use corkboard::tools::{ToolContext, ToolError, ToolFormat, ToolOutput, ToolRegistry, ToolSet};
use corkboard::{ContextRequest, Corkboard, ErrorKind};
use serde_json::{Value, json};

use crate::common::{Home, on_every_store};

/// Calls tools in the conversations of one agent.
struct Caller {
    corkboard: Corkboard,
    tools: ToolRegistry,
}

impl Caller {
    async fn new(home: &Home) -> Self {
        let corkboard = home.open().await;
        Self { tools: ToolRegistry::new(&corkboard), corkboard }
    }

    async fn try_call(&self, conversation: &str, tool: &str, input: Value) -> Result<ToolOutput, ToolError> {
        let context = ToolContext::agent("A").in_conversation(conversation);
        self.tools.call(tool, input, &context).await
    }

    async fn write(&self, input: Value) -> String {
        self.try_call("c", "memory_write", input).await.unwrap().text
    }

    async fn read(&self, input: Value) -> ToolOutput {
        self.try_call("c", "memory_read", input).await.unwrap()
    }

    /// The error of a write that must change nothing.
    async fn refused(&self, input: Value) -> ToolError {
        let before = self.read(json!({})).await;
        let error = self.try_call("c", "memory_write", input).await.unwrap_err();
        assert_eq!(self.read(json!({})).await, before);
        error
    }
}

async fn check(test: impl AsyncFn(Caller)) {
    on_every_store(async |home: Home| test(Caller::new(&home).await).await).await;
}

#[tokio::test]
async fn set_stores_a_pair_that_memory_read_returns() {
    check(async |caller: Caller| {
        let said = caller.write(json!({"action": "set", "key": "name", "value": "Alice"})).await;
        assert_eq!(said, "Stored name.");
        assert_eq!(caller.read(json!({"key": "name"})).await.text, "Alice");
        assert_eq!(caller.write(json!({"action": "set", "key": "name", "value": "Bob"})).await, "Replaced name.");
        assert_eq!(caller.read(json!({"key": "name"})).await.data, json!({"key": "name", "value": "Bob"}));
    })
    .await;
}

#[tokio::test]
async fn note_appends_a_free_form_note() {
    check(async |caller: Caller| {
        for text in ["User prefers dark mode", "and short answers"] {
            caller.write(json!({"action": "note", "value": text})).await;
        }
        let all = caller.read(json!({})).await;
        assert_eq!(all.data["notes"], json!(["User prefers dark mode", "and short answers"]));
        assert!(all.text.contains("User prefers dark mode"));
    })
    .await;
}

#[tokio::test]
async fn delete_removes_a_key() {
    check(async |caller: Caller| {
        caller.write(json!({"action": "set", "key": "name", "value": "Alice"})).await;
        assert_eq!(caller.write(json!({"action": "delete", "key": "name"})).await, "Deleted name.");
        assert_eq!(caller.read(json!({"key": "name"})).await.text, "not found: name");
        assert_eq!(caller.write(json!({"action": "delete", "key": "name"})).await, "not found: name");
    })
    .await;
}

#[tokio::test]
async fn clear_empties_the_whole_scratchpad() {
    check(async |caller: Caller| {
        for index in 0..5 {
            caller.write(json!({"action": "set", "key": format!("k{index}"), "value": "v"})).await;
        }
        caller.write(json!({"action": "note", "value": "n"})).await;
        let said = caller.write(json!({"action": "clear"})).await;
        assert_eq!(said, "Cleared the scratchpad: 5 facts, 1 note.");
        let all = caller.read(json!({})).await;
        assert_eq!((all.text.as_str(), all.data), ("The scratchpad is empty.", json!({"entries": {}, "notes": []})));
    })
    .await;
}

#[tokio::test]
async fn memory_read_without_a_key_returns_all_stored_data() {
    check(async |caller: Caller| {
        caller.write(json!({"action": "set", "key": "b", "value": "2"})).await;
        caller.write(json!({"action": "set", "key": "a", "value": "1"})).await;
        caller.write(json!({"action": "note", "value": "n"})).await;
        // An empty object, null, and a null key: all three are how clients omit the key.
        for input in [json!({}), Value::Null, json!({"key": null})] {
            let all = caller.read(input).await;
            let expected: ScratchpadContents = serde_json::from_value(all.data).unwrap();
            assert_eq!(
                (expected.get("a"), expected.get("b"), expected.get_notes()),
                (Some("1"), Some("2"), ["n".to_owned()].as_slice())
            );
            assert_eq!(all.text, r#"{"entries":{"a":"1","b":"2"},"notes":["n"]}"#);
        }
    })
    .await;
}

#[tokio::test]
async fn two_conversations_have_independent_scratchpads() {
    check(async |caller: Caller| {
        caller.try_call("A", "memory_write", json!({"action": "set", "key": "k", "value": "v"})).await.unwrap();
        let other = caller.try_call("B", "memory_read", json!({})).await.unwrap();
        assert_eq!(other.text, "The scratchpad is empty.");
        assert_eq!(caller.try_call("A", "memory_read", json!({"key": "k"})).await.unwrap().text, "v");
    })
    .await;
}

#[tokio::test]
async fn a_restart_clears_the_scratchpad() {
    let home = Home::sqlite();
    let caller = Caller::new(&home).await;
    caller.write(json!({"action": "set", "key": "k", "value": "v"})).await;
    let next = Caller::new(&home).await;
    assert_eq!(next.read(json!({})).await.text, "The scratchpad is empty.");
}

#[tokio::test]
async fn a_scratchpad_that_is_not_empty_is_a_section_of_the_prompt() {
    check(async |caller: Caller| {
        let prompt = async |conversation: &str| {
            let window = caller.corkboard.agent("A").unwrap().context_window();
            window.compose(ContextRequest::new().conversation(conversation)).await.unwrap().text
        };
        assert_eq!(prompt("c").await, "");
        caller.write(json!({"action": "set", "key": "name", "value": "Alice"})).await;
        caller.write(json!({"action": "note", "value": "likes tea"})).await;
        let section = "<conversation>\n  - name: Alice\n  - likes tea\n</conversation>\n";
        assert!(prompt("c").await.ends_with(section), "{}", prompt("c").await);
        assert_eq!(prompt("another").await, "");
        caller.write(json!({"action": "clear"})).await;
        assert_eq!(prompt("c").await, "");
    })
    .await;
}

#[tokio::test]
async fn both_skills_appear_in_tool_definitions_with_their_schemas() {
    let caller = Caller::new(&Home::memory()).await;
    let definitions = caller.tools.tool_definitions(ToolFormat::Mcp);
    let schema = |name: &str| {
        let found = definitions.iter().find(|definition| definition["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))["inputSchema"].clone()
    };
    let read = json!({
        "type": "object",
        "properties": {"key": {"type": "string", "description": "Omit to read all."}},
        "additionalProperties": false,
    });
    assert_eq!(schema("memory_read"), read);
    let write = json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["set", "note", "delete", "clear"]},
            "key": {"type": "string"},
            "value": {"type": "string"},
            "outside": {"type": "boolean", "description": "From the web, a tool or a stranger."},
        },
        "required": ["action"],
        "additionalProperties": false,
    });
    assert_eq!(schema("memory_write"), write);
}

#[tokio::test]
async fn an_invalid_action_is_invalid_input() {
    check(async |caller: Caller| {
        let error = caller.refused(json!({"action": "foo"})).await;
        assert!(matches!(error, ToolError::InvalidInput { tool: "memory_write", .. }), "{error:?}");
        assert_eq!(
            error.to_string(),
            "invalid input: action: unknown value `foo`: must be one of `set`, `note`, `delete`, `clear`. Example of a correct \
             call: memory_write {\"action\":\"set\",\"key\":\"user_name\",\"value\":\"Ada\"}"
        );
    })
    .await;
}

#[tokio::test]
async fn set_without_a_key_is_invalid_input() {
    check(async |caller: Caller| {
        let cases = [
            (json!({"action": "set", "value": "v"}), "\"set\" needs a key"),
            (json!({"action": "set", "key": null, "value": "v"}), "\"set\" needs a key"),
            (json!({"action": "set", "key": "k"}), "\"set\" needs a value"),
            (json!({"action": "note"}), "\"note\" needs a value"),
            (json!({"action": "delete"}), "\"delete\" needs a key"),
            (json!({"key": "k"}), "missing field `action`"),
            (json!({"action": "set", "key": " ", "value": "v"}), "blank"),
            (json!({"action": "set", "key": "k", "value": 5}), "expected a string"),
            (json!({"action": "set", "key": "k", "value": "v", "scope": "x"}), "unknown field `scope`"),
            (json!({"action": "note", "value": " "}), "blank"),
            (json!(["set"]), "expected a JSON object, found an array"),
            (
                json!("set"),
                "expected a JSON object, found a string that does not contain one: it is not JSON (line 1, column 1)",
            ),
            (json!("[\"set\"]"), "expected a JSON object, found a string that does not contain one"),
        ];
        for (input, expected) in cases {
            let error = caller.refused(input.clone()).await;
            let ToolError::InvalidInput { message, example, .. } = &error else { panic!("{input}: {error:?}") };
            assert!(message.contains(expected), "{input}: {message}");
            assert_eq!((error.code(), error.kind()), ("invalid_input", ErrorKind::Invalid));
            // The example in the error is a correct call.
            caller.try_call("other", "memory_write", example.clone()).await.unwrap();
        }
    })
    .await;
}

/// Without a check, serde would read an array as the properties in their order.
#[tokio::test]
async fn input_that_is_not_an_object_is_invalid_for_every_tool() {
    let corkboard = Home::memory().open().await;
    let tools = ToolRegistry::with_sets(&corkboard, &ToolSet::ALL);
    let context = ToolContext::agent("A").in_conversation("c").on_board("b").for_task("T-1");
    let mut checked = 0;
    for tool in tools.tool_definitions(ToolFormat::Mcp) {
        let name = tool["name"].as_str().unwrap();
        let others = [json!([]), json!(["k", "c", null, null]), json!([["k"], []]), json!("k"), json!(3), json!(true)];
        for input in others {
            let error = tools.call(name, input.clone(), &context).await.unwrap_err();
            let ToolError::InvalidInput { message, .. } = &error else { panic!("{name} {input}: {error:?}") };
            assert!(message.starts_with("expected a JSON object, found "), "{name} {input}: {message}");
            checked += 1;
        }
    }
    assert_eq!(checked, 36 * 6);
    assert!(corkboard.agents(None, 10).await.unwrap().is_empty());

    // The same applies to an object inside the input.
    let tasks = json!({"tasks": [["a", "Write it"]]});
    let error = tools.call("add_tasks", tasks, &context).await.unwrap_err();
    let ToolError::InvalidInput { message, .. } = &error else { panic!("{error:?}") };
    assert_eq!(message, "tasks[0]: expected a JSON object, found an array");
}

#[tokio::test]
async fn a_call_without_a_conversation_says_so() {
    let caller = Caller::new(&Home::memory()).await;
    let error = caller.tools.call("memory_read", json!({}), &ToolContext::agent("A")).await.unwrap_err();
    assert!(matches!(error, ToolError::MissingContext { what: "conversation", .. }), "{error:?}");
}

#[tokio::test]
async fn an_answer_to_a_model_has_a_maximum_size() {
    let caller = Caller::new(&Home::memory()).await;
    let long = "ä".repeat(100_000);
    caller.write(json!({"action": "set", "key": "long", "value": long})).await;
    let read = caller.read(json!({"key": "long"})).await;
    assert!(read.text.len() < 70_000, "{}", read.text.len());
    assert!(
        read.text.ends_with("… [cut: 65536 of the 200000 bytes of this answer are shown. For the rest, ask for less at a time: one key, one task, a smaller limit or budget]"),
        "{}",
        &read.text[65_500..]
    );
    assert_eq!(read.data["value"], json!(long));
}

#[test]
fn the_working_memory_struct_has_the_specified_methods_and_a_json_form_for_prompts() {
    let mut memory = ScratchpadContents::default();
    assert!(memory.is_empty());
    memory.set("user_name", "Alice");
    memory.set("b", "2");
    memory.add_note("n");
    assert_eq!((memory.get("user_name"), memory.get("other")), (Some("Alice"), None));
    assert_eq!(memory.list_keys(), ["b", "user_name"]);
    let json = serde_json::to_string(&memory).unwrap();
    assert_eq!(json, r#"{"entries":{"b":"2","user_name":"Alice"},"notes":["n"]}"#);
    assert_eq!(serde_json::from_str::<ScratchpadContents>(&json).unwrap(), memory);
    assert!(memory.delete("b") && !memory.delete("b"));
    assert_eq!(memory.get_notes(), ["n"]);
    memory.clear();
    assert_eq!(memory, ScratchpadContents::default());
}
