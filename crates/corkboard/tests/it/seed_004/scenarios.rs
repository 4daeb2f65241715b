//! §10: the scenarios, and the types of §4.4 that they use.

use corkboard::{EntryMetadata, MemoryEvent, MemoryKind, Scope};
use futures_util::future::join_all;
use serde_json::json;

use super::{disposed, key};
use crate::common::{Home, agent_a, drain, names, on_every_store, start};

#[tokio::test]
async fn scenario_store_and_retrieve_value() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let mut events = corkboard.subscribe();
        memory.set("user_id", "user-123").await.unwrap();
        assert_eq!(memory.get::<String>("user_id").await.unwrap().unwrap(), "user-123");
        let set = MemoryEvent::Set {
            agent_id: agent.agent_id().clone(),
            key: key("user_id"),
            type_name: "str".into(),
            at: start(),
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
        let (corkboard, agent, memory) = agent_a(&home).await;
        let scope = memory.create_scope("task-1").await.unwrap();
        for index in 0..5 {
            scope.set(&format!("key-{index}"), &index).await.unwrap();
        }
        let other = memory.create_scope("task-2").await.unwrap();
        let mut events = corkboard.subscribe();
        scope.dispose().await.unwrap();
        assert_eq!(drain(&mut events), [disposed(&agent, &scope, 5)]);
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["task-2"]);
        assert!(!other.is_disposed());
    })
    .await;
}

#[tokio::test]
async fn scenario_full_working_memory_lifecycle() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
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
        // Three nested scopes need three disposals, or one of the outermost.
        assert_eq!(outer.dispose().await.unwrap(), 2);
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.active_working_scopes), (100, 0));
        assert_eq!(memory.clear().await.unwrap(), 100);
        assert_eq!(agent.stats().await.unwrap().storage_bytes_used, 0);
        corkboard.close().await.unwrap();
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
        // Every write is one revision, and all revisions differ.
        assert_eq!(agent.rev().await.unwrap(), 400);
        let mut versions: Vec<_> = entries.iter().map(|(_, entry)| entry.version).collect();
        versions.sort_unstable();
        versions.dedup();
        assert_eq!(versions.len(), 201);
    })
    .await;
}

#[tokio::test]
async fn an_entry_keeps_all_its_metadata() {
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
        assert_eq!((entry.at, &*entry.author), (start(), "local"));
        assert_eq!(entry.expires_at.unwrap(), start() + jiff::SignedDuration::from_hours(48));
        assert_eq!(entry.access.count(), 1);
        assert_eq!(entry.access.last(), Some(start()));

        // Overwriting updates the at and the metadata (§4.2) and keeps the ID.
        home.clock.advance(std::time::Duration::from_secs(1));
        memory.set("editor", "helix").await.unwrap();
        let after = memory.get_entry("editor").await.unwrap().unwrap();
        assert_eq!((after.id, after.kind, after.importance), (entry.id, MemoryKind::Fact, 0.5));
        assert_eq!((after.tags.len(), &after.custom, after.expires_at), (0, &None, None));
        assert_eq!(after.at, start() + jiff::SignedDuration::from_secs(1));
        assert_eq!(after.access.count(), 2);
    })
    .await;
}
