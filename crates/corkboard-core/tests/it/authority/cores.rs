//! Memory cores: a shared one, and an agent's private one, which the agent itself may replace.

use std::collections::BTreeSet;
use std::sync::Arc;

use corkboard_core::knowledge::{
    CoreAction, CoreCommand, CoreEdit, CoreEntry, CoreEntryId, CoreImage, CoreState, ForgottenMark, NewCoreEntry,
    Provenance, Trust, Vouched,
};
use corkboard_core::{Actor, AgentId, BoardId, CoreId, Limits, Refusal, Revisioned, SpaceId};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::authority::{Reached, actors, is_person, names, now, send, trusts};

const TEXTS: [&str; 5] = ["one", "two", "three", "four", "five"];

#[derive(Debug, Clone)]
pub(crate) struct Step {
    actor: Actor,
    is_private: bool,
    ask: Ask,
}

#[derive(Debug, Clone)]
enum Ask {
    Add(&'static str, Option<&'static str>, Option<Trust>),
    Edit(u64, Option<&'static str>, Option<Trust>),
    Forget(u64),
    Restore(u64),
    /// Replaces the core with a forged image of an earlier state.
    Replace(Index, Vec<Forgery>),
}

#[derive(Debug, Clone)]
enum Forgery {
    Trust,
    Author(&'static str),
    Vouched(&'static str),
    Forgotten(&'static str),
    Promoted,
    Text(Index, &'static str),
    /// Another entry with that author.
    Entry(&'static str, &'static str),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let texts = || proptest::sample::select(&TEXTS[..]);
    let forgery = prop_oneof![
        2 => Just(Forgery::Trust),
        2 => names().prop_map(Forgery::Author),
        1 => names().prop_map(Forgery::Vouched),
        1 => names().prop_map(Forgery::Forgotten),
        1 => Just(Forgery::Promoted),
        2 => (any::<Index>(), texts()).prop_map(|(which, text)| Forgery::Text(which, text)),
        2 => (texts(), names()).prop_map(|(text, name)| Forgery::Entry(text, name)),
    ];
    let author = proptest::option::weighted(0.3, names());
    let ask = prop_oneof![
        5 => (texts(), author, trusts()).prop_map(|(text, author, trust)| Ask::Add(text, author, trust)),
        3 => (1..8u64, proptest::option::of(texts()), trusts()).prop_map(|(id, text, trust)| Ask::Edit(id, text, trust)),
        1 => (1..8u64).prop_map(Ask::Forget),
        1 => (1..8u64).prop_map(Ask::Restore),
        4 => (any::<Index>(), proptest::collection::vec(forgery, 0..3))
            .prop_map(|(past, forged)| Ask::Replace(past, forged)),
    ];
    let step = (actors(), any::<bool>(), ask).prop_map(|(actor, is_private, ask)| {
        // In a private core, most commands come from the agent itself.
        let name = if is_private && actor.principal != "grace" { "eve".into() } else { actor.principal.clone() };
        Step { actor: Actor { principal: name, ..actor }, is_private, ask }
    });
    proptest::collection::vec(step, 1..40)
}

/// Who gave what in one core: texts, with the actors' names where relevant.
#[derive(Default)]
struct Given {
    own: BTreeSet<String>,
    /// Texts and who brought them in: their author, or another actor.
    brought: BTreeSet<(String, String)>,
    vouched: BTreeSet<(String, String)>,
    forgotten: BTreeSet<(String, String)>,
    /// Texts that may name the promotion they came from.
    promoted: BTreeSet<String>,
}

struct Shelf {
    live: Revisioned<CoreState>,
    space: SpaceId,
    core: CoreId,
    past: Vec<CoreImage>,
    given: Given,
}

pub(crate) fn run(steps: &[Step]) -> Reached {
    let eve = AgentId::new("eve", &Limits::default()).unwrap();
    let shared = CoreId::new("rules", &Limits::default()).unwrap();
    let mut shelves = [shared, CoreId::of_agent(&eve)].map(|core| Shelf {
        live: Revisioned::default(),
        space: SpaceId::core(&core),
        core,
        past: vec![CoreImage::default()],
        given: Given::default(),
    });
    let mut reached = Reached::default();
    for Step { actor, is_private, ask } in steps {
        let shelf = &mut shelves[usize::from(*is_private)];
        let answer = shelf.tell(actor, ask, &mut reached);
        reached.refused += u32::from(answer.is_err());
        shelf.given.check(&shelf.live.state);
        shelf.past.push(CoreImage::from(shelf.live.state.clone()));
    }
    reached
}

impl Shelf {
    fn tell(&mut self, actor: &Actor, ask: &Ask, reached: &mut Reached) -> Result<(), Refusal> {
        let (name, is_person) = (&actor.principal, is_person(actor));
        let text = |core: &CoreState, id: u64| core.entries().get(&CoreEntryId(id)).map(|it| it.content.to_string());
        match ask {
            Ask::Add(new, author, trust) => {
                let author = author.map(Into::into);
                let entry = NewCoreEntry { author, trust: *trust, ..NewCoreEntry::new(*new) };
                self.send(actor, &CoreCommand::Add { entries: vec![entry] })?;
                self.given.brought.insert(((*new).into(), name.clone()));
                let is_own = is_person && trust.unwrap_or(Trust::Own) == Trust::Own;
                self.given.own.extend(is_own.then(|| (*new).into()));
            }
            Ask::Edit(id, content, trust) => {
                let before = text(&self.live.state, *id);
                let edit = CoreEdit { content: content.map(Arc::from), trust: *trust, ..CoreEdit::default() };
                let (entry, edit) = (CoreEntryId(*id), Box::new(edit));
                self.send(actor, &CoreCommand::Edit { entry, edit, if_version: None })?;
                let (before, after) = (before.unwrap(), &self.live.state.entries()[&entry]);
                let now = after.content.to_string();
                // An edited text keeps its origins and names its editors.
                let brought: Vec<_> = self.given.brought.iter().filter(|(text, _)| *text == before).cloned().collect();
                self.given.brought.extend(brought.into_iter().map(|(_, by)| (now.clone(), by)));
                if self.given.promoted.contains(&before) {
                    self.given.promoted.insert(now.clone());
                }
                if before != now {
                    let is_told = |it: &Provenance| bringer(it) == name || it.edited_by.iter().any(|by| **by == **name);
                    assert!(after.provenance.iter().all(is_told), "{after:?} does not name {name} as an editor");
                }
                if is_person {
                    self.given.own.extend((after.trust() == Trust::Own).then(|| now.clone()));
                    let may_vouch = CoreAction::Vouch.is_allowed_to(actor, Some(&self.core));
                    let vouches = after.vouched.as_ref().is_some_and(|vouched| *vouched.by == **name);
                    self.given.vouched.extend((may_vouch && vouches).then(|| (now, name.clone())));
                }
            }
            Ask::Forget(id) => {
                let before = text(&self.live.state, *id);
                self.send(actor, &CoreCommand::Forget { entry: CoreEntryId(*id), reason: None, if_version: None })?;
                self.given.forgotten.insert((before.unwrap(), name.clone()));
            }
            Ask::Restore(id) => {
                self.send(actor, &CoreCommand::Restore { entry: CoreEntryId(*id), if_version: None })?;
            }
            Ask::Replace(past, forged) => {
                let mut image = past.get(&self.past).clone();
                forged.iter().for_each(|forgery| forgery.forge(&mut image));
                self.send(actor, &CoreCommand::Replace { image: Box::new(image.clone()) })?;
                self.given.bring(&image, actor, &self.core);
                let kept = claims(&image) == claims(&CoreImage::from(self.live.state.clone()));
                *(if kept { &mut reached.admitted } else { &mut reached.limited }) += 1;
            }
        }
        Ok(())
    }

    fn send(&mut self, actor: &Actor, command: &CoreCommand) -> Result<(), Refusal> {
        send(&mut self.live, Some(&self.space), actor, command, |_| ()).map(|_| ())
    }
}

impl Forgery {
    fn forge(&self, image: &mut CoreImage) {
        let entries = &mut image.entries;
        match self {
            Self::Trust => entries.iter_mut().flat_map(|it| &mut it.provenance).for_each(|it| it.trust = Trust::Own),
            Self::Author(name) => {
                for origin in entries.iter_mut().flat_map(|entry| &mut entry.provenance) {
                    (origin.author, origin.promoted_by) = ((*name).into(), None);
                }
            }
            Self::Vouched(name) => {
                let vouched = Vouched { by: (*name).into(), at: now() };
                entries.iter_mut().for_each(|entry| entry.vouched = Some(vouched.clone()));
            }
            Self::Forgotten(name) => {
                let mark = ForgottenMark { at: now(), by: (*name).into(), reason: None };
                entries.iter_mut().for_each(|entry| entry.forgotten = Some(mark.clone()));
            }
            Self::Promoted => {
                for origin in entries.iter_mut().flat_map(|entry| &mut entry.provenance) {
                    origin.board = Some(BoardId::new("b", &Limits::default()).unwrap());
                    (origin.item, origin.board_rev) = (Some("D-1".into()), Some(7));
                }
            }
            Self::Text(which, text) => {
                if !entries.is_empty() {
                    let place = which.index(entries.len());
                    entries[place].content = Arc::from(*text);
                }
            }
            Self::Entry(text, name) => {
                image.last.0 += 1;
                let origin = Provenance {
                    author: (*name).into(),
                    trust: Trust::Own,
                    at: now(),
                    promoted_by: None,
                    board: None,
                    item: None,
                    board_rev: None,
                    edited_by: vec![],
                };
                entries.push(CoreEntry {
                    id: image.last,
                    version: 1,
                    content: Arc::from(*text),
                    kind: Default::default(),
                    importance: 0.5,
                    tags: vec![],
                    provenance: vec![origin],
                    vouched: None,
                    created_at: now(),
                    updated_at: now(),
                    expires_at: None,
                    forgotten: None,
                });
            }
        }
    }
}

/// All claims of an image.
fn claims(image: &CoreImage) -> Vec<CoreEntry> {
    image.entries.iter().map(|entry| CoreEntry { version: 0, ..entry.clone() }).collect()
}

/// The actor who vouches for the origin's author.
fn bringer(origin: &Provenance) -> &str {
    origin.promoted_by.as_ref().unwrap_or(&origin.author)
}

impl Given {
    /// Records what an image gives on behalf of this actor.
    fn bring(&mut self, image: &CoreImage, actor: &Actor, core: &CoreId) {
        for entry in &image.entries {
            let text = || entry.content.to_string();
            if !is_person(actor) {
                self.brought.insert((text(), actor.principal.clone()));
                self.forgotten.insert((text(), actor.principal.clone()));
                continue;
            }
            for origin in &entry.provenance {
                self.brought.insert((text(), bringer(origin).into()));
                self.own.extend((origin.trust == Trust::Own).then(text));
                self.promoted.extend(origin.board_rev.map(|_| text()));
            }
            self.forgotten.extend(entry.forgotten.iter().map(|mark| (text(), mark.by.to_string())));
            if CoreAction::Vouch.is_allowed_to(actor, Some(core)) {
                self.vouched.extend(entry.vouched.iter().map(|vouched| (text(), vouched.by.to_string())));
            }
        }
    }

    fn check(&self, core: &CoreState) {
        for entry in core.entries().values() {
            let with = |name: &str| (entry.content.to_string(), name.to_owned());
            for origin in &entry.provenance {
                assert!(self.brought.contains(&with(bringer(origin))), "{origin:?} of {entry:?} was not brought");
                let is_given = origin.trust != Trust::Own || self.own.contains(&*entry.content);
                assert!(is_given, "no person gave {entry:?} full trust");
                assert!(origin.board_rev.is_none() || self.promoted.contains(&*entry.content), "{entry:?}");
            }
            if let Some(vouched) = &entry.vouched {
                assert!(self.vouched.contains(&with(&vouched.by)), "nobody vouched for {entry:?}");
            }
            if let Some(mark) = &entry.forgotten {
                assert!(self.forgotten.contains(&with(&mark.by)), "nobody forgot {entry:?}");
            }
        }
    }
}
