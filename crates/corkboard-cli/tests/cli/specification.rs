//! `docs/specification.md` names tests for every section of the specification, and a reason for every deviation.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::readme::{document, root};

/// The documents, and the number of headings below each title. The documents are not in the repository.
const DOCUMENTS: [(&str, usize); 5] = [("000", 5), ("001", 11), ("002", 14), ("003", 9), ("004", 32)];

/// Allowed texts instead of a test.
const WITHOUT_TESTS: [&str; 2] = ["nothing to test", "not built yet"];

fn page() -> String {
    document("docs/specification.md")
}

/// The page's part about one document.
fn part<'a>(page: &'a str, number: &str) -> &'a str {
    let heading = format!("{number}: ");
    page.split("\n## ").find(|part| part.starts_with(&heading)).unwrap_or_else(|| panic!("no heading {number}"))
}

/// The path of a file on the page: `core/…` is in `crates/corkboard-core`, `tests/…` in `crates/corkboard`.
fn path_of(file: &str) -> PathBuf {
    let crates = root().join("crates");
    let of_crate = file.split_once('/').map(|(name, rest)| (crates.join(format!("corkboard-{name}")), rest));
    match of_crate {
        Some((folder, rest)) if folder.is_dir() => folder.join(rest),
        _ => crates.join("corkboard").join(file),
    }
}

/// Whether a file has a test of that name: a function with a test attribute, or a case that a macro turns into tests.
/// For such a case, the file has a function, and a macro in the file or in the folder's `mod.rs` lists its name.
fn has_test(file: &str, name: &str) -> bool {
    let path = path_of(file);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declaration = format!("fn {name}(");
    let declared: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains(&declaration)).collect();
    let has_attribute = |at: &usize| {
        let mut above = lines[..*at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        above.any(|line| *line == "#[test]" || line.starts_with("#[tokio::test"))
    };
    let is_listed = || {
        let suite = std::fs::read_to_string(path.with_file_name("mod.rs")).unwrap_or_default();
        [&text, &suite].iter().any(|list| list.lines().any(|line| line.trim() == name))
    };
    declared.iter().any(has_attribute) || (!declared.is_empty() && is_listed())
}

/// Checks and counts the tests that a row names.
fn check_tests(section: &str, tests: &str) -> usize {
    let (mut file, mut count) = ("", 0);
    for quoted in tests.split('`').skip(1).step_by(2) {
        let Some((named_file, name)) = quoted.split_once("::") else {
            panic!("{section}: expected `FILE::TEST`, found `{quoted}`")
        };
        file = if named_file.is_empty() { file } else { named_file };
        assert!(
            has_test(file, name),
            "{section}: there is no test {name} in {file}; if you renamed it, update the page"
        );
        count += 1;
    }
    assert!(count > 0 || WITHOUT_TESTS.contains(&tests), "{section} names no test");
    count
}

#[test]
fn every_section_of_the_specification_names_tests_that_exist() {
    let (page, mut named) = (page(), 0);
    for (number, headings) in DOCUMENTS {
        let mut sections = BTreeSet::new();
        for row in part(&page, number).lines().filter(|line| line.starts_with("| ")).skip(1) {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [section, asked_for, tests] = cells[..] else { panic!("{number}: expected three columns: {row}") };
            assert!(!asked_for.is_empty(), "{number} {section} does not say what it asks for");
            named += check_tests(&format!("{number} {section}"), tests);
            sections.insert(section.split(" · ").next());
        }
        assert_eq!(sections.len(), headings, "{number}: a section is missing or misspelled: {sections:?}");
    }
    assert!(named > 150, "only {named} tests are named");
}

#[test]
fn every_deviation_from_the_specification_has_a_reason() {
    let page = page();
    for (number, _) in DOCUMENTS {
        let Some((_, deviations)) = part(&page, number).split_once("\nDeviations:\n") else {
            panic!("{number} has no list of deviations")
        };
        let items: Vec<&str> = deviations.lines().filter(|line| line.starts_with("- ")).collect();
        assert!(!items.is_empty(), "{number} lists no deviation");
        for item in items {
            assert!(item.contains(" Reason: "), "{number}: no reason: {item}");
        }
    }
}

#[test]
fn tests_are_distinguished_from_other_functions() {
    assert!(has_test("tests/it/seed_000.rs", "set_and_get"));
    // A helper above the test has the same name.
    assert!(has_test("tests/it/seed_000.rs", "list_keys"));
    // In `proptest!`.
    assert!(has_test("core/tests/it/model.rs", "the_state_equals_the_model_after_every_command"));
    // Listed in a macro, in the same file and in `mod.rs`.
    assert!(has_test("testing/tests/it/boards_processes.rs", "a_worker_process_that_was_stopped_is_fenced"));
    assert!(has_test("testing/src/conformance/log.rs", "records_are_read_in_order"));
    // A helper, a part of a name, a test of another file, and a missing file.
    assert!(!has_test("tests/it/seed_000.rs", "check"));
    assert!(!has_test("tests/it/seed_000.rs", "set_and"));
    assert!(!has_test("tests/it/seed_001.rs", "set_and_get"));
    assert!(!has_test("tests/nowhere.rs", "set_and_get"));
}
