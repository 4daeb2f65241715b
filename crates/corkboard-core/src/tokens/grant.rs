//! What a token grants: agents, boards and cores, by name or name prefix.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

/// A name (`alice`), a name prefix (`team-*`) or everything (`*`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Grant(Arc<str>);

impl Grant {
    pub fn new(text: &str) -> Self {
        Self(Arc::from(text))
    }

    pub fn everything() -> Self {
        Self::new("*")
    }

    pub fn opens(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => *self.0 == *name,
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the holder of a token may access. Everything else is denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Grants {
    /// Agents whose memories are granted.
    pub agents: Vec<Grant>,
    /// Granted boards.
    pub boards: Vec<Grant>,
    /// Granted memory cores.
    pub cores: Vec<Grant>,
}

impl Grants {
    pub fn everything() -> Self {
        let everything = || alloc::vec![Grant::everything()];
        Self { agents: everything(), boards: everything(), cores: everything() }
    }

    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    pub fn are_everything(&self) -> bool {
        let has_all = |grants: &[Grant]| grants.contains(&Grant::everything());
        has_all(&self.agents) && has_all(&self.boards) && has_all(&self.cores)
    }

    pub fn opens_agent(&self, name: &str) -> bool {
        self.agents.iter().any(|grant| grant.opens(name))
    }

    pub fn opens_board(&self, name: &str) -> bool {
        self.boards.iter().any(|grant| grant.opens(name))
    }

    /// Whether this core is granted. An agent's private core belongs to the grants for agents, not to those for cores.
    pub fn opens_core(&self, name: &str) -> bool {
        match name.strip_prefix(crate::CoreId::PRIVATE) {
            Some(agent) => self.opens_agent(agent),
            None => self.cores.iter().any(|grant| grant.opens(name)),
        }
    }

    pub fn all(&self) -> impl Iterator<Item = &Grant> {
        self.agents.iter().chain(&self.boards).chain(&self.cores)
    }

    pub(super) fn bytes(&self) -> usize {
        self.all().map(|grant| grant.0.len() + 8).sum()
    }
}
