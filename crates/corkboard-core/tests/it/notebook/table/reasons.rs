//! Reasons, and text around the block.

use crate::notebook::read::read;

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
        "a colon in quotes or brackets does not end it",
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
        "an apostrophe does not open a quote",
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
        "a quote that is not closed",
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
        "a reason that cannot be printed back",
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
        note line 14, column 1: warning: this bullet is outside of every section and is ignored
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
fn a_url_does_not_end_a_reason() {
    let text = concat!(
        "KEY_LEARNINGS:\n",
        "  ADD:\n",
        "    - because see http://x/a: it is so\n",
        "    - because https://x.org:8080/a?b=c:d says: so: and so\n",
        "VERBATIM_CONTEXT:\n",
        "  ADD:\n",
        "    - because file:///etc/hosts: hosts => x\n",
    );
    let expected = concat!(
        "+ KL it is so <- see http://x/a\n",
        "+ KL so: and so <- https://x.org:8080/a?b=c:d says\n",
        "+ VC hosts \"x\" <- file:///etc/hosts",
    );
    assert_eq!(read(text), expected);
}
