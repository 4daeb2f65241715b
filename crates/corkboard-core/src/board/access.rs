//! Who may do what on a board: one table, which the documentation shows and the tests hold every command against.

use alloc::format;
use alloc::string::String;

use super::BoardCommand;
use crate::Role::*;
use crate::{Actor, Refusal, Role};

/// Something that can be done on a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoardAction {
    /// To make a board, or one from another.
    Create,
    Edit,
    /// To add tasks and choices, and to add or remove dependencies.
    AddTasks,
    EditTask,
    /// To say who does a task, or who reviews it.
    Assign,
    Review,
    CancelTask,
    Retry,
    Choose,
    Orchestrate,
    End,
    /// To put the board away, with what it taught or without.
    Archive,
    Purge,
    /// To stop the clock of the board, and to let it run again.
    Pause,
    Work,
    TakeTask,
    /// To record decisions, discoveries and artifacts.
    Record,
    Supersede,
    Approve,
    Nudge,
    HearNudges,
    Extract,
    /// To promote, refuse and roll back learnings.
    Promote,
    /// To delete the board with its log, whatever keeps it.
    Delete,
    Tick,
}

/// What can be done, in words that follow "may not", and by whom. What is not here is denied.
static TABLE: [(BoardAction, &str, &[Role]); 25] = [
    (BoardAction::Create, "make a board", &[Orchestrator, Human, Admin]),
    (BoardAction::Edit, "edit the board", &[Orchestrator, Human, Admin]),
    (BoardAction::AddTasks, "add tasks or choices, or change dependencies", &[Orchestrator, Human, Admin]),
    (BoardAction::EditTask, "edit a task", &[Orchestrator, Human, Admin]),
    (BoardAction::Assign, "assign a task or its review", &[Orchestrator, Human, Admin]),
    (BoardAction::Review, "review a task", &[Orchestrator, Reviewer, Human, Admin]),
    (BoardAction::CancelTask, "cancel a task", &[Orchestrator, Human, Admin]),
    (BoardAction::Retry, "retry a task", &[Orchestrator, Human, Admin]),
    (BoardAction::Choose, "choose a branch", &[Orchestrator, Human, Admin]),
    (BoardAction::Orchestrate, "be the orchestrator", &[Orchestrator, Human, Admin]),
    (BoardAction::End, "complete or cancel the board", &[Orchestrator, Human, Admin]),
    (BoardAction::Archive, "archive or discard the board", &[Orchestrator, Human, Admin]),
    (BoardAction::Purge, "purge the board", &[Human, Admin]),
    (BoardAction::Pause, "pause or resume the board", &[Orchestrator, Human, Admin]),
    (BoardAction::Work, "work on a task", &[Orchestrator, Worker, Human, Admin]),
    (BoardAction::TakeTask, "take a task from its holder", &[Orchestrator, Human, Admin]),
    (BoardAction::Record, "record a decision, discovery or artifact", &[Orchestrator, Worker, Reviewer, Human, Admin]),
    (BoardAction::Supersede, "supersede another's decision", &[Orchestrator, Human, Admin]),
    (BoardAction::Approve, "approve or reject a decision", &[Human, Admin]),
    (BoardAction::Nudge, "nudge", &[Orchestrator, Human, Admin]),
    (BoardAction::HearNudges, "read or acknowledge nudges", &[Orchestrator, Worker, Reviewer, Human, Admin]),
    (BoardAction::Extract, "extract learnings", &[Orchestrator, Reviewer, Human, Admin]),
    (BoardAction::Promote, "promote, refuse or roll back learnings", &[Orchestrator, Reviewer, Human, Admin]),
    (BoardAction::Delete, "delete the board", &[Human, Admin]),
    (BoardAction::Tick, "let happen what is due", &[Orchestrator, Worker, Reviewer, Human, Admin]),
];

impl BoardAction {
    /// Everything that can be done, in the order of the table.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.into_iter().map(|(action, ..)| action)
    }

    /// In words that follow "may not".
    pub fn words(self) -> &'static str {
        self.row().map_or("do that", |(_, words, _)| *words)
    }

    /// Whether whoever has that role may do it. What the table does not name is denied.
    pub fn is_allowed_to(self, role: Role) -> bool {
        self.row().is_some_and(|(_, _, roles)| roles.contains(&role))
    }

    /// Refuses whoever may not do it in their role, and says who may.
    pub fn check(self, actor: &Actor) -> Result<(), Refusal> {
        if self.is_allowed_to(actor.role) {
            return Ok(());
        }
        Err(Refusal::role_denied(actor, self.words(), None, self.row().map_or(&[], |(.., roles)| roles)))
    }

    /// Who may do what, as a table in Markdown.
    pub fn table() -> String {
        let heads = Role::ALL.map(Role::as_str).join(" | ");
        let mut table = format!("| may | {heads} |\n|---{}|\n", "|---".repeat(Role::ALL.len()));
        for (action, words, _) in TABLE {
            let cells = Role::ALL.map(|role| if action.is_allowed_to(role) { "yes" } else { "–" }).join(" | ");
            table.push_str(&format!("| {words} | {cells} |\n"));
        }
        table
    }

    fn row(self) -> Option<&'static (Self, &'static str, &'static [Role])> {
        TABLE.iter().find(|(action, ..)| *action == self)
    }
}

impl BoardCommand {
    /// What it does, as the table of who may do what has it. None: what it does is what the command inside it does.
    pub fn action(&self) -> Option<BoardAction> {
        Some(match self {
            Self::Create(_) | Self::CreateWithTasks { .. } | Self::Fork { .. } => BoardAction::Create,
            Self::Edit { .. } => BoardAction::Edit,
            Self::AddTasks { .. } | Self::AddDependency { .. } | Self::RemoveDependency { .. } => BoardAction::AddTasks,
            Self::EditTask { .. } => BoardAction::EditTask,
            Self::Assign { .. } | Self::AssignReview { .. } => BoardAction::Assign,
            Self::Review { .. } => BoardAction::Review,
            Self::CancelTask { .. } => BoardAction::CancelTask,
            Self::Retry { .. } | Self::RetryFailed => BoardAction::Retry,
            Self::Choose { .. } => BoardAction::Choose,
            Self::AcquireOrchestrator { .. }
            | Self::RenewOrchestrator { .. }
            | Self::ReleaseOrchestrator { .. }
            | Self::AsOrchestrator { .. } => BoardAction::Orchestrate,
            Self::Complete { .. } | Self::Cancel { .. } => BoardAction::End,
            Self::Archive { .. } | Self::Discard { .. } => BoardAction::Archive,
            Self::Purge => BoardAction::Purge,
            Self::Pause { .. } | Self::Resume => BoardAction::Pause,
            Self::Claim { .. } | Self::Heartbeat { .. } | Self::CompleteTask { .. } | Self::FailTask { .. } => {
                BoardAction::Work
            }
            // These stand for several things: which, shows when the task is looked at.
            Self::SetStatus { .. } | Self::Release { .. } | Self::UnderClaim { .. } => return None,
            Self::RecordDecision(_) | Self::RecordDiscovery(_) | Self::RecordArtifact(_) => BoardAction::Record,
            Self::Judge { .. } => BoardAction::Approve,
            Self::InjectNudge(_) => BoardAction::Nudge,
            Self::DeliverNudges { .. } | Self::AcknowledgeNudges { .. } => BoardAction::HearNudges,
            Self::ExtractLearnings => BoardAction::Extract,
            Self::PromoteLearning { .. }
            | Self::FinishPromotion { .. }
            | Self::AbandonPromotion { .. }
            | Self::FinishAbandonment { .. }
            | Self::RefuseLearning { .. }
            | Self::RollBackLearnings { .. }
            | Self::FinishRollBack { .. } => BoardAction::Promote,
            Self::Tick => BoardAction::Tick,
        })
    }
}
