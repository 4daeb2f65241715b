//! The spaces that `cork search status` and `cork search reindex` are about.

use clap::Args;
use corkboard::{SpaceKind, SpaceLog};

use crate::args::Global;
use crate::command_session::{PAGE, Session};
use crate::error::CliError;

#[derive(Args)]
pub(super) struct SpacesArgument {
    /// Memory core; agent:NAME is the long-term memory of agent NAME
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    core: Option<String>,

    /// All agents, boards and memory cores
    #[arg(long)]
    all: bool,
}

pub(super) fn several() -> CliError {
    CliError::invalid("usage", "--board and --core cannot be used together")
}

impl SpacesArgument {
    pub(super) async fn open(&self, session: &Session, global: &Global) -> Result<Vec<SpaceLog>, CliError> {
        let corkboard = &session.corkboard;
        if !self.all {
            let log = match (global.flagged_board(), &self.core) {
                (Some(_), Some(_)) => return Err(several()),
                (Some(board), None) => corkboard.log(SpaceKind::Board, board)?,
                (None, Some(core)) => corkboard.log(SpaceKind::Core, core)?,
                (None, None) => corkboard.log(SpaceKind::Agent, session.agent.agent_id().as_str())?,
            };
            return Ok(vec![log]);
        }
        let mut logs = Vec::new();
        for kind in [SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core] {
            let mut after: Option<String> = None;
            loop {
                let listed = corkboard.logs(kind, after.as_deref(), PAGE).await?;
                for space in &listed {
                    logs.push(corkboard.log(kind, space.space.name())?);
                }
                match listed.last() {
                    Some(last) if listed.len() == PAGE => after = Some(last.space.name().to_owned()),
                    _ => break,
                }
            }
        }
        Ok(logs)
    }
}
