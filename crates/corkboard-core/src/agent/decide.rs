//! Commands become events, or are refused.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::conversation::converse;
use super::entries::{NewValue, batch, entry_appended, entry_set, remove};
use super::notebooks;
use super::{AgentCommand, AgentEvent, AgentImage, AgentReply, AgentState, ParentLocation};
use crate::authority::{admitted, at_most};
use crate::entry::check_custom;
use crate::id::{check_principal, check_visible};
use crate::knowledge::Trust;
use crate::space::CommandEffects;
use crate::{
    Context, EntryData, EntryId, Key, LimitName, LimitWarning, Limits, Note, NoteId, Refusal, ScopeId, ScopeState,
    Space, Usage,
};

pub(super) type DecideResult = Result<CommandEffects<AgentEvent, AgentReply>, Refusal>;

pub(super) fn decide(state: &AgentState, command: &AgentCommand, context: &Context<'_>) -> DecideResult {
    match command {
        AgentCommand::Set { scope, key, value, type_name, metadata, if_version } => {
            entry_set(state, context, *scope, key, NewValue { value, type_name, metadata }, *if_version)?
                .decided(state, context, key)
        }
        AgentCommand::Append { scope, key, text, separator, if_version } => {
            entry_appended(state, context, *scope, key, text, *separator, *if_version)?.decided(state, context, key)
        }
        AgentCommand::Remove { scope, key, if_version } => remove(state, *scope, key, *if_version),
        AgentCommand::Batch { scope, changes } => batch(state, context, *scope, changes),
        AgentCommand::Clear { scope } => clear(state, *scope),
        AgentCommand::AddNote { scope, text, trust } => add_note(state, context, *scope, text, *trust),
        AgentCommand::RemoveNote { scope, id } => remove_note(state, *scope, *id),
        AgentCommand::CreateScope { name, parent, parent_kept } => {
            if *parent_kept == ParentLocation::Here {
                expect_scope(state, *parent)?;
            }
            let used = context.outside.scopes + state.scopes.len() as u64 + 1;
            check_visible("scope name", name.as_str())?;
            let allowed = context.limits.scopes_per_agent;
            Limits::check(LimitName::ScopesPerAgent, used, allowed)?;
            let id = ScopeId(context.next_id());
            let created = AgentEvent::ScopeCreated { id, name: name.clone(), parent: *parent };
            let warnings = Limits::warn(LimitName::ScopesPerAgent, used - 1, used, allowed).into_iter().collect();
            Ok(CommandEffects { events: alloc::vec![created], reply: AgentReply::ScopeCreated { id }, warnings })
        }
        AgentCommand::MergeScope { scope, overwrite } => merge(state, context, *scope, *overwrite),
        AgentCommand::Absorb { scope, entries, notes, overwrite } => {
            let entries = entries.iter().map(|(key, entry)| (key, entry));
            let most = Trust::most_of(context.actor.kind);
            absorb(state, context, *scope, (entries, notes.iter()), most, *overwrite)
        }
        AgentCommand::MarkMerged { scope, notes } => {
            // The marks of two merges may arrive out of order, so the mark only moves forward.
            let news = expect_scope(state, *scope)?.notes_merged < *notes;
            let merged = news.then_some(AgentEvent::ScopeMerged { scope: *scope, notes: *notes });
            Ok(CommandEffects::new(merged.into_iter().collect(), AgentReply::Done))
        }
        AgentCommand::DisposeScope { scope } => dispose(state, *scope),
        AgentCommand::UpdateNotebook { notebook, block, unknown_ids, if_version } => {
            notebooks::update(state, context, notebook, block, *unknown_ids, *if_version)
        }
        AgentCommand::RestoreNotebook { notebook, content, if_version } => {
            notebooks::restore(state, context, notebook, content, *if_version)
        }
        AgentCommand::ClearNotebook { notebook } => Ok(notebooks::clear(state, notebook)),
        AgentCommand::ClearAll => clear_all(state),
        AgentCommand::Restore { image } => restore(state, context, image),
        AgentCommand::Forget { forget } => {
            let events = forget.removals(state);
            let entries = events.len() as u64;
            Ok(CommandEffects::new(events, AgentReply::Cleared { entries }))
        }
        AgentCommand::Tick => Ok(CommandEffects::new(Vec::new(), AgentReply::Done)),
        AgentCommand::Converse { conversation, scope, idle_ms, command } => {
            converse(state, context, (conversation, *scope), *idle_ms, command)
        }
    }
}

fn clear(state: &AgentState, scope: ScopeId) -> DecideResult {
    let found = expect_scope(state, scope)?;
    let entries = found.entries.len() as u64;
    let empty = entries == 0 && found.notes.is_empty();
    let events = (!empty).then_some(AgentEvent::Cleared { scope, entries });
    Ok(CommandEffects::new(events.into_iter().collect(), AgentReply::Cleared { entries }))
}

fn add_note(
    state: &AgentState,
    context: &Context<'_>,
    scope: ScopeId,
    text: &str,
    trust: Option<Trust>,
) -> DecideResult {
    expect_scope(state, scope)?;
    check_note(text, context.limits)?;
    let trust = Trust::granted(trust, context.actor)?;
    let entries = context.outside.entries + state.entries;
    let warnings = check_totals(state, context, entries, state.notes + 1, state.bytes + text.len() as u64)?;
    let id = NoteId(state.last_note.0.saturating_add(1));
    let author = Arc::from(context.actor.principal.as_str());
    let note = Note { id, text: Arc::from(text), author, at: context.now, trust };
    Ok(CommandEffects {
        events: alloc::vec![AgentEvent::NoteAdded { scope, note }],
        reply: AgentReply::NoteAdded { id },
        warnings,
    })
}

fn remove_note(state: &AgentState, scope: ScopeId, id: NoteId) -> DecideResult {
    let existed = expect_scope(state, scope)?.notes.contains_key(&id);
    let events = existed.then_some(AgentEvent::NoteRemoved { scope, id });
    Ok(CommandEffects::new(events.into_iter().collect(), AgentReply::Removed { existed }))
}

fn merge(state: &AgentState, context: &Context<'_>, scope: ScopeId, overwrite: bool) -> DecideResult {
    if scope.is_root() {
        return Err(Refusal::RootScope);
    }
    let source = expect_scope(state, scope)?;
    let entries = source.entries.iter().map(|(key, entry)| (key, &entry.data));
    let mut notes = source.notes.values().filter(|note| note.id > source.notes_merged).peekable();
    let has_notes = notes.peek().is_some();
    // The scope is already in this memory, so its trust is accepted.
    let mut decision = absorb(state, context, source.parent, (entries, notes), Trust::Own, overwrite)?;
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
    (entries, notes): (impl Iterator<Item = (&'a Key, &'a EntryData)>, impl Iterator<Item = &'a Note>),
    most: Trust,
    overwrite: bool,
) -> DecideResult {
    let target = expect_scope(state, scope)?;
    let Usage { entries: mut used, mut bytes, .. } = state.usage();
    used += context.outside.entries;
    let mut events = Vec::new();
    // Of two entries with the same key, the later one wins.
    for (key, data) in entries.collect::<BTreeMap<_, _>>() {
        let old = target.entries.get(key);
        if old.is_some() && !overwrite {
            continue;
        }
        used += u64::from(old.is_none());
        bytes += data.bytes() + old.map_or(key.as_str().len() as u64, |_| 0);
        bytes -= old.map_or(0, |old| old.bytes());
        let id = old.map_or_else(|| EntryId(context.next_id()), |old| old.id);
        let entry = Box::new(EntryData { id, trust: at_most(data.trust, most), ..data.clone() });
        events.push(AgentEvent::EntrySet { scope, key: key.clone(), is_update: old.is_some(), entry });
    }
    let merged = events.len() as u64;
    let mut id = state.last_note;
    for note in notes {
        id = NoteId(id.0.saturating_add(1));
        bytes += note.text.len() as u64;
        events
            .push(AgentEvent::NoteAdded { scope, note: Note { id, trust: at_most(note.trust, most), ..note.clone() } });
    }
    let note_count = state.notes + (id.0 - state.last_note.0);
    let warnings = check_totals(state, context, used, note_count, bytes)?;
    Ok(CommandEffects { events, reply: AgentReply::Merged { entries: merged }, warnings })
}

fn dispose(state: &AgentState, scope: ScopeId) -> DecideResult {
    if scope.is_root() {
        return Err(Refusal::RootScope);
    }
    let found = expect_scope(state, scope)?;
    let mut events = dispose_all(state, state.descendants(scope).into_iter().rev());
    let entries = found.entries.len() as u64;
    events.push(AgentEvent::ScopeDisposed { scope, name: found.name.clone(), entries });
    Ok(CommandEffects::new(events, AgentReply::Cleared { entries }))
}

fn clear_all(state: &AgentState) -> DecideResult {
    let children_first = state.parents_first().into_iter().rev();
    let mut events = dispose_all(state, children_first.filter(|id| !id.is_root()));
    events.extend(clear(state, ScopeId::ROOT)?.events);
    events.extend(state.notebooks.keys().flat_map(|name| notebooks::clear(state, name).events));
    Ok(CommandEffects::new(events, AgentReply::Cleared { entries: state.entries }))
}

pub(super) fn dispose_all(state: &AgentState, scopes: impl Iterator<Item = ScopeId>) -> Vec<AgentEvent> {
    let found = scopes.filter_map(|id| state.scope(id).map(|scope| (id, scope)));
    found
        .map(|(scope, found)| AgentEvent::ScopeDisposed {
            scope,
            name: found.name.clone(),
            entries: found.entries.len() as u64,
        })
        .collect()
}

fn restore(state: &AgentState, context: &Context<'_>, image: &AgentImage) -> DecideResult {
    let limits = context.limits;
    // A snapshot comes from outside, so its content is checked like new content.
    if let Some(reason) = image.contradiction() {
        return Err(Refusal::MemoryContradicts { reason });
    }
    let mut known = BTreeSet::from([ScopeId::ROOT]);
    for scope in &image.scopes {
        crate::ScopeName::check(scope.name.as_str(), limits)?;
        if !known.contains(&scope.parent) {
            return Err(Refusal::ScopeGone { scope: scope.parent });
        }
        known.insert(scope.id);
        for entry in &scope.entries {
            check_entry(&entry.key, &entry.entry, limits)?;
        }
        scope.notes.iter().try_for_each(|note| check_whole_note(note, limits))?;
    }
    notebooks::check_image(image, limits)?;
    let image = admitted(AgentImage { activity: None, idle: None, ..image.clone() }, state, context);
    let mut restored = AgentState::from(image.clone());
    restored.keep_ids_of(state.notebooks.clone(), context.stamp());
    let notebooks = notebooks::check_count(state, &restored, limits)?;
    let Usage { entries, scopes, bytes } = restored.usage();
    Limits::check(LimitName::ScopesPerAgent, scopes, limits.scopes_per_agent)?;
    // Ephemeral scopes are removed too, so they count before the restore but not after.
    let mut warnings = check_totals(state, context, entries, restored.notes, bytes)?;
    let scopes_before = context.outside.scopes + state.usage().scopes;
    warnings.extend(Limits::warn(LimitName::ScopesPerAgent, scopes_before, scopes, limits.scopes_per_agent));
    warnings.extend(notebooks);
    let event = AgentEvent::Restored { image: Box::new(image) };
    Ok(CommandEffects { events: alloc::vec![event], reply: AgentReply::Done, warnings })
}

pub(super) fn expect_scope(state: &AgentState, scope: ScopeId) -> Result<&ScopeState, Refusal> {
    state.scope(scope).ok_or(Refusal::ScopeGone { scope })
}

/// Checks the limits for the totals that a state will have. `entries` includes those of ephemeral scopes.
pub(super) fn check_totals(
    state: &AgentState,
    context: &Context<'_>,
    entries: u64,
    notes: u64,
    bytes: u64,
) -> Result<Vec<LimitWarning>, Refusal> {
    let Context { limits, outside, .. } = context;
    let entries_before = outside.entries + state.entries;
    Limits::check_growth([
        (LimitName::EntriesPerAgent, entries_before, entries, limits.entries_per_agent),
        (LimitName::NotesPerAgent, state.notes, notes, limits.notes_per_agent),
        (LimitName::StateBytes, state.bytes, bytes, limits.state_bytes),
    ])
}

/// Checks an entry that this process did not create by the same rules as a new one.
pub(super) fn check_entry(key: &Key, entry: &EntryData, limits: &Limits) -> Result<(), Refusal> {
    Key::check(key.as_str(), limits)?;
    limits.check_json_depth(entry.value.depth())?;
    entry.custom.as_deref().map_or(Ok(()), |custom| check_custom(custom, limits))?;
    Limits::check(LimitName::EntryBytes, entry.bytes(), limits.entry_bytes)?;
    Limits::check_importance(entry.importance)?;
    limits.check_tags(&entry.tags)?;
    check_principal("author", &entry.author, limits)?;
    Limits::check(LimitName::TypeNameBytes, entry.type_name.len() as u64, limits.type_name_bytes)?;
    entry.session.as_deref().map_or(Ok(()), |session| check_principal("session", session, limits))
}

/// Checks a note that this process did not create.
pub(super) fn check_whole_note(note: &Note, limits: &Limits) -> Result<(), Refusal> {
    check_note(&note.text, limits)?;
    check_principal("author", &note.author, limits)
}

fn check_note(text: &str, limits: &Limits) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Blank { what: "note".into() });
    }
    Limits::check(LimitName::NoteBytes, text.len() as u64, limits.note_bytes)
}
