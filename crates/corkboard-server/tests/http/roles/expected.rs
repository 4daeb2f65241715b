//! What a route asks of whoever calls it, and how that follows from the core's tables.

use corkboard::boards::BoardAction;
use corkboard::cores::CoreAction;
use corkboard::{Actor, AgentId, Limits, Role};
use serde_json::Value;

use super::fixture::AGENT;

/// One way to call an operation, and who may.
#[derive(Clone)]
pub(crate) struct Expected {
    /// As the description has it: `GET /v1/agents/{agent}/entries`.
    pub(crate) operation: &'static str,
    /// What the path names and the fixture does not: `{kind}` and the like, with what stands there.
    pub(crate) named: Vec<(&'static str, &'static str)>,
    /// What follows the path.
    pub(crate) query: String,
    /// What is sent; none: the example of the description.
    pub(crate) sends: Sends,
    /// What the token must open.
    pub(crate) reach: Reach,
    /// What the role must allow, all of it.
    pub(crate) asks: Vec<Asks>,
    /// Whether it reaches from a board into the shared core: that must be granted, too.
    pub(crate) reaches_core: bool,
}

/// What is sent.
#[derive(Clone)]
pub(crate) enum Sends {
    /// What the description shows.
    Example,
    /// No body.
    Nothing,
    /// This.
    Json(Value),
}

/// What a token must open for a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The route needs no token.
    Public,
    /// Any token will do.
    AnyToken,
    /// Any token will do, and is shown what it opens.
    Listed,
    /// What the request names.
    Named,
    /// Everything there is.
    Everything,
    /// Only admins are let in, whatever is granted.
    Admins,
}

/// What a route asks of a role.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Asks {
    /// To write in an agent's memory.
    ToWrite,
    /// To do something on a board.
    OnBoard(BoardAction),
    /// To do something in a core that is shared.
    InCore(CoreAction),
    /// To do something in an agent's own core.
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
                action.is_allowed_to(actor, Some(&owner))
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

    /// Whether somebody whose token opens what is needed may.
    pub(crate) fn allows(&self, actor: &Actor) -> bool {
        let is_let_in = self.reach != Reach::Admins || actor.role == Role::Admin;
        is_let_in && self.asks.iter().all(|asks| asks.allows(actor))
    }

    /// Whether it is decided on a board. Then its state may be against it, too: who may do it is said first.
    pub(crate) fn is_on_board(&self) -> bool {
        self.asks.iter().any(|asks| matches!(asks, Asks::OnBoard(_)))
    }

    /// Whether it makes a difference to be the agent itself.
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

/// Open to everybody.
pub(crate) fn public(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::Public)
}

/// Open to every token.
pub(crate) fn any_token(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::AnyToken)
}

/// Shows to every token what it opens.
pub(crate) fn lists(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::Listed)
}

/// Open to admins.
pub(crate) fn admins(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::Admins)
}

/// Reads what the token opens.
pub(crate) fn reads(operation: &'static str) -> Expected {
    Expected::new(operation, Reach::Named)
}

/// Writes in the memory of an agent that the token opens.
pub(crate) fn writes(operation: &'static str) -> Expected {
    reads(operation).asking(Asks::ToWrite)
}

/// Does something on a board that the token opens.
pub(crate) fn on_board(operation: &'static str, action: BoardAction) -> Expected {
    reads(operation).asking(Asks::OnBoard(action))
}

/// Reaches into all that there is.
pub(crate) fn everywhere(operation: &'static str, action: BoardAction) -> Expected {
    Expected { reach: Reach::Everything, ..on_board(operation, action) }
}
