//! Expected permissions of routes, derived from the core's tables.

use corkboard::boards::BoardAction;
use corkboard::cores::CoreAction;
use corkboard::{Actor, AgentId, CoreId, Limits, Role};
use serde_json::Value;

use super::fixture::AGENT;

/// A call of an operation, with the permissions it needs.
#[derive(Clone)]
pub(crate) struct Expected {
    /// As in the description: `GET /v1/agents/{agent}/entries`.
    pub(crate) operation: &'static str,
    /// Values of path parameters that the fixture does not define, such as `{kind}`.
    pub(crate) named: Vec<(&'static str, &'static str)>,
    /// The query.
    pub(crate) query: String,
    /// The body; by default the description's example.
    pub(crate) sends: Sends,
    /// What the token must grant.
    pub(crate) reach: Reach,
    /// What the role must allow.
    pub(crate) asks: Vec<Asks>,
    /// Whether it also accesses the shared core, which must then be granted too.
    pub(crate) reaches_core: bool,
}

/// The body of a request.
#[derive(Clone)]
pub(crate) enum Sends {
    /// The example of the description.
    Example,
    /// No body.
    Nothing,
    /// The given JSON.
    Json(Value),
}

/// What a token must grant for a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// No token is needed.
    Public,
    AnyToken,
    /// Any token; the list contains what it grants.
    Listed,
    /// The named space.
    Named,
    /// A grant of all agents, boards and cores.
    Everything,
    /// Only admins, regardless of grants.
    Admins,
}

/// What a role must allow for a route.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asks {
    /// Write to an agent's memory.
    ToWrite,
    /// An action on a board.
    OnBoard(BoardAction),
    /// An action in a shared core.
    InCore(CoreAction),
    /// An action in an agent's private core.
    InOwnCore(CoreAction),
}

impl Asks {
    fn allows(self, actor: &Actor) -> bool {
        match self {
            Self::ToWrite => actor.check_writes().is_ok(),
            Self::OnBoard(action) => action.is_allowed_to(actor.role),
            Self::InCore(action) => action.is_allowed_to(actor, None),
            Self::InOwnCore(action) => {
                let owner = AgentId::new(AGENT, &Limits::default()).expect("an agent");
                action.is_allowed_to(actor, Some(&CoreId::of_agent(&owner)))
            }
        }
    }
}

impl Expected {
    fn new(operation: &'static str, reach: Reach) -> Self {
        let (named, query, sends, asks) = (Vec::new(), String::new(), Sends::Example, Vec::new());
        Self { operation, named, query, sends, reach, asks, reaches_core: false }
    }

    /// Its method and its path.
    pub(crate) fn route(&self) -> (&'static str, &'static str) {
        self.operation.split_once(' ').expect("a method and a path")
    }

    /// Whether the actor may do it, if the token grants what is needed.
    pub(crate) fn allows(&self, actor: &Actor) -> bool {
        let is_let_in = self.reach != Reach::Admins || actor.role == Role::Admin;
        is_let_in && self.asks.iter().all(|asks| asks.allows(actor))
    }

    /// Whether it is decided on a board. The board's state can then refuse it too, but permissions are checked first.
    pub(crate) fn is_on_board(&self) -> bool {
        self.asks.iter().any(|asks| matches!(asks, Asks::OnBoard(_)))
    }

    /// Whether the agent itself has special permissions.
    pub(crate) fn is_in_own_core(&self) -> bool {
        self.asks.iter().any(|asks| matches!(asks, Asks::InOwnCore(_)))
    }

    pub(crate) fn asking(mut self, asks: Asks) -> Self {
        self.asks.push(asks);
        self
    }

    pub(crate) fn reaching_core(self) -> Self {
        Self { reaches_core: true, ..self }
    }

    pub(crate) fn naming(mut self, name: &'static str, value: &'static str) -> Self {
        self.named.push((name, value));
        self
    }

    pub(crate) fn query(self, query: &'static str) -> Self {
        Self { query: query.into(), ..self }
    }

    pub(crate) fn sending(self, body: Value) -> Self {
        Self { sends: Sends::Json(body), ..self }
    }

    pub(crate) fn sending_nothing(self) -> Self {
        Self { sends: Sends::Nothing, ..self }
    }
}

/// Needs no token.
pub(crate) fn public(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::Public)
}

/// Needs any token.
pub(crate) fn any_token(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::AnyToken)
}

/// Lists what the token grants.
pub(crate) fn lists(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::Listed)
}

/// Needs an admin.
pub(crate) fn admins(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::Admins)
}

/// Reads a granted space.
pub(crate) fn reads(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::Named)
}

/// Writes to the memory of a granted agent.
pub(crate) fn writes(operation: &'static str) -> Expected {
    reads(operation).asking(Asks::ToWrite)
}

/// An action on a granted board.
pub(crate) fn on_board(operation: &'static str, action: BoardAction) -> Expected {
    reads(operation).asking(Asks::OnBoard(action))
}

/// An action that needs everything granted.
pub(crate) fn everywhere(operation: &'static str, action: BoardAction) -> Expected {
    Expected { reach: Reach::Everything, ..on_board(operation, action) }
}
