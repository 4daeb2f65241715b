//! Task patterns: reusable lists of numbered lines that become the first tasks of a board.
//!
//! ```text
//! How we add an endpoint
//! 1. Design the schema ~30m
//! 2. Write the route [review] — with its errors
//! 3. Write the manual (after 1)
//! 4. Release (after 2, 3)
//! ```

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{NewTask, TaskRef};
use crate::Refusal;

/// The tag that marks an entry of a memory core as a task pattern.
pub const TASK_PATTERN_TAG: &str = "task-pattern";

/// A valid task pattern, shown when a pattern is refused.
pub(crate) const EXAMPLE: &str = "\
How we add a route
1. Design it ~30m
2. Write it [review] — with its errors
3. Release it (after 1, 2)";

/// Why a text is not a valid task pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct PatternProblem {
    /// The line, counted from 1.
    pub line: usize,
    pub reason: String,
}

impl NewTask {
    /// Parses a pattern into its tasks, in order. Each line is a number from 1 on, a full stop and a title; then, in any
    /// order, `(after 1, 2)` or `(after nothing)`, `[review]` and `~30m` or `~2h`; then ` — ` and a description. Without
    /// `after`, a task waits for the one before it. Text above the first number is a heading. Blank lines are ignored.
    ///
    /// ```
    /// # use corkboard_core::board::NewTask;
    /// let tasks = NewTask::from_pattern("1. Design ~30m\n2. Build [review] — with its tests").unwrap();
    /// assert_eq!((&*tasks[1].title, &*tasks[1].description, tasks[1].needs_review), ("Build", "with its tests", true));
    /// assert_eq!(tasks[1].depends_on, ["1".into()]);
    /// let problem = NewTask::from_pattern("1. Design\n3. Build").unwrap_err();
    /// assert_eq!(problem.to_string(), "line 2: expected number 2, found 3");
    /// ```
    pub fn from_pattern(text: &str) -> Result<Vec<NewTask>, PatternProblem> {
        let mut tasks = Vec::new();
        let mut last = 1;
        for (line, text) in (1..).zip(text.lines()) {
            let problem = |reason: String| PatternProblem { line, reason };
            let text = text.trim();
            let step = numbered(text);
            match step {
                None if text.is_empty() || tasks.is_empty() => {}
                None => return Err(problem("must begin with a number and a full stop".into())),
                Some((number, rest)) => {
                    let place = tasks.len() + 1;
                    if number != place.to_string() {
                        return Err(problem(format!("expected number {place}, found {number}")));
                    }
                    tasks.push(task(place, rest).map_err(problem)?);
                }
            }
            last = line;
        }
        match tasks.is_empty() {
            true => Err(PatternProblem { line: last, reason: "no line begins with a number and a full stop".into() }),
            false => Ok(tasks),
        }
    }
}

/// An entry tagged as a task pattern must be a valid one: a user who creates a board from it later could not fix it.
pub(crate) fn check_tagged(mut tags: impl Iterator<Item: AsRef<str>>, content: &str) -> Result<(), Refusal> {
    if !tags.any(|tag| tag.as_ref() == TASK_PATTERN_TAG) {
        return Ok(());
    }
    let problem = NewTask::from_pattern(content).err();
    problem.map_or(Ok(()), |PatternProblem { line, reason }| Err(Refusal::TaskPattern { line, reason }))
}

/// The number that a line begins with, and the rest of the line.
fn numbered(line: &str) -> Option<(&str, &str)> {
    let (number, rest) = line.split_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    // A heading like "3.5 ways" is not a step.
    let is_step = is_number && (rest.is_empty() || rest.starts_with(char::is_whitespace));
    is_step.then(|| (number, rest.trim()))
}

fn task(place: usize, text: &str) -> Result<NewTask, String> {
    let (mut head, description) = match text.split_once(" — ") {
        Some((head, description)) => (head.trim(), description.trim()),
        None => (text, ""),
    };
    let (mut after, mut review, mut minutes) = (None, None, None);
    loop {
        let (rest, word) = if let Some(rest) = head.strip_suffix("[review]") {
            (rest, once(&mut review, "[review]", ()))
        } else if let Some((rest, time)) = head.rsplit_once(" ~").filter(|(_, time)| is_time(time)) {
            (rest, once(&mut minutes, "~", minutes_of(time)?))
        } else if let Some((rest, steps)) = after_of(head) {
            (rest, once(&mut after, "(after …)", depends_on(place, steps)?))
        } else {
            break;
        };
        word?;
        head = rest.trim_end();
    }
    if head.is_empty() || head.starts_with('—') {
        return Err("the title is missing".into());
    }
    let before = place.checked_sub(1).filter(|before| *before > 0);
    let before = before.map(|before| TaskRef::Member(before.to_string()));
    Ok(NewTask {
        key: Some(place.to_string()),
        description: description.into(),
        depends_on: after.unwrap_or_else(|| before.into_iter().collect()),
        estimate_minutes: minutes,
        needs_review: review.is_some(),
        ..NewTask::new(head)
    })
}

fn once<T>(place: &mut Option<T>, word: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        Some(_) => Err(format!("{word} appears twice")),
        None => Ok(()),
    }
}

fn is_time(text: &str) -> bool {
    text.strip_suffix(['m', 'h']).is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn minutes_of(time: &str) -> Result<u32, String> {
    let (digits, unit) = match time.strip_suffix('h') {
        Some(digits) => (digits, 60),
        None => (time.trim_end_matches('m'), 1),
    };
    let minutes = digits.parse::<u32>().ok().and_then(|number| number.checked_mul(unit)).filter(|minutes| *minutes > 0);
    minutes.ok_or_else(|| format!("~{time} is zero or too large; expected a duration like ~30m or ~2h"))
}

/// The text before a final `(after …)`, and the steps inside it.
fn after_of(head: &str) -> Option<(&str, &str)> {
    let (rest, steps) = head.strip_suffix(')')?.rsplit_once("(after ")?;
    Some((rest, steps))
}

fn depends_on(place: usize, steps: &str) -> Result<Vec<TaskRef>, String> {
    if steps.trim() == "nothing" {
        return Ok(Vec::new());
    }
    let step = |text: &str| {
        let number = text.trim().trim_end_matches('.');
        match number.parse::<usize>() {
            Ok(before) if (1..place).contains(&before) => Ok(TaskRef::Member(before.to_string())),
            Ok(_) => Err(format!("step {place} can only wait for earlier steps, not for {number}")),
            Err(_) => Err(format!("invalid step number {number:?}")),
        }
    };
    steps.split(',').map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_is_a_valid_task_pattern() {
        assert_eq!(NewTask::from_pattern(EXAMPLE).map(|tasks| tasks.len()), Ok(3));
    }
}
