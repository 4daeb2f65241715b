//! Advice for a model: what to do next when a board refuses its call.

use corkboard_core::board::{Hindrance, TaskStatus};
use corkboard_core::{LimitName, Refusal};

use super::{ToolContext, ToolError};
use crate::Error;

/// Adds what to do next to the error, if that is known. `board` is the board that the input names.
pub(super) fn advised(error: Error, context: &ToolContext, board: Option<&str>) -> ToolError {
    let advice = match &error {
        Error::Refused(Refusal::NoBoard) => board
            .or(context.board.as_deref())
            .map(|board| format!("Check the board's ID, {board:?}; an orchestrator creates boards with create_board")),
        Error::Refused(refusal) => advice(refusal, context),
        _ => None,
    };
    match advice {
        Some(advice) => ToolError::Advised { error, advice },
        None => ToolError::Memory(error),
    }
}

fn advice(refusal: &Refusal, context: &ToolContext) -> Option<String> {
    const NEXT: &str = "Call claim_task without a task to get one that is ready";
    let own = context.actor.as_ref().map_or(context.agent.as_str(), |actor| actor.principal.as_str());
    Some(match refusal {
        Refusal::BoardEnded { .. } | Refusal::BoardPurged => "Stop: there is no more work on it".into(),
        Refusal::NotOnBoard { what, .. } if what == "learning" => {
            "Use a learning's ID as extract_learnings shows it. A decision is a learning only if it is in force and its \
             reason has at least three words"
                .into()
        }
        Refusal::NotOnBoard { what, .. } if what == "nudge" => {
            "Use a nudge's ID as check_nudges shows it when called without ack".into()
        }
        Refusal::NotOnBoard { what, .. } if what == "decision" => {
            "Use a decision's ID as board_context shows it".into()
        }
        Refusal::NotOnBoard { what, .. } if what == "choice" => "Use a choice's ID as board_status shows it".into(),
        Refusal::NotOnBoard { what, .. } => format!("Use the ID of a {what} as board_status and board_context show it"),
        Refusal::RoleDenied { .. } => "Do not retry: leave it to someone whose role allows it".into(),
        Refusal::Limit { limit, .. } => match limit {
            LimitName::BoardLineBytes => "Shorten the text".into(),
            LimitName::BoardTextBytes | LimitName::InlineBytes => {
                "Shorten the text, or write it to a file and record the file with record_artifact".into()
            }
            LimitName::LinesPerList => "Pass fewer items".into(),
            _ => return None,
        },
        Refusal::UnknownMember { .. } => "Give the task that you mean this key, or use an existing task's ID".into(),
        Refusal::DuplicateMember { .. } => "Give each task a different key".into(),
        Refusal::KeyReadsAsId { .. } => "Use a word as the key".into(),
        Refusal::Cycle { .. } => "Remove one of these dependencies".into(),
        Refusal::NothingWaits => "Name the tasks in affects_tasks".into(),
        Refusal::NoBranch { .. } => "Choose one of these branches".into(),
        Refusal::NoCore { .. } => "Pass the core's name in core".into(),
        Refusal::ReservedName { .. } => "Pass the name of a shared memory core".into(),
        Refusal::NotThisWay { from: TaskStatus::Review, .. } => "Wait until its reviewer calls review_task".into(),
        Refusal::NotThisWay { .. } => "It is not in review: leave it to the agent that works on it".into(),
        Refusal::TaskMove { task, from, .. } => match from {
            TaskStatus::Pending | TaskStatus::Assigned => {
                format!(r#"Claim it first: claim_task {{"task":"{task}"}}"#)
            }
            TaskStatus::Blocked => {
                format!(r#"Resume it first: update_task {{"task":"{task}","status":"in_progress"}}"#)
            }
            TaskStatus::Review => "Wait for its review, or do something else meanwhile".into(),
            TaskStatus::InProgress => "Wait until its holder completes it".into(),
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => {
                "Leave it as it is, and work on another task".into()
            }
        },
        Refusal::NotReady { hindrances, .. } => match hindrances.as_slice() {
            [Hindrance::Dependencies { depends_on }] => match depends_on.as_slice() {
                [only] => format!("Wait until {only} is done. {NEXT}"),
                _ => format!("Wait until they are done. {NEXT}"),
            },
            _ => NEXT.into(),
        },
        Refusal::TaskHeld { task, holder, .. } if holder.as_str() == own => {
            format!(r#"You already hold it: continue with board_context {{"task":"{task}"}}"#)
        }
        Refusal::TaskHeld { .. } => format!("Leave it to them. {NEXT}"),
        Refusal::Fenced { what, holder: Some(holder), .. } if what == "orchestrator" => {
            format!("{holder} runs this board: stop, or work on one of its tasks")
        }
        Refusal::Fenced { holder: Some(holder), .. } if holder.as_str() == own => {
            "Use the epoch of your latest claim. If another process of yours took over the task, stop".into()
        }
        Refusal::Fenced { holder: Some(_), .. } => format!("Another agent has it now: stop working on it. {NEXT}"),
        Refusal::Fenced { what, holder: None, epoch: 0, .. } => {
            format!(r#"Claim it before you continue: claim_task {{"task":"{what}"}}"#)
        }
        Refusal::Fenced { what, holder: None, .. } if what == "orchestrator" => {
            "Acquire the orchestrator's role again before you continue".into()
        }
        Refusal::Fenced { what, holder: None, .. } => {
            format!(r#"Check it with board_status {{"task":"{what}"}}. Claim it only if it is pending"#)
        }
        Refusal::AlreadyBegun { .. } => "Add a new task instead".into(),
        Refusal::NotAuthor { .. } => "Record your own decision without supersedes".into(),
        Refusal::AwaitsApproval { .. } => {
            "Wait until a person approves or rejects it; do something else meanwhile".into()
        }
        Refusal::Paused { .. } => {
            "A person paused the board: finish your current task, and wait before you claim another".into()
        }
        Refusal::NotForYou { .. } => "Acknowledge only nudges that check_nudges shows when called without ack".into(),
        Refusal::Irreversible { .. } => "Leave it as it is, and tell a person why it should change".into(),
        Refusal::NotReviewer { .. } => "Leave it to them".into(),
        Refusal::OwnTask { .. } => "Leave it to a reviewer or a person".into(),
        Refusal::UrgentNudges { nudges, .. } => {
            let them = if nudges.len() == 1 { "it" } else { "them" };
            format!("Follow {them}, then call complete_task again")
        }
        Refusal::Superseded { by, .. } => format!("Use {by}, which replaced it"),
        Refusal::LearningRefused { .. } => "Leave it: a refusal is permanent".into(),
        Refusal::LearningPromoted { .. } => "Leave it in its core".into(),
        Refusal::OwnLearning { .. } => "Leave it to a person or another agent".into(),
        Refusal::PromotionOpen { .. } | Refusal::PromotionOver { .. } => {
            "Call extract_learnings to see its state".into()
        }
        Refusal::AlreadyChosen { .. } => "Continue with that branch".into(),
        _ => return None,
    })
}
