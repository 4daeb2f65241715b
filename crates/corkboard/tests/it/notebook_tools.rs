//! The tools of 003: `read_notebook` and `update_notebook`.

use corkboard::tools::{ToolContext, ToolError, ToolOutput, ToolRegistry, ToolSet};
use corkboard::{ContextRequest, Corkboard, ErrorKind};
use serde_json::{Value, json};

struct Caller {
    tools: ToolRegistry,
}

impl Caller {
    async fn new() -> Self {
        let corkboard = Corkboard::open("memory:").await.unwrap();
        Self { tools: ToolRegistry::with_sets(&corkboard, &[ToolSet::Notebook]) }
    }

    async fn try_call(&self, tool: &str, input: Value) -> Result<ToolOutput, ToolError> {
        self.tools.call(tool, input, &ToolContext::agent("A")).await
    }

    async fn call(&self, tool: &str, input: Value) -> ToolOutput {
        self.try_call(tool, input).await.unwrap()
    }
}

const FIRST: &str = "\
CURRENT_PROGRESS:
  Completed:
    - Read the code
  In Progress:
    - Fix the parser
KEY_LEARNINGS:
  ADD:
    - because it bit us: Tabs count as two
VERBATIM_CONTEXT:
  ADD:
    - because the fix needs it: src/parse.rs =>
      fn parse() {
          todo()
      }
";

#[tokio::test]
async fn reading_returns_the_written_items_with_ids() {
    let caller = Caller::new().await;
    assert_eq!(caller.call("read_notebook", json!({})).await.text, "The notebook is empty.");
    let updated = caller.call("update_notebook", json!({"updates": FIRST})).await;
    assert!(updated.text.starts_with("Updated.\n") && updated.text.contains("KL-1"), "{}", updated.text);
    assert_eq!((&updated.data["rev"], &updated.data["learnings"]), (&json!(1), &json!(["KL-1"])));
    let expected = "\
Completed:
  - Read the code
In Progress:
  - Fix the parser
KL-1: Tabs count as two (because it bit us)
VC-1 src/parse.rs (because the fix needs it) =>
  fn parse() {
      todo()
  }";
    let read = caller.call("read_notebook", json!(null)).await;
    assert_eq!(read.text, expected);
    assert_eq!((&read.data["version"], &read.data["snippets"][0]["label"]), (&json!(1), &json!("src/parse.rs")));
    assert_eq!(caller.call("update_notebook", json!({"updates": "KEY_LEARNINGS:\n"})).await.text, "Nothing to change.");
    // Notebooks are independent.
    assert_eq!(caller.call("read_notebook", json!({"name": "review"})).await.text, "The notebook is empty.");
    caller.call("update_notebook", json!({"updates": FIRST, "name": "review"})).await;
    assert_eq!(caller.call("read_notebook", json!({"name": "review"})).await.text, expected);
}

#[tokio::test]
async fn an_invalid_text_changes_nothing_and_reports_every_problem() {
    let caller = Caller::new().await;
    caller.call("update_notebook", json!({"updates": FIRST})).await;
    let before = caller.call("read_notebook", json!({})).await;
    let wrong =
        "CURRENT_PROGRESS:\n  Completed:\n    - All\nKEY_LEARNINGS:\n  ADD:\n    - no reason\n  ARCHIVE:\n    - KL-1\n";
    let error = caller.try_call("update_notebook", json!({"updates": wrong})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let message = error.to_string();
    for part in
        ["nothing was applied: line 1, ", "; line 6, ", "; line 8, ", "Example of a correct call: update_notebook {"]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    for input in
        [json!({}), json!({"updates": "just words"}), json!({"updates": FIRST, "name": " "}), json!({"updates": 7})]
    {
        let error = caller.try_call("update_notebook", input).await.unwrap_err();
        assert_eq!(error.code(), "invalid_input", "{error}");
    }
    assert_eq!(caller.call("read_notebook", json!({})).await, before);
}

#[tokio::test]
async fn unknown_ids_are_skipped_on_request() {
    let caller = Caller::new().await;
    caller.call("update_notebook", json!({"updates": FIRST})).await;
    let text = "KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because it is old\n    - KL-9 because it is older\n";
    let error = caller.try_call("update_notebook", json!({"updates": text})).await.unwrap_err();
    assert!(error.to_string().contains("there is no KL-9 to archive; there are KL-1"), "{error}");
    let applied = caller.call("update_notebook", json!({"updates": text, "ignore_unknown": true})).await;
    assert!(applied.text.contains("there is no KL-9"), "{}", applied.text);
    assert_eq!(applied.data["skipped"], json!(["KL-9"]));
    assert!(!caller.call("read_notebook", json!({})).await.text.contains("KL-"));
}

#[tokio::test]
async fn a_notebooks_search_hits_are_in_the_context_window() {
    let agent = Corkboard::open("memory:").await.unwrap().agent("A").unwrap();
    agent.notebook("my notes").unwrap().apply(FIRST).await.unwrap();
    let ask = ContextRequest::new().query("tabs");
    let window = agent.context_window().compose(ask.clone()).await.unwrap();
    // The window shows it anyway, so it is not repeated.
    assert!(window.text.contains("<key_learnings>\n  - KL-1 in \"my notes\": "), "{}", window.text);
    assert!(!window.text.contains("<found>"), "{}", window.text);
    // Newer learnings displace it. Then the query shows it again.
    for batch in 0..40 {
        let more =
            |number| format!("    - because so: {} {batch} {number}\n", "blanks of all kinds in many lines ".repeat(8));
        let block: String = (0..3).map(more).collect();
        agent.notebook("my notes").unwrap().apply(&format!("KEY_LEARNINGS:\n  ADD:\n{block}")).await.unwrap();
    }
    let window = agent.context_window().compose(ask).await.unwrap();
    assert!(window.text.contains("<found>\n  - KL-1 in notebook \"my notes\": "), "{}", window.text);
}
