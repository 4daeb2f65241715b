//! Entries that expire.

use std::time::Duration;

use corkboard::{ClearOptions, EntryMetadata, Error, Limits, MemoryEvent, Scope};
use jiff::SignedDuration;

use super::{CHAINS, DAY, chain};
use crate::common::{Home, agent_a, days, drain, on_every_store, start};

#[tokio::test]
async fn an_expired_entry_is_invisible_before_it_is_swept() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let at = start() + SignedDuration::from_hours(24);
        let until = EntryMetadata { expires_at: Some(at), ..EntryMetadata::default() };
        let scopes = [chain(&memory, "e").await.remove(0), chain(&memory, "d").await.remove(0)];
        memory.set("days", &1).metadata(days(1)).await.unwrap();
        memory.set("time", &1).metadata(until.clone()).await.unwrap();
        memory.set("stays", &1).await.unwrap();
        for scope in &scopes {
            scope.set("days", &2).metadata(days(1)).await.unwrap();
            scope.set("time", &2).metadata(until.clone()).await.unwrap();
            scope.set("stays", &2).await.unwrap();
        }
        let rev = agent.rev().await.unwrap();
        let look = async |key: &str| {
            let mut seen = vec![
                memory.get::<i32>(key).await.unwrap().is_some(),
                memory.get_entry(key).await.unwrap().is_some(),
                memory.contains(key).await.unwrap(),
                memory.keys().await.unwrap().iter().any(|found| found.as_str() == key),
                memory.entries().await.unwrap().iter().any(|(found, _)| found.as_str() == key),
                memory.len().await.unwrap() == 3,
                !memory.is_empty().await.unwrap() && agent.stats().await.unwrap().total_entries_working == 9,
                agent.snapshot().await.unwrap().entry_count() == 6,
            ];
            for scope in &scopes {
                let active = memory.active_scopes().await.unwrap();
                let info = active.iter().find(|info| info.id == scope.id()).unwrap();
                seen.extend([
                    scope.get::<i32>(key).await.unwrap().is_some(),
                    scope.get_entry(key).await.unwrap().is_some(),
                    scope.get_local::<i32>(key).await.unwrap().is_some(),
                    scope.contains(key).await.unwrap(),
                    scope.contains_local(key).await.unwrap(),
                    scope.entries().await.unwrap().iter().any(|(found, _)| found.as_str() == key),
                    scope.len().await.unwrap() == 3,
                    info.entries == 3,
                ]);
            }
            seen
        };
        home.clock.advance(DAY - Duration::from_millis(1));
        for key in ["days", "time"] {
            assert_eq!(look(key).await, [true; 24], "{key}, a millisecond before");
        }
        home.clock.advance(Duration::from_millis(1));
        for key in ["days", "time"] {
            assert_eq!(look(key).await, [false; 24], "{key}, on time");
        }
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.active_working_scopes), (3, 2));
        assert_eq!(memory.len().await.unwrap(), 1);
        assert_eq!(agent.snapshot().await.unwrap().entry_count(), 2);
        assert_eq!(scopes[0].len().await.unwrap(), 1);
        // Nothing was swept, because reading writes nothing.
        assert_eq!(agent.rev().await.unwrap(), rev);
    })
    .await;
}

#[tokio::test]
async fn writes_treat_an_expired_entry_as_gone() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let scopes = [chain(&memory, "e").await.remove(0), chain(&memory, "d").await.remove(0)];
        for scope in &scopes {
            let expire = async || {
                for key in ["a", "b", "c", "d", "e", "f"] {
                    scope.set(key, "old").metadata(days(1)).await.unwrap();
                }
                home.clock.advance(DAY);
            };
            expire().await;
            assert!(!scope.remove("a").await.unwrap());
            expire().await;
            assert!(!scope.set("b", "new").await.unwrap().is_update);
            scope.set("c", "new").if_version(0).await.unwrap();
            scope.append("d", "new").await.unwrap();
            let made = scope.get_or_set("e", async || Ok::<_, Error>("new".to_owned())).await.unwrap();
            assert_eq!(made, "new");
            let updated = scope.update("f", |old: Option<String>| old.map_or("new".into(), |_| "old".into())).await;
            assert_eq!(updated.unwrap(), "new");
            for key in ["b", "c", "d", "e", "f"] {
                let entry = scope.get_entry(key).await.unwrap().unwrap();
                assert_eq!((entry.value.as_json(), entry.expires_at), ("\"new\"", None), "{key}");
            }
            assert_eq!(scope.clear().await.unwrap(), 5);

            // Expired entries are not counted as cleared or disposed, and are not merged.
            expire().await;
            scope.set("stays", &1).await.unwrap();
            scope.set("goes", &1).metadata(days(1)).await.unwrap();
            home.clock.advance(DAY);
            assert_eq!(scope.merge_to_parent(true).await.unwrap(), 1);
            assert_eq!(memory.len().await.unwrap(), 1);
            expire().await;
            assert_eq!(scope.clear().await.unwrap(), 1);
            expire().await;
            assert_eq!(scope.dispose().await.unwrap(), 0);
        }
        memory.set("goes", &1).metadata(days(1)).await.unwrap();
        home.clock.advance(DAY);
        assert_eq!(agent.clear(ClearOptions::default()).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn an_expired_entry_reveals_the_parents_entry() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        for kinds in CHAINS {
            memory.set("k", "root").await.unwrap();
            let scopes = chain(&memory, kinds).await;
            let scope = scopes.last().unwrap();
            scope.set("k", "own").metadata(days(1)).await.unwrap();
            assert_eq!(scope.get::<String>("k").await.unwrap().unwrap(), "own");
            home.clock.advance(DAY);
            assert_eq!(scope.get::<String>("k").await.unwrap().unwrap(), "root", "{kinds}");
            scopes[0].dispose().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_tick_sweeps_expired_entries_and_reports_them() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let (ephemeral, durable) = (chain(&memory, "e").await.remove(0), chain(&memory, "d").await.remove(0));
        memory.set("k", &1).metadata(days(1)).await.unwrap();
        ephemeral.set("k", &1).metadata(days(1)).await.unwrap();
        durable.set("k", &1).metadata(days(1)).await.unwrap();
        durable.set("later", &1).metadata(days(2)).await.unwrap();
        let other = corkboard.agent("B").unwrap();
        other.working().set("k", &1).await.unwrap();
        let (rev, rev_of_other) = (agent.rev().await.unwrap(), other.rev().await.unwrap());
        let mut events = corkboard.subscribe();
        assert_eq!(corkboard.tick().await.unwrap(), 0);
        assert_eq!(drain(&mut events), []);

        home.clock.advance(DAY);
        assert_eq!(corkboard.tick().await.unwrap(), 1);
        let removed = |scope: Option<&Scope>| MemoryEvent::Removed {
            agent_id: agent.agent_id().clone(),
            key: corkboard::Key::new("k", &Limits::default()).unwrap(),
            at: start() + SignedDuration::from_hours(24),
            scope_name: scope.map(Scope::name),
            scope_id: scope.map(Scope::id),
            expired: true,
        };
        let told = drain(&mut events);
        let expected = [removed(None), removed(Some(&ephemeral)), removed(Some(&durable))];
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(expected.iter().all(|event| told.contains(event)), "{told:?}");
        // One revision for all entries, with Corkboard as its author.
        assert_eq!((agent.rev().await.unwrap(), other.rev().await.unwrap()), (rev + 1, rev_of_other));
        let mut watch = agent.watch(rev).await.unwrap();
        let corkboard::Watched::Revision { commit, .. } = watch.next().await.unwrap() else { panic!("no revision") };
        assert_eq!((commit.actor.principal.as_str(), commit.events.len()), ("corkboard", 2));
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.storage_bytes_used), (1, 6));

        assert_eq!(corkboard.tick().await.unwrap(), 0);
        assert_eq!(drain(&mut events), []);
        home.clock.advance(DAY);
        assert_eq!(corkboard.tick().await.unwrap(), 1);
        assert_eq!(drain(&mut events).len(), 1);
        assert_eq!(agent.stats().await.unwrap().storage_bytes_used, 0);
    })
    .await;
}

#[tokio::test]
async fn a_tick_sweeps_agents_that_were_never_loaded() {
    let home = Home::sqlite();
    let writer = home.open().await;
    for agent in ["A", "B", "C"] {
        writer.agent(agent).unwrap().working().set("k", &1).metadata(days(1)).await.unwrap();
    }
    let sweeper = home.open().await;
    home.clock.advance(DAY);
    assert_eq!(sweeper.tick().await.unwrap(), 3);
    assert_eq!(writer.tick().await.unwrap(), 0);
    for agent in ["A", "B", "C"] {
        let agent = writer.agent(agent).unwrap();
        assert_eq!((agent.rev().await.unwrap(), agent.stats().await.unwrap().storage_bytes_used), (2, 0));
    }
}

#[tokio::test]
async fn an_entry_that_expires_in_a_scope_is_reported_with_the_scopes_name() {
    on_every_store(async |home: Home| {
        let (corkboard, _, memory) = agent_a(&home).await;
        for kinds in ["e", "d"] {
            let scope = chain(&memory, kinds).await.remove(0);
            scope.set("k", &1).metadata(days(1)).await.unwrap();
            home.clock.advance(DAY);
            let mut events = corkboard.subscribe();
            scope.dispose().await.unwrap();
            let told = drain(&mut events);
            let [
                MemoryEvent::Removed { scope_name, scope_id, expired: true, .. },
                MemoryEvent::ScopeDisposed { entries_cleared: 0, .. },
            ] = &told[..]
            else {
                panic!("{told:?}")
            };
            assert_eq!((scope_name, scope_id), (&Some(scope.name()), &Some(scope.id())), "{kinds}");
        }
    })
    .await;
}
