//! The spaces that a handle can open: all, or those that were granted. A server limits the handles that it uses for a
//! caller.

use std::sync::Arc;

use corkboard_core::board::{BoardCommand, BoardState};
use corkboard_core::tokens::Grants;
use corkboard_core::{Actor, SpaceId, SpaceKind};

use crate::corkboard::check_space_tier;
use crate::engine::{Engine, Slot};
use crate::{Corkboard, Error, Result};

/// The spaces that a handle can open.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedSpaces(Option<Arc<Grants>>);

impl AllowedSpaces {
    /// Whether some spaces are not allowed.
    pub(crate) fn is_limited(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn opens(&self, kind: SpaceKind, name: &str) -> bool {
        self.0.as_ref().is_none_or(|grants| match kind {
            SpaceKind::Agent => grants.opens_agent(name),
            SpaceKind::Board => grants.opens_board(name),
            SpaceKind::Core => grants.opens_core(name),
            SpaceKind::Tokens => false,
            // Access to an agent's memory includes its conversations.
            SpaceKind::Conversation => {
                let conversation = SpaceId::of(kind, name).as_conversation();
                conversation.is_some_and(|(agent, _)| grants.opens_agent(agent.as_str()))
            }
        })
    }

    pub(crate) fn check(&self, actor: &Actor, kind: SpaceKind, name: &str) -> Result<()> {
        if self.opens(kind, name) {
            return Ok(());
        }
        let principal = actor.via.as_ref().unwrap_or(&actor.principal).clone();
        Err(Error::NotGranted { principal, kind: kind.as_str(), name: name.into() })
    }

    /// Checks that the caller is granted the memory cores that a command uses. Commands that draw from, promote to or
    /// roll back from a core need access to it, even if they do not name it. In that case the board's current state
    /// tells which cores these are.
    pub(crate) async fn check_command(
        &self,
        actor: &Actor,
        command: &BoardCommand,
        (boards, board): (&Arc<Engine<BoardState>>, &Arc<Slot<BoardState>>),
    ) -> Result<()> {
        if !self.is_limited() {
            return Ok(());
        }
        let cores = match command.finds_cores() {
            true => command.cores(&boards.current(board).await?.state),
            false => command.cores(&BoardState::default()),
        };
        cores.iter().try_for_each(|core| self.check(actor, SpaceKind::Core, core))
    }
}

impl Corkboard {
    /// Returns a Corkboard limited to these grants: its handles, and handles made from them, open nothing else.
    ///
    /// A handle that can open a board also sees what the board's memory cores know. To name other cores for a board,
    /// create its tasks from a pattern, promote its learnings or roll them back, the cores must be granted too. Lists
    /// and operations on the whole store are not limited.
    pub fn limited_to(&self, grants: impl Into<Arc<Grants>>) -> Self {
        self.with_allowed_spaces(AllowedSpaces(Some(grants.into())))
    }

    /// Whether this handle can open the space, and the tier includes it.
    pub fn opens(&self, kind: SpaceKind, name: &str) -> bool {
        let is_in_tier = check_space_tier(self.options(), &SpaceId::of(kind, name)).is_ok();
        is_in_tier && self.allowed_spaces().opens(kind, name)
    }
}
