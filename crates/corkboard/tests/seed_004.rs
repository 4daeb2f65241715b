//! Seed 004, section by section: its acceptance criteria (§9), its scenarios (§10), validation (§8.2) and limits (§8.3).
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what does not hold in a test ends the test"
)]

mod common;

use std::collections::BTreeMap;

use corkboard::{
    AgentMemory, EntryData, EntryMetadata, Error, Key, LimitName, Limits, MemoryEvent, MemoryKind, MemorySnapshot,
    Options, Refusal, Result, Scope, ScopeId, ScopeName, WorkingMemory,
};
use futures_util::future::{BoxFuture, join_all};
use serde::{Deserialize, Serialize};
use serde_json::json;

use common::{Home, agent_a, drain, fails_without_a_trace, limit, names, on_every_store, refusal, refused, start};

// §9.1 Functional criteria.

#[tokio::test]
async fn criterion_set_get() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        let written = memory.set("user_id", "user-123").await.unwrap();
        assert_eq!((written.version, written.is_update), (1, false));
        assert_eq!(memory.get::<String>("user_id").await.unwrap().unwrap(), "user-123");

        let written = memory.set("user_id", "user-456").await.unwrap();
        assert_eq!((written.version, written.is_update), (2, true));
        assert_eq!(memory.get::<String>("user_id").await.unwrap().unwrap(), "user-456");
        // Keys are case-sensitive (§4.2).
        assert_eq!(memory.get::<String>("User_Id").await.unwrap(), None);
        assert_eq!(memory.len().await.unwrap(), 1);
    })
    .await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Plan {
    goal: String,
    steps: Vec<Step>,
    budget: Option<f64>,
    seen: BTreeMap<String, u64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Step {
    Think,
    Call { tool: String, attempts: i64 },
}

#[tokio::test]
async fn criterion_type_safety() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let plan = Plan {
            goal: "grüße \"🌍\"\n\u{0}".into(),
            steps: vec![Step::Think, Step::Call { tool: "rm".into(), attempts: i64::MIN }],
            budget: Some(0.1 + 0.2),
            seen: BTreeMap::from([("max".into(), u64::MAX)]),
        };
        memory.set("plan", &plan).await.unwrap();
        assert_eq!(memory.get::<Plan>("plan").await.unwrap().unwrap(), plan);
        let untyped: serde_json::Value = memory.get("plan").await.unwrap().unwrap();
        assert_eq!(untyped["seen"]["max"], json!(u64::MAX));

        // A stored null is a value, not an absence.
        memory.set("nothing", &None::<u8>).await.unwrap();
        assert_eq!(memory.get::<Option<u8>>("nothing").await.unwrap(), Some(None));
        assert!(memory.contains("nothing").await.unwrap());

        let wrong = fails_without_a_trace(&board, &agent, memory.get::<u32>("plan")).await;
        let Error::Deserialize { key, expected, message } = wrong else { panic!("{wrong:?}") };
        assert_eq!((key.as_str(), expected), ("plan", "u32"));
        assert!(message.contains("invalid type: map"), "{message}");
    })
    .await;
}

#[tokio::test]
async fn criterion_scope_isolation() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("shared", &1).await.unwrap();
        for scope in [memory.create_scope("task").await.unwrap(), memory.create_durable_scope("task").await.unwrap()] {
            scope.set("shared", &2).await.unwrap();
            scope.set("new", &3).await.unwrap();
            scope.add_note("here").await.unwrap();
            assert_eq!(memory.get::<i32>("shared").await.unwrap(), Some(1));
            assert_eq!(memory.get::<i32>("new").await.unwrap(), None);
            assert_eq!(memory.len().await.unwrap(), 1);
            assert!(memory.notes().await.unwrap().is_empty());
            assert_eq!(scope.local_len().await.unwrap(), 2);
        }
    })
    .await;
}

#[tokio::test]
async fn criterion_parent_fallback() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("task").await.unwrap(), memory.create_durable_scope("task").await.unwrap()];
        for (value, scope) in scopes.iter().enumerate() {
            // What the parent gets after the scope was made shows too.
            memory.set("parent_key", &value).await.unwrap();
            assert_eq!(scope.get::<usize>("parent_key").await.unwrap(), Some(value));
            assert_eq!(scope.get_entry("parent_key").await.unwrap().unwrap().version, memory_version(&memory).await);
            assert!(scope.contains("parent_key").await.unwrap());
            assert_eq!(scope.get::<usize>("nowhere").await.unwrap(), None);
            assert_eq!(scope.local_len().await.unwrap(), 0);
        }
    })
    .await;
}

async fn memory_version(memory: &WorkingMemory) -> u64 {
    memory.get_entry("parent_key").await.unwrap().unwrap().version
}

#[tokio::test]
async fn criterion_scope_disposal() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        for scope in [memory.create_scope("task").await.unwrap(), memory.create_durable_scope("task").await.unwrap()] {
            scope.set("a", &1).await.unwrap();
            scope.set("b", &2).await.unwrap();
            let mut events = board.subscribe();
            assert_eq!(scope.dispose().await.unwrap(), 2);
            assert_eq!(drain(&mut events), [disposed(&agent, &scope, 2)]);
            assert!(scope.is_disposed());
        }
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.active_working_scopes, stats.storage_bytes_used), (0, 0, 0));
    })
    .await;
}

fn disposed(agent: &AgentMemory, scope: &Scope, entries_cleared: u64) -> MemoryEvent {
    MemoryEvent::ScopeDisposed {
        agent_id: agent.agent_id().clone(),
        scope_name: scope.name(),
        scope_id: scope.id(),
        entries_cleared,
        timestamp: start(),
    }
}

// §9.2 Non-functional criteria. How fast it is depends on the machine: the benchmarks tell.

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn criterion_concurrent_set_and_get_do_not_deadlock() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let tasks = (0..32).map(|task| {
            let memory = memory.clone();
            tokio::spawn(async move {
                let scope = memory.create_scope(&format!("task-{task}")).await?;
                for turn in 0..10 {
                    memory.set(&format!("own-{task}"), &turn).await?;
                    memory.update("count", |count: Option<u64>| count.unwrap_or(0) + 1).await?;
                    scope.set("turn", &turn).await?;
                    assert_eq!(scope.get::<i32>("turn").await?, Some(turn));
                    assert_eq!(scope.get::<i32>(&format!("own-{task}")).await?, Some(turn));
                    memory.get_or_set("made", async || Ok::<_, Error>("once".to_owned())).await?;
                    memory.remove("removed by everyone").await?;
                }
                scope.merge_to_parent(true).await?;
                scope.dispose().await
            })
        });
        for task in join_all(tasks).await {
            assert_eq!(task.unwrap().unwrap(), 1);
        }
        assert_eq!(memory.get::<u64>("count").await.unwrap(), Some(320));
        assert_eq!(memory.get::<i32>("turn").await.unwrap(), Some(9));
        assert_eq!(memory.len().await.unwrap(), 32 + 3);
        assert_eq!(agent.stats().await.unwrap().active_working_scopes, 0);
        board.close().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn criterion_memory_ten_thousand_entries_of_100_bytes_fit_the_default_limits() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let value = "x".repeat(98);
        let keys: Vec<String> = (0..10_000).map(|index| format!("key-{index:05}")).collect();
        for written in join_all(keys.iter().map(|key| memory.set(key, &value).into_future())).await {
            written.unwrap();
        }
        let stats = agent.stats().await.unwrap();
        assert_eq!(stats.total_entries_working, 10_000);
        assert_eq!(stats.storage_bytes_used, 10_000 * (100 + 9));
        assert!(stats.storage_percent_used < 2.0, "{}", stats.storage_percent_used);
        let (spaces, resident) = board.resident();
        assert_eq!(spaces, 2, "working memory, and long-term memory, which the counts include");
        assert!((10_000 * 109..100_000_000).contains(&resident), "{resident}");
        assert_eq!(memory.get::<String>("key-09999").await.unwrap().unwrap(), value);
    })
    .await;
}

// §10.1 Unit tests.

#[tokio::test]
async fn scenario_store_and_retrieve_value() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let mut events = board.subscribe();
        memory.set("user_id", "user-123").await.unwrap();
        assert_eq!(memory.get::<String>("user_id").await.unwrap().unwrap(), "user-123");
        let set = MemoryEvent::Set {
            agent_id: agent.agent_id().clone(),
            key: key("user_id"),
            type_name: "str".into(),
            timestamp: start(),
            scope_name: None,
            scope_id: None,
            is_update: false,
        };
        assert_eq!(drain(&mut events), [set]);
        assert_eq!(agent.agent_id().as_str(), "A");
    })
    .await;
}

#[tokio::test]
async fn scenario_retrieve_non_existent_key() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        assert_eq!(memory.get::<String>("non_existent").await.unwrap(), None);
        assert_eq!(memory.get::<u64>("non_existent").await.unwrap(), None);
        assert!(memory.get_entry("non_existent").await.unwrap().is_none());
        assert!(!memory.contains("non_existent").await.unwrap());
        assert!(!memory.remove("non_existent").await.unwrap());
        assert_eq!(agent.rev().await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn scenario_scope_isolation() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("global_key", "global_value").await.unwrap();
        let scope = memory.create_scope("task-1").await.unwrap();
        scope.set("global_key", "local_value").await.unwrap();
        assert_eq!(scope.get::<String>("global_key").await.unwrap().unwrap(), "local_value");
        assert_eq!(memory.get::<String>("global_key").await.unwrap().unwrap(), "global_value");
    })
    .await;
}

#[tokio::test]
async fn scenario_scope_parent_fallback() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("parent_key", "parent_value").await.unwrap();
        let scope = memory.create_scope("task-1").await.unwrap();
        assert_eq!(scope.get::<String>("parent_key").await.unwrap().unwrap(), "parent_value");
    })
    .await;
}

#[tokio::test]
async fn scenario_scope_disposal() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let scope = memory.create_scope("task-1").await.unwrap();
        for index in 0..5 {
            scope.set(&format!("key-{index}"), &index).await.unwrap();
        }
        let other = memory.create_scope("task-2").await.unwrap();
        let mut events = board.subscribe();
        scope.dispose().await.unwrap();
        assert_eq!(drain(&mut events), [disposed(&agent, &scope, 5)]);
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["task-2"]);
        assert!(!other.is_disposed());
    })
    .await;
}

// §10.2 Integration tests.

#[tokio::test]
async fn scenario_full_working_memory_lifecycle() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        for index in 0..100 {
            memory.set(&format!("key-{index}"), &format!("root {index}")).await.unwrap();
        }
        let outer = memory.create_scope("outer").await.unwrap();
        let middle = outer.create_child_scope("middle").await.unwrap();
        let inner = middle.create_child_scope("inner").await.unwrap();
        outer.set("key-1", "outer 1").await.unwrap();
        outer.set("key-2", "outer 2").await.unwrap();
        middle.set("key-2", "middle 2").await.unwrap();
        middle.set("key-3", "middle 3").await.unwrap();
        inner.set("key-3", "inner 3").await.unwrap();
        inner.set("own", "inner").await.unwrap();

        let read = async |scope: &Scope, key: &str| scope.get::<String>(key).await.unwrap().unwrap_or_default();
        for index in 4..100 {
            let key = format!("key-{index}");
            for scope in [&outer, &middle, &inner] {
                assert_eq!(read(scope, &key).await, format!("root {index}"));
            }
        }
        let cases = [
            ("key-0", ["root 0", "root 0", "root 0"]),
            ("key-1", ["outer 1", "outer 1", "outer 1"]),
            ("key-2", ["outer 2", "middle 2", "middle 2"]),
            ("key-3", ["root 3", "middle 3", "inner 3"]),
            ("own", ["", "", "inner"]),
        ];
        for (key, expected) in cases {
            let found = [read(&outer, key).await, read(&middle, key).await, read(&inner, key).await];
            assert_eq!(found, expected, "{key}");
        }

        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.active_working_scopes), (106, 3));
        assert_eq!((stats.oldest_entry, stats.newest_entry), (Some(start()), Some(start())));
        // Three nested scopes take three disposals, or one of the outermost.
        assert_eq!(outer.dispose().await.unwrap(), 2);
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.active_working_scopes), (100, 0));
        assert_eq!(memory.clear().await.unwrap(), 100);
        assert_eq!(agent.stats().await.unwrap().storage_bytes_used, 0);
        board.close().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn scenario_concurrent_access() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let tasks = (0..10).map(|task: u64| {
            let memory = memory.clone();
            tokio::spawn(async move {
                for turn in 0..20 {
                    let key = format!("{task}/{turn}");
                    memory.set(&key, &(task * 100 + turn)).await.unwrap();
                    assert_eq!(memory.get::<u64>(&key).await.unwrap(), Some(task * 100 + turn));
                    memory.set("last", &task).await.unwrap();
                    assert!(memory.get::<u64>("last").await.unwrap().unwrap() < 10);
                }
            })
        });
        for task in join_all(tasks).await {
            task.unwrap();
        }
        let entries = memory.entries().await.unwrap();
        assert_eq!(entries.len(), 10 * 20 + 1);
        for (key, entry) in &entries[..200] {
            let (task, turn) = key.as_str().split_once('/').unwrap();
            let expected: u64 = task.parse::<u64>().unwrap() * 100 + turn.parse::<u64>().unwrap();
            assert_eq!(entry.value.parse::<u64>().unwrap(), expected);
        }
        // Every write is one revision, and no two have the same.
        assert_eq!(agent.rev().await.unwrap(), 400);
        let mut versions: Vec<_> = entries.iter().map(|(_, entry)| entry.version).collect();
        versions.sort_unstable();
        versions.dedup();
        assert_eq!(versions.len(), 201);
    })
    .await;
}

// §4.4 Supporting types.

#[tokio::test]
async fn an_entry_carries_all_that_is_said_about_it() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        let metadata = EntryMetadata {
            importance: Some(0.9),
            tags: Some(vec!["b".into(), "a".into()]),
            kind: Some(MemoryKind::Preference),
            expiry_days: Some(2),
            custom: Some(serde_json::Map::from_iter([("source".into(), json!({"line": 7}))])),
            ..EntryMetadata::default()
        };
        memory.set("editor", "vim").metadata(metadata).await.unwrap();
        let entry = memory.get_entry("editor").await.unwrap().unwrap();
        assert_eq!(entry.value.as_json(), "\"vim\"");
        assert_eq!((&*entry.type_name, entry.kind, entry.importance), ("str", MemoryKind::Preference, 0.9));
        assert_eq!(entry.tags.iter().map(|tag| &**tag).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(entry.custom.as_ref().unwrap()["source"]["line"], 7);
        assert_eq!((entry.timestamp, &*entry.author), (start(), "local"));
        assert_eq!(entry.expires_at.unwrap(), start() + jiff::SignedDuration::from_hours(48));
        assert_eq!(entry.access.count(), 1);
        assert_eq!(entry.access.last(), Some(start()));

        // Overwriting updates time and metadata (§4.2), and keeps the id.
        home.clock.advance(std::time::Duration::from_secs(1));
        memory.set("editor", "helix").await.unwrap();
        let after = memory.get_entry("editor").await.unwrap().unwrap();
        assert_eq!((after.id, after.kind, after.importance), (entry.id, MemoryKind::Fact, 0.5));
        assert_eq!((after.tags.len(), &after.custom, after.expires_at), (0, &None, None));
        assert_eq!(after.timestamp, start() + jiff::SignedDuration::from_secs(1));
        assert_eq!(after.access.count(), 2);
    })
    .await;
}

// §8.2 Input validation.

type Call<'a> = (&'static str, BoxFuture<'a, Result<()>>);

/// Every call that takes a key, on the root and on both kinds of scope.
fn calls_with_key<'a>(memory: &'a WorkingMemory, scopes: &'a [Scope], key: &'a str) -> Vec<Call<'a>> {
    fn call<'a, T>(name: &'static str, future: impl IntoFuture<Output = Result<T>, IntoFuture: Send + 'a>) -> Call<'a> {
        let future = future.into_future();
        (name, Box::pin(async move { future.await.map(|_| ()) }))
    }
    let factory = async || Ok::<u8, Error>(1);
    let mut calls = vec![
        call("set", memory.set(key, &1)),
        call("get", memory.get::<u8>(key)),
        call("get_entry", memory.get_entry(key)),
        call("get_or_set", memory.get_or_set(key, factory)),
        call("update", memory.update(key, |_: Option<u8>| 1)),
        call("append", memory.append(key, "text")),
        call("contains", memory.contains(key)),
        call("remove", memory.remove(key)),
    ];
    for scope in scopes {
        calls.extend([
            call("scope set", scope.set(key, &1)),
            call("scope get", scope.get::<u8>(key)),
            call("scope get_local", scope.get_local::<u8>(key)),
            call("scope get_entry", scope.get_entry(key)),
            call("scope get_or_set", scope.get_or_set(key, factory)),
            call("scope update", scope.update(key, |_: Option<u8>| 1)),
            call("scope append", scope.append(key, "text")),
            call("scope contains", scope.contains(key)),
            call("scope contains_local", scope.contains_local(key)),
            call("scope remove", scope.remove(key)),
        ]);
    }
    calls
}

/// Names that break a rule, with how they are refused. `what` is what the name is called in the refusal.
fn wrong_names(what: &'static str, limit_name: LimitName, allowed: u64) -> Vec<(String, Refusal)> {
    let too_long = "n".repeat(usize::try_from(allowed).unwrap() + 1);
    // Two bytes each: the limit counts bytes.
    let too_wide = "é".repeat(usize::try_from(allowed).unwrap() / 2 + 1);
    let control = |character, at| Refusal::ControlCharacter { what: what.into(), character, at };
    vec![
        (String::new(), Refusal::Blank { what: what.into() }),
        (" \t\u{3000}".into(), Refusal::Blank { what: what.into() }),
        ("a\nb".into(), control('\n', 1)),
        ("é\0".into(), control('\0', 2)),
        ("\u{1b}[2J".into(), control('\u{1b}', 0)),
        ("abc\u{85}".into(), control('\u{85}', 3)),
        (too_long, limit(limit_name, allowed + 1, allowed)),
        (too_wide, limit(limit_name, allowed / 2 * 2 + 2, allowed)),
    ]
}

#[tokio::test]
async fn validation_keys_are_not_blank_printable_and_at_most_512_bytes() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        for (key, expected) in wrong_names("key", LimitName::KeyBytes, 512) {
            for (name, call) in calls_with_key(&memory, &scopes, &key) {
                assert_eq!(refused(&board, &agent, call).await, expected, "{name}({key:?})");
            }
        }
        for key in [&"k".repeat(512), &"é".repeat(256), "ключ 🗝 / a'b\"c", "."] {
            memory.set(key, &1).await.unwrap();
            assert_eq!(memory.get::<i32>(key).await.unwrap(), Some(1), "{key}");
        }
    })
    .await;
}

#[tokio::test]
async fn validation_keys_in_a_snapshot_are_held_to_the_same_rules() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        memory.set("@key", &1).await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        for (key, expected) in wrong_names("key", LimitName::KeyBytes, 512) {
            let snapshot = replaced(&snapshot, "@key", &key);
            assert_eq!(refused(&board, &agent, agent.restore(snapshot)).await, expected, "{key:?}");
        }
    })
    .await;
}

/// The snapshot with a string of its JSON replaced by another: what someone with an editor could do to it.
fn replaced(snapshot: &MemorySnapshot, from: &str, to: &str) -> MemorySnapshot {
    let json = serde_json::to_string(snapshot).unwrap();
    let (from, to) = (json!(from).to_string(), json!(to).to_string());
    assert!(json.contains(&from), "{json}");
    serde_json::from_str(&json.replace(&from, &to)).unwrap()
}

#[tokio::test]
async fn validation_scope_names_are_not_blank_printable_and_at_most_512_bytes() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let (short, long) = (memory.create_scope("e").await.unwrap(), memory.create_durable_scope("@d").await.unwrap());
        let snapshot = agent.snapshot().await.unwrap();
        for (name, expected) in wrong_names("scope name", LimitName::ScopeNameBytes, 512) {
            assert_eq!(refused(&board, &agent, memory.create_scope(&name)).await, expected);
            assert_eq!(refused(&board, &agent, memory.create_durable_scope(&name)).await, expected);
            assert_eq!(refused(&board, &agent, short.create_child_scope(&name)).await, expected);
            assert_eq!(refused(&board, &agent, long.create_child_scope(&name)).await, expected);
            assert_eq!(refused(&board, &agent, long.create_durable_child_scope(&name)).await, expected);
            let snapshot = replaced(&snapshot, "@d", &name);
            assert_eq!(refused(&board, &agent, agent.restore(snapshot)).await, expected, "{name:?}");
        }
        let name = "n".repeat(512);
        assert_eq!(memory.create_scope(&name).await.unwrap().name().as_str(), name);
    })
    .await;
}

#[tokio::test]
async fn validation_agent_ids_are_not_blank_printable_and_at_most_256_bytes() {
    let board = Home::memory().open().await;
    for (agent, expected) in wrong_names("agent id", LimitName::AgentIdBytes, 256) {
        assert_eq!(refusal(board.agent(&agent).map(|_| ())), expected);
        assert_eq!(refusal(board.delete_agent(&agent).await), expected);
    }
    assert_eq!(board.agent(&"a".repeat(256)).unwrap().rev().await.unwrap(), 0);
    assert!(board.agents(None, 10).await.unwrap().is_empty());
}

/// What no JSON can say.
struct Unspeakable;

impl Serialize for Unspeakable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("words fail"))
    }
}

impl<'de> Deserialize<'de> for Unspeakable {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

#[tokio::test]
async fn validation_values_are_json_serializable() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        let unspeakable = |error: Error| {
            let Error::Serialize { key, message } = error else { panic!("{error:?}") };
            assert_eq!((key.as_str(), message.as_str()), ("k", "words fail"));
        };
        let factory = async || Ok::<_, Error>(Unspeakable);
        unspeakable(fails_without_a_trace(&board, &agent, memory.set("k", &Unspeakable)).await);
        unspeakable(fails_without_a_trace(&board, &agent, memory.get_or_set("k", factory)).await);
        unspeakable(fails_without_a_trace(&board, &agent, memory.update("k", |_| Unspeakable)).await);
        for scope in &scopes {
            unspeakable(fails_without_a_trace(&board, &agent, scope.set("k", &Unspeakable)).await);
            unspeakable(fails_without_a_trace(&board, &agent, scope.get_or_set("k", factory)).await);
            unspeakable(fails_without_a_trace(&board, &agent, scope.update("k", |_| Unspeakable)).await);
        }
        let no_text_as_key = BTreeMap::from([(vec![1], 1)]);
        let error = fails_without_a_trace(&board, &agent, memory.set("k", &no_text_as_key)).await;
        assert!(matches!(&error, Error::Serialize { message, .. } if message.contains("key must be a string")));
    })
    .await;
}

#[tokio::test]
async fn validation_metadata_is_within_its_bounds() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        let none = EntryMetadata::default;
        let importance = |importance: f32| EntryMetadata { importance: Some(importance), ..none() };
        let tags = |tags: Vec<String>| EntryMetadata { tags: Some(tags), ..none() };
        let expiry = |reason| Refusal::Expiry { reason };
        let past = "it must lie in the future";
        let cases = [
            (importance(-0.1), Refusal::Importance { importance: -0.1 }),
            (importance(1.000_001), Refusal::Importance { importance: 1.000_001 }),
            (importance(f32::INFINITY), Refusal::Importance { importance: f32::INFINITY }),
            (tags(vec!["t".into(); 65]), limit(LimitName::TagsPerEntry, 65, 64)),
            (tags(vec!["t".into(), "t".repeat(129)]), limit(LimitName::TagBytes, 129, 128)),
            (tags(vec![" ".into()]), Refusal::Blank { what: "tag".into() }),
            (tags(vec!["a\tb".into()]), Refusal::ControlCharacter { what: "tag".into(), character: '\t', at: 1 }),
            (EntryMetadata { author: Some("a".repeat(257)), ..none() }, limit(LimitName::AgentIdBytes, 257, 256)),
            (
                EntryMetadata { session: Some("mon\nday".into()), ..none() },
                Refusal::ControlCharacter { what: "session".into(), character: '\n', at: 3 },
            ),
            (common::days(0), expiry(past.into())),
            (EntryMetadata { expires_at: Some(start()), ..none() }, expiry(past.into())),
            (common::days(u32::MAX), expiry("so many days lie beyond the calendar".into())),
            (
                EntryMetadata { expires_at: Some(jiff::Timestamp::MAX), ..common::days(1) },
                expiry("give either days or a time, not both".into()),
            ),
        ];
        for (metadata, expected) in cases {
            let attempt = memory.set("k", &1).metadata(metadata.clone());
            assert_eq!(refused(&board, &agent, attempt).await, expected);
            for scope in &scopes {
                let attempt = scope.set("k", &1).metadata(metadata.clone());
                assert_eq!(refused(&board, &agent, attempt).await, expected);
            }
        }
        // A number that is no number is not even itself.
        let nan = refused(&board, &agent, memory.set("k", &1).metadata(importance(f32::NAN))).await;
        assert!(matches!(nan, Refusal::Importance { importance } if importance.is_nan()));
        for allowed in [importance(0.0), importance(1.0), tags(vec!["t".repeat(128); 64]), common::days(1)] {
            memory.set("k", &1).metadata(allowed).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn validation_metadata_in_a_snapshot_is_held_to_the_same_bounds() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        memory.set("k", &1).await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        let with = |change: &dyn Fn(&mut EntryData)| {
            let mut snapshot = snapshot.clone();
            change(&mut snapshot.memory.scopes[0].entries[0].entry);
            agent.restore(snapshot)
        };
        for importance in [-0.1, 2.0, f32::INFINITY] {
            let attempt = with(&|entry| entry.importance = importance);
            assert_eq!(refused(&board, &agent, attempt).await, Refusal::Importance { importance });
        }
        let nan = refused(&board, &agent, with(&|entry| entry.importance = f32::NAN)).await;
        assert!(matches!(nan, Refusal::Importance { importance } if importance.is_nan()));
        let attempt = with(&|entry| entry.tags = vec!["t".into(); 65]);
        assert_eq!(refused(&board, &agent, attempt).await, limit(LimitName::TagsPerEntry, 65, 64));
        let attempt = with(&|entry| entry.tags = vec!["t".repeat(129).into()]);
        assert_eq!(refused(&board, &agent, attempt).await, limit(LimitName::TagBytes, 129, 128));
        let attempt = with(&|entry| entry.tags = vec!["".into()]);
        assert_eq!(refused(&board, &agent, attempt).await, Refusal::Blank { what: "tag".into() });
        let attempt = with(&|entry| entry.author = "".into());
        assert_eq!(refused(&board, &agent, attempt).await, Refusal::Blank { what: "author".into() });
        let attempt = with(&|entry| entry.session = Some("s".repeat(257).into()));
        assert_eq!(refused(&board, &agent, attempt).await, limit(LimitName::AgentIdBytes, 257, 256));
    })
    .await;
}

// §8.3 Resource protection.

/// A snapshot of the agent with so many entries, `key-00000` and on, in its root scope.
async fn snapshot_with(agent: &AgentMemory, entries: usize) -> MemorySnapshot {
    agent.working().set("sample", &0).await.unwrap();
    let mut snapshot = agent.snapshot().await.unwrap();
    let root = &mut snapshot.memory.scopes[0];
    let sample = root.entries.pop().unwrap();
    for index in 0..entries {
        let mut entry = sample.clone();
        entry.key = key(&format!("key-{index:05}"));
        root.entries.push(entry);
    }
    snapshot
}

fn key(text: &str) -> Key {
    Key::new(text, &Limits::default()).unwrap()
}

#[tokio::test]
async fn limit_the_10001st_entry_is_refused() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        agent.restore(snapshot_with(&agent, 9_999).await).await.unwrap();
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        // Entries count in all scopes together.
        scopes[0].set("the 10,000th", &0).await.unwrap();
        let full = limit(LimitName::EntriesPerAgent, 10_001, 10_000);
        let factory = async || Ok::<_, Error>(0);
        assert_eq!(refused(&board, &agent, memory.set("one more", &0)).await, full);
        assert_eq!(refused(&board, &agent, memory.append("one more", "x")).await, full);
        assert_eq!(refused(&board, &agent, memory.update("one more", |_: Option<u8>| 0)).await, full);
        assert_eq!(refused(&board, &agent, memory.get_or_set("one more", factory)).await, full);
        for scope in &scopes {
            assert_eq!(refused(&board, &agent, scope.set("one more", &0)).await, full);
            assert_eq!(refused(&board, &agent, scope.append("one more", "x")).await, full);
            assert_eq!(refused(&board, &agent, scope.update("one more", |_: Option<u8>| 0)).await, full);
            assert_eq!(refused(&board, &agent, scope.get_or_set("one more", factory)).await, full);
        }
        assert_eq!(refused(&board, &agent, scopes[0].merge_to_parent(true)).await, full);

        // What is there may change, and what goes makes room.
        memory.set("key-00000", &1).await.unwrap();
        assert!(memory.remove("key-00000").await.unwrap());
        memory.set("one more", &0).await.unwrap();
        assert_eq!(agent.stats().await.unwrap().total_entries_working, 10_000);
    })
    .await;
}

#[tokio::test]
async fn limit_a_snapshot_with_10001_entries_is_refused() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let mut snapshot = snapshot_with(&agent, 10_001).await;
        memory.set("before", &1).await.unwrap();
        let full = limit(LimitName::EntriesPerAgent, 10_001, 10_000);
        assert_eq!(refused(&board, &agent, agent.restore(snapshot.clone())).await, full);
        snapshot.memory.scopes[0].entries.pop();
        agent.restore(snapshot).await.unwrap();
        assert_eq!(memory.len().await.unwrap(), 10_000);
    })
    .await;
}

#[tokio::test]
async fn limit_the_101st_scope_is_refused() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let mut scopes = Vec::new();
        for index in 0..50 {
            scopes.push(memory.create_scope(&format!("ephemeral-{index}")).await.unwrap());
            scopes.push(memory.create_durable_scope(&format!("durable-{index}")).await.unwrap());
        }
        let full = limit(LimitName::ScopesPerAgent, 101, 100);
        assert_eq!(refused(&board, &agent, memory.create_scope("x")).await, full);
        assert_eq!(refused(&board, &agent, memory.create_durable_scope("x")).await, full);
        assert_eq!(refused(&board, &agent, scopes[0].create_child_scope("x")).await, full);
        assert_eq!(refused(&board, &agent, scopes[1].create_child_scope("x")).await, full);
        assert_eq!(refused(&board, &agent, scopes[1].create_durable_child_scope("x")).await, full);
        scopes[3].dispose().await.unwrap();
        let last = scopes[1].create_child_scope("the hundredth again").await.unwrap();
        assert_eq!(refused(&board, &agent, memory.create_scope("x")).await, full);
        drop(last);
        memory.create_durable_scope("and again").await.unwrap();
        // Another agent has a hundred of its own.
        board.agent("B").unwrap().working().create_scope("x").await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn limit_a_snapshot_with_101_scopes_is_refused() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        memory.create_durable_scope("first").await.unwrap();
        let mut snapshot = agent.snapshot().await.unwrap();
        for index in 0..100 {
            let mut scope = snapshot.memory.scopes[1].clone();
            scope.id = scope_id(index);
            scope.name = ScopeName::new(&format!("scope-{index}"), &Limits::default()).unwrap();
            snapshot.memory.scopes.push(scope);
        }
        let full = limit(LimitName::ScopesPerAgent, 101, 100);
        assert_eq!(refused(&board, &agent, agent.restore(snapshot.clone())).await, full);
        snapshot.memory.scopes.pop();
        agent.restore(snapshot).await.unwrap();
        assert_eq!(memory.active_scopes().await.unwrap().len(), 100);
    })
    .await;
}

fn scope_id(number: u32) -> ScopeId {
    serde_json::from_value(json!(format!("00000000-0000-4000-8000-{number:012}"))).unwrap()
}

#[tokio::test]
async fn limit_an_entry_over_1_mib_is_refused() {
    on_every_store(async |home: Home| {
        const MIB: usize = 1024 * 1024;
        let (board, agent, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        // The two quotes count: a value is as long as its JSON.
        let (fits, too_long) = ("x".repeat(MIB - 2), "x".repeat(MIB - 1));
        let over = |used| limit(LimitName::EntryBytes, used, MIB as u64);
        let by_one = over(MIB as u64 + 1);
        assert_eq!(refused(&board, &agent, memory.set("k", &too_long)).await, by_one);
        assert_eq!(refused(&board, &agent, memory.append("k", &too_long)).await, by_one);
        let copy = too_long.clone();
        let update = memory.update("k", move |_: Option<String>| copy.clone());
        assert_eq!(refused(&board, &agent, update).await, by_one);
        let factory = async || Ok::<_, Error>(too_long.clone());
        assert_eq!(refused(&board, &agent, memory.get_or_set("k", factory)).await, by_one);
        for scope in &scopes {
            assert_eq!(refused(&board, &agent, scope.set("k", &too_long)).await, by_one);
            assert_eq!(refused(&board, &agent, scope.append("k", &too_long)).await, by_one);
        }

        memory.set("k", &fits).await.unwrap();
        assert_eq!(refused(&board, &agent, memory.append("k", "x")).await, by_one);
        // Metadata counts too, and so do the escapes of a text.
        let tagged = EntryMetadata { tags: Some(vec!["tag".into()]), ..EntryMetadata::default() };
        assert_eq!(refused(&board, &agent, memory.set("k", &fits).metadata(tagged)).await, over(MIB as u64 + 3));
        let escaped = "\n".repeat(MIB / 2);
        assert_eq!(refused(&board, &agent, memory.set("k", &escaped)).await, over(MIB as u64 + 2));
        assert_eq!(memory.get::<String>("k").await.unwrap(), Some(fits));
    })
    .await;
}

#[tokio::test]
async fn limit_a_snapshot_with_an_entry_over_1_mib_is_refused() {
    on_every_store(async |home: Home| {
        const MIB: usize = 1024 * 1024;
        let (board, agent, memory) = agent_a(&home).await;
        memory.set("k", "@value").await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        let too_long = replaced(&snapshot, "@value", &"x".repeat(MIB - 1));
        let over = limit(LimitName::EntryBytes, MIB as u64 + 1, MIB as u64);
        assert_eq!(refused(&board, &agent, agent.restore(too_long)).await, over);
        agent.restore(replaced(&snapshot, "@value", &"x".repeat(MIB - 2))).await.unwrap();
        assert_eq!(memory.get::<String>("k").await.unwrap().unwrap().len(), MIB - 2);
    })
    .await;
}

#[tokio::test]
async fn limit_a_command_over_4_mib_is_refused() {
    on_every_store(async |home: Home| {
        const LIMIT: usize = 4 * 1024 * 1024;
        let (board, agent, memory) = agent_a(&home).await;
        memory.set("text", "x").await.unwrap();
        let over = limit(LimitName::CommandBytes, LIMIT as u64 + 1, LIMIT as u64);
        let text = "x".repeat(LIMIT + 1);
        assert_eq!(refused(&board, &agent, memory.append("text", &text)).await, over);
        assert_eq!(refused(&board, &agent, memory.set("new", &text[..LIMIT - 1])).await, over);
    })
    .await;
}

#[tokio::test]
async fn limits_are_configurable() {
    on_every_store(async |home: Home| {
        let limits = Limits {
            key_bytes: 8,
            entry_bytes: 64,
            entries_per_agent: 3,
            scopes_per_agent: 1,
            notes_per_agent: 1,
            note_bytes: 4,
            state_bytes: 100,
            ..Limits::default()
        };
        let board = home.open_with(Options { limits, ..home.options() }).await;
        let agent = board.agent("A").unwrap();
        let memory = agent.working();
        assert_eq!(refused(&board, &agent, memory.set("too long!", &1)).await, limit(LimitName::KeyBytes, 9, 8));
        let value = "x".repeat(63);
        assert_eq!(refused(&board, &agent, memory.set("k", &value)).await, limit(LimitName::EntryBytes, 65, 64));
        memory.set("a", &value[..50]).await.unwrap();
        let bytes = limit(LimitName::StateBytes, 2 * (1 + 52), 100);
        assert_eq!(refused(&board, &agent, memory.set("b", &value[..50])).await, bytes);
        memory.set("b", &1).await.unwrap();
        memory.set("c", &1).await.unwrap();
        assert_eq!(refused(&board, &agent, memory.set("d", &1)).await, limit(LimitName::EntriesPerAgent, 4, 3));
        assert_eq!(refused(&board, &agent, memory.add_note("12345")).await, limit(LimitName::NoteBytes, 5, 4));
        memory.add_note("1234").await.unwrap();
        assert_eq!(refused(&board, &agent, memory.add_note("1")).await, limit(LimitName::NotesPerAgent, 2, 1));
        assert_eq!(refused(&board, &agent, memory.add_note(" \n")).await, Refusal::Blank { what: "note".into() });
        let _scope = memory.create_scope("s").await.unwrap();
        assert_eq!(refused(&board, &agent, memory.create_scope("t")).await, limit(LimitName::ScopesPerAgent, 2, 1));
    })
    .await;
}

#[tokio::test]
async fn an_agent_whose_handles_are_gone_leaves_no_ephemeral_scope_behind() {
    on_every_store(async |home: Home| {
        let board = home.open().await;
        let mut events = board.subscribe();
        {
            let memory = board.agent("A").unwrap().working();
            let outer = memory.create_scope("outer").await.unwrap();
            let inner = outer.create_child_scope("inner").await.unwrap();
            inner.set("a", &1).await.unwrap();
            drain(&mut events);
        }
        let names: Vec<_> = drain(&mut events)
            .into_iter()
            .map(|event| match event {
                MemoryEvent::ScopeDisposed { scope_name, entries_cleared, .. } => {
                    (scope_name.to_string(), entries_cleared)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, [("inner".to_owned(), 1), ("outer".to_owned(), 0)]);
        let stats = board.agent("A").unwrap().stats().await.unwrap();
        assert_eq!((stats.active_working_scopes, stats.total_entries_working), (0, 0));
    })
    .await;
}
