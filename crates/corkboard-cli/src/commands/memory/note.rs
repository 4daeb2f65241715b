//! `cork memory note`.

use clap::{Args, Subcommand};
use corkboard::NoteId;
use jiff::Timestamp;
use serde::Serialize;

use crate::command_session::Session;
use crate::conditions::{RequestConditions, of_a_memory};
use crate::core_args::{TrustArguments, usually_agent};
use crate::error::CliError;
use crate::output::note_table;
use crate::page::PageArguments;
use crate::scope_argument::{ScopeArgument, describe};
use crate::text_input::text_or_stdin;
use crate::value_parsers::text_argument;

/// Add, list and remove notes (free text)
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork memory note add \"prefers short answers\"
  cork memory note list
  cork memory note remove 3")]
pub(crate) enum Note {
    Add(Add),
    List(List),
    Remove(Remove),
}

/// Add a note and print its number
#[derive(Args)]
#[command(
    mut_arg("trust", usually_agent),
    mut_arg("if_rev", of_a_memory),
    after_help = "\
Examples:
  cork memory note add \"prefers short answers\"
  cork memory note add \"the API is rate limited\" --scope task-1
  fortune | cork memory note add - --outside
  cork memory note add \"shipped\" --idempotency-key release-7    # safe to repeat"
)]
pub(crate) struct Add {
    /// Text; - reads stdin
    #[arg(allow_hyphen_values = true, value_parser = text_argument)]
    text: String,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    scope: ScopeArgument,

    #[command(flatten)]
    conditions: RequestConditions,
}

/// List the notes in the order they were added
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork memory note list
  cork memory note list --scope task-1 --json")]
pub(crate) struct List {
    #[command(flatten)]
    scope: ScopeArgument,

    /// Only notes made since this time, such as 2026-02-04T09:00:00Z
    #[arg(long, value_name = "TIME")]
    updated_since: Option<Timestamp>,

    #[command(flatten)]
    page: PageArguments,
}

/// Remove a note
#[derive(Args)]
#[command(after_help = "\
Example:
  cork memory note remove 3")]
pub(crate) struct Remove {
    /// Number of the note, as shown by `cork memory note list`
    #[arg(value_name = "NOTE")]
    id: u64,

    #[command(flatten)]
    scope: ScopeArgument,
}

impl Note {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self {
            Self::Add(add) => add.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Remove(remove) => remove.run(session).await,
        }
    }
}

impl Add {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Answer {
            id: NoteId,
        }
        let memory = self.scope.find(session).await?;
        let text = text_or_stdin(self.text)?;
        let mut add = memory.add_note(&text);
        if let Some(trust) = self.trust.said() {
            add = add.trust(trust);
        }
        let id = add.conditions(&self.conditions).await?;
        session.output.answer(&Answer { id }, || format!("note {id}"))
    }
}

impl List {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let memory = self.scope.find(session).await?;
        let mut notes = memory.notes().await?;
        notes.retain(|note| self.updated_since.is_none_or(|since| note.at >= since));
        let notes = self.page.of(notes, |note| note.id)?;
        session.output.list(&notes, || match notes.items.is_empty() {
            true => format!("{} has no notes", describe(session, &memory)),
            false => note_table(&notes.items),
        })
    }
}

impl Remove {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Answer {
            id: u64,
            removed: bool,
        }
        let memory = self.scope.find(session).await?;
        if !memory.remove_note(NoteId(self.id)).await? {
            let message = format!("{} has no note {}", describe(session, &memory), self.id);
            return Err(CliError::not_found(message).hint("`cork memory note list` shows the notes"));
        }
        session.output.answer(&Answer { id: self.id, removed: true }, || format!("removed note {}", self.id))
    }
}
