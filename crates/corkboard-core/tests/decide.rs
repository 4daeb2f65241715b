//! What a command leads to, by example: the refusals with their data, and the rules that are easiest to get wrong.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what does not hold in a test ends the test"
)]

mod support;

use std::collections::BTreeSet;

use corkboard_core::agent::{
    AgentCommand, AgentEvent, AgentImage, AgentReply, AgentState, EntryChange, Kept, MemorySnapshot, Separator,
};
use corkboard_core::knowledge::Trust;
use corkboard_core::notebook::{Block, ItemId, LearningId, NewLearning, SnippetId, UnknownIds};
use corkboard_core::{Actor, ActorKind};
use corkboard_core::{
    AgentId, Entry, EntryData, EntryMetadata, IdempotencyKey, Key, LimitName, LimitWarning, Limits, MemoryKind, Note,
    NoteId, Outcome, Refusal, Request, Role, ScopeId, ScopeName, Space, Usage,
};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use support::{
    AgentOutcome, Memory, actor, at, create_scope, events, json, key, note, notebook_name, reply, scope_name, set,
    set_with, update_notebook,
};

/// A text that adds one learning.
const LEARNED: &str = "KEY_LEARNINGS:\n  ADD:\n    - because it came up: it is so\n";
const ROOT: ScopeId = ScopeId::ROOT;
const NOWHERE: ScopeId = ScopeId(Uuid::max());

#[test]
fn every_refusal_carries_its_data_and_changes_nothing() {
    let cases: Vec<(fn() -> Refusal, Refusal)> = vec![
        (|| Key::new(" ", &Limits::default()).unwrap_err(), Refusal::Blank { what: "key".into() }),
        (|| refused(&[], note(ROOT, "\n")), Refusal::Blank { what: "note".into() }),
        (|| refused(&[], set_with(ROOT, "a", "1", tagged(&[""]))), Refusal::Blank { what: "tag".into() }),
        (
            || ScopeName::new("a\tb", &Limits::default()).unwrap_err(),
            Refusal::ControlCharacter { what: "scope name".into(), character: '\t', at: 1 },
        ),
        (
            || refused(&[], note(ROOT, &"x".repeat(65_537))),
            Refusal::Limit { limit: LimitName::NoteBytes, used: 65_537, allowed: 65_536 },
        ),
        (
            || refused(&[], set_with(ROOT, "a", "1", EntryMetadata { importance: Some(1.5), ..Default::default() })),
            Refusal::Importance { importance: 1.5 },
        ),
        (
            || refused(&[], set_with(ROOT, "a", "1", expiring(0))),
            Refusal::Expiry { reason: "it must lie in the future".into() },
        ),
        (
            || {
                let metadata = EntryMetadata { expiry_days: Some(1), ..expiring(5) };
                refused(&[], set_with(ROOT, "a", "1", metadata))
            },
            Refusal::Expiry { reason: "give either days or a time, not both".into() },
        ),
        (
            || refused(&[], if_version(set(ROOT, "a", "1"), 3)),
            Refusal::Conflict { key: key("a"), expected: 3, current: None },
        ),
        (
            || refused(&[set(ROOT, "a", "1"), set(ROOT, "a", "2")], if_version(set(ROOT, "a", "3"), 1)),
            Refusal::Conflict { key: key("a"), expected: 1, current: Some(Box::new(entry_at("a", "2", 2))) },
        ),
        (
            || refused(&[set(ROOT, "a", "1")], if_version(append("a", "x", Separator::None), 0)),
            Refusal::Conflict { key: key("a"), expected: 0, current: Some(Box::new(entry_at("a", "1", 1))) },
        ),
        (
            || {
                refused(
                    &[set(ROOT, "a", "1")],
                    AgentCommand::Remove { scope: ROOT, key: key("a"), if_version: Some(7) },
                )
            },
            Refusal::Conflict { key: key("a"), expected: 7, current: Some(Box::new(entry_at("a", "1", 1))) },
        ),
        (
            || {
                let mut memory = Memory::new(Limits::default());
                memory.tell(set(ROOT, "a", "1"));
                let request = Request { if_rev: Some(9), ..Request::new(set(ROOT, "a", "2")) };
                memory.request(&request).unwrap_err()
            },
            Refusal::RevConflict { expected: 9, current: 1 },
        ),
        (
            || refused(&[set(ROOT, "a", "{}")], append("a", "x", Separator::Line)),
            Refusal::NotText { key: key("a"), found: "an object".into() },
        ),
        (
            || {
                let rename = EntryChange::Move { from: key("a"), to: key("b") };
                refused(&[], AgentCommand::Batch { scope: ROOT, changes: vec![rename] })
            },
            Refusal::NoEntry { key: key("a") },
        ),
        (|| refused(&[], set(NOWHERE, "a", "1")), Refusal::ScopeGone { scope: NOWHERE }),
        (|| refused(&[], AgentCommand::DisposeScope { scope: ROOT }), Refusal::RootScope),
        (|| refused(&[], AgentCommand::MergeScope { scope: ROOT, overwrite: true }), Refusal::RootScope),
        (
            || {
                let agent = |name| AgentId::new(name, &Limits::default()).unwrap();
                let snapshot = MemorySnapshot::of(&agent("bob"), &AgentState::default(), 0, at(0));
                snapshot.memory_of(&agent("ann")).unwrap_err()
            },
            Refusal::AgentMismatch { expected: "ann".into(), found: "bob".into() },
        ),
        (
            || {
                let mut memory = Memory::new(Limits::default());
                memory.tell(set(ROOT, "a", "1"));
                memory.request(&named("k", set(ROOT, "a", "2"))).unwrap();
                memory.now = at(2_000);
                memory.request(&named("k", set(ROOT, "a", "3"))).unwrap_err()
            },
            Refusal::IdempotencyMismatch { key: "k".into(), rev: 2, at: at(1_000) },
        ),
        (
            || {
                let mut memory = Memory::new(Limits::default());
                memory.actor.role = Role::Observer;
                memory.send(set(ROOT, "a", "1")).unwrap_err()
            },
            Refusal::RoleDenied {
                principal: "ann".into(),
                role: Role::Observer,
                what: "change anything".into(),
                may: String::new(),
            },
        ),
        (
            || {
                let archive = "KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because old\n    - KL-7 because old\nVERBATIM_CONTEXT:\n  ARCHIVE:\n    - VC-1 because old\n";
                refused(&[update_notebook("main", LEARNED)], update_notebook("main", archive))
            },
            Refusal::UnknownItems {
                notebook: notebook_name("main"),
                ids: vec![ItemId::Learning(LearningId(7)), ItemId::Snippet(SnippetId(1))],
            },
        ),
        (
            || {
                let AgentCommand::UpdateNotebook { notebook, block, unknown_ids, .. } =
                    update_notebook("main", LEARNED)
                else {
                    panic!("another command")
                };
                let late = AgentCommand::UpdateNotebook { notebook, block, unknown_ids, if_version: Some(0) };
                refused(&[update_notebook("main", LEARNED)], late)
            },
            Refusal::NotebookConflict { notebook: notebook_name("main"), expected: 0, current: 1 },
        ),
        (
            || {
                let learning = NewLearning { text: "two\nlines".into(), reason: "r".into() };
                let block = Box::new(Block { learnings: vec![learning], ..Block::default() });
                let (notebook, unknown_ids) = (notebook_name("main"), UnknownIds::Refuse);
                refused(&[], AgentCommand::UpdateNotebook { notebook, block, unknown_ids, if_version: None })
            },
            Refusal::Unreadable { what: "learning".into(), text: "two\nlines".into() },
        ),
        (
            || {
                let mut memory = Memory::new(Limits::default());
                memory.tell(update_notebook("main", LEARNED));
                let mut content = memory.state().notebook("main").unwrap().content(1);
                content.learnings.push(content.learnings[0].clone());
                let (notebook, content) = (notebook_name("main"), Box::new(content));
                memory.send(AgentCommand::RestoreNotebook { notebook, content, if_version: None }).unwrap_err()
            },
            Refusal::NotebookContradicts { notebook: notebook_name("main"), reason: "KL-1 is listed twice".into() },
        ),
    ];
    for (act, expected) in &cases {
        assert_eq!(act(), *expected);
    }
    let reached: BTreeSet<_> = cases.iter().map(|(_, refusal)| refusal_name(refusal)).collect();
    assert_eq!(reached.len(), 18, "a refusal is missing: {reached:?}");
    let messages: Vec<_> = cases.iter().map(|(_, refusal)| refusal.to_string()).collect();
    insta::assert_snapshot!(messages.join("\n"), @r#"
    key must not be blank
    note must not be blank
    tag must not be blank
    scope name must not contain control characters (found '\t' at byte 1)
    limit reached: note bytes would be 65537, allowed are 65536
    importance must be a number from 0 to 1, not 1.5
    expiry refused: it must lie in the future
    expiry refused: give either days or a time, not both
    "a" does not exist, so it is not at version 3
    "a" is at version 2, not 1
    "a" exists already, at version 1
    "a" is at version 1, not 7
    it is at revision 1, not 9
    cannot append text to "a": its value is an object
    there is no entry "a"
    scope ffffffff-ffff-ffff-ffff-ffffffffffff does not exist or was disposed
    the root scope can be neither merged nor disposed
    the root scope can be neither merged nor disposed
    the snapshot belongs to agent "bob", not to "ann"
    idempotency key "k" was used at revision 2 with another body
    ann is an observer and may not change anything
    notebook main has no KL-7, VC-1
    notebook main is at version 1, not 0
    learning "two\nlines" cannot be kept: written in the notebook's language it would be read as something else
    notebook main cannot be restored: KL-1 is listed twice
    "#);
}

/// Has no wildcard: a new refusal needs a case above.
fn refusal_name(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Blank { .. } => "blank",
        Refusal::ControlCharacter { .. } => "control character",
        Refusal::Limit { .. } => "limit",
        Refusal::Importance { .. } => "importance",
        Refusal::Expiry { .. } => "expiry",
        Refusal::RoleDenied { .. } => "role denied",
        Refusal::Conflict { .. } => "conflict",
        Refusal::RevConflict { .. } => "rev conflict",
        Refusal::NotText { .. } => "not text",
        Refusal::NoEntry { .. } => "no entry",
        Refusal::ScopeGone { .. } => "scope gone",
        Refusal::RootScope => "root scope",
        Refusal::AgentMismatch { .. } => "agent mismatch",
        Refusal::IdempotencyMismatch { .. } => "idempotency mismatch",
        Refusal::UnknownItems { .. } => "unknown items",
        Refusal::NotebookConflict { .. } => "notebook conflict",
        Refusal::Unreadable { .. } => "unreadable",
        Refusal::NotebookContradicts { .. } => "notebook contradicts",
        Refusal::NoBoard
        | Refusal::BoardExists
        | Refusal::BoardEnded { .. }
        | Refusal::BoardActive
        | Refusal::BoardKept { .. }
        | Refusal::BoardPurged
        | Refusal::NotOnBoard { .. }
        | Refusal::UnknownMember { .. }
        | Refusal::DuplicateMember { .. }
        | Refusal::KeyReadsAsId { .. }
        | Refusal::Cycle { .. }
        | Refusal::TaskMove { .. }
        | Refusal::NotThisWay { .. }
        | Refusal::NotReady { .. }
        | Refusal::AlreadyBegun { .. }
        | Refusal::TaskHeld { .. }
        | Refusal::OrchestratorHeld { .. }
        | Refusal::Fenced { .. }
        | Refusal::TaskConflict { .. }
        | Refusal::BoardConflict { .. }
        | Refusal::NotAuthor { .. }
        | Refusal::Superseded { .. }
        | Refusal::NothingWaits
        | Refusal::AwaitsApproval { .. }
        | Refusal::Paused { .. }
        | Refusal::NotForYou { .. }
        | Refusal::AlreadyChosen { .. }
        | Refusal::NoBranch { .. }
        | Refusal::BadChoice { .. }
        | Refusal::BoardContradicts { .. }
        | Refusal::CauseNotRetried { .. }
        | Refusal::Unfinished { .. }
        | Refusal::LearningRefused { .. }
        | Refusal::LearningPromoted { .. }
        | Refusal::NotPromoted { .. }
        | Refusal::PromotionOpen { .. }
        | Refusal::PromotionOver { .. }
        | Refusal::OwnLearning { .. }
        | Refusal::NoCore { .. }
        | Refusal::LeaseLength { .. }
        | Refusal::Checksum { .. } => "a board's: see board_refusals.rs",
        Refusal::ReservedName { .. }
        | Refusal::NotInCore { .. }
        | Refusal::EntryForgotten { .. }
        | Refusal::CoreConflict { .. }
        | Refusal::SameText { .. }
        | Refusal::TaskPattern { .. }
        | Refusal::TrustDenied { .. }
        | Refusal::CoreContradicts { .. } => "a core's: see core_rules.rs",
        Refusal::NoToken { .. } => "about tokens: see tokens.rs",
    }
}

#[test]
fn every_command_needs_its_scope() {
    let remove = AgentCommand::Remove { scope: NOWHERE, key: key("a"), if_version: None };
    let absorb = AgentCommand::Absorb { scope: NOWHERE, entries: Vec::new(), notes: Vec::new(), overwrite: true };
    let commands = [
        set(NOWHERE, "a", "1"),
        append_to(NOWHERE, "a", "x", Separator::None),
        remove,
        AgentCommand::Clear { scope: NOWHERE },
        note(NOWHERE, "x"),
        AgentCommand::RemoveNote { scope: NOWHERE, id: NoteId(1) },
        create_scope("s", NOWHERE),
        AgentCommand::MergeScope { scope: NOWHERE, overwrite: true },
        absorb,
        AgentCommand::MarkMerged { scope: NOWHERE, notes: NoteId(1) },
        AgentCommand::DisposeScope { scope: NOWHERE },
    ];
    for command in commands {
        assert_eq!(refused(&[], command), Refusal::ScopeGone { scope: NOWHERE });
    }
}

#[test]
fn a_scope_with_its_parent_elsewhere_cannot_be_merged_here() {
    let mut memory = Memory::new(Limits::default());
    let create = AgentCommand::CreateScope { name: scope_name("s"), parent: NOWHERE, parent_kept: Kept::Elsewhere };
    let AgentReply::ScopeCreated { id } = memory.tell(create) else { panic!("no scope") };
    let merge = AgentCommand::MergeScope { scope: id, overwrite: true };
    assert_eq!(memory.send(merge), Err(Refusal::ScopeGone { scope: NOWHERE }));
}

#[test]
fn every_limit_is_refused_by_name_with_what_was_used_and_allowed() {
    let defaults = Limits::default;
    let check = |limits: Limits, before: &[AgentCommand], command: AgentCommand, limit, used, allowed| {
        let refusal = refused_within(limits, Usage::default(), before, command);
        assert_eq!(refusal, Refusal::Limit { limit, used, allowed });
    };
    let two_notes = [note(ROOT, "1"), note(ROOT, "2")];
    check(Limits { entry_bytes: 8, ..defaults() }, &[], set(ROOT, "a", "123456789"), LimitName::EntryBytes, 9, 8);
    check(Limits { type_name_bytes: 1, ..defaults() }, &[], set(ROOT, "a", "1"), LimitName::TypeNameBytes, 4, 1);
    check(Limits { command_bytes: 8, ..defaults() }, &[], set(ROOT, "a", "123456789"), LimitName::CommandBytes, 9, 8);
    check(
        Limits { tags_per_entry: 1, ..defaults() },
        &[],
        set_with(ROOT, "a", "1", tagged(&["x", "y"])),
        LimitName::TagsPerEntry,
        2,
        1,
    );
    check(
        Limits { tag_bytes: 3, ..defaults() },
        &[],
        set_with(ROOT, "a", "1", tagged(&["long"])),
        LimitName::TagBytes,
        4,
        3,
    );
    check(Limits { note_bytes: 4, ..defaults() }, &[], note(ROOT, "12345"), LimitName::NoteBytes, 5, 4);
    check(Limits { notes_per_agent: 2, ..defaults() }, &two_notes, note(ROOT, "3"), LimitName::NotesPerAgent, 3, 2);
    check(
        Limits { entries_per_agent: 1, ..defaults() },
        &[set(ROOT, "a", "1")],
        set(ROOT, "b", "1"),
        LimitName::EntriesPerAgent,
        2,
        1,
    );
    check(
        Limits { scopes_per_agent: 1, ..defaults() },
        &[create_scope("s", ROOT)],
        create_scope("t", ROOT),
        LimitName::ScopesPerAgent,
        2,
        1,
    );
    check(
        Limits { state_bytes: 5, ..defaults() },
        &[note(ROOT, "123")],
        set(ROOT, "a", "12"),
        LimitName::StateBytes,
        6,
        5,
    );
    check(
        Limits { state_bytes: 5, ..defaults() },
        &[set(ROOT, "a", "12")],
        note(ROOT, "123"),
        LimitName::StateBytes,
        6,
        5,
    );

    let long = "x".repeat(600);
    let limit = |limit, allowed| Err(Refusal::Limit { limit, used: 600, allowed });
    assert_eq!(AgentId::check(&long, &defaults()), limit(LimitName::AgentIdBytes, 256));
    assert_eq!(Key::check(&long, &defaults()), limit(LimitName::KeyBytes, 512));
    assert_eq!(ScopeName::check(&long, &defaults()), limit(LimitName::ScopeNameBytes, 512));
    let named = IdempotencyKey::new(&long, &AgentCommand::Tick, &defaults()).map(|_| ());
    assert_eq!(named, limit(LimitName::IdempotencyKeyBytes, 256));
}

#[test]
fn what_is_kept_outside_counts_too() {
    let outside = Usage { entries: 2, scopes: 1, bytes: 0 };
    let limits = Limits { entries_per_agent: 3, scopes_per_agent: 2, ..Limits::default() };
    let too_many = |limit, used, allowed| Refusal::Limit { limit, used, allowed };
    let refused = |before: &[AgentCommand], command| refused_within(limits.clone(), outside, before, command);

    let full = [set(ROOT, "a", "1"), create_scope("s", ROOT)];
    assert_eq!(refused(&full, set(ROOT, "b", "1")), too_many(LimitName::EntriesPerAgent, 4, 3));
    assert_eq!(refused(&full, create_scope("t", ROOT)), too_many(LimitName::ScopesPerAgent, 3, 2));
    assert_eq!(refused(&full, absorb(&[("b", "1")], &[])), too_many(LimitName::EntriesPerAgent, 4, 3));

    let mut elsewhere = Memory::new(Limits::default());
    for name in ["a", "b", "c"] {
        elsewhere.tell(set(ROOT, name, "1"));
    }
    let mut memory = Memory::new(limits.clone());
    memory.outside = outside;
    assert_eq!(memory.tell(restore(elsewhere.state())), AgentReply::Done, "what is outside is replaced too");
    elsewhere.tell(set(ROOT, "d", "1"));
    assert_eq!(refused(&[], restore(elsewhere.state())), too_many(LimitName::EntriesPerAgent, 4, 3));
}

#[test]
fn what_shrinks_is_welcome_over_a_lowered_limit() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", "123456"));
    memory.tell(set(ROOT, "b", "1"));
    memory.limits = Limits { entries_per_agent: 1, state_bytes: 4, ..Limits::default() };
    assert_eq!(memory.tell(set(ROOT, "a", "12345")), AgentReply::Written { updated: true });
    assert_eq!(memory.tell(set(ROOT, "a", "54321")), AgentReply::Written { updated: true });
    let refusal = Refusal::Limit { limit: LimitName::StateBytes, used: 9, allowed: 4 };
    assert_eq!(memory.send(set(ROOT, "a", "123456")), Err(refusal));
}

#[test]
fn the_bytes_of_an_entry_are_its_value_tags_and_custom_data() {
    let custom = |json: &str| EntryMetadata { custom: Some(serde_json::from_str(json).unwrap()), ..Default::default() };
    let cases = [
        (set(ROOT, "key", "\"text\""), 3 + 6),
        (set(ROOT, "key", "\"\\u0041\""), 3 + 8),
        (set_with(ROOT, "key", "1", tagged(&["one", "two!"])), 3 + 1 + 7),
        (set_with(ROOT, "key", "1", custom("{}")), 3 + 1),
        (set_with(ROOT, "key", "1", custom(r#"{"name": "Ann"}"#)), 3 + 1 + 4 + 5),
        (set_with(ROOT, "key", "1", custom(r#"{"n": 123456, "b": true}"#)), 3 + 1 + 9 + 5),
        (note(ROOT, "ключ"), 8),
    ];
    for (command, bytes) in cases {
        let mut memory = Memory::new(Limits::default());
        memory.tell(command);
        assert_eq!(memory.state().usage().bytes, bytes);
    }
}

#[test]
fn a_caller_is_warned_once_when_a_change_reaches_eighty_percent() {
    let limits = Limits { entries_per_agent: 5, notes_per_agent: 5, scopes_per_agent: 5, ..Limits::default() };
    let cases = [
        (LimitName::EntriesPerAgent, ["a", "b", "c", "d", "e"].map(|name| set(ROOT, name, "1"))),
        (LimitName::NotesPerAgent, ["a", "b", "c", "d", "e"].map(|text| note(ROOT, text))),
        (LimitName::ScopesPerAgent, ["a", "b", "c", "d", "e"].map(|name| create_scope(name, ROOT))),
    ];
    for (limit, commands) in cases {
        let mut memory = Memory::new(limits.clone());
        let warned = commands.map(|command| warnings(&memory.send(command).unwrap()));
        let nearly = vec![LimitWarning { limit, used: 4, allowed: 5 }];
        assert_eq!(warned, [vec![], vec![], vec![], nearly, vec![]]);
    }
}

#[test]
fn every_command_that_adds_bytes_warns_of_them() {
    let limits = Limits { state_bytes: 10, ..Limits::default() };
    let mut elsewhere = Memory::new(Limits::default());
    elsewhere.tell(set(ROOT, "b", "1234567"));
    let commands = [
        set(ROOT, "b", "123"),
        append("a", "1234", Separator::None),
        note(ROOT, "1234"),
        absorb(&[("b", "1")], &["12"]),
        restore(elsewhere.state()),
    ];
    for command in commands {
        let mut memory = Memory::new(limits.clone());
        memory.tell(set(ROOT, "a", "\"1\""));
        let outcome = memory.send(command).unwrap();
        let warning = LimitWarning { limit: LimitName::StateBytes, used: 8, allowed: 10 };
        assert_eq!(warnings(&outcome), [warning], "{outcome:?}");
    }
}

#[test]
fn bulk_commands_warn_of_every_limit_they_come_close_to() {
    let limits = Limits { entries_per_agent: 2, notes_per_agent: 2, scopes_per_agent: 2, ..Limits::default() };
    let nearly = |limit| LimitWarning { limit, used: 2, allowed: 2 };
    let mut memory = Memory::new(limits.clone());
    let outcome = memory.send(absorb(&[("a", "1"), ("b", "2")], &["x", "y"])).unwrap();
    assert_eq!(warnings(&outcome), [nearly(LimitName::EntriesPerAgent), nearly(LimitName::NotesPerAgent)]);

    memory.create_scope("s", ROOT);
    memory.create_scope("t", ROOT);
    let outcome = Memory::new(limits).send(restore(memory.state())).unwrap();
    let all = [LimitName::EntriesPerAgent, LimitName::NotesPerAgent, LimitName::ScopesPerAgent].map(nearly);
    assert_eq!(warnings(&outcome), all);
}

#[test]
fn setting_again_keeps_the_id_and_replaces_everything_else() {
    let mut memory = Memory::new(Limits::default());
    let said = EntryMetadata {
        importance: Some(0.9),
        tags: Some(vec!["t".into()]),
        kind: Some(MemoryKind::Insight),
        expires_at: Some(at(5_000)),
        custom: Some(serde_json::Map::new()),
        author: Some("cy".into()),
        session: Some("s1".into()),
        at: Some(at(7)),
        ..EntryMetadata::default()
    };
    assert_eq!(memory.tell(set_with(ROOT, "a", "1", said)), AgentReply::Written { updated: false });
    let first = memory.entry(ROOT, "a").unwrap().clone();
    assert_eq!((first.timestamp, &*first.author, first.session.as_deref()), (at(7), "cy", Some("s1")));
    assert_eq!(memory.state().next_due(), Some(at(5_000)));

    memory.now = at(2_000);
    assert_eq!(memory.tell(set(ROOT, "a", "2")), AgentReply::Written { updated: true });
    let expected = Entry {
        data: EntryData { id: first.id, timestamp: at(2_000), ..entry_at("a", "2", 2).data },
        ..entry_at("a", "2", 2)
    };
    assert_eq!(**memory.entry(ROOT, "a").unwrap(), expected);
    assert_eq!(memory.state().next_due(), None);
}

#[test]
fn a_note_is_trusted_as_far_as_it_was_said_wherever_it_is_merged() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("s", ROOT);
    let noted = |trust| AgentCommand::AddNote { scope, text: "obey".into(), trust };
    memory.actor = Actor { kind: ActorKind::Agent, ..actor("bob") };
    let denied = memory.send(noted(Some(Trust::Own))).unwrap_err();
    let (asked, most) = (Trust::Own, Trust::Agent);
    assert_eq!(denied, Refusal::TrustDenied { principal: "bob".into(), asked, most });
    memory.tell(noted(Some(Trust::Outside)));
    memory.tell(noted(None));
    memory.tell(AgentCommand::MergeScope { scope, overwrite: true });
    let trusts: Vec<_> = memory.state().scope(ROOT).unwrap().notes.values().map(Note::trust).collect();
    assert_eq!(trusts, [Trust::Outside, Trust::Agent]);
}

#[test]
fn an_entry_is_trusted_as_far_as_it_was_said_and_no_further_than_whoever_says_so() {
    let mut memory = Memory::new(Limits::default());
    let trusted = |trust| EntryMetadata { trust: Some(trust), ..EntryMetadata::default() };
    memory.actor = Actor { kind: ActorKind::Agent, ..actor("bob") };
    let denied = memory.send(set_with(ROOT, "a", "1", trusted(Trust::Own))).unwrap_err();
    let (asked, most) = (Trust::Own, Trust::Agent);
    assert_eq!(denied, Refusal::TrustDenied { principal: "bob".into(), asked, most });
    memory.tell(set_with(ROOT, "a", "\"web\"", trusted(Trust::Outside)));
    memory.tell(append("a", "more", Separator::Line));
    assert_eq!(memory.entry(ROOT, "a").unwrap().trust(), Trust::Outside, "it stays what it was");
    memory.tell(set(ROOT, "a", "1"));
    assert_eq!(memory.entry(ROOT, "a").unwrap().trust, None);
    memory.actor = Actor { kind: ActorKind::Human, ..actor("ada") };
    memory.tell(set_with(ROOT, "b", "\"mine\"", trusted(Trust::Own)));
    assert_eq!(memory.entry(ROOT, "b").unwrap().trust(), Trust::Own);
    memory.actor = Actor { kind: ActorKind::Agent, ..actor("bob") };
    memory.tell(append("b", "and bob's", Separator::Line));
    assert_eq!(memory.entry(ROOT, "b").unwrap().trust(), Trust::Agent, "nobody vouches for what others added");
}

#[test]
fn appending_keeps_all_but_the_text_its_time_and_its_author() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set_with(ROOT, "a", "\"one\"", EntryMetadata { importance: Some(0.9), ..expiring(3_000) }));
    let first = memory.entry(ROOT, "a").unwrap().clone();
    memory.now = at(2_000);
    memory.actor = actor("bob");
    memory.tell(append("a", "two", Separator::Line));
    let second = memory.entry(ROOT, "a").unwrap();
    let expected =
        EntryData { value: json("\"one\\ntwo\""), timestamp: at(2_000), author: "bob".into(), ..first.data.clone() };
    assert_eq!(second.data, expected);
    assert_eq!((first.version, second.version), (1, 2));
}

#[test]
fn text_is_appended_with_the_separator_between() {
    let check = |old: Option<&str>, separator, expected: &str| {
        let mut memory = Memory::new(Limits::default());
        if let Some(old) = old {
            memory.tell(set(ROOT, "a", old));
        }
        assert_eq!(memory.tell(append("a", "x", separator)), AgentReply::Written { updated: old.is_some() });
        assert_eq!(memory.value(ROOT, "a"), Some(expected));
    };
    check(None, Separator::None, r#""x""#);
    check(None, Separator::Line, r#""x""#);
    check(Some(r#""""#), Separator::Line, r#""x""#);
    check(Some(r#""a""#), Separator::None, r#""ax""#);
    check(Some(r#""a""#), Separator::Line, r#""a\nx""#);
    check(Some(r#""\u0041\"""#), Separator::Line, r#""\u0041\"\nx""#);
    check(Some(" \"a\"\n"), Separator::None, r#""ax""#);
}

#[test]
fn only_text_takes_more_text() {
    let values =
        [("{}", "an object"), ("[\"a\"]", "an array"), ("true", "a boolean"), ("null", "null"), ("-7", "a number")];
    for (value, found) in values {
        let refusal = refused(&[set(ROOT, "a", value)], append("a", "x", Separator::None));
        assert_eq!(refusal, Refusal::NotText { key: key("a"), found: found.into() });
    }
}

#[test]
fn an_appended_text_counts_with_its_escapes_like_one_that_is_set() {
    let limits = Limits { entry_bytes: 10, ..Limits::default() };
    let long = |used| Refusal::Limit { limit: LimitName::EntryBytes, used, allowed: 10 };
    let refused = |before: &[AgentCommand], command| refused_within(limits.clone(), Usage::default(), before, command);
    assert_eq!(refused(&[], set(ROOT, "a", r#""a\n\n\n\nb""#)), long(12));
    assert_eq!(refused(&[set(ROOT, "a", r#""a""#)], append("a", "\n\n\n\nb", Separator::None)), long(12));

    let mut memory = Memory::new(limits.clone());
    memory.tell(set(ROOT, "a", r#""a""#));
    memory.tell(append("a", "\n\nb", Separator::Line));
    assert_eq!(memory.value(ROOT, "a"), Some(r#""a\n\n\nb""#));
    assert_eq!(memory.entry(ROOT, "a").unwrap().bytes(), 10);
}

#[test]
fn a_short_text_may_be_appended_to_one_longer_than_a_command() {
    let limits = Limits { command_bytes: 6, ..Limits::default() };
    let mut memory = Memory::new(limits);
    memory.tell(set(ROOT, "a", "\"1234\""));
    memory.tell(append("a", "567890", Separator::None));
    assert_eq!(memory.value(ROOT, "a"), Some("\"1234567890\""));
    let refusal = Refusal::Limit { limit: LimitName::CommandBytes, used: 7, allowed: 6 };
    assert_eq!(memory.send(append("a", "1234567", Separator::None)), Err(refusal));
}

#[test]
fn what_is_due_expires_in_the_revision_of_the_next_command() {
    let mut memory = Memory::new(Limits { entries_per_agent: 2, ..Limits::default() });
    let scope = memory.create_scope("s", ROOT);
    memory.tell(set_with(ROOT, "late", "1", expiring(60)));
    memory.tell(set_with(scope, "soon", "1", expiring(20)));
    assert_eq!(memory.state().next_due(), Some(at(1_020)));

    memory.now = at(1_060);
    // The room of what expires is free for the command.
    let outcome = memory.send(if_version(set(ROOT, "late", "2"), 0)).unwrap();
    let expired = |scope, name| AgentEvent::EntryExpired { scope, key: key(name) };
    assert_eq!(events(&outcome)[..2], [expired(scope, "soon"), expired(ROOT, "late")]);
    assert!(matches!(&events(&outcome)[2..], [AgentEvent::EntrySet { updated: false, .. }]));
    assert_eq!(reply(&outcome), AgentReply::Written { updated: false });
    assert_eq!(memory.rev(), 4);
    assert_eq!(memory.state().next_due(), None);
    assert_eq!((memory.entry(scope, "soon"), memory.value(ROOT, "late")), (None, Some("2")));
}

#[test]
fn a_refused_command_expires_nothing_and_a_tick_only_what_is_due() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set_with(ROOT, "a", "1", expiring(20)));
    assert_eq!(memory.send(AgentCommand::Tick), Ok(Outcome::Unchanged { reply: AgentReply::Done, rev: 1 }));

    memory.now = at(1_020);
    memory.send(note(NOWHERE, "x")).unwrap_err();
    assert_eq!(memory.entry(ROOT, "a").map(|entry| entry.is_expired(memory.now)), Some(true));
    assert_eq!(memory.state().scope(ROOT).unwrap().get("a", memory.now), None);

    let outcome = memory.send(AgentCommand::Tick).unwrap();
    assert_eq!(events(&outcome), [AgentEvent::EntryExpired { scope: ROOT, key: key("a") }]);
    assert_eq!((memory.rev(), memory.entry(ROOT, "a")), (2, None));
}

#[test]
fn what_changes_nothing_leaves_no_revision_unless_it_has_a_name() {
    let mut memory = Memory::new(Limits::default());
    let nothing = || AgentCommand::Remove { scope: ROOT, key: key("a"), if_version: Some(0) };
    let removed = AgentReply::Removed { existed: false };
    assert_eq!(memory.send(nothing()), Ok(Outcome::Unchanged { reply: removed, rev: 0 }));

    let outcome = memory.request(&named("k", nothing())).unwrap();
    assert!(matches!(outcome, Outcome::Commit { .. }));
    assert_eq!((events(&outcome), memory.rev()), (&[][..], 1));
    memory.tell(set(ROOT, "a", "1"));
    assert_eq!(memory.request(&named("k", nothing())), Ok(Outcome::Unchanged { reply: removed, rev: 1 }));
    assert_eq!(memory.value(ROOT, "a"), Some("1"));
}

#[test]
fn a_name_is_free_again_after_its_hours_and_kept_for_as_many_as_can_be_written() {
    let mut memory = Memory::new(Limits { idempotency_hours: 1, ..Limits::default() });
    memory.request(&named("k", set(ROOT, "a", "1"))).unwrap();
    memory.now = at(1_000 + 3_599);
    memory.request(&named("k", set(ROOT, "a", "2"))).unwrap_err();
    memory.now = at(1_000 + 3_600);
    memory.request(&named("k", set(ROOT, "a", "2"))).unwrap();

    for hours in [i64::MAX as u64, u64::MAX] {
        memory.limits.idempotency_hours = hours;
        memory.now = Timestamp::MAX;
        let again = memory.request(&named("k", set(ROOT, "a", "2")));
        assert_eq!(again, Ok(Outcome::Unchanged { reply: AgentReply::Written { updated: true }, rev: 2 }));
    }
}

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
    assert_eq!(memory.send(merge()), Ok(Outcome::Unchanged { reply: AgentReply::Merged { entries: 0 }, rev: 5 }));

    memory.tell(note(scope, "third"));
    memory.tell(AgentCommand::Clear { scope: ROOT });
    memory.tell(merge());
    assert_eq!(memory.notes(ROOT), ["third"]);
    assert_eq!(memory.notes(scope), ["first", "second", "third"]);
}

#[test]
fn a_mark_of_merged_notes_only_moves_on() {
    let mut memory = Memory::new(Limits::default());
    let scope = memory.create_scope("s", ROOT);
    for text in ["first", "second", "third"] {
        memory.tell(note(scope, text));
    }
    memory.tell(AgentCommand::MarkMerged { scope, notes: NoteId(2) });
    let rev = memory.rev();
    let late = AgentCommand::MarkMerged { scope, notes: NoteId(1) };
    assert_eq!(memory.send(late), Ok(Outcome::Unchanged { reply: AgentReply::Done, rev }));
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
fn disposing_a_scope_disposes_all_below_it_children_first() {
    let mut memory = Memory::new(Limits::default());
    // Enough of them that ids in no order would show.
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

#[test]
fn what_is_restored_is_new_at_that_revision_and_note_numbers_go_on() {
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
    // What was done stays done: 40 scopes created, as many disposed, and this.
    let days: Vec<_> = memory.state().activity().unwrap().days().map(|(_, writes)| writes).collect();
    assert_eq!(days, [81]);
}

#[test]
fn an_image_from_outside_is_held_to_the_rules() {
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
fn an_image_that_lists_things_twice_gives_a_sound_state() {
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

    memory.tell(AgentCommand::Restore { image: Box::new(image) });
    let state = memory.state();
    let parents: Vec<_> = [ROOT, scope, inner].iter().map(|id| state.scope(*id).unwrap().parent).collect();
    assert_eq!(parents, [ROOT, ROOT, scope]);
    assert_eq!((memory.value(scope, "a"), memory.value(ROOT, "b")), (Some("12345"), Some("12345")));
    assert_eq!(state.usage(), Usage { entries: 2, scopes: 2, bytes: 6 + 6 + 4 });
    assert_eq!(state.note_count(), 1);
    memory.now = at(1_009);
    memory.tell(AgentCommand::Tick);
    assert_eq!(memory.state().next_due(), None);
}

/// The refusal of a command, which must leave the memory as it is.
fn refused(before: &[AgentCommand], command: AgentCommand) -> Refusal {
    refused_within(Limits::default(), Usage::default(), before, command)
}

fn refused_within(limits: Limits, outside: Usage, before: &[AgentCommand], command: AgentCommand) -> Refusal {
    let mut memory = Memory::new(limits);
    memory.outside = outside;
    for command in before {
        memory.tell(command.clone());
    }
    let untouched = memory.live.clone();
    let refusal = memory.send(command).unwrap_err();
    assert_eq!(memory.live, untouched);
    refusal
}

fn warnings(outcome: &AgentOutcome) -> Vec<LimitWarning> {
    match outcome {
        Outcome::Commit { warnings, .. } => warnings.clone(),
        Outcome::Unchanged { .. } => Vec::new(),
    }
}

fn disposed(outcome: &AgentOutcome) -> Vec<ScopeId> {
    let disposed = events(outcome).iter().filter_map(|event| match event {
        AgentEvent::ScopeDisposed { scope, .. } => Some(*scope),
        _ => None,
    });
    disposed.collect()
}

/// An entry as the first request of a memory writes it, at a later version.
fn entry_at(name: &str, value: &str, version: u64) -> Entry {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, name, value));
    Entry { version, ..Entry::clone(memory.entry(ROOT, name).unwrap()) }
}

fn named(name: &str, command: AgentCommand) -> Request<AgentCommand> {
    let idempotency = Some(IdempotencyKey::new(name, &command, &Limits::default()).unwrap());
    Request { command, if_rev: None, idempotency }
}

fn if_version(mut command: AgentCommand, version: u64) -> AgentCommand {
    match &mut command {
        AgentCommand::Set { if_version, .. } | AgentCommand::Append { if_version, .. } => *if_version = Some(version),
        other => panic!("{other:?} has no version"),
    }
    command
}

fn append(name: &str, text: &str, separator: Separator) -> AgentCommand {
    append_to(ROOT, name, text, separator)
}

fn append_to(scope: ScopeId, name: &str, text: &str, separator: Separator) -> AgentCommand {
    AgentCommand::Append { scope, key: key(name), text: text.into(), separator, if_version: None }
}

/// Entries and notes from elsewhere, for the root.
fn absorb(entries: &[(&str, &str)], notes: &[&str]) -> AgentCommand {
    let entries = entries.iter().map(|(name, value)| (key(name), entry_at(name, value, 1).data)).collect();
    let notes = notes.iter().map(|text| Note {
        id: NoteId(1),
        text: (*text).into(),
        author: "cy".into(),
        timestamp: at(1),
        trust: None,
    });
    AgentCommand::Absorb { scope: ROOT, entries, notes: notes.collect(), overwrite: true }
}

fn restore(state: &AgentState) -> AgentCommand {
    AgentCommand::Restore { image: Box::new(AgentImage::from(state.clone())) }
}

fn tagged(tags: &[&str]) -> EntryMetadata {
    EntryMetadata { tags: Some(tags.iter().map(|tag| (*tag).into()).collect()), ..EntryMetadata::default() }
}

/// Seconds from the start of a memory's clock.
fn expiring(seconds: i64) -> EntryMetadata {
    EntryMetadata { expires_at: Some(at(1_000) + SignedDuration::from_secs(seconds)), ..EntryMetadata::default() }
}
