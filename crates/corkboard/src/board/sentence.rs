//! A board's changes as plain sentences, one line each.

use std::fmt;

use corkboard_core::board::{Artifact, Decision, Discovery, Nudge, ReviewVerdict, Task, TaskStatus};
use serde::Serialize;

use super::BoardChange;

/// Longer texts are cut off at this number of characters.
const LONGEST: usize = 160;

impl fmt::Display for BoardChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BoardCreated { name, by } => write!(f, "{by} created the board {}.", quoted(name)),
            Self::BoardEdited { fields } => write!(f, "The board's {} changed.", listed(fields)),
            Self::BoardEnded { status, outcome: Some(outcome) } => {
                write!(f, "The board {}.", outcome.in_words(*status))
            }
            Self::BoardEnded { status, outcome: None } => write!(f, "The board is {status}."),
            Self::BoardPaused { by, reason } => {
                write!(f, "{by} paused the board{}.", remark(reason.as_deref()))
            }
            Self::BoardArchived { retain_until } => write!(f, "The board is archived, and kept until {retain_until}."),
            Self::BoardDiscarded { by, reason } => {
                write!(f, "{by} discarded the board and waived its learnings{}.", remark(reason.as_deref()))
            }
            Self::BoardResumed => write!(f, "The board was resumed."),
            Self::OrchestratorChanged { to: Some(to), .. } => write!(f, "{to} is the orchestrator."),
            Self::OrchestratorChanged { from: Some(from), .. } => write!(f, "{from} is no longer the orchestrator."),
            Self::OrchestratorChanged { .. } => write!(f, "Nobody is the orchestrator."),
            Self::TaskAdded { id, task } => {
                let Task { title, status, created_by, .. } = &**task;
                write!(f, "{created_by} added {id} {}", quoted(title))?;
                if *status == TaskStatus::Pending { write!(f, ".") } else { write!(f, ", which is {status}.") }
            }
            Self::TaskEdited { task, fields } => write!(f, "{task}'s {} changed.", listed(fields)),
            Self::DependencyAdded { task, depends_on } => write!(f, "{task} now waits for {depends_on}."),
            Self::DependencyRemoved { task, depends_on } => write!(f, "{task} no longer waits for {depends_on}."),
            Self::TaskMoved { task, title, from, to, by, reason } => {
                let reason = reason.as_deref().map_or_else(String::new, |reason| format!(": {}", quoted(reason)));
                match by {
                    Some(by) => write!(f, "{by} moved {task} {} from {from} to {to}{reason}.", quoted(title)),
                    None => write!(f, "{task} {} moved from {from} to {to}{reason}.", quoted(title)),
                }
            }
            Self::TaskRestarted { task, status, attempt } => {
                write!(f, "{task} is {status} again (latest attempt: {attempt}).")
            }
            Self::TaskAssigneeChanged { task, to: Some(to), .. } => write!(f, "{task} is assigned to {to}."),
            Self::TaskAssigneeChanged { task, from: Some(from), .. } => {
                write!(f, "{task} is no longer assigned to {from}.")
            }
            Self::TaskAssigneeChanged { task, .. } => write!(f, "{task} is unassigned."),
            Self::TaskReviewed { task, verdict, by, comment } => {
                let verdict = match verdict {
                    ReviewVerdict::Approved => "was approved",
                    ReviewVerdict::NeedsRework => "was sent back for rework",
                    ReviewVerdict::Rejected => "was rejected",
                };
                let by = by.as_ref().map_or_else(String::new, |by| format!(" by {by}"));
                let comment = remark(comment.as_deref());
                write!(f, "{task} {verdict}{by}{comment}.")
            }
            Self::DecisionRecorded { id, decision } => {
                let Decision { question, choice, created_by, .. } = &**decision;
                write!(f, "{created_by} decided {id}: {} {}.", shortened(question), quoted(choice))
            }
            Self::DecisionSuperseded { decision, superseded_by } => {
                write!(f, "{decision} was superseded by {superseded_by}.")
            }
            Self::DecisionJudged { decision, verdict, by, comment } => {
                write!(f, "{by} {verdict} {decision}{}.", remark(comment.as_deref()))
            }
            Self::NudgeSent { id, nudge } => {
                let Nudge { to, priority, message, created_by, .. } = &**nudge;
                write!(f, "{created_by} sent a nudge to {to} ({id}, {priority}): {}.", shortened(message))
            }
            Self::NudgeDelivered { nudge, agent } => write!(f, "{nudge} was delivered to {agent}."),
            Self::NudgeAcknowledged { nudge, agent } => write!(f, "{agent} acknowledged {nudge}."),
            Self::NudgeExpired { nudge } => write!(f, "{nudge} expired."),
            Self::DiscoveryRecorded { id, discovery } => {
                let Discovery { kind, content, created_by, .. } = &**discovery;
                write!(f, "{created_by} found {id} ({}): {}.", written(kind), shortened(content))
            }
            Self::ArtifactRecorded { id, artifact } => {
                let Artifact { path, version, created_by, .. } = &**artifact;
                write!(f, "{created_by} recorded {id}: {}, version {version}.", quoted(path))
            }
            Self::LearningsExtracted { by, candidates } => {
                write!(f, "{by} extracted the board's learning candidates: {candidates}.")
            }
            Self::PromotionBegun { learning, core, by } => write!(f, "{by} promotes {learning} into {core}."),
            Self::PromotionAbandoned { learning } => write!(f, "The core refused {learning}."),
            Self::LearningPromoted { learning, core, entry, by } => {
                write!(f, "{by} promoted {learning} into {core}: {entry}.")
            }
            Self::LearningRefused { learning, by, reason } => {
                write!(f, "{by} refused {learning}{}.", remark(reason.as_deref()))
            }
            Self::LearningsRolledBack { learnings, core, by, reason } => {
                let learnings: Vec<_> = learnings.iter().map(ToString::to_string).collect();
                write!(f, "{by} rolled back {} from {core}{}.", listed(&learnings), remark(reason.as_deref()))
            }
            Self::ChoiceAdded { id, choice } => {
                let options: Vec<_> = choice.options.iter().map(|option| quoted(&option.name)).collect();
                write!(f, "{id} was added: {} Options: {}.", shortened(&choice.question), listed(&options))
            }
            Self::BranchChosen { choice, option, by } => {
                let by = by.as_ref().map_or("somebody", |by| by);
                write!(f, "{by} chose {} in {choice}.", quoted(option))
            }
        }
    }
}

/// A colon and a reason or comment, if there is one.
fn remark(said: Option<&str>) -> String {
    said.map_or_else(String::new, |said| format!(": {}", shortened(said)))
}

/// A text in quotation marks, on one line.
fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

/// The beginning of a text, on one line, without its final full stop because the sentence adds one.
fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.strip_suffix('.').unwrap_or(&line).to_owned(),
    }
}

fn listed(items: &[impl AsRef<str>]) -> String {
    match items {
        [] => "nothing".into(),
        [only] => only.as_ref().into(),
        [most @ .., last] => {
            let most: Vec<_> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// A value as it is written in JSON.
pub(crate) fn written(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(Into::into)).unwrap_or_default()
}
