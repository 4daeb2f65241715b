//! An open store, and the agent in question, for the time of one command.

use std::sync::{Arc, OnceLock};

use corkboard::store::{self, Store, StoreError};
use corkboard::tokens::Grant;
use corkboard::{Actor, AgentMemory, Board, Core, CoreId, Corkboard, Creation, Error, Options, Refusal, WorkingMemory};

use crate::args::{Actors, Global};
use crate::error::CliError;
use crate::error_hint::hint;
use crate::output::Output;

pub(crate) struct Session {
    pub(crate) corkboard: Corkboard,
    pub(crate) agent: AgentMemory,
    pub(crate) output: Output,
    pub(crate) tool_actor: Actor,
    pub(crate) reader: Actor,
    /// The board that the command line or the environment names.
    pub(crate) board_id: Option<String>,
    /// The agents that the token opens, if the command line names none.
    opened_agents: Vec<Grant>,
    /// The board that the command opened, and the core: errors that do not name them are told with their names.
    opened_board: OnceLock<String>,
    opened_core: OnceLock<String>,
}

/// What becomes of a command whose store does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Create,
    Fail,
    /// It fails, unless the store is the default one: that counts as empty until something is written to it.
    FailUnlessDefault,
    UseNone,
}

impl Session {
    pub(crate) async fn open(global: &Global, if_missing: IfMissing) -> Result<Self, CliError> {
        let (corkboard, actors, opened_agents) = match global.server() {
            Some(server) => {
                let (corkboard, identity) = Corkboard::connect_with_identity(server, global.options()).await?;
                let actors = global.actors(Some(corkboard.actor()));
                let opened = Some(identity.grants.agents).filter(|_| global.config.is_default("agent"));
                (corkboard, actors, opened.unwrap_or_default())
            }
            None => {
                let actors = global.actors(None);
                (open_store(global, if_missing).await?, actors, Vec::new())
            }
        };
        // A token that opens one agent means that one, unless the command line says otherwise.
        let agent = match opened_agents.as_slice() {
            [one] if !one.as_str().ends_with('*') => one.as_str(),
            _ => &global.agent,
        };
        let Actors { caller, tool: tool_actor, reader } = actors;
        let corkboard = corkboard.acting_as(caller);
        match corkboard.agent(agent) {
            Ok(agent) => {
                let output = Output::new(global.json);
                let board_id = global.board.clone();
                let (opened_board, opened_core) = Default::default();
                Ok(Self {
                    corkboard,
                    agent,
                    output,
                    tool_actor,
                    reader,
                    board_id,
                    opened_agents,
                    opened_board,
                    opened_core,
                })
            }
            Err(error) => {
                corkboard.close().await?;
                Err(error.into())
            }
        }
    }

    pub(crate) fn memory(&self) -> WorkingMemory {
        self.agent.working()
    }

    /// The board that `--board` or `CORK_BOARD` names.
    pub(crate) fn open_board(&self) -> Result<Board, CliError> {
        match &self.board_id {
            Some(id) => self.board_named(id),
            None => Err(CliError::invalid("no_board_named", "which board?")
                .hint("name it by --board, or in CORK_BOARD; `cork board list` shows the boards there are")),
        }
    }

    pub(crate) fn board_named(&self, id: &str) -> Result<Board, CliError> {
        self.opened_board.get_or_init(|| id.into());
        Ok(self.corkboard.board(id)?)
    }

    /// The core of that name, which may be an agent's own.
    pub(crate) fn core_named(&self, name: &str) -> Result<Core, CliError> {
        self.opened_core.get_or_init(|| name.into());
        match name.strip_prefix(CoreId::PRIVATE) {
            Some(agent) => Ok(Core::clone(&*self.corkboard.agent(agent)?.long_term()?)),
            None => Ok(self.corkboard.core(name)?),
        }
    }

    /// Lets go of the store. What the command met counts more than what closing meets.
    pub(crate) async fn close(self, result: Result<(), CliError>) -> Result<(), CliError> {
        let closed = self.corkboard.close().await;
        result.map_err(|failure| self.naming(failure))?;
        Ok(closed?)
    }

    /// The same failure, with the name of what is not there.
    fn naming(&self, failure: CliError) -> CliError {
        let CliError::Library(error) = &failure else { return failure };
        let about_agent = format!("agent {:?}", self.agent.agent_id().as_str());
        if error.code() == "not_granted" && !self.opened_agents.is_empty() && error.to_string().contains(&about_agent) {
            let (code, kind, message) = (error.code(), error.kind(), error.to_string());
            return CliError::Own { code, kind, message, hint: Some(name_an_agent(&self.opened_agents)) };
        }
        let message = match error {
            Error::Refused(Refusal::NoBoard) => {
                self.opened_board.get().or(self.board_id.as_ref()).map(|id| format!("{error}: {id}"))
            }
            Error::Refused(Refusal::NotInCore { entry }) => {
                self.opened_core.get().map(|core| format!("entry {entry} not found in the core {core}"))
            }
            _ => None,
        };
        match message {
            Some(message) => CliError::Own { code: error.code(), kind: error.kind(), message, hint: hint(error) },
            None => failure,
        }
    }
}

/// What to do if the token opens several agents and the command names none.
fn name_an_agent(opened: &[Grant]) -> String {
    let names: Vec<&str> = opened.iter().map(Grant::as_str).collect();
    let one = names.iter().find(|name| !name.ends_with('*')).unwrap_or(&"NAME");
    let agents = if names.len() == 1 { "agent" } else { "agents" };
    format!("your token opens {agents} {}; add --agent {one}", names.join(" and "))
}

async fn open_store(global: &Global, if_missing: IfMissing) -> Result<Corkboard, CliError> {
    let creation = if if_missing == IfMissing::Create { Creation::Store } else { Creation::Nothing };
    let missing = match Corkboard::open_with(&global.store_url()?, global.options_to(creation)).await {
        Err(Error::Store(StoreError::Missing { path })) => path,
        opened => return Ok(opened?),
    };
    match if_missing {
        IfMissing::UseNone => {}
        IfMissing::FailUnlessDefault if global.is_default_store() => {
            let note =
                format!("note: nothing is stored yet; the first command that writes creates {}", missing.display());
            Output::new(global.json).warn(&note);
        }
        _ => return Err(Error::Store(StoreError::Missing { path: missing }).into()),
    }
    Ok(Corkboard::open_with("memory:", Options { save: Default::default(), ..global.options() }).await?)
}

/// An open store for a command that moves logs, whatever is in them. Nothing expires meanwhile.
pub(crate) struct StoreSession {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) output: Output,
}

impl StoreSession {
    pub(crate) async fn open(global: &Global) -> Result<Self, CliError> {
        Self::open_with(global, Creation::Store).await
    }

    /// Opens a store that is there: to read from one that is not would only create it.
    pub(crate) async fn open_existing(global: &Global) -> Result<Self, CliError> {
        Self::open_with(global, Creation::Nothing).await
    }

    async fn open_with(global: &Global, creation: Creation) -> Result<Self, CliError> {
        if let Some(server) = global.server() {
            let message = format!("whole logs are moved where the store is, not through the server at {}", server.url);
            return Err(CliError::invalid("needs_store", message).hint("name the store by --store, and no --url"));
        }
        let store = store::open(&global.store_url()?, &global.options_to(creation)).await?;
        Ok(Self { store, output: Output::new(global.json) })
    }

    /// Lets go of the store. What the command met counts more than what closing meets.
    pub(crate) async fn close(self, result: Result<(), CliError>) -> Result<(), CliError> {
        if let Err(CliError::Interrupted { .. }) = result {
            // Whoever wants to leave is not kept waiting. What is on its way is done or undone by the store.
            return result;
        }
        let closed = self.store.close().await;
        result?;
        Ok(closed?)
    }
}

pub(crate) const PAGE: usize = 500;

/// All items of a list that is read in pages of [`PAGE`] items. Each page begins after the last item of the one before.
pub(crate) async fn all_pages<T>(
    read_after: impl AsyncFn(Option<&T>) -> corkboard::Result<Vec<T>>,
) -> Result<Vec<T>, CliError> {
    let mut all: Vec<T> = Vec::new();
    loop {
        let page = read_after(all.last()).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}
