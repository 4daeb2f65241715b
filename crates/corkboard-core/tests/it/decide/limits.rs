//! Limits and the warnings before them.

use corkboard_core::agent::{AgentCommand, AgentImage, AgentReply, AgentState, EntryChange, Separator};
use corkboard_core::{
    Actor, AgentId, CommitId, Content, EntryMetadata, IdempotencyKey, Key, LimitName, LimitWarning, Limits, Refusal,
    Request, Revisioned, ScopeName, Space, Usage,
};
use serde_json::{Map, Value, json};

use super::{ROOT, absorb, append, refused_within, restore, tagged, warnings};
use crate::support::{AgentCommit, AgentOutcome, Memory, create_scope, key, note, set, set_with};

#[test]
fn every_limit_refusal_has_its_name_use_and_maximum() {
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

/// Custom data with `levels` nested lists and objects, itself included.
fn nested(levels: u64) -> EntryMetadata {
    let wrap = |inner: Value, level| if level % 2 == 0 { json!([inner, null]) } else { json!({ "a": 1, "b": inner }) };
    let custom = Map::from_iter([("deep".into(), (1..levels).fold(json!("end"), wrap))]);
    EntryMetadata { custom: Some(custom), ..EntryMetadata::default() }
}

#[test]
fn custom_data_is_refused_if_too_deep_to_be_read_again() {
    let deepest = Limits::default().json_depth;
    let mut memory = Memory::new(Limits::default());
    memory.tell(set_with(ROOT, "a", "1", nested(deepest)));
    let too_deep = Refusal::Limit { limit: LimitName::JsonDepth, used: deepest + 1, allowed: deepest };
    for levels in [deepest + 1, deepest + 2, 90] {
        let too_deep = Refusal::Limit { limit: LimitName::JsonDepth, used: levels, allowed: deepest };
        let command = set_with(ROOT, "b", "1", nested(levels));
        assert_eq!(memory.decide(&Request::new(command)), Err(too_deep), "{levels}");
    }

    // It can be read as part of anything that is written: a revision that restores it, and a state.
    let image = AgentImage::from(memory.state().clone());
    memory.tell(AgentCommand::Restore { image: Box::new(image.clone()) });
    assert!(memory.log.iter().all(|body| AgentCommit::decode(body).is_ok()));
    assert_eq!(Revisioned::decode(&memory.live.encode().unwrap()).unwrap(), memory.live);

    let mut deeper = image;
    deeper.scopes[0].entries[0].entry.custom = nested(deepest + 1).custom.map(Into::into);
    assert_eq!(memory.send(AgentCommand::Restore { image: Box::new(deeper) }), Err(too_deep));
}

/// JSON with `levels` nested arrays.
fn deep(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

/// JSON nested 100,000 levels deep used to be accepted and stored.
#[test]
fn json_nested_100_000_levels_deep_is_refused_wherever_a_value_enters() {
    let most = Limits::default().json_depth;
    let too_deep = |used| Err(Refusal::Limit { limit: LimitName::JsonDepth, used, allowed: most });
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", &deep(most as usize)));
    assert_eq!(memory.send(set(ROOT, "b", &deep(most as usize + 1))), too_deep(most + 1));
    assert_eq!(memory.send(set(ROOT, "b", &deep(100_000))), too_deep(100_000));
    let change = |json: &str| {
        let AgentCommand::Set { key, value, type_name, metadata, if_version, .. } = set(ROOT, "b", json) else {
            unreachable!()
        };
        EntryChange::Set { key, value, type_name, metadata, if_version }
    };
    let batch = AgentCommand::Batch { scope: ROOT, changes: vec![change("1"), change(&deep(100_000))] };
    assert_eq!(memory.send(batch), too_deep(100_000));

    // The limit applies to images, too, and to scopes absorbed from another process.
    let mut image = AgentImage::from(memory.state().clone());
    image.scopes[0].entries[0].entry.value = Content::from_json(&deep(100_000)).unwrap();
    let entry = image.scopes[0].entries[0].entry.clone();
    assert_eq!(memory.send(AgentCommand::Restore { image: Box::new(image) }), too_deep(100_000));
    let mut absorb =
        AgentCommand::Absorb { scope: ROOT, entries: vec![(key("b"), entry)], notes: vec![], overwrite: true };
    assert_eq!(
        AgentState::check(&mut absorb, &Actor::local(), &memory.limits),
        too_deep(100_000).map(|_: AgentOutcome| ())
    );

    // Brackets inside a text do not count.
    memory.tell(set(ROOT, "text", &serde_json::to_string(&deep(100_000)).unwrap()));
    // A higher setting is capped at the depth that every parser can read.
    memory.limits.json_depth = u64::MAX;
    memory.tell(set(ROOT, "b", &deep(Limits::MOST_JSON_DEPTH as usize)));
    memory.send(set(ROOT, "b", &deep(Limits::MOST_JSON_DEPTH as usize + 1))).unwrap_err();
    memory.tell(set_with(ROOT, "c", "1", nested(Limits::MOST_JSON_DEPTH)));
    memory.send(set_with(ROOT, "c", "1", nested(Limits::MOST_JSON_DEPTH + 1))).unwrap_err();
    let image = AgentImage::from(memory.state().clone());
    memory.tell(AgentCommand::Restore { image: Box::new(image) });
    for body in &memory.log {
        serde_json::from_slice::<Value>(body).unwrap();
        AgentCommit::decode(body).unwrap();
    }
    let state = memory.live.encode().unwrap();
    serde_json::from_slice::<Value>(&state).unwrap();
    assert_eq!(Revisioned::decode(&state).unwrap(), memory.live);
}

/// Values from before the limit existed stay, and can be read, removed and replaced.
#[test]
fn old_values_beyond_the_depth_stay_readable() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", "[]"));
    let old = String::from_utf8(memory.log[0].to_vec())
        .unwrap()
        .replace("\"value\":[]", &format!("\"value\":{}", deep(100_000)));
    let commit = AgentCommit::decode(old.as_bytes()).unwrap();
    assert_eq!(AgentState::encode(&commit).unwrap(), old.as_bytes());
    let mut live = Revisioned::<AgentState>::default();
    live.apply(&commit, CommitId::NONE, &memory.limits).unwrap();
    let loaded = Revisioned::<AgentState>::decode(&live.encode().unwrap()).unwrap();
    assert_eq!(loaded, live);
    memory.live = loaded;
    assert_eq!(memory.value(ROOT, "a").map(str::len), Some(200_000));
    memory.tell(AgentCommand::Batch { scope: ROOT, changes: vec![EntryChange::Move { from: key("a"), to: key("b") }] });
    memory.tell(set(ROOT, "b", "1"));
    assert_eq!(memory.value(ROOT, "b"), Some("1"));
}

#[test]
fn content_kept_outside_counts_too() {
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
    assert_eq!(
        memory.tell(restore(elsewhere.state())),
        AgentReply::Done,
        "a restore should replace content outside, too"
    );
    elsewhere.tell(set(ROOT, "d", "1"));
    assert_eq!(refused(&[], restore(elsewhere.state())), too_many(LimitName::EntriesPerAgent, 4, 3));
}

#[test]
fn shrinking_is_allowed_over_a_lowered_limit() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", "123456"));
    memory.tell(set(ROOT, "b", "1"));
    memory.limits = Limits { entries_per_agent: 1, state_bytes: 4, ..Limits::default() };
    assert_eq!(memory.tell(set(ROOT, "a", "12345")), AgentReply::Written { is_update: true });
    assert_eq!(memory.tell(set(ROOT, "a", "54321")), AgentReply::Written { is_update: true });
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
