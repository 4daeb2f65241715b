//! Random edits, compared with a reference model that keeps a list of lines with their endings.

use corkboard::tools::MemoryCommand;
use proptest::prelude::*;

use super::{Home, MemoryFiles, agent_a};

#[derive(Debug, Clone)]
enum Ask {
    Insert { line: i64, text: String },
    Replace { old: String, new: String },
    View { range: Option<[i64; 2]> },
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_match_edits_of_a_list_of_lines(start in text(), asks in prop::collection::vec(ask(), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (_board, _, memory) = agent_a(&Home::memory()).await;
            let files = MemoryFiles::new(memory.clone());
            memory.set("f", &start).await.unwrap();
            let mut model = start;
            for ask in asks {
                let path = String::from("/memories/f");
                let (command, expected) = match ask {
                    Ask::Insert { line, text } => {
                        let expected = insert(&mut model, line, &text);
                        (MemoryCommand::Insert { path, insert_line: line, insert_text: text }, expected)
                    }
                    Ask::Replace { old, new } => {
                        let expected = replace(&mut model, &old, &new);
                        (MemoryCommand::StrReplace { path, old_str: old, new_str: new }, expected)
                    }
                    Ask::View { range } => {
                        let expected = view(&model, range);
                        (MemoryCommand::View { path, view_range: range }, expected)
                    }
                };
                let answer = files.run(command.clone()).await.unwrap();
                let told = if answer.is_error { Err(answer.text) } else { Ok(answer.text) };
                assert_eq!(told, expected, "{command:?}");
                assert_eq!(memory.get::<String>("f").await.unwrap().unwrap(), model, "{command:?}");
            }
        });
    }
}

type Said = Result<String, String>;

fn insert(file: &mut String, line: i64, text: &str) -> Said {
    // Each line with its ending, which the last line may lack.
    let mut lines: Vec<(String, &str)> = Vec::new();
    for part in file.split_inclusive('\n') {
        lines.push(if let Some(line) = part.strip_suffix("\r\n") {
            (line.into(), "\r\n")
        } else if let Some(line) = part.strip_suffix('\n') {
            (line.into(), "\n")
        } else {
            (part.into(), "")
        });
    }
    let count = lines.len() as i64;
    if line < 0 || line > count {
        return Err(format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {count}]"
        ));
    }
    let usual = lines.first().map_or("\n", |(_, ending)| if *ending == "\r\n" { "\r\n" } else { "\n" });
    let text = text.strip_suffix("\r\n").or(text.strip_suffix('\n')).unwrap_or(text);
    let mut new = (text.to_owned(), usual);
    if line > 0 {
        let before = &mut lines[line as usize - 1];
        if before.1.is_empty() {
            before.1 = usual;
            new.1 = "";
        }
    }
    lines.insert(line as usize, new);
    *file = lines.into_iter().map(|(line, ending)| format!("{line}{ending}")).collect();
    Ok("The file /memories/f has been edited.".into())
}

fn replace(file: &mut String, old: &str, new: &str) -> Said {
    if old.is_empty() {
        return Err("No replacement was performed. old_str is empty: pass the text to replace, or use insert".into());
    }
    let parts: Vec<_> = file.split(old).collect();
    match parts.len() {
        1 => Err(format!("No replacement was performed, old_str `{old}` did not appear verbatim in /memories/f.")),
        2 => {
            let line = parts[0].split('\n').count();
            *file = parts.join(new);
            let lines: Vec<_> = file.split('\n').enumerate().map(|(at, line)| (at + 1, line)).collect();
            let near = lines.iter().filter(|(number, _)| number.abs_diff(line) <= 2);
            let near: Vec<_> = near.map(|(number, line)| format!("{number:>6}\t{line}")).collect();
            let head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):";
            Ok(format!("{head}\n{}", near.join("\n")))
        }
        _ => {
            let starts = file.char_indices().filter(|(at, _)| file[*at..].starts_with(old));
            let lines: Vec<_> = starts.map(|(at, _)| file[..at].split('\n').count().to_string()).collect();
            Err(format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                lines.join(", ")
            ))
        }
    }
}

fn view(file: &str, range: Option<[i64; 2]>) -> Said {
    let lines: Vec<_> = file.split('\n').collect();
    let count = lines.len() as i64;
    let [first, last] = range.unwrap_or([1, -1]);
    let end = if last == -1 { count } else { last };
    let shown: Vec<_> = (1..=count)
        .filter(|number| *number >= first && *number <= end)
        .map(|number| format!("\n{number:>6}\t{}", lines[number as usize - 1]))
        .collect();
    if shown.is_empty() {
        return Err(format!(
            "Error: Invalid `view_range` parameter: [{first}, {last}]. It should be [first, last] within the range of \
             lines of the file: [1, {count}], or [first, -1] for all lines from the first"
        ));
    }
    Ok(format!("Here's the content of /memories/f with line numbers:{}", shown.concat()))
}

fn text() -> impl Strategy<Value = String> {
    let part =
        prop::sample::select(vec!["a", "b", "aa", "é", "🗝", "\n", "\r\n", "\r", " ", "\t", "\"", "\\", "\u{2028}"]);
    prop::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

fn ask() -> impl Strategy<Value = Ask> {
    let wanted = prop_oneof![4 => prop::sample::select(vec!["a", "aa", "b", "é", "\n", "a\n", "\r\n", ""]).prop_map(String::from), 1 => text()];
    prop_oneof![
        3 => (-1..8_i64, text()).prop_map(|(line, text)| Ask::Insert { line, text }),
        3 => (wanted, text()).prop_map(|(old, new)| Ask::Replace { old, new }),
        2 => prop::option::of((-1..6_i64, -2..8_i64)).prop_map(|range| Ask::View { range: range.map(|(first, last)| [first, last]) }),
    ]
}
