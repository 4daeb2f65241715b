//! Who asks. Handlers reach the library through this alone, so this is where it is decided what they may touch.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use corkboard::tokens::{Grants, Token};
use corkboard::{Actor, ActorKind, AgentMemory, Board, Core, Corkboard, Role, Tokens};

use crate::Server;
use crate::failure::Failure;

/// Whoever sent a request, as their token says.
#[derive(Clone)]
pub(crate) struct Caller {
    corkboard: Corkboard,
    actor: Actor,
    grants: Grants,
}

impl Caller {
    /// Whoever may do everything.
    pub(crate) fn admin(server: &Server) -> Self {
        let actor = Actor { principal: "admin".into(), kind: ActorKind::Human, role: Role::Admin };
        Self { corkboard: server.corkboard().clone(), actor, grants: Grants::everything() }
    }

    /// Whoever came with a token.
    pub(crate) fn with_token(server: &Server, token: &Token) -> Self {
        let Token { principal, kind, role, grants, .. } = token;
        let actor = Actor { principal: principal.to_string(), kind: *kind, role: *role };
        Self { corkboard: server.corkboard().clone(), actor, grants: grants.clone() }
    }

    /// In whose name things happen.
    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    fn may_do_everything(&self) -> bool {
        self.actor.role == Role::Admin
    }

    /// An agent's memory.
    pub(crate) fn agent(&self, agent: &str) -> Result<AgentMemory, Failure> {
        self.expect(self.grants.opens_agent(agent), "agent", agent)?;
        Ok(self.corkboard.agent(agent)?.acting_as(self.actor.clone()))
    }

    /// A board.
    pub(crate) fn board(&self, board: &str) -> Result<Board, Failure> {
        self.expect(self.grants.opens_board(board), "board", board)?;
        Ok(self.corkboard.board(board)?.acting_as(self.actor.clone()))
    }

    /// A memory core that is shared.
    pub(crate) fn core(&self, core: &str) -> Result<Core, Failure> {
        self.expect(self.grants.opens_core(core), "core", core)?;
        Ok(self.corkboard.core(core)?.acting_as(self.actor.clone()))
    }

    /// The tokens of the store.
    pub(crate) fn tokens(&self) -> Result<Tokens, Failure> {
        self.expect_admin("tokens")?;
        Ok(self.corkboard.tokens().acting_as(self.actor.clone()))
    }

    /// Whether the agent may be listed.
    pub(crate) fn sees_agent(&self, agent: &str) -> bool {
        self.may_do_everything() || self.grants.opens_agent(agent)
    }

    /// Whether the board may be listed.
    pub(crate) fn sees_board(&self, board: &str) -> bool {
        self.may_do_everything() || self.grants.opens_board(board)
    }

    /// Whether the core may be listed.
    pub(crate) fn sees_core(&self, core: &str) -> bool {
        self.may_do_everything() || self.grants.opens_core(core)
    }

    /// What is the whole store's, for lists: what is in them is filtered by what the caller sees.
    pub(crate) fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    fn expect(&self, is_granted: bool, what: &str, name: &str) -> Result<(), Failure> {
        if is_granted || self.may_do_everything() {
            return Ok(());
        }
        let who = &self.actor.principal;
        Err(Failure::denied("not_granted", format!("the token of {who} does not open the {what} {name:?}")))
    }

    fn expect_admin(&self, what: &str) -> Result<(), Failure> {
        if self.may_do_everything() {
            return Ok(());
        }
        let Actor { principal, role, .. } = &self.actor;
        Err(Failure::denied("role_denied", format!("{principal} is {role}: {what} are for admins")))
    }
}

impl FromRequestParts<Server> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _server: &Server) -> Result<Self, Failure> {
        // The guard put it there. A route that it does not guard has no caller.
        let unguarded = || Failure::unauthenticated("nobody is known to ask");
        parts.extensions.get::<Self>().cloned().ok_or_else(unguarded)
    }
}
