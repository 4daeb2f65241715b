//! Snippets in every notation.

use crate::notebook::read::read;

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
fn a_snippet_that_begins_on_the_arrow_line_keeps_the_indentation_of_the_lines_below() {
    let cases = [
        // Not laid out: taken unchanged.
        ("    - because r: l => def f():\n    return 1\n", "def f():\n    return 1"),
        ("  - because r: l => def f():\n    return 1\n", "def f():\n    return 1"),
        ("    - because r: l => select a\n    from b\n", "select a\n    from b"),
        ("    - because r: l => def f():\n    if x:\n        y\nz\n", "def f():\n    if x:\n        y\nz"),
        // Laid out: the indentation up to the bullet's text is layout.
        ("    - because r: l => def f():\n          return 1\n", "def f():\n    return 1"),
        ("\t\t- because r: l => def f():\n\t\t\t\treturn 1\n", "def f():\n\treturn 1"),
        ("    - because r: l => fn a() {\n        b\n      }\n", "fn a() {\n  b\n}"),
        ("    - because r: l => fn a() {\n      b\n    }\n", "fn a() {\n  b\n}"),
        ("    - because r: l => one\n      two\n", "one\ntwo"),
    ];
    for (bullet, expected) in cases {
        let text = format!("VERBATIM_CONTEXT:\n  ADD:\n{bullet}    - because s: m => n\n");
        // The next bullet has the same indentation as the first.
        let text = if bullet.starts_with("  -") { text.replace("\n    - because s", "\n  - because s") } else { text };
        let expected = format!("+ VC l {expected:?} <- r\n+ VC m \"n\" <- s");
        assert_eq!(read(&text), expected, "{text}");
    }
}
