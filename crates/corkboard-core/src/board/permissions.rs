//! Who may do what on a board. The documentation shows this table, and the tests check every command against it.

use alloc::format;
use alloc::string::String;

use super::BoardCommand;
use crate::Role::*;
use crate::{Actor, Refusal, Role};

/// An action on a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoardAction {
    /// Create a board, or copy one.
    Create,
    Edit,
    /// Add tasks and choices; add or remove dependencies.
    AddTasks,
    EditTask,
    /// Assign a task or its review.
    Assign,
    Review,
    CancelTask,
    Retry,
    Choose,
    Orchestrate,
    End,
    /// Archive the board, or discard it without its learnings.
    Archive,
    Purge,
    /// Pause or resume the board.
    Pause,
    Work,
    TakeTask,
    /// Record decisions, discoveries and artifacts.
    Record,
    Supersede,
    Approve,
    Nudge,
    HearNudges,
    Extract,
    /// Promote, refuse and roll back learnings.
    Promote,
    /// Delete the board with its log, even if something keeps it from being purged.
    Delete,
    /// Forget the texts of records permanently.
    Forget,
    Tick,
}

/// Each action, in words that follow "may not", and the roles that may do it. Everything else is denied.
static TABLE: [(BoardAction, &str, &[Role]); 26] = [
    (BoardAction::Create, "create a board", &[Orchestrator, Human, Admin]),
    (BoardAction::Edit, "edit the board", &[Orchestrator, Human, Admin]),
    (BoardAction::AddTasks, "add tasks or choices, or change dependencies", &[Orchestrator, Human, Admin]),
    (BoardAction::EditTask, "edit a task", &[Orchestrator, Human, Admin]),
    (BoardAction::Assign, "assign a task or its review", &[Orchestrator, Human, Admin]),
    (BoardAction::Review, "review a task", &[Orchestrator, Reviewer, Human, Admin]),
    (BoardAction::CancelTask, "cancel a task", &[Orchestrator, Human, Admin]),
    (BoardAction::Retry, "retry a task", &[Orchestrator, Human, Admin]),
    (BoardAction::Choose, "choose an option", &[Orchestrator, Human, Admin]),
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
    (BoardAction::Forget, "forget records of the board permanently", &[Human, Admin]),
    (BoardAction::Tick, "expire overdue items", &[Orchestrator, Worker, Reviewer, Human, Admin]),
];

impl BoardAction {
    /// All actions, in the order of the table.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.into_iter().map(|(action, ..)| action)
    }

    /// The action in words that follow "may not".
    pub fn words(self) -> &'static str {
        self.row().map_or("do that", |(_, words, _)| *words)
    }

    /// Whether the role may do it. Actions that are not in the table are denied.
    pub fn is_allowed_to(self, role: Role) -> bool {
        self.row().is_some_and(|(_, _, roles)| roles.contains(&role))
    }

    /// Refuses an actor whose role may not do it, and names the roles that may.
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
    /// The command's action in the table. None: it depends on the task's state or on the command inside.
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
            // The action depends on the task's state or on the command inside. It is checked later.
            Self::SetStatus { .. } | Self::Release { .. } | Self::UnderClaim { .. } => return None,
            Self::RecordDecision(_) | Self::RecordDiscovery(_) | Self::RecordArtifact(_) => BoardAction::Record,
            Self::Judge { .. } => BoardAction::Approve,
            Self::SendNudge(_) => BoardAction::Nudge,
            Self::DeliverNudges { .. } | Self::AcknowledgeNudges { .. } => BoardAction::HearNudges,
            Self::ExtractLearnings => BoardAction::Extract,
            Self::PromoteLearning { .. }
            | Self::FinishPromotion { .. }
            | Self::AbandonPromotion { .. }
            | Self::FinishAbandonment { .. }
            | Self::RefuseLearning { .. }
            | Self::RollBackLearnings { .. }
            | Self::FinishRollBack { .. } => BoardAction::Promote,
            Self::Forget { .. } => BoardAction::Forget,
            Self::Tick => BoardAction::Tick,
        })
    }
}
