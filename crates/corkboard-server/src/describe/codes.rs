//! Collects the error codes from the sources: from the library's error tables and this crate's refusals.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The library's tables: `("code", Kind)`, and for tools `=> "code"`.
const TABLES: [&str; 4] = ["error.rs", "transfer/error.rs", "model/error.rs", "tools/error.rs"];
/// Calls that create a problem, up to the code argument.
const MAKERS: [&str; 6] =
    ["HttpError::new(", "HttpError::invalid(", "HttpError::denied(", "Self::new(", "Self::invalid(", "Self::denied("];

/// All codes that a server can answer with.
pub(super) fn codes() -> BTreeSet<String> {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let library = server.join("../../corkboard/src");
    let tables = TABLES.map(|table| fs::read_to_string(library.join(table)).expect(table));
    let mut sources = String::new();
    read(&server, &mut sources);
    let of_library = tables.iter().flat_map(|table| table_codes(table));
    let constants = constants(&sources);
    let calls = MAKERS.iter().flat_map(|maker| sources.split(maker).skip(1));
    let made = calls.filter_map(|call| made_code(call.trim_start(), &constants));
    let all: BTreeSet<&str> = of_library.chain(made).collect();
    all.into_iter().map(str::to_owned).collect()
}

/// The quoted codes of a table.
fn table_codes(table: &str) -> impl Iterator<Item = &str> {
    let rows = table.split('"').collect::<Vec<_>>();
    let words = (1..rows.len()).step_by(2).filter_map(move |at| {
        let (before, word, after) = (rows[at - 1], rows[at], rows.get(at + 1)?);
        let is_row = before.ends_with('(') && after.starts_with(", ");
        let is_arm = before.ends_with("=> ") && after.starts_with(',');
        let is_word = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        ((is_row || is_arm) && is_word).then_some(word)
    });
    words.collect::<Vec<_>>().into_iter()
}

/// The code argument of a call, unless it passes on an error's code.
fn made_code<'a>(call: &'a str, constants: &BTreeMap<&str, &'a str>) -> Option<&'a str> {
    let given = call.split([',', '\n']).next().unwrap_or_default();
    if let Some(code) = given.strip_prefix('"').and_then(|given| given.strip_suffix('"')) {
        return Some(code);
    }
    let is_passed_on = ["code", "error.code()"].contains(&given);
    let constant = constants.get(given).copied();
    assert!(is_passed_on || constant.is_some(), "the code of a problem is neither a literal nor a constant: {given}");
    constant
}

fn constants(sources: &str) -> BTreeMap<&str, &str> {
    let named = sources.lines().filter_map(|line| line.split_once("const ")?.1.split_once(": &str = \""));
    named.filter_map(|(name, rest)| Some((name, rest.split('"').next()?))).collect()
}

/// Reads all sources of this crate except this module.
fn read(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("describe") {
            read(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *sources += &fs::read_to_string(&path).expect("a source");
        }
    }
}
