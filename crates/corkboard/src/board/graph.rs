//! Draws a board's graph: Mermaid for documents, DOT for Graphviz. The same board always gives the same text.

use std::fmt::Write;

use corkboard_core::board::{BoardState, Choice, Task, TaskStatus, TriggerRule};

use super::BoardView;

/// Maximum number of characters of a title in a drawing.
const SHOWN_TITLE: usize = 60;

/// A language for drawing graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GraphFormat {
    /// A Mermaid flowchart.
    Mermaid,
    /// A digraph for Graphviz.
    Dot,
}

impl BoardView {
    /// Draws the graph of tasks and choices. Arrows lead from a task to the tasks that depend on it.
    ///
    /// Titles are always shown as plain text: they cannot end a label or be read as markup.
    pub fn graph(&self, format: GraphFormat) -> String {
        let drawn = match format {
            GraphFormat::Mermaid => mermaid(self.state()),
            GraphFormat::Dot => dot(self.state()),
        };
        // Writing to a string does not fail.
        drawn.unwrap_or_default()
    }
}

/// The fill and border colours of a task status.
fn colours(status: TaskStatus) -> (&'static str, &'static str) {
    match status {
        TaskStatus::Pending => ("#f3f4f6", "#9ca3af"),
        TaskStatus::Assigned => ("#e0e7ff", "#6366f1"),
        TaskStatus::InProgress => ("#dbeafe", "#2563eb"),
        TaskStatus::Blocked => ("#fef3c7", "#d97706"),
        TaskStatus::Review => ("#ede9fe", "#7c3aed"),
        TaskStatus::Completed => ("#dcfce7", "#16a34a"),
        TaskStatus::Failed => ("#fee2e2", "#dc2626"),
        TaskStatus::Cancelled => ("#fafafa", "#d4d4d8"),
    }
}

const CHOICE_COLOURS: (&str, &str) = ("#fff7ed", "#ea580c");
const TEXT_COLOUR: &str = "#111827";

/// The state of a choice's branch, which determines the style of its arrows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BranchState {
    Open,
    Chosen,
    NotChosen,
}

fn branch_state(choice: &Choice, option: &str) -> BranchState {
    match choice.chosen.as_deref() {
        None => BranchState::Open,
        Some(chosen) if chosen == option => BranchState::Chosen,
        Some(_) => BranchState::NotChosen,
    }
}

fn mermaid(state: &BoardState) -> Result<String, std::fmt::Error> {
    let mut text = String::from("flowchart TD\n");
    for task in state.tasks() {
        let Task { id, status, .. } = task;
        writeln!(text, "  T{}[\"{id} {}\"]:::{status}", id.0, mermaid_label(&shown_title(task)))?;
    }
    for choice in state.choices() {
        writeln!(text, "  C{}{{\"{} {}\"}}:::choice", choice.id.0, choice.id, mermaid_label(&cut(&choice.question)))?;
    }
    for task in state.tasks() {
        for on in task.depends_on.iter() {
            writeln!(text, "  T{} --> T{}", on.0, task.id.0)?;
        }
    }
    for choice in state.choices() {
        for branch in &choice.options {
            let arrow = match branch_state(choice, &branch.name) {
                BranchState::Open => "-->",
                BranchState::Chosen => "==>",
                BranchState::NotChosen => "-.->",
            };
            let label = mermaid_label(&cut(&branch.name));
            for task in &branch.tasks {
                writeln!(text, "  C{} {arrow}|\"{label}\"| T{}", choice.id.0, task.0)?;
            }
        }
    }
    for status in TaskStatus::ALL.into_iter().filter(|status| state.count(*status) > 0) {
        let (fill, stroke) = colours(status);
        let dashed = if status == TaskStatus::Cancelled { ",stroke-dasharray:4 3" } else { "" };
        writeln!(text, "  classDef {status} fill:{fill},stroke:{stroke},color:{TEXT_COLOUR}{dashed}")?;
    }
    if state.choices().next().is_some() {
        let (fill, stroke) = CHOICE_COLOURS;
        writeln!(text, "  classDef choice fill:{fill},stroke:{stroke},color:{TEXT_COLOUR}")?;
    }
    Ok(text)
}

fn dot(state: &BoardState) -> Result<String, std::fmt::Error> {
    let mut text = String::from("digraph board {\n  rankdir=TB;\n");
    writeln!(
        text,
        "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontcolor=\"{TEXT_COLOUR}\"];"
    )?;
    writeln!(text, "  edge [fontname=\"sans-serif\", fontsize=11];")?;
    for task in state.tasks() {
        let Task { id, status, .. } = task;
        let (fill, stroke) = colours(*status);
        let dashed = if *status == TaskStatus::Cancelled { ", style=\"rounded,filled,dashed\"" } else { "" };
        let label = dot_label(&shown_title(task));
        writeln!(
            text,
            "  \"{id}\" [label=\"{id} {label}\", class=\"{status}\", fillcolor=\"{fill}\", color=\"{stroke}\"{dashed}];"
        )?;
    }
    for choice in state.choices() {
        let (fill, stroke) = CHOICE_COLOURS;
        let (id, label) = (choice.id, dot_label(&cut(&choice.question)));
        writeln!(
            text,
            "  \"{id}\" [label=\"{id} {label}\", class=\"choice\", shape=diamond, style=filled, fillcolor=\"{fill}\", color=\"{stroke}\"];"
        )?;
    }
    for task in state.tasks() {
        for on in task.depends_on.iter() {
            writeln!(text, "  \"{on}\" -> \"{}\";", task.id)?;
        }
    }
    for choice in state.choices() {
        for branch in &choice.options {
            let style = match branch_state(choice, &branch.name) {
                BranchState::Open => "solid",
                BranchState::Chosen => "bold",
                BranchState::NotChosen => "dotted",
            };
            let label = dot_label(&cut(&branch.name));
            for task in &branch.tasks {
                writeln!(text, "  \"{}\" -> \"{task}\" [label=\"{label}\", style={style}];", choice.id)?;
            }
        }
    }
    text.push_str("}\n");
    Ok(text)
}

/// The title, with the trigger rule unless it is the default.
fn shown_title(task: &Task) -> String {
    let rule = match task.trigger_rule {
        TriggerRule::AllSuccess => return cut(&task.title),
        TriggerRule::AllDone => "when all are done",
        TriggerRule::OneSuccess => "when one succeeded",
        TriggerRule::OneFailed => "when one failed",
        TriggerRule::NoneFailed => "when none failed",
        TriggerRule::NoneFailedMinOneSuccess => "when none failed, one succeeded",
    };
    format!("{} ({rule})", cut(&task.title))
}

/// Shortens a text to one line, and replaces invisible and bidirectional control characters.
fn cut(text: &str) -> String {
    let mut line: String = text.trim().chars().take(SHOWN_TITLE).map(visible).collect();
    if text.trim().chars().nth(SHOWN_TITLE).is_some() {
        line.push('…');
    }
    line
}

fn visible(character: char) -> char {
    match character {
        '\n' | '\r' | '\t' => ' ',
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        character if character.is_control() => '\u{fffd}',
        character => character,
    }
}

/// Mermaid interprets Markdown and HTML in labels, even in quoted ones. So everything but letters, digits and harmless
/// characters is written as a character code.
fn mermaid_label(text: &str) -> String {
    let mut label = String::with_capacity(text.len());
    for (index, character) in text.chars().enumerate() {
        // A hyphen at the beginning would start a list.
        let is_harmless = index > 0 && matches!(character, ' ' | '-' | ',' | '(' | ')' | '?' | '!' | '\'');
        if is_harmless || !character.is_ascii() || character.is_ascii_alphanumeric() {
            label.push(character);
        } else {
            label.push_str(&format!("#{};", u32::from(character)));
        }
    }
    label
}

/// Graphviz interprets backslashes and HTML character codes in labels.
fn dot_label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_always_plain_text() {
        for (text, in_mermaid, in_dot) in [
            ("Design token schema", "Design token schema", "Design token schema"),
            ("say \"hi\"", "say #34;hi#34;", "say \\\"hi\\\""),
            ("a\\", "a#92;", "a\\\\"),
            ("<script>", "#60;script#62;", "<script>"),
            ("R&D &lt;", "R#38;D #38;lt#59;", "R&amp;D &amp;lt;"),
            ("#35;", "#35;35#59;", "#35;"),
            ("`**bold**`", "#96;#42;#42;bold#42;#42;#96;", "`**bold**`"),
            ("- item", "#45; item", "- item"),
            ("1. item", "1#46; item", "1. item"),
            ("grün", "grün", "grün"),
        ] {
            assert_eq!((mermaid_label(text).as_str(), dot_label(text).as_str()), (in_mermaid, in_dot), "{text}");
        }
    }

    /// Reads a label as Mermaid does: it decodes the codes, and nothing else has a meaning.
    fn read_by_mermaid(label: &str) -> String {
        let (mut text, mut rest) = (String::new(), label);
        while let Some((before, code)) = rest.split_once('#') {
            assert!(
                before
                    .chars()
                    .all(|letter| !letter.is_ascii() || letter.is_ascii_alphanumeric() || " -,()?!'".contains(letter))
            );
            let (number, after) = code.split_once(';').unwrap();
            text = text + before + &char::from_u32(number.parse().unwrap()).unwrap().to_string();
            rest = after;
        }
        text + rest
    }

    /// Reads a label as Graphviz does.
    fn read_by_graphviz(label: &str) -> String {
        let (mut text, mut characters) = (String::new(), label.chars());
        while let Some(character) = characters.next() {
            assert_ne!(character, '"', "the label would end here: {label}");
            text.push(if character == '\\' { characters.next().unwrap() } else { character });
        }
        assert!(!text.replace("&amp;", "").contains('&'), "{label}");
        text.replace("&amp;", "&")
    }

    #[test]
    fn every_character_survives_a_round_trip() {
        let all: Vec<char> = (' '..='\u{17f}').filter(|character| !character.is_control()).collect();
        for pair in all.iter().flat_map(|first| ['"', '\\', '#', ';', '&', 'a', '-'].map(|second| [*first, second])) {
            for text in [String::from_iter(pair), String::from_iter([pair[1], pair[0], 'x'])] {
                assert_eq!(read_by_mermaid(&mermaid_label(&text)), text);
                assert_eq!(read_by_graphviz(&dot_label(&text)), text);
            }
        }
    }

    #[test]
    fn titles_fit_a_line() {
        assert_eq!(cut("a\nb\u{1b}[31m\u{202e}"), "a b\u{fffd}[31m\u{fffd}");
        assert_eq!(cut(&"x".repeat(61)), format!("{}…", "x".repeat(60)));
        assert_eq!(cut(&"x".repeat(60)), "x".repeat(60));
    }
}
