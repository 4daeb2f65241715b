//! Shared arguments of commands about memory cores: core, conditions and trust level.

use clap::Args;
use corkboard::Core;
use corkboard::cores::Trust;

use crate::command_session::Session;
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
    /// Trust level [default: own]
    #[arg(long, value_name = "TRUST", value_parser = trust())]
    trust: Option<Trust>,

    /// The text comes from a web page, a tool or a stranger; short for --trust outside
    #[arg(long, conflicts_with = "trust")]
    outside: bool,
}

impl TrustArguments {
    pub(crate) fn said(&self) -> Option<Trust> {
        if self.outside { Some(Trust::Outside) } else { self.trust }
    }
}

/// Conditions of a write to a core.
#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct CoreConditions {
    /// Write only if the core is at this revision
    #[arg(long, value_name = "REV")]
    if_rev: Option<u64>,

    /// Idempotency key; a repeat within 24 hours has no further effect
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
}

impl CoreConditions {
    /// A handle to the same core that writes under these conditions.
    pub(crate) fn on(&self, core: Core) -> Core {
        let core = match self.if_rev {
            Some(rev) => core.if_rev(rev),
            None => core,
        };
        match &self.idempotency_key {
            Some(name) => core.idempotency_key(name),
            None => core,
        }
    }
}

/// Conditions of a change to one entry.
#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct CoreEntryConditions {
    /// Write only if the entry is at this version
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,

    #[command(flatten)]
    core: CoreConditions,
}

impl CoreEntryConditions {
    /// A handle to the same core that writes under these conditions.
    pub(crate) fn on(&self, core: Core) -> Core {
        let core = self.core.on(core);
        match self.if_version {
            Some(version) => core.if_version(version),
            None => core,
        }
    }
}
