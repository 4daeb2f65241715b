//! Judging an answer: what it asks for, what is wrong with it, and what is said about that.

use corkboard_core::notebook::{Block, Notebook, UnknownIds, parse};
use corkboard_core::{Limits, NotebookName, Refusal};

use super::report::AttemptProblem;
use crate::context::escape;
use crate::model::{ModelAnswer, StopReason};

/// More problems than this are not quoted.
const QUOTED: usize = 12;

/// What an answer is worth.
pub(super) struct Verdict {
    pub(super) block: Block,
    pub(super) problems: Vec<AttemptProblem>,
    /// Whether ids that the notebook does not have are all that is wrong.
    pub(super) only_unknown_ids: bool,
}

impl Verdict {
    pub(super) fn is_right(&self) -> bool {
        self.problems.iter().all(|problem| problem.warning)
    }
}

/// Judges an answer by the notebook that the model was shown.
pub(super) fn judge(answer: &ModelAnswer, name: &NotebookName, notebook: &Notebook, limits: &Limits) -> Verdict {
    let parsed = parse(&answer.text);
    let mut problems: Vec<AttemptProblem> = Vec::new();
    match answer.stop {
        StopReason::Length => problems.push(AttemptProblem::whole(
            "the answer was cut off because it is too long; write less, and shorter snippets",
        )),
        StopReason::Refused => problems.push(AttemptProblem::whole("the model would not answer")),
        StopReason::Finished | StopReason::Other => {}
    }
    problems.extend(parsed.problems.iter().map(AttemptProblem::from));
    let mut only_unknown_ids = false;
    if !problems.iter().any(|problem| !problem.warning) {
        match notebook.decide(name, &parsed.block, UnknownIds::Refuse, limits) {
            Ok(_) => {}
            Err(Refusal::UnknownItems { ids, .. }) => {
                let known = known_ids(notebook);
                problems.extend(ids.iter().map(|id| AttemptProblem::from(&parsed.unknown(*id, &known))));
                only_unknown_ids = notebook.decide(name, &parsed.block, UnknownIds::Skip, limits).is_ok();
            }
            Err(refusal) => problems.push(AttemptProblem::whole(refusal.to_string())),
        }
    }
    Verdict { block: parsed.block, problems, only_unknown_ids }
}

/// What may be archived, in words.
fn known_ids(notebook: &Notebook) -> String {
    let learnings = notebook.learnings.iter().map(|learning| learning.id.to_string());
    let ids: Vec<String> = learnings.chain(notebook.snippets.iter().map(|snippet| snippet.id.to_string())).collect();
    match ids.as_slice() {
        [] => "the notebook has no entries yet".into(),
        ids => format!("there are {}", ids.join(", ")),
    }
}

/// What a model is told about an answer that was not right.
pub(super) fn complaint(problems: &[AttemptProblem]) -> String {
    let mut text = String::from("Nothing was applied, because of these problems in your answer:\n");
    let errors: Vec<&AttemptProblem> = problems.iter().filter(|problem| !problem.warning).collect();
    for problem in errors.iter().take(QUOTED) {
        text.push_str("- ");
        escape::push_line(&mut text, &problem.to_string());
        if !problem.excerpt.trim().is_empty() {
            text.push_str("\n    your line: ");
            escape::push_line(&mut text, problem.excerpt.trim_end());
        }
        text.push('\n');
    }
    if errors.len() > QUOTED {
        text.push_str(&format!("- and {} more\n", errors.len() - QUOTED));
    }
    text.push_str("Write the complete block again, all three sections, with these put right, and nothing else.\n");
    text
}
