//! Where in an agent's memory a command works: the root scope, or the one that `--scope` names.

use std::sync::Arc;

use clap::Args;
use corkboard::{AddNote, Append, Content, Entry, Key, Note, NoteId, Remove, Scope, ScopeInfo, Set, WorkingMemory};

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::one_line;

/// The shortest part of an id that may stand for it.
const SHORTEST_ID: usize = 4;

#[derive(Args)]
pub(crate) struct ScopeArgument {
    /// In this scope instead of the root: its id, the beginning of it, or its name
    #[arg(long, value_name = "ID")]
    scope: Option<String>,
}

impl ScopeArgument {
    pub(crate) async fn find(&self, session: &Session) -> Result<Place, CliError> {
        let memory = session.memory();
        match self.scope.as_deref() {
            None | Some("root") => Ok(Place::Root(memory)),
            Some(given) => Ok(Place::Scope(find_scope(&memory, given).await?)),
        }
    }
}

/// The scope with that id, the beginning of one, or that name.
pub(crate) async fn find_scope(memory: &WorkingMemory, given: &str) -> Result<Scope, CliError> {
    let scopes = memory.active_scopes().await?;
    let info = pick(&scopes, given)?;
    let gone = || no_such_scope(given);
    memory.scope(info.id).await?.ok_or_else(gone)
}

fn pick<'a>(scopes: &'a [ScopeInfo], given: &str) -> Result<&'a ScopeInfo, CliError> {
    let beginning = given.to_ascii_lowercase();
    let is_meant = |scope: &&ScopeInfo| {
        let by_id = given.len() >= SHORTEST_ID && scope.id.to_string().starts_with(&beginning);
        by_id || scope.name.as_str() == given
    };
    let found: Vec<&ScopeInfo> = scopes.iter().filter(is_meant).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => Err(no_such_scope(given)),
        several => {
            let lines = several.iter().map(|scope| format!("\n  {}  {}", scope.id, one_line(scope.name.as_str())));
            let message = format!("{given:?} may be any of these scopes:{}", lines.collect::<String>());
            Err(CliError::invalid("ambiguous_scope", message).hint("give more of the id"))
        }
    }
}

fn no_such_scope(given: &str) -> CliError {
    let failure = CliError::not_found(format!("there is no scope {given:?}"));
    if given.len() < SHORTEST_ID {
        return failure.hint(format!("an id may be cut to its first {SHORTEST_ID} characters, not to fewer"));
    }
    failure.hint("`cork scope list` shows the scopes there are")
}

pub(crate) enum Place {
    Root(WorkingMemory),
    Scope(Scope),
}

impl Place {
    pub(crate) fn set<'a>(&'a self, key: &'a str, value: &Content) -> Set<'a> {
        match self {
            Self::Root(memory) => memory.set(key, value),
            Self::Scope(scope) => scope.set(key, value),
        }
    }

    pub(crate) fn append<'a>(&'a self, key: &'a str, text: &'a str) -> Append<'a> {
        match self {
            Self::Root(memory) => memory.append(key, text),
            Self::Scope(scope) => scope.append(key, text),
        }
    }

    pub(crate) fn remove<'a>(&'a self, key: &'a str) -> Remove<'a> {
        match self {
            Self::Root(memory) => memory.remove(key),
            Self::Scope(scope) => scope.remove(key),
        }
    }

    /// The entry here, else in the parent, and so on to the root.
    pub(crate) async fn get_entry(&self, key: &str) -> Result<Option<Arc<Entry>>, CliError> {
        Ok(match self {
            Self::Root(memory) => memory.get_entry(key).await?,
            Self::Scope(scope) => scope.get_entry(key).await?,
        })
    }

    /// The entries of this scope alone, by key.
    pub(crate) async fn entries(&self) -> Result<Vec<(Key, Arc<Entry>)>, CliError> {
        Ok(match self {
            Self::Root(memory) => memory.entries().await?,
            Self::Scope(scope) => scope.entries().await?,
        })
    }

    pub(crate) async fn notes(&self) -> Result<Vec<Note>, CliError> {
        Ok(match self {
            Self::Root(memory) => memory.notes().await?,
            Self::Scope(scope) => scope.notes().await?,
        })
    }

    pub(crate) fn add_note<'a>(&'a self, text: &'a str) -> AddNote<'a> {
        match self {
            Self::Root(memory) => memory.add_note(text),
            Self::Scope(scope) => scope.add_note(text),
        }
    }

    pub(crate) async fn remove_note(&self, id: NoteId) -> Result<bool, CliError> {
        Ok(match self {
            Self::Root(memory) => memory.remove_note(id).await?,
            Self::Scope(scope) => scope.remove_note(id).await?,
        })
    }

    pub(crate) async fn clear(&self) -> Result<u64, CliError> {
        Ok(match self {
            Self::Root(memory) => memory.clear().await?,
            Self::Scope(scope) => scope.clear().await?,
        })
    }

    /// Nothing is there under this key.
    pub(crate) fn no_entry(&self, session: &Session, key: &str) -> CliError {
        let shown_by = match self {
            Self::Root(_) => "`cork memory list`".into(),
            Self::Scope(scope) => format!("`cork scope show {}`", scope.id()),
        };
        let message = format!("{} has no entry {key:?}", self.describe(session));
        CliError::not_found(message).hint(format!("{shown_by} shows what is there"))
    }

    /// This place in words: "agent default", "scope task-1 of agent default".
    pub(crate) fn describe(&self, session: &Session) -> String {
        let agent = one_line(session.agent.agent_id().as_str());
        match self {
            Self::Root(_) => format!("agent {agent}"),
            Self::Scope(scope) => format!("scope {} of agent {agent}", one_line(scope.name().as_str())),
        }
    }
}
