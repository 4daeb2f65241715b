//! Who asks. Handlers reach the library through this alone, so this is where it is decided what they may touch.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use corkboard::tokens::{Grants, Token};
use corkboard::{Actor, ActorKind, AgentMemory, Board, Core, Corkboard, Identity, Role, SpaceKind, SpaceLog, Tokens};

use crate::Server;
use crate::failure::Failure;

/// Whoever sent a request, as their token says.
#[derive(Clone)]
pub(crate) struct Caller {
    /// Acts in the caller's name, or in the name of whom the caller acts for.
    corkboard: Corkboard,
    grants: Grants,
}

impl Caller {
    /// Whoever may do everything.
    pub(crate) fn admin(server: &Server) -> Self {
        let actor = Actor { principal: "admin".into(), kind: ActorKind::Human, role: Role::Admin };
        Self { corkboard: server.corkboard().acting_as(actor), grants: Grants::everything() }
    }

    /// Whoever came with a token.
    pub(crate) fn with_token(server: &Server, token: &Token) -> Self {
        let Token { principal, kind, role, grants, .. } = token;
        let actor = Actor { principal: principal.to_string(), kind: *kind, role: *role };
        Self { corkboard: server.corkboard().acting_as(actor), grants: grants.clone() }
    }

    /// The same, in another's name. Admins may, and programs that serve others, as far as their own role goes.
    pub(crate) fn acting_for(self, other: Actor) -> Result<Self, Failure> {
        let own = self.actor();
        if other == *own {
            return Ok(self);
        }
        let is_own_role = other.role == own.role || other.role == Role::Observer;
        if own.role == Role::Admin || own.kind == ActorKind::Service && is_own_role {
            // To an admin everything is open, whatever the token says; and so it is to whom an admin acts for.
            let grants = if own.role == Role::Admin { Grants::everything() } else { self.grants.clone() };
            return Ok(Self { corkboard: self.corkboard.acting_as(other), grants });
        }
        let Actor { principal, role, .. } = own;
        let detail = format!(
            "{principal} is {role} and cannot act for {}: admins can, and services in their role",
            other.principal
        );
        Err(Failure::denied("not_granted", detail))
    }

    /// In whose name things happen.
    pub(crate) fn actor(&self) -> &Actor {
        self.corkboard.actor()
    }

    /// Whom they are taken for, and what they may touch.
    pub(crate) fn identity(&self) -> Identity {
        let Actor { principal, kind, role } = self.actor().clone();
        Identity { principal, kind, role, grants: self.grants.clone() }
    }

    /// An agent's memory.
    pub(crate) fn agent(&self, agent: &str) -> Result<AgentMemory, Failure> {
        self.expect(SpaceKind::Agent, agent)?;
        Ok(self.corkboard.agent(agent)?)
    }

    /// A board.
    pub(crate) fn board(&self, board: &str) -> Result<Board, Failure> {
        self.expect(SpaceKind::Board, board)?;
        Ok(self.corkboard.board(board)?)
    }

    /// A memory core that is shared.
    pub(crate) fn core(&self, core: &str) -> Result<Core, Failure> {
        self.expect(SpaceKind::Core, core)?;
        Ok(self.corkboard.core(core)?)
    }

    /// The tokens of the store.
    pub(crate) fn tokens(&self) -> Result<Tokens, Failure> {
        self.expect_admin("tokens are")?;
        Ok(self.corkboard.tokens())
    }

    /// A whole space.
    pub(crate) fn log(&self, kind: SpaceKind, name: &str) -> Result<SpaceLog, Failure> {
        self.expect(kind, name)?;
        Ok(self.corkboard.log(kind, name)?)
    }

    /// The whole store, for what only admins may do.
    pub(crate) fn store(&self) -> Result<&Corkboard, Failure> {
        self.expect_admin("the store as a whole is")?;
        Ok(&self.corkboard)
    }

    /// What is the whole store's, for lists: what is in them is filtered by [`Caller::sees`].
    pub(crate) fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    /// Whether a space may be touched, and listed.
    pub(crate) fn sees(&self, kind: SpaceKind, name: &str) -> bool {
        let is_granted = match kind {
            SpaceKind::Agent => self.grants.opens_agent(name),
            SpaceKind::Board => self.grants.opens_board(name),
            SpaceKind::Core => self.grants.opens_core(name),
            SpaceKind::Tokens => false,
        };
        is_granted || self.actor().role == Role::Admin
    }

    fn expect(&self, kind: SpaceKind, name: &str) -> Result<(), Failure> {
        if self.sees(kind, name) {
            return Ok(());
        }
        let (who, what) = (&self.actor().principal, kind.as_str());
        Err(Failure::denied("not_granted", format!("the token of {who} does not open the {what} {name:?}")))
    }

    fn expect_admin(&self, what: &str) -> Result<(), Failure> {
        let Actor { principal, role, .. } = self.actor();
        if *role == Role::Admin {
            return Ok(());
        }
        Err(Failure::denied("role_denied", format!("{principal} is {role}: {what} for admins")))
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
