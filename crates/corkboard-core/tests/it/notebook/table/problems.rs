//! Problems and their positions.

use crate::notebook::read::read;

#[test]
fn problems() {
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
        ERROR line 1, column 1: CURRENT_PROGRESS needs at least one bullet under `In Progress:`; write `(none)` there only if the task is finished and nothing remains
        "
    );
    check!(
        "only the header",
            concat!(
                "KEY_LEARNINGS:\n",
                "CURRENT_PROGRESS:\n",
            ),
        @r"
        ERROR line 2, column 1: CURRENT_PROGRESS needs at least one bullet under `In Progress:`; write `(none)` there only if the task is finished and nothing remains
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
        ERROR line 5, column 7: expected an ID such as KL-1: an `ARCHIVE` bullet here must read `- KL-<number> because <reason>`
        ERROR line 6, column 7: an `ARCHIVE` bullet must read `- KL-<number> because <reason>`
        ERROR line 7, column 7: expected an ID such as KL-1: an `ARCHIVE` bullet here must read `- KL-<number> because <reason>`
        ERROR line 8, column 7: expected an ID such as KL-1: an `ARCHIVE` bullet here must read `- KL-<number> because <reason>`
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
        note line 4, column 7: warning: KL-1 is already archived
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
        ERROR line 3, column 5: a bullet of CURRENT_PROGRESS must be under `Completed:`, `In Progress:` or `Remaining:`
        ERROR line 7, column 3: `Completed:` does not belong in KEY_LEARNINGS; expected `ADD:` or `ARCHIVE:`
        ERROR line 8, column 5: a bullet of KEY_LEARNINGS must be under `ADD:` or `ARCHIVE:`
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
        ERROR line 2, column 3: a bullet of KEY_LEARNINGS must be under `ADD:` or `ARCHIVE:`
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
        note line 6, column 5: warning: more than 3 learnings at once; keep only the most useful
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
        note line 5, column 5: warning: this bullet is outside of every section and is ignored
        note line 6, column 3: warning: `ARCHIVE:` is outside of every section and is ignored
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
        ERROR line 1, column 1: "In Progress:" cannot be a bullet of CURRENT_PROGRESS: it would be parsed as something else
        "#
    );
}

#[test]
fn an_id_in_front_of_a_new_item_is_an_error_that_says_ids_are_assigned_automatically() {
    for (bullet, id, column) in [
        ("KL-2: because r: t", "KL-2", 7),
        ("KL-2 because r: t", "KL-2", 7),
        ("**KL-2:** because r: t", "KL-2", 9),
        ("[kl-2] because r: t", "kl-2", 8),
        ("because r: KL-2: t", "KL-2", 18),
        ("because r: **KL-2**: t", "KL-2", 20),
    ] {
        let text = format!("KEY_LEARNINGS:\n  ADD:\n    - {bullet}\n");
        let message = format!("leave out `{id}`: the IDs of new items are assigned automatically");
        assert_eq!(read(&text), format!("ERROR line 3, column {column}: {message}"));
    }
    let snippet = read("VERBATIM_CONTEXT:\n  ADD:\n    - because r: VC-1: l => t\n");
    assert!(snippet.starts_with("ERROR line 3, column 18: leave out `VC-1`: the IDs of new items"), "{snippet}");
    // An ID that is only mentioned.
    let mentioned = read("KEY_LEARNINGS:\n  ADD:\n    - because KL-2: KL-2 was wrong: it is 3\n");
    assert_eq!(mentioned, "+ KL KL-2 was wrong: it is 3 <- KL-2");
}
