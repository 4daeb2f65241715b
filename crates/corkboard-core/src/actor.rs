//! Who sends a command.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::text::enum_text;

/// The author of a command. A server takes it from the token, a local caller provides it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Actor {
    /// The name that entries and the log show as author.
    pub principal: String,
    /// Whether the actor is a person, an agent or a program.
    pub kind: ActorKind,
    /// What the actor may do.
    pub role: Role,
    /// The principal of the token that sent the command on the actor's behalf, if that is not the actor.
    #[serde(default)]
    pub via: Option<String>,
}

/// The kind of an [`Actor`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// An LLM agent.
    Agent,
    /// A person.
    Human,
    /// A program that is neither, such as a server acting for others.
    Service,
}

/// What an [`Actor`] may do. Everybody but an observer may write to an agent's memory through its handle. Boards and
/// memory cores have a table of permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Runs a board.
    Orchestrator,
    /// Works on tasks.
    Worker,
    /// Reviews work.
    Reviewer,
    /// Only reads.
    Observer,
    /// Guides the work with nudges and approvals.
    Human,
    /// May do everything.
    Admin,
}

enum_text!(ActorKind {
    Agent => "agent",
    Human => "human",
    Service => "service",
});

enum_text!(Role {
    Orchestrator => "orchestrator",
    Worker => "worker",
    Reviewer => "reviewer",
    Observer => "observer",
    Human => "human",
    Admin => "admin",
});

impl Role {
    pub const ALL: [Self; 6] =
        [Self::Orchestrator, Self::Worker, Self::Reviewer, Self::Observer, Self::Human, Self::Admin];

    /// The indefinite article of the role's name.
    pub fn article(self) -> &'static str {
        match self {
            Self::Orchestrator | Self::Observer | Self::Admin => "an",
            Self::Worker | Self::Reviewer | Self::Human => "a",
        }
    }
}

impl Actor {
    pub fn new(principal: impl Into<String>, kind: ActorKind, role: Role) -> Self {
        Self { principal: principal.into(), kind, role, via: None }
    }

    /// Adds the principal that sends commands on the actor's behalf.
    pub fn via(self, principal: impl Into<String>) -> Self {
        Self { via: Some(principal.into()), ..self }
    }

    /// A person at the local machine with every right: the default for programs that embed the library.
    pub fn local() -> Self {
        Self::new("local", ActorKind::Human, Role::Admin)
    }

    /// Refuses observers.
    pub fn check_writes(&self) -> Result<(), Refusal> {
        match self.role {
            Role::Observer => Err(Refusal::role_denied(self, "change anything", None, &[])),
            Role::Orchestrator | Role::Worker | Role::Reviewer | Role::Human | Role::Admin => Ok(()),
        }
    }

    /// The engine itself, when it expires due items.
    pub fn system() -> Self {
        Self::new("corkboard", ActorKind::Service, Role::Admin)
    }
}
