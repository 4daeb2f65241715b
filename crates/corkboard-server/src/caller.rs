//! Who asks. Handlers reach the library through this alone, so this is where it is decided what they may touch.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use corkboard::tokens::{Grant, Grants, Token};
use corkboard::{
    Actor, ActorKind, AgentId, AgentMemory, Board, Core, Corkboard, Identity, Role, SpaceKind, SpaceLog, Tokens,
};

use crate::Server;
use crate::failure::Failure;

/// Whoever sent a request, as their token says.
#[derive(Clone)]
pub(crate) struct Caller {
    /// Acts in the caller's name, or in the name of whom the caller acts for.
    corkboard: Corkboard,
    grants: Grants,
}

/// What the id of a board to be made is.
pub(crate) enum NewBoardId {
    /// This one.
    Asked(String),
    /// One that begins so.
    Beginning(String),
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
            // An admin's token opens everything, whatever it names.
            let grants = if own.role == Role::Admin { Grants::everything() } else { self.grants };
            return Ok(Self { corkboard: self.corkboard.acting_as(other), grants });
        }
        let Actor { principal, role, .. } = own;
        let detail = format!(
            "{principal} is {role} and cannot act for {}: admins can, and services in their role",
            other.principal
        );
        Err(Failure::denied("not_granted", detail))
    }

    /// The same in the name of an agent that works, if one is named: themselves, or another whom they may act for.
    pub(crate) fn for_agent(self, agent: Option<&str>) -> Result<Self, Failure> {
        let own = self.actor();
        let Some(agent) = agent.filter(|agent| *agent != own.principal) else { return Ok(self) };
        AgentId::check(agent, &self.corkboard.options().limits)?;
        // An admin lends no more than the work needs.
        let role = if own.role == Role::Admin { Role::Worker } else { own.role };
        self.acting_for(Actor { principal: agent.into(), kind: ActorKind::Agent, role })
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

    /// The id of a board to be made: as it is asked for, or how it begins. The token must open it, and so must every id that
    /// the beginning leads to: without one asked for, it is the first beginning that the token opens (`team-*`).
    pub(crate) fn new_board_id(&self, asked: Option<String>) -> Result<NewBoardId, Failure> {
        if let Some(id) = asked {
            self.expect(SpaceKind::Board, &id)?;
            return Ok(NewBoardId::Asked(id));
        }
        if self.sees(SpaceKind::Board, "") {
            return Ok(NewBoardId::Beginning(String::new()));
        }
        let mut beginnings = self.grants.boards.iter().filter_map(|grant| grant.as_str().strip_suffix('*'));
        if let Some(beginning) = beginnings.next() {
            return Ok(NewBoardId::Beginning(beginning.into()));
        }
        let named: Vec<&str> = self.grants.boards.iter().map(Grant::as_str).collect();
        let who = &self.actor().principal;
        let detail = match named.as_slice() {
            [] => format!("the token of {who} opens no board"),
            named => format!("name the id of the new board: the token of {who} opens {}", named.join(", ")),
        };
        Err(Failure::denied("not_granted", detail))
    }

    /// Memory cores that a board is to draw on, or that something of it goes into: whoever names one must have it opened, as
    /// all who read the board are shown what it knows.
    pub(crate) fn expect_cores<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
        names.into_iter().try_for_each(|name| self.expect(SpaceKind::Core, name))
    }

    /// The whole store, for what reaches into all of it in the role that the caller has.
    pub(crate) fn everything(&self) -> Result<&Corkboard, Failure> {
        if self.actor().role == Role::Admin || self.grants.are_everything() {
            return Ok(&self.corkboard);
        }
        let who = &self.actor().principal;
        let detail =
            format!("this reaches into every agent, board and core, and the token of {who} does not open them");
        Err(Failure::denied("not_granted", detail))
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
