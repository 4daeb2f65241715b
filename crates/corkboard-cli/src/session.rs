//! An open store, and the agent in question, for the time of one command.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use corkboard::store::{self, Store, StoreUrl};
use corkboard::{Actor, AgentMemory, Board, Core, CoreId, Corkboard, Error, Refusal, WorkingMemory};

use crate::args::{Actors, Global};
use crate::exit::Failure;
use crate::hint::hint;
use crate::output::Output;

pub(crate) struct Session {
    pub(crate) board: Corkboard,
    pub(crate) agent: AgentMemory,
    pub(crate) output: Output,
    /// In whose name tools are called.
    pub(crate) tool_actor: Actor,
    /// In whose name a context is read.
    pub(crate) reader: Actor,
    /// The board that the command line or the environment names.
    pub(crate) board_id: Option<String>,
    /// The board that the command opened, and the core: errors that do not name them are told with their names.
    opened_board: OnceLock<String>,
    opened_core: OnceLock<String>,
}

impl Session {
    pub(crate) async fn open(global: &Global) -> Result<Self, Failure> {
        let (board, actors) = match global.server() {
            Some(server) => {
                let board = Corkboard::connect(server, global.options()).await?;
                let actors = global.actors(Some(board.actor()));
                (board, actors)
            }
            None => {
                let actors = global.actors(None);
                (Corkboard::open_with(&global.store_url()?, global.options()).await?, actors)
            }
        };
        let Actors { caller, tool: tool_actor, reader } = actors;
        let board = board.acting_as(caller);
        match board.agent(&global.agent) {
            Ok(agent) => {
                let output = Output::new(global.json);
                let board_id = global.board.clone();
                let (opened_board, opened_core) = Default::default();
                Ok(Self { board, agent, output, tool_actor, reader, board_id, opened_board, opened_core })
            }
            Err(error) => {
                board.close().await?;
                Err(error.into())
            }
        }
    }

    pub(crate) fn memory(&self) -> WorkingMemory {
        self.agent.working()
    }

    /// The board that `--board` or `CORK_BOARD` names.
    pub(crate) fn open_board(&self) -> Result<Board, Failure> {
        match &self.board_id {
            Some(id) => self.board_named(id),
            None => Err(Failure::invalid("no_board_named", "which board?")
                .hint("name it by --board, or in CORK_BOARD; `cork board list` shows the boards there are")),
        }
    }

    /// The board with that id.
    pub(crate) fn board_named(&self, id: &str) -> Result<Board, Failure> {
        self.opened_board.get_or_init(|| id.into());
        Ok(self.board.board(id)?)
    }

    /// The core of that name, which may be an agent's own.
    pub(crate) fn core_named(&self, name: &str) -> Result<Core, Failure> {
        self.opened_core.get_or_init(|| name.into());
        match name.strip_prefix(CoreId::PRIVATE) {
            Some(agent) => Ok(Core::clone(&*self.board.agent(agent)?.long_term()?)),
            None => Ok(self.board.core(name)?),
        }
    }

    /// Lets go of the store. What the command met counts more than what closing meets.
    pub(crate) async fn close(self, result: Result<(), Failure>) -> Result<(), Failure> {
        let closed = self.board.close().await;
        result.map_err(|failure| self.naming(failure))?;
        Ok(closed?)
    }

    /// The same failure, with the name of what is not there.
    fn naming(&self, failure: Failure) -> Failure {
        let Failure::Library(error) = &failure else { return failure };
        let message = match error {
            Error::Refused(Refusal::NoBoard) => {
                self.opened_board.get().or(self.board_id.as_ref()).map(|id| format!("{error}: {id}"))
            }
            Error::Refused(Refusal::NotInCore { entry }) => {
                self.opened_core.get().map(|core| format!("there is no entry {entry} in the core {core}"))
            }
            _ => None,
        };
        match message {
            Some(message) => Failure::Own { code: error.code(), kind: error.kind(), message, hint: hint(error) },
            None => failure,
        }
    }
}

/// An open store for a command that moves logs, whatever is in them. Nothing expires meanwhile.
pub(crate) struct StoreSession {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) output: Output,
}

impl StoreSession {
    pub(crate) async fn open(global: &Global) -> Result<Self, Failure> {
        if let Some(server) = global.server() {
            let message = format!("whole logs are moved where the store is, not through the server at {}", server.url);
            return Err(Failure::invalid("needs_store", message).hint("name the store by --store, and no --url"));
        }
        let store = store::open(&global.store_url()?, &global.options()).await.map_err(Error::from)?;
        Ok(Self { store, output: Output::new(global.json) })
    }

    /// Opens a store that is there: to read from one that is not would only create it.
    pub(crate) async fn open_existing(global: &Global) -> Result<Self, Failure> {
        let url: StoreUrl = global.store_url()?.parse().map_err(Error::from)?;
        expect_there(&url)?;
        Self::open(global).await
    }

    /// Lets go of the store. What the command met counts more than what closing meets.
    pub(crate) async fn close(self, result: Result<(), Failure>) -> Result<(), Failure> {
        if let Err(Failure::Interrupted { .. }) = result {
            // Whoever wants to leave is not kept waiting. What is on its way is done or undone by the store.
            return result;
        }
        let closed = self.store.close().await;
        result?;
        Ok(closed.map_err(Error::from)?)
    }
}

pub(crate) fn expect_there(url: &StoreUrl) -> Result<(), Failure> {
    match url.path().filter(|path| !path.exists()) {
        None => Ok(()),
        Some(path) => Err(Failure::not_found(format!("there is no store at {}", path.display()))),
    }
}

/// Whether a path stands for stdin or stdout.
pub(crate) fn is_dash(file: &Path) -> bool {
    file.as_os_str() == "-"
}
