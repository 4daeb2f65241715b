//! The addresses of resources: what a URI names.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use corkboard::boards::TaskId;
use corkboard::{AgentId, BoardId, ConversationId, CoreId, Limits, SpaceId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::ErrorData;

const SCHEME: &str = "cork://";
/// Letters of names that a URI shows as they are.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    Handoff { agent: String },
    Context { agent: String },
    Scratchpad { agent: String, conversation: String },
    Notebook { agent: String, notebook: String },
    Board { board: String },
    TaskContext { board: String, task: TaskId },
    Core { core: String },
}

/// A family of resources: the template of its URIs, its name and its description.
pub(super) const TEMPLATES: [(&str, &str, &str); 7] = [
    ("cork://agents/{agent}/handoff", "handoff", "Note that an agent's last session left for the next one"),
    ("cork://agents/{agent}/context", "context", "An agent's memory, composed into a prompt"),
    ("cork://agents/{agent}/conversations/{conversation}", "scratchpad", "Scratchpad of one conversation"),
    ("cork://agents/{agent}/notebooks/{notebook}", "notebook", "Progress, key learnings and snippets of a notebook"),
    ("cork://boards/{board}", "board", "Progress of a board: its tasks by status"),
    ("cork://boards/{board}/tasks/{task}/context", "task", "What a worker needs for a task of a board"),
    ("cork://cores/{core}", "core", "Entries of a memory core, newest last"),
];

impl Address {
    /// The space whose changes change the resource.
    pub(super) fn space(&self, limits: &Limits) -> corkboard::Result<SpaceId> {
        Ok(match self {
            Self::Handoff { agent } | Self::Context { agent } | Self::Notebook { agent, .. } => {
                SpaceId::agent(&AgentId::new(agent, limits)?)
            }
            Self::Scratchpad { agent, conversation } => {
                SpaceId::conversation(&AgentId::new(agent, limits)?, &ConversationId::new(conversation, limits)?)
            }
            Self::Board { board } | Self::TaskContext { board, .. } => SpaceId::board(&BoardId::new(board, limits)?),
            Self::Core { core } => SpaceId::core(&match core.strip_prefix(CoreId::PRIVATE) {
                Some(agent) => CoreId::of_agent(&AgentId::new(agent, limits)?),
                None => CoreId::new(core, limits)?,
            }),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |name| utf8_percent_encode(name, ESCAPED);
        f.write_str(SCHEME)?;
        match self {
            Self::Handoff { agent } => write!(f, "agents/{}/handoff", name(agent)),
            Self::Context { agent } => write!(f, "agents/{}/context", name(agent)),
            Self::Scratchpad { agent, conversation } => {
                write!(f, "agents/{}/conversations/{}", name(agent), name(conversation))
            }
            Self::Notebook { agent, notebook } => write!(f, "agents/{}/notebooks/{}", name(agent), name(notebook)),
            Self::Board { board } => write!(f, "boards/{}", name(board)),
            Self::TaskContext { board, task } => write!(f, "boards/{}/tasks/{task}/context", name(board)),
            Self::Core { core } => write!(f, "cores/{}", name(core)),
        }
    }
}

impl FromStr for Address {
    type Err = ErrorData;

    fn from_str(uri: &str) -> Result<Self, ErrorData> {
        let unknown = || {
            let forms = TEMPLATES.map(|(template, ..)| template).join(", ");
            ErrorData::resource_not_found(format!("no resource {uri}; expected one of {forms}"), None)
        };
        let path = uri.strip_prefix(SCHEME).ok_or_else(unknown)?;
        let decoded = path.split('/').map(|part| percent_decode_str(part).decode_utf8().map(Cow::into_owned));
        let parts: Vec<String> = decoded.collect::<Result<_, _>>().map_err(|_| unknown())?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Ok(match *parts.as_slice() {
            ["agents", agent, "handoff"] => Self::Handoff { agent: agent.into() },
            ["agents", agent, "context"] => Self::Context { agent: agent.into() },
            ["agents", agent, "conversations", conversation] => {
                Self::Scratchpad { agent: agent.into(), conversation: conversation.into() }
            }
            ["agents", agent, "notebooks", notebook] => {
                Self::Notebook { agent: agent.into(), notebook: notebook.into() }
            }
            ["boards", board] => Self::Board { board: board.into() },
            ["boards", board, "tasks", task, "context"] => {
                Self::TaskContext { board: board.into(), task: task.parse().map_err(|_| unknown())? }
            }
            ["cores", core] => Self::Core { core: core.into() },
            _ => return Err(unknown()),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let agent = || "a b/ü%".to_owned();
        let addresses = [
            Address::Handoff { agent: agent() },
            Address::Context { agent: agent() },
            Address::Scratchpad { agent: agent(), conversation: "c/1".into() },
            Address::Notebook { agent: agent(), notebook: "main".into() },
            Address::Board { board: "add-login-1a2b".into() },
            Address::TaskContext { board: "b".into(), task: "T-7".parse().unwrap() },
            Address::Core { core: "agent:a b".into() },
        ];
        for (address, (template, ..)) in addresses.into_iter().zip(TEMPLATES) {
            let uri = address.to_string();
            assert_eq!(uri.matches('/').count(), template.matches('/').count(), "{uri}");
            assert_eq!(uri.parse().ok(), Some(address), "{uri}");
        }
        for wrong in [
            "",
            "cork://",
            "cork://boards",
            "cork://boards/b/tasks/seven/context",
            "http://boards/b",
            "cork://agents/%ff/handoff",
        ] {
            assert!(wrong.parse::<Address>().is_err_and(|error| error.message.contains(wrong)), "{wrong}");
        }
    }
}
