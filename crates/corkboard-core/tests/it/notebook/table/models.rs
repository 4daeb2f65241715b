//! Answers in the style of different models.

use crate::notebook::read::read;

#[test]
fn as_models_answer() {
    check!(
        "terse, exact",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  Completed:\n",
                "    - Reproduced the flaky test\n",
                "  In Progress:\n",
                "    - Bisecting between v1.2 and v1.3\n",
                "  Remaining:\n",
                "    - Write a regression test\n",
                "\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because CI runs on 2 cores: the race only shows with --test-threads=2\n",
                "\n",
                "VERBATIM_CONTEXT:\n",
            ),
        @r"
        Completed: Reproduced the flaky test
        In Progress: Bisecting between v1.2 and v1.3
        Remaining: Write a regression test
        + KL the race only shows with --test-threads=2 <- CI runs on 2 cores
        "
    );
    check!(
        "chatty, fenced, with a closing offer",
            concat!(
                "Certainly! Based on the latest task output, here's the updated memory block:\n",
                "\n",
                "```plaintext\n",
                "CURRENT_PROGRESS:\n",
                "  Completed:\n",
                "    - Set up PostgreSQL connection pool\n",
                "  In Progress:\n",
                "    - Implementing retry logic for transient failures\n",
                "  Remaining:\n",
                "    - Load testing\n",
                "\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because the pool exhausted under load: max_connections must exceed worker count * 2\n",
                "  ARCHIVE: (none)\n",
                "\n",
                "VERBATIM_CONTEXT:\n",
                "  ADD: (none)\n",
                "  ARCHIVE: (none)\n",
                "```\n",
                "\n",
                "Let me know if you'd like me to adjust anything!\n",
            ),
        @r"
        Completed: Set up PostgreSQL connection pool
        In Progress: Implementing retry logic for transient failures
        Remaining: Load testing
        + KL max_connections must exceed worker count * 2 <- the pool exhausted under load
        "
    );
    check!(
        "markdown headings and bold",
            concat!(
                "## Current Progress\n",
                "\n",
                "**Completed:**\n",
                "- Parsed the config\n",
                "\n",
                "**In Progress:**\n",
                "- Wiring the CLI\n",
                "\n",
                "## Key Learnings\n",
                "\n",
                "**ADD:**\n",
                "- because `serde(flatten)` breaks `deny_unknown_fields`: use separate structs\n",
                "\n",
                "**ARCHIVE:**\n",
                "- KL-2 because superseded by the above\n",
                "\n",
                "## Verbatim Context\n",
                "\n",
                "**ADD:**\n",
                "(none)\n",
            ),
        @r"
        Completed: Parsed the config
        In Progress: Wiring the CLI
        + KL use separate structs <- `serde(flatten)` breaks `deny_unknown_fields`
        - KL-2 <- superseded by the above
        "
    );
    check!(
        "reasoning first, then the block",
            concat!(
                "Let me think. The user wants X; KL-3 is stale.\n",
                "- because of that I archive it\n",
                "\n",
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - X\n",
                "\n",
                "KEY_LEARNINGS:\n",
                "  ARCHIVE:\n",
                "    - KL-3 because the API changed in v2: see changelog\n",
            ),
        @r"
        In Progress: X
        - KL-3 <- the API changed in v2: see changelog
        "
    );
    check!(
        "code in a snippet, fenced and indented",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because the handler must keep this signature: src/api.rs:42 =>\n",
                "      ```rust\n",
                "      pub async fn handle(\n",
                "          State(app): State<App>,\n",
                "      ) -> Result<Json<Value>, ApiError> {\n",
                "      ```\n",
                "  ARCHIVE:\n",
                "    - VC-1 because outdated config\n",
            ),
        @r#"
        + VC src/api.rs:42 "```rust\npub async fn handle(\n    State(app): State<App>,\n) -> Result<Json<Value>, ApiError> {\n```" <- the handler must keep this signature
        - VC-1 <- outdated config
        "#
    );
    check!(
        "a diff as a snippet",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because the next step applies it: fix.patch =>\n",
                "      --- a/x\n",
                "      +++ b/x\n",
                "      @@ -1 +1 @@\n",
                "      -old\n",
                "      +new\n",
            ),
        @r#"
        + VC fix.patch "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new" <- the next step applies it
        "#
    );
    check!(
        "a YAML list as a snippet, not indented",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - deploy\n",
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because the deploy needs it: values.yaml =>\n",
                "replicas: 2\n",
                "env:\n",
                "- name: A\n",
                "  value: b\n",
                "  ARCHIVE:\n",
                "    - VC-3 because replaced\n",
            ),
        @r#"
        In Progress: deploy
        + VC values.yaml "replicas: 2\nenv:\n- name: A\n  value: b" <- the deploy needs it
        - VC-3 <- replaced
        "#
    );
    check!(
        "numbered, with nested explanation",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    1. Migrate users table\n",
                "       (batch 3 of 7)\n",
                "  Remaining:\n",
                "    2. Migrate orders\n",
            ),
        @r"
        In Progress: Migrate users table (batch 3 of 7)
        Remaining: Migrate orders
        "
    );
    check!(
        "each section fenced",
            concat!(
                "```\n",
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - a\n",
                "```\n",
                "\n",
                "```\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: t\n",
                "```\n",
                "\n",
                "```\n",
                "VERBATIM_CONTEXT:\n",
                "```\n",
            ),
        @r"
        In Progress: a
        + KL t <- r
        "
    );
    check!(
        "a small model that forgets because",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - fix bug\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - The bug is in parser.rs\n",
                "  ARCHIVE:\n",
                "    - KL-1\n",
            ),
        @r"
        In Progress: fix bug
        ERROR line 6, column 7: an `ADD` bullet must read `- because <reason>: <one-line insight>`
        ERROR line 8, column 11: an `ARCHIVE` bullet needs a reason and must read `- KL-<number> because <reason>`
        "
    );
    check!(
        "a small model that echoes the template",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  Completed:\n",
                "    - <optional bullet>\n",
                "  In Progress:\n",
                "    - fix bug\n",
                "KEY_LEARNINGS:\n",
                "  ARCHIVE:\n",
                "    - KL-<id> because <reason>\n",
            ),
        @r"
        Completed: <optional bullet>
        In Progress: fix bug
        ERROR line 8, column 7: expected an ID such as KL-1: an `ARCHIVE` bullet here must read `- KL-<number> because <reason>`
        "
    );
    check!(
        "JSON instead",
            "{\"current_progress\": {\"in_progress\": [\"fix bug\"]}}\n",
        @r"
        ERROR line 1, column 1: no section found: write CURRENT_PROGRESS:, KEY_LEARNINGS: or VERBATIM_CONTEXT: on a line of its own
        "
    );
    check!(
        "quotes with colons, windows line ends",
            concat!(
                "CURRENT_PROGRESS:\r\n",
                "  In Progress:\r\n",
                "    - check \"C:\\\\temp\"\r\n",
                "KEY_LEARNINGS:\r\n",
                "  ADD:\r\n",
                "    - because error \"E: 5\" came up: run as admin\r\n",
            ),
        @r#"
        In Progress: check "C:\\temp"
        + KL run as admin <- error "E: 5" came up
        "#
    );
    check!(
        "one sentence after every section",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - a\n",
                "\n",
                "I rewrote the progress.\n",
                "\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: t\n",
                "\n",
                "I added one learning.\n",
                "\n",
                "VERBATIM_CONTEXT:\n",
                "  ADD: (none)\n",
            ),
        @r"
        In Progress: a
        + KL t <- r
        "
    );
}

#[test]
fn a_block_in_notebook_tags_is_read() {
    let block = concat!(
        "CURRENT_PROGRESS:\n",
        "  In Progress:\n",
        "    - a\n",
        "VERBATIM_CONTEXT:\n",
        "  ADD:\n",
        "    - because r: l =>\n",
        "      <b>\n",
        "      </notebook>\n",
    );
    let expected = "In Progress: a\n+ VC l \"<b>\\n</notebook>\" <- r";
    for (open, close) in [
        ("<notebook>\n", "</notebook>\n"),
        ("Here:\n<notebook name=\"main\">\n", "</notebook>\nDone."),
        ("<answer>\n<notebook>\n\n", "\n</notebook>\n</answer>\n"),
        ("<answer>\n", "</answer>"),
        // The opening tag was part of the prompt.
        ("", "</notebook>\n"),
        ("```xml\n<notebook>\n", "</notebook>\n```\n"),
    ] {
        assert_eq!(read(&format!("{open}{block}{close}")), expected, "{open}{block}{close}");
        let progress = "CURRENT_PROGRESS:\n  In Progress:\n    - a\n";
        assert_eq!(read(&format!("{open}{progress}{close}")), "In Progress: a", "{open}{progress}{close}");
    }
}

#[test]
fn a_finished_task_has_nothing_in_progress() {
    let none = ["In Progress: (none)", "In Progress:\n    (none)", "In Progress:\n    - None.", "**In Progress:** n/a"];
    for none in none {
        let text = format!("CURRENT_PROGRESS:\n  Completed:\n    - all of it\n  {none}\n  Remaining: (none)\n");
        assert_eq!(read(&text), "Completed: all of it", "{text}");
    }
    // Remaining tasks must be started, and "no change" does not mean that the task is finished.
    let wrong = ["In Progress: (none)\n  Remaining:\n    - a", "In Progress:", "In Progress: (no change)"];
    for wrong in wrong {
        let text = format!("CURRENT_PROGRESS:\n  Completed:\n    - b\n  {wrong}\n");
        assert!(read(&text).contains("ERROR line 1, column 1: CURRENT_PROGRESS needs at least one bullet"), "{text}");
    }
}

#[test]
fn checkboxes_are_dropped() {
    let text = concat!(
        "CURRENT_PROGRESS:\n",
        "  Completed:\n",
        "    - [x] a\n",
        "    * [X] b [x]\n",
        "  In Progress:\n",
        "    1. [ ] c\n",
        "    - [x]d\n",
        "    - [y] e\n",
        "KEY_LEARNINGS:\n",
        "  ADD:\n",
        "    - [ ] because r: t\n",
        "  ARCHIVE:\n",
        "    - [x] KL-1 because old\n",
    );
    let expected = concat!(
        "Completed: a\nCompleted: b [x]\nIn Progress: c\nIn Progress: [x]d\nIn Progress: [y] e\n",
        "+ KL t <- r\n- KL-1 <- old",
    );
    assert_eq!(read(text), expected);
    assert!(read("CURRENT_PROGRESS:\n  In Progress:\n    - [ ]\n").contains("this bullet has no text"));
}

#[test]
fn nested_fences_are_read() {
    let progress = "CURRENT_PROGRESS:\n  In Progress:\n    - a\n";
    let snippets = "VERBATIM_CONTEXT:\n  ADD:\n    - because r: l =>\n      x\n";
    // Around the block.
    for (open, close) in
        [("````md\n```text\n", "```\n````\n"), ("```\n```text\n", "```\n```\n"), ("~~~\n```\n", "```\n~~~\nDone.")]
    {
        let text = format!("{open}{progress}{snippets}{close}");
        assert_eq!(read(&text), "In Progress: a\n+ VC l \"x\" <- r", "{text}");
    }
    // Inside the block.
    let text = "````\nKEY_LEARNINGS:\n```\n  ADD:\n    - because r: t\n```\n  ARCHIVE:\n    - KL-1 because s\n````\n";
    assert_eq!(read(text), "+ KL t <- r\n- KL-1 <- s");
    // From the arrow's line on, inside the fence around the block.
    for code in ["```py\ndef f():\n    return 1\n```", "```py\n      def f():\n          return 1\n      ```"] {
        let text = format!(
            "```\nVERBATIM_CONTEXT:\n  ADD:\n    - because r: l => {code}\n    - because s: m => n\n```\nDone.\n"
        );
        let expected = "+ VC l \"```py\\ndef f():\\n    return 1\\n```\" <- r\n+ VC m \"n\" <- s";
        assert_eq!(read(&text), expected, "{text}");
    }
}
