//! The notebook's language, form by form: what each text is read as, and what is wrong with it.

#[path = "notebook/read.rs"]
mod read;

use read::read;

/// A text, and what it is read as. The first is what the case is about.
macro_rules! check {
    ($about:literal, $text:expr, @$expected:literal) => {
        insta::with_settings!({ description => $about }, { insta::assert_snapshot!(read($text), @$expected) })
    };
}

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
fn what_may_be_left_out() {
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
        "a bullet that goes on",
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
        "check boxes stay text",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - [ ] a\n",
                "  Completed:\n",
                "    - [x] b\n",
            ),
        @r"
        Completed: [x] b
        In Progress: [ ] a
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

#[test]
fn reasons() {
    check!(
        "the first colon ends it",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: a: b\n",
            ),
        @r"
        + KL a: b <- r
        "
    );
    check!(
        "not one in quotes or brackets",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because \"a: b\" and (c: d) and `e: f`: it's so\n",
            ),
        @r#"
        + KL it's so <- "a: b" and (c: d) and `e: f`
        "#
    );
    check!(
        "an apostrophe is no quote",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because it's the users' choice: don't\n",
            ),
        @r"
        + KL don't <- it's the users' choice
        "
    );
    check!(
        "one left open",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because a (b: c\n",
            ),
        @r"
        + KL c <- a (b
        "
    );
    check!(
        "one that cannot be written again",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because \"a (b: c): l => q\"\n",
            ),
        @r"
        ERROR line 3, column 15: a quote or bracket in the reason is not closed before its `:`
        "
    );
    check!(
        "a colon after because",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because: r: t\n",
            ),
        @r"
        + KL t <- r
        "
    );
    check!(
        "an archival may begin with its reason",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ARCHIVE:\n",
                "    - because the port: 80 is gone: KL-4\n",
            ),
        @r"
        - KL-4 <- the port: 80 is gone
        "
    );
    check!(
        "marks around an id",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ARCHIVE:\n",
                "    - **KL-4** - because old\n",
                "    - [KL-5]: because old\n",
                "    - `KL-6`, because old\n",
            ),
        @r"
        - KL-4 <- old
        - KL-5 <- old
        - KL-6 <- old
        "
    );
}

#[test]
fn snippets() {
    check!(
        "on the bullet's line",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l => one  two \n",
            ),
        @r#"
        + VC l "one  two " <- r
        "#
    );
    check!(
        "below it",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "      one\n",
                "        two\n",
                "      three\n",
            ),
        @r#"
        + VC l "one\n  two\nthree" <- r
        "#
    );
    check!(
        "both",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l => one\n",
                "      two\n",
            ),
        @r#"
        + VC l "one\ntwo" <- r
        "#
    );
    check!(
        "tabs inside",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: Makefile =>\n",
                "      all:\n",
                "      \tcargo build\n",
            ),
        @r#"
        + VC Makefile "all:\n\tcargo build" <- r
        "#
    );
    check!(
        "the layout with tabs",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "\tADD:\n",
                "\t\t- because r: l =>\n",
                "\t\t\tall:\n",
                "\t\t\t\tcargo\n",
            ),
        @r#"
        + VC l "all:\n\tcargo" <- r
        "#
    );
    check!(
        "bullets and headers inside",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "      - because x: y => z\n",
                "      ADD:\n",
                "      KEY_LEARNINGS:\n",
                "        - a\n",
                "    - because s: m => n\n",
            ),
        @r#"
        + VC l "- because x: y => z\nADD:\nKEY_LEARNINGS:\n  - a" <- r
        + VC m "n" <- s
        "#
    );
    check!(
        "blank lines inside and after",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "\n",
                "      a\n",
                "\n",
                "\n",
                "      b\n",
                "\n",
                "    - because s: m => n\n",
                "\n",
                "KEY_LEARNINGS:\n",
            ),
        @r#"
        + VC l "\na\n\n\nb" <- r
        + VC m "n" <- s
        "#
    );
    check!(
        "trailing white space in its lines",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "      a  \n",
                "      \t\n",
                "      b\t\n",
            ),
        @r#"
        + VC l "a  \n\t\nb\t" <- r
        "#
    );
    check!(
        "its own blank lines at the end",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "      a\n",
                "      \n",
                "  ARCHIVE:\n",
            ),
        @r#"
        + VC l "a\n" <- r
        "#
    );
    check!(
        "indented less than its bullet's text",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "    fn a() {\n",
                "        b\n",
                "    }\n",
            ),
        @r#"
        + VC l "fn a() {\n    b\n}" <- r
        "#
    );
    check!(
        "not indented",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "[server]\n",
                "  port = 80\n",
                "\n",
                "- name: x\n",
                "    - because s: m => n\n",
            ),
        @r#"
        + VC l "[server]\n  port = 80\n\n- name: x" <- r
        + VC m "n" <- s
        "#
    );
    check!(
        "not indented, fenced",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "```toml\n",
                "    - because not: a => bullet\n",
                "```\n",
                "    - because s: m => n\n",
            ),
        @r#"
        + VC l "```toml\n    - because not: a => bullet\n```" <- r
        + VC m "n" <- s
        "#
    );
    check!(
        "a fence inside",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "      ```sh\n",
                "      ls\n",
                "      ```\n",
            ),
        @r#"
        + VC l "```sh\nls\n```" <- r
        "#
    );
    check!(
        "an arrow in it",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: a map => x => y\n",
            ),
        @r#"
        + VC a map "x => y" <- r
        "#
    );
    check!(
        "unicode",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because Grüße: ключ 🗝 =>\n",
                "      é\u{a0}—\n",
            ),
        @r#"
        + VC ключ 🗝 "é\u{a0}—" <- Grüße
        "#
    );
    check!(
        "line ends inside",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l => a\r\r\n",
                "      b\rc\r\n",
            ),
        @r#"
        + VC l "a\nb\rc" <- r
        "#
    );
}

#[test]
fn around_the_block() {
    check!(
        "a fence",
            concat!(
                "```\n",
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "```\n",
            ),
        @r"
        In Progress: x
        "
    );
    check!(
        "a fence with a language, and prose",
            concat!(
                "Sure! Here is the update.\n",
                "\n",
                "```text\n",
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l =>\n",
                "      a\n",
                "```\n",
                "\n",
                "Let me know: anything else?\n",
                "- because I can help\n",
            ),
        @r#"
        In Progress: x
        + VC l "a" <- r
        note line 14, column 1: warning: this bullet stands outside of every section and is left out
        "#
    );
    check!(
        "a fence for each section",
            concat!(
                "```\n",
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "```\n",
                "and\n",
                "~~~\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: t\n",
                "~~~\n",
            ),
        @r"
        In Progress: x
        + KL t <- r
        "
    );
    check!(
        "prose without a fence",
            concat!(
                "I updated the memory. Current progress: fine.\n",
                "\n",
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "\n",
                "That is all.\n",
            ),
        @r"
        In Progress: x
        "
    );
    check!(
        "prose after a snippet",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: l => a\n",
                "      b\n",
                "\n",
                "That is all.\n",
            ),
        @r#"
        + VC l "a\nb" <- r
        "#
    );
    check!(
        "rules between sections",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
                "---\n",
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: t\n",
                "***\n",
            ),
        @r"
        In Progress: x
        + KL t <- r
        "
    );
    check!(
        "words of the language in prose",
            concat!(
                "The KEY_LEARNINGS section is unchanged.\n",
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - x\n",
            ),
        @r"
        In Progress: x
        "
    );
}

#[test]
fn what_is_wrong() {
    check!(
        "nothing at all",
            "",
        @r"
        ERROR line 1, column 1: no section found: write CURRENT_PROGRESS:, KEY_LEARNINGS: or VERBATIM_CONTEXT: on a line of its own
        "
    );
    check!(
        "no section",
            "I have nothing to add.\n",
        @r"
        ERROR line 1, column 1: no section found: write CURRENT_PROGRESS:, KEY_LEARNINGS: or VERBATIM_CONTEXT: on a line of its own
        "
    );
    check!(
        "nothing in progress",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  Completed:\n",
                "    - a\n",
            ),
        @r"
        Completed: a
        ERROR line 1, column 1: CURRENT_PROGRESS needs at least one bullet under `In Progress:`
        "
    );
    check!(
        "only the header",
            concat!(
                "KEY_LEARNINGS:\n",
                "CURRENT_PROGRESS:\n",
            ),
        @r"
        ERROR line 2, column 1: CURRENT_PROGRESS needs at least one bullet under `In Progress:`
        "
    );
    check!(
        "no reason",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - tabs count\n",
                "    - because : x\n",
                "    - because r\n",
                "    - because r:\n",
            ),
        @r"
        ERROR line 3, column 7: an `ADD` bullet must read `- because <reason>: <one-line insight>`
        ERROR line 4, column 15: the reason is empty; it must read `- because <reason>: <one-line insight>`
        ERROR line 5, column 16: there is no `:` after the reason; an `ADD` bullet must read `- because <reason>: <one-line insight>`
        ERROR line 6, column 17: nothing follows the reason; it must read `- because <reason>: <one-line insight>`
        "
    );
    check!(
        "an insight of two lines",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: a\n",
                "      b\n",
                "      c\n",
            ),
        @r"
        + KL a <- r
        ERROR line 4, column 7: a key learning must stay on one line
        "
    );
    check!(
        "no label",
            concat!(
                "VERBATIM_CONTEXT:\n",
                "  ADD:\n",
                "    - because r: just text\n",
                "      and more\n",
                "    - because r: => x\n",
                "    - because r: l =>\n",
                "\n",
                "    - because r: m => n\n",
            ),
        @r#"
        + VC m "n" <- r
        ERROR line 3, column 18: a snippet needs a label and an arrow: `- because <reason>: <label> => <verbatim snippet>`
        ERROR line 5, column 18: a snippet needs a label and an arrow: `- because <reason>: <label> => <verbatim snippet>`
        ERROR line 6, column 18: the snippet "l" is empty; it begins after `=>` or on the next line
        "#
    );
    check!(
        "archivals",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ARCHIVE:\n",
                "    - KL-1\n",
                "    - KL-2 because\n",
                "    - VC-1 because old\n",
                "    - the old one\n",
                "    - KL-x because old\n",
                "    - KL-99999999999999999999 because old\n",
            ),
        @r"
        ERROR line 3, column 11: an `ARCHIVE` bullet needs a reason and must read `- KL-<number> because <reason>`
        ERROR line 4, column 12: an `ARCHIVE` bullet needs a reason and must read `- KL-<number> because <reason>`
        ERROR line 5, column 7: expected an id such as KL-1: an `ARCHIVE` bullet here must read `- KL-<number> because <reason>`
        ERROR line 6, column 7: an `ARCHIVE` bullet must read `- KL-<number> because <reason>`
        ERROR line 7, column 7: expected an id such as KL-1: an `ARCHIVE` bullet here must read `- KL-<number> because <reason>`
        ERROR line 8, column 7: expected an id such as KL-1: an `ARCHIVE` bullet here must read `- KL-<number> because <reason>`
        "
    );
    check!(
        "an id twice",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ARCHIVE:\n",
                "    - KL-1 because old\n",
                "    - KL-1 because very old\n",
            ),
        @r"
        - KL-1 <- old
        note line 4, column 7: warning: KL-1 is archived already
        "
    );
    check!(
        "lists in the wrong place",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  ADD:\n",
                "    - because r: t\n",
                "  In Progress:\n",
                "    - x\n",
                "KEY_LEARNINGS:\n",
                "  Completed:\n",
                "    - y\n",
                "    - z\n",
            ),
        @r"
        In Progress: x
        ERROR line 2, column 3: `ADD:` does not belong in CURRENT_PROGRESS; expected `Completed:`, `In Progress:` or `Remaining:`
        ERROR line 3, column 5: a bullet of CURRENT_PROGRESS must stand under `Completed:`, `In Progress:` or `Remaining:`
        ERROR line 7, column 3: `Completed:` does not belong in KEY_LEARNINGS; expected `ADD:` or `ARCHIVE:`
        ERROR line 8, column 5: a bullet of KEY_LEARNINGS must stand under `ADD:` or `ARCHIVE:`
        "
    );
    check!(
        "text where bullets belong",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    write the parser\n",
                "KEY_LEARNINGS:\n",
                "  nothing new here\n",
            ),
        @r"
        ERROR line 3, column 5: expected a bullet that begins with `- `
        ERROR line 5, column 3: expected `ADD:` or `ARCHIVE:`
        "
    );
    check!(
        "text after a header",
            concat!(
                "CURRENT_PROGRESS: fine\n",
                "  In Progress: write the parser\n",
            ),
        @r"
        ERROR line 1, column 19: nothing may follow `CURRENT_PROGRESS:` on its line; expected `Completed:`, `In Progress:` or `Remaining:`
        ERROR line 2, column 16: nothing may follow `In Progress:` on its line; begin a bullet below it with `- `
        "
    );
    check!(
        "bullets outside of a list",
            concat!(
                "KEY_LEARNINGS:\n",
                "  - because r: a\n",
                "  - because r: b\n",
            ),
        @r"
        ERROR line 2, column 3: a bullet of KEY_LEARNINGS must stand under `ADD:` or `ARCHIVE:`
        "
    );
    check!(
        "an empty bullet",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    -\n",
                "    - x\n",
            ),
        @r"
        In Progress: x
        ERROR line 3, column 5: this bullet has no text
        "
    );
    check!(
        "more than three learnings",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "    - because r: a\n",
                "    - because r: b\n",
                "    - because r: c\n",
                "    - because r: d\n",
                "    - because r: e\n",
            ),
        @r"
        + KL a <- r
        + KL b <- r
        + KL c <- r
        + KL d <- r
        + KL e <- r
        note line 6, column 5: warning: more than 3 learnings at once; keep those worth it
        "
    );
    check!(
        "bullets after the end",
            concat!(
                "KEY_LEARNINGS:\n",
                "  ADD:\n",
                "\n",
                "Here they are:\n",
                "    - because r: t\n",
                "  ARCHIVE:\n",
            ),
        @r"
        note line 5, column 5: warning: this bullet stands outside of every section and is left out
        note line 6, column 3: warning: `ARCHIVE:` stands outside of every section and is left out
        "
    );
    check!(
        "columns count characters, not bytes",
            concat!(
                "KEY_LEARNINGS:\n",
                "\tARCHIVE:\n",
                "\t\t- „Größe“ weg\n",
            ),
        @r"
        ERROR line 3, column 5: an `ARCHIVE` bullet must read `- KL-<number> because <reason>`
        "
    );
    check!(
        "joined lines that would be a header",
            concat!(
                "CURRENT_PROGRESS:\n",
                "  In Progress:\n",
                "    - In\n",
                "      Progress:\n",
            ),
        @r#"
        In Progress: In Progress:
        ERROR line 1, column 1: "In Progress:" cannot be a bullet of CURRENT_PROGRESS
        "#
    );
}

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
