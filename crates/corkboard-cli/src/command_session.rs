//! The open store and the selected agent of one command.

use std::sync::Arc;

use corkboard::store::{self, Store, StoreError};
use corkboard::{Actor, AgentMemory, Board, Core, CoreId, Corkboard, Creation, Error, Options, Refusal, WorkingMemory};

use crate::args::{Actors, Global};
use crate::error::CliError;
use crate::error_hint::{HintContext, hint};
use crate::output::Output;

pub(crate) struct Session {
    pub(crate) corkboard: Corkboard,
    pub(crate) agent: AgentMemory,
    pub(crate) output: Output,
    pub(crate) tool_actor: Actor,
    pub(crate) reader: Actor,
    /// The board from the command line or the environment.
    pub(crate) board_id: Option<String>,
    /// The board from the command line alone.
    flagged_board: Option<String>,
    hint_context: HintContext,
}

/// What to do if the store does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Create,
    Fail,
    /// Fail, unless it is the default store, which counts as empty until the first write.
    FailUnlessDefault,
    UseNone,
}

impl Session {
    pub(crate) async fn open(global: &Global, if_missing: IfMissing) -> Result<Self, CliError> {
        let (corkboard, actors, opened_agents, token_role) = match global.server() {
            Some(server) => {
                let (corkboard, identity) = Corkboard::connect_with_identity(server, global.options()).await?;
                let actors = global.actors(Some(corkboard.actor()));
                let opened = Some(identity.grants.agents).filter(|_| global.config.is_default("agent"));
                let role = corkboard.actor().role;
                (corkboard, actors, opened.unwrap_or_default(), Some(role))
            }
            None => {
                let actors = global.actors(None);
                (open_store(global, if_missing).await?, actors, Vec::new(), None)
            }
        };
        // If the token has access to exactly one agent, use that one by default.
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
                let flagged_board = global.flagged_board().map(str::to_owned);
                let hint_context = HintContext { opened_agents, token_role, ..Default::default() };
                Ok(Self { corkboard, agent, output, tool_actor, reader, board_id, flagged_board, hint_context })
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
            None => Err(CliError::invalid("no_board_named", "no board selected")
                .hint("select one with --board or CORK_BOARD; `cork board list` shows the boards")),
        }
    }

    /// The board that `--board` names, without `CORK_BOARD`.
    pub(crate) fn flagged_board(&self) -> Option<&str> {
        self.flagged_board.as_deref()
    }

    pub(crate) fn board_named(&self, id: &str) -> Result<Board, CliError> {
        self.hint_context.board.get_or_init(|| id.into());
        Ok(self.corkboard.board(id)?)
    }

    /// Remembers the epoch that the command sends.
    pub(crate) fn sends_epoch(&self, epoch: Option<u64>) {
        if let Some(epoch) = epoch {
            self.hint_context.epoch.get_or_init(|| epoch);
        }
    }

    /// Remembers the core that an error of the command is about.
    pub(crate) fn names_core(&self, name: &str) {
        self.hint_context.core.get_or_init(|| name.into());
    }

    /// The core with this name, which may be an agent's own.
    pub(crate) fn core_named(&self, name: &str) -> Result<Core, CliError> {
        self.names_core(name);
        match name.strip_prefix(CoreId::PRIVATE) {
            Some(agent) => Ok(Core::clone(&*self.corkboard.agent(agent)?.long_term()?)),
            None => Ok(self.corkboard.core(name)?),
        }
    }

    /// Closes the store. An error of the command takes precedence over one of closing.
    pub(crate) async fn close(self, result: Result<(), CliError>) -> Result<(), CliError> {
        let closed = self.corkboard.close().await;
        result.map_err(|failure| self.naming(failure))?;
        Ok(closed?)
    }

    /// Adds the names of the missing board, core or agent to an error.
    fn naming(&self, failure: CliError) -> CliError {
        let CliError::Library(error) = failure else { return failure };
        if let Some(hint) = self.hint_context.hint(&error, self.corkboard.actor(), self.agent.agent_id()) {
            return CliError::Explained { error: error.into(), message: None, hint: Some(hint) };
        }
        let message = match &error {
            Error::Refused(Refusal::NoBoard) => {
                self.hint_context.board.get().or(self.board_id.as_ref()).map(|id| format!("{error}: {id}"))
            }
            Error::Refused(Refusal::NotInCore { entry }) => {
                self.hint_context.core.get().map(|core| format!("entry {entry} not found in core {core}"))
            }
            _ => None,
        };
        match message {
            Some(_) => CliError::Explained { hint: hint(&error), error: error.into(), message },
            None => CliError::Library(error),
        }
    }
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
            let note = format!("note: the store is empty; the first write creates {}", missing.display());
            Output::new(global.json).warn(&note);
        }
        _ => return Err(Error::Store(StoreError::Missing { path: missing }).into()),
    }
    Ok(Corkboard::open_with("memory:", Options { save: Default::default(), ..global.options() }).await?)
}

/// An open store for commands that copy whole logs. Nothing expires while it is open.
pub(crate) struct StoreSession {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) output: Output,
}

impl StoreSession {
    pub(crate) async fn open(global: &Global) -> Result<Self, CliError> {
        Self::open_with(global, Creation::Store).await
    }

    /// Opens a store that must exist.
    pub(crate) async fn open_existing(global: &Global) -> Result<Self, CliError> {
        Self::open_with(global, Creation::Nothing).await
    }

    async fn open_with(global: &Global, creation: Creation) -> Result<Self, CliError> {
        if let Some(server) = global.server() {
            let message = format!("this command copies whole logs and cannot use the server at {}", server.url);
            return Err(CliError::invalid("needs_store", message)
                .hint("run it where the store is, with --store instead of --url"));
        }
        let store = store::open(&global.store_url()?, &global.options_to(creation)).await?;
        Ok(Self { store, output: Output::new(global.json) })
    }

    /// Closes the store. An error of the command takes precedence over one of closing.
    pub(crate) async fn close(self, result: Result<(), CliError>) -> Result<(), CliError> {
        if let Err(CliError::Interrupted { .. }) = result {
            // Exit at once after Ctrl-C. The store completes or undoes the write in progress.
            return result;
        }
        let closed = self.store.close().await;
        result?;
        Ok(closed?)
    }
}

pub(crate) const PAGE: usize = 500;

/// Reads a whole list in pages of [`PAGE`] items. Each page starts after the last item of the previous one.
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
