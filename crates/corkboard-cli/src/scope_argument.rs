//! The scope of a command: the root, or the one that `--scope` names.

use clap::Args;
use corkboard::{MemoryHandle, Scope, ScopeInfo, WorkingMemory};

use crate::command_session::Session;
use crate::error::CliError;
use crate::output::one_line;

/// Minimum length of an abbreviated ID.
const SHORTEST_ID: usize = 4;

#[derive(Args)]
pub(crate) struct ScopeArgument {
    /// Scope to use, instead of the agent's root scope: its ID, the start of its ID, or its name
    #[arg(long, value_name = "ID")]
    scope: Option<String>,
}

impl ScopeArgument {
    pub(crate) async fn find(&self, session: &Session) -> Result<MemoryHandle, CliError> {
        let memory = session.memory();
        match self.scope.as_deref() {
            None | Some("root") => Ok(MemoryHandle::clone(&memory)),
            Some(given) => {
                let scope = find_scope(&memory, given).await?;
                Ok(MemoryHandle::clone(&scope))
            }
        }
    }
}

/// Finds a scope by its ID, the start of its ID, or its name.
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
            let message = format!("{given:?} is ambiguous; it matches these scopes:{}", lines.collect::<String>());
            Err(CliError::invalid("ambiguous_scope", message).hint("use more characters of the ID"))
        }
    }
}

fn no_such_scope(given: &str) -> CliError {
    let failure = CliError::not_found(format!("scope {given:?} not found"));
    if given.len() < SHORTEST_ID {
        return failure.hint(format!(
            "an abbreviated ID needs at least {SHORTEST_ID} characters; `cork scope list` shows the scopes"
        ));
    }
    failure.hint("`cork scope list` shows the scopes")
}

/// The error for a key that has no entry.
pub(crate) fn no_entry(session: &Session, memory: &MemoryHandle, key: &str) -> CliError {
    let shown_by = match memory.scope_id() {
        root if root.is_root() => "`cork memory list`".into(),
        scope => format!("`cork scope show {scope}`"),
    };
    let message = format!("{} has no entry {key:?}", describe(session, memory));
    if key.strip_prefix("note ").is_some_and(|number| number.parse::<u64>().is_ok()) {
        return CliError::not_found(message).hint("`cork memory note list` shows the notes");
    }
    CliError::not_found(message).hint(format!("{shown_by} shows the entries"))
}

/// For example, "agent default" or "scope task-1 of agent default".
pub(crate) fn describe(session: &Session, memory: &MemoryHandle) -> String {
    let agent = one_line(session.agent.agent_id().as_str());
    match memory.scope_id().is_root() {
        true => format!("agent {agent}"),
        false => format!("scope {} of agent {agent}", one_line(memory.scope_name().as_str())),
    }
}
