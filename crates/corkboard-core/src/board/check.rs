//! Checks on a command that was received as text. A command built in this process was checked when it was built.

use super::{BoardCommand, NudgeTarget};
use crate::{AgentId, Limits, Refusal};

/// Checks the names that are not checked when the command is decided.
pub(super) fn check(command: &BoardCommand, limits: &Limits) -> Result<(), Refusal> {
    let agent = |agent: &AgentId| AgentId::check(agent.as_str(), limits);
    match command {
        BoardCommand::Assign { agent: name, .. } | BoardCommand::AssignReview { agent: name, .. } => agent(name),
        BoardCommand::SendNudge(nudge) => match &nudge.to {
            NudgeTarget::Agent(to) => agent(to),
            NudgeTarget::Orchestrator | NudgeTarget::All => Ok(()),
        },
        BoardCommand::AsOrchestrator { command, .. } | BoardCommand::UnderClaim { command, .. } => {
            check(command, limits)
        }
        // All other texts are checked when the command is decided.
        _ => Ok(()),
    }
}
