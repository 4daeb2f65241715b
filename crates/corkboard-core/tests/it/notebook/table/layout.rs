//! The layout: indentation, names, bullets, and optional parts.

use crate::notebook::read::read;

#[test]
fn the_layout() {
    check!(
        "as the specification draws it, with tabs",
            concat!(
                "CURRENT_PROGRESS:\n",
                "\tCompleted:\n",
                "\t\t- one\n",
                "\tIn Progress:\n",
                "\t\t- two\n",
                "\tRemaining:\n",
                "\t\t- three\n",
                "\n",
                "KEY_LEARNINGS:\n",
                "\tADD:\n",
                "\t\t- because it bit us: tabs count\n",
                "\tARCHIVE:\n",
                "\t\t- KL-1 because old\n",
                "\n",
                "VERBATIM_CONTEXT:\n",
                "\tADD:\n",
                "\t\t- because needed: a.toml => [a]\n",
                "\tARCHIVE:\n",
                "\t\t- VC-2 because outdated config\n",
            ),
        @r#"
        Completed: one
        In Progress: two
        Remaining: three
        + KL tabs count <- it bit us
        - KL-1 <- old
        + VC a.toml "[a]" <- needed
        - VC-2 <- outdated config
        "#
    );
    check!(
        "two spaces",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - two\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: t\n",
            ),
        @r"
        In Progress: two
        + KL t <- r
        "
    );
    check!(
        "four spaces",
            concat!(
                "CURRENT_PROGRESS:\n",
                "    In Progress:\n",
                "        - two\n",
                "VERBATIM_CONTEXT:\n",
                "    ADD:\n",
                "        - because r: l =>\n",
                "          a\n",
                "            b\n",
            ),
        @r#"
        In Progress: two
        + VC l "a\n  b" <- r
        "#
    );
    check!(
        "no indentation at all",
            concat!(
                "CURRENT_PROGRESS:\n",
                "In Progress:\n",
                "- two\n",
                "KEY_LEARNINGS:\n",
                "ADD:\n",
                "- because r: t\n",
                "ARCHIVE:\n",
                "- KL-3 because old\n",
            ),
        @r"
        In Progress: two
        + KL t <- r
        - KL-3 <- old
        "
    );
    check!(
        "CRLF",
            concat!(
                "CURRENT_PROGRESS:\r\n",
                "  In Progress:\r\n",
                "    - two\r\n",
                "VERBATIM_CONTEXT:\r\n",
                "  ADD:\r\n",
                "    - because r: l => a\r\n",
                "      b\r\n",
            ),
        @r#"
        In Progress: two
        + VC l "a\nb" <- r
        "#
    );
    check!(
        "no newline at the end",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: t",
            ),
        @r"
        + KL t <- r
        "
    );
    check!(
        "trailing spaces",
            concat!(
                "CURRENT_PROGRESS:  \n",
                "  In Progress: \t\n",
                "    - two   \n",
                "KEY_LEARNINGS:\t\n",
                "  ADD:  \n",
                "    - because r: t  \n",
            ),
        @r"
        In Progress: two
        + KL t <- r
        "
    );
    check!(
        "a byte order mark",
            concat!(
                "\u{feff}CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - two\n",
            ),
        @r"
        In Progress: two
        "
    );
    check!(
        "everything indented",
            concat!(
                "    CURRENT_PROGRESS:\n",
                "      In Progress:\n",
                "        - two\n",
                "    KEY_LEARNINGS:\n",
                "      ADD:\n",
                "        - because r: t\n",
            ),
        @r"
        In Progress: two
        + KL t <- r
        "
    );
    check!(
        "mixed tabs and spaces",
            concat!(
                "KEY_LEARNINGS:\n",
                "\tADD:\n",
                "    - because r: t\n",
                "\t\t- because r: u\n",
            ),
        @r"
        + KL t <- r
        + KL u <- r
        "
    );
    check!(
        "blank lines everywhere",
            concat!(
                "\n",
                "\n",
                "KEY_LEARNINGS:\n",
                "\n",
                "  ADD:\n",
                "\n",
                "    - because r: t\n",
                "\n",
                "    - because r: u\n",
                "\n",
            ),
        @r"
        + KL t <- r
        + KL u <- r
        "
    );
}

#[test]
fn optional_parts() {
    check!(
        "sections",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ARCHIVE:\n",
                "    - KL-2 because old\n",
            ),
        @r"
        - KL-2 <- old
        "
    );
    check!(
        "lists",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "KEY_LEARNINGS:\n",
                "VERBATIM_CONTEXT:\n",
            ),
        @r"
        In Progress: x
        "
    );
    check!(
        "(none)",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    (none)\n",
                "  ARCHIVE:\n",
                "    (none)\n",
                "VERBATIM_CONTEXT:\n",
                "  ADD: (none)\n",
                "  ARCHIVE: None\n",
            ),
        @""
    );
    check!(
        "(none) as a bullet, and under a section",
            concat!(
                "KEY_LEARNINGS:\n",
                "  (none)\n",
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - (none)\n",
                "  ARCHIVE:\n",
                "    - n/a\n",
            ),
        @""
    );
    check!(
        "(none) in the progress",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "  Completed:\n",
                "    - None.\n",
                "  Remaining:\n",
                "    (none)\n",
            ),
        @r"
        In Progress: x
        "
    );
    check!(
        "a section that says none",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "KEY_LEARNINGS: (no changes)\n",
            ),
        @r"
        In Progress: x
        "
    );
}

#[test]
fn names_and_bullets() {
    check!(
        "any case",
            concat!(
                "current_progress:\n",
                "  COMPLETED:\n",
                "    - a\n",
                "  in progress:\n",
                "    - b\n",
                "Key_Learnings:\n",
                "  add:\n",
                "    - BECAUSE r: t\n",
                "  Archive:\n",
                "    - kl-3 Because old\n",
            ),
        @r"
        Completed: a
        In Progress: b
        + KL t <- r
        - KL-3 <- old
        "
    );
    check!(
        "words with spaces or hyphens",
            concat!(
                "Current Progress:\n",
                "  In-Progress:\n",
                "    - b\n",
                "Key Learnings:\n",
                "  Add:\n",
                "    - because r: t\n",
            ),
        @r"
        In Progress: b
        + KL t <- r
        "
    );
    check!(
        "headings and bold",
            concat!(
                "## CURRENT_PROGRESS\n",
                "**In Progress:**\n",
                "- b\n",
                "### Remaining\n",
                "- c\n",
                "**KEY_LEARNINGS**:\n",
                "  **ADD**:\n",
                "  - **because** r: t\n",
            ),
        @r"
        In Progress: b
        Remaining: c
        + KL t <- r
        "
    );
    check!(
        "stars, pluses, dots, numbers",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    * a\n",
                "    + b\n",
                "    • c\n",
                "    1. d\n",
                "    2) e\n",
            ),
        @r"
        In Progress: a
        In Progress: b
        In Progress: c
        In Progress: d
        In Progress: e
        "
    );
    check!(
        "a dash that touches",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "  Remaining:\n",
                "    -y\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    -because r: t\n",
            ),
        @r"
        In Progress: x
        Remaining: y
        + KL t <- r
        "
    );
    check!(
        "lists as bullets",
            concat!(
                "CURRENT_PROGRESS:\n",
                "- Completed:\n",
                "  - a\n",
                "- In Progress:\n",
                "  - b\n",
                "KEY_LEARNINGS:\n",
                "- ADD:\n",
                "  - because r: t\n",
            ),
        @r"
        Completed: a
        In Progress: b
        + KL t <- r
        "
    );
    check!(
        "a bullet that continues on the next line",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - a long\n",
                "      bullet\n",
                "    - another\n",
            ),
        @r"
        In Progress: a long bullet
        In Progress: another
        "
    );
    check!(
        "checkboxes are dropped",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - [ ] a\n",
                "  Completed:\n",
                "    - [x] b\n",
            ),
        @r"
        Completed: b
        In Progress: a
        "
    );
    check!(
        "a section twice",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: a\n",
                "VERBATIM_CONTEXT:\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: b\n",
            ),
        @r"
        + KL a <- r
        + KL b <- r
        "
    );
    check!(
        "the progress twice",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - later\n",
            ),
        @r"
        In Progress: later
        note line 4, column 1: warning: a second CURRENT_PROGRESS replaces the one in line 1
        "
    );
    check!(
        "a list twice",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - a\n",
                "  Completed:\n",
                "    - c\n",
                "  In Progress:\n",
                "    - b\n",
            ),
        @r"
        Completed: c
        In Progress: a
        In Progress: b
        "
    );
}
