//! Disposing a scope, by a call or by dropping its last handle.

use std::collections::BTreeSet;

use corkboard::{AgentMemory, ClearOptions, Corkboard, Error, MemoryEvent, NoteId, Result, Scope, ScopeId};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::chain;
use crate::common::{Home, agent_a, drain, fails_without_a_trace, names, on_every_store, start};

/// Every method of `Scope` that fails once the scope is disposed.
fn calls(scope: &Scope) -> Vec<(&'static str, BoxFuture<'_, Result<()>>)> {
    macro_rules! calls {
        ($($name:ident: $call:expr,)*) => {
            vec![$((stringify!($name), async move { $call.await.map(|_| ()) }.boxed())),*]
        };
    }
    calls![
        view: scope.view(),
        len: scope.len(),
        is_empty: scope.is_empty(),
        keys: scope.keys(),
        set: scope.set("k", &1),
        get: scope.get::<i32>("k"),
        get_entry: scope.get_entry("k"),
        find: scope.find("k"),
        get_local: scope.get_local::<i32>("k"),
        get_or_set: scope.get_or_set("k", async || Ok::<_, Error>(1)),
        update: scope.update("k", |_: Option<i32>| 1),
        append: scope.append("k", "text"),
        contains: scope.contains("k"),
        contains_local: scope.contains_local("k"),
        remove: scope.remove("k"),
        batch: scope.batch().set("k", &1),
        entries: scope.entries(),
        clear: scope.clear(),
        add_note: scope.add_note("note"),
        notes: scope.notes(),
        remove_note: scope.remove_note(NoteId(1)),
        create_child_scope: scope.create_child_scope("child"),
        create_durable_child_scope: scope.create_durable_child_scope("child"),
        merge_to_parent: scope.merge_to_parent(true),
    ]
}

#[tokio::test]
async fn the_list_of_a_scopes_methods_is_complete() {
    let (_board, _, memory) = agent_a(&Home::memory()).await;
    let scope = memory.create_scope("task").await.unwrap();
    let mut listed: BTreeSet<&str> = calls(&scope).into_iter().map(|(name, _)| name).collect();
    // Methods that a disposed scope still answers.
    listed.extend(["name", "id", "scope_id", "scope_name", "durability", "is_disposed", "dispose"]);
    let sources = [include_str!("../../../src/memory/scope.rs"), include_str!("../../../src/memory/handle.rs")];
    let public = sources.iter().flat_map(|source| source.lines()).filter_map(|line| {
        let line = line.strip_prefix("    pub ")?;
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
        name.split(['(', '<']).next()
    });
    assert_eq!(public.collect::<BTreeSet<_>>(), listed);
}

pub(crate) async fn assert_disposed(corkboard: &Corkboard, agent: &AgentMemory, scope: &Scope, how: &str) {
    for (name, call) in calls(scope) {
        match fails_without_a_trace(corkboard, agent, call).await {
            Error::ScopeDisposed { id, name: scope_name } => {
                assert_eq!((id, scope_name.as_str()), (scope.id(), scope.name().as_str()));
            }
            other => panic!("{name} after {how} answers {other:?}"),
        }
    }
    let mut events = corkboard.subscribe();
    assert!(scope.is_disposed(), "{how}");
    assert_eq!(scope.dispose().await.unwrap(), 0, "{how}");
    assert_eq!(drain(&mut events), [], "{how}");
}

#[tokio::test]
async fn a_disposed_scope_answers_every_call_with_an_error_and_a_second_disposal_with_0() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("k", "of the root").await.unwrap();
        let before = agent.snapshot().await.unwrap();
        for kinds in ["e", "d"] {
            let filled = async || {
                let scope = chain(&memory, kinds).await.remove(0);
                scope.set("k", "text").await.unwrap();
                scope.set("l", &1).await.unwrap();
                scope.add_note("n").await.unwrap();
                assert!(!scope.is_disposed());
                scope
            };
            let scope = filled().await;
            // A write prepared before the disposal fails, too.
            let prepared = scope.set("k", &2);
            assert_eq!(scope.dispose().await.unwrap(), 2);
            assert!(matches!(prepared.await, Err(Error::ScopeDisposed { .. })));
            assert_disposed(&corkboard, &agent, &scope, "dispose").await;

            let scope = filled().await;
            agent.clear(ClearOptions::default()).await.unwrap();
            assert_disposed(&corkboard, &agent, &scope, "clear").await;

            let scope = filled().await;
            agent.restore(before.clone()).await.unwrap();
            assert_disposed(&corkboard, &agent, &scope, "restore").await;

            let scope = filled().await;
            assert!(corkboard.delete_agent("A").await.unwrap());
            assert_disposed(&corkboard, &agent, &scope, "delete_agent").await;
        }
    })
    .await;
}

#[tokio::test]
async fn disposing_a_scope_disposes_its_descendants() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        for kinds in ["ee", "de", "dd", "eee", "dde", "ddee", "dddd"] {
            let scopes = chain(&memory, kinds).await;
            let niece = scopes[0].create_child_scope("niece").await.unwrap();
            let (sister, brother) = (memory.create_scope("sister").await.unwrap(), chain(&memory, "d").await.remove(0));
            for scope in scopes.iter().chain([&niece, &sister, &brother]) {
                scope.set("k", &1).await.unwrap();
            }
            let mut events = corkboard.subscribe();
            // The count includes the scope's own entries, not those of its descendants.
            assert_eq!(scopes[0].dispose().await.unwrap(), 1, "{kinds}");
            let mut told: Vec<_> = drain(&mut events)
                .into_iter()
                .map(|event| match event {
                    MemoryEvent::ScopeDisposed { scope_id, entries_cleared: 1, .. } => scope_id,
                    other => panic!("{other:?}"),
                })
                .collect();
            let mut expected: Vec<_> = scopes.iter().chain([&niece]).map(Scope::id).collect();
            told.sort();
            expected.sort();
            assert_eq!(told, expected, "{kinds}");
            for scope in scopes.iter().chain([&niece]) {
                assert_disposed(&corkboard, &agent, scope, kinds).await;
            }
            assert_eq!(names(&memory.active_scopes().await.unwrap()), ["d0", "sister"], "{kinds}");
            assert_eq!(agent.stats().await.unwrap().total_entries_working, 2, "{kinds}");
            assert!(!sister.is_disposed() && !brother.is_disposed());
            brother.dispose().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn children_are_disposed_before_their_parents() {
    on_every_store(async |home: Home| {
        let (corkboard, _, memory) = agent_a(&home).await;
        for kinds in ["eee", "ddd"] {
            let scopes = chain(&memory, kinds).await;
            let mut events = corkboard.subscribe();
            scopes[0].dispose().await.unwrap();
            let order: Vec<_> = drain(&mut events).iter().filter_map(disposed_id).collect();
            assert_eq!(order, [scopes[2].id(), scopes[1].id(), scopes[0].id()]);
        }
    })
    .await;
}

pub(crate) fn disposed_id(event: &MemoryEvent) -> Option<ScopeId> {
    match event {
        MemoryEvent::ScopeDisposed { scope_id, .. } => Some(*scope_id),
        _ => None,
    }
}

#[tokio::test]
async fn dropping_the_last_handle_disposes_an_ephemeral_scope() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let scope = memory.create_scope("task").await.unwrap();
        scope.set("a", &1).await.unwrap();
        scope.set("b", &1).await.unwrap();
        let (id, clone) = (scope.id(), scope.clone());
        let mut events = corkboard.subscribe();
        drop(scope);
        assert_eq!(drain(&mut events), []);
        assert_eq!(clone.get::<i32>("a").await.unwrap(), Some(1));
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["task"]);

        drop(clone);
        let told = drain(&mut events);
        let [MemoryEvent::ScopeDisposed { scope_id, entries_cleared: 2, at, .. }] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!((*scope_id, *at), (id, start()));
        assert!(memory.active_scopes().await.unwrap().is_empty());
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.active_working_scopes, stats.storage_bytes_used), (0, 0));
        // The store never received anything.
        assert_eq!(agent.rev().await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_live_child_keeps_its_parent() {
    on_every_store(async |home: Home| {
        let (corkboard, _, memory) = agent_a(&home).await;
        let mut scopes = chain(&memory, "eee").await;
        scopes[0].set("outer", &0).await.unwrap();
        scopes[1].set("middle", &1).await.unwrap();
        let ids: Vec<_> = scopes.iter().map(Scope::id).collect();
        let innermost = scopes.pop().unwrap();
        let mut events = corkboard.subscribe();
        drop(scopes);
        assert_eq!(drain(&mut events), []);
        assert_eq!(memory.active_scopes().await.unwrap().len(), 3);
        assert_eq!(innermost.get::<i32>("outer").await.unwrap(), Some(0));
        assert_eq!(innermost.get::<i32>("middle").await.unwrap(), Some(1));
        innermost.set("promoted", &2).await.unwrap();
        innermost.merge_to_parent(true).await.unwrap();

        drop(innermost);
        let order: Vec<_> = drain(&mut events).iter().filter_map(disposed_id).collect();
        assert_eq!(order, [ids[2], ids[1], ids[0]]);
        assert!(memory.active_scopes().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_scope_keeps_its_agent_alive_without_other_handles() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let scope = corkboard.agent("A").unwrap().working().create_scope("task").await.unwrap();
        scope.set("k", &1).await.unwrap();
        let memory = corkboard.agent("A").unwrap().working();
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["task"]);
        memory.set("late", &2).await.unwrap();
        assert_eq!(scope.get::<i32>("late").await.unwrap(), Some(2));
    })
    .await;
}
