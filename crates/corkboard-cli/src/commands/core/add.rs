use clap::Args;
use corkboard::BoardId;
use corkboard::cores::{AddedHow, NewCoreEntry, Trust};
use corkboard::{Limits, MemoryKind};
use jiff::Timestamp;

use crate::command_session::Session;
use crate::conditions::{RequestConditions, of_a_core};
use crate::core_args::CoreArgument;
use crate::error::CliError;
use crate::named_text::EntryContent;
use crate::value_parsers::{memory_kind, moment_argument, trust};

/// Add an entry to a core
///
/// Prints its ID. If an entry has the same text, ignoring white space, that entry is updated instead: it gets the higher
/// importance, the added tags and the new origin. --board and --item name the board item that it comes from.
#[derive(Args)]
#[command(
    mut_arg("if_rev", of_a_core),
    after_help = "\
Examples:
  cork core add house-rules 'Deployments go out on Tuesdays' --tag release --importance 0.8
  cork core add house-rules 'Sessions live in cookies' --board add-login-1a2b --item D-3
  cork core add house-rules 'The API allows 10 requests/s' --trust outside --author api-docs
  cork core add agent:alice 'Ada prefers short answers' --kind preference"
)]
pub(crate) struct Add {
    #[command(flatten)]
    core: CoreArgument,

    #[command(flatten)]
    content: EntryContent,

    /// Kind of memory [default: fact]
    #[arg(long, value_name = "KIND", value_parser = memory_kind())]
    kind: Option<MemoryKind>,

    /// Importance from 0 (trivial) to 1 (vital) [default: 0.5]
    #[arg(long, value_name = "NUMBER")]
    importance: Option<f32>,

    /// Tag to search and filter by; repeatable
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,

    /// Trust level [default: own if you act as a person, otherwise agent]. You act as a person unless your role is
    /// orchestrator, worker or reviewer; on a server, your token decides
    #[arg(long, value_name = "TRUST", value_parser = trust())]
    trust: Option<Trust>,

    /// Original author, if not you
    #[arg(long, value_name = "NAME")]
    author: Option<String>,

    // An older name of the global --board.
    #[arg(long, value_name = "BOARD", hide = true)]
    from_board: Option<String>,

    /// Board item that it comes from, such as D-3
    #[arg(long, value_name = "ID")]
    item: Option<String>,

    /// Expire at this time, such as 2030-12-31T23:59:59Z, or after a duration such as 30d
    #[arg(long, value_name = "WHEN", value_parser = moment_argument)]
    expires_at: Option<Timestamp>,

    #[command(flatten)]
    conditions: RequestConditions,
}

impl Add {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?.conditions(&self.conditions);
        let board =
            self.from_board.as_deref().or(session.flagged_board()).map(|board| BoardId::new(board, &Limits::default()));
        let entry = NewCoreEntry {
            content: self.content.text()?.unwrap_or_default(),
            kind: self.kind.unwrap_or_default(),
            importance: self.importance,
            tags: self.tags,
            author: self.author,
            contributors: Vec::new(),
            trust: self.trust,
            board: board.transpose()?,
            item: self.item,
            board_rev: None,
            expires_at: self.expires_at,
        };
        let added = core.add(entry).await?;
        session.output.answer(&added, || match added.how {
            AddedHow::New => added.id.to_string(),
            AddedHow::Merged => format!("{} (merged with the entry of the same text)", added.id),
            AddedHow::Restored => format!("{} (restored: it was forgotten)", added.id),
        })
    }
}
