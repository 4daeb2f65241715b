//! Who asks. Handlers reach the library through this alone, so this is where it is decided what they may touch.

use std::sync::{Arc, LazyLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use corkboard::cores::Trust;
use corkboard::tokens::{Grant, Grants, Token, TokenId};
use corkboard::{
    Actor, ActorKind, AgentId, AgentMemory, Board, Core, CoreId, Corkboard, Identity, Role, SpaceId, SpaceKind,
    SpaceLog, Tokens,
};

use crate::Server;
use crate::error::HttpError;

/// Whoever sent a request, as their token says.
#[derive(Clone)]
pub(crate) struct Caller {
    /// Acts in the caller's name, or in the name of whom the caller acts for, and opens what is granted.
    corkboard: Corkboard,
    grants: Arc<Grants>,
    /// The token that they came with, if it is one of the store's.
    token: Option<TokenId>,
}

pub(crate) enum NewBoardId {
    Asked(String),
    Beginning(String),
}

/// Whoever comes without a token of the store's, and may do everything.
pub(crate) fn admin() -> Actor {
    Actor::new("admin", ActorKind::Human, Role::Admin)
}

fn everything() -> Arc<Grants> {
    static EVERYTHING: LazyLock<Arc<Grants>> = LazyLock::new(|| Arc::new(Grants::everything()));
    EVERYTHING.clone()
}

impl Caller {
    pub(crate) fn admin(server: &Server) -> Self {
        Self { corkboard: server.corkboard().acting_as(admin()), grants: everything(), token: None }
    }

    pub(crate) fn with_token(server: &Server, token: &Token) -> Self {
        let Token { id, principal, kind, role, grants, .. } = token;
        let actor = Actor::new(principal.to_string(), *kind, *role);
        let corkboard = server.corkboard().acting_as(actor).with_token(token);
        match role {
            // What is not granted is denied, but to admins.
            Role::Admin => Self { corkboard, grants: everything(), token: Some(*id) },
            _ => {
                let grants = Arc::new(grants.clone());
                Self { corkboard: corkboard.limited_to(grants.clone()), grants, token: Some(*id) }
            }
        }
    }

    /// The same, in another's name; the log keeps both. Admins may, and programs that serve others: for those that their
    /// token opens, and in their own role. Nobody is made a person by that who is none: a person's word is trusted further.
    pub(crate) fn acting_for(self, other: Actor) -> Result<Self, HttpError> {
        let own = self.actor();
        let other = Actor::new(other.principal, other.kind, other.role);
        if other == *own {
            return Ok(self);
        }
        let refused = |why: &str| {
            let Actor { principal, kind, role, .. } = own;
            let who = format!("{principal} ({}, {role}) cannot act for {}", kind.as_str(), other.principal);
            HttpError::denied("not_granted", format!("{who}: {why}"))
        };
        let is_admin = own.role == Role::Admin;
        if !is_admin && other.principal == own.principal && other.role != own.role {
            let (has, asked) = (own.role, other.role);
            let detail = format!(
                "{}'s token is for {} {has}: it cannot be used in the role of {} {asked}",
                own.principal,
                has.article(),
                asked.article()
            );
            return Err(HttpError::denied("not_granted", detail));
        }
        if !is_admin && own.kind != ActorKind::Service {
            return Err(refused("admins can, and services"));
        }
        if !is_admin && other.role != own.role && other.role != Role::Observer {
            return Err(refused(&format!("as {} it would have another role", other.role)));
        }
        if Trust::most_of(other.kind) > Trust::most_of(own.kind) {
            return Err(refused("only a person's token acts for people"));
        }
        if !is_admin && !self.grants.opens_agent(&other.principal) {
            return Err(refused("its token does not open that agent"));
        }
        let actor = other.via(&own.principal);
        Ok(Self { corkboard: self.corkboard.acting_as(actor), ..self })
    }

    /// The same for an agent that a request names: in its name where the caller may act for it, otherwise in the caller's
    /// own. Whoever acts for another already goes on doing so.
    pub(crate) fn for_agent(self, agent: &str) -> Result<Self, HttpError> {
        let own = self.actor();
        let serves_others = own.role == Role::Admin || own.kind == ActorKind::Service;
        if own.via.is_some() || own.principal == agent || !serves_others {
            return Ok(self);
        }
        let named = Actor::new(agent, ActorKind::Agent, own.role);
        self.acting_for(named)
    }

    /// The same in the name of an agent that works, if one is named: themselves, or another whom they may act for.
    pub(crate) fn for_worker(self, agent: Option<&str>) -> Result<Self, HttpError> {
        let own = self.actor();
        let Some(agent) = agent.filter(|agent| *agent != own.principal) else { return Ok(self) };
        AgentId::check(agent, &self.corkboard.options().limits)?;
        // An admin lends no more than the work needs.
        let role = if own.role == Role::Admin { Role::Worker } else { own.role };
        self.acting_for(Actor::new(agent, ActorKind::Agent, role))
    }

    pub(crate) fn actor(&self) -> &Actor {
        self.corkboard.actor()
    }

    /// The token that they came with, if it is one of the store's.
    pub(crate) fn token(&self) -> Option<TokenId> {
        self.token
    }

    /// Refuses if the token that they came with has been revoked or has expired since.
    pub(crate) async fn check_token(&self) -> Result<(), HttpError> {
        Ok(self.corkboard.check_token().await?)
    }

    /// Whom they are taken for, and what they may touch.
    pub(crate) fn identity(&self) -> Identity {
        let Actor { principal, kind, role, .. } = self.actor().clone();
        Identity { principal, kind, role, grants: Grants::clone(&self.grants), tier: self.corkboard.options().tier }
    }

    pub(crate) fn agent(&self, agent: &str) -> Result<AgentMemory, HttpError> {
        Ok(self.corkboard.agent(agent)?)
    }

    pub(crate) fn board(&self, board: &str) -> Result<Board, HttpError> {
        Ok(self.corkboard.board(board)?)
    }

    /// The id of a board to be made: as it is asked for, or how it begins, so that the token opens it: without one asked for, it
    /// is the first beginning that the token opens (`team-*`).
    pub(crate) fn new_board_id(&self, asked: Option<String>) -> Result<NewBoardId, HttpError> {
        if let Some(id) = asked {
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
        Err(HttpError::denied("not_granted", detail))
    }

    /// The whole store, for what reaches into all of it in the role that the caller has.
    pub(crate) fn everything(&self) -> Result<&Corkboard, HttpError> {
        if self.actor().role == Role::Admin || self.grants.are_everything() {
            return Ok(&self.corkboard);
        }
        let who = &self.actor().principal;
        let detail =
            format!("this reaches into every agent, board and core, and the token of {who} does not open them");
        Err(HttpError::denied("not_granted", detail))
    }

    /// A memory core that is shared, or an agent's own: `agent:` and its name.
    pub(crate) fn core(&self, core: &str) -> Result<Core, HttpError> {
        match core.strip_prefix(CoreId::PRIVATE) {
            Some(agent) => Ok(Core::clone(&*self.agent(agent)?.long_term()?)),
            None => Ok(self.corkboard.core(core)?),
        }
    }

    pub(crate) fn tokens(&self) -> Result<Tokens, HttpError> {
        self.expect_admin("tokens are")?;
        Ok(self.corkboard.tokens())
    }

    pub(crate) fn log(&self, kind: SpaceKind, name: &str) -> Result<SpaceLog, HttpError> {
        if kind == SpaceKind::Tokens {
            self.expect_admin("tokens are")?;
        }
        self.open_log(kind, name)
    }

    /// A whole space, to have a command decided there. Who may change the tokens is the core's to say, as for all else; but to
    /// whom they are not open, that is said.
    pub(crate) fn log_for_commands(&self, kind: SpaceKind, name: &str) -> Result<SpaceLog, HttpError> {
        self.open_log(kind, name).or_else(|_| self.log(kind, name))
    }

    fn open_log(&self, kind: SpaceKind, name: &str) -> Result<SpaceLog, HttpError> {
        // To the library the tokens are always the same ones, however they are called.
        let tokens = SpaceId::tokens();
        if kind == SpaceKind::Tokens && name != tokens.name() {
            return Err(HttpError::not_found(format!("there is no space tokens/{name}: there is {tokens} alone")));
        }
        Ok(self.corkboard.log(kind, name)?)
    }

    /// The whole store, for what only admins may do.
    pub(crate) fn store(&self) -> Result<&Corkboard, HttpError> {
        self.expect_admin("the store as a whole is")?;
        Ok(&self.corkboard)
    }

    /// What is the whole store's, for lists: what is in them is filtered by [`Caller::sees`].
    pub(crate) fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    /// Whether a space may be touched, and listed.
    pub(crate) fn sees(&self, kind: SpaceKind, name: &str) -> bool {
        match kind {
            SpaceKind::Tokens => self.actor().role == Role::Admin,
            SpaceKind::Agent | SpaceKind::Board | SpaceKind::Core | SpaceKind::Conversation => {
                self.corkboard.opens(kind, name)
            }
        }
    }

    fn expect_admin(&self, what: &str) -> Result<(), HttpError> {
        let Actor { principal, role, .. } = self.actor();
        if *role == Role::Admin {
            return Ok(());
        }
        Err(HttpError::denied("role_denied", format!("{principal} is {} {role}: {what} for admins", role.article())))
    }
}

impl FromRequestParts<Server> for Caller {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _server: &Server) -> Result<Self, HttpError> {
        // The guard put it there. A route that it does not guard has no caller.
        let unguarded = || HttpError::unauthenticated("nobody is known to ask");
        parts.extensions.get::<Self>().cloned().ok_or_else(unguarded)
    }
}
