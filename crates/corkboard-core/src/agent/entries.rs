//! Decisions on single entries and on batches of them.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::decide::{DecideResult, check_totals, expect_scope};
use super::{AgentEvent, AgentReply, AgentState, EntryChange, Separator};
use crate::id::check_visible;
use crate::space::CommandEffects;
use crate::{
    Content, Context, Entry, EntryData, EntryId, EntryMetadata, Key, LimitName, Limits, Refusal, ScopeId, Space,
};

pub(super) fn remove(state: &AgentState, scope: ScopeId, key: &Key, if_version: Option<u64>) -> DecideResult {
    let removed = entry_removed(state, scope, key, if_version)?;
    let existed = removed.is_some();
    Ok(CommandEffects::new(removed.into_iter().collect(), AgentReply::Removed { existed }))
}

/// Decides the changes in order, each on a copy of the state that contains the previous ones.
///
/// A batch is a bulk command: the limits apply to each value and to the final state. So a change that frees space may
/// come after one that needs it. In total, a batch may write as many bytes as a state may have (or already has), so its
/// revision is not larger than that of a merge or a restore.
pub(super) fn batch(
    state: &AgentState,
    context: &Context<'_>,
    scope: ScopeId,
    changes: &[EntryChange],
) -> DecideResult {
    expect_scope(state, scope)?;
    let stamp = context.stamp();
    let allowed = context.limits.state_bytes.max(state.bytes);
    let (mut after, mut events) = (state.clone(), Vec::new());
    let mut written = 0;
    for change in changes {
        for event in events_of(&after, context, scope, change)? {
            written += written_bytes(&event);
            // The event was decided on this state, so it fits. If it did not, the commit would fail.
            let _ = after.apply(&event, stamp);
            events.push(event);
        }
        Limits::check(LimitName::StateBytes, written, allowed)?;
    }
    let warnings = check_totals(state, context, context.outside.entries + after.entries, after.notes, after.bytes)?;
    Ok(CommandEffects { events, reply: AgentReply::Done, warnings })
}

fn events_of(
    state: &AgentState,
    context: &Context<'_>,
    scope: ScopeId,
    change: &EntryChange,
) -> Result<Vec<AgentEvent>, Refusal> {
    Ok(match change {
        EntryChange::Set { key, value, type_name, metadata, if_version } => {
            let set = entry_set(state, context, scope, key, NewValue { value, type_name, metadata }, *if_version)?;
            alloc::vec![set.event]
        }
        EntryChange::Append { key, text, separator, if_version } => {
            let appended = entry_appended(state, context, scope, key, text, *separator, *if_version)?;
            alloc::vec![appended.event]
        }
        EntryChange::Remove { key, if_version } => entry_removed(state, scope, key, *if_version)?.into_iter().collect(),
        EntryChange::Move { from, to } => {
            let entries = &expect_scope(state, scope)?.entries;
            let entry = entries.get(from).ok_or_else(|| Refusal::NoEntry { key: from.clone() })?;
            check_version(to, entries.get(to), Some(0))?;
            check_visible("key", to.as_str())?;
            let removed = AgentEvent::EntryRemoved { scope, key: from.clone() };
            let entry = Box::new(entry.data.clone());
            alloc::vec![removed, AgentEvent::EntrySet { scope, key: to.clone(), is_update: false, entry }]
        }
    })
}

/// The bytes that an event adds to the log.
fn written_bytes(event: &AgentEvent) -> u64 {
    match event {
        AgentEvent::EntrySet { key, entry, .. } => key.as_str().len() as u64 + entry.bytes(),
        AgentEvent::EntryAppended { key, text, .. } => (key.as_str().len() + text.len()) as u64,
        _ => 0,
    }
}

/// An event that writes an entry. The limits of the whole memory are not checked yet.
pub(super) struct EntryWrite<'a> {
    event: AgentEvent,
    old: Option<&'a Arc<Entry>>,
    /// The size of the new entry.
    bytes: u64,
}

impl EntryWrite<'_> {
    pub(super) fn decided(self, state: &AgentState, context: &Context<'_>, key: &Key) -> DecideResult {
        let Self { event, old, bytes } = self;
        let key_bytes = key.as_str().len() as u64;
        let entries = context.outside.entries + state.entries + u64::from(old.is_none());
        let bytes = state.bytes - old.map_or(0, |old| old.bytes() + key_bytes) + key_bytes + bytes;
        let warnings = check_totals(state, context, entries, state.notes, bytes)?;
        Ok(CommandEffects {
            events: alloc::vec![event],
            reply: AgentReply::Written { is_update: old.is_some() },
            warnings,
        })
    }
}

/// The new value of an entry.
pub(super) struct NewValue<'a> {
    pub(super) value: &'a Content,
    pub(super) type_name: &'a Arc<str>,
    pub(super) metadata: &'a EntryMetadata,
}

pub(super) fn entry_set<'a>(
    state: &'a AgentState,
    context: &Context<'_>,
    scope: ScopeId,
    key: &Key,
    new: NewValue<'_>,
    if_version: Option<u64>,
) -> Result<EntryWrite<'a>, Refusal> {
    let NewValue { value, type_name, metadata } = new;
    let old = expect_scope(state, scope)?.entries.get(key);
    check_version(key, old, if_version)?;
    if old.is_none() {
        check_visible("key", key.as_str())?;
    }
    metadata.check(context.now, context.limits)?;
    context.limits.check_json_depth(value.depth())?;
    Limits::check(LimitName::TypeNameBytes, type_name.len() as u64, context.limits.type_name_bytes)?;
    let entry = EntryData {
        id: old.map_or_else(|| EntryId(context.next_id()), |old| old.id),
        value: value.clone(),
        type_name: type_name.clone(),
        kind: metadata.kind.unwrap_or_default(),
        importance: metadata.importance.unwrap_or(EntryMetadata::IMPORTANCE),
        tags: metadata.tags.iter().flatten().map(|tag| Arc::from(tag.as_str())).collect(),
        custom: metadata.custom.clone().map(Arc::new),
        at: metadata.at.unwrap_or(context.now),
        expires_at: metadata.expiry(context.now)?,
        author: Arc::from(metadata.author.as_deref().unwrap_or(&context.actor.principal)),
        session: metadata.session.as_deref().map(Arc::from),
        trust: metadata.trust_by(context.actor)?,
    };
    let bytes = entry.bytes();
    Limits::check(LimitName::CommandBytes, bytes, context.limits.command_bytes)?;
    Limits::check(LimitName::EntryBytes, bytes, context.limits.entry_bytes)?;
    let is_update = old.is_some();
    let event = AgentEvent::EntrySet { scope, key: key.clone(), is_update, entry: Box::new(entry) };
    Ok(EntryWrite { event, old, bytes })
}

pub(super) fn entry_appended<'a>(
    state: &'a AgentState,
    context: &Context<'_>,
    scope: ScopeId,
    key: &Key,
    text: &str,
    separator: Separator,
    if_version: Option<u64>,
) -> Result<EntryWrite<'a>, Refusal> {
    let Some(old) = expect_scope(state, scope)?.entries.get(key) else {
        let value = Content::of(text).map_err(|_| Refusal::NotText { key: key.clone(), found: "unreadable".into() })?;
        let new = NewValue { value: &value, type_name: &Arc::from("text"), metadata: &EntryMetadata::default() };
        return entry_set(state, context, scope, key, new, if_version);
    };
    check_version(key, Some(old), if_version)?;
    let json = old.value.as_json();
    if !json.starts_with('"') {
        return Err(Refusal::NotText { key: key.clone(), found: old.value.kind_of_value().into() });
    }
    Limits::check(LimitName::CommandBytes, text.len() as u64, context.limits.command_bytes)?;
    let mut text = text.to_owned();
    if separator == Separator::Line && json.len() > 2 {
        text.insert(0, '\n');
    }
    // Like for `Set`, the limit applies to the JSON: escapes count, and the two quotes are already there.
    let added = serde_json::to_string(&text).map_or(0, |json| json.len() as u64 - 2);
    let bytes = old.bytes() + added;
    Limits::check(LimitName::EntryBytes, bytes, context.limits.entry_bytes)?;
    let event = AgentEvent::EntryAppended { scope, key: key.clone(), text };
    Ok(EntryWrite { event, old: Some(old), bytes })
}

fn entry_removed(
    state: &AgentState,
    scope: ScopeId,
    key: &Key,
    if_version: Option<u64>,
) -> Result<Option<AgentEvent>, Refusal> {
    let old = expect_scope(state, scope)?.entries.get(key);
    check_version(key, old, if_version)?;
    Ok(old.map(|_| AgentEvent::EntryRemoved { scope, key: key.clone() }))
}

fn check_version(key: &Key, old: Option<&Arc<Entry>>, if_version: Option<u64>) -> Result<(), Refusal> {
    let Some(expected) = if_version else { return Ok(()) };
    if old.map_or(0, |entry| entry.version) == expected {
        return Ok(());
    }
    let current = old.map(|entry| Box::new(Entry::clone(entry)));
    Err(Refusal::Conflict { key: key.clone(), expected, current })
}
