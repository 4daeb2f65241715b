//! Which scopes outlive their handles, and which processes share them.

use corkboard::{Durability, Error, LimitName, Limits, Options, Scope, ScopeId};

use super::chain;
use super::disposal::{assert_disposed, disposed_id};
use crate::common::{Home, agent_a, drain, fails_without_a_trace, limit, names, on_every_store, refused, texts};

#[tokio::test]
async fn durable_scopes_survive_their_handles_and_ephemeral_ones_cannot_be_opened() {
    on_every_store(async |home: Home| {
        let (corkboard, _, memory) = agent_a(&home).await;
        let scopes = chain(&memory, "dde").await;
        scopes[1].set("k", &1).await.unwrap();
        let ids: Vec<_> = scopes.iter().map(Scope::id).collect();
        let mut events = corkboard.subscribe();
        assert!(memory.scope(ids[2]).await.unwrap().is_none());
        drop(scopes);
        assert_eq!(drain(&mut events).iter().filter_map(disposed_id).collect::<Vec<_>>(), [ids[2]]);
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["d0", "d1"]);

        let opened = memory.scope(ids[1]).await.unwrap().unwrap();
        assert_eq!((opened.id(), opened.name().as_str(), opened.durability()), (ids[1], "d1", Durability::Durable));
        assert_eq!(opened.get::<i32>("k").await.unwrap(), Some(1));
        assert!(memory.scope(ScopeId::ROOT).await.unwrap().is_none());
        opened.dispose().await.unwrap();
        assert!(memory.scope(ids[1]).await.unwrap().is_none());
        assert!(memory.scope(ids[0]).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn durable_scopes_survive_reopening() {
    let home = Home::sqlite();
    let (corkboard, _, memory) = agent_a(&home).await;
    memory.set("of the root", &0).await.unwrap();
    let scopes = chain(&memory, "dd").await;
    scopes[0].set("outer", &1).await.unwrap();
    scopes[1].set("inner", &2).await.unwrap();
    scopes[1].add_note("merged before").await.unwrap();
    scopes[1].merge_to_parent(true).await.unwrap();
    let id = scopes[1].id();
    corkboard.close().await.unwrap();

    let (_board, _, memory) = agent_a(&home).await;
    assert_eq!(names(&memory.active_scopes().await.unwrap()), ["d0", "d1"]);
    let inner = memory.scope(id).await.unwrap().unwrap();
    for (key, value) in [("of the root", 0), ("outer", 1), ("inner", 2)] {
        assert_eq!(inner.get::<i32>(key).await.unwrap(), Some(value), "{key}");
    }
    inner.add_note("merged after").await.unwrap();
    inner.merge_to_parent(true).await.unwrap();
    let outer = memory.scope(scopes[0].id()).await.unwrap().unwrap();
    assert_eq!(texts(&outer.notes().await.unwrap()), ["merged before", "merged after"]);
}

#[tokio::test]
async fn two_corkboards_share_durable_scopes_and_keep_ephemeral_ones_to_themselves() {
    let home = Home::sqlite();
    let (here, there) = (agent_a(&home).await, agent_a(&home).await);
    let durable = here.2.create_durable_scope("durable").await.unwrap();
    let _ephemeral = here.2.create_scope("ephemeral").await.unwrap();
    let same = there.2.scope(durable.id()).await.unwrap().unwrap();
    assert_eq!(names(&there.2.active_scopes().await.unwrap()), ["durable"]);
    durable.set("k", &1).await.unwrap();
    assert_eq!(same.get::<i32>("k").await.unwrap(), Some(1));
    same.set("k", &2).await.unwrap();
    assert_eq!(durable.get_local::<i32>("k").await.unwrap(), Some(2));

    let below = durable.create_child_scope("below").await.unwrap();
    assert_eq!(same.dispose().await.unwrap(), 1);
    assert!(matches!(below.get::<i32>("k").await, Err(Error::ScopeDisposed { .. })));
    assert!(matches!(durable.get::<i32>("k").await, Err(Error::ScopeDisposed { .. })));
    // The durable scope is gone already. Its ephemeral descendants in this process are disposed now.
    assert_eq!(durable.dispose().await.unwrap(), 0);
    assert_disposed(&here.0, &here.1, &durable, "disposal by another").await;
    assert_disposed(&here.0, &here.1, &below, "disposal of its parent by another").await;
}

#[tokio::test]
async fn a_durable_scope_below_an_ephemeral_one_is_refused() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        for kinds in ["e", "de"] {
            let scopes = chain(&memory, kinds).await;
            let parent = scopes.last().unwrap();
            let error = fails_without_a_trace(&corkboard, &agent, parent.create_durable_child_scope("d")).await;
            let Error::DurableUnderEphemeral { parent: name } = error else { panic!("{error:?}") };
            assert_eq!(name, parent.name().as_str());
        }
    })
    .await;
}

#[tokio::test]
async fn ephemeral_and_durable_scopes_share_the_limits() {
    on_every_store(async |home: Home| {
        let limits = Limits { entries_per_agent: 4, scopes_per_agent: 3, ..Limits::default() };
        let corkboard = home.open_with(Options { limits, ..home.options() }).await;
        let agent = corkboard.agent("A").unwrap();
        let memory = agent.working();
        let durable = memory.create_durable_scope("d").await.unwrap();
        let ephemeral = memory.create_scope("e").await.unwrap();
        let nested = ephemeral.create_child_scope("n").await.unwrap();
        let scopes = limit(LimitName::ScopesPerAgent, 4, 3);
        assert_eq!(refused(&corkboard, &agent, memory.create_scope("x")).await, scopes);
        assert_eq!(refused(&corkboard, &agent, durable.create_durable_child_scope("x")).await, scopes);

        memory.set("a", &1).await.unwrap();
        durable.set("a", &1).await.unwrap();
        ephemeral.set("a", &1).await.unwrap();
        nested.set("a", &1).await.unwrap();
        let entries = limit(LimitName::EntriesPerAgent, 5, 4);
        assert_eq!(refused(&corkboard, &agent, memory.set("b", &1)).await, entries);
        assert_eq!(refused(&corkboard, &agent, durable.set("b", &1)).await, entries);
        assert_eq!(refused(&corkboard, &agent, ephemeral.set("b", &1)).await, entries);
        assert_eq!(refused(&corkboard, &agent, nested.set("b", &1)).await, entries);
        // Entries that a merge copies count in both scopes.
        ephemeral.remove("a").await.unwrap();
        ephemeral.set("c", &1).await.unwrap();
        assert_eq!(refused(&corkboard, &agent, ephemeral.merge_to_parent(true)).await, entries);
        nested.dispose().await.unwrap();
        assert_eq!(ephemeral.merge_to_parent(true).await.unwrap(), 1);
        assert_eq!(agent.stats().await.unwrap().total_entries_working, 4);
    })
    .await;
}
