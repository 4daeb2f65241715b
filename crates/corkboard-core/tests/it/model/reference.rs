//! The rules of an agent's memory, implemented a second time as plainly as possible: standard maps, whole copies, and
//! counting by scans. The model lists all reasons to refuse a command; the core may give any one of them.

use std::collections::{BTreeMap, HashMap, HashSet};

use corkboard_core::agent::{AgentCommand, AgentReply, AgentState, EntryChange, Forget, ParentLocation, Separator};
use corkboard_core::{
    Access, Actor, Content, Entry, EntryData, EntryId, EntryMetadata, Key, LimitName, LimitWarning, Limits, Note,
    NoteId, NotebookName, Refusal, Request, ScopeId, Space, Usage,
};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::model::notebooks::{Book, Stamp};

/// Stands for the ID of a new entry until the core's ID is known.
const NEW: EntryId = EntryId(Uuid::nil());

#[derive(Debug, Clone)]
pub(crate) struct Model {
    pub rev: u64,
    pub memory: Memory,
    limits: Limits,
    outside: Usage,
    answers: Vec<Answer>,
    entry_ids: HashSet<EntryId>,
}

#[derive(Debug, Clone)]
pub(crate) struct Memory {
    scopes: HashMap<ScopeId, Scope>,
    last_note: u64,
    notebooks: BTreeMap<NotebookName, Book>,
}

#[derive(Debug, Clone)]
struct Scope {
    name: String,
    parent: ScopeId,
    created_at: Timestamp,
    entries: HashMap<Key, Item>,
    notes: Vec<Note>,
    notes_merged: u64,
}

#[derive(Debug, Clone)]
struct Item {
    data: EntryData,
    version: u64,
}

#[derive(Debug, Clone)]
struct Answer {
    principal: String,
    key: String,
    body: String,
    at: Timestamp,
    rev: u64,
    reply: AgentReply,
}

/// The answer that the core must give.
#[derive(Debug)]
pub(crate) enum Expected {
    Unchanged { reply: AgentReply, rev: u64 },
    Commit { reply: AgentReply, warnings: Vec<LimitWarning> },
    Refused(Vec<Refusal>),
}

/// Facts about a request that only the caller or the core knows.
pub(crate) struct Circumstances<'a> {
    pub now: Timestamp,
    pub actor: &'a Actor,
    /// The memory that a `Restore` refers to.
    pub restored: Option<Memory>,
    /// The ID that the core gave to a new scope.
    pub new_scope: Option<ScopeId>,
}

struct Attempt {
    refusals: Vec<Refusal>,
    after: Memory,
    reply: AgentReply,
    changed: bool,
}

impl Model {
    pub(crate) fn new(limits: Limits, outside: Usage) -> Self {
        let root = Scope::new("root".into(), ScopeId::ROOT, Timestamp::UNIX_EPOCH);
        let memory =
            Memory { scopes: HashMap::from([(ScopeId::ROOT, root)]), last_note: 0, notebooks: BTreeMap::new() };
        Self { rev: 0, memory, limits, outside, answers: Vec::new(), entry_ids: HashSet::new() }
    }

    pub(crate) fn request(&mut self, request: &Request<AgentCommand>, circumstances: &Circumstances<'_>) -> Expected {
        let now = circumstances.now;
        let principal = &circumstances.actor.principal;
        let body = serde_json::to_string(&request.command).unwrap();
        if let Some(name) = &request.idempotency
            && let Some(answer) = self.answers.iter().find(|it| it.principal == *principal && it.key == name.key)
            && self.is_remembered(answer, now)
        {
            return if answer.body == body {
                Expected::Unchanged { reply: answer.reply, rev: answer.rev }
            } else {
                let key = name.key.clone();
                Expected::Refused(vec![Refusal::IdempotencyMismatch { key, rev: answer.rev, at: answer.at }])
            };
        }
        if let Some(expected) = request.if_rev.filter(|rev| *rev != self.rev) {
            return Expected::Refused(vec![Refusal::RevConflict { expected, current: self.rev }]);
        }
        let mut before = self.memory.clone();
        let expired = before.expire(now);
        let mut attempt = self.attempt(&before, &request.command, circumstances);
        // A restore also replaces the content outside.
        let restores = matches!(request.command, AgentCommand::Restore { .. });
        let outside = if restores { Usage::default() } else { self.outside };
        let mut warnings = Vec::new();
        let (before, after) = (self.totals(&before, self.outside), self.totals(&attempt.after, outside));
        for ((limit, before, allowed), (_, after, _)) in before.into_iter().zip(after) {
            if after > before && after > allowed {
                attempt.refusals.push(Refusal::Limit { limit, used: after, allowed });
            }
            let level = allowed * 80 / 100;
            if before < level && after >= level {
                warnings.push(LimitWarning { limit, used: after, allowed });
            }
        }
        let Attempt { refusals, after, reply, changed } = attempt;
        if !refusals.is_empty() {
            return Expected::Refused(refusals);
        }
        let is_remembered = changed || matches!(request.command, AgentCommand::ClearAll);
        let name = request.idempotency.as_ref().filter(|_| is_remembered);
        if !changed && !expired && name.is_none() {
            return Expected::Unchanged { reply, rev: self.rev };
        }
        self.rev += 1;
        self.memory = after;
        self.outside = outside;
        if let Some(name) = name {
            self.answers.retain(|it| it.principal != *principal || it.key != name.key);
            let (principal, key) = (principal.clone(), name.key.clone());
            self.answers.push(Answer { principal, key, body, at: now, rev: self.rev, reply });
        }
        self.answers = self.answers.iter().filter(|it| self.is_remembered(it, now)).cloned().collect();
        while self.answers.len() > self.limits.idempotency_keys as usize {
            let share = |of: &Answer| self.answers.iter().filter(|it| it.principal == of.principal).count();
            let most = self.answers.iter().map(share).max().unwrap();
            let oldest = self.answers.iter().position(|it| share(it) == most).unwrap();
            self.answers.remove(oldest);
        }
        Expected::Commit { reply, warnings }
    }

    fn is_remembered(&self, answer: &Answer, now: Timestamp) -> bool {
        now.duration_since(answer.at) < SignedDuration::from_hours(self.limits.idempotency_hours as i64)
    }

    /// Each limit on the whole memory, its used amount and its maximum.
    fn totals(&self, memory: &Memory, outside: Usage) -> [(LimitName, u64, u64); 5] {
        let Usage { entries, scopes, bytes } = memory.usage();
        let limits = &self.limits;
        [
            (LimitName::EntriesPerAgent, outside.entries + entries, limits.entries_per_agent),
            (LimitName::NotesPerAgent, memory.note_count(), limits.notes_per_agent),
            (LimitName::ScopesPerAgent, outside.scopes + scopes, limits.scopes_per_agent),
            (LimitName::StateBytes, bytes, limits.state_bytes),
            (LimitName::NotebooksPerAgent, memory.notebooks.len() as u64, limits.notebooks_per_agent),
        ]
    }

    fn attempt(&self, before: &Memory, command: &AgentCommand, circumstances: &Circumstances<'_>) -> Attempt {
        let mut attempt =
            Attempt { refusals: Vec::new(), after: before.clone(), reply: AgentReply::Done, changed: true };
        let touched = match command {
            AgentCommand::Set { scope, .. }
            | AgentCommand::Append { scope, .. }
            | AgentCommand::Remove { scope, .. }
            | AgentCommand::Batch { scope, .. }
            | AgentCommand::Clear { scope }
            | AgentCommand::AddNote { scope, .. }
            | AgentCommand::RemoveNote { scope, .. }
            | AgentCommand::MergeScope { scope, .. }
            | AgentCommand::Absorb { scope, .. }
            | AgentCommand::MarkMerged { scope, .. }
            | AgentCommand::DisposeScope { scope }
            | AgentCommand::CreateScope { parent: scope, parent_kept: ParentLocation::Here, .. } => *scope,
            AgentCommand::CreateScope { .. }
            | AgentCommand::UpdateNotebook { .. }
            | AgentCommand::RestoreNotebook { .. }
            | AgentCommand::ClearNotebook { .. }
            | AgentCommand::ClearAll
            | AgentCommand::Restore { .. }
            | AgentCommand::Forget { .. }
            | AgentCommand::Tick
            | AgentCommand::Converse { .. } => ScopeId::ROOT,
        };
        if !before.scopes.contains_key(&touched) {
            attempt.refusals.push(Refusal::ScopeGone { scope: touched });
            return attempt;
        }
        self.carry_out(before, command, touched, circumstances, &mut attempt);
        attempt
    }

    fn carry_out(
        &self,
        before: &Memory,
        command: &AgentCommand,
        scope: ScopeId,
        circumstances: &Circumstances<'_>,
        to: &mut Attempt,
    ) {
        let rev = self.rev + 1;
        let now = circumstances.now;
        let memory = &mut to.after;
        let last_note = memory.last_note;
        let stamp = Stamp { rev, now, principal: &circumstances.actor.principal };
        let found = memory.scopes.get_mut(&scope).unwrap();
        match command {
            AgentCommand::Set { key, value, type_name, metadata, if_version, .. } => {
                let old = found.entries.get(key);
                let mut data = said(metadata, value.clone(), type_name, now, &circumstances.actor.principal);
                data.id = old.map_or(NEW, |old| old.data.id);
                to.refusals.extend(self.wrong_version(key, old, *if_version));
                to.refusals.extend(self.wrong_metadata(metadata, now));
                to.refusals.extend(self.too_big(data.bytes(), data.bytes()));
                to.reply = AgentReply::Written { is_update: old.is_some() };
                found.entries.insert(key.clone(), Item { data, version: rev });
            }
            AgentCommand::Append { key, text, separator, if_version, .. } => {
                let old = found.entries.get(key);
                to.refusals.extend(self.wrong_version(key, old, *if_version));
                to.reply = AgentReply::Written { is_update: old.is_some() };
                let principal = &circumstances.actor.principal;
                let data = match old {
                    None => {
                        let value = Content::of(text).unwrap();
                        let data = said(&EntryMetadata::default(), value, "text", now, principal);
                        to.refusals.extend(self.too_big(data.bytes(), data.bytes()));
                        data
                    }
                    Some(old) => {
                        let Some(mut whole) = old.data.value.as_text().map(String::from) else {
                            let found = old.data.value.kind_of_value();
                            to.refusals.push(Refusal::NotText { key: key.clone(), found: found.into() });
                            return;
                        };
                        if *separator == Separator::Line && !whole.is_empty() {
                            whole.push('\n');
                        }
                        whole.push_str(text);
                        let value = Content::of(&whole).unwrap();
                        let author = principal.as_str().into();
                        let trust = old.data.trust.filter(|trust| *trust == corkboard_core::knowledge::Trust::Outside);
                        let data = EntryData { value, at: now, author, trust, ..old.data.clone() };
                        to.refusals.extend(self.too_big(data.bytes(), text.len() as u64));
                        data
                    }
                };
                found.entries.insert(key.clone(), Item { data, version: rev });
            }
            AgentCommand::Remove { key, if_version, .. } => {
                let old = found.entries.remove(key);
                to.refusals.extend(self.wrong_version(key, old.as_ref(), *if_version));
                to.changed = old.is_some();
                to.reply = AgentReply::Removed { existed: old.is_some() };
            }
            AgentCommand::Batch { changes, .. } => self.batch(before, changes, scope, circumstances, to),
            AgentCommand::Clear { .. } => {
                to.changed = !found.entries.is_empty() || !found.notes.is_empty();
                to.reply = AgentReply::Cleared { entries: found.entries.len() as u64 };
                found.entries.clear();
                found.notes.clear();
            }
            AgentCommand::AddNote { text, trust, .. } => {
                if text.trim().is_empty() {
                    to.refusals.push(Refusal::Blank { what: "note".into() });
                }
                to.refusals.extend(over(LimitName::NoteBytes, text.len() as u64, self.limits.note_bytes));
                let id = NoteId(last_note + 1);
                let author = circumstances.actor.principal.as_str().into();
                found.notes.push(Note { id, text: text.as_str().into(), author, at: now, trust: *trust });
                memory.last_note = id.0;
                to.reply = AgentReply::NoteAdded { id };
            }
            AgentCommand::RemoveNote { id, .. } => {
                to.changed = found.notes.iter().any(|note| note.id == *id);
                to.reply = AgentReply::Removed { existed: to.changed };
                found.notes.retain(|note| note.id != *id);
            }
            AgentCommand::CreateScope { name, parent, .. } => {
                let id = circumstances.new_scope.unwrap_or(ScopeId(Uuid::max()));
                memory.scopes.insert(id, Scope::new(name.as_str().into(), *parent, now));
                to.reply = AgentReply::ScopeCreated { id };
            }
            AgentCommand::MergeScope { overwrite, .. } => {
                if scope.is_root() {
                    to.refusals.push(Refusal::RootScope);
                    return;
                }
                let merged = found.notes_merged;
                let fresh: Vec<_> = found.notes.iter().filter(|note| note.id.0 > merged).cloned().collect();
                found.notes_merged = fresh.last().map_or(merged, |note| note.id.0);
                let entries = found.entries.iter().map(|(key, item)| (key.clone(), item.data.clone())).collect();
                let parent = found.parent;
                if memory.scopes.contains_key(&parent) {
                    absorb(to, parent, entries, fresh, *overwrite, rev);
                } else {
                    to.refusals.push(Refusal::ScopeGone { scope: parent });
                }
            }
            AgentCommand::Absorb { entries, notes, overwrite, .. } => {
                absorb(to, scope, entries.iter().cloned().collect(), notes.clone(), *overwrite, rev);
            }
            AgentCommand::MarkMerged { notes, .. } => {
                to.changed = notes.0 > found.notes_merged;
                found.notes_merged = found.notes_merged.max(notes.0);
            }
            AgentCommand::DisposeScope { .. } => {
                to.reply = AgentReply::Cleared { entries: found.entries.len() as u64 };
                if scope.is_root() {
                    to.refusals.push(Refusal::RootScope);
                } else {
                    memory.dispose(scope);
                }
            }
            AgentCommand::UpdateNotebook { notebook, block, unknown_ids, if_version } => {
                let mut book = memory.notebooks.get(notebook).cloned().unwrap_or_default();
                to.refusals.extend(book.wrong_version(notebook, *if_version));
                let (reply, changed, refusals) = book.update(notebook, block, *unknown_ids, &self.limits, &stamp);
                to.refusals.extend(refusals);
                (to.reply, to.changed) = (reply, changed);
                if changed {
                    memory.notebooks.insert(notebook.clone(), book);
                }
            }
            AgentCommand::RestoreNotebook { notebook, content, if_version } => {
                let mut book = memory.notebooks.get(notebook).cloned().unwrap_or_default();
                to.refusals.extend(book.wrong_version(notebook, *if_version));
                let old = book.clone();
                to.changed = book.restore(content, &stamp);
                to.refusals.extend(book.too_many(&old, &self.limits));
                if to.changed {
                    memory.notebooks.insert(notebook.clone(), book);
                }
            }
            AgentCommand::ClearNotebook { notebook } => {
                let items = memory.notebooks.get(notebook).map_or(0, Book::len);
                to.changed = memory.notebooks.get_mut(notebook).is_some_and(|book| book.clear(&stamp));
                to.reply = AgentReply::Cleared { entries: items };
            }
            AgentCommand::ClearAll => {
                let cleared = memory.notebooks.values_mut().filter_map(|book| book.clear(&stamp).then_some(())).count();
                to.changed = !found.entries.is_empty() || !found.notes.is_empty();
                found.entries.clear();
                found.notes.clear();
                to.changed |= memory.scopes.len() > 1 || cleared > 0;
                memory.scopes.retain(|id, _| id.is_root());
                to.reply = AgentReply::Cleared { entries: before.usage().entries };
            }
            AgentCommand::Restore { .. } => {
                *memory = circumstances.restored.clone().unwrap();
                // A note that did not exist before has the trust of the restoring actor.
                for (id, scope) in &mut memory.scopes {
                    let there = before.scopes.get(id).map_or(&[][..], |scope| &scope.notes);
                    let is_there = |note: &Note| {
                        let what = |note: &Note| (note.id, note.text.clone(), note.author.clone());
                        there.iter().any(|known| what(known) == what(note))
                    };
                    for note in scope.notes.iter_mut().filter(|note| !is_there(note)) {
                        note.author = stamp.principal.into();
                    }
                }
                for (name, book) in &mut memory.notebooks {
                    book.follow(before.notebooks.get(name), true, &stamp);
                }
                for (name, old) in &before.notebooks {
                    memory.notebooks.entry(name.clone()).or_insert_with(|| {
                        let mut emptied = Book::default();
                        emptied.follow(Some(old), false, &stamp);
                        emptied
                    });
                }
                memory.last_note = memory.last_note.max(last_note);
                let parents: HashSet<_> = memory.scopes.values().map(|scope| scope.parent).collect();
                let gone = parents.into_iter().filter(|parent| !memory.scopes.contains_key(parent));
                to.refusals.extend(gone.map(|scope| Refusal::ScopeGone { scope }));
                for item in memory.scopes.values_mut().flat_map(|scope| scope.entries.values_mut()) {
                    item.version = rev;
                }
            }
            AgentCommand::Forget { forget } => {
                let held = memory.usage().entries + memory.note_count();
                for scope in memory.scopes.values_mut() {
                    match forget {
                        Forget::Entry { key, ids, .. } => {
                            scope.entries.retain(|other, item| other != key && !ids.contains(&item.data.id));
                        }
                        Forget::Note { id, texts } => {
                            scope.notes.retain(|note| note.id != *id && !texts.contains(&*note.text));
                        }
                        // The random histories forget no texts. A test of its own does.
                        Forget::Notebook { .. } | Forget::Text { .. } => {}
                    }
                }
                let mut entries = held - memory.usage().entries - memory.note_count();
                if let Forget::Notebook { notebook, item } = forget {
                    let gone = memory.notebooks.get_mut(notebook).is_some_and(|book| match item {
                        Some(id) => book.forget(*id, &stamp),
                        None => book.clear(&stamp),
                    });
                    entries += u64::from(gone);
                }
                to.changed = entries > 0;
                to.reply = AgentReply::Cleared { entries };
            }
            AgentCommand::Tick => to.changed = false,
            AgentCommand::Converse { .. } => unreachable!("the space of an agent has no conversation"),
        }
    }

    /// Applies the commands in order. Limits on the whole memory are checked once, at the end.
    fn batch(
        &self,
        before: &Memory,
        changes: &[EntryChange],
        scope: ScopeId,
        circumstances: &Circumstances<'_>,
        to: &mut Attempt,
    ) {
        let mut written = 0;
        to.changed = false;
        for change in changes {
            let command = match change.clone() {
                EntryChange::Set { key, value, type_name, metadata, if_version } => {
                    AgentCommand::Set { scope, key, value, type_name, metadata, if_version }
                }
                EntryChange::Append { key, text, separator, if_version } => {
                    AgentCommand::Append { scope, key, text, separator, if_version }
                }
                EntryChange::Remove { key, if_version } => AgentCommand::Remove { scope, key, if_version },
                EntryChange::Move { from, to: key } => {
                    let found = to.after.scopes.get_mut(&scope).unwrap();
                    let Some(item) = found.entries.get(&from).cloned() else {
                        to.refusals.push(Refusal::NoEntry { key: from });
                        return;
                    };
                    to.refusals.extend(self.wrong_version(&key, found.entries.get(&key), Some(0)));
                    if !to.refusals.is_empty() {
                        return;
                    }
                    found.entries.remove(&from);
                    written += key.as_str().len() as u64 + item.data.bytes();
                    found.entries.insert(key, Item { version: self.rev + 1, ..item });
                    to.changed = true;
                    to.refusals.extend(self.too_much(written, before));
                    continue;
                }
            };
            let held = to.after.scopes[&scope].entries.clone();
            let mut one =
                Attempt { after: to.after.clone(), refusals: Vec::new(), reply: AgentReply::Done, changed: true };
            self.carry_out(before, &command, scope, circumstances, &mut one);
            to.refusals.extend(one.refusals);
            if !to.refusals.is_empty() {
                return;
            }
            to.after = one.after;
            to.changed |= one.changed;
            written += match &command {
                AgentCommand::Append { key, text, separator, .. } if held.contains_key(key) => {
                    let line = *separator == Separator::Line && held[key].data.value.as_text().unwrap() != "";
                    (key.as_str().len() + text.len() + usize::from(line)) as u64
                }
                AgentCommand::Set { key, .. } | AgentCommand::Append { key, .. } => {
                    key.as_str().len() as u64 + to.after.scopes[&scope].entries[key].data.bytes()
                }
                _ => 0,
            };
            to.refusals.extend(self.too_much(written, before));
        }
    }

    /// A batch may write at most the maximum size of a state, or the current size if that is larger.
    fn too_much(&self, written: u64, before: &Memory) -> Option<Refusal> {
        over(LimitName::StateBytes, written, self.limits.state_bytes.max(before.usage().bytes))
    }

    fn wrong_version(&self, key: &Key, old: Option<&Item>, if_version: Option<u64>) -> Option<Refusal> {
        let expected = if_version?;
        let current = old
            .map(|item| Box::new(Entry { data: item.data.clone(), version: item.version, access: Access::default() }));
        let actual = old.map_or(0, |item| item.version);
        (actual != expected).then(|| Refusal::Conflict { key: key.clone(), expected, current })
    }

    fn wrong_metadata(&self, metadata: &EntryMetadata, now: Timestamp) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        if let Some(importance) = metadata.importance.filter(|importance| *importance > 1.0) {
            refusals.push(Refusal::Importance { importance });
        }
        let tags = metadata.tags.as_deref().unwrap_or_default();
        refusals.extend(over(LimitName::TagsPerEntry, tags.len() as u64, self.limits.tags_per_entry));
        refusals
            .extend(tags.iter().filter_map(|tag| over(LimitName::TagBytes, tag.len() as u64, self.limits.tag_bytes)));
        if metadata.expiry_days.is_some() && metadata.expires_at.is_some() {
            refusals.push(Refusal::Expiry { reason: "give either days or a time, not both".into() });
        } else if expiry(metadata, now).is_some_and(|at| at <= now) {
            refusals.push(Refusal::Expiry { reason: "it must be in the future".into() });
        }
        refusals
    }

    fn too_big(&self, entry: u64, command: u64) -> impl Iterator<Item = Refusal> {
        let entry = over(LimitName::EntryBytes, entry, self.limits.entry_bytes);
        entry.into_iter().chain(over(LimitName::CommandBytes, command, self.limits.command_bytes))
    }

    /// Compares every part of the core's state. IDs of new entries are taken from the core and must really be new.
    pub(crate) fn assert_same(&mut self, live: &AgentState) {
        assert_eq!(live.all_scopes().count(), self.memory.scopes.len());
        for (id, scope) in live.all_scopes() {
            let expected = self.memory.scopes.get_mut(&id).unwrap();
            assert_eq!(scope.name.as_str(), expected.name);
            assert_eq!(scope.parent, expected.parent);
            assert_eq!(scope.created_at, expected.created_at);
            assert_eq!(scope.notes_merged.0, expected.notes_merged);
            assert_eq!(scope.notes.values().cloned().collect::<Vec<_>>(), expected.notes);
            assert_eq!(scope.entries.len(), expected.entries.len());
            for (key, entry) in &scope.entries {
                let item = expected.entries.get_mut(key).unwrap();
                if item.data.id == NEW {
                    assert!(self.entry_ids.insert(entry.id), "the ID of {key:?} was used before");
                    item.data.id = entry.id;
                }
                assert_eq!(entry.data, item.data);
                assert_eq!(entry.version, item.version, "{key:?}");
            }
        }
        let names: Vec<_> = live.notebooks().map(|(name, _)| name).collect();
        let books = || self.memory.notebooks.iter().filter(|(_, book)| !book.is_empty());
        assert_eq!(names, books().map(|(name, _)| name).collect::<Vec<_>>());
        for (name, book) in &self.memory.notebooks {
            book.assert_same(live.notebook(name.as_str()).unwrap());
        }
        let usage = self.memory.usage();
        assert_eq!(live.usage(), usage);
        assert_eq!(live.note_count(), self.memory.note_count());
        let Usage { entries, scopes, bytes } = usage;
        let notes = self.memory.note_count();
        let mut summary = serde_json::json!({ "entries": entries, "notes": notes, "scopes": scopes, "bytes": bytes });
        if books().count() > 0 {
            summary["notebooks"] = books().count().into();
        }
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&live.summary(jiff::Timestamp::UNIX_EPOCH)).unwrap(),
            summary
        );
    }
}

/// Whether the core gave this reason. The model does not know the ID of a scope that the refused batch would have
/// created.
pub(crate) fn is_same(given: &Refusal, reason: &Refusal) -> bool {
    let mut given = given.clone();
    if let (Refusal::Conflict { current: Some(given), .. }, Refusal::Conflict { current: Some(current), .. }) =
        (&mut given, reason)
        && current.data.id == NEW
    {
        given.data.id = NEW;
    }
    given == *reason
}

impl Memory {
    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage { scopes: self.scopes.len() as u64 - 1, ..Usage::default() };
        for scope in self.scopes.values() {
            usage.entries += scope.entries.len() as u64;
            let entries = scope.entries.iter().map(|(key, item)| key.as_str().len() as u64 + item.data.bytes());
            usage.bytes += entries.chain(scope.notes.iter().map(|note| note.text.len() as u64)).sum::<u64>();
        }
        let books = self.notebooks.iter().map(|(name, book)| name.as_str().len() as u64 + book.bytes());
        usage.bytes += books.sum::<u64>();
        usage
    }

    fn note_count(&self) -> u64 {
        self.scopes.values().map(|scope| scope.notes.len() as u64).sum()
    }

    fn expire(&mut self, now: Timestamp) -> bool {
        let before = self.usage().entries;
        for scope in self.scopes.values_mut() {
            scope.entries.retain(|_, item| item.data.expires_at.is_none_or(|at| at > now));
        }
        self.usage().entries < before
    }

    fn dispose(&mut self, id: ScopeId) {
        self.scopes.remove(&id);
        let children: Vec<_> = self.scopes.iter().filter(|(_, it)| it.parent == id).map(|(child, _)| *child).collect();
        for child in children {
            self.dispose(child);
        }
    }
}

impl Scope {
    fn new(name: String, parent: ScopeId, created_at: Timestamp) -> Self {
        Self { name, parent, created_at, entries: HashMap::new(), notes: Vec::new(), notes_merged: 0 }
    }
}

fn absorb(
    to: &mut Attempt,
    scope: ScopeId,
    entries: HashMap<Key, EntryData>,
    notes: Vec<Note>,
    overwrite: bool,
    rev: u64,
) {
    let target = to.after.scopes.get_mut(&scope).unwrap();
    let mut taken = 0;
    to.changed = !notes.is_empty();
    for (key, data) in entries {
        let old = target.entries.get(&key).map(|item| item.data.id);
        if old.is_none() || overwrite {
            let data = EntryData { id: old.unwrap_or(NEW), ..data };
            target.entries.insert(key, Item { data, version: rev });
            taken += 1;
            to.changed = true;
        }
    }
    for note in notes {
        to.after.last_note += 1;
        target.notes.push(Note { id: NoteId(to.after.last_note), ..note });
    }
    to.reply = AgentReply::Merged { entries: taken };
}

fn said(metadata: &EntryMetadata, value: Content, type_name: &str, now: Timestamp, principal: &str) -> EntryData {
    EntryData {
        id: NEW,
        value,
        type_name: type_name.into(),
        kind: metadata.kind.unwrap_or_default(),
        importance: metadata.importance.unwrap_or(0.5),
        tags: metadata.tags.iter().flatten().map(|tag| tag.as_str().into()).collect(),
        custom: metadata.custom.clone().map(Into::into),
        at: metadata.at.unwrap_or(now),
        expires_at: expiry(metadata, now),
        author: metadata.author.as_deref().unwrap_or(principal).into(),
        session: metadata.session.as_deref().map(Into::into),
        trust: metadata.trust,
    }
}

fn expiry(metadata: &EntryMetadata, now: Timestamp) -> Option<Timestamp> {
    let days = metadata.expiry_days.map(|days| now + SignedDuration::from_hours(24 * i64::from(days)));
    days.or(metadata.expires_at)
}

pub(crate) fn over(limit: LimitName, used: u64, allowed: u64) -> Option<Refusal> {
    (used > allowed).then_some(Refusal::Limit { limit, used, allowed })
}
