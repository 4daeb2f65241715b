//! What a handle opens: everything, or what somebody was granted. Whoever serves others hands them handles that open no more.

use std::sync::Arc;

use corkboard_core::board::{BoardCommand, BoardState};
use corkboard_core::tokens::Grants;
use corkboard_core::{Actor, SpaceId, SpaceKind};

use crate::corkboard::check_space_tier;
use crate::engine::{Engine, Slot};
use crate::{Corkboard, Error, Result};

/// What a handle opens.
#[derive(Debug, Clone, Default)]
pub(crate) struct AllowedSpaces(Option<Arc<Grants>>);

impl AllowedSpaces {
    /// Whether there is anything that is not open.
    pub(crate) fn is_limited(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn opens(&self, kind: SpaceKind, name: &str) -> bool {
        self.0.as_ref().is_none_or(|grants| match kind {
            SpaceKind::Agent => grants.opens_agent(name),
            SpaceKind::Board => grants.opens_board(name),
            SpaceKind::Core => grants.opens_core(name),
            SpaceKind::Tokens => false,
            // Who opens an agent's memory opens the conversations with it.
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

    /// A board shows what its cores say, and what it taught goes into one and comes out of it: who has that done must be
    /// granted them, named or not. Where they are not named, the board says which they are as it is now.
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
    /// The same Corkboard for somebody who was granted this and no more: its handles, and theirs, open nothing else. A board
    /// that is opened shows what its memory cores say, as to everybody; who names other cores for it, makes its tasks from a
    /// pattern, promotes what it taught or rolls that back must be granted the cores. Lists, and what is done to the whole
    /// store, are not limited.
    pub fn limited_to(&self, grants: impl Into<Arc<Grants>>) -> Self {
        self.with_allowed_spaces(AllowedSpaces(Some(grants.into())))
    }

    /// Whether this handle opens the space of that name, and the tier has it.
    pub fn opens(&self, kind: SpaceKind, name: &str) -> bool {
        let is_in_tier = check_space_tier(self.options(), &SpaceId::of(kind, name)).is_ok();
        is_in_tier && self.allowed_spaces().opens(kind, name)
    }
}
