//! Checks that `docs/vocabulary.md` lists every name that programs and people type, with one meaning: HTTP fields and
//! parameters, command line flags, and tool inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::CommandFactory;
use corkboard::Corkboard;
use corkboard::tools::{ToolRegistry, ToolSet};
use serde_json::Value;

use crate::args::Cli;

/// Path from the project's root.
const VOCABULARY: &str = "docs/vocabulary.md";
/// The API description, which a test of the server keeps up to date.
const DESCRIPTION: &str = "crates/corkboard-server/openapi.json";

/// Names, with the places that use them.
#[derive(Default)]
struct Names(BTreeMap<String, BTreeSet<String>>);

impl Names {
    fn add(&mut self, name: &str, place: &str) {
        self.0.entry(name.to_owned()).or_default().insert(place.to_owned());
    }

    /// Adds the properties of a schema, including nested ones, and the parameters of operations.
    fn add_all_in(&mut self, part: &Value, place: &str) {
        match part {
            Value::Object(object) => {
                if let Some(properties) = object.get("properties").and_then(Value::as_object) {
                    properties.keys().for_each(|name| self.add(name, place));
                }
                if let (Some(Value::String(name)), true) = (object.get("name"), object.contains_key("in")) {
                    self.add(name, place);
                }
                let parts = object.iter().filter(|(name, _)| !["example", "examples"].contains(&name.as_str()));
                parts.for_each(|(_, part)| self.add_all_in(part, place));
            }
            Value::Array(parts) => parts.iter().for_each(|part| self.add_all_in(part, place)),
            _ => {}
        }
    }

    /// Adds the long flags of a command and its subcommands as field names. Hidden flags are older names.
    fn add_flags(&mut self, command: &clap::Command, place: &str) {
        let place = format!("{place} {}", command.get_name());
        for flag in command.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(|flag| flag.get_long()) {
            self.add(&flag.replace('-', "_"), place.trim());
        }
        command.get_subcommands().for_each(|command| self.add_flags(command, &place));
    }
}

async fn used() -> Names {
    let mut names = Names::default();
    let description: Value = serde_json::from_str(&file(DESCRIPTION)).unwrap();
    for (schema, part) in description["components"]["schemas"].as_object().unwrap() {
        names.add_all_in(part, schema);
    }
    for (path, part) in description["paths"].as_object().unwrap() {
        names.add_all_in(part, path);
    }
    for (name, _) in description["components"]["parameters"].as_object().unwrap() {
        names.add(name, "every route");
    }
    names.add_flags(&Cli::command(), "");
    for (path, source) in sources("crates/corkboard-cli/src") {
        fields_of_answers(&source, "json_object! {", '{', '}').iter().for_each(|name| names.add(name, &path));
    }
    for (path, source) in sources("crates/corkboard/src/tools") {
        for start in ["ToolOutput::new(", "let data = json!("] {
            fields_of_answers(&source, start, '(', ')').iter().for_each(|name| names.add(name, &path));
        }
    }
    let corkboard = Corkboard::open("memory:").await.unwrap();
    for tool in ToolRegistry::with_sets(&corkboard, &ToolSet::ALL).definitions() {
        names.add_all_in(&tool.schema, &format!("tool {}", tool.name));
    }
    names
}

/// The sources in a folder of the project, without their tests.
fn sources(folder: &str) -> Vec<(String, String)> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let (mut found, mut folders) = (Vec::new(), vec![project.join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("vocabulary.rs") {
                let source = fs::read_to_string(&path).unwrap();
                let source = source.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                found.push((path.strip_prefix(project).unwrap().display().to_string(), source));
            }
        }
    }
    found
}

/// The names of fields in the answers that sources make: of `json_object! { id, status: … }` and `json!({"id": …})`.
fn fields_of_answers(source: &str, start: &str, open: char, close: char) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for answer in source.split(start).skip(1) {
        let mut depth = 1;
        let end = answer.find(|letter: char| {
            depth += i32::from(letter == open) - i32::from(letter == close);
            depth == 0
        });
        let answer = answer.get(..end.unwrap_or(0)).unwrap_or_default();
        let (mut depth, mut part) = (0, String::new());
        let mut parts = Vec::new();
        for letter in answer.chars() {
            depth += i32::from("([{".contains(letter)) - i32::from(")]}".contains(letter));
            if letter == ',' && depth == 0 {
                parts.push(std::mem::take(&mut part));
            } else {
                part.push(letter);
            }
        }
        parts.push(part);
        if open == '{' {
            let names = parts.iter().map(|part| part.split(':').next().unwrap_or_default().trim());
            found.extend(names.filter(|name| !name.is_empty() && !name.starts_with('$')).map(str::to_owned));
        } else {
            found.extend(quoted_names(answer));
        }
    }
    found
}

/// The names in JSON: quoted words before a colon.
fn quoted_names(json: &str) -> Vec<String> {
    let parts: Vec<&str> = json.split('"').collect();
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let named = parts.windows(2).filter(|pair| is_word(pair[0]) && pair[1].starts_with(": "));
    named.map(|pair| pair[0].to_owned()).collect()
}

/// Reads a file of the project.
fn file(path: &str) -> String {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    fs::read_to_string(project.join(path)).unwrap()
}

/// The rows of the file: a name in backticks, and its meaning.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    rows.collect()
}

#[tokio::test]
async fn every_name_is_in_the_vocabulary_with_one_meaning() {
    let (used, text) = (used().await, file(VOCABULARY));
    let rows = rows(&text);
    let listed: BTreeMap<&str, &str> = rows.iter().copied().collect();
    let mut wrong = String::new();
    for (name, places) in used.0.iter().filter(|(name, _)| !listed.contains_key(name.as_str())) {
        let places: Vec<_> = places.iter().take(3).map(String::as_str).collect();
        writeln!(wrong, "add a row for `{name}` (used in {}), or use an existing name", places.join(", ")).unwrap();
    }
    for name in listed.keys().filter(|name| !used.0.contains_key(**name)) {
        writeln!(wrong, "remove the row for `{name}`: nothing uses it").unwrap();
    }
    let mut meanings = BTreeMap::new();
    for (name, meaning) in &rows {
        if !meaning.ends_with('.') {
            writeln!(wrong, "say in a sentence what `{name}` means").unwrap();
        }
        if let Some(other) = meanings.insert(meaning, name) {
            writeln!(wrong, "`{other}` and `{name}` have the same meaning: use one of them, or say how they differ")
                .unwrap();
        }
    }
    let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    assert!(
        names.is_sorted_by(|one, next| one.to_lowercase() < next.to_lowercase()),
        "sort the rows; one row per name"
    );
    assert!(wrong.is_empty(), "{VOCABULARY}:\n{wrong}");
}
