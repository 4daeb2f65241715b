//! Every refusal, with its data.

use std::collections::BTreeSet;

use corkboard_core::agent::{
    AgentCommand, AgentImage, AgentReply, AgentState, EntryChange, MemorySnapshot, ParentLocation, Separator,
};
use corkboard_core::notebook::{Block, NewLearning, NotebookItemId, NotebookLearningId, SnippetId, UnknownIds};
use corkboard_core::{AgentId, EntryMetadata, Key, LimitName, Limits, NoteId, Refusal, Request, Role, ScopeName};

use super::{LEARNED, NOWHERE, ROOT, append, append_to, entry_at, expiring, if_version, named, refused, tagged};
use crate::support::{Memory, at, create_scope, key, note, notebook_name, scope_name, set, set_with, update_notebook};

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
            Refusal::Expiry { reason: "it must be in the future".into() },
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
                ids: vec![NotebookItemId::Learning(NotebookLearningId(7)), NotebookItemId::Snippet(SnippetId(1))],
            },
        ),
        (
            || {
                let AgentCommand::UpdateNotebook { notebook, block, unknown_ids, .. } =
                    update_notebook("main", LEARNED)
                else {
                    panic!("expected a notebook update")
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
        (
            || {
                let image = AgentImage { last_note: NoteId(u64::MAX), ..AgentImage::from(AgentState::default()) };
                refused(&[], AgentCommand::Restore { image: Box::new(image) })
            },
            Refusal::MemoryContradicts { reason: "the note number 18446744073709551615 is out of range".into() },
        ),
    ];
    for (act, expected) in &cases {
        assert_eq!(act(), *expected);
    }
    let reached: BTreeSet<_> = cases.iter().map(|(_, refusal)| refusal_name(refusal)).collect();
    assert_eq!(reached.len(), 19, "a refusal is not covered: {reached:?}");
    let messages: Vec<_> = cases.iter().map(|(_, refusal)| refusal.to_string()).collect();
    insta::assert_snapshot!(messages.join("\n"), @r#"
    key must not be blank
    note must not be blank
    tag must not be blank
    scope name must not contain control or invisible characters (found '\t' at byte 1)
    limit reached: note bytes would be 65537; the maximum is 65536
    importance must be a number from 0 to 1, not 1.5
    invalid expiry: it must be in the future
    invalid expiry: give either days or a time, not both
    "a" does not exist, so it is not at version 3
    "a" is at version 2, not 1
    "a" already exists, at version 1
    "a" is at version 1, not 7
    expected revision 9, but the current revision is 1
    cannot append text to "a": its value is an object
    entry "a" not found
    scope ffffffff-ffff-ffff-ffff-ffffffffffff does not exist or was disposed
    the root scope cannot be merged or disposed
    the root scope cannot be merged or disposed
    the snapshot belongs to agent "bob", not to "ann"
    idempotency key "k" was already used at revision 2 for a different request
    ann is an observer and may not change anything
    notebook main has no KL-7, VC-1
    notebook main is at version 1, not 0
    invalid learning "two\nlines": written in the notebook format, it would be parsed as something else
    notebook main cannot be restored: KL-1 is listed twice
    invalid agent memory: the note number 18446744073709551615 is out of range
    "#);
}

/// No wildcard: a new refusal needs a case above.
fn refusal_name(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Blank { .. } => "blank",
        Refusal::TextTooShort { .. } => "about forgetting: see board_forget.rs and core_forget.rs",
        Refusal::ControlCharacter { .. } => "control character",
        Refusal::Limit { .. } => "limit",
        Refusal::OutOfRange { .. } => "a number's: see board_limits.rs",
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
        Refusal::MemoryContradicts { .. } => "memory contradicts",
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
        | Refusal::Irreversible { .. }
        | Refusal::NotReviewer { .. }
        | Refusal::OwnTask { .. }
        | Refusal::UrgentNudges { .. }
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
        | Refusal::NoPromotion { .. }
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
    let create =
        AgentCommand::CreateScope { name: scope_name("s"), parent: NOWHERE, parent_kept: ParentLocation::Elsewhere };
    let AgentReply::ScopeCreated { id } = memory.tell(create) else { panic!("no scope") };
    let merge = AgentCommand::MergeScope { scope: id, overwrite: true };
    assert_eq!(memory.send(merge), Err(Refusal::ScopeGone { scope: NOWHERE }));
}
