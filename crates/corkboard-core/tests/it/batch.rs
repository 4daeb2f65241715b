//! Several changes in one revision, and forgetting entries that were renamed.

use corkboard_core::agent::{AgentCommand, AgentEvent, AgentReply, AgentState, EntryChange, Forget, Separator};
use corkboard_core::{EntryMetadata, LimitName, Limits, Refusal, Request, RequestOutcome, Revisioned, ScopeId, Space};
use uuid::Uuid;

use crate::support::{AgentCommit, Memory, actor, at, events, json, key, replay, reply, set, set_with};

const ROOT: ScopeId = ScopeId::ROOT;

#[test]
fn changes_are_decided_in_order_and_are_one_revision() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "old", "1"));
    let outcome = memory.send(batch([
        put("a", "\"x\""),
        append("a", "y"),
        rename("a", "b"),
        append("b", "z"),
        remove("old"),
        remove("never"),
        put("old", "2"),
    ]));
    let outcome = outcome.unwrap();
    assert_eq!(reply(&outcome), AgentReply::Done);
    assert_eq!(memory.rev(), 2);
    assert_eq!((memory.value(ROOT, "a"), memory.value(ROOT, "b")), (None, Some("\"xyz\"")));
    assert_eq!(memory.value(ROOT, "old"), Some("2"));
    let versions = ["b", "old"].map(|name| memory.entry(ROOT, name).unwrap().version);
    assert_eq!(versions, [2, 2]);
    let kinds: Vec<_> = events(&outcome).iter().map(kind).collect();
    assert_eq!(kinds, ["set", "appended", "removed", "set", "appended", "removed", "set"]);
    assert_eq!(replay(Revisioned::default(), &memory.log, &memory.limits), memory.live);
}

#[test]
fn one_refused_change_refuses_all() {
    let cases = [
        (rename("none", "b"), Refusal::NoEntry { key: key("none") }),
        (append("number", "x"), Refusal::NotText { key: key("number"), found: "a number".into() }),
    ];
    for (change, expected) in cases {
        let mut memory = Memory::new(Limits::default());
        memory.tell(set(ROOT, "number", "1"));
        let before = memory.live.clone();
        assert_eq!(memory.send(batch([put("a", "1"), remove("number"), put("number", "1"), change])), Err(expected));
        assert_eq!(memory.live, before);
    }
}

#[test]
fn an_entry_is_renamed_with_its_metadata() {
    let mut memory = Memory::new(Limits::default());
    let metadata = EntryMetadata {
        importance: Some(0.75),
        tags: Some(vec!["t".into()]),
        expires_at: Some(at(5_000)),
        author: Some("cy".into()),
        session: Some("s1".into()),
        ..EntryMetadata::default()
    };
    memory.tell(set_with(ROOT, "a", "[1]", metadata));
    let before = memory.entry(ROOT, "a").unwrap().data.clone();
    memory.now = at(2_000);
    memory.actor = actor("bob");
    memory.tell(batch([rename("a", "b")]));
    let after = memory.entry(ROOT, "b").unwrap();
    assert_eq!((&after.data, after.version), (&before, 2));
    assert_eq!(memory.entry(ROOT, "a"), None);
    assert_eq!(memory.state().next_due(), Some(at(5_000)));
}

#[test]
fn nothing_is_renamed_over_another_entry_nor_over_itself() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", "1"));
    memory.tell(set(ROOT, "b", "2"));
    for to in ["b", "a"] {
        let current = Some(Box::new(memory.entry(ROOT, to).unwrap().as_ref().clone()));
        let refusal = memory.send(batch([rename("a", to)])).unwrap_err();
        assert_eq!(refusal, Refusal::Conflict { key: key(to), expected: 0, current });
    }
    memory.tell(batch([remove("b"), rename("a", "b")]));
    assert_eq!(memory.value(ROOT, "b"), Some("1"));
}

#[test]
fn a_condition_refers_to_the_entry_after_the_previous_changes() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", "1"));
    let put_at = |name: &str, version| EntryChange::Set {
        key: key(name),
        value: json("9"),
        type_name: "test".into(),
        metadata: Box::default(),
        if_version: Some(version),
    };
    assert!(matches!(
        memory.send(batch([put("a", "2"), put_at("a", 1)])),
        Err(Refusal::Conflict { expected: 1, current: Some(current), .. }) if current.version == 2
    ));
    memory.tell(batch([put_at("a", 1), put_at("a", 2), remove("a"), put_at("a", 0)]));
    assert_eq!(memory.value(ROOT, "a"), Some("9"));
}

#[test]
fn limits_hold_for_the_whole_and_not_on_the_way() {
    let limits = Limits { entries_per_agent: 1, state_bytes: 10, ..Limits::default() };
    let mut memory = Memory::new(limits);
    memory.tell(set(ROOT, "a", "1"));
    memory.tell(batch([put("b", "1"), remove("a")]));
    let too_many = Refusal::Limit { limit: LimitName::EntriesPerAgent, used: 2, allowed: 1 };
    assert_eq!(memory.send(batch([put("a", "1")])), Err(too_many));
    let too_long = Refusal::Limit { limit: LimitName::EntryBytes, used: 3, allowed: 2 };
    memory.limits = Limits { entry_bytes: 2, ..Limits::default() };
    assert_eq!(memory.send(batch([put("a", "123"), remove("a")])), Err(too_long));
}

#[test]
fn a_batch_must_fit_the_maximum_size_of_a_state() {
    let mut memory = Memory::new(Limits { state_bytes: 10, ..Limits::default() });
    memory.tell(set(ROOT, "a", "12345"));
    let refusal = Refusal::Limit { limit: LimitName::StateBytes, used: 12, allowed: 10 };
    assert_eq!(memory.send(batch([put("a", "54321"), put("a", "12345")])), Err(refusal));
    // Renaming existing entries is allowed even over a lowered limit.
    memory.limits.state_bytes = 2;
    memory.tell(batch([rename("a", "b")]));
    assert_eq!(memory.value(ROOT, "b"), Some("12345"));
}

#[test]
fn a_batch_without_effect_writes_no_revision_and_one_with_a_key_is_answered_again() {
    let mut memory = Memory::new(Limits::default());
    let nothing = memory.send(batch([remove("a")])).unwrap();
    assert_eq!(nothing, RequestOutcome::Unchanged { reply: AgentReply::Done, rev: 0 });
    let command = batch([put("a", "1")]);
    let idempotency = Some(corkboard_core::IdempotencyKey::new("k", &command, &memory.limits).unwrap());
    let named = Request { command, if_rev: Some(0), idempotency };
    memory.request(&named).unwrap();
    let again = memory.request(&named).unwrap();
    assert_eq!(again, RequestOutcome::Unchanged { reply: AgentReply::Done, rev: 1 });
    let nowhere = ScopeId(Uuid::max());
    let elsewhere = AgentCommand::Batch { scope: nowhere, changes: Vec::new() };
    assert_eq!(memory.send(elsewhere), Err(Refusal::ScopeGone { scope: nowhere }));
}

#[test]
fn a_renamed_entry_is_forgotten_under_every_key_it_had() {
    for forgotten in ["a", "b", "c"] {
        let mut memory = Memory::new(Limits::default());
        memory.tell(set(ROOT, "a", "\"secret\""));
        memory.tell(append_to("a", " secret"));
        memory.tell(batch([rename("a", "b"), append("b", " secret")]));
        memory.tell(append_to("b", " secret"));
        memory.tell(batch([rename("b", "c")]));
        // An unrelated entry takes the first one's key.
        memory.tell(set(ROOT, "a", "\"kept\""));
        memory.tell(append_to("a", " as it is"));
        let kept = (forgotten != "a").then_some("\"kept as it is\"");
        forget(&mut memory, forgotten);
        assert_eq!((memory.value(ROOT, "a"), memory.value(ROOT, "c")), (kept, None), "{forgotten}");
        let text = log_text(&memory);
        assert!(!text.contains("secret"), "{forgotten}: {text}");
        assert_eq!(text.contains("as it is"), kept.is_some(), "{forgotten}: {text}");
    }
}

#[test]
fn in_a_trimmed_log_the_rename_event_names_the_earlier_key() {
    let mut memory = Memory::new(Limits::default());
    memory.tell(set(ROOT, "a", "\"secret\""));
    memory.tell(append_to("a", " secret"));
    memory.tell(batch([rename("a", "b")]));
    memory.tell(set(ROOT, "a", "\"another\""));
    memory.log.remove(0);
    let mut what = Forget::entry(key("b"));
    redact(&mut memory, &mut what);
    redact(&mut memory, &mut what);
    assert!(!log_text(&memory).contains("secret"));
}

#[test]
fn a_merged_copy_under_another_key_is_a_separate_entry() {
    let mut memory = Memory::new(Limits::default());
    let task = memory.create_scope("task", ROOT);
    memory.tell(set(task, "a", "\"secret\""));
    memory.tell(AgentCommand::MergeScope { scope: task, overwrite: true });
    memory.tell(batch([rename("a", "b")]));
    forget(&mut memory, "b");
    assert_eq!((memory.value(ROOT, "b"), memory.value(task, "a")), (None, Some("\"secret\"")));
    forget(&mut memory, "a");
    assert_eq!(memory.value(task, "a"), None);
    assert!(!log_text(&memory).contains("secret"));
}

/// Like the engine: find what to forget, remove it, redact the log.
fn forget(memory: &mut Memory, name: &str) {
    let mut what = Forget::entry(key(name));
    let mut survey = memory.clone();
    redact(&mut survey, &mut what);
    memory.tell(AgentCommand::Forget { forget: what.clone() });
    redact(memory, &mut what);
    assert_eq!(replay(Revisioned::default(), &memory.log, &memory.limits), memory.live);
}

fn redact(memory: &mut Memory, what: &mut Forget) {
    AgentState::begin_redaction(what);
    for line in &mut memory.log {
        let mut commit = AgentCommit::decode(line).unwrap();
        for event in &mut commit.events {
            AgentState::redact(event, what);
        }
        *line = commit.encode().unwrap().into();
    }
}

fn log_text(memory: &Memory) -> String {
    memory.log.iter().map(|line| String::from_utf8(line.to_vec()).unwrap()).collect()
}

fn kind(event: &AgentEvent) -> &'static str {
    match event {
        AgentEvent::EntrySet { .. } => "set",
        AgentEvent::EntryAppended { .. } => "appended",
        AgentEvent::EntryRemoved { .. } => "removed",
        _ => "another",
    }
}

fn batch(changes: impl IntoIterator<Item = EntryChange>) -> AgentCommand {
    AgentCommand::Batch { scope: ROOT, changes: changes.into_iter().collect() }
}

fn put(name: &str, value: &str) -> EntryChange {
    let metadata = Box::default();
    EntryChange::Set { key: key(name), value: json(value), type_name: "test".into(), metadata, if_version: None }
}

fn append(name: &str, text: &str) -> EntryChange {
    EntryChange::Append { key: key(name), text: text.into(), separator: Separator::None, if_version: None }
}

fn append_to(name: &str, text: &str) -> AgentCommand {
    AgentCommand::Append {
        scope: ROOT,
        key: key(name),
        text: text.into(),
        separator: Separator::None,
        if_version: None,
    }
}

fn remove(name: &str) -> EntryChange {
    EntryChange::Remove { key: key(name), if_version: None }
}

fn rename(from: &str, to: &str) -> EntryChange {
    EntryChange::Move { from: key(from), to: key(to) }
}
