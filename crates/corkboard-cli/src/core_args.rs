//! Arguments that commands about memory cores share: which core, under which conditions, how far a text is trusted.

use clap::Args;
use corkboard::Core;
use corkboard::cores::Trust;

use crate::command_session::Session;
use crate::error::CliError;
use crate::value_parsers::trust;

/// The core that a command is about.
#[derive(Args)]
pub(crate) struct CoreArgument {
    /// Which core; agent:NAME is the long-term memory of agent NAME
    core: String,
}

impl CoreArgument {
    pub(crate) fn open(&self, session: &Session) -> Result<Core, CliError> {
        session.core_named(&self.core)
    }
}

/// How far a text may be trusted.
#[derive(Args)]
pub(crate) struct TrustArguments {
    /// How far it may be trusted [default: own]
    #[arg(long, value_name = "TRUST", value_parser = trust())]
    trust: Option<Trust>,

    /// It came from a web page, a tool or a stranger: --trust outside
    #[arg(long, conflicts_with = "trust")]
    outside: bool,
}

impl TrustArguments {
    pub(crate) fn said(&self) -> Option<Trust> {
        if self.outside { Some(Trust::Outside) } else { self.trust }
    }
}

/// What must hold for a write to a core to happen.
#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct CoreConditions {
    /// Only if the core is at this revision
    #[arg(long, value_name = "REV")]
    if_rev: Option<u64>,

    /// A name for this request: sent again within a day, it has no second effect
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
}

impl CoreConditions {
    /// The same core; what is written by it is written under these conditions.
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

/// What must hold for a change of one entry to happen.
#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct CoreEntryConditions {
    /// Only if the entry is at this version
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,

    #[command(flatten)]
    core: CoreConditions,
}

impl CoreEntryConditions {
    /// The same core; what is written by it is written under these conditions.
    pub(crate) fn on(&self, core: Core) -> Core {
        let core = self.core.on(core);
        match self.if_version {
            Some(version) => core.if_version(version),
            None => core,
        }
    }
}
