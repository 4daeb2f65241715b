//! Properties of every text and block: nothing panics, snippets keep their bytes, and printed blocks parse back.

#[path = "notebook/laws.rs"]
mod laws;

use corkboard_core::Limits;
use corkboard_core::agent::{AgentCommand, AgentState};
use corkboard_core::notebook::{
    Archival, Block, NewLearning, NewSnippet, Notebook, NotebookLearningId, Progress, SnippetId, UnknownIds, parse,
};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::support::{Memory, notebook_name};
use laws::check_laws;

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn arbitrary_text_keeps_the_laws(text in any::<String>()) {
        check_laws(&text);
    }

    #[test]
    fn text_that_looks_like_a_block_keeps_the_laws(lines in prop::collection::vec(line(), 0..40)) {
        check_laws(&lines.concat());
    }

    #[test]
    fn a_printed_block_is_read_as_itself(block in block()) {
        let printed = block.to_string();
        let parsed = parse(&printed);
        let accepted = Notebook::default().decide(&notebook_name("main"), &block, UnknownIds::Skip, &Limits::default());
        // A refused block could not be read back; every other can.
        if accepted.is_ok() {
            prop_assert!(!parsed.has_errors(), "{printed}\n{:?}", parsed.problems);
            prop_assert_eq!(parsed.block, block, "{}", printed);
        }
    }

    #[test]
    fn a_printed_notebook_reads_back_as_its_content(blocks in prop::collection::vec(block(), 1..6)) {
        let mut memory = Memory::new(Limits::default());
        for block in blocks {
            let _ = memory.send(AgentCommand::UpdateNotebook {
                notebook: notebook_name("main"),
                block: Box::new(block),
                unknown_ids: UnknownIds::Skip,
                if_version: None,
            });
        }
        let shown = main(memory.state());
        let parsed = parse(&shown.to_string());
        prop_assert!(!parsed.has_errors(), "{shown}\n{:?}", parsed.problems);
        prop_assert_eq!(parsed.block, shown.as_block());
    }

    #[test]
    fn a_snippet_from_the_arrow_line_on_is_read_with_the_indentation_of_its_lines(
        first in "[a-z{]{1,6}( [a-z:]{1,6})?",
        lines in prop::collection::vec((0..9_usize, "[a-z}]{1,6}"), 0..6),
        column in prop::sample::select(vec![0, 2, 4]),
    ) {
        // Below the bullet's text, each line keeps its indentation.
        let (bullet, text) = (" ".repeat(column), " ".repeat(column + 2));
        let laid_out: String = lines.iter().map(|(own, line)| format!("{text}{}{line}\n", " ".repeat(*own))).collect();
        let mut expected = first.clone();
        for (own, line) in &lines {
            expected.push_str(&format!("\n{}{line}", " ".repeat(*own)));
        }
        let written = format!("VERBATIM_CONTEXT:\n  ADD:\n{bullet}- because r: l => {first}\n{laid_out}");
        let parsed = check_laws(&written);
        prop_assert!(!parsed.has_errors(), "{written}\n{:?}", parsed.problems);
        let read = &parsed.block.snippets[0].text;
        // If the first line opens a block and the second is not indented further, no line loses indentation.
        let is_flat = first.ends_with([':', '{']) && lines.first().is_some_and(|(own, _)| *own == 0);
        if is_flat {
            prop_assert!(read.lines().zip(expected.lines()).all(|(read, line)| read.ends_with(line)), "{written}\n{read}");
        } else {
            prop_assert_eq!(&**read, expected, "{}", written);
        }
    }

    #[test]
    fn the_same_text_in_tabs_spaces_and_with_crlf_is_the_same_block(block in block()) {
        let printed = block.to_string();
        let parsed = parse(&printed);
        if parsed.has_errors() {
            return Ok(());
        }
        let crlf = printed.replace('\n', "\r\n");
        prop_assert_eq!(&parse(&crlf).block, &parsed.block);
        let fenced = format!("Here it is:\n\n```text\n{printed}```\nIt is done.\n");
        prop_assert_eq!(&parse(&fenced).block, &parsed.block, "{}", fenced);
        // Changes only the printer's layout.
        let tabbed: String = printed.split_inclusive('\n').map(tabs).collect();
        prop_assert_eq!(&parse(&tabbed).block, &parsed.block, "{}", tabbed);
    }
}

fn tabs(line: &str) -> String {
    let own = line.len() - line.trim_start_matches(' ').len();
    let levels = (own / 2).min(3);
    format!("{}{}", "\t".repeat(levels), &line[levels * 2..])
}

fn main(state: &AgentState) -> Notebook {
    state.notebook("main").map(|notebook| Notebook::clone(notebook)).unwrap_or_default()
}

/// Pieces of lines: everything with a meaning, and some without.
fn line() -> impl Strategy<Value = String> {
    let indent = prop::sample::select(vec!["", "", " ", "  ", "    ", "      ", "\t", "\t\t", "\t\t\t", "   \t"]);
    let body = prop::sample::select(vec![
        "CURRENT_PROGRESS:",
        "Key Learnings:",
        "**VERBATIM_CONTEXT:**",
        "Completed:",
        "In Progress:",
        "Remaining:",
        "ADD:",
        "ARCHIVE:",
        "ADD: (none)",
        "(none)",
        "- (none)",
        "- a bullet",
        "* another",
        "1. third",
        "-touching",
        "- because r: text",
        "- because \"a:b\": label => first",
        "- because x: label =>",
        "- because (open: l => x'",
        "- because 'tis (b: c): l => it's",
        "- KL-1 because old",
        "- VC-2 because old",
        "- KL-1",
        "- because : x",
        "```",
        "```toml",
        "````",
        "~~~",
        "---",
        "",
        "",
        "prose",
        "port = 80",
        "- name: x",
        "fn a() {",
        "\u{a0}",
        "- Completed:",
        "\r",
        "x\r",
        "\u{feff}",
        "🗝 — é",
        "=>",
        "- because r: l => \t x  ",
        "- because see http://x:8/a: l => def f():",
        "- because r: l => ```py",
        "- [x] because r: KL-1: t",
        "In Progress: (none)",
        "<notebook>",
        "</notebook>",
        "<b>",
        "}",
    ]);
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n", "  \n", "\t\n", ""]);
    (indent, body, end).prop_map(|(indent, body, end)| format!("{indent}{body}{end}"))
}

fn block() -> impl Strategy<Value = Block> {
    let lines = || prop::collection::vec(words(), 0..3);
    let progress =
        (lines(), prop::collection::vec(words(), 0..3), lines()).prop_map(|(completed, in_progress, remaining)| {
            let shared = |list: Vec<String>| list.into_iter().map(Into::into).collect();
            let (completed, in_progress, remaining) = (shared(completed), shared(in_progress), shared(remaining));
            Progress { completed, in_progress, remaining }
        });
    let learning =
        (words(), words()).prop_map(|(text, reason)| NewLearning { text: text.into(), reason: reason.into() });
    let snippet = (words(), snippet(), words()).prop_map(|(label, text, reason)| NewSnippet {
        label: label.into(),
        text: text.into(),
        reason: reason.into(),
    });
    let ids = || prop::collection::btree_map(1..6_u64, words(), 0..3);
    let learnings = prop::collection::vec(learning, 0..3);
    let snippets = prop::collection::vec(snippet, 0..3);
    (prop::option::of(progress), learnings, ids(), snippets, ids()).prop_map(
        |(progress, learnings, old_learnings, snippets, old_snippets)| Block {
            progress,
            learnings,
            archived_learnings: old_learnings
                .into_iter()
                .map(|(id, reason)| Archival { id: NotebookLearningId(id), reason: reason.into() })
                .collect(),
            snippets,
            archived_snippets: old_snippets
                .into_iter()
                .map(|(id, reason)| Archival { id: SnippetId(id), reason: reason.into() })
                .collect(),
        },
    )
}

/// One line, mostly harmless.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "word",
        "x",
        "because",
        "KL-1",
        "\"a:b\"",
        "it's",
        "'",
        "(",
        ")",
        "`c`",
        "=>",
        ":",
        "- ",
        "🗝",
        "none",
        "ADD:",
        "In Progress:",
        "\t",
        "\u{a0}",
        "*",
        "[x]",
        "KL-2:",
        "http://x:8/a:",
        "http://x",
    ]);
    prop_oneof![
        8 => prop::collection::vec(word, 1..5).prop_map(|words| words.join(" ").trim().to_owned()),
        1 => "[ -~]{1,20}",
        1 => any::<String>(),
    ]
}

/// Several lines, with everything that could be mistaken for something else.
fn snippet() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => line(),
        1 => any::<String>(),
    ];
    prop::collection::vec(line, 1..8).prop_map(|lines| lines.concat())
}
