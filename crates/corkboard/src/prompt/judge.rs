//! Checks a model's answer, and describes its problems to the model.

use corkboard_core::notebook::{Block, Notebook, UnknownIds, parse};
use corkboard_core::{Limits, NotebookName, Refusal};

use super::report::AttemptProblem;
use crate::memory::known;
use crate::model::{ModelAnswer, StopReason};

/// Maximum number of quoted problems.
const QUOTED: usize = 12;

pub(super) struct AnswerVerdict {
    pub(super) block: Block,
    pub(super) problems: Vec<AttemptProblem>,
    /// Whether unknown IDs are the only problem.
    pub(super) only_unknown_ids: bool,
}

impl AnswerVerdict {
    pub(super) fn is_right(&self) -> bool {
        self.problems.iter().all(|problem| problem.warning)
    }
}

/// Checks an answer against the notebook in the prompt.
pub(super) fn judge(answer: &ModelAnswer, name: &NotebookName, notebook: &Notebook, limits: &Limits) -> AnswerVerdict {
    let parsed = parse(&answer.text);
    let mut problems: Vec<AttemptProblem> = Vec::new();
    match answer.stop {
        StopReason::Length => problems.push(AttemptProblem::whole(
            "the answer was cut off because it is too long; write less, and shorter snippets",
        )),
        StopReason::Refused => problems.push(AttemptProblem::whole("the model refused to answer")),
        StopReason::Finished | StopReason::Other => {}
    }
    problems.extend(parsed.problems.iter().map(AttemptProblem::from));
    let mut only_unknown_ids = false;
    if !problems.iter().any(|problem| !problem.warning) {
        match notebook.decide(name, &parsed.block, UnknownIds::Refuse, limits) {
            Ok(_) => {}
            Err(Refusal::UnknownItems { ids, .. }) => {
                let unknown = ids.iter().map(|id| parsed.unknown(*id, &known(*id, notebook)));
                problems.extend(unknown.map(|problem| AttemptProblem::from(&problem)));
                only_unknown_ids = notebook.decide(name, &parsed.block, UnknownIds::Skip, limits).is_ok();
            }
            Err(refusal) => problems.push(AttemptProblem::whole(refusal.to_string())),
        }
    }
    AnswerVerdict { block: parsed.block, problems, only_unknown_ids }
}

/// The message to a model about an invalid answer.
pub(super) fn complaint(problems: &[AttemptProblem]) -> String {
    let mut text = String::from("Nothing was applied, because of these problems in your answer:\n");
    let errors: Vec<&AttemptProblem> = problems.iter().filter(|problem| !problem.warning).collect();
    for problem in errors.iter().take(QUOTED) {
        // The model's own text is quoted unchanged.
        text.push_str(&format!("- {problem}\n"));
        if !problem.excerpt.trim().is_empty() {
            text.push_str(&format!("    your line: {}\n", problem.excerpt.trim_end()));
        }
    }
    if errors.len() > QUOTED {
        text.push_str(&format!("- and {} more\n", errors.len() - QUOTED));
    }
    text.push_str("Write the complete block again: all three sections, with these problems fixed, and nothing else.\n");
    text
}
