//! As different models really answer.

use crate::read::read;

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
        ERROR line 8, column 7: expected an id such as KL-1: an `ARCHIVE` bullet here must read `- KL-<number> because <reason>`
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
