//! Several changes in one revision, on every store.

use corkboard::{
    AgentEvent, Content, EntryChange, EntryMetadata, Error, ErrorKind, Key, LimitName, Limits, MemoryEvent, Options,
    Refusal, Watched,
};

use crate::common::{agent_a, drain, fails_without_a_trace, in_time, limit, on_every_store, refused};

#[tokio::test]
async fn a_batch_is_one_revision_and_answers_its_version() {
    on_every_store(async |home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("draft", "one").await.unwrap();
        let mut events = corkboard.subscribe();
        let mut watch = agent.watch(1).await.unwrap();
        let version =
            memory.batch().rename("draft", "plan").append("plan", ", two").set("open", &false).remove("gone").await;
        assert_eq!(version.unwrap(), 2);
        assert_eq!(agent.rev().await.unwrap(), 2);
        assert_eq!(memory.get::<String>("plan").await.unwrap().as_deref(), Some("one, two"));
        assert_eq!(memory.get::<String>("draft").await.unwrap(), None);
        assert_eq!(memory.get_entry("open").await.unwrap().unwrap().version, 2);
        let heard: Vec<_> = drain(&mut events).into_iter().map(|event| key_of(&event)).collect();
        assert_eq!(heard, ["- draft", "+ plan", "+ plan", "+ open"]);
        let Watched::Revision { rev, commit, .. } = in_time(watch.next()).await.unwrap() else {
            panic!("expected a revision, found a bookmark")
        };
        assert_eq!((rev, commit.events.len()), (2, 4));
        assert!(matches!(&commit.events[0], AgentEvent::EntryRemoved { key, .. } if key.as_str() == "draft"));
        // A second Corkboard reads the same.
        if home.is_shared() {
            let (_other, _, memory) = agent_a(&home).await;
            assert_eq!(memory.get::<String>("plan").await.unwrap().as_deref(), Some("one, two"));
        }
    })
    .await;
}

#[tokio::test]
async fn a_refused_batch_leaves_no_trace() {
    on_every_store(async |home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("a", "text").await.unwrap();
        memory.set("b", &1).await.unwrap();
        let missing = refused(&corkboard, &agent, memory.batch().set("c", &1).rename("none", "d")).await;
        assert_eq!(missing, Refusal::NoEntry { key: key("none") });
        let taken = refused(&corkboard, &agent, memory.batch().remove("x").rename("a", "b")).await;
        assert!(matches!(taken, Refusal::Conflict { expected: 0, current: Some(_), .. }), "{taken:?}");
        let number = refused(&corkboard, &agent, memory.batch().append("a", "!").append("b", "!")).await;
        assert_eq!(number, Refusal::NotText { key: key("b"), found: "a number".into() });
        let blank = refused(&corkboard, &agent, memory.batch().set("c", &1).set(" ", &1).set("d", &1)).await;
        assert_eq!(blank, Refusal::Blank { what: "key".into() });
        let behind = refused(&corkboard, &agent, memory.batch().set("c", &1).if_rev(1)).await;
        assert_eq!(behind, Refusal::RevConflict { expected: 1, current: 2 });
        let set = EntryChange::Set {
            key: key("a"),
            value: Content::of("other").unwrap(),
            type_name: "text".into(),
            metadata: Box::new(EntryMetadata { importance: Some(0.9), ..EntryMetadata::default() }),
            if_version: Some(7),
        };
        let conflict = refused(&corkboard, &agent, memory.batch().change(set)).await;
        assert!(matches!(conflict, Refusal::Conflict { expected: 7, .. }), "{conflict:?}");
        let error = fails_without_a_trace(&corkboard, &agent, memory.batch().rename("none", "d")).await;
        assert_eq!((error.code(), error.kind()), ("no_entry", ErrorKind::Gone));
    })
    .await;
}

#[tokio::test]
async fn limits_hold_for_the_whole() {
    on_every_store(async |home| {
        let limits = Limits { entries_per_agent: 2, ..Limits::default() };
        let corkboard = home.open_with(Options { limits, ..home.options() }).await;
        let agent = corkboard.agent("A").unwrap();
        let memory = agent.working();
        memory.batch().set("a", &1).set("b", &1).await.unwrap();
        let full = refused(&corkboard, &agent, memory.batch().set("c", &1)).await;
        assert_eq!(full, limit(LimitName::EntriesPerAgent, 3, 2));
        memory.batch().set("c", &1).remove("a").await.unwrap();
        assert_eq!(memory.keys().await.unwrap(), [key("b"), key("c")]);
    })
    .await;
}

#[tokio::test]
async fn a_batch_with_a_name_has_no_second_effect() {
    on_every_store(async |home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let send = || memory.batch().append("log", "x").set("n", &1).idempotency_key("once");
        assert_eq!((send().await.unwrap(), send().await.unwrap()), (1, 1));
        assert_eq!(memory.get::<String>("log").await.unwrap().as_deref(), Some("x"));
        assert_eq!(agent.rev().await.unwrap(), 1);
        let other = memory.batch().append("log", "y").idempotency_key("once").await;
        assert!(matches!(other, Err(Error::Refused(Refusal::IdempotencyMismatch { .. }))), "{other:?}");
    })
    .await;
}

#[tokio::test]
async fn scopes_accept_batches() {
    on_every_store(async |home| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("a", "the parent's").await.unwrap();
        for scope in [memory.create_scope("short").await.unwrap(), memory.create_durable_scope("long").await.unwrap()] {
            scope.batch().set("a", "its own").rename("a", "b").await.unwrap();
            assert_eq!(scope.get::<String>("a").await.unwrap().as_deref(), Some("the parent's"));
            assert_eq!(scope.get::<String>("b").await.unwrap().as_deref(), Some("its own"));
            scope.dispose().await.unwrap();
            let late = scope.batch().remove("b").await;
            assert!(matches!(late, Err(Error::ScopeDisposed { .. })), "{late:?}");
        }
        assert_eq!(memory.keys().await.unwrap(), [key("a")]);
    })
    .await;
}

fn key(name: &str) -> Key {
    Key::new(name, &Limits::default()).unwrap()
}

fn key_of(event: &MemoryEvent) -> String {
    match event {
        MemoryEvent::Set { key, .. } => format!("+ {}", key.as_str()),
        MemoryEvent::Removed { key, .. } => format!("- {}", key.as_str()),
        other => panic!("{other:?}"),
    }
}
