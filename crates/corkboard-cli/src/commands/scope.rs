//! `cork scope`: durable scopes.

use clap::{ArgAction, Args, Subcommand};
use corkboard::{Durability, EntryDocument, Note, ScopeId, ScopeInfo, ScopeName};
use jiff::Timestamp;
use serde::Serialize;

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::{Fit, Rest, age, count, entry_table, fields, note_table, now, one_line, table, time};
use crate::page::Page;
use crate::scope_argument::find_scope;

/// Create, show, merge and dispose scopes of an agent's memory
///
/// A scope is a separate memory on top of its parent: reads fall back to the parent, and writes stay in the scope until you
/// merge it. Use it with --scope on the `memory` commands. Name a scope by its ID, the first 4 or more characters of its ID,
/// or its name.
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  id=$(cork scope create task-1)
  cork memory set branch feature/login --scope $id
  cork scope merge $id
  cork scope dispose $id")]
pub(crate) enum ScopeCommand {
    Create(Create),
    List(List),
    Show(Show),
    Merge(Merge),
    Dispose(Dispose),
}

/// Create a scope and print its ID; it stays until it is disposed
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork scope create task-1
  cork scope create attempt-2 --parent task-1")]
pub(crate) struct Create {
    /// Name of the new scope
    name: String,

    /// Parent scope [default: the agent's root scope]
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
}

/// List scopes
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork scope list
  cork --agent researcher scope list --json")]
pub(crate) struct List {}

/// Show a scope with its own entries and notes
#[derive(Args)]
#[command(after_help = "\
Example:
  cork scope show task-1")]
pub(crate) struct Show {
    /// ID or name of the scope
    #[arg(value_name = "ID")]
    scope: String,
}

/// Copy a scope's entries and notes to its parent
///
/// The scope stays. Repeated merges copy each note only once.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork scope merge task-1
  cork scope merge task-1 --overwrite false")]
pub(crate) struct Merge {
    /// ID or name of the scope
    #[arg(value_name = "ID")]
    scope: String,

    /// Whether to replace the parent's values for keys that it already has
    #[arg(long, value_name = "true|false", default_value_t = true, action = ArgAction::Set, conflicts_with = "keep_existing")]
    overwrite: bool,

    /// The former name of --overwrite false
    #[arg(long, hide = true)]
    keep_existing: bool,
}

/// Delete a scope and its child scopes, with all entries and notes
#[derive(Args)]
#[command(after_help = "\
Example:
  cork scope dispose task-1")]
pub(crate) struct Dispose {
    /// ID or name of the scope
    #[arg(value_name = "ID")]
    scope: String,
}

impl ScopeCommand {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match self {
            Self::Create(create) => create.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Show(show) => show.run(session).await,
            Self::Merge(merge) => merge.run(session).await,
            Self::Dispose(dispose) => dispose.run(session).await,
        }
    }
}

impl Create {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Answer {
            id: ScopeId,
            name: String,
        }
        if self.name == "root" {
            return Err(CliError::invalid("reserved", "\"root\" is reserved: it names the agent's own memory"));
        }
        let memory = session.memory();
        let scope = match self.parent.as_deref() {
            None | Some("root") => memory.create_durable_scope(&self.name).await?,
            Some(parent) => find_scope(&memory, parent).await?.create_durable_child_scope(&self.name).await?,
        };
        session.output.answer(&Answer { id: scope.id(), name: self.name }, || scope.id().to_string())
    }
}

impl List {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let page = Page::whole(session.memory().active_scopes().await?);
        session.output.list(&page, || {
            let scopes = &page.items;
            if scopes.is_empty() {
                return format!("agent {} has no scopes besides its root", session.agent.agent_id());
            }
            let now = now();
            let rows = scopes.iter().map(|scope| {
                [
                    scope.id.to_string(),
                    one_line(scope.name.as_str()),
                    name_of(scopes, scope.parent),
                    scope.entries.to_string(),
                    scope.notes.to_string(),
                    age(scope.created_at, now),
                ]
            });
            let header =
                [("SCOPE", Fit), ("NAME", Rest), ("PARENT", Rest), ("ENTRIES", Fit), ("NOTES", Fit), ("CREATED", Fit)];
            table(header, rows)
        })
    }
}

impl Show {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        /// Like an item of the list, with content instead of counts.
        #[derive(Serialize)]
        struct Answer<'a> {
            id: ScopeId,
            name: &'a ScopeName,
            parent: ScopeId,
            durability: Durability,
            entries: &'a [EntryDocument],
            notes: &'a [Note],
            created_at: Timestamp,
        }
        let memory = session.memory();
        let scope = find_scope(&memory, &self.scope).await?;
        let scopes = memory.active_scopes().await?;
        let gone = || CliError::not_found(format!("scope {} was disposed just now", scope.id()));
        let info = scopes.iter().find(|info| info.id == scope.id()).ok_or_else(gone)?;
        let (entries, notes) = (scope.entries().await?, scope.notes().await?);
        let entries: Vec<_> = entries.iter().map(|(key, entry)| EntryDocument::new(key, entry)).collect();
        let ScopeInfo { id, name, parent, durability, created_at, .. } = info;
        let (id, parent, durability, created_at) = (*id, *parent, *durability, *created_at);
        let answer = Answer { id, name, parent, durability, entries: &entries, notes: &notes, created_at };
        session.output.answer(&answer, || {
            let mut text = fields(&[
                ("scope", id.to_string()),
                ("name", one_line(name.as_str())),
                ("parent", name_of(&scopes, parent)),
                ("created", time(created_at)),
                ("entries", entries.len().to_string()),
                ("notes", notes.len().to_string()),
            ]);
            if !entries.is_empty() {
                text += &format!("\n\n{}", entry_table(&entries));
            }
            if !notes.is_empty() {
                text += &format!("\n\n{}", note_table(&notes));
            }
            text
        })
    }
}

impl Merge {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let scope = find_scope(&session.memory(), &self.scope).await?;
        let overwrite = self.overwrite && !self.keep_existing;
        let entries = scope.merge_to_parent(overwrite).await?;
        session.output.answer(&Counted { id: scope.id(), entries }, || {
            format!("merged {} of scope {}", count(entries, "entry", "entries"), one_line(scope.name().as_str()))
        })
    }
}

impl Dispose {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let scope = find_scope(&session.memory(), &self.scope).await?;
        let entries = scope.dispose().await?;
        session.output.answer(&Counted { id: scope.id(), entries }, || {
            let name = one_line(scope.name().as_str());
            format!(
                "disposed scope {name} and its {}; what was merged stays in the parent",
                count(entries, "entry", "entries")
            )
        })
    }
}

/// A scope, and the number of entries affected.
#[derive(Serialize)]
struct Counted {
    id: ScopeId,
    entries: u64,
}

fn name_of(scopes: &[ScopeInfo], id: ScopeId) -> String {
    if id.is_root() {
        return "root".into();
    }
    scopes.iter().find(|scope| scope.id == id).map_or_else(|| id.to_string(), |scope| one_line(scope.name.as_str()))
}
