//! Shared arguments of commands about memory cores: core, conditions and trust level.

use clap::{Arg, Args};
use corkboard::cores::Trust;
use corkboard::{Conditions, Core};

use crate::command_session::Session;
use crate::conditions::{RequestConditions, of_a_core};
use crate::error::CliError;
use crate::value_parsers::trust;

/// The core as a positional argument.
#[derive(Args)]
pub(crate) struct CoreArgument {
    /// Core name; agent:NAME is the long-term memory of agent NAME
    core: String,
}

impl CoreArgument {
    pub(crate) fn open(&self, session: &Session) -> Result<Core, CliError> {
        session.core_named(&self.core)
    }
}

/// The trust level of a text.
#[derive(Args)]
pub(crate) struct TrustArguments {
    /// Trust level [default: own if you act as a person, otherwise agent]. You act as a person unless your role is
    /// orchestrator, worker or reviewer; on a server, your token decides
    #[arg(long, value_name = "TRUST", value_parser = trust())]
    trust: Option<Trust>,

    /// The text comes from a web page, a tool or a stranger; short for --trust outside
    #[arg(long, conflicts_with = "trust")]
    outside: bool,
}

/// The help of `--trust` for entries, notes and task results, which are trusted like an agent's text by default.
pub(crate) fn usually_agent(trust: Arg) -> Arg {
    trust.help("Trust level; `own` needs the role human or admin (the default without a server) [default: agent]")
}

impl TrustArguments {
    pub(crate) fn said(&self) -> Option<Trust> {
        if self.outside { Some(Trust::Outside) } else { self.trust }
    }
}

/// Conditions of a change to one entry.
#[derive(Args)]
#[command(next_help_heading = "Conditions", mut_arg("if_rev", of_a_core))]
pub(crate) struct CoreEntryConditions {
    /// Write only if the entry is at this version
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,

    #[command(flatten)]
    request: RequestConditions,
}

impl From<&CoreEntryConditions> for Conditions {
    fn from(CoreEntryConditions { if_version, request }: &CoreEntryConditions) -> Self {
        Self { if_version: *if_version, ..request.into() }
    }
}
