//! Clearing, restoring, deleting.

use corkboard::{ClearOptions, MemoryEvent};

use super::chain;
use super::disposal::{assert_disposed, disposed_id};
use crate::common::{Home, agent_a, drain, names, on_every_store, refused, texts};

#[tokio::test]
async fn clearing_a_scope_leaves_the_scopes_above_and_below_as_they_are() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        for kinds in ["eee", "ddd", "dde"] {
            memory.set("k", "root").await.unwrap();
            let scopes = chain(&memory, kinds).await;
            for scope in &scopes {
                scope.set("k", scope.name().as_str()).await.unwrap();
                scope.add_note("n").await.unwrap();
            }
            assert_eq!(scopes[1].clear().await.unwrap(), 1);
            assert!(scopes[1].notes().await.unwrap().is_empty());
            assert_eq!(scopes[1].get::<String>("k").await.unwrap().unwrap(), scopes[0].name().as_str(), "{kinds}");
            assert_eq!(scopes[2].get::<String>("k").await.unwrap().unwrap(), scopes[2].name().as_str(), "{kinds}");
            assert_eq!(texts(&scopes[0].notes().await.unwrap()), ["n"]);
            // Clearing the root clears only the root.
            assert_eq!(memory.clear().await.unwrap(), 1);
            assert_eq!(scopes[2].len().await.unwrap(), 1);
            scopes[0].dispose().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn clearing_an_agent_disposes_its_scopes_and_counts_all_their_entries() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let (ephemeral, durable) = (chain(&memory, "ee").await, chain(&memory, "dd").await);
        for scope in ephemeral.iter().chain(&durable) {
            scope.set("k", &1).await.unwrap();
            scope.add_note("n").await.unwrap();
        }
        memory.set("k", &1).await.unwrap();
        memory.add_note("n").await.unwrap();
        let other = corkboard.agent("B").unwrap().working();
        other.set("k", &1).await.unwrap();

        let rev = agent.rev().await.unwrap();
        let nothing = ClearOptions { working: false, long_term: false };
        assert_eq!(agent.clear(nothing).await.unwrap(), 0);
        assert_eq!((agent.rev().await.unwrap(), memory.active_scopes().await.unwrap().len()), (rev, 4));
        let mut events = corkboard.subscribe();
        assert_eq!(agent.clear(ClearOptions::default()).await.unwrap(), 5);
        let told = drain(&mut events);
        assert_eq!(told.iter().filter_map(disposed_id).count(), 4, "{told:?}");
        let cleared = |event: &&MemoryEvent| matches!(event, MemoryEvent::Cleared { entries_cleared: 1, .. });
        assert_eq!(told.iter().filter(cleared).count(), 1, "{told:?}");
        assert_eq!(agent.rev().await.unwrap(), rev + 1);
        assert!(memory.active_scopes().await.unwrap().is_empty());
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.total_notes, stats.storage_bytes_used), (0, 0, 0));
        assert_eq!(other.len().await.unwrap(), 1);
        assert_eq!(agent.clear(ClearOptions::default()).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn restoring_disposes_ephemeral_scopes_and_brings_durable_ones_back() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let kept = chain(&memory, "d").await.remove(0);
        kept.set("k", "then").await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        let late = memory.create_durable_scope("late").await.unwrap();
        let ephemeral = kept.create_child_scope("ephemeral").await.unwrap();
        kept.dispose().await.unwrap();
        let another = memory.create_scope("another").await.unwrap();

        agent.restore(snapshot).await.unwrap();
        assert_disposed(&corkboard, &agent, &late, "restore").await;
        assert_disposed(&corkboard, &agent, &ephemeral, "restore").await;
        assert_disposed(&corkboard, &agent, &another, "restore").await;
        // A handle names a scope, and the restored scope has the same name.
        assert!(!kept.is_disposed());
        assert_eq!(kept.get_local::<String>("k").await.unwrap().unwrap(), "then");
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["d0"]);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_agent_starts_empty() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        assert!(!corkboard.delete_agent("A").await.unwrap());
        let scopes = [chain(&memory, "e").await.remove(0), chain(&memory, "d").await.remove(0)];
        let stale = memory.set("k", &1).await.unwrap();
        memory.add_note("n").await.unwrap();
        scopes[1].set("k", &1).await.unwrap();
        corkboard.agent("B").unwrap().working().set("k", &2).await.unwrap();
        let listed = async || -> Vec<String> {
            corkboard.agents(None, 10).await.unwrap().iter().map(|listed| listed.id.to_string()).collect()
        };
        assert_eq!(listed().await, ["A", "B"]);
        let rev = agent.rev().await.unwrap();

        assert!(corkboard.delete_agent("A").await.unwrap());
        assert!(!corkboard.delete_agent("A").await.unwrap());
        assert_eq!(listed().await, ["B"]);
        assert!(memory.is_empty().await.unwrap());
        assert!(memory.notes().await.unwrap().is_empty());
        assert!(memory.active_scopes().await.unwrap().is_empty());
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.active_working_scopes, stats.storage_bytes_used), (0, 0));
        for scope in &scopes {
            assert_disposed(&corkboard, &agent, scope, "delete_agent").await;
        }
        // A version is never used twice, even after the agent was deleted.
        let written = memory.set("k", &3).await.unwrap();
        assert!(written.version > rev, "{} after {rev}", written.version);
        let refusal = refused(&corkboard, &agent, memory.set("k", &4).if_version(stale.version)).await;
        assert!(matches!(refusal, corkboard::Refusal::Conflict { current: Some(_), .. }), "{refusal:?}");
        assert_eq!(corkboard.agent("B").unwrap().working().get::<i32>("k").await.unwrap(), Some(2));
    })
    .await;
}
