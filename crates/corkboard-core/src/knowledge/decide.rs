//! Deciding commands to a memory core.

use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Bound;

use jiff::Timestamp;

use super::{
    Added, AddedHow, CoreAction, CoreCommand, CoreEdit, CoreEntry, CoreEntryData, CoreEntryId, CoreEvent, CoreForget,
    CoreImage, CoreReply, CoreState, Expiry, NewCoreEntry, Provenance, Trust, Withdrawal, entry,
};
use crate::authority::admitted;
use crate::board::check_tagged;
use crate::forget::check_forgotten_text;
use crate::id::{check_principal, check_visible};
use crate::space::{CommandEffects, Space};
use crate::{ActorKind, BoardId, Context, EntryMetadata, LimitName, LimitWarning, Limits, Refusal, SpaceId};

type ReplyResult = Result<CoreReply, Refusal>;

pub(super) fn decide(
    state: &CoreState,
    command: &CoreCommand,
    context: &Context<'_>,
) -> Result<CommandEffects<CoreEvent, CoreReply>, Refusal> {
    let mut decider = CoreDecider { state: state.clone(), events: Vec::new(), context };
    let reply = decider.decide(command)?;
    let warnings = match command {
        // Forgetting is always possible, even if its reason makes the core exceed a limit.
        CoreCommand::Forget { .. } | CoreCommand::ForgetHard { .. } => Vec::new(),
        _ => check_size(state, &decider.state, context.limits)?,
    };
    Ok(CommandEffects { events: decider.events, reply, warnings })
}

/// A decision in progress: the events so far and the state after them.
struct CoreDecider<'a> {
    state: CoreState,
    events: Vec<CoreEvent>,
    context: &'a Context<'a>,
}

impl CoreDecider<'_> {
    fn decide(&mut self, command: &CoreCommand) -> ReplyResult {
        self.check_may(command.action())?;
        match command {
            CoreCommand::Add { entries } => self.add_all(entries),
            CoreCommand::Exchange { remove, add } => {
                for id in remove {
                    self.expect(*id, None)?;
                    self.push(CoreEvent::EntryWithdrawn { id: *id, provenance: Vec::new() });
                }
                self.add_all(add)
            }
            CoreCommand::Edit { entry, edit, if_version } => self.edit(*entry, edit, *if_version),
            CoreCommand::Forget { entry, reason, if_version } => self.forget(*entry, reason.as_deref(), *if_version),
            CoreCommand::Restore { entry, if_version } => self.restore(*entry, *if_version),
            CoreCommand::Withdraw { of } => self.withdraw(of),
            CoreCommand::ForgetHard { forget } => self.erase(forget),
            CoreCommand::Clear => {
                let entries = self.state.entries.len() as u64;
                if entries > 0 {
                    self.push(CoreEvent::Cleared { entries });
                }
                Ok(CoreReply::Cleared { entries })
            }
            CoreCommand::Replace { image } => self.replace(image),
            CoreCommand::Tick => Ok(CoreReply::Done),
        }
    }

    /// Refuses actors who may not do this in this core.
    fn check_may(&self, action: CoreAction) -> Result<(), Refusal> {
        action.check(self.context.actor, self.context.space.and_then(SpaceId::as_core).as_ref())
    }

    /// Adds an event and applies it. It fits, because it was decided on this state.
    fn push(&mut self, event: CoreEvent) {
        let applied = self.state.apply(&event, self.context.stamp());
        debug_assert!(applied.is_ok(), "{event:?}: {applied:?}");
        if applied.is_ok() {
            self.events.push(event);
        }
    }

    fn add_all(&mut self, entries: &[NewCoreEntry]) -> ReplyResult {
        let limits = self.context.limits;
        Limits::check(LimitName::EntriesPerAddition, entries.len() as u64, limits.entries_per_addition)?;
        let added: Result<Vec<Added>, Refusal> = entries.iter().map(|entry| self.add(entry)).collect();
        Ok(CoreReply::Added { entries: added? })
    }

    fn add(&mut self, new: &NewCoreEntry) -> Result<Added, Refusal> {
        if let Some(id) = self.state.promoted(new) {
            return Ok(Added { id, how: AddedHow::Merged });
        }
        let learned = self.learned(new)?;
        let Some(id) = self.state.saying(&learned.content) else {
            check_tagged(learned.tags.iter(), &learned.content)?;
            let id = CoreEntryId(self.state.last.0.saturating_add(1));
            self.push(CoreEvent::EntryAdded { id, entry: Box::new(learned) });
            return Ok(Added { id, how: AddedHow::New });
        };
        let found = self.expect(id, None)?;
        let is_forgotten = found.forgotten.is_some();
        let mut again = CoreEntryData { content: Arc::from(""), ..learned };
        if again.provenance.trust < found.trust() {
            // A less trusted source repeats the text. That must not change importance, tags or expiry.
            again = CoreEntryData { importance: 0.0, tags: Vec::new(), expires_at: found.expires_at, ..again };
        }
        let mut merged = found.clone();
        merged.merge(&again);
        let is_changed = merged != *found;
        Limits::check(
            LimitName::OriginsPerEntry,
            merged.provenance.len() as u64,
            self.context.limits.origins_per_entry,
        )?;
        Limits::check(LimitName::TagsPerEntry, merged.tags.len() as u64, self.context.limits.tags_per_entry)?;
        if merged.tags != found.tags {
            check_tagged(merged.tags.iter(), &merged.content)?;
        }
        if is_forgotten {
            self.push(CoreEvent::EntryRestored { id });
        }
        if is_changed {
            self.push(CoreEvent::EntryMerged { id, entry: Box::new(again) });
        }
        Ok(Added { id, how: if is_forgotten { AddedHow::Restored } else { AddedHow::Merged } })
    }

    fn learned(&self, new: &NewCoreEntry) -> Result<CoreEntryData, Refusal> {
        let Context { now, actor, limits, .. } = self.context;
        let NewCoreEntry {
            content,
            kind,
            importance,
            tags,
            author,
            contributors,
            trust,
            board,
            item,
            board_rev,
            expires_at,
        } = new;
        let principal: Arc<str> = Arc::from(&*actor.principal);
        if let Some(author) = author {
            check_principal("author", author, limits)?;
            check_visible("author", author)?;
        }
        tags.iter().try_for_each(|tag| check_visible("tag", tag))?;
        let author = author.as_deref().map_or_else(|| principal.clone(), Arc::from);
        let provenance = Provenance {
            promoted_by: (author != principal).then_some(principal),
            author,
            trust: self.trust(*trust, Trust::most_of(actor.kind))?,
            at: *now,
            board: board.clone(),
            item: item.as_deref().map(Arc::from),
            board_rev: *board_rev,
            edited_by: distinct(contributors.iter().map(|name| Arc::from(name.as_str()))),
        };
        let learned = CoreEntryData {
            content: Arc::from(content.as_str()),
            kind: *kind,
            importance: importance.unwrap_or(EntryMetadata::IMPORTANCE),
            tags: distinct(tags.iter().map(|tag| Arc::from(tag.as_str()))),
            expires_at: *expires_at,
            provenance,
        };
        check_text(&learned.content, limits)?;
        check_facts(learned.importance, &learned.tags, limits)?;
        check_origin(&learned.provenance, limits)?;
        check_expiry(*expires_at, *now)?;
        Ok(learned)
    }

    /// The requested trust, by default the most that the actor can give.
    fn trust(&self, asked: Option<Trust>, most: Trust) -> Result<Trust, Refusal> {
        Ok(Trust::granted_up_to(most, asked, self.context.actor)?.unwrap_or(most))
    }

    fn expect(&self, id: CoreEntryId, if_version: Option<u64>) -> Result<&CoreEntry, Refusal> {
        let found = self.state.entries.get(&id).ok_or(Refusal::NotInCore { entry: id })?;
        match if_version {
            Some(expected) if expected != found.version => {
                Err(Refusal::CoreConflict { expected, current: Box::new(CoreEntry::clone(found)) })
            }
            _ => Ok(found),
        }
    }

    fn edit(&mut self, id: CoreEntryId, edit: &CoreEdit, if_version: Option<u64>) -> ReplyResult {
        let Context { now, actor, limits, .. } = self.context;
        let found = self.expect(id, if_version)?;
        if found.forgotten.is_some() {
            return Err(Refusal::EntryForgotten { entry: id });
        }
        let edit = CoreEdit { tags: edit.tags.as_ref().map(|tags| distinct(tags.iter().cloned())), ..edit.clone() };
        if let Some(content) = &edit.content {
            check_text(content, limits)?;
            if let Some(other) = self.state.saying(content).filter(|other| *other != id) {
                return Err(Refusal::SameText { entry: id, other });
            }
        }
        if let Some(Expiry::At(at)) = edit.expiry {
            check_expiry(Some(at), *now)?;
        }
        let is_raised = found.is_raised_by(&edit);
        if is_raised {
            self.check_may(CoreAction::Vouch)?;
        }
        // Only a person may raise the trust of a text.
        let most = match actor.kind {
            ActorKind::Human => Trust::Own,
            ActorKind::Agent | ActorKind::Service => Trust::most_of(actor.kind).min(found.trust()),
        };
        self.trust(edit.trust, most)?;
        let mut edited = found.clone();
        edited.edit(&edit, &actor.principal, Trust::most_of(actor.kind));
        check_facts(edited.importance, &edited.tags, limits)?;
        let mut new_tags = edited.tags.iter().filter(|tag| !found.tags.contains(tag));
        new_tags.try_for_each(|tag| check_visible("tag", tag))?;
        if edited.content != found.content || edited.tags != found.tags {
            check_tagged(edited.tags.iter(), &edited.content)?;
        }
        for origin in &edited.provenance {
            Limits::check(LimitName::OriginsPerEntry, origin.edited_by.len() as u64, limits.origins_per_entry)?;
        }
        if edited == *found {
            return Ok(CoreReply::Changed { version: found.version });
        }
        // A person who changes a text that another vouched for now vouches for the new one.
        let is_taken_over = found.vouched.is_some()
            && edited.content != found.content
            && actor.kind == ActorKind::Human
            && self.check_may(CoreAction::Vouch).is_ok();
        let vouched = (is_raised || is_taken_over) && edited.trust() >= found.trust();
        let provenance = (edited.provenance != found.provenance).then_some(edited.provenance);
        self.push(CoreEvent::EntryEdited { id, edit: Box::new(edit), provenance, vouched });
        self.changed()
    }

    fn forget(&mut self, id: CoreEntryId, reason: Option<&str>, if_version: Option<u64>) -> ReplyResult {
        let found = self.expect(id, if_version)?;
        let limits = self.context.limits;
        reason.map_or(Ok(()), |reason| {
            Limits::check(LimitName::CoreTextBytes, reason.len() as u64, limits.core_text_bytes)
        })?;
        if found.forgotten.is_some() {
            return Ok(CoreReply::Changed { version: found.version });
        }
        self.push(CoreEvent::EntryForgotten { id, reason: reason.map(Arc::from) });
        self.changed()
    }

    fn erase(&mut self, forget: &CoreForget) -> ReplyResult {
        match forget {
            CoreForget::Text { text } => check_forgotten_text(text)?,
            // The log may still contain the texts of an entry that was removed.
            CoreForget::Entry { id } if CoreEntryId::default() < *id && *id <= self.state.last => {}
            CoreForget::Entry { id } => return Err(Refusal::NotInCore { entry: *id }),
        }
        let concerned = self.state.entries.values().filter(|entry| forget.concerns(entry));
        let ids: Vec<_> = concerned.map(|entry| entry.id).collect();
        let entries = ids.len() as u64;
        ids.into_iter().for_each(|id| self.push(CoreEvent::EntryForgottenHard { id }));
        Ok(CoreReply::Cleared { entries })
    }

    fn restore(&mut self, id: CoreEntryId, if_version: Option<u64>) -> ReplyResult {
        let found = self.expect(id, if_version)?;
        if found.forgotten.is_none() {
            return Ok(CoreReply::Changed { version: found.version });
        }
        self.push(CoreEvent::EntryRestored { id });
        self.changed()
    }

    fn changed(&self) -> ReplyResult {
        Ok(CoreReply::Changed { version: self.context.rev() })
    }

    fn withdraw(&mut self, of: &Withdrawal) -> ReplyResult {
        let (mut removed, mut kept, mut forgotten) = (0, 0, 0);
        let concerned = |entry: &&Arc<CoreEntry>| entry.provenance.iter().any(|origin| of.concerns(origin));
        let entries: Vec<_> = self.state.entries.values().filter(concerned).cloned().collect();
        for entry in entries {
            let left: Vec<_> = entry.provenance.iter().filter(|origin| !of.concerns(origin)).cloned().collect();
            let editor = entry.provenance.iter().find_map(|origin| of.editor(origin));
            match (left.is_empty(), editor) {
                (false, _) => kept += 1,
                // The withdrawn author only contributed to another author's text, so the entry can be restored.
                (true, Some(name)) => {
                    if entry.forgotten.is_none() {
                        forgotten += 1;
                        let reason = Some(Arc::from(format!("{name} contributed to the text and was rolled back")));
                        self.push(CoreEvent::EntryForgotten { id: entry.id, reason });
                    }
                    continue;
                }
                (true, None) => removed += 1,
            }
            self.push(CoreEvent::EntryWithdrawn { id: entry.id, provenance: left });
        }
        Ok(CoreReply::Withdrawn { removed, kept, forgotten })
    }

    fn replace(&mut self, image: &CoreImage) -> ReplyResult {
        let limits = self.context.limits;
        // An image comes from outside, so its content is checked like new content.
        if let Some(reason) = image.contradiction() {
            return Err(Refusal::CoreContradicts { reason });
        }
        for entry in &image.entries {
            check_text(&entry.content, limits)?;
            check_facts(entry.importance, &entry.tags, limits)?;
            let origins = entry.provenance.len() as u64;
            Limits::check(LimitName::OriginsPerEntry, origins, limits.origins_per_entry)?;
            entry.provenance.iter().try_for_each(|origin| check_origin(origin, limits))?;
            entry.vouched.as_ref().map_or(Ok(()), |vouched| check_principal("vouched by", &vouched.by, limits))?;
            if let Some(mark) = &entry.forgotten {
                check_principal("forgotten by", &mark.by, limits)?;
                let reason = mark.reason.as_ref().map_or(0, |reason| reason.len());
                Limits::check(LimitName::CoreTextBytes, reason as u64, limits.core_text_bytes)?;
            }
        }
        let image = admitted(image.clone(), &self.state, self.context);
        self.push(CoreEvent::Replaced { image: Box::new(image) });
        Ok(CoreReply::Done)
    }
}

/// The tags without duplicates, in order.
fn distinct(tags: impl Iterator<Item = Arc<str>>) -> Vec<Arc<str>> {
    let mut distinct = Vec::new();
    for tag in tags {
        if !distinct.contains(&tag) {
            distinct.push(tag);
        }
    }
    distinct
}

fn check_text(text: &str, limits: &Limits) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Blank { what: "entry".into() });
    }
    Limits::check(LimitName::CoreTextBytes, text.len() as u64, limits.core_text_bytes)
}

fn check_facts(importance: f32, tags: &[Arc<str>], limits: &Limits) -> Result<(), Refusal> {
    Limits::check_importance(importance)?;
    limits.check_tags(tags)
}

fn check_origin(origin: &Provenance, limits: &Limits) -> Result<(), Refusal> {
    check_principal("author", &origin.author, limits)?;
    origin.promoted_by.as_deref().map_or(Ok(()), |by| check_principal("promoted by", by, limits))?;
    origin.board.as_ref().map_or(Ok(()), |board| BoardId::check(board.as_str(), limits))?;
    origin.item.as_deref().map_or(Ok(()), |item| check_principal("item", item, limits))?;
    Limits::check(LimitName::OriginsPerEntry, origin.edited_by.len() as u64, limits.origins_per_entry)?;
    origin.edited_by.iter().try_for_each(|by| check_principal("edited by", by, limits))
}

fn check_expiry(at: Option<Timestamp>, now: Timestamp) -> Result<(), Refusal> {
    match at {
        Some(at) if at <= now => Err(Refusal::Expiry { reason: "it must be in the future".into() }),
        _ => Ok(()),
    }
}

fn check_size(before: &CoreState, after: &CoreState, limits: &Limits) -> Result<Vec<LimitWarning>, Refusal> {
    let (old, new) = (before.entries.len() as u64, after.entries.len() as u64);
    Limits::check_growth([
        (LimitName::EntriesPerCore, old, new, limits.entries_per_core),
        (LimitName::StateBytes, before.bytes, after.bytes, limits.state_bytes),
    ])
}

impl CoreState {
    /// The entry that the same promotion added, even if it was changed or forgotten since.
    fn promoted(&self, new: &NewCoreEntry) -> Option<CoreEntryId> {
        let (board, item, board_rev) = (new.board.clone()?, new.item.clone()?, new.board_rev?);
        let of = Withdrawal::Promotion { board, item, board_rev };
        let has_origin = |entry: &&Arc<CoreEntry>| entry.provenance.iter().any(|origin| of.concerns(origin));
        self.entries.values().find(has_origin).map(|entry| entry.id)
    }

    /// The entries whose text begins with this one, forgotten or not. White space is normalized.
    pub fn beginning_with<'s>(&'s self, text: &str) -> impl Iterator<Item = &'s Arc<CoreEntry>> + use<'s> {
        let beginning = entry::normalised(&Arc::from(text));
        let rest = self.by_text.range::<_, str>((Bound::Included(&*beginning), Bound::Unbounded));
        let ids = rest.take_while(move |(text, _)| text.starts_with(&*beginning)).map(|(_, id)| id);
        ids.filter_map(|id| self.entries.get(id))
    }

    /// The entry with this text, forgotten or not. White space is normalized.
    pub fn saying(&self, text: &str) -> Option<CoreEntryId> {
        self.by_text.get(&entry::normalised(&Arc::from(text))).copied()
    }
}
