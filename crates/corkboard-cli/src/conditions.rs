//! What must hold for a write to happen, as arguments.

use clap::Args;
use corkboard::Conditions;

#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct RequestConditions {
    /// Only if the whole memory is at this revision
    #[arg(long, value_name = "REV")]
    if_rev: Option<u64>,

    /// A name for this request: sent again within a day, it has no second effect
    #[arg(long, value_name = "NAME")]
    idempotency_key: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct EntryConditions {
    /// Only if the entry is at this version; 0: only if there is none
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u64>,

    #[command(flatten)]
    request: RequestConditions,
}

impl From<RequestConditions> for Conditions {
    fn from(RequestConditions { if_rev, idempotency_key }: RequestConditions) -> Self {
        Self { if_version: None, if_rev, idempotency_key }
    }
}

impl From<EntryConditions> for Conditions {
    fn from(EntryConditions { if_version, request }: EntryConditions) -> Self {
        Self { if_version, ..request.into() }
    }
}
