//! Merging and disposing.

use std::collections::BTreeSet;

use corkboard_core::agent::{AgentCommand, AgentReply};
use corkboard_core::{EntryData, EntryMetadata, Limits, NoteId, Refusal, RequestOutcome, ScopeId, Space, Usage};

use super::{ROOT, absorb, disposed, expiring};
use crate::support::{Memory, actor, at, note, reply, set, set_with};

#[test]
fn merging_copies_entries_and_keeps_the_scope_as_it_is() {
    let check = |overwrite, merged, expected: &str| {
        let mut memory = Memory::new(Limits::default());
        let scope = memory.create_scope("s", ROOT);
        memory.tell(set(ROOT, "both", "\"parent\""));
        memory.tell(set(scope, "both", "\"child\""));
        memory.tell(set_with(scope, "only", "2", EntryMetadata { author: Some("cy".into()), ..expiring(9) }));
        let [parents, childs] = [ROOT, scope].map(|scope| memory.entry(scope, "both").unwrap().clone());
        let only = memory.entry(scope, "only").unwrap().clone();
        memory.now = at(1_005);
        memory.actor = actor("bob");
        let merge = AgentCommand::MergeScope { scope, overwrite };
        assert_eq!(memory.tell(merge), AgentReply::Merged { entries: merged });

        assert_eq!(memory.value(ROOT, "both"), Some(expected));
        assert_eq!(memory.entry(ROOT, "both").unwrap().id, parents.id);
        let copy = memory.entry(ROOT, "only").unwrap();
        assert_ne!(copy.id, only.id);
        assert_eq!(copy.data, EntryData { id: copy.id, ..only.data.clone() });
        assert_eq!(copy.version, memory.rev());
        assert_eq!(memory.entry(scope, "both"), Some(&childs));
        assert_eq!(memory.entry(scope, "only"), Some(&only));
    };
    check(true, 2, "\"child\"");
    check(false, 1, "\"parent\"");
}

#[test]
fn merging_goes_to_the_parent_and_no_further() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("s", ROOT);
    let inner = memory.create_scope("t", scope);
    memory.tell(set(inner, "a", "1"));
    memory.tell(AgentCommand::MergeScope { scope: inner, overwrite: false });
    assert_eq!((memory.value(scope, "a"), memory.value(ROOT, "a")), (Some("1"), None));
}

#[test]
fn merging_appends_each_note_once() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("s", ROOT);
    let merge = || AgentCommand::MergeScope { scope, overwrite: true };
    memory.tell(note(ROOT, "parent"));
    memory.tell(note(scope, "first"));
    memory.tell(note(scope, "second"));
    memory.tell(merge());
    assert_eq!(memory.notes(ROOT), ["parent", "first", "second"]);
    assert_eq!(
        memory.send(merge()),
        Ok(RequestOutcome::Unchanged { reply: AgentReply::Merged { entries: 0 }, rev: 5 })
    );

    memory.tell(note(scope, "third"));
    memory.tell(AgentCommand::Clear { scope: ROOT });
    memory.tell(merge());
    assert_eq!(memory.notes(ROOT), ["third"]);
    assert_eq!(memory.notes(scope), ["first", "second", "third"]);
}

#[test]
fn the_mark_of_merged_notes_only_advances() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("s", ROOT);
    for text in ["first", "second", "third"] {
        memory.tell(note(scope, text));
    }
    memory.tell(AgentCommand::MarkMerged { scope, notes: NoteId(2) });
    let rev = memory.rev();
    let late = AgentCommand::MarkMerged { scope, notes: NoteId(1) };
    assert_eq!(memory.send(late), Ok(RequestOutcome::Unchanged { reply: AgentReply::Done, rev }));
    memory.tell(AgentCommand::MergeScope { scope, overwrite: true });
    assert_eq!(memory.notes(ROOT), ["third"]);
}

#[test]
fn absorbing_takes_the_later_of_two_entries_under_one_key() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", "\"a long text that goes\""));
    let outcome = memory.send(absorb(&[("a", "1"), ("a", "2"), ("b", "3")], &["x"])).unwrap();
    assert_eq!(reply(&outcome), AgentReply::Merged { entries: 2 });
    assert_eq!((memory.value(ROOT, "a"), memory.value(ROOT, "b")), (Some("2"), Some("3")));
    assert_eq!(memory.state().usage(), Usage { entries: 2, scopes: 0, bytes: 5 });
}

#[test]
fn disposing_a_scope_disposes_its_descendants_children_first() {
    let mut memory = Memory::new(Limits::default());
    // Enough scopes that a random order of IDs would show.
    let mut chain = vec![ROOT];
    for _ in 0..8 {
        chain.push(memory.create_scope("s", chain[chain.len() - 1]));
        memory.tell(set_with(chain[chain.len() - 1], "a", "1", expiring(9)));
    }
    let other = memory.create_scope("other", chain[1]);
    let before = memory.clone();

    let outcome = memory.send(AgentCommand::DisposeScope { scope: chain[2] }).unwrap();
    let below: Vec<_> = chain[2..].iter().rev().copied().collect();
    assert_eq!(disposed(&outcome), below);
    assert_eq!(reply(&outcome), AgentReply::Cleared { entries: 1 });
    assert_eq!(memory.state().scopes().map(|(id, _)| id).collect::<BTreeSet<_>>(), BTreeSet::from([chain[1], other]));
    assert_eq!(memory.state().usage(), Usage { entries: 1, scopes: 2, bytes: 2 });
    assert_eq!(memory.send(note(chain[3], "x")), Err(Refusal::ScopeGone { scope: chain[3] }));

    let mut memory = before;
    memory.tell(note(ROOT, "x"));
    let outcome = memory.send(AgentCommand::ClearAll).unwrap();
    let order = disposed(&outcome);
    assert_eq!(order.len(), 9);
    let place = |scope: &ScopeId| order.iter().position(|id| id == scope);
    assert!(chain[1..].is_sorted_by(|parent, child| place(parent) > place(child)), "{order:?}");
    assert_eq!(reply(&outcome), AgentReply::Cleared { entries: 8 });
    assert_eq!(memory.state().usage(), Usage::default());
    assert_eq!((memory.state().note_count(), memory.state().next_due()), (0, None));
}
