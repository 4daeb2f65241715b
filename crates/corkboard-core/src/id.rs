//! Validated names and IDs.

use alloc::string::String;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::text::enum_text;
use crate::{LimitName, Limits, Refusal};

/// Refuses names that are blank, too long or contain control characters.
fn check_name(what: &'static str, text: &str, limit: LimitName, allowed: u64) -> Result<(), Refusal> {
    if is_plain(text) {
        return Limits::check(limit, text.len() as u64, allowed);
    }
    if text.trim().is_empty() {
        return Err(Refusal::Blank { what: what.into() });
    }
    if let Some((at, character)) = text.char_indices().find(|(_, character)| character.is_control()) {
        return Err(Refusal::ControlCharacter { what: what.into(), character, at });
    }
    Limits::check(limit, text.len() as u64, allowed)
}

/// Refuses a new name with invisible characters, so that no two names look alike. Names that are already stored are not
/// checked: they stay readable and can be deleted.
pub(crate) fn check_visible(what: &'static str, text: &str) -> Result<(), Refusal> {
    let is_unseen = |character: char| {
        // Invisible characters, line separators, and the other format characters (Unicode category Cf).
        is_hidden(character)
            || matches!(character,
                '\u{2028}'..='\u{2029}' | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
                | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}')
    };
    if is_plain(text) {
        return Ok(());
    }
    match text.char_indices().find(|(_, character)| is_unseen(*character)) {
        Some((at, character)) => Err(Refusal::ControlCharacter { what: what.into(), character, at }),
        None => Ok(()),
    }
}

/// Whether it is a control character, invisible, or only changes how its neighbours are shown: zero-width characters,
/// direction marks, variation selectors, tags.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Whether it is printable ASCII and does not begin with a space. Nearly all names are. Every read checks its key, so
/// this must be fast.
fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_graphic)
        && bytes.iter().fold(true, |plain, byte| plain & (0x20..0x7f).contains(byte))
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, $limit:ident, $allowed:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String))]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: &str, limits: &Limits) -> Result<Self, Refusal> {
                Self::check(text, limits)?;
                Ok(Self(Arc::from(text)))
            }

            /// Checks the text without creating a name.
            pub fn check(text: &str, limits: &Limits) -> Result<(), Refusal> {
                check_name($what, text, LimitName::$limit, limits.$allowed)
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

name!(
    /// The ID of an agent, which owns a memory.
    AgentId, "agent ID", AgentIdBytes, agent_id_bytes
);
name!(
    /// The key of an entry. Case-sensitive.
    Key, "key", KeyBytes, key_bytes
);
name!(
    /// The name of a scope. Two scopes may have the same name; their IDs differ.
    ScopeName, "scope name", ScopeNameBytes, scope_name_bytes
);

name!(
    /// The ID of a conversation, chosen by the client that talks with the agent.
    ConversationId, "conversation ID", ConversationIdBytes, conversation_id_bytes
);

name!(
    /// The name of a notebook; an agent may have several.
    NotebookName, "notebook name", NotebookNameBytes, notebook_name_bytes
);

name!(
    /// The ID of a board.
    BoardId, "board ID", BoardIdBytes, board_id_bytes
);

/// The name of a memory core. An agent's private core has the agent's ID after a prefix that shared cores cannot use.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct CoreId(Arc<str>);

impl CoreId {
    pub const PRIVATE: &str = "agent:";
    /// The shared core of facts about the user. Agents may write to it.
    pub const USER: &str = "user";

    /// The name of a shared core. Refuses invalid names.
    pub fn new(text: &str, limits: &Limits) -> Result<Self, Refusal> {
        check_name("core name", text, LimitName::CoreIdBytes, limits.core_id_bytes)?;
        if text.starts_with(Self::PRIVATE) {
            return Err(Refusal::ReservedName { what: "core name".into(), prefix: Self::PRIVATE.into() });
        }
        Ok(Self(Arc::from(text)))
    }

    /// The private core of an agent: its long-term memory.
    pub fn of_agent(agent: &AgentId) -> Self {
        let mut name = String::with_capacity(Self::PRIVATE.len() + agent.as_str().len());
        name.push_str(Self::PRIVATE);
        name.push_str(agent.as_str());
        Self(Arc::from(name))
    }

    pub(crate) fn is_private(&self) -> bool {
        self.0.starts_with(Self::PRIVATE)
    }

    /// The agent whose private core this is.
    pub fn agent(&self) -> Option<AgentId> {
        self.0.strip_prefix(Self::PRIVATE).map(|agent| AgentId(Arc::from(agent)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl AgentId {
    /// The text, without copying it.
    pub(crate) fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl Key {
    /// The text, without copying it.
    pub(crate) fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl From<&ConversationId> for ScopeName {
    /// The name of a conversation's scope is the conversation's ID.
    fn from(id: &ConversationId) -> Self {
        Self(id.0.clone())
    }
}

impl ScopeName {
    pub fn root() -> Self {
        Self(Arc::from("root"))
    }
}

pub(crate) fn check_tag(tag: &str, limits: &Limits) -> Result<(), Refusal> {
    check_name("tag", tag, LimitName::TagBytes, limits.tag_bytes)
}

/// Checks the name of a principal. The rules are those of agent IDs, because principals are often agents.
pub(crate) fn check_principal(what: &'static str, principal: &str, limits: &Limits) -> Result<(), Refusal> {
    check_name(what, principal, LimitName::AgentIdBytes, limits.agent_id_bytes)
}

pub(crate) fn check_idempotency_key(key: &str, limits: &Limits) -> Result<(), Refusal> {
    check_name("idempotency key", key, LimitName::IdempotencyKeyBytes, limits.idempotency_key_bytes)
}

macro_rules! plain_id {
    ($(#[$doc:meta])* $name:ident($inner:ty) $($default:ident)?) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, $($default,)? PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

plain_id!(
    /// The random ID of one committed revision. Revision and commit ID together distinguish two histories.
    CommitId(Uuid)
);
plain_id!(
    /// The ID of an entry. It stays the same when the value changes.
    EntryId(Uuid)
);
plain_id!(
    /// The ID of a scope. The root scope has the nil ID.
    ScopeId(Uuid)
);

plain_id!(
    /// The number of a note in its space.
    NoteId(u64) Default
);

impl CommitId {
    /// The commit ID of an empty log.
    pub const NONE: Self = Self(Uuid::nil());
}

impl ScopeId {
    /// The root scope: the agent's own memory.
    pub const ROOT: Self = Self(Uuid::nil());

    pub fn is_root(&self) -> bool {
        self.0.is_nil()
    }
}

/// The kind of a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpaceKind {
    /// One agent's memory.
    Agent,
    /// One board.
    Board,
    /// One memory core.
    Core,
    /// The access tokens of a store.
    Tokens,
    /// The scratchpad of one conversation with an agent.
    Conversation,
}

enum_text!(SpaceKind {
    Agent => "agent",
    Board => "board",
    Core => "core",
    Tokens => "tokens",
    Conversation => "conversation",
});

impl SpaceKind {
    pub const ALL: &[Self] = &[Self::Agent, Self::Board, Self::Core, Self::Tokens, Self::Conversation];
}

/// The ID of a space in a store: its kind, a slash and its name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(Arc<str>);

impl SpaceId {
    pub fn agent(agent: &AgentId) -> Self {
        Self::of(SpaceKind::Agent, agent.as_str())
    }

    pub fn board(board: &BoardId) -> Self {
        Self::of(SpaceKind::Board, board.as_str())
    }

    pub fn core(core: &CoreId) -> Self {
        Self::of(SpaceKind::Core, core.as_str())
    }

    pub fn tokens() -> Self {
        Self::of(SpaceKind::Tokens, "all")
    }

    /// The space of one conversation with an agent. Its name is the agent's ID, a slash and the conversation's ID. In
    /// the agent's ID, `%` and `/` are percent-encoded, so that no two conversations share a name.
    pub fn conversation(agent: &AgentId, conversation: &ConversationId) -> Self {
        let mut id = String::from(Self::conversations_of(agent).as_str());
        id.push_str(conversation.as_str());
        Self(Arc::from(id))
    }

    /// The prefix of the IDs of all conversations with an agent. These IDs are adjacent in ID order.
    pub fn conversations_of(agent: &AgentId) -> Self {
        let mut name = agent.as_str().replace('%', "%25").replace('/', "%2F");
        name.push('/');
        Self::of(SpaceKind::Conversation, &name)
    }

    pub fn of(kind: SpaceKind, name: &str) -> Self {
        let mut id = String::with_capacity(kind.as_str().len() + 1 + name.len());
        id.push_str(kind.as_str());
        id.push('/');
        id.push_str(name);
        Self(Arc::from(id))
    }

    pub fn from_stored(id: &str) -> Self {
        Self(Arc::from(id))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part after the kind.
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }

    /// The kind of the space, if this version knows it.
    pub fn kind(&self) -> Option<SpaceKind> {
        let (kind, _) = self.0.split_once('/')?;
        SpaceKind::ALL.iter().copied().find(|known| known.as_str() == kind)
    }

    pub fn as_board(&self) -> Option<BoardId> {
        matches!(self.kind(), Some(SpaceKind::Board)).then(|| BoardId(Arc::from(self.name())))
    }

    pub fn as_core(&self) -> Option<CoreId> {
        matches!(self.kind(), Some(SpaceKind::Core)).then(|| CoreId(Arc::from(self.name())))
    }

    pub fn as_conversation(&self) -> Option<(AgentId, ConversationId)> {
        let (agent, conversation) = self.name().split_once('/')?;
        let agent = agent.replace("%2F", "/").replace("%25", "%");
        matches!(self.kind(), Some(SpaceKind::Conversation))
            .then(|| (AgentId(Arc::from(agent)), ConversationId(Arc::from(conversation))))
    }

    pub fn as_agent(&self) -> Option<AgentId> {
        matches!(self.kind(), Some(SpaceKind::Agent)).then(|| AgentId(Arc::from(self.name())))
    }
}

impl fmt::Display for SpaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SpaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), Refusal> {
        Key::new(text, &Limits::default()).map(|_| ())
    }

    #[test]
    fn names_are_printable_and_short_enough() {
        let long = "k".repeat(513);
        assert_eq!(check("user_id"), Ok(()));
        assert_eq!(check("ключ 🗝 /a/b"), Ok(()));
        assert_eq!(check(&long[..512]), Ok(()));
        assert_eq!(check(""), Err(Refusal::Blank { what: "key".into() }));
        assert_eq!(check(" \u{3000}\t"), Err(Refusal::Blank { what: "key".into() }));
        assert_eq!(check("a\nb"), Err(Refusal::ControlCharacter { what: "key".into(), character: '\n', at: 1 }));
        assert_eq!(check("a\u{85}"), Err(Refusal::ControlCharacter { what: "key".into(), character: '\u{85}', at: 1 }));
        assert_eq!(check(&long), Err(Refusal::Limit { limit: LimitName::KeyBytes, used: 513, allowed: 512 }));
    }

    #[test]
    fn a_new_name_has_no_invisible_characters() {
        for seen in ["ada", "ключ 🗝 /a/b", "名前", "שם", "اسم", "naïve", "a b", "e\u{301}"] {
            assert_eq!(check_visible("key", seen), Ok(()), "{seen:?}");
        }
        let unseen = [
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200c}',
            '\u{200d}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{2029}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2064}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{fe0f}',
            '\u{e0041}',
            '\u{600}',
            '\n',
            '\u{85}',
        ];
        for character in unseen {
            let (name, what) = (alloc::format!("ad{character}a"), "key".into());
            assert_eq!(check_visible("key", &name), Err(Refusal::ControlCharacter { what, character, at: 2 }));
        }
    }

    #[test]
    fn a_space_id_contains_its_agent() {
        let agent = AgentId::new("team/alice", &Limits::default()).unwrap();
        let space = SpaceId::agent(&agent);
        assert_eq!(space.as_str(), "agent/team/alice");
        assert_eq!(space.as_agent(), Some(agent));
        assert_eq!(SpaceId::from_stored("galaxy/x").kind(), None);
    }

    #[test]
    fn no_two_conversations_share_a_space() {
        let limits = Limits::default();
        let mut seen = alloc::collections::BTreeSet::new();
        for (agent, talk) in [("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("a%252Fb", "c"), ("a", "%2F"), ("a%", "/")] {
            let pair = (AgentId::new(agent, &limits).unwrap(), ConversationId::new(talk, &limits).unwrap());
            let space = SpaceId::conversation(&pair.0, &pair.1);
            assert!(space.as_str().starts_with(SpaceId::conversations_of(&pair.0).as_str()), "{space}");
            assert_eq!(space.as_conversation(), Some(pair));
            assert!(seen.insert(space));
        }
        assert_eq!(SpaceId::from_stored("conversation/ada").as_conversation(), None);
    }

    #[test]
    fn no_shared_core_has_the_name_of_a_private_one() {
        let (agent, limits) = (AgentId::new("team/alice", &Limits::default()).unwrap(), Limits::default());
        let private = CoreId::of_agent(&agent);
        assert_eq!(SpaceId::core(&private).as_str(), "core/agent:team/alice");
        assert_eq!(SpaceId::core(&private).as_core().and_then(|core| core.agent()), Some(agent));
        let refused = Refusal::ReservedName { what: "core name".into(), prefix: "agent:".into() };
        assert_eq!(CoreId::new(private.as_str(), &limits), Err(refused));
        assert_eq!(CoreId::new("agents", &limits).unwrap().agent(), None);
        assert!(matches!(CoreId::new(&"c".repeat(257), &limits), Err(Refusal::Limit { used: 257, .. })));
    }
}
