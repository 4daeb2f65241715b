//! The caller of a request. Handlers use the library only through it, so this decides what they may touch.

use std::sync::{Arc, LazyLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use corkboard::boards::BoardAction;
use corkboard::cores::Trust;
use corkboard::tokens::{Grant, Grants, Token, TokenId};
use corkboard::tools::ToolContext;
use corkboard::{
    Actor, ActorKind, AgentId, AgentMemory, Board, Core, CoreId, Corkboard, Identity, Role, SpaceId, SpaceKind,
    SpaceLog, Tokens,
};

use crate::Server;
use crate::error::HttpError;

/// The caller, as identified by the token.
#[derive(Clone)]
pub(crate) struct Caller {
    /// Acts as the caller, or as the actor for whom the caller acts, and opens only granted spaces.
    corkboard: Corkboard,
    grants: Arc<Grants>,
    /// The caller's token, if it is in the store.
    token: Option<TokenId>,
}

pub(crate) enum NewBoardId {
    Asked(String),
    Beginning(String),
}

/// The actor of callers that use the admin token, a sign-in link of the server, or open access.
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
            // Admins are not limited to their grants.
            Role::Admin => Self { corkboard, grants: everything(), token: Some(*id) },
            _ => {
                let grants = Arc::new(grants.clone());
                Self { corkboard: corkboard.limited_to(grants.clone()), grants, token: Some(*id) }
            }
        }
    }

    /// Acts for another actor; the log records both. Admins may do this. Services may do it for agents that their token
    /// grants, with their own role or as observer. Only a person's token can act for a person, because people's
    /// statements are trusted more.
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
                "{}'s token is for {} {has}; it cannot be used as {} {asked}",
                own.principal,
                has.article(),
                asked.article()
            );
            return Err(HttpError::denied("not_granted", detail));
        }
        if !is_admin && own.kind != ActorKind::Service {
            return Err(refused("only admins and services can act for others"));
        }
        if !is_admin && other.role != own.role && other.role != Role::Observer {
            return Err(refused(&format!("role {} differs from the token's role", other.role)));
        }
        if Trust::most_of(other.kind) > Trust::most_of(own.kind) {
            return Err(refused("only a person's token can act for a person"));
        }
        if !is_admin && !self.grants.opens_agent(&other.principal) {
            return Err(refused("its token has no access to that agent"));
        }
        let actor = other.via(&own.principal);
        Ok(Self { corkboard: self.corkboard.acting_as(actor), ..self })
    }

    /// Acts for the agent that a request names, if the caller is an admin or a service. Otherwise, or if the caller
    /// already acts for another, nothing changes.
    pub(crate) fn for_agent(self, agent: &str) -> Result<Self, HttpError> {
        let own = self.actor();
        let serves_others = own.role == Role::Admin || own.kind == ActorKind::Service;
        if own.via.is_some() || own.principal == agent || !serves_others {
            return Ok(self);
        }
        let named = Actor::new(agent, ActorKind::Agent, own.role);
        self.acting_for(named)
    }

    /// The store and the context of tool calls. The agent defaults to the caller; admins and services act as the agent
    /// that the context names.
    pub(crate) fn for_tools(self, mut context: ToolContext) -> Result<(Corkboard, ToolContext), HttpError> {
        if context.agent.is_empty() {
            context.agent = self.actor().principal.clone();
        }
        let caller = self.for_agent(&context.agent)?;
        // Checks access even if the tool does not use the agent or the board.
        caller.agent(&context.agent)?;
        if let Some(board) = context.board.as_deref().filter(|board| !board.is_empty()) {
            caller.board(board)?;
        }
        context.actor = Some(caller.actor().clone());
        Ok((caller.corkboard, context))
    }

    /// Acts for the named worker: the caller itself, or an agent for which it may act.
    pub(crate) fn for_worker(self, agent: Option<&str>) -> Result<Self, HttpError> {
        let own = self.actor();
        let Some(agent) = agent.filter(|agent| *agent != own.principal) else { return Ok(self) };
        AgentId::check(agent, &self.corkboard.options().limits)?;
        // An admin acts with no more rights than a worker needs.
        let role = if own.role == Role::Admin { Role::Worker } else { own.role };
        self.acting_for(Actor::new(agent, ActorKind::Agent, role))
    }

    pub(crate) fn actor(&self) -> &Actor {
        self.corkboard.actor()
    }

    /// The caller's token, if it is in the store.
    pub(crate) fn token(&self) -> Option<TokenId> {
        self.token
    }

    /// Refuses if the caller's token was revoked or expired since.
    pub(crate) async fn check_token(&self) -> Result<(), HttpError> {
        Ok(self.corkboard.check_token().await?)
    }

    /// The caller's identity and permissions.
    pub(crate) fn identity(&self) -> Identity {
        let Actor { principal, kind, role, .. } = self.actor().clone();
        let embedder = self.corkboard.embedding_model().map(str::to_owned);
        let (grants, tier) = (Grants::clone(&self.grants), self.corkboard.options().tier);
        Identity { principal, kind, role, grants, tier, embedder }
    }

    pub(crate) fn agent(&self, agent: &str) -> Result<AgentMemory, HttpError> {
        Ok(self.corkboard.agent(agent)?)
    }

    pub(crate) fn board(&self, board: &str) -> Result<Board, HttpError> {
        Ok(self.corkboard.board(board)?)
    }

    /// The ID of a new board, or its prefix so that the token grants it. Without a requested ID, the prefix is that of
    /// the token's first grant with a wildcard (`team-*`).
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
            _ if !BoardAction::Create.is_allowed_to(self.actor().role) => {
                format!("the token of {who} has no access to new boards")
            }
            [] => format!("the token of {who} has no access to boards"),
            named => format!("give the ID of the new board: the token of {who} has access to {}", named.join(", ")),
        };
        Err(HttpError::denied("not_granted", detail))
    }

    /// The whole store, for operations on all spaces with the caller's role.
    pub(crate) fn everything(&self) -> Result<&Corkboard, HttpError> {
        if self.actor().role == Role::Admin || self.grants.are_everything() {
            return Ok(&self.corkboard);
        }
        let who = &self.actor().principal;
        let detail = format!(
            "this operation needs access to every agent, board and core, which the token of {who} does not have"
        );
        Err(HttpError::denied("not_granted", detail))
    }

    /// A shared memory core, or an agent's private one: `agent:` and its name.
    pub(crate) fn core(&self, core: &str) -> Result<Core, HttpError> {
        match core.strip_prefix(CoreId::PRIVATE) {
            Some(agent) => Ok(Core::clone(&*self.agent(agent)?.long_term()?)),
            None => Ok(self.corkboard.core(core)?),
        }
    }

    pub(crate) fn tokens(&self) -> Result<Tokens, HttpError> {
        self.expect_admin("create, list or revoke tokens")?;
        Ok(self.corkboard.tokens())
    }

    pub(crate) fn log(&self, kind: SpaceKind, name: &str) -> Result<SpaceLog, HttpError> {
        if kind == SpaceKind::Tokens {
            self.expect_admin("create, list or revoke tokens")?;
        }
        self.open_log(kind, name)
    }

    /// A space's log, to send it commands. The core decides who may change the tokens. Callers who cannot open them get
    /// an error that says so.
    pub(crate) fn log_for_commands(&self, kind: SpaceKind, name: &str) -> Result<SpaceLog, HttpError> {
        self.open_log(kind, name).or_else(|_| self.log(kind, name))
    }

    fn open_log(&self, kind: SpaceKind, name: &str) -> Result<SpaceLog, HttpError> {
        // The library ignores the name of the tokens' space.
        let tokens = SpaceId::tokens();
        if kind == SpaceKind::Tokens && name != tokens.name() {
            return Err(HttpError::not_found(format!("no space tokens/{name}: the only one is {tokens}")));
        }
        Ok(self.corkboard.log(kind, name)?)
    }

    /// The whole store, for operations of admins. `what` describes the operation.
    pub(crate) fn store(&self, what: &str) -> Result<&Corkboard, HttpError> {
        self.expect_admin(what)?;
        Ok(&self.corkboard)
    }

    /// The whole store, for lists. Their content must be filtered by [`Caller::sees`].
    pub(crate) fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    /// Whether the caller may open a space and see it in lists.
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
        Err(HttpError::denied(
            "role_denied",
            format!("{principal} is {} {role}: only admins can {what}", role.article()),
        ))
    }
}

impl FromRequestParts<Server> for Caller {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _server: &Server) -> Result<Self, HttpError> {
        // The guard inserted it. A route without the guard has no caller.
        let unguarded = || HttpError::unauthenticated("the request was not authenticated");
        parts.extensions.get::<Self>().cloned().ok_or_else(unguarded)
    }
}
