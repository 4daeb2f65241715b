//! The permissions in a memory core, as one table. The documentation shows it, and tests check every command against
//! it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::CoreCommand;
use crate::Role::*;
use crate::{Actor, CoreId, Refusal, Role};

/// An action in a memory core. Everybody may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CoreAction {
    Add,
    Edit,
    /// To raise the trust of an entry.
    Vouch,
    Forget,
    /// To remove an entry permanently, also from the log.
    ForgetHard,
    Restore,
    Withdraw,
    Clear,
    Replace,
    Delete,
    Tick,
}

/// The permissions for one action.
struct AccessRow {
    action: CoreAction,
    /// The action, in words that follow "may not".
    words: &'static str,
    /// Roles that may do it in a shared core.
    shared: &'static [Role],
    /// Roles that may do it in any agent's private core.
    private: &'static [Role],
    /// Roles in which an agent may do it in its own private core.
    itself: &'static [Role],
    /// Roles that may do it in the core [`CoreId::USER`].
    user: &'static [Role],
}

const EVERYBODY: &[Role] = &[Orchestrator, Worker, Reviewer, Human, Admin];
const LEARNING: &[Role] = &[Orchestrator, Reviewer, Human, Admin];
const REVIEWING: &[Role] = &[Reviewer, Human, Admin];
const PEOPLE: &[Role] = &[Human, Admin];
const NOBODY: &[Role] = &[];

/// Everything that is not listed is denied.
static TABLE: [AccessRow; 11] = [
    row(CoreAction::Add, "add entries to the core", LEARNING, PEOPLE, EVERYBODY).about_user(EVERYBODY),
    row(CoreAction::Edit, "edit entries of the core", REVIEWING, PEOPLE, EVERYBODY).about_user(EVERYBODY),
    row(CoreAction::Vouch, "vouch for entries of the core", PEOPLE, PEOPLE, NOBODY),
    row(CoreAction::Forget, "forget entries of the core", REVIEWING, PEOPLE, EVERYBODY).about_user(EVERYBODY),
    row(CoreAction::ForgetHard, "forget entries of the core permanently", PEOPLE, PEOPLE, EVERYBODY),
    row(CoreAction::Restore, "restore entries of the core", REVIEWING, PEOPLE, EVERYBODY).about_user(EVERYBODY),
    row(CoreAction::Withdraw, "withdraw entries by their origin", LEARNING, LEARNING, EVERYBODY),
    row(CoreAction::Clear, "clear the core", PEOPLE, PEOPLE, EVERYBODY),
    row(CoreAction::Replace, "replace the content of the core", PEOPLE, PEOPLE, EVERYBODY),
    row(CoreAction::Delete, "delete the core", PEOPLE, PEOPLE, EVERYBODY),
    row(CoreAction::Tick, "expire due entries", EVERYBODY, EVERYBODY, NOBODY),
];

const fn row(
    action: CoreAction,
    words: &'static str,
    shared: &'static [Role],
    private: &'static [Role],
    itself: &'static [Role],
) -> AccessRow {
    AccessRow { action, words, shared, private, itself, user: shared }
}

impl AccessRow {
    const fn about_user(self, user: &'static [Role]) -> Self {
        Self { user, ..self }
    }

    /// Roles that may do it in this core. `None` is a shared core.
    fn roles_in(&self, core: Option<&CoreId>) -> &'static [Role] {
        match core {
            Some(core) if core.is_private() => self.private,
            Some(core) if core.as_str() == CoreId::USER => self.user,
            _ => self.shared,
        }
    }
}

impl CoreAction {
    /// All actions, in the order of the table.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TABLE.iter().map(|row| row.action)
    }

    /// The action, in words that follow "may not".
    pub fn words(self) -> &'static str {
        self.row().map_or("do that", |row| row.words)
    }

    /// Whether the actor may do it in this core. `None` is a shared core. Unlisted actions are denied.
    pub fn is_allowed_to(self, actor: &Actor, core: Option<&CoreId>) -> bool {
        self.row().is_some_and(|row| {
            let owner = core.and_then(CoreId::agent);
            let is_itself = owner.is_some_and(|owner| owner.as_str() == actor.principal);
            row.roles_in(core).contains(&actor.role) || is_itself && row.itself.contains(&actor.role)
        })
    }

    /// Refuses actors who may not do it. The refusal says who may.
    pub fn check(self, actor: &Actor, core: Option<&CoreId>) -> Result<(), Refusal> {
        if self.is_allowed_to(actor, core) {
            return Ok(());
        }
        let may = self.row().map_or(NOBODY, |row| row.roles_in(core));
        let owner = core.and_then(CoreId::agent).filter(|_| self.row().is_some_and(|row| !row.itself.is_empty()));
        Err(Refusal::role_denied(actor, self.words(), owner.as_ref(), may))
    }

    /// The permissions as a Markdown table.
    pub fn table() -> String {
        let heads = Role::ALL.map(Role::as_str).join(" | ");
        let mut table = format!(
            "| may | {heads} | in the core `user` | in an agent's own core |\n|---{}|\n",
            "|---".repeat(Role::ALL.len() + 2)
        );
        let names = |roles: &[Role]| roles.iter().map(|role| role.as_str()).collect::<Vec<_>>().join(", ");
        for AccessRow { words, shared, private, itself, user, .. } in &TABLE {
            let cells = Role::ALL.map(|role| if shared.contains(&role) { "yes" } else { "–" }).join(" | ");
            let agent = if itself.is_empty() { "" } else { "the agent itself, " };
            table.push_str(&format!("| {words} | {cells} | {} | {agent}{} |\n", names(user), names(private)));
        }
        table
    }

    fn row(self) -> Option<&'static AccessRow> {
        TABLE.iter().find(|row| row.action == self)
    }
}

impl CoreCommand {
    /// The action of the command in the table of permissions. An edit can also raise trust, which is checked when the
    /// entry is known.
    pub fn action(&self) -> CoreAction {
        match self {
            Self::Add { .. } => CoreAction::Add,
            // To remove an entry is as much as to change its whole text. Everybody who may edit may also add.
            Self::Edit { .. } | Self::Exchange { .. } => CoreAction::Edit,
            Self::Forget { .. } => CoreAction::Forget,
            Self::ForgetHard { .. } => CoreAction::ForgetHard,
            Self::Restore { .. } => CoreAction::Restore,
            Self::Withdraw { .. } => CoreAction::Withdraw,
            Self::Clear => CoreAction::Clear,
            Self::Replace { .. } => CoreAction::Replace,
            Self::Tick => CoreAction::Tick,
        }
    }
}
