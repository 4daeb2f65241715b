//! Problems in a notebook update, each shown with its line.

use corkboard::notebook::NotebookProblem;

use crate::output::one_line;

/// Shows each problem's line with a mark below the character.
pub(crate) fn render(problems: &[NotebookProblem]) -> String {
    problems.iter().map(problem).collect::<Vec<_>>().join("\n")
}

fn problem(problem: &NotebookProblem) -> String {
    // Tabs become one space, so that the mark is in the right column. Other control characters are escaped.
    let plain = |text: String| one_line(&text.replace('\t', " "));
    let before: String = problem.excerpt.chars().take(problem.excerpt_column - 1).collect();
    let indent = " ".repeat(plain(before).chars().count());
    let number = problem.line.to_string();
    let margin = " ".repeat(number.len());
    format!("{problem}\n{margin} |\n{number} | {}\n{margin} | {indent}^", plain(problem.excerpt.clone()))
}
