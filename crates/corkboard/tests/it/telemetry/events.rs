//! §4.5: the events that subscribers receive.

use corkboard::{AgentId, AgentMemory, ClearOptions, Corkboard, Error, Key, Limits, MemoryEvent, Scope, WorkingMemory};

use super::{DAY, durable};
use crate::common::{Home, agent_a, days, drain, on_every_store, start};

fn key(text: &str) -> Key {
    Key::new(text, &Limits::default()).unwrap()
}

/// The common fields of the events in a test.
struct Told {
    agent_id: AgentId,
    scope: Option<Scope>,
}

impl Told {
    fn set(&self, name: &str, type_name: &str, is_update: bool) -> MemoryEvent {
        MemoryEvent::Set {
            agent_id: self.agent_id.clone(),
            key: key(name),
            type_name: type_name.into(),
            at: start(),
            scope_name: self.scope.as_ref().map(Scope::name),
            scope_id: self.scope.as_ref().map(Scope::id),
            is_update,
        }
    }

    fn removed(&self, name: &str) -> MemoryEvent {
        MemoryEvent::Removed {
            agent_id: self.agent_id.clone(),
            key: key(name),
            at: start(),
            scope_name: self.scope.as_ref().map(Scope::name),
            scope_id: self.scope.as_ref().map(Scope::id),
            expired: false,
        }
    }

    fn cleared(&self, entries_cleared: u64) -> MemoryEvent {
        let scope_id = self.scope.as_ref().map(Scope::id);
        MemoryEvent::Cleared { agent_id: self.agent_id.clone(), scope_id, entries_cleared, at: start() }
    }
}

/// Runs a test with a subscribed agent "A" on every store.
async fn told(test: impl AsyncFn(Home, Corkboard, AgentMemory, WorkingMemory)) {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        test(home, corkboard, agent, memory).await;
    })
    .await;
}

#[tokio::test]
async fn event_set_removed_and_cleared_in_the_root() {
    told(async |_home, corkboard, agent, memory| {
        let told = Told { agent_id: agent.agent_id().clone(), scope: None };
        let mut events = corkboard.subscribe();
        memory.set("user_id", "user-123").await.unwrap();
        memory.set("user_id", &7_u64).await.unwrap();
        memory.append("log", "a").await.unwrap();
        memory.append("log", "b").await.unwrap();
        memory.update("count", |_: Option<u64>| 1).await.unwrap();
        memory.get_or_set("made", async || Ok::<_, Error>(vec![true])).await.unwrap();
        memory.set("k", &1).type_name("tool").await.unwrap();
        memory.remove("user_id").await.unwrap();
        memory.clear().await.unwrap();
        let expected = [
            told.set("user_id", "str", false),
            told.set("user_id", "u64", true),
            told.set("log", "text", false),
            told.set("log", "text", true),
            told.set("count", "u64", false),
            told.set("made", "alloc::vec::Vec<bool>", false),
            told.set("k", "tool", false),
            told.removed("user_id"),
            told.cleared(4),
        ];
        assert_eq!(drain(&mut events), expected);
    })
    .await;
}

#[tokio::test]
async fn event_set_removed_and_cleared_in_a_scope() {
    told(async |_home, corkboard, agent, memory| {
        for scope in [memory.create_scope("ephemeral").await.unwrap(), durable(&memory).await] {
            let told = Told { agent_id: agent.agent_id().clone(), scope: Some(scope.clone()) };
            let mut events = corkboard.subscribe();
            scope.set("user_id", "user-123").await.unwrap();
            scope.append("log", "a").await.unwrap();
            scope.append("log", "b").await.unwrap();
            scope.update("user_id", |_: Option<String>| "user-456".into()).await.unwrap();
            scope.remove("user_id").await.unwrap();
            scope.clear().await.unwrap();
            let expected = [
                told.set("user_id", "str", false),
                told.set("log", "text", false),
                told.set("log", "text", true),
                told.set("user_id", "alloc::string::String", true),
                told.removed("user_id"),
                told.cleared(1),
            ];
            assert_eq!(drain(&mut events), expected);
        }
    })
    .await;
}

#[tokio::test]
async fn event_scope_created_and_disposed() {
    told(async |home, corkboard, agent, memory| {
        let agent_id = agent.agent_id().clone();
        let created = |scope: &Scope, parent: Option<&Scope>| MemoryEvent::ScopeCreated {
            agent_id: agent_id.clone(),
            scope_name: scope.name(),
            scope_id: scope.id(),
            parent_scope_id: parent.map(Scope::id),
            at: start(),
        };
        let mut events = corkboard.subscribe();
        let outer = durable(&memory).await;
        let middle = outer.create_durable_child_scope("middle").await.unwrap();
        let inner = middle.create_child_scope("inner").await.unwrap();
        let innermost = inner.create_child_scope("innermost").await.unwrap();
        let alone = memory.create_scope("alone").await.unwrap();
        let expected = [
            created(&outer, None),
            created(&middle, Some(&outer)),
            created(&inner, Some(&middle)),
            created(&innermost, Some(&inner)),
            created(&alone, None),
        ];
        assert_eq!(drain(&mut events), expected);

        inner.set("k", &1).await.unwrap();
        home.clock.advance(DAY);
        drain(&mut events);
        let disposed = |scope: &Scope, entries_cleared| MemoryEvent::ScopeDisposed {
            agent_id: agent_id.clone(),
            scope_name: scope.name(),
            scope_id: scope.id(),
            entries_cleared,
            at: start() + jiff::SignedDuration::from_hours(24),
        };
        inner.dispose().await.unwrap();
        assert_eq!(drain(&mut events), [disposed(&innermost, 0), disposed(&inner, 1)]);
        outer.dispose().await.unwrap();
        assert_eq!(drain(&mut events), [disposed(&middle, 0), disposed(&outer, 0)]);
    })
    .await;
}

#[tokio::test]
async fn event_expired() {
    told(async |home, corkboard, agent, memory| {
        memory.set("k", &1).metadata(days(1)).await.unwrap();
        home.clock.advance(DAY);
        let mut events = corkboard.subscribe();
        // The next write sweeps first.
        memory.set("other", &1).await.unwrap();
        let told = drain(&mut events);
        let expired = MemoryEvent::Removed {
            agent_id: agent.agent_id().clone(),
            key: key("k"),
            at: start() + jiff::SignedDuration::from_hours(24),
            scope_name: None,
            scope_id: None,
            expired: true,
        };
        assert_eq!((told.len(), &told[0]), (2, &expired));
    })
    .await;
}

#[tokio::test]
async fn event_restored() {
    told(async |_home, corkboard, agent, memory| {
        memory.set("a", &1).await.unwrap();
        durable(&memory).await.set("b", &1).await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        memory.clear().await.unwrap();
        let mut events = corkboard.subscribe();
        agent.restore(snapshot).await.unwrap();
        let restored = MemoryEvent::Restored { agent_id: agent.agent_id().clone(), entries: 2, at: start() };
        assert_eq!(drain(&mut events), [restored]);
    })
    .await;
}

#[tokio::test]
async fn operations_that_change_no_entry_or_scope_send_no_event() {
    told(async |_home, corkboard, agent, memory| {
        memory.set("k", &1).await.unwrap();
        let scope = memory.create_scope("task").await.unwrap();
        let mut events = corkboard.subscribe();
        memory.get::<u8>("k").await.unwrap();
        memory.remove("nothing").await.unwrap();
        let note = memory.add_note("n").await.unwrap();
        memory.remove_note(note).await.unwrap();
        scope.clear().await.unwrap();
        scope.merge_to_parent(true).await.unwrap();
        assert!(memory.set("k", &2).if_version(99).await.is_err());
        assert!(memory.set("", &2).await.is_err());
        agent.clear(ClearOptions { working: false, long_term: false }).await.unwrap();
        corkboard.tick().await.unwrap();
        assert_eq!(drain(&mut events), []);
    })
    .await;
}

#[tokio::test]
async fn subscribers_get_the_events_of_all_agents_of_their_corkboard_only() {
    let home = Home::sqlite();
    let (here, there) = (home.open().await, home.open().await);
    let (mut first, mut second, mut elsewhere) = (here.subscribe(), here.subscribe(), there.subscribe());
    for agent in ["A", "B"] {
        here.agent(agent).unwrap().working().set("k", &1).await.unwrap();
    }
    there.agent("A").unwrap().working().set("k", &2).await.unwrap();
    let heard = drain(&mut first);
    assert_eq!(heard, drain(&mut second));
    let agents = |events: &[MemoryEvent]| -> Vec<(String, bool)> {
        let agent = |event: &MemoryEvent| match event {
            MemoryEvent::Set { agent_id, is_update, .. } => (agent_id.to_string(), *is_update),
            other => panic!("{other:?}"),
        };
        events.iter().map(agent).collect()
    };
    assert_eq!(agents(&heard), [("A".into(), false), ("B".into(), false)]);
    assert_eq!(agents(&drain(&mut elsewhere)), [("A".into(), true)]);
}
