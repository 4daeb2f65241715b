//! Events of a board as text.

use corkboard::boards::{BoardEvent, CancelCause, Cancellation, LearningId, ReviewVerdict, TaskResult};
use corkboard::cores::Trust;

use crate::board_view::written;
use crate::output::{clip, count, one_line, time};

const SHOWN_TEXT: usize = 60;

/// One event as text, safe for terminals.
pub(crate) fn event_text(event: &BoardEvent) -> String {
    match event {
        BoardEvent::Created(board) => format!("created the board {}", short(&board.name)),
        BoardEvent::Edited(_) => "edited the board".into(),
        BoardEvent::TaskAdded { id, task } if task.depends_on.is_empty() => {
            format!("added {id} {}", short(&task.title))
        }
        BoardEvent::TaskAdded { id, task } => {
            let after: Vec<String> = task.depends_on.iter().map(ToString::to_string).collect();
            format!("added {id} {} after {}", short(&task.title), clip(&after.join(", "), SHOWN_TEXT))
        }
        BoardEvent::DependencyAdded { task, depends_on } => format!("{task} waits for {depends_on}"),
        BoardEvent::DependencyRemoved { task, depends_on } => format!("{task} no longer waits for {depends_on}"),
        BoardEvent::TaskEdited { task, .. } => format!("edited {task}"),
        BoardEvent::TaskAssigned { task, agent } => format!("{task} is assigned to {}", one_line(agent.as_str())),
        BoardEvent::TaskStarted { task, .. } => format!("started {task}"),
        BoardEvent::TaskResumed { task, .. } => format!("claimed {task} again"),
        BoardEvent::LeaseRenewed { task, deadline } => format!("renewed the lease of {task} until {}", time(*deadline)),
        BoardEvent::LeaseExpired { task } => format!("the lease of {task} expired"),
        BoardEvent::TaskReleased { task } => format!("released {task}"),
        BoardEvent::TaskBlocked { task, reason } => format!("is blocked on {task}{}", because(reason.as_deref())),
        BoardEvent::TaskUnblocked { task } => format!("continued {task}"),
        BoardEvent::TaskSubmitted { task, result } => {
            format!("submitted {task} for review{}", came(result.as_deref()))
        }
        BoardEvent::TaskCompleted { task, result } => {
            format!("completed {task}{}", came(result.as_deref()))
        }
        BoardEvent::ReviewAssigned { task, agent } => {
            format!("the review of {task} is assigned to {}", one_line(agent.as_str()))
        }
        BoardEvent::TaskReviewed { task, verdict, comment, .. } => {
            let verb = match verdict {
                ReviewVerdict::Approved => "approved",
                ReviewVerdict::NeedsRework => "requested rework of",
                ReviewVerdict::Rejected => "rejected",
            };
            format!("{verb} {task}{}", because(comment.as_deref()))
        }
        BoardEvent::TaskFailed { task, reason, .. } => format!("{task} failed{}", because(Some(reason))),
        BoardEvent::TaskRetried { task, not_before: Some(until), .. } => {
            format!("{task} will be retried at {}", time(*until))
        }
        BoardEvent::TaskRetried { task, .. } => format!("{task} will be retried"),
        BoardEvent::RetryDue { task } => format!("{task} is ready to be retried"),
        BoardEvent::TaskCancelled { task, cancellation: Cancellation { cause, caused_by, reason } } => {
            let why = match (cause, caused_by) {
                (CancelCause::Requested, _) => String::new(),
                // Its branch was not chosen, or the failure that it waited for did not happen.
                (CancelCause::BranchNotTaken, _) => " because it can no longer start".into(),
                (CancelCause::UpstreamFailed, Some(first)) => format!(" because of {first}"),
                (CancelCause::UpstreamFailed, None) => " because of a task that it depends on".into(),
                (CancelCause::UpstreamCancelled, Some(first)) => format!(" because {first} was cancelled"),
                (CancelCause::UpstreamCancelled, None) => " because a task that it depends on was cancelled".into(),
                (CancelCause::BoardEnded, _) => " with the board".into(),
            };
            format!("{task} is cancelled{why}{}", because(reason.as_deref()))
        }
        BoardEvent::TaskReopened { task } => format!("{task} is pending again"),
        BoardEvent::DecisionRecorded { id, decision } => {
            let instead = decision.supersedes.map_or_else(String::new, |old| format!(" (instead of {old})"));
            let mark = mark(decision.trust);
            format!("decided {id}{instead} {mark}{}: {}", short(&decision.question), short(&decision.choice))
        }
        BoardEvent::DiscoveryRecorded { id, discovery } => {
            let mark = mark(discovery.trust);
            format!("found {id} ({}) {mark}{}", written(&discovery.kind), short(&discovery.content))
        }
        BoardEvent::ArtifactRecorded { id, artifact } => {
            format!("recorded {id} {}{}", mark(artifact.trust), short(&artifact.path))
        }
        BoardEvent::ChoiceAdded { id, choice } => {
            let options: Vec<&str> = choice.options.iter().map(|option| option.name.as_str()).collect();
            format!("asked {id} {}: {}", short(&choice.question), short(&options.join(" or ")))
        }
        BoardEvent::BranchChosen { choice, option, rationale } => {
            format!("chose {} for {choice}{}", short(option), because(rationale.as_deref()))
        }
        BoardEvent::OrchestratorAcquired { agent, .. } => format!("{} is the orchestrator", one_line(agent.as_str())),
        BoardEvent::OrchestratorRenewed { .. } => "renewed the orchestrator lease".into(),
        BoardEvent::OrchestratorReleased => "released the orchestrator role".into(),
        BoardEvent::OrchestratorExpired => "the orchestrator's lease expired".into(),
        BoardEvent::DecisionJudged { decision, verdict, comment, .. } => {
            format!("{verdict} {decision}{}", because(comment.as_deref()))
        }
        BoardEvent::NudgeSent { id, nudge } => {
            let to = one_line(&nudge.to.to_string());
            format!("sent {id} to {to} ({}): {}", nudge.priority, short(&nudge.message))
        }
        BoardEvent::NudgeDelivered { nudge, agent } => format!("{nudge} reached {}", one_line(agent)),
        BoardEvent::NudgeAcknowledged { nudge, .. } => format!("acknowledged {nudge}"),
        BoardEvent::NudgeExpired { nudge } => format!("{nudge} expired"),
        BoardEvent::Paused { reason } => format!("paused the board{}", because(reason.as_deref())),
        BoardEvent::Resumed => "resumed the board".into(),
        BoardEvent::Ended { status, outcome, reason } => {
            format!("the board {}{}", outcome.in_words(*status), because(reason.as_deref()))
        }
        BoardEvent::Archived { retain_until } => {
            format!("archived the board, kept until {}", time(*retain_until))
        }
        BoardEvent::Discarded { reason } => format!("discarded the board{}", because(reason.as_deref())),
        BoardEvent::Purged => "purged the board".into(),
        BoardEvent::LearningsExtracted { candidates } => {
            format!("extracted {}", count(*candidates, "learning", "learnings"))
        }
        BoardEvent::PromotionBegun { learning, core, .. } => {
            format!("promotes {learning} to core {}", one_line(core.as_str()))
        }
        BoardEvent::LearningPromoted { learning, entry } => format!("promoted {learning}: {entry}"),
        BoardEvent::PromotionRefused { learning, reason } => {
            format!("the core refused {learning}{}", because(Some(reason)))
        }
        BoardEvent::PromotionAbandoned { learning, .. } => format!("abandoned the promotion of {learning}"),
        BoardEvent::LearningRefused { learning, reason } => {
            format!("refused {learning}{}", because(reason.as_deref()))
        }
        BoardEvent::RollBackBegun { learnings, reason, .. } => {
            format!("rolls back {}{}", learned(learnings), because(reason.as_deref()))
        }
        BoardEvent::LearningsRolledBack { learnings } => {
            format!("rolled back {}", learned(learnings))
        }
        BoardEvent::RecordForgotten { id, fields } => match fields.as_slice() {
            [] => format!("forgot the texts of {id}"),
            fields => {
                let names: Vec<String> = fields.iter().map(|field| numbered(field)).collect();
                format!("forgot texts of {id}: {}", names.join(", "))
            }
        },
        BoardEvent::Forked { image, from } => {
            let tasks = count(image.tasks.len() as u64, "task", "tasks");
            format!("forked the board from {} at revision {}, with {tasks}", one_line(&from.board), from.rev)
        }
    }
}

/// `setback 1` for the field `setbacks.0`.
fn numbered(field: &str) -> String {
    let position = field.rsplit_once('.').and_then(|(list, at)| Some((list, at.parse::<usize>().ok()? + 1)));
    position.map_or_else(|| field.into(), |(list, number)| format!("{} {number}", list.trim_end_matches('s')))
}

/// The IDs of learnings, clipped.
fn learned(learnings: &[LearningId]) -> String {
    let names: Vec<String> = learnings.iter().map(ToString::to_string).collect();
    short(&names.join(", "))
}

/// ": the result", if there is one.
fn came(result: Option<&TaskResult>) -> String {
    result.map_or_else(String::new, |result| format!(": {}{}", result.trust().mark(), short(&result.summary)))
}

/// The mark of a text from outside.
fn mark(trust: Option<Trust>) -> &'static str {
    trust.unwrap_or_default().mark()
}

/// ": the text", if there is one.
fn because(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!(": {}", short(text)))
}

fn short(text: &str) -> String {
    one_line(&clip(text, SHOWN_TEXT))
}
