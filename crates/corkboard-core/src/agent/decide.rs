//! Commands become events, or are refused.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{AgentCommand, AgentEvent, AgentImage, AgentReply, AgentState, Kept, Separator};
use crate::id::{check_principal, check_tag};
use crate::space::Decision;
use crate::{
    Content, Context, Entry, EntryData, EntryId, EntryMetadata, Key, LimitName, LimitWarning, Limits, Note, NoteId,
    Refusal, ScopeId, ScopeState, Space, Usage,
};

type Decided = Result<Decision<AgentEvent, AgentReply>, Refusal>;

pub(super) fn decide(state: &AgentState, command: &AgentCommand, context: &Context<'_>) -> Decided {
    match command {
        AgentCommand::Set { scope, key, value, type_name, metadata, if_version } => {
            set(state, context, *scope, key, value, type_name, metadata, *if_version)
        }
        AgentCommand::Append { scope, key, text, separator, if_version } => {
            append(state, context, *scope, key, text, *separator, *if_version)
        }
        AgentCommand::Remove { scope, key, if_version } => remove(state, *scope, key, *if_version),
        AgentCommand::Clear { scope } => clear(state, *scope),
        AgentCommand::AddNote { scope, text } => add_note(state, context, *scope, text),
        AgentCommand::RemoveNote { scope, id } => remove_note(state, *scope, *id),
        AgentCommand::CreateScope { name, parent, parent_kept } => {
            if *parent_kept == Kept::Here {
                expect_scope(state, *parent)?;
            }
            let used = context.outside.scopes + state.scopes.len() as u64 + 1;
            let allowed = context.limits.scopes_per_agent;
            Limits::check(LimitName::ScopesPerAgent, used, allowed)?;
            let id = ScopeId(context.next_id());
            let created = AgentEvent::ScopeCreated { id, name: name.clone(), parent: *parent };
            let warnings = Limits::warn(LimitName::ScopesPerAgent, used - 1, used, allowed).into_iter().collect();
            Ok(Decision { events: alloc::vec![created], reply: AgentReply::ScopeCreated { id }, warnings })
        }
        AgentCommand::MergeScope { scope, overwrite } => merge(state, context, *scope, *overwrite),
        AgentCommand::Absorb { scope, entries, notes, overwrite } => {
            let entries = entries.iter().map(|(key, entry)| (key, entry));
            absorb(state, context, *scope, entries, notes.iter(), *overwrite)
        }
        AgentCommand::MarkMerged { scope, notes } => {
            // Of two merges, the later mark may arrive first: the mark only moves on.
            let news = expect_scope(state, *scope)?.notes_merged < *notes;
            let merged = news.then_some(AgentEvent::ScopeMerged { scope: *scope, notes: *notes });
            Ok(Decision::new(merged.into_iter().collect(), AgentReply::Done))
        }
        AgentCommand::DisposeScope { scope } => dispose(state, *scope),
        AgentCommand::ClearAll => clear_all(state),
        AgentCommand::Restore { image } => restore(state, context, image),
        AgentCommand::Forget { forget } => {
            let events = forget.removals(state);
            let entries = events.len() as u64;
            Ok(Decision::new(events, AgentReply::Cleared { entries }))
        }
        AgentCommand::Tick => Ok(Decision::new(Vec::new(), AgentReply::Done)),
    }
}

#[expect(clippy::too_many_arguments, reason = "the fields of one command")]
fn set(
    state: &AgentState,
    context: &Context<'_>,
    scope: ScopeId,
    key: &Key,
    value: &Content,
    type_name: &Arc<str>,
    metadata: &EntryMetadata,
    if_version: Option<u64>,
) -> Decided {
    let old = expect_scope(state, scope)?.entries.get(key);
    check_version(key, old, if_version)?;
    metadata.check(context.now, context.limits)?;
    Limits::check(LimitName::TypeNameBytes, type_name.len() as u64, context.limits.type_name_bytes)?;
    let entry = EntryData {
        id: old.map_or_else(|| EntryId(context.next_id()), |old| old.id),
        value: value.clone(),
        type_name: type_name.clone(),
        kind: metadata.kind.unwrap_or_default(),
        importance: metadata.importance.unwrap_or(EntryMetadata::IMPORTANCE),
        tags: metadata.tags.iter().flatten().map(|tag| Arc::from(tag.as_str())).collect(),
        custom: metadata.custom.clone().map(Arc::new),
        timestamp: metadata.at.unwrap_or(context.now),
        expires_at: metadata.expiry(context.now)?,
        author: Arc::from(metadata.author.as_deref().unwrap_or(&context.actor.principal)),
        session: metadata.session.as_deref().map(Arc::from),
    };
    Limits::check(LimitName::CommandBytes, entry.bytes(), context.limits.command_bytes)?;
    let warnings = check_room(state, context, key, old, entry.bytes())?;
    let updated = old.is_some();
    let set = AgentEvent::EntrySet { scope, key: key.clone(), updated, entry: Box::new(entry) };
    Ok(Decision { events: alloc::vec![set], reply: AgentReply::Written { updated }, warnings })
}

fn append(
    state: &AgentState,
    context: &Context<'_>,
    scope: ScopeId,
    key: &Key,
    text: &str,
    separator: Separator,
    if_version: Option<u64>,
) -> Decided {
    let Some(old) = expect_scope(state, scope)?.entries.get(key) else {
        let value = Content::of(text).map_err(|_| Refusal::NotText { key: key.clone(), found: "unreadable" })?;
        let type_name = Arc::from("text");
        return set(state, context, scope, key, &value, &type_name, &EntryMetadata::default(), if_version);
    };
    check_version(key, Some(old), if_version)?;
    let json = old.value.as_json();
    if !json.starts_with('"') {
        return Err(Refusal::NotText { key: key.clone(), found: old.value.kind_of_value() });
    }
    Limits::check(LimitName::CommandBytes, text.len() as u64, context.limits.command_bytes)?;
    let mut text = text.to_owned();
    if separator == Separator::Line && json.len() > 2 {
        text.insert(0, '\n');
    }
    // As for a value that is set, the limit is on the JSON: escapes count, the two quotes are there already.
    let added = serde_json::to_string(&text).map_or(0, |json| json.len() as u64 - 2);
    let warnings = check_room(state, context, key, Some(old), old.bytes() + added)?;
    let appended = AgentEvent::EntryAppended { scope, key: key.clone(), text };
    Ok(Decision { events: alloc::vec![appended], reply: AgentReply::Written { updated: true }, warnings })
}

fn remove(state: &AgentState, scope: ScopeId, key: &Key, if_version: Option<u64>) -> Decided {
    let old = expect_scope(state, scope)?.entries.get(key);
    check_version(key, old, if_version)?;
    let events = old.map(|_| AgentEvent::EntryRemoved { scope, key: key.clone() });
    Ok(Decision::new(events.into_iter().collect(), AgentReply::Removed { existed: old.is_some() }))
}

fn clear(state: &AgentState, scope: ScopeId) -> Decided {
    let found = expect_scope(state, scope)?;
    let entries = found.entries.len() as u64;
    let empty = entries == 0 && found.notes.is_empty();
    let events = (!empty).then_some(AgentEvent::Cleared { scope, entries });
    Ok(Decision::new(events.into_iter().collect(), AgentReply::Cleared { entries }))
}

fn add_note(state: &AgentState, context: &Context<'_>, scope: ScopeId, text: &str) -> Decided {
    expect_scope(state, scope)?;
    check_note(text, context.limits)?;
    let entries = context.outside.entries + state.entries;
    let warnings = check_totals(state, context, entries, state.notes + 1, state.bytes + text.len() as u64)?;
    let id = NoteId(state.last_note.0 + 1);
    let author = Arc::from(context.actor.principal.as_str());
    let note = Note { id, text: Arc::from(text), author, timestamp: context.now };
    Ok(Decision {
        events: alloc::vec![AgentEvent::NoteAdded { scope, note }],
        reply: AgentReply::NoteAdded { id },
        warnings,
    })
}

fn remove_note(state: &AgentState, scope: ScopeId, id: NoteId) -> Decided {
    let existed = expect_scope(state, scope)?.notes.contains_key(&id);
    let events = existed.then_some(AgentEvent::NoteRemoved { scope, id });
    Ok(Decision::new(events.into_iter().collect(), AgentReply::Removed { existed }))
}

fn merge(state: &AgentState, context: &Context<'_>, scope: ScopeId, overwrite: bool) -> Decided {
    if scope.is_root() {
        return Err(Refusal::RootScope);
    }
    let source = expect_scope(state, scope)?;
    let entries = source.entries.iter().map(|(key, entry)| (key, &entry.data));
    let mut notes = source.notes.values().filter(|note| note.id > source.notes_merged).peekable();
    let has_notes = notes.peek().is_some();
    let mut decision = absorb(state, context, source.parent, entries, notes, overwrite)?;
    if has_notes {
        let last = source.notes.get_max().map_or(source.notes_merged, |(id, _)| *id);
        decision.events.push(AgentEvent::ScopeMerged { scope, notes: last });
    }
    Ok(decision)
}

fn absorb<'a>(
    state: &AgentState,
    context: &Context<'_>,
    scope: ScopeId,
    entries: impl Iterator<Item = (&'a Key, &'a EntryData)>,
    notes: impl Iterator<Item = &'a Note>,
    overwrite: bool,
) -> Decided {
    let target = expect_scope(state, scope)?;
    let Usage { entries: mut used, mut bytes, .. } = state.usage();
    used += context.outside.entries;
    let mut events = Vec::new();
    // Of two entries under one key, the later counts.
    for (key, data) in entries.collect::<BTreeMap<_, _>>() {
        let old = target.entries.get(key);
        if old.is_some() && !overwrite {
            continue;
        }
        used += u64::from(old.is_none());
        bytes += data.bytes() + old.map_or(key.as_str().len() as u64, |_| 0);
        bytes -= old.map_or(0, |old| old.bytes());
        let id = old.map_or_else(|| EntryId(context.next_id()), |old| old.id);
        let entry = Box::new(EntryData { id, ..data.clone() });
        events.push(AgentEvent::EntrySet { scope, key: key.clone(), updated: old.is_some(), entry });
    }
    let merged = events.len() as u64;
    let mut id = state.last_note;
    for note in notes {
        id = NoteId(id.0 + 1);
        bytes += note.text.len() as u64;
        events.push(AgentEvent::NoteAdded { scope, note: Note { id, ..note.clone() } });
    }
    let note_count = state.notes + (id.0 - state.last_note.0);
    let warnings = check_totals(state, context, used, note_count, bytes)?;
    Ok(Decision { events, reply: AgentReply::Merged { entries: merged }, warnings })
}

fn dispose(state: &AgentState, scope: ScopeId) -> Decided {
    if scope.is_root() {
        return Err(Refusal::RootScope);
    }
    let found = expect_scope(state, scope)?;
    let mut events = dispose_all(state, state.descendants(scope).into_iter().rev());
    let entries = found.entries.len() as u64;
    events.push(AgentEvent::ScopeDisposed { scope, name: found.name.clone(), entries });
    Ok(Decision::new(events, AgentReply::Cleared { entries }))
}

fn clear_all(state: &AgentState) -> Decided {
    let children_first = state.parents_first().into_iter().rev();
    let mut events = dispose_all(state, children_first.filter(|id| !id.is_root()));
    events.extend(clear(state, ScopeId::ROOT)?.events);
    Ok(Decision::new(events, AgentReply::Cleared { entries: state.entries }))
}

fn dispose_all(state: &AgentState, scopes: impl Iterator<Item = ScopeId>) -> Vec<AgentEvent> {
    let found = scopes.filter_map(|id| state.scope(id).map(|scope| (id, scope)));
    found
        .map(|(scope, found)| AgentEvent::ScopeDisposed {
            scope,
            name: found.name.clone(),
            entries: found.entries.len() as u64,
        })
        .collect()
}

fn restore(state: &AgentState, context: &Context<'_>, image: &AgentImage) -> Decided {
    let limits = context.limits;
    let mut known = BTreeSet::from([ScopeId::ROOT]);
    for scope in &image.scopes {
        // A snapshot comes from outside: it is held to the rules that its content was once held to.
        crate::ScopeName::check(scope.name.as_str(), limits)?;
        if !known.contains(&scope.parent) {
            return Err(Refusal::ScopeGone { scope: scope.parent });
        }
        known.insert(scope.id);
        for entry in &scope.entries {
            Key::check(entry.key.as_str(), limits)?;
            Limits::check(LimitName::EntryBytes, entry.entry.bytes(), limits.entry_bytes)?;
            if !(0.0..=1.0).contains(&entry.entry.importance) {
                return Err(Refusal::Importance { importance: entry.entry.importance });
            }
            Limits::check(LimitName::TagsPerEntry, entry.entry.tags.len() as u64, limits.tags_per_entry)?;
            entry.entry.tags.iter().try_for_each(|tag| check_tag(tag, limits))?;
            check_principal("author", &entry.entry.author, limits)?;
            Limits::check(LimitName::TypeNameBytes, entry.entry.type_name.len() as u64, limits.type_name_bytes)?;
            entry.entry.session.as_deref().map_or(Ok(()), |session| check_principal("session", session, limits))?;
        }
        for note in &scope.notes {
            check_note(&note.text, limits)?;
            check_principal("author", &note.author, limits)?;
        }
    }
    let restored = AgentState::from(image.clone());
    let Usage { entries, scopes, bytes } = restored.usage();
    Limits::check(LimitName::ScopesPerAgent, scopes, limits.scopes_per_agent)?;
    // What is outside goes too, so it counts before and not after.
    let mut warnings = check_totals(state, context, entries, restored.notes, bytes)?;
    let scopes_before = context.outside.scopes + state.usage().scopes;
    warnings.extend(Limits::warn(LimitName::ScopesPerAgent, scopes_before, scopes, limits.scopes_per_agent));
    let event = AgentEvent::Restored { image: Box::new(AgentImage { activity: None, ..image.clone() }) };
    Ok(Decision { events: alloc::vec![event], reply: AgentReply::Done, warnings })
}

fn expect_scope(state: &AgentState, scope: ScopeId) -> Result<&ScopeState, Refusal> {
    state.scope(scope).ok_or(Refusal::ScopeGone { scope })
}

fn check_version(key: &Key, old: Option<&Arc<Entry>>, if_version: Option<u64>) -> Result<(), Refusal> {
    let Some(expected) = if_version else { return Ok(()) };
    if old.map_or(0, |entry| entry.version) == expected {
        return Ok(());
    }
    let current = old.map(|entry| Box::new(Entry::clone(entry)));
    Err(Refusal::Conflict { key: key.clone(), expected, current })
}

/// Checks the limits for an entry that will have `new_bytes`.
fn check_room(
    state: &AgentState,
    context: &Context<'_>,
    key: &Key,
    old: Option<&Arc<Entry>>,
    new_bytes: u64,
) -> Result<Vec<LimitWarning>, Refusal> {
    Limits::check(LimitName::EntryBytes, new_bytes, context.limits.entry_bytes)?;
    let key_bytes = key.as_str().len() as u64;
    let entries = context.outside.entries + state.entries + u64::from(old.is_none());
    let bytes = state.bytes - old.map_or(0, |old| old.bytes() + key_bytes) + key_bytes + new_bytes;
    check_totals(state, context, entries, state.notes, bytes)
}

/// Checks the limits for a state that will hold so much in all, entries outside included.
fn check_totals(
    state: &AgentState,
    context: &Context<'_>,
    entries: u64,
    notes: u64,
    bytes: u64,
) -> Result<Vec<LimitWarning>, Refusal> {
    let Context { limits, outside, .. } = context;
    let entries_before = outside.entries + state.entries;
    let totals = [
        (LimitName::EntriesPerAgent, entries_before, entries, limits.entries_per_agent),
        (LimitName::NotesPerAgent, state.notes, notes, limits.notes_per_agent),
        (LimitName::StateBytes, state.bytes, bytes, limits.state_bytes),
    ];
    for (limit, before, after, allowed) in totals {
        // What shrinks or keeps its size is always welcome, even over a limit that was lowered.
        if after > before {
            Limits::check(limit, after, allowed)?;
        }
    }
    let warnings =
        totals.into_iter().filter_map(|(limit, before, after, allowed)| Limits::warn(limit, before, after, allowed));
    Ok(warnings.collect())
}

fn check_note(text: &str, limits: &Limits) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Blank { what: "note" });
    }
    Limits::check(LimitName::NoteBytes, text.len() as u64, limits.note_bytes)
}
