//! An agent's memory: entries and notes, restored and absorbed. By contract, the writer of an entry may name any
//! author. The author of a note is always its writer.

use std::collections::BTreeSet;
use std::sync::Arc;

use corkboard_core::agent::{AgentCommand, AgentImage, AgentState};
use corkboard_core::knowledge::Trust;
use corkboard_core::{Actor, Content, EntryMetadata, Key, Limits, Note, NoteId, Refusal, Revisioned, ScopeId};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::authority::{Reached, actors, is_person, names, now, send, trusts};

const TEXTS: [&str; 4] = ["one", "two", "three", "four"];
const KEYS: [&str; 3] = ["a", "b", "c"];

#[derive(Debug, Clone)]
pub(crate) struct Step {
    actor: Actor,
    ask: Ask,
}

#[derive(Debug, Clone)]
enum Ask {
    Set(&'static str, &'static str, Option<Trust>),
    Append(&'static str, &'static str),
    Note(&'static str, Option<Trust>),
    RemoveNote(u64),
    /// Restores a forged image of an earlier state.
    Restore(Index, Vec<Forgery>),
    /// Absorbs the forged content of an ephemeral scope.
    Absorb(Index, Vec<Forgery>),
}

#[derive(Debug, Clone)]
enum Forgery {
    Trust,
    Author(&'static str),
    Text(&'static str),
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let texts = || proptest::sample::select(&TEXTS[..]);
    let keys = || proptest::sample::select(&KEYS[..]);
    let forgery = prop_oneof![
        2 => Just(Forgery::Trust),
        2 => names().prop_map(Forgery::Author),
        1 => texts().prop_map(Forgery::Text),
    ];
    let forged = || (any::<Index>(), proptest::collection::vec(forgery.clone(), 0..3));
    let ask = prop_oneof![
        4 => (keys(), texts(), trusts()).prop_map(|(key, text, trust)| Ask::Set(key, text, trust)),
        1 => (keys(), texts()).prop_map(|(key, text)| Ask::Append(key, text)),
        4 => (texts(), trusts()).prop_map(|(text, trust)| Ask::Note(text, trust)),
        1 => (1..6u64).prop_map(Ask::RemoveNote),
        4 => forged().prop_map(|(past, forged)| Ask::Restore(past, forged)),
        2 => forged().prop_map(|(past, forged)| Ask::Absorb(past, forged)),
    ];
    let step = (actors(), ask).prop_map(|(actor, ask)| Step { actor, ask });
    proptest::collection::vec(step, 1..40)
}

/// Who gave what.
#[derive(Default)]
struct Given {
    /// Values and notes that a person gave full trust.
    own: BTreeSet<String>,
    /// Notes and their authors.
    notes: BTreeSet<(String, String)>,
}

pub(crate) fn run(steps: &[Step]) -> Reached {
    let (mut live, mut given) = (Revisioned::<AgentState>::default(), Given::default());
    let (mut past, mut reached) = (vec![AgentImage::from(AgentState::default())], Reached::default());
    for Step { actor, ask } in steps {
        let answer = tell(&mut live, actor, ask, &past, &mut given, &mut reached);
        reached.refused += u32::from(answer.is_err());
        given.check(&live.state);
        past.push(AgentImage { activity: None, ..AgentImage::from(live.state.clone()) });
    }
    reached
}

fn tell(
    live: &mut Revisioned<AgentState>,
    actor: &Actor,
    ask: &Ask,
    past: &[AgentImage],
    given: &mut Given,
    reached: &mut Reached,
) -> Result<(), Refusal> {
    let scope = ScopeId::ROOT;
    let key = |name: &str| Key::new(name, &Limits::default()).unwrap();
    let mut send = |command: AgentCommand| send(live, None, actor, &command, |_| ()).map(|_| ());
    match ask {
        Ask::Set(name, text, trust) => {
            let metadata = Box::new(EntryMetadata { trust: *trust, ..EntryMetadata::default() });
            let (key, value, type_name) = (key(name), value(text), "".into());
            send(AgentCommand::Set { scope, key, value, type_name, metadata, if_version: None })?;
            let is_own = is_person(actor) && *trust == Some(Trust::Own);
            given.own.extend(is_own.then(|| format!("\"{text}\"")));
        }
        Ask::Append(name, text) => {
            let (key, text, separator) = (key(name), (*text).to_owned(), Default::default());
            send(AgentCommand::Append { scope, key, text, separator, if_version: None })?;
        }
        Ask::Note(text, trust) => {
            send(AgentCommand::AddNote { scope, text: (*text).into(), trust: *trust })?;
            given.notes.insert(((*text).into(), actor.principal.clone()));
            let is_own = is_person(actor) && *trust == Some(Trust::Own);
            given.own.extend(is_own.then(|| (*text).into()));
        }
        Ask::RemoveNote(id) => send(AgentCommand::RemoveNote { scope, id: NoteId(*id) })?,
        Ask::Restore(index, forged) => {
            let image = forge(index.get(past), forged);
            send(AgentCommand::Restore { image: Box::new(image.clone()) })?;
            given.bring(&image, actor);
            let is_kept = claims(&AgentImage::from(live.state.clone())) == claims(&image);
            *(if is_kept { &mut reached.admitted } else { &mut reached.limited }) += 1;
        }
        Ask::Absorb(index, forged) => {
            let image = forge(index.get(past), forged);
            let root = image.scopes[0].clone();
            let entries = root.entries.into_iter().map(|it| (it.key, it.entry)).collect();
            send(AgentCommand::Absorb { scope, entries, notes: root.notes, overwrite: true })?;
            given.bring(&image, actor);
        }
    }
    Ok(())
}

/// All claims of an image.
fn claims(image: &AgentImage) -> (Vec<Note>, Vec<Trust>) {
    let scopes = || image.scopes.iter();
    let trusts = scopes().flat_map(|scope| scope.entries.iter().map(|it| it.entry.trust()));
    (scopes().flat_map(|scope| scope.notes.clone()).collect(), trusts.collect())
}

fn value(text: &str) -> Content {
    Content::from_json(&format!("\"{text}\"")).unwrap()
}

fn forge(image: &AgentImage, forged: &[Forgery]) -> AgentImage {
    let mut image = image.clone();
    let root = &mut image.scopes[0];
    if root.notes.is_empty() && !forged.is_empty() {
        image.last_note.0 += 1;
        let (text, author) = (Arc::from("one"), Arc::from("grace"));
        root.notes.push(Note { id: image.last_note, text, author, at: now(), trust: Some(Trust::Own) });
    }
    for forgery in forged {
        match forgery {
            Forgery::Trust => {
                root.entries.iter_mut().for_each(|it| it.entry.trust = Some(Trust::Own));
                root.notes.iter_mut().for_each(|it| it.trust = Some(Trust::Own));
            }
            Forgery::Author(name) => root.notes.iter_mut().for_each(|it| it.author = Arc::from(*name)),
            Forgery::Text(text) => {
                root.entries.iter_mut().for_each(|it| it.entry.value = value(text));
                root.notes.iter_mut().for_each(|it| it.text = Arc::from(*text));
            }
        }
    }
    image
}

impl Given {
    /// Records what an image gives on behalf of this actor.
    fn bring(&mut self, image: &AgentImage, actor: &Actor) {
        for scope in &image.scopes {
            for note in &scope.notes {
                let by = if is_person(actor) { note.author.to_string() } else { actor.principal.clone() };
                self.notes.insert((note.text.to_string(), by));
                self.own.extend((is_person(actor) && note.trust() == Trust::Own).then(|| note.text.to_string()));
            }
            for entry in &scope.entries {
                let is_own = is_person(actor) && entry.entry.trust() == Trust::Own;
                self.own.extend(is_own.then(|| entry.entry.value.as_json().to_owned()));
            }
        }
    }

    fn check(&self, memory: &AgentState) {
        let root = memory.scope(ScopeId::ROOT).unwrap();
        for note in root.notes.values() {
            assert!(note.trust() != Trust::Own || self.own.contains(&*note.text), "no person gave {note:?} full trust");
            assert!(
                self.notes.contains(&(note.text.to_string(), note.author.to_string())),
                "{note:?} names the wrong author"
            );
        }
        for entry in root.entries.values() {
            assert!(
                entry.trust() != Trust::Own || self.own.contains(entry.value.as_json()),
                "no person gave {entry:?} full trust"
            );
        }
    }
}
