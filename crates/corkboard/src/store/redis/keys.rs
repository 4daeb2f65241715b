//! The names of keys. `{space}` is a hash tag, so that all keys of a space are on the same node.

use corkboard_core::{CommitId, Head, SpaceId};

/// Key names with one prefix.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    prefix: String,
}

pub(super) struct SpaceKeys {
    pub(super) head: String,
    pub(super) log: String,
    pub(super) snapshot: String,
    /// Temporary key for building a rewritten log.
    pub(super) rewritten: String,
    pub(super) channel: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.into() }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn of(&self, space: &SpaceId) -> SpaceKeys {
        let key = |what: &str| self.key(space, what);
        SpaceKeys {
            head: key("head"),
            log: key("log"),
            snapshot: key("snapshot"),
            rewritten: key("rewritten"),
            channel: key("wake"),
        }
    }

    pub(super) fn head(&self, space: &SpaceId) -> String {
        self.key(space, "head")
    }

    pub(super) fn channel(&self, space: &SpaceId) -> String {
        self.key(space, "wake")
    }

    fn key(&self, space: &SpaceId, what: &str) -> String {
        let mut key = String::with_capacity(self.prefix.len() + space.as_str().len() + what.len() + 4);
        key.push_str(&self.prefix);
        key.push_str(":{");
        push_tag(&mut key, space.as_str());
        key.push_str("}:");
        key.push_str(what);
        key
    }

    /// Returns the space of a key, and the key's suffix.
    pub(super) fn space_of<'a>(&self, key: &'a str) -> Option<(SpaceId, &'a str)> {
        let (tag, what) = key.strip_prefix(&self.prefix)?.strip_prefix(":{")?.split_once("}:")?;
        Some((SpaceId::from_stored(&from_tag(tag)?), what))
    }

    /// A pattern for SCAN. Prefixes contain no special characters.
    pub(super) fn all(&self, what: &str) -> String {
        format!("{}:{{*}}:{what}", self.prefix)
    }

    /// The pattern of all spaces' channels. A user may only subscribe to a pattern that its permissions name literally,
    /// and this is the one they contain.
    pub(super) fn channels(&self) -> String {
        format!("{}:*", self.prefix)
    }

    /// The key for data about the whole store. No space's tag is `index`, because a tag contains a kind and a slash.
    pub(super) fn meta(&self) -> String {
        format!("{}:{{index}}:meta", self.prefix)
    }

    /// Temporary keys for testing the user's permissions.
    pub(super) fn trial(&self) -> [String; 2] {
        ["one", "other"].map(|what| format!("{}:{{trial}}:{what}", self.prefix))
    }

    /// The sorted set of a kind's spaces: equal scores, members made by [`listed`].
    pub(super) fn spaces(&self, kind: &str) -> String {
        format!("{}:{{index}}:spaces:{kind}", self.prefix)
    }

    /// The sorted set of a kind's due dates: scores are times, members made by [`due`].
    pub(super) fn dues(&self, kind: &str) -> String {
        format!("{}:{{index}}:due:{kind}", self.prefix)
    }
}

/// The kind of a space, even one that this version does not know.
pub(super) fn kind_of(space: &SpaceId) -> &str {
    space.as_str().split_once('/').map_or("", |(kind, _)| kind)
}

/// The hint that a space exists, in the life that began at revision `born`.
pub(super) fn listed(space: &SpaceId, born: &str) -> String {
    format!("{space}\0{born}")
}

/// The hint that something expires in a space, according to the append that `hint` names.
pub(super) fn due(space: &SpaceId, hint: &str) -> String {
    format!("{space}\0{hint}")
}

/// Identifies the append that set a due date.
pub(super) fn due_hint(head: Head) -> String {
    format!("{}-{}", head.rev, head.commit.0.as_simple())
}

/// The revision in a hint of a due date.
pub(super) fn revision_of(hint: &str) -> Option<u64> {
    hint.split_once('-')?.0.parse().ok()
}

/// Splits a member of an index into its space and the rest.
pub(super) fn member(bytes: &[u8]) -> Option<(SpaceId, &str)> {
    let (space, rest) = std::str::from_utf8(bytes).ok()?.rsplit_once('\0')?;
    Some((SpaceId::from_stored(space), rest))
}

pub(super) fn commit_bytes(commit: &CommitId) -> &[u8] {
    commit.0.as_bytes()
}

/// Appends a hash tag. A tag ends at the first closing brace, so braces are encoded.
fn push_tag(key: &mut String, space: &str) {
    for character in space.chars() {
        match character {
            '%' => key.push_str("%25"),
            '{' => key.push_str("%7B"),
            '}' => key.push_str("%7D"),
            other => key.push(other),
        }
    }
    if space.is_empty() {
        // Redis ignores an empty tag.
        key.push('%');
    }
}

fn from_tag(tag: &str) -> Option<String> {
    if tag == "%" {
        return Some(String::new());
    }
    let mut space = String::with_capacity(tag.len());
    let mut rest = tag;
    while let Some((before, after)) = rest.split_once('%') {
        space.push_str(before);
        let (code, after) = after.split_at_checked(2)?;
        space.push(match code {
            "25" => '%',
            "7B" => '{',
            "7D" => '}',
            _ => return None,
        });
        rest = after;
    }
    space.push_str(rest);
    Some(space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_unique_and_decode_to_their_space() {
        let keys = Keys::new("cork");
        let names = [
            "agent/alice",
            "agent/{a}",
            "agent/}",
            "agent/%7B",
            "agent/%",
            "agent/\u{1F4CC} \u{e9}:{",
            "",
            "%",
            "a}:b",
        ];
        let mut seen = std::collections::HashSet::new();
        for name in names {
            let space = SpaceId::from_stored(name);
            let key = keys.of(&space).log;
            // Redis hashes the text between the first opening and the first closing brace, which must not be empty.
            let tag = key.split_once('{').unwrap().1.split_once('}').unwrap().0;
            assert!(!tag.is_empty() && seen.insert(tag.to_owned()), "{key}");
            assert_eq!(keys.space_of(&key), Some((space, "log")));
        }
        assert_eq!(keys.of(&SpaceId::from_stored("agent/alice")).log, "cork:{agent/alice}:log");
        assert_eq!(keys.space_of("other:{agent/alice}:log"), None);
        assert_eq!(keys.space_of("cork:{agent/%zz}:log"), None);
    }

    #[test]
    fn members_sort_like_their_spaces() {
        let mut spaces = ["agent/a", "agent/a b", "agent/a/b", "agent/ab", "agent/\u{e9}"].map(SpaceId::from_stored);
        spaces.sort();
        let members: Vec<String> = spaces.iter().map(|space| listed(space, "17")).collect();
        assert!(members.is_sorted());
        assert_eq!(member(members[0].as_bytes()), Some((spaces[0].clone(), "17")));
    }
}
