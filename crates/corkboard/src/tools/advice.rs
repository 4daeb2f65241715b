//! What a model is told to do next when a board refuses what it asked for.

use corkboard_core::board::TaskStatus;
use corkboard_core::{LimitName, Refusal};

use super::{ToolContext, ToolError};
use crate::Error;

/// The error, with what to do next where that is known.
pub(super) fn advised(error: Error, context: &ToolContext) -> ToolError {
    let advice = match &error {
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
        Refusal::NoBoard => "Check the board's id; whoever plans makes a board by create_board".into(),
        Refusal::BoardEnded { .. } | Refusal::BoardPurged => "Stop: there is nothing more to do on it".into(),
        Refusal::NotOnBoard { what, .. } if what == "learning" => {
            "Use the id of a learning as extract_learnings shows it".into()
        }
        Refusal::NotOnBoard { what, .. } if what == "nudge" => {
            "Use the id of a nudge as check_nudges shows it when you call it without ack".into()
        }
        Refusal::NotOnBoard { what, .. } if what == "decision" => {
            "Use the id of a decision as board_context shows it".into()
        }
        Refusal::NotOnBoard { what, .. } if what == "choice" => {
            "Use the id of a choice as board_status shows it".into()
        }
        Refusal::NotOnBoard { what, .. } => format!("Use the id of a {what} as board_status and board_context show it"),
        Refusal::RoleDenied { .. } => "Do not try it again: leave it to those whose role allows it".into(),
        Refusal::Limit { limit, .. } => match limit {
            LimitName::BoardLineBytes => "Say it in fewer words".into(),
            LimitName::BoardTextBytes | LimitName::InlineBytes => {
                "Say it in fewer words; what is long belongs into a file that record_artifact names".into()
            }
            LimitName::LinesPerList => "Name fewer at once".into(),
            _ => return None,
        },
        Refusal::UnknownMember { .. } => "Give the task meant that key, or name one that is there by its id".into(),
        Refusal::DuplicateMember { .. } => "Give each task a key of its own".into(),
        Refusal::KeyReadsAsId { .. } => "Choose a word as its key".into(),
        Refusal::Cycle { .. } => "Leave out one of these dependencies".into(),
        Refusal::NothingWaits => "Name them in affects_tasks".into(),
        Refusal::NoBranch { .. } => "Choose one of these".into(),
        Refusal::NoCore { .. } => "Name one in core".into(),
        Refusal::ReservedName { .. } => "Name a memory core that is shared".into(),
        Refusal::NotThisWay { from: TaskStatus::Review, .. } => {
            "Wait until it was reviewed; whoever reviews it calls review_task".into()
        }
        Refusal::NotThisWay { .. } => "It is not under review: leave it to whoever works on it".into(),
        Refusal::TaskMove { task, from, .. } => match from {
            TaskStatus::Pending | TaskStatus::Assigned => {
                format!(r#"Claim it first: claim_task {{"task":"{task}"}}"#)
            }
            TaskStatus::Blocked => format!(r#"Go on first: update_task {{"task":"{task}","status":"in_progress"}}"#),
            TaskStatus::Review => "Wait until it was reviewed, or do something else meanwhile".into(),
            TaskStatus::InProgress => "Wait until whoever works on it is done".into(),
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => {
                format!("It is finished: leave it. {NEXT}")
            }
        },
        Refusal::NotReady { .. } => format!("Wait until that is done. {NEXT}"),
        Refusal::TaskHeld { task, holder, .. } if holder.as_str() == own => {
            format!(r#"You have it already: go on with it, beginning with board_context {{"task":"{task}"}}"#)
        }
        Refusal::TaskHeld { .. } => format!("Leave it to them. {NEXT}"),
        Refusal::Fenced { what, holder: Some(holder), .. } if what == "orchestrator" => {
            format!("{holder} runs this board: stop, or work on a task of it")
        }
        Refusal::Fenced { holder: Some(_), .. } => format!("It was given to another: stop working on it. {NEXT}"),
        Refusal::Fenced { what, holder: None, .. } => {
            format!(r#"Claim it before you go on: claim_task {{"task":"{what}"}}"#)
        }
        Refusal::AlreadyBegun { .. } => "Add a new task instead".into(),
        Refusal::NotAuthor { .. } => "Record your own decision without supersedes".into(),
        Refusal::AwaitsApproval { .. } => {
            "Wait until a person has approved or rejected it; meanwhile do something else".into()
        }
        Refusal::Paused { .. } => "Wait: a person paused the board. Finish what you have, begin nothing".into(),
        Refusal::NotForYou { .. } => "Acknowledge only what check_nudges shows you when you call it without ack".into(),
        Refusal::Irreversible { .. } => "Leave it as it is, and tell a person why it should change".into(),
        Refusal::NotReviewer { .. } => "Leave it to them".into(),
        Refusal::OwnTask { .. } => "Leave it to a reviewer or a person".into(),
        Refusal::UrgentNudges { .. } => "Follow what they say, then call complete_task again".into(),
        Refusal::Superseded { by, .. } => format!("Look at {by}, which holds now"),
        Refusal::LearningRefused { .. } => "Leave it: what was refused stays so".into(),
        Refusal::LearningPromoted { .. } => "Leave it where it is".into(),
        Refusal::OwnLearning { .. } => "Leave it to a person or to another agent".into(),
        Refusal::PromotionOpen { .. } | Refusal::PromotionOver { .. } => {
            "Call extract_learnings to see what became of it".into()
        }
        Refusal::AlreadyChosen { .. } => "Go on with that branch".into(),
        _ => return None,
    })
}
