//! The library through a server: as on a store, a program gets an event for each of its writes, once, and none for
//! others' writes.

use corkboard::{Corkboard, MemoryEvent, Options};

use crate::killable_server::{KillableServer, block_on};
use crate::support::Sandbox;

/// The events of some writes, including a batch of two changes.
async fn heard(corkboard: &Corkboard) -> Vec<(&'static str, String, Option<String>)> {
    let mut events = corkboard.subscribe();
    let memory = corkboard.agent("ada").unwrap().working();
    memory.set("color", &"green").await.unwrap();
    memory.set("color", &"red").await.unwrap();
    for _ in 0..2 {
        memory.set("once", &1).idempotency_key("k").await.unwrap();
    }
    memory.remove("color").await.unwrap();
    memory.remove("color").await.unwrap();
    let scope = memory.create_durable_scope("task").await.unwrap();
    scope.set("branch", &"main").await.unwrap();
    let mut heard = Vec::new();
    while let Ok(event) = events.try_recv() {
        heard.push(match event {
            MemoryEvent::Set { key, scope_name, is_update, .. } => {
                (if is_update { "updated" } else { "set" }, key.to_string(), scope_name.map(|name| name.to_string()))
            }
            MemoryEvent::Removed { key, .. } => ("removed", key.to_string(), None),
            MemoryEvent::ScopeCreated { scope_name, .. } => ("scope", scope_name.to_string(), None),
            other => panic!("{other:?}"),
        });
    }
    heard
}

#[test]
fn a_writer_through_a_server_gets_its_events() {
    let sandbox = Sandbox::local();
    let served = KillableServer::start(&sandbox.store(), "127.0.0.1:0");
    block_on(async {
        let corkboard = served.connect(&served.secret).await;
        let other = served.connect(&served.secret).await;
        let mut others = other.subscribe();
        let there = heard(&corkboard).await;
        assert!(others.try_recv().is_err(), "other programs' changes should arrive only through a watch");
        let here = heard(&Corkboard::open_with("memory:", Options::default()).await.unwrap()).await;
        assert_eq!(there, here);
        assert_eq!(here.len(), 6, "{here:?}");
        corkboard.close().await.unwrap();
        other.close().await.unwrap();
    });
}
