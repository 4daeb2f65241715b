//! Rules that hold for every parsed text.

use std::sync::Arc;

use corkboard_core::Limits;
use corkboard_core::notebook::{Block, Notebook, NotebookProblem, Parsed, UnknownIds, parse};

/// Parses a text and checks all rules.
pub(crate) fn check_laws(text: &str) -> Parsed {
    let parsed = parse(text);
    // A byte order mark is not part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.split('\n').collect();
    for problem in &parsed.problems {
        check_place(problem, &lines);
    }
    assert!(parsed.problems.len() <= Parsed::PROBLEMS + 3);
    check_bytes(&parsed.block, text);
    if !parsed.has_errors() {
        check_printed(&parsed.block);
    }
    parsed
}

/// A problem lies in the text and quotes it.
fn check_place(problem: &NotebookProblem, lines: &[&str]) {
    let line = lines.get(problem.line - 1).unwrap_or_else(|| panic!("{problem:?} is beyond the text"));
    let characters: Vec<char> = line.chars().collect();
    assert!((1..=characters.len() + 1).contains(&problem.column), "{problem:?} in {line:?}");
    let excerpt: Vec<char> = problem.excerpt.chars().collect();
    assert!(excerpt.len() <= NotebookProblem::EXCERPT);
    let (there, shown) = (characters.get(problem.column - 1), excerpt.get(problem.excerpt_column - 1));
    // A carriage return at the end of a line is not shown.
    assert!(there == shown || there == Some(&'\r'), "{problem:?} in {line:?}");
    assert!(problem.message.len() < 400, "{problem:?}");
}

/// Every line of a snippet is the end of a line of the text, and only layout was removed before it.
fn check_bytes(block: &Block, text: &str) {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    let mut from = 0;
    for snippet in &block.snippets {
        assert!(!snippet.text.trim().is_empty());
        let mut snippet_lines = snippet.text.split('\n');
        let first = snippet_lines.next().unwrap();
        // A snippet starts after an arrow, or on a separate line.
        let rest: Vec<&str> = snippet_lines.collect();
        let begins = (from..lines.len()).find(|at| {
            let fits = |line: &str, part: &str| {
                line.strip_suffix(part).is_some_and(|before| before.trim_matches([' ', '\t']).is_empty())
            };
            let opens =
                lines[*at].ends_with(first) && (fits(lines[*at], first) || lines[*at].trim_end().contains("=>"));
            opens && rest.iter().zip(at + 1..).all(|(part, at)| lines.get(at).is_some_and(|line| fits(line, part)))
        });
        let begins = begins.unwrap_or_else(|| panic!("{:?} is not in the text:\n{text:?}", snippet.text));
        from = begins;
    }
}

/// A block without errors parses back from its printed form and prints the same again.
fn check_printed(block: &Block) {
    let printed = block.to_string();
    let again = parse(&printed);
    assert!(!again.has_errors(), "{printed}\n{:?}", again.problems);
    assert_eq!(&again.block, block, "{printed}");
    assert_eq!(again.block.to_string(), printed);
    let name = corkboard_core::NotebookName::new("main", &Limits::default()).unwrap();
    let limits = Limits {
        notebook_line_bytes: u64::MAX,
        snippet_bytes: u64::MAX,
        progress_bullets: u64::MAX,
        learnings_per_notebook: u64::MAX,
        snippets_per_notebook: u64::MAX,
        ..Limits::default()
    };
    let decided = Notebook::default().decide(&name, block, UnknownIds::Skip, &limits);
    let (update, _) =
        decided.unwrap_or_else(|refusal| panic!("{refusal}: a parsed block should be accepted\n{printed}"));
    let texts: Vec<&Arc<str>> = update.snippets.iter().map(|(_, snippet)| &snippet.text).collect();
    assert_eq!(texts, block.snippets.iter().map(|snippet| &snippet.text).collect::<Vec<_>>());
}
