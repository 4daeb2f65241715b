//! A memory as a value: it can be kept elsewhere as JSON and restored whole. A manipulated snapshot is refused.

use std::time::Duration;

use corkboard::{
    AgentMemory, EntryMetadata, Error, FORMAT_VERSION, LimitName, MemoryKind, MemorySnapshot, Refusal, ScopeId,
    WorkingMemory,
};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::common::{Home, agent_a, days, fails_without_a_trace, limit, names, on_every_store, refused, start, texts};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Fills a memory with two nested scopes, notes and metadata. Returns the inner scope's ID.
async fn fill(memory: &WorkingMemory) -> ScopeId {
    let metadata = EntryMetadata {
        importance: Some(0.1),
        tags: Some(vec!["a".into(), "ä".into()]),
        kind: Some(MemoryKind::Conversation),
        custom: Some(serde_json::Map::from_iter([("ω".into(), json!([0.1 + 0.2, null, {"x": 1e-300}]))])),
        author: Some("someone else".into()),
        session: Some("monday".into()),
        at: Some(start() - SignedDuration::from_hours(1)),
        ..days(30)
    };
    memory.set("full", &json!({"text": "\"quoted\"\n\u{0}🌍", "big": u64::MAX})).metadata(metadata).await.unwrap();
    memory.set("plain", &1).await.unwrap();
    memory.add_note("first").await.unwrap();
    memory.add_note("second").await.unwrap();
    let outer = memory.create_durable_scope("outer").await.unwrap();
    outer.set("plain", &2).await.unwrap();
    let inner = outer.create_durable_child_scope("inner").await.unwrap();
    inner.set("plain", &3).await.unwrap();
    inner.add_note("merged").await.unwrap();
    inner.merge_to_parent(true).await.unwrap();
    inner.id()
}

fn through_json(snapshot: &MemorySnapshot) -> MemorySnapshot {
    serde_json::from_str(&serde_json::to_string(snapshot).unwrap()).unwrap()
}

/// The snapshot without the parts that a restore changes.
fn content(snapshot: &MemorySnapshot) -> corkboard_core::agent::AgentImage {
    let mut memory = snapshot.memory.clone();
    memory.scopes.iter_mut().flat_map(|scope| &mut scope.entries).for_each(|entry| entry.version = 0);
    memory
}

#[tokio::test]
async fn a_snapshot_brings_everything_back() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let inner = fill(&memory).await;
        let ephemeral = memory.create_scope("ephemeral").await.unwrap();
        ephemeral.set("of the process", &1).await.unwrap();
        home.clock.advance(DAY);
        let snapshot = agent.snapshot().await.unwrap();
        let about = (snapshot.format, snapshot.agent.as_str(), snapshot.rev, snapshot.taken_at);
        assert_eq!(about, (FORMAT_VERSION, "A", agent.rev().await.unwrap(), start() + SignedDuration::from_hours(24)));
        assert_eq!((snapshot.entry_count(), snapshot.memory.scopes.len()), (4, 3));
        assert_eq!(through_json(&snapshot), snapshot);

        agent.clear(Default::default()).await.unwrap();
        memory.set("late", &1).await.unwrap();
        let late = memory.create_durable_scope("late").await.unwrap();
        // Later changes do not change the snapshot.
        assert_eq!(snapshot.entry_count(), 4);
        let rev = agent.rev().await.unwrap();
        agent.restore(through_json(&snapshot)).await.unwrap();
        assert_eq!(agent.rev().await.unwrap(), rev + 1);
        assert_eq!(content(&agent.snapshot().await.unwrap()), content(&snapshot));

        // Through the handles: everything from the snapshot, nothing newer.
        let keys = memory.keys().await.unwrap();
        assert_eq!(keys.iter().map(|key| key.as_str()).collect::<Vec<_>>(), ["full", "plain"]);
        let full: Value = memory.get("full").await.unwrap().unwrap();
        assert_eq!(full, json!({"text": "\"quoted\"\n\u{0}🌍", "big": u64::MAX}));
        let entry = memory.get_entry("full").await.unwrap().unwrap();
        assert_eq!((&*entry.author, entry.session.as_deref()), ("someone else", Some("monday")));
        assert_eq!((entry.importance, entry.kind, entry.tags.len()), (0.1, MemoryKind::Conversation, 2));
        assert_eq!(entry.custom.as_ref().unwrap()["ω"], json!([0.1 + 0.2, null, {"x": 1e-300}]));
        assert_eq!(entry.at, start() - SignedDuration::from_hours(1));
        assert_eq!(texts(&memory.notes().await.unwrap()), ["first", "second"]);
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["inner", "outer"]);
        let inner = memory.scope(inner).await.unwrap().unwrap();
        assert_eq!(inner.get_local::<i32>("plain").await.unwrap(), Some(3));
        assert!(inner.contains("full").await.unwrap());
        assert!(ephemeral.is_disposed() && late.is_disposed());
        // A note that was merged before is not merged again.
        inner.merge_to_parent(true).await.unwrap();
        inner.remove("plain").await.unwrap();
        assert_eq!(inner.get::<i32>("plain").await.unwrap(), Some(3));
        inner.dispose().await.unwrap();
        corkboard.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_snapshot_can_be_restored_to_another_store() {
    let (from, to) = (Home::memory(), Home::sqlite());
    let (_board, agent, memory) = agent_a(&from).await;
    let inner = fill(&memory).await;
    let snapshot = agent.snapshot().await.unwrap();
    let (corkboard, agent, _) = agent_a(&to).await;
    agent.restore(through_json(&snapshot)).await.unwrap();
    corkboard.close().await.unwrap();
    let (_board, agent, memory) = agent_a(&to).await;
    assert_eq!(content(&agent.snapshot().await.unwrap()), content(&snapshot));
    assert!(memory.scope(inner).await.unwrap().unwrap().contains("full").await.unwrap());
}

#[tokio::test]
async fn restored_entries_have_new_versions_and_notes_new_numbers() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let inner = fill(&memory).await;
        let snapshot = agent.snapshot().await.unwrap();
        let stale = memory.get_entry("plain").await.unwrap().unwrap().version;
        let last = memory.add_note("since then").await.unwrap();
        agent.restore(snapshot).await.unwrap();
        let rev = agent.rev().await.unwrap();
        let inner = memory.scope(inner).await.unwrap().unwrap();
        let versions = [
            memory.get_entry("plain").await.unwrap().unwrap().version,
            memory.get_entry("full").await.unwrap().unwrap().version,
            inner.get_entry("plain").await.unwrap().unwrap().version,
        ];
        assert_eq!(versions, [rev; 3]);
        // A writer that read before the restore gets a conflict, as after any other change.
        let conflict = refused(&corkboard, &agent, memory.set("plain", &9).if_version(stale)).await;
        let Refusal::Conflict { expected, current: Some(current), .. } = conflict else { panic!("{conflict:?}") };
        assert_eq!((expected, current.version, current.value.as_json()), (stale, rev, "1"));
        assert!(memory.add_note("third").await.unwrap() > last);
    })
    .await;
}

#[tokio::test]
async fn restored_entries_still_expire() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("soon", &1).metadata(days(1)).await.unwrap();
        memory.set("later", &1).metadata(days(3)).await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        memory.clear().await.unwrap();
        // One of them has expired in the meantime. It is restored only to be swept, and is never shown.
        home.clock.advance(2 * DAY);
        agent.restore(snapshot).await.unwrap();
        assert_eq!(memory.get::<i32>("soon").await.unwrap(), None);
        assert_eq!((memory.len().await.unwrap(), memory.get::<i32>("later").await.unwrap()), (1, Some(1)));
        assert_eq!(corkboard.tick().await.unwrap(), 1);
        home.clock.advance(DAY);
        assert_eq!(memory.get::<i32>("later").await.unwrap(), None);
        assert_eq!(corkboard.tick().await.unwrap(), 1);
        assert_eq!(agent.stats().await.unwrap().storage_bytes_used, 0);
    })
    .await;
}

#[tokio::test]
async fn a_snapshot_of_nothing_restores_nothing() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let nothing = agent.snapshot().await.unwrap();
        assert_eq!((nothing.rev, nothing.entry_count(), nothing.memory.scopes.len()), (0, 0, 1));
        fill(&memory).await;
        agent.restore(through_json(&nothing)).await.unwrap();
        assert!(memory.is_empty().await.unwrap());
        assert_eq!(agent.stats().await.unwrap().storage_bytes_used, 0);
    })
    .await;
}

#[tokio::test]
async fn a_newer_format_is_refused() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        fill(&memory).await;
        let mut snapshot = agent.snapshot().await.unwrap();
        snapshot.format = FORMAT_VERSION + 1;
        let error = fails_without_a_trace(&corkboard, &agent, agent.restore(snapshot)).await;
        let Error::NewerFormat { space, found } = error else { panic!("{error:?}") };
        assert_eq!((space.as_str(), found), ("A", FORMAT_VERSION + 1));
    })
    .await;
}

#[test]
fn other_json_does_not_parse_as_a_snapshot() {
    let snapshot = json!({"format": 1, "agent": "A", "taken_at": "2026-02-04T12:00:00Z", "rev": 1, "memory": {
        "last_note": 0, "scopes": [{"id": "00000000-0000-0000-0000-000000000000", "name": "root",
        "parent": "00000000-0000-0000-0000-000000000000", "created_at": "2026-02-04T12:00:00Z", "notes": [],
        "entries": [{"key": "k", "version": 1, "entry": {"id": "00000000-0000-0000-0000-000000000001",
        "value": 1, "type_name": "i32", "importance": 0.25, "timestamp": "2026-02-04T12:00:00Z", "author": "x"}}]}]}})
    .to_string();
    let parse = |json: &str| serde_json::from_str::<MemorySnapshot>(json);
    assert_eq!(parse(&snapshot).unwrap().entry_count(), 1);
    let wrong = [
        ("0.25", "NaN"),
        ("0.25", "null"),
        ("\"k\"", "7"),
        (",\"value\":1", ""),
        ("\"format\":1,", ""),
        ("-02-", "-13-"),
    ];
    for (from, to) in wrong {
        assert!(snapshot.contains(from), "{from}");
        assert!(parse(&snapshot.replace(from, to)).is_err(), "{from} -> {to}");
    }
}

/// An edit of a snapshot's memory, as with an editor.
type Edit<'a> = dyn Fn(&mut Value) + 'a;

/// The snapshot after an edit of its JSON.
fn edited(snapshot: &MemorySnapshot, edit: impl FnOnce(&mut Value)) -> MemorySnapshot {
    let mut json = serde_json::to_value(snapshot).unwrap();
    edit(&mut json["memory"]);
    serde_json::from_str(&json.to_string()).unwrap()
}

/// Runs a test with an agent that has the memory of [`fill`], on every store.
async fn check(test: impl AsyncFn(corkboard::Corkboard, AgentMemory, MemorySnapshot)) {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        fill(&memory).await;
        let _ephemeral = memory.create_scope("ephemeral").await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        test(corkboard, agent, snapshot).await;
    })
    .await;
}

const NOWHERE: &str = "ffffffff-ffff-4fff-8fff-ffffffffffff";

#[tokio::test]
async fn a_tampered_snapshot_is_refused_by_the_rule_that_it_breaks() {
    check(async |corkboard, agent, snapshot| {
        let scopes = &snapshot.memory.scopes;
        let (outer, inner) = (json!(scopes[1].id), json!(scopes[2].id));
        let nowhere: ScopeId = serde_json::from_value(json!(NOWHERE)).unwrap();
        let gone = |scope| Refusal::ScopeGone { scope };
        let cases: [(&str, &Edit<'_>, Refusal); 12] = [
            ("a parent that is not there", &|m| m["scopes"][1]["parent"] = json!(NOWHERE), gone(nowhere)),
            ("the root's parent is not there", &|m| m["scopes"][0]["parent"] = json!(NOWHERE), gone(nowhere)),
            ("its own parent", &|m| m["scopes"][1]["parent"] = outer.clone(), gone(scopes[1].id)),
            ("two that are each other's parent", &|m| m["scopes"][1]["parent"] = inner.clone(), gone(scopes[2].id)),
            ("a child before its parent", &|m| m["scopes"].as_array_mut().unwrap().swap(1, 2), gone(scopes[1].id)),
            (
                "a line break in a key",
                &|m| m["scopes"][2]["entries"][0]["key"] = json!("a\nb"),
                Refusal::ControlCharacter { what: "key".into(), character: '\n', at: 1 },
            ),
            (
                "a blank key",
                &|m| m["scopes"][0]["entries"][0]["key"] = json!(""),
                Refusal::Blank { what: "key".into() },
            ),
            (
                "a control character in a scope's name",
                &|m| m["scopes"][1]["name"] = json!("\u{7}"),
                Refusal::ControlCharacter { what: "scope name".into(), character: '\u{7}', at: 0 },
            ),
            (
                "importance 2",
                &|m| m["scopes"][1]["entries"][0]["entry"]["importance"] = json!(2.0),
                Refusal::Importance { importance: 2.0 },
            ),
            (
                "a tag with a tab",
                &|m| m["scopes"][0]["entries"][0]["entry"]["tags"][1] = json!("a\tb"),
                Refusal::ControlCharacter { what: "tag".into(), character: '\t', at: 1 },
            ),
            (
                "a blank note",
                &|m| m["scopes"][0]["notes"][0]["text"] = json!(" "),
                Refusal::Blank { what: "note".into() },
            ),
            (
                "a note that is too long",
                &|m| m["scopes"][0]["notes"][0]["text"] = json!("n".repeat(64 * 1024 + 1)),
                limit(LimitName::NoteBytes, 64 * 1024 + 1, 64 * 1024),
            ),
        ];
        for (what, edit, expected) in cases {
            let hostile = edited(&snapshot, edit);
            assert_eq!(refused(&corkboard, &agent, agent.restore(hostile)).await, expected, "{what}");
        }
        agent.restore(edited(&snapshot, |_| ())).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_snapshot_that_contradicts_itself_is_refused() {
    fn again(list: &mut Value, index: usize) {
        let list = list.as_array_mut().unwrap();
        list.push(list[index].clone());
    }
    check(async |corkboard, agent, snapshot| {
        let cases: [(&str, &Edit<'_>); 11] = [
            ("no scope at all", &|m| m["scopes"] = json!([])),
            ("no root scope", &|m| m["scopes"] = json!([m["scopes"][1].clone(), m["scopes"][2].clone()])),
            ("two root scopes", &|m| again(&mut m["scopes"], 0)),
            ("a second root scope under another name", &|m| {
                again(&mut m["scopes"], 1);
                m["scopes"][3]["id"] = m["scopes"][0]["id"].clone();
            }),
            ("a scope twice", &|m| again(&mut m["scopes"], 1)),
            ("a scope twice, below two parents", &|m| {
                again(&mut m["scopes"], 1);
                m["scopes"][3]["parent"] = m["scopes"][2]["id"].clone();
            }),
            ("a key twice", &|m| again(&mut m["scopes"][0]["entries"], 0)),
            ("a note twice", &|m| again(&mut m["scopes"][0]["notes"], 0)),
            ("a note above the last number", &|m| m["scopes"][0]["notes"][0]["id"] = json!(99)),
            ("merged notes above the last number", &|m| m["scopes"][2]["notes_merged"] = json!(99)),
            ("no number left for another note", &|m| m["last_note"] = json!(u64::MAX)),
        ];
        for (what, edit) in cases {
            let hostile = edited(&snapshot, edit);
            let error = fails_without_a_trace(&corkboard, &agent, agent.restore(hostile)).await;
            assert!(matches!(&error, Error::Refused(Refusal::MemoryContradicts { .. })), "{what}: {error:?}");
        }
        agent.restore(edited(&snapshot, |_| ())).await.unwrap();
        agent.working().add_note("and it goes on").await.unwrap();
    })
    .await;
}
