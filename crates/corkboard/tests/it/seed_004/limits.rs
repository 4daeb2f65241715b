//! §8.3: everything that can grow has a limit.

use corkboard::{
    AgentMemory, CommandDocument, EntryMetadata, Error, LimitName, Limits, MemoryEvent, MemorySnapshot, Options,
    Refusal, ScopeId, ScopeName, Separator, SpaceKind,
};
use corkboard_core::agent::{AgentCommand, ParentLocation};
use serde_json::json;

use super::{key, replaced};
use crate::common::{Home, agent_a, drain, limit, on_every_store, refused};

/// A snapshot of the agent with `entries` entries in its root scope, from `key-00000` on.
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

#[tokio::test]
async fn limit_the_10001st_entry_is_refused() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        agent.restore(snapshot_with(&agent, 9_999).await).await.unwrap();
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        // The limit counts the entries of all scopes.
        scopes[0].set("the 10,000th", &0).await.unwrap();
        let full = limit(LimitName::EntriesPerAgent, 10_001, 10_000);
        let factory = async || Ok::<_, Error>(0);
        assert_eq!(refused(&corkboard, &agent, memory.set("one more", &0)).await, full);
        assert_eq!(refused(&corkboard, &agent, memory.append("one more", "x")).await, full);
        assert_eq!(refused(&corkboard, &agent, memory.update("one more", |_: Option<u8>| 0)).await, full);
        assert_eq!(refused(&corkboard, &agent, memory.get_or_set("one more", factory)).await, full);
        for scope in &scopes {
            assert_eq!(refused(&corkboard, &agent, scope.set("one more", &0)).await, full);
            assert_eq!(refused(&corkboard, &agent, scope.append("one more", "x")).await, full);
            assert_eq!(refused(&corkboard, &agent, scope.update("one more", |_: Option<u8>| 0)).await, full);
            assert_eq!(refused(&corkboard, &agent, scope.get_or_set("one more", factory)).await, full);
        }
        assert_eq!(refused(&corkboard, &agent, scopes[0].merge_to_parent(true)).await, full);

        // Existing entries can change, and a removed entry makes room.
        memory.set("key-00000", &1).await.unwrap();
        assert!(memory.remove("key-00000").await.unwrap());
        memory.set("one more", &0).await.unwrap();
        assert_eq!(agent.stats().await.unwrap().total_entries_working, 10_000);
    })
    .await;
}

#[tokio::test]
async fn limit_commands_as_text_count_ephemeral_scopes_too() {
    on_every_store(async |home: Home| {
        let limits = Limits { entries_per_agent: 3, scopes_per_agent: 2, ..Limits::default() };
        let corkboard = home.open_with(Options { limits, ..home.options() }).await;
        let agent = corkboard.agent("A").unwrap();
        let scope = agent.working().create_scope("e").await.unwrap();
        for key in ["one", "two"] {
            scope.set(key, &0).await.unwrap();
        }
        let command = async |command: AgentCommand| {
            let document = CommandDocument { command, if_rev: None, idempotency_key: None, idempotency_body: None };
            let json = serde_json::to_vec(&document).unwrap();
            corkboard.log(SpaceKind::Agent, "A").unwrap().command(&json).await
        };
        let append = |name: &str| {
            let (key, text, separator) = (key(name), "text".into(), Separator::default());
            AgentCommand::Append { scope: ScopeId::ROOT, key, text, separator, if_version: None }
        };
        let create = |name: &str| {
            let name = ScopeName::new(name, &Limits::default()).unwrap();
            AgentCommand::CreateScope { name, parent: ScopeId::ROOT, parent_kept: ParentLocation::Here }
        };
        command(append("three")).await.unwrap();
        let full = limit(LimitName::EntriesPerAgent, 4, 3);
        assert_eq!(refused(&corkboard, &agent, command(append("four"))).await, full);
        command(create("d")).await.unwrap();
        let full = limit(LimitName::ScopesPerAgent, 3, 2);
        assert_eq!(refused(&corkboard, &agent, command(create("x"))).await, full);
        // A disposed scope makes room.
        scope.dispose().await.unwrap();
        command(append("four")).await.unwrap();
        command(create("x")).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn limit_a_snapshot_with_10001_entries_is_refused() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let mut snapshot = snapshot_with(&agent, 10_001).await;
        memory.set("before", &1).await.unwrap();
        let full = limit(LimitName::EntriesPerAgent, 10_001, 10_000);
        assert_eq!(refused(&corkboard, &agent, agent.restore(snapshot.clone())).await, full);
        snapshot.memory.scopes[0].entries.pop();
        agent.restore(snapshot).await.unwrap();
        assert_eq!(memory.len().await.unwrap(), 10_000);
    })
    .await;
}

#[tokio::test]
async fn limit_the_101st_scope_is_refused() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let mut scopes = Vec::new();
        for index in 0..50 {
            scopes.push(memory.create_scope(&format!("ephemeral-{index}")).await.unwrap());
            scopes.push(memory.create_durable_scope(&format!("durable-{index}")).await.unwrap());
        }
        let full = limit(LimitName::ScopesPerAgent, 101, 100);
        assert_eq!(refused(&corkboard, &agent, memory.create_scope("x")).await, full);
        assert_eq!(refused(&corkboard, &agent, memory.create_durable_scope("x")).await, full);
        assert_eq!(refused(&corkboard, &agent, scopes[0].create_child_scope("x")).await, full);
        assert_eq!(refused(&corkboard, &agent, scopes[1].create_child_scope("x")).await, full);
        assert_eq!(refused(&corkboard, &agent, scopes[1].create_durable_child_scope("x")).await, full);
        scopes[3].dispose().await.unwrap();
        let last = scopes[1].create_child_scope("the hundredth again").await.unwrap();
        assert_eq!(refused(&corkboard, &agent, memory.create_scope("x")).await, full);
        drop(last);
        memory.create_durable_scope("and again").await.unwrap();
        // Another agent has a separate limit of a hundred.
        corkboard.agent("B").unwrap().working().create_scope("x").await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn limit_a_snapshot_with_101_scopes_is_refused() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.create_durable_scope("first").await.unwrap();
        let mut snapshot = agent.snapshot().await.unwrap();
        for index in 0..100 {
            let mut scope = snapshot.memory.scopes[1].clone();
            scope.id = scope_id(index);
            scope.name = ScopeName::new(&format!("scope-{index}"), &Limits::default()).unwrap();
            snapshot.memory.scopes.push(scope);
        }
        let full = limit(LimitName::ScopesPerAgent, 101, 100);
        assert_eq!(refused(&corkboard, &agent, agent.restore(snapshot.clone())).await, full);
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
        let (corkboard, agent, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        // The two quotes count, because the limit applies to a value's JSON.
        let (fits, too_long) = ("x".repeat(MIB - 2), "x".repeat(MIB - 1));
        let over = |used| limit(LimitName::EntryBytes, used, MIB as u64);
        let by_one = over(MIB as u64 + 1);
        assert_eq!(refused(&corkboard, &agent, memory.set("k", &too_long)).await, by_one);
        assert_eq!(refused(&corkboard, &agent, memory.append("k", &too_long)).await, by_one);
        let copy = too_long.clone();
        let update = memory.update("k", move |_: Option<String>| copy.clone());
        assert_eq!(refused(&corkboard, &agent, update).await, by_one);
        let factory = async || Ok::<_, Error>(too_long.clone());
        assert_eq!(refused(&corkboard, &agent, memory.get_or_set("k", factory)).await, by_one);
        for scope in &scopes {
            assert_eq!(refused(&corkboard, &agent, scope.set("k", &too_long)).await, by_one);
            assert_eq!(refused(&corkboard, &agent, scope.append("k", &too_long)).await, by_one);
        }

        memory.set("k", &fits).await.unwrap();
        assert_eq!(refused(&corkboard, &agent, memory.append("k", "x")).await, by_one);
        // Metadata counts, too, and so do the escapes in a text.
        let tagged = EntryMetadata { tags: Some(vec!["tag".into()]), ..EntryMetadata::default() };
        assert_eq!(refused(&corkboard, &agent, memory.set("k", &fits).metadata(tagged)).await, over(MIB as u64 + 3));
        let escaped = "\n".repeat(MIB / 2);
        assert_eq!(refused(&corkboard, &agent, memory.set("k", &escaped)).await, over(MIB as u64 + 2));
        assert_eq!(memory.get::<String>("k").await.unwrap(), Some(fits));
    })
    .await;
}

#[tokio::test]
async fn limit_a_snapshot_with_an_entry_over_1_mib_is_refused() {
    on_every_store(async |home: Home| {
        const MIB: usize = 1024 * 1024;
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("k", "@value").await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        let too_long = replaced(&snapshot, "@value", &"x".repeat(MIB - 1));
        let over = limit(LimitName::EntryBytes, MIB as u64 + 1, MIB as u64);
        assert_eq!(refused(&corkboard, &agent, agent.restore(too_long)).await, over);
        agent.restore(replaced(&snapshot, "@value", &"x".repeat(MIB - 2))).await.unwrap();
        assert_eq!(memory.get::<String>("k").await.unwrap().unwrap().len(), MIB - 2);
    })
    .await;
}

#[tokio::test]
async fn limit_a_command_over_4_mib_is_refused() {
    on_every_store(async |home: Home| {
        const LIMIT: usize = 4 * 1024 * 1024;
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("text", "x").await.unwrap();
        let over = limit(LimitName::CommandBytes, LIMIT as u64 + 1, LIMIT as u64);
        let text = "x".repeat(LIMIT + 1);
        assert_eq!(refused(&corkboard, &agent, memory.append("text", &text)).await, over);
        assert_eq!(refused(&corkboard, &agent, memory.set("new", &text[..LIMIT - 1])).await, over);
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
        let corkboard = home.open_with(Options { limits, ..home.options() }).await;
        let agent = corkboard.agent("A").unwrap();
        let memory = agent.working();
        assert_eq!(refused(&corkboard, &agent, memory.set("too long!", &1)).await, limit(LimitName::KeyBytes, 9, 8));
        let value = "x".repeat(63);
        assert_eq!(refused(&corkboard, &agent, memory.set("k", &value)).await, limit(LimitName::EntryBytes, 65, 64));
        memory.set("a", &value[..50]).await.unwrap();
        let bytes = limit(LimitName::StateBytes, 2 * (1 + 52), 100);
        assert_eq!(refused(&corkboard, &agent, memory.set("b", &value[..50])).await, bytes);
        memory.set("b", &1).await.unwrap();
        memory.set("c", &1).await.unwrap();
        assert_eq!(refused(&corkboard, &agent, memory.set("d", &1)).await, limit(LimitName::EntriesPerAgent, 4, 3));
        assert_eq!(refused(&corkboard, &agent, memory.add_note("12345")).await, limit(LimitName::NoteBytes, 5, 4));
        memory.add_note("1234").await.unwrap();
        assert_eq!(refused(&corkboard, &agent, memory.add_note("1")).await, limit(LimitName::NotesPerAgent, 2, 1));
        assert_eq!(refused(&corkboard, &agent, memory.add_note(" \n")).await, Refusal::Blank { what: "note".into() });
        let _scope = memory.create_scope("s").await.unwrap();
        assert_eq!(refused(&corkboard, &agent, memory.create_scope("t")).await, limit(LimitName::ScopesPerAgent, 2, 1));
    })
    .await;
}

#[tokio::test]
async fn an_agent_whose_handles_are_gone_leaves_no_ephemeral_scope_behind() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let mut events = corkboard.subscribe();
        {
            let memory = corkboard.agent("A").unwrap().working();
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
        let stats = corkboard.agent("A").unwrap().stats().await.unwrap();
        assert_eq!((stats.active_working_scopes, stats.total_entries_working), (0, 0));
    })
    .await;
}
