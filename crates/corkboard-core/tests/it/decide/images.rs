//! Images of a memory and restoring them.

use corkboard_core::agent::{AgentCommand, AgentImage, AgentReply, AgentState};
use corkboard_core::knowledge::Trust;
use corkboard_core::{ActorKind, EntryMetadata, LimitName, Limits, NoteId, Refusal, Space, Usage};

use super::{ROOT, expiring, if_version, refused_within, restore, tagged};
use crate::support::{Memory, at, json, key, note, set, set_with};

#[test]
fn restored_entries_have_the_new_revision_and_note_numbers_continue() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("s", ROOT);
    memory.tell(set_with(scope, "a", "1", expiring(3_600)));
    memory.tell(note(ROOT, "first"));
    let then = memory.state().clone();
    memory.tell(set(ROOT, "b", "1"));
    memory.tell(note(ROOT, "second"));
    memory.tell(AgentCommand::DisposeScope { scope });

    assert_eq!(memory.tell(restore(&then)), AgentReply::Done);
    assert_eq!(memory.rev(), 7);
    let restored = memory.entry(scope, "a").unwrap();
    assert_eq!(restored.version, 7);
    assert_eq!(restored.data, then.scope(scope).unwrap().entries["a"].data);
    assert_eq!((memory.entry(ROOT, "b"), memory.notes(ROOT)), (None, vec!["first"]));
    assert_eq!(memory.state().next_due(), then.next_due());
    assert_eq!(memory.tell(note(ROOT, "third")), AgentReply::NoteAdded { id: NoteId(3) });

    let stale = if_version(set(scope, "a", "2"), 2);
    assert!(matches!(memory.send(stale), Err(Refusal::Conflict { expected: 2, .. })));
}

#[test]
fn an_image_lists_parents_first_and_can_be_restored() {
    let mut memory = Memory::new(Limits::default());
    let mut parent = ROOT;
    for _ in 0..20 {
        memory.create_scope("leaf", parent);
        parent = memory.create_scope("branch", parent);
    }
    let image = AgentImage::from(memory.state().clone());
    for (place, scope) in image.scopes.iter().enumerate().skip(1) {
        assert!(image.scopes[..place].iter().any(|earlier| earlier.id == scope.parent));
    }
    let state = memory.state().clone();
    memory.tell(AgentCommand::ClearAll);
    memory.tell(restore(&state));
    let content = |state: &AgentState| AgentImage { activity: None, ..AgentImage::from(state.clone()) };
    assert_eq!(content(memory.state()), content(&state));
    // Past activity stays: 40 scopes created, 40 disposed, and this restore.
    let days: Vec<_> = memory.state().activity().unwrap().days().map(|(_, writes)| writes).collect();
    assert_eq!(days, [81]);
}

#[test]
fn an_image_from_outside_is_validated() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("long name", ROOT);
    let inner = memory.create_scope("s", scope);
    memory.tell(set_with(inner, "long key", "\"long\"", tagged(&["one", "three"])));
    memory.tell(note(inner, "long note"));
    let image = AgentImage::from(memory.state().clone());

    let refuses = |limits: Limits, image: &AgentImage| {
        let command = AgentCommand::Restore { image: Box::new(image.clone()) };
        refused_within(limits, Usage::default(), &[], command)
    };
    let defaults = Limits::default;
    let limit = |limit, used, allowed| Refusal::Limit { limit, used, allowed };
    let cases = [
        (Limits { scope_name_bytes: 8, ..defaults() }, limit(LimitName::ScopeNameBytes, 9, 8)),
        (Limits { key_bytes: 7, ..defaults() }, limit(LimitName::KeyBytes, 8, 7)),
        (Limits { entry_bytes: 13, ..defaults() }, limit(LimitName::EntryBytes, 14, 13)),
        (Limits { tags_per_entry: 1, ..defaults() }, limit(LimitName::TagsPerEntry, 2, 1)),
        (Limits { tag_bytes: 4, ..defaults() }, limit(LimitName::TagBytes, 5, 4)),
        (Limits { note_bytes: 8, ..defaults() }, limit(LimitName::NoteBytes, 9, 8)),
        (Limits { scopes_per_agent: 1, ..defaults() }, limit(LimitName::ScopesPerAgent, 2, 1)),
        (Limits { entries_per_agent: 0, ..defaults() }, limit(LimitName::EntriesPerAgent, 1, 0)),
        (Limits { notes_per_agent: 0, ..defaults() }, limit(LimitName::NotesPerAgent, 1, 0)),
        (Limits { state_bytes: 30, ..defaults() }, limit(LimitName::StateBytes, 31, 30)),
    ];
    for (limits, refusal) in cases {
        assert_eq!(refuses(limits, &image), refusal);
    }

    let mut important = image.clone();
    important.scopes[2].entries[0].entry.importance = 2.0;
    assert_eq!(refuses(defaults(), &important), Refusal::Importance { importance: 2.0 });
    let mut blank = image.clone();
    blank.scopes[2].notes[0].text = " ".into();
    assert_eq!(refuses(defaults(), &blank), Refusal::Blank { what: "note".into() });
    let mut orphaned = image.clone();
    orphaned.scopes.remove(1);
    assert_eq!(refuses(defaults(), &orphaned), Refusal::ScopeGone { scope });
    let mut own_parent = image;
    own_parent.scopes[1].parent = scope;
    assert_eq!(refuses(defaults(), &own_parent), Refusal::ScopeGone { scope });
}

#[test]
fn an_image_that_lists_things_twice_is_refused_and_in_a_log_it_gives_a_sound_state() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("s", ROOT);
    let inner = memory.create_scope("t", scope);
    memory.tell(set_with(scope, "a", "1", expiring(9)));
    memory.tell(set(ROOT, "b", "2"));
    memory.tell(note(scope, "note"));
    let mut image = AgentImage::from(memory.state().clone());
    let mut again = image.scopes.clone();
    for (scope, parent) in again.iter_mut().zip([inner, inner, ROOT]) {
        scope.parent = parent;
        scope.entries.iter_mut().for_each(|entry| entry.entry.value = json("12345"));
    }
    image.scopes.append(&mut again);

    let command = AgentCommand::Restore { image: Box::new(image.clone()) };
    let reason = format!("scope {ROOT} is listed twice");
    assert_eq!(memory.send(command), Err(Refusal::MemoryContradicts { reason }));
    // Older programs could write it, because it was not refused then.
    let state = &mut AgentState::from(image);
    let parents: Vec<_> = [ROOT, scope, inner].iter().map(|id| state.scope(*id).unwrap().parent).collect();
    assert_eq!(parents, [ROOT, ROOT, scope]);
    let value = |scope, name| state.scope(scope).unwrap().entries[&key(name)].value.as_json();
    assert_eq!((value(scope, "a"), value(ROOT, "b")), ("12345", "12345"));
    assert_eq!(state.usage(), Usage { entries: 2, scopes: 2, bytes: 6 + 6 + 4 });
    assert_eq!(state.note_count(), 1);
    assert_eq!(state.next_due(), Some(at(1_009)));
}

/// The trust of the entry `name` and of the only note after an actor of that kind restored the image.
fn restored_by(kind: ActorKind, memory: &mut Memory, image: &AgentImage, name: &str) -> (Trust, Trust) {
    memory.actor.kind = kind;
    memory.tell(AgentCommand::Restore { image: Box::new(image.clone()) });
    let root = memory.state().scope(ROOT).unwrap();
    (root.entries[&key(name)].trust(), root.notes.values().next().unwrap().trust())
}

#[test]
fn an_image_has_no_more_trust_than_its_restorer_can_give() {
    let said = |trust| EntryMetadata { trust: Some(trust), ..EntryMetadata::default() };
    let mut memory = Memory::new(Limits::default());
    memory.actor.kind = ActorKind::Human;
    memory.tell(set_with(ROOT, "a", "\"text\"", said(Trust::Own)));
    memory.tell(AgentCommand::AddNote { scope: ROOT, text: "note".into(), trust: Some(Trust::Own) });
    let own = AgentImage::from(memory.state().clone());

    assert_eq!(
        restored_by(ActorKind::Agent, &mut memory, &own, "a"),
        (Trust::Own, Trust::Own),
        "an unchanged trust should stay"
    );
    memory.tell(AgentCommand::ClearAll);
    assert_eq!(
        restored_by(ActorKind::Agent, &mut memory, &own, "a"),
        (Trust::Agent, Trust::Agent),
        "without existing content, the trust should be limited"
    );
    assert_eq!(
        restored_by(ActorKind::Agent, &mut memory, &own, "a"),
        (Trust::Agent, Trust::Agent),
        "an agent cannot raise it again"
    );
    assert_eq!(
        restored_by(ActorKind::Human, &mut memory, &own, "a"),
        (Trust::Own, Trust::Own),
        "a person can raise it"
    );
    let mut changed = own.clone();
    changed.scopes[0].entries[0].entry.value = json("\"other text\"");
    changed.scopes[0].notes[0].text = "other note".into();
    assert_eq!(
        restored_by(ActorKind::Service, &mut memory, &changed, "a"),
        (Trust::Agent, Trust::Agent),
        "a changed text should lose its trust"
    );

    // Text from outside does not gain trust by being restored, either.
    memory.tell(AgentCommand::ClearAll);
    memory.tell(set_with(ROOT, "a", "\"text\"", said(Trust::Outside)));
    memory.tell(AgentCommand::AddNote { scope: ROOT, text: "note".into(), trust: Some(Trust::Outside) });
    let mut better = AgentImage::from(memory.state().clone());
    better.scopes[0].entries[0].entry.trust = None;
    better.scopes[0].notes[0].trust = None;
    assert_eq!(restored_by(ActorKind::Agent, &mut memory, &better, "a"), (Trust::Outside, Trust::Outside));
    assert_eq!(restored_by(ActorKind::Human, &mut memory, &better, "a"), (Trust::Agent, Trust::Agent));
}

#[test]
fn an_absorbed_entry_has_no_more_trust_than_its_sender_can_give() {
    let mut elsewhere = Memory::new(Limits::default());
    elsewhere.actor.kind = ActorKind::Human;
    let own = EntryMetadata { trust: Some(Trust::Own), ..EntryMetadata::default() };
    elsewhere.tell(set_with(ROOT, "a", "1", own));
    elsewhere.tell(AgentCommand::AddNote { scope: ROOT, text: "note".into(), trust: Some(Trust::Own) });
    let root = elsewhere.state().scope(ROOT).unwrap();
    let absorb = AgentCommand::Absorb {
        scope: ROOT,
        entries: vec![(key("a"), root.entries[&key("a")].data.clone())],
        notes: root.notes.values().cloned().collect(),
        overwrite: true,
    };
    for (kind, trust) in [(ActorKind::Agent, Trust::Agent), (ActorKind::Human, Trust::Own)] {
        let mut memory = Memory::new(Limits::default());
        memory.actor.kind = kind;
        memory.tell(absorb.clone());
        let root = memory.state().scope(ROOT).unwrap();
        assert_eq!(root.entries[&key("a")].trust(), trust);
        assert_eq!(root.notes.values().next().unwrap().trust(), trust);
    }
}
