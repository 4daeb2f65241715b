//! Who sends a command.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::text::enum_text;

/// The one in whose name a command is sent. The server supplies it from a token, a local caller from its own word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Actor {
    /// The name that entries and the log carry as author.
    pub principal: String,
    /// Whether a person, an agent or a program speaks.
    pub kind: ActorKind,
    /// What the actor may do.
    pub role: Role,
    /// Who sent it in the actor's name, where that is not the actor: the principal of the token it came with.
    #[serde(default)]
    pub via: Option<String>,
}

/// What kind of being an [`Actor`] is.
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

/// What an [`Actor`] may do. Agent memory asks only that the caller holds the handle; boards and memory
/// cores look closer.
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
    /// Reads.
    Observer,
    /// Steers: nudges, approvals.
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

    /// What stands before it in a sentence.
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

    /// Adds the principal that sends commands in the actor's name.
    pub fn via(self, principal: impl Into<String>) -> Self {
        Self { via: Some(principal.into()), ..self }
    }

    /// A person at the local machine with every right: the default for programs that embed the library.
    pub fn local() -> Self {
        Self::new("local", ActorKind::Human, Role::Admin)
    }

    /// Refuses whoever only reads.
    pub fn check_writes(&self) -> Result<(), Refusal> {
        match self.role {
            Role::Observer => Err(Refusal::role_denied(self, "change anything", None, &[])),
            Role::Orchestrator | Role::Worker | Role::Reviewer | Role::Human | Role::Admin => Ok(()),
        }
    }

    /// The engine itself, when it expires what is due.
    pub fn system() -> Self {
        Self::new("corkboard", ActorKind::Service, Role::Admin)
    }
}
