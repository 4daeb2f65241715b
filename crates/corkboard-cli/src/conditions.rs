//! What must hold for a write to happen, as arguments.

use clap::Args;

#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct RequestConditions {
    /// Only if the whole memory is at this revision
    #[arg(long, value_name = "REV")]
    pub(crate) if_rev: Option<u64>,

    /// A name for this request: sent again within a day, it has no second effect
    #[arg(long, value_name = "NAME")]
    pub(crate) idempotency_key: Option<String>,
}

#[derive(Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct EntryConditions {
    /// Only if the entry is at this version; 0: only if there is none
    #[arg(long, value_name = "VERSION")]
    pub(crate) if_version: Option<u64>,

    #[command(flatten)]
    pub(crate) request: RequestConditions,
}

/// Puts the conditions on a write of the library, whichever it is.
macro_rules! under {
    (request: $conditions:expr, $write:expr) => {{
        let (conditions, mut write): ($crate::conditions::RequestConditions, _) = ($conditions, $write);
        if let Some(rev) = conditions.if_rev {
            write = write.if_rev(rev);
        }
        if let Some(name) = conditions.idempotency_key {
            write = write.idempotency_key(name);
        }
        write
    }};
    (entry: $conditions:expr, $write:expr) => {{
        let (conditions, mut write): ($crate::conditions::EntryConditions, _) = ($conditions, $write);
        if let Some(version) = conditions.if_version {
            write = write.if_version(version);
        }
        $crate::conditions::under!(request: conditions.request, write)
    }};
}
pub(crate) use under;
