//! The parts of a knowledge graph as entries of a memory core: one entry per entity, observation and relation.
//!
//! An entry's text is for people and models: `Ada (person)`, `Ada: likes tea`, `Ada → works_at → Acme`. One tag has the
//! lengths that split the text again, whatever characters it contains.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use corkboard_core::knowledge::{CoreEntry, CoreState, NewCoreEntry};

/// A part of a knowledge graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Item<'a> {
    Entity {
        name: &'a str,
        entity_type: &'a str,
    },
    Observation {
        entity: &'a str,
        /// Which of the entities with that name, from 0. The reference server creates several if one call names them.
        nth: usize,
        text: &'a str,
    },
    Relation {
        from: &'a str,
        relation_type: &'a str,
        to: &'a str,
    },
}

impl<'a> Item<'a> {
    /// The item in a core's entry, if the entry has one.
    pub(super) fn of(entry: &'a CoreEntry) -> Option<Self> {
        entry.tags.iter().find_map(|tag| Self::parse(tag, &entry.content))
    }

    /// `extra` is the length of what makes the text unique at its end.
    fn parse(tag: &str, content: &'a str) -> Option<Self> {
        let mut parts = tag.split(':');
        let kind = parts.next()?;
        let mut number = || parts.next()?.parse::<usize>().ok();
        let (extra, first) = (number()?, number()?);
        let content = content.get(..content.len().checked_sub(extra)?)?;
        let (name, rest) = content.split_at_checked(first)?;
        match kind {
            "entity" => {
                let entity_type = rest.strip_prefix(" (")?.strip_suffix(')')?;
                Some(Self::Entity { name, entity_type })
            }
            "observation" => Some(Self::Observation { entity: name, nth: number()?, text: rest.strip_prefix(": ")? }),
            "relation" => {
                let (relation_type, to) = rest.strip_prefix(" → ")?.split_at_checked(number()?)?;
                Some(Self::Relation { from: name, relation_type, to: to.strip_prefix(" → ")? })
            }
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Entity { name, entity_type } => format!("{name} ({entity_type})"),
            Self::Observation { entity, text, .. } => format!("{entity}: {text}"),
            Self::Relation { from, relation_type, to } => format!("{from} → {relation_type} → {to}"),
        }
    }

    fn tag(&self, extra: usize) -> String {
        match self {
            Self::Entity { name, .. } => format!("entity:{extra}:{}", name.len()),
            Self::Observation { entity, nth, .. } => format!("observation:{extra}:{}:{nth}", entity.len()),
            Self::Relation { from, relation_type, .. } => {
                format!("relation:{extra}:{}:{}", from.len(), relation_type.len())
            }
        }
    }

    /// The entries that contain this item.
    pub(super) fn find<'s>(self, state: &'s CoreState) -> impl Iterator<Item = &'s Arc<CoreEntry>> + use<'s, 'a> {
        live(state.beginning_with(&self.text())).filter(move |entry| Item::of(entry) == Some(self))
    }
}

/// The entries of entities with this name.
pub(super) fn entities<'s>(state: &'s CoreState, name: &str) -> impl Iterator<Item = &'s Arc<CoreEntry>> {
    live(state.beginning_with(&format!("{name} (")))
        .filter(move |entry| matches!(Item::of(entry), Some(Item::Entity { name: other, .. }) if other == name))
}

fn live<'s>(entries: impl Iterator<Item = &'s Arc<CoreEntry>>) -> impl Iterator<Item = &'s Arc<CoreEntry>> {
    entries.filter(|entry| entry.forgotten.is_none())
}

/// New entries for a core in which no two entries may have the same text, white space aside.
pub(super) struct NewItems<'s> {
    state: &'s CoreState,
    entries: Vec<NewCoreEntry>,
    texts: HashSet<String>,
    /// The last number that made a text unique.
    numbers: HashMap<String, usize>,
}

impl<'s> NewItems<'s> {
    pub(super) fn new(state: &'s CoreState) -> Self {
        Self { state, entries: Vec::new(), texts: HashSet::new(), numbers: HashMap::new() }
    }

    pub(super) fn push(&mut self, item: Item<'_>) {
        let text = item.text();
        let mut content = text.clone();
        if self.is_taken(item, &content) {
            let mut number = self.numbers.get(&text).copied().unwrap_or(1);
            while self.is_taken(item, &content) {
                number += 1;
                content = format!("{text} ({number})");
            }
            self.numbers.insert(text.clone(), number);
        }
        self.texts.insert(plain(&content));
        let tags = vec![item.tag(content.len() - text.len())];
        self.entries.push(NewCoreEntry { tags, ..NewCoreEntry::new(content) });
    }

    /// Whether another entry has this text. An entry with the same item that was forgotten is restored instead.
    fn is_taken(&self, item: Item<'_>, text: &str) -> bool {
        let found = self.state.saying(text).and_then(|id| self.state.entries().get(&id));
        let is_other = |entry: &Arc<CoreEntry>| entry.forgotten.is_none() || Item::of(entry) != Some(item);
        found.is_some_and(is_other) || self.texts.contains(&plain(text))
    }

    pub(super) fn into_entries(self) -> Vec<NewCoreEntry> {
        self.entries
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_readable_and_splits_again() {
        for (item, text) in [
            (Item::Entity { name: "Ada", entity_type: "person" }, "Ada (person)"),
            (Item::Entity { name: "a (b", entity_type: "c) (d" }, "a (b (c) (d)"),
            (Item::Entity { name: "", entity_type: "" }, " ()"),
            (Item::Observation { entity: "Ada", nth: 0, text: "likes\n tea" }, "Ada: likes\n tea"),
            (Item::Observation { entity: "a: b", nth: 2, text: " c: d" }, "a: b:  c: d"),
            (Item::Observation { entity: "", nth: 0, text: "" }, ": "),
            (Item::Relation { from: "Zoë → x", relation_type: "→", to: " 🌍" }, "Zoë → x → → →  🌍"),
            (Item::Relation { from: "", relation_type: "", to: "" }, " →  → "),
        ] {
            assert_eq!(item.text(), text);
            assert_eq!(Item::parse(&item.tag(0), text), Some(item));
            assert_eq!(Item::parse(&item.tag(4), &format!("{text} (2)")), Some(item));
        }
    }

    #[test]
    fn other_tags_and_edited_texts_are_no_items() {
        for (tag, text) in [
            ("entity", "Ada (person)"),
            ("person", "Ada (person)"),
            ("entity:0:x", "Ada (person)"),
            ("entity:0:4", "Ada (person)"),
            ("entity:99:3", "Ada (person)"),
            ("observation:0:1:0", "é: x"),
            ("relation:0:1:18446744073709551615", "a → b → c"),
            ("relation:0:1:9", "a → b → c"),
        ] {
            assert_eq!(Item::parse(tag, text), None, "{tag} {text}");
        }
    }
}
