//! What the commands about memory cores share: which core, under what conditions, and how an entry is shown.

use clap::{Args, ValueEnum};
use corkboard::cores::{CoreEntry, CoreEntryId, Provenance, Trust};
use corkboard::{Core, CoreId};
use serde::Serialize;

use crate::exit::Failure;
use crate::output::{Room, age, clip, now, one_line, table, time};
use crate::session::Session;

/// The core that a command is about.
#[derive(Args)]
pub(crate) struct CoreArgument {
    /// Which core; agent:NAME is the long-term memory of agent NAME
    core: String,
}

impl CoreArgument {
    pub(crate) fn open(&self, session: &Session) -> Result<Core, Failure> {
        session.core_named(&self.core)
    }
}

/// What to say where nothing is shown because the core holds nothing. A shared one that nobody made is not there; an
/// agent's own is, from the beginning.
pub(crate) async fn emptiness(core: &Core) -> Result<Option<String>, Failure> {
    let stats = core.stats().await?;
    let id = core.id().as_str();
    let name = one_line(id);
    if stats.rev == 0 && !id.starts_with(CoreId::PRIVATE) {
        return Err(Failure::not_found(format!("there is no core {name}"))
            .hint(format!("`cork core list` shows the cores there are, `cork core add {name} TEXT` makes this one")));
    }
    Ok((stats.entries + stats.forgotten == 0).then(|| format!("there is nothing in the core {name}")))
}

/// How far a text may be trusted.
#[derive(Args)]
pub(crate) struct TrustArguments {
    /// How far it may be trusted [default: own]
    #[arg(long, value_name = "TRUST")]
    trust: Option<TrustName>,

    /// It came from a web page, a tool or a stranger: --trust outside
    #[arg(long, conflicts_with = "trust")]
    outside: bool,
}

impl TrustArguments {
    /// What was said of it, if something was.
    pub(crate) fn said(&self) -> Option<Trust> {
        if self.outside { Some(Trust::Outside) } else { self.trust.map(Into::into) }
    }
}

/// A text in which every line is marked that came from outside, as in a prompt.
pub(crate) fn marked(text: &str, trust: Trust) -> String {
    text.split('\n').map(|line| [trust.mark(), line].concat()).collect::<Vec<_>>().join("\n")
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

/// How far a text may be trusted, as an argument.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum TrustName {
    /// A person who works with this store says so
    Own,
    /// An agent says so
    Agent,
    /// It came from elsewhere: a web page, a tool, a stranger
    Outside,
}

impl From<TrustName> for Trust {
    fn from(name: TrustName) -> Self {
        match name {
            TrustName::Own => Self::Own,
            TrustName::Agent => Self::Agent,
            TrustName::Outside => Self::Outside,
        }
    }
}

/// What a change of one entry tells.
#[derive(Serialize)]
pub(crate) struct ChangedEntry {
    pub(crate) id: CoreEntryId,
    pub(crate) version: u64,
}

/// An entry as programs see it: what it holds, and what follows from where it came from.
#[derive(Serialize)]
pub(crate) struct EntryDocument<'a> {
    #[serde(flatten, serialize_with = "corkboard::lists::serialize")]
    entry: &'a CoreEntry,
    author: &'a str,
    trust: Trust,
}

impl<'a> From<&'a CoreEntry> for EntryDocument<'a> {
    fn from(entry: &'a CoreEntry) -> Self {
        Self { entry, author: entry.author(), trust: entry.trust() }
    }
}

/// Entries, a line each.
pub(crate) fn entry_table<'a>(entries: impl Iterator<Item = &'a CoreEntry>) -> String {
    /// More of a text is not shown in a list.
    const SHOWN: usize = 200;
    let now = now();
    let rows = entries.map(|entry| {
        let mark = if entry.forgotten.is_some() { " (forgotten)" } else { "" };
        [
            format!("{}{mark}", entry.id),
            clip(&one_line(&entry.content), SHOWN),
            entry.trust().to_string(),
            format!("{:.2}", entry.importance),
            one_line(&entry.tags.join(", ")),
            age(entry.updated_at, now),
        ]
    });
    let header = [
        ("ENTRY", Room::Whole),
        ("CONTENT", Room::Rest),
        ("TRUST", Room::Whole),
        ("IMPORTANCE", Room::Whole),
        ("TAGS", Room::Percent(20)),
        ("UPDATED", Room::Whole),
    ];
    table(header, rows)
}

/// Where an entry came from, in words.
pub(crate) fn origin(origin: &Provenance) -> String {
    let promoted = origin.promoted_by.as_ref().map(|by| format!(", brought in by {}", one_line(by)));
    let board = origin.board.as_ref().map(|board| format!(", on board {}", one_line(board.as_str())));
    let item = origin.item.as_ref().map(|item| format!(" ({})", one_line(item)));
    // They may have changed the text, or only said a part of what it was made of: the origin does not tell.
    let others = match origin.edited_by.as_slice() {
        [] => None,
        names => Some(format!(", with a part by {}", one_line(&names.join(", ")))),
    };
    let rest: String = [promoted, board, item, others].into_iter().flatten().collect();
    format!("{} ({}), {}{rest}", one_line(&origin.author), origin.trust, time(origin.at))
}
