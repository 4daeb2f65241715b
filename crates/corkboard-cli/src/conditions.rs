//! Conditions of a write, as arguments.

use clap::{Arg, Args};
use corkboard::{Board, Conditions};

use crate::command_session::Session;
use crate::error::CliError;

/// Conditions of a write to a board. For other writes, replace the help of `if_rev`.
#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct RequestConditions {
    /// Write only if the board is at this revision
    #[arg(long, value_name = "REV", allow_negative_numbers = true)]
    if_rev: Option<u64>,

    /// Idempotency key; a repeat within 24 hours has no further effect
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Conditions", mut_arg("if_rev", of_a_memory))]
pub(crate) struct EntryConditions {
    /// Write only if the entry is at this version; 0: if it does not exist
    #[arg(long, value_name = "VERSION", allow_negative_numbers = true)]
    if_version: Option<u64>,

    #[command(flatten)]
    request: RequestConditions,
}

/// The help of `--if-rev` for writes to an agent's memory.
pub(crate) fn of_a_memory(if_rev: Arg) -> Arg {
    if_rev.help("Write only if the agent's memory is at this revision")
}

/// The help of `--if-rev` for writes to a memory core.
pub(crate) fn of_a_core(if_rev: Arg) -> Arg {
    if_rev.help("Write only if the core is at this revision")
}

impl RequestConditions {
    /// The board that the command line names, under these conditions.
    pub(crate) fn open(&self, session: &Session) -> Result<Board, CliError> {
        Ok(session.open_board()?.conditions(self))
    }
}

impl From<&RequestConditions> for Conditions {
    fn from(RequestConditions { if_rev, idempotency_key }: &RequestConditions) -> Self {
        Self { if_version: None, if_rev: *if_rev, idempotency_key: idempotency_key.clone() }
    }
}

impl From<&EntryConditions> for Conditions {
    fn from(EntryConditions { if_version, request }: &EntryConditions) -> Self {
        Self { if_version: *if_version, ..request.into() }
    }
}
