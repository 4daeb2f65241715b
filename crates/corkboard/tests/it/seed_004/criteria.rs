//! §9: the acceptance criteria. Speed depends on the machine, so the benchmarks measure it.

use std::collections::BTreeMap;

use corkboard::{Error, WorkingMemory};
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::disposed;
use crate::common::{Home, agent_a, drain, fails_without_a_trace, on_every_store};

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
        let (corkboard, agent, memory) = agent_a(&home).await;
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

        let wrong = fails_without_a_trace(&corkboard, &agent, memory.get::<u32>("plan")).await;
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
            assert_eq!(scope.len().await.unwrap(), 2);
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
            // The scope also shows what the parent gets later.
            memory.set("parent_key", &value).await.unwrap();
            assert_eq!(scope.get::<usize>("parent_key").await.unwrap(), Some(value));
            assert_eq!(scope.get_entry("parent_key").await.unwrap().unwrap().version, memory_version(&memory).await);
            assert!(scope.contains("parent_key").await.unwrap());
            assert_eq!(scope.get::<usize>("nowhere").await.unwrap(), None);
            assert_eq!(scope.len().await.unwrap(), 0);
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
        let (corkboard, agent, memory) = agent_a(&home).await;
        for scope in [memory.create_scope("task").await.unwrap(), memory.create_durable_scope("task").await.unwrap()] {
            scope.set("a", &1).await.unwrap();
            scope.set("b", &2).await.unwrap();
            let mut events = corkboard.subscribe();
            assert_eq!(scope.dispose().await.unwrap(), 2);
            assert_eq!(drain(&mut events), [disposed(&agent, &scope, 2)]);
            assert!(scope.is_disposed());
        }
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.active_working_scopes, stats.storage_bytes_used), (0, 0, 0));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn criterion_concurrent_set_and_get_do_not_deadlock() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
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
        corkboard.close().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn criterion_memory_ten_thousand_entries_of_100_bytes_fit_the_default_limits() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let value = "x".repeat(98);
        let keys: Vec<String> = (0..10_000).map(|index| format!("key-{index:05}")).collect();
        for written in join_all(keys.iter().map(|key| memory.set(key, &value).into_future())).await {
            written.unwrap();
        }
        let stats = agent.stats().await.unwrap();
        assert_eq!(stats.total_entries_working, 10_000);
        assert_eq!(stats.storage_bytes_used, 10_000 * (100 + 9));
        assert!(stats.storage_percent_used < 2.0, "{}", stats.storage_percent_used);
        let (spaces, resident) = corkboard.resident();
        assert_eq!(spaces, 3, "the counts load working memory, long-term memory and the facts about the user");
        assert!((10_000 * 109..100_000_000).contains(&resident), "{resident}");
        assert_eq!(memory.get::<String>("key-09999").await.unwrap().unwrap(), value);
    })
    .await;
}
