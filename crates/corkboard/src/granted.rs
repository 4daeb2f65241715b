//! What a handle opens: everything, or what somebody was granted. Whoever serves others hands them handles that open no more.

use std::sync::Arc;

use corkboard_core::board::BoardCommand;
use corkboard_core::tokens::Grants;
use corkboard_core::{Actor, SpaceKind};

use crate::{Corkboard, Error, Result};

/// What a handle opens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Granted(Option<Arc<Grants>>);

impl Granted {
    pub(crate) fn opens(&self, kind: SpaceKind, name: &str) -> bool {
        self.0.as_ref().is_none_or(|grants| match kind {
            SpaceKind::Agent => grants.opens_agent(name),
            SpaceKind::Board => grants.opens_board(name),
            SpaceKind::Core => grants.opens_core(name),
            SpaceKind::Tokens => false,
        })
    }

    pub(crate) fn check(&self, actor: &Actor, kind: SpaceKind, name: &str) -> Result<()> {
        if self.opens(kind, name) {
            return Ok(());
        }
        let principal = actor.via.as_ref().unwrap_or(&actor.principal).clone();
        Err(Error::NotGranted { principal, kind: kind.as_str(), name: name.into() })
    }

    /// A board shows what its cores say, and what it taught goes into one: who names them must be granted them.
    pub(crate) fn check_cores_of(&self, actor: &Actor, command: &BoardCommand) -> Result<()> {
        match &self.0 {
            None => Ok(()),
            Some(_) => command.cores().into_iter().try_for_each(|core| self.check(actor, SpaceKind::Core, core)),
        }
    }
}

impl Corkboard {
    /// The same Corkboard for somebody who was granted this and no more: its handles, and theirs, open nothing else. A board
    /// that is opened shows what its memory cores say, as to everybody; who names other cores must be granted them. Lists,
    /// and what is done to the whole store, are not limited.
    pub fn limited_to(&self, grants: Grants) -> Self {
        self.with_granted(Granted(Some(Arc::new(grants))))
    }

    /// Whether this handle opens the space of that name.
    pub fn opens(&self, kind: SpaceKind, name: &str) -> bool {
        self.granted().opens(kind, name)
    }
}
