//! What happened on a board, in words.

use corkboard::boards::{BoardEvent, CancelCause, Cancellation, LearningId, ReviewStatus, TaskResult};
use corkboard::cores::Trust;

use crate::board_view::written;
use crate::output::{clip, count, one_line, time};

const SHOWN_TEXT: usize = 60;

/// One event in words. Nothing of it can harm a terminal.
pub(crate) fn event_text(event: &BoardEvent) -> String {
    match event {
        BoardEvent::Created(board) => format!("made the board {}", short(&board.name)),
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
        BoardEvent::TaskStarted { task, .. } => format!("began {task}"),
        BoardEvent::TaskResumed { task, .. } => format!("claimed {task} again"),
        BoardEvent::LeaseRenewed { task, deadline } => format!("still works on {task}, until {}", time(*deadline)),
        BoardEvent::LeaseExpired { task } => format!("{task} lost its worker, who was not heard of in time"),
        BoardEvent::TaskReleased { task } => format!("gave {task} back"),
        BoardEvent::TaskBlocked { task, reason } => format!("cannot go on with {task}{}", because(reason.as_deref())),
        BoardEvent::TaskUnblocked { task } => format!("goes on with {task}"),
        BoardEvent::TaskSubmitted { task, result } => {
            format!("finished {task} for review{}", came(result.as_deref()))
        }
        BoardEvent::TaskCompleted { task, result } => {
            format!("completed {task}{}", came(result.as_deref()))
        }
        BoardEvent::ReviewAssigned { task, agent } => format!("{} is to review {task}", one_line(agent.as_str())),
        BoardEvent::TaskReviewed { task, verdict, comment, .. } => {
            let verb = match verdict {
                ReviewStatus::Approved => "approved",
                ReviewStatus::NeedsRework => "wants rework of",
                ReviewStatus::Rejected => "rejected",
            };
            format!("{verb} {task}{}", because(comment.as_deref()))
        }
        BoardEvent::TaskFailed { task, reason, .. } => format!("{task} failed{}", because(Some(reason))),
        BoardEvent::TaskRetried { task, not_before: Some(until), .. } => {
            format!("{task} is tried again at {}", time(*until))
        }
        BoardEvent::TaskRetried { task, .. } => format!("{task} is to be tried again"),
        BoardEvent::RetryDue { task } => format!("{task} may be tried again"),
        BoardEvent::TaskCancelled { task, cancellation: Cancellation { cause, caused_by, reason } } => {
            let why = match (cause, caused_by) {
                (CancelCause::Requested, _) => String::new(),
                // Its branch was not taken, or no failure came that it waited for.
                (CancelCause::BranchNotTaken, _) => ", it can no longer begin".into(),
                (CancelCause::UpstreamFailed, Some(first)) => format!(" because of {first}"),
                (CancelCause::UpstreamFailed, None) => " because of what it depends on".into(),
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
            format!("made {id} {}{}", mark(artifact.trust), short(&artifact.path))
        }
        BoardEvent::ChoiceAdded { id, choice } => {
            let options: Vec<&str> = choice.options.iter().map(|option| option.name.as_str()).collect();
            format!("asked {id} {}: {}", short(&choice.question), short(&options.join(" or ")))
        }
        BoardEvent::BranchChosen { choice, option, rationale } => {
            format!("chose {} for {choice}{}", short(option), because(rationale.as_deref()))
        }
        BoardEvent::OrchestratorAcquired { agent, .. } => format!("{} is the orchestrator", one_line(agent.as_str())),
        BoardEvent::OrchestratorRenewed { .. } => "still is the orchestrator".into(),
        BoardEvent::OrchestratorReleased => "is no longer the orchestrator".into(),
        BoardEvent::OrchestratorExpired => "the orchestrator was not heard of in time".into(),
        BoardEvent::DecisionJudged { decision, verdict, comment, .. } => {
            format!("{verdict} {decision}{}", because(comment.as_deref()))
        }
        BoardEvent::NudgeSent { id, nudge } => {
            let to = one_line(&nudge.to.to_string());
            format!("said {id} to {to} ({}): {}", nudge.priority, short(&nudge.message))
        }
        BoardEvent::NudgeDelivered { nudge, agent } => format!("{nudge} reached {}", one_line(agent)),
        BoardEvent::NudgeAcknowledged { nudge, .. } => format!("acknowledged {nudge}"),
        BoardEvent::NudgeExpired { nudge } => format!("{nudge} is no longer shown"),
        BoardEvent::Paused { reason } => format!("paused the board{}", because(reason.as_deref())),
        BoardEvent::Resumed => "resumed the board".into(),
        BoardEvent::Ended { status, outcome, reason } => {
            format!("the board is {status}: {outcome}{}", because(reason.as_deref()))
        }
        BoardEvent::Archived { retain_until } => {
            format!("archived the board, to be kept until {}", time(*retain_until))
        }
        BoardEvent::Discarded { reason } => format!("discarded the board{}", because(reason.as_deref())),
        BoardEvent::Purged => "purged the board".into(),
        BoardEvent::LearningsExtracted { candidates } => {
            format!("looked for what the board taught: {}", count(*candidates, "learning", "learnings"))
        }
        BoardEvent::PromotionBegun { learning, core, .. } => {
            format!("{learning} is on its way into the core {}", one_line(core.as_str()))
        }
        BoardEvent::LearningPromoted { learning, entry } => format!("{learning} is in its core: {entry}"),
        BoardEvent::PromotionRefused { learning, reason } => {
            format!("the core did not take {learning}{}", because(Some(reason)))
        }
        BoardEvent::PromotionAbandoned { learning, .. } => format!("the promotion of {learning} was given up"),
        BoardEvent::LearningRefused { learning, reason } => {
            format!("refused {learning}{}", because(reason.as_deref()))
        }
        BoardEvent::RollBackBegun { learnings, reason, .. } => {
            format!("takes {} out of the cores{}", learned(learnings), because(reason.as_deref()))
        }
        BoardEvent::LearningsRolledBack { learnings } => {
            format!("{} out of the cores again: rolled back", learned(learnings))
        }
        BoardEvent::Forked { image, from } => {
            let tasks = count(image.tasks.len() as u64, "task", "tasks");
            format!("made the board of {} at revision {}, with {tasks}", one_line(&from.board), from.rev)
        }
    }
}

/// The names of learnings, as far as they find room.
fn learned(learnings: &[LearningId]) -> String {
    let names: Vec<String> = learnings.iter().map(ToString::to_string).collect();
    short(&names.join(", "))
}

/// ": what came of it", if something was said.
fn came(result: Option<&TaskResult>) -> String {
    result.map_or_else(String::new, |result| format!(": {}{}", result.trust().mark(), short(&result.summary)))
}

/// What stands before a text that came from outside.
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
