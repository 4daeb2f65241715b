//! An open store and the agent in question, for the time of one command.

use corkboard::{AgentMemory, Corkboard, Options, WorkingMemory};

use crate::args::Global;
use crate::exit::Failure;
use crate::output::Output;

pub(crate) struct Session {
    pub(crate) board: Corkboard,
    pub(crate) agent: AgentMemory,
    pub(crate) output: Output,
}

impl Session {
    pub(crate) async fn open(global: &Global) -> Result<Self, Failure> {
        let options = Options { actor: global.actor(), ..Options::default() };
        let board = Corkboard::open_with(&global.store_url()?, options).await?;
        match board.agent(&global.agent) {
            Ok(agent) => Ok(Self { board, agent, output: Output::new(global.json) }),
            Err(error) => {
                board.close().await?;
                Err(error.into())
            }
        }
    }

    pub(crate) fn memory(&self) -> WorkingMemory {
        self.agent.working()
    }

    /// Lets go of the store. What the command met counts more than what closing meets.
    pub(crate) async fn close(self, result: Result<(), Failure>) -> Result<(), Failure> {
        let closed = self.board.close().await;
        result?;
        Ok(closed?)
    }
}
