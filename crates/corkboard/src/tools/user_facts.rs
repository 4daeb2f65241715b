//! Facts about the user: texts with a key in the shared memory core `user`, which the context window of every agent
//! shows.
//!
//! An entry's text is `KEY: TEXT`, and a tag has the key's length, which splits it again.

use std::sync::Arc;

use corkboard_core::knowledge::{CoreCommand, CoreEntry, CoreEntryId, CoreState, NewCoreEntry, Trust};
use corkboard_core::{CoreId, Key};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::memory::WriteMode;
use super::{ToolContext, ToolError};
use crate::knowledge::Core;
use crate::{Corkboard, Error, Result};

/// What a permanent text is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum About {
    /// The project: it is in the agent's memory.
    Project,
    /// The user: it is in the core `user`.
    User,
}

/// The facts about the user, for one caller.
pub(super) struct UserFacts {
    core: Core,
}

pub(super) struct UserFact {
    pub(super) text: String,
    pub(super) version: u64,
    pub(super) trust: Trust,
}

impl ToolContext {
    pub(super) fn user_facts(&self, corkboard: &Corkboard) -> Result<UserFacts, ToolError> {
        let core = self.memory(corkboard)?.user_core().map_err(advised)?;
        Ok(UserFacts { core })
    }

    /// `None` if the caller may not use the core.
    pub(super) fn user_facts_if_any(&self, corkboard: &Corkboard) -> Result<Option<UserFacts>, ToolError> {
        match self.memory(corkboard)?.user_core() {
            Ok(core) => Ok(Some(UserFacts { core })),
            Err(error) if error.is_not_granted() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The fact with this key; `None` if there is none, or if the caller may not use the core.
    pub(super) async fn user_fact(&self, corkboard: &Corkboard, key: &str) -> Result<Option<UserFact>, ToolError> {
        let Some(facts) = self.user_facts_if_any(corkboard)? else { return Ok(None) };
        match facts.get(key).await {
            Err(ToolError::Advised { error, .. }) if error.is_not_granted() => Ok(None),
            found => found,
        }
    }
}

/// Adds what to do to the error of a caller who may not use the core.
fn advised(error: Error) -> ToolError {
    match error.is_not_granted() {
        true => {
            let advice = format!(
                "Write it with \"about\": \"project\", or ask a person for a token with access to the core {:?}",
                CoreId::USER
            );
            ToolError::Advised { error, advice }
        }
        false => error.into(),
    }
}

impl UserFacts {
    pub(super) fn core(&self) -> &Core {
        &self.core
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<UserFact>, ToolError> {
        let (current, _) = self.core.current().await.map_err(advised)?;
        let found = find(&current.state, key).last();
        Ok(found.map(|entry| {
            let text = text_under(entry, key).unwrap_or_default().into();
            UserFact { text, version: entry.version, trust: entry.trust() }
        }))
    }

    /// The key of an entry, if it has one.
    pub(super) async fn key_of(&self, id: CoreEntryId) -> Result<Option<String>> {
        let found = self.core.get(id).await?;
        Ok(found.and_then(|entry| keys(&entry).next().map(|(key, _)| key.into())))
    }

    /// Stores a text under a key, and returns whether the key existed. To append adds a line.
    pub(super) async fn write(
        &self,
        key: &str,
        text: String,
        mode: WriteMode,
        trust: Option<Trust>,
    ) -> Result<bool, ToolError> {
        let key = Key::new(key, &self.core.options().limits).map_err(Error::from)?;
        let (most, writer) = (Trust::most_of(self.core.actor().kind), self.core.actor().principal.clone());
        let make = move |state: &CoreState| {
            let key = key.as_str();
            let old: Vec<&Arc<CoreEntry>> = find(state, key).collect();
            let before = old.last().filter(|_| mode == WriteMode::Append);
            let before_text = before.and_then(|entry| text_under(entry, key)).filter(|text| !text.is_empty());
            let content = match before_text {
                Some(before) => format!("{key}: {before}\n{text}"),
                None => format!("{key}: {text}"),
            };
            let mut new = NewCoreEntry { trust, tags: vec![tag(key)], ..NewCoreEntry::new(content) };
            if let Some(before) = before {
                // Lines of different origins are as trusted as the least trusted of them.
                new.trust = Some(trust.unwrap_or(most).min(before.trust()));
                let names =
                    before.provenance.iter().flat_map(|origin| [&origin.author].into_iter().chain(&origin.edited_by));
                new.contributors = names.filter(|name| ***name != *writer).map(|name| name.to_string()).collect();
            }
            if let Some(old) = old.last() {
                new.importance = Some(old.importance);
                new.tags.extend(old.tags.iter().filter(|tag| key_length(tag).is_none()).map(|tag| tag.to_string()));
            }
            let mut remove: Vec<CoreEntryId> = old.iter().map(|entry| entry.id).collect();
            // Otherwise a forgotten entry with other white space would be restored.
            let same = state.saying(&new.content).and_then(|id| state.entries().get(&id));
            remove.extend(same.filter(|entry| entry.forgotten.is_some()).map(|entry| entry.id));
            let other = same.filter(|entry| *entry.content != *new.content && !remove.contains(&entry.id));
            match other {
                Some(other) => (CoreCommand::Exchange { remove: Vec::new(), add: Vec::new() }, Err(other.id)),
                None => (CoreCommand::Exchange { remove, add: vec![new] }, Ok(!old.is_empty())),
            }
        };
        self.core.compute(make).await.map_err(advised)?.map_err(|other| {
            let message = format!("the core {:?} has the same text, except for white space, as {other}", CoreId::USER);
            ToolError::Failed { message }
        })
    }

    /// Forgets a text. It can be restored in the core. Returns whether it existed.
    pub(super) async fn forget(&self, key: &str) -> Result<bool, ToolError> {
        let (current, _) = self.core.current().await.map_err(advised)?;
        let mut existed = false;
        for entry in find(&current.state, key) {
            self.core.forget(entry.id, None).await.map_err(advised)?;
            existed = true;
        }
        Ok(existed)
    }
}

fn tag(key: &str) -> String {
    format!("key:{}", key.len())
}

fn key_length(tag: &str) -> Option<usize> {
    tag.strip_prefix("key:")?.parse().ok()
}

/// The keys of an entry with its text under them. There is more than one if texts under different keys are the same
/// with their keys.
fn keys(entry: &CoreEntry) -> impl Iterator<Item = (&str, &str)> {
    entry.tags.iter().filter_map(|tag| {
        let (key, rest) = entry.content.split_at_checked(key_length(tag)?)?;
        Some((key, rest.strip_prefix(": ")?))
    })
}

fn text_under<'e>(entry: &'e CoreEntry, key: &str) -> Option<&'e str> {
    keys(entry).find(|(other, _)| *other == key).map(|(_, text)| text)
}

/// The entries with this key: one, unless a person restored an earlier one. The newest is last.
fn find<'s>(state: &'s CoreState, key: &str) -> impl Iterator<Item = &'s Arc<CoreEntry>> {
    let all = state.beginning_with(&format!("{key}:"));
    let mut found: Vec<_> = all.filter(|entry| entry.forgotten.is_none() && text_under(entry, key).is_some()).collect();
    found.sort_unstable_by_key(|entry| entry.id);
    found.into_iter()
}
