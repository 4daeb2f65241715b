//! The parsed form of a text, in words for a snapshot.

use corkboard_core::notebook::parse;

/// A line for each operation and each problem.
pub(crate) fn read(text: &str) -> String {
    let parsed = parse(text);
    let mut lines = Vec::new();
    if let Some(progress) = &parsed.block.progress {
        for (list, bullets) in progress.lists() {
            lines.extend(bullets.iter().map(|bullet| format!("{list}: {bullet}")));
        }
    }
    for new in &parsed.block.learnings {
        lines.push(format!("+ KL {} <- {}", new.text, new.reason));
    }
    for old in &parsed.block.archived_learnings {
        lines.push(format!("- {} <- {}", old.id, old.reason));
    }
    for new in &parsed.block.snippets {
        lines.push(format!("+ VC {} {:?} <- {}", new.label, new.text, new.reason));
    }
    for old in &parsed.block.archived_snippets {
        lines.push(format!("- {} <- {}", old.id, old.reason));
    }
    for problem in &parsed.problems {
        lines.push(format!("{} {problem}", if problem.is_error() { "ERROR" } else { "note" }));
    }
    lines.join("\n")
}
