//! Who may do what in a memory core: one table, which the documentation shows and the tests hold every command against.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::CoreCommand;
use crate::Role::*;
use crate::{Actor, AgentId, Refusal, Role};

/// Something that can be done in a memory core. To read is open to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoreAction {
    Add,
    Edit,
    /// To say that an entry may be trusted further than it was.
    Vouch,
    Forget,
    Restore,
    Withdraw,
    Clear,
    Replace,
    Delete,
    Tick,
}

/// Who may do one thing.
struct AccessRow {
    action: CoreAction,
    /// In words that follow "may not".
    words: &'static str,
    /// In a core that is shared by its name.
    shared: &'static [Role],
    /// In an agent's own core, whoever it is.
    private: &'static [Role],
    /// In an agent's own core, the agent itself.
    itself: &'static [Role],
}

const EVERYBODY: &[Role] = &[Orchestrator, Worker, Reviewer, Human, Admin];
const LEARNING: &[Role] = &[Orchestrator, Reviewer, Human, Admin];
const REVIEWING: &[Role] = &[Reviewer, Human, Admin];
const PEOPLE: &[Role] = &[Human, Admin];
const NOBODY: &[Role] = &[];

/// What is not here is denied.
static TABLE: [AccessRow; 10] = [
    row(CoreAction::Add, "add entries to the core", LEARNING, PEOPLE, EVERYBODY),
    row(CoreAction::Edit, "edit entries of the core", REVIEWING, PEOPLE, EVERYBODY),
    row(CoreAction::Vouch, "vouch for entries of the core", PEOPLE, PEOPLE, NOBODY),
    row(CoreAction::Forget, "forget entries of the core", REVIEWING, PEOPLE, EVERYBODY),
    row(CoreAction::Restore, "restore entries of the core", REVIEWING, PEOPLE, EVERYBODY),
    row(CoreAction::Withdraw, "withdraw what came from somewhere", LEARNING, LEARNING, EVERYBODY),
    row(CoreAction::Clear, "clear the core", PEOPLE, PEOPLE, EVERYBODY),
    row(CoreAction::Replace, "replace all that the core holds", PEOPLE, PEOPLE, EVERYBODY),
    row(CoreAction::Delete, "delete the core", PEOPLE, PEOPLE, EVERYBODY),
    row(CoreAction::Tick, "let happen what is due", EVERYBODY, EVERYBODY, NOBODY),
];

const fn row(
    action: CoreAction,
    words: &'static str,
    shared: &'static [Role],
    private: &'static [Role],
    itself: &'static [Role],
) -> AccessRow {
    AccessRow { action, words, shared, private, itself }
}

impl CoreAction {
    /// Everything that can be done, in the order of the table.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|row| row.action)
    }

    /// In words that follow "may not".
    pub fn words(self) -> &'static str {
        self.row().map_or("do that", |row| row.words)
    }

    /// Whether that actor may do it: in a shared core, or in the core of that agent. What the table does not name is denied.
    pub fn is_allowed_to(self, actor: &Actor, owner: Option<&AgentId>) -> bool {
        self.row().is_some_and(|row| match owner {
            None => row.shared.contains(&actor.role),
            Some(owner) => {
                let is_itself = owner.as_str() == actor.principal;
                row.private.contains(&actor.role) || is_itself && row.itself.contains(&actor.role)
            }
        })
    }

    /// Refuses whoever may not do it, and says who may.
    pub fn check(self, actor: &Actor, owner: Option<&AgentId>) -> Result<(), Refusal> {
        if self.is_allowed_to(actor, owner) {
            return Ok(());
        }
        let may = self.row().map_or(NOBODY, |row| if owner.is_some() { row.private } else { row.shared });
        let owner = owner.filter(|_| self.row().is_some_and(|row| !row.itself.is_empty()));
        Err(Refusal::role_denied(actor, self.words(), owner, may))
    }

    /// Who may do what, as a table in Markdown: in shared cores by role, in an agent's own by name.
    pub fn table() -> String {
        let heads = Role::ALL.map(Role::as_str).join(" | ");
        let mut table =
            format!("| may | {heads} | in an agent's own core |\n|---{}|---|\n", "|---".repeat(Role::ALL.len()));
        for AccessRow { words, shared, private, itself, .. } in &TABLE {
            let cells = Role::ALL.map(|role| if shared.contains(&role) { "yes" } else { "–" }).join(" | ");
            let agent = (!itself.is_empty()).then_some("the agent itself");
            let own: Vec<_> = agent.into_iter().chain(private.iter().map(|role| role.as_str())).collect();
            table.push_str(&format!("| {words} | {cells} | {} |\n", own.join(", ")));
        }
        table
    }

    fn row(self) -> Option<&'static AccessRow> {
        TABLE.iter().find(|row| row.action == self)
    }
}

impl CoreCommand {
    /// What it does, as the table of who may do what has it. An edit may vouch besides: that shows when the entry is looked
    /// at.
    pub fn action(&self) -> CoreAction {
        match self {
            Self::Add { .. } => CoreAction::Add,
            Self::Edit { .. } => CoreAction::Edit,
            Self::Forget { .. } => CoreAction::Forget,
            Self::Restore { .. } => CoreAction::Restore,
            Self::Withdraw { .. } => CoreAction::Withdraw,
            Self::Clear => CoreAction::Clear,
            Self::Replace { .. } => CoreAction::Replace,
            Self::Tick => CoreAction::Tick,
        }
    }
}
