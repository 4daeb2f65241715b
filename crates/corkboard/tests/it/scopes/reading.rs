//! What a scope shows: its own content, and that of its parents.

use corkboard::{Durability, Error, Result, Scope, ScopeId};

use super::{CHAINS, DAY, chain};
use crate::common::{Home, agent_a, names, on_every_store, start};

#[tokio::test]
async fn fallback_goes_through_every_level_to_the_root() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("of the root", "root").await.unwrap();
        for kinds in CHAINS {
            let scopes = chain(&memory, kinds).await;
            for (level, scope) in scopes.iter().enumerate() {
                scope.set(&format!("of level {level}"), &level).await.unwrap();
            }
            for (level, scope) in scopes.iter().enumerate() {
                for above in 0..scopes.len() {
                    let found = scope.get::<usize>(&format!("of level {above}")).await.unwrap();
                    assert_eq!(found, (above <= level).then_some(above), "{kinds}, {above} from {level}");
                }
                assert_eq!(scope.get::<String>("of the root").await.unwrap().as_deref(), Some("root"), "{kinds}");
                assert!(scope.contains("of the root").await.unwrap());
                assert_eq!(&*scope.get_entry("of the root").await.unwrap().unwrap().type_name, "str");
                assert_eq!(scope.get::<String>("of nobody").await.unwrap(), None);
                assert!(!scope.contains("of nobody").await.unwrap());
                assert!(scope.get_entry("of nobody").await.unwrap().is_none());
            }
            scopes[0].dispose().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_scope_hides_its_parents_value_and_shows_it_again_when_its_own_is_removed() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        for kinds in CHAINS {
            memory.set("k", "root").await.unwrap();
            let scopes = chain(&memory, kinds).await;
            for scope in &scopes {
                scope.set("k", scope.name().as_str()).await.unwrap();
            }
            let innermost = scopes.last().unwrap();
            for scope in scopes.iter().rev() {
                let shown = innermost.get::<String>("k").await.unwrap().unwrap();
                assert_eq!(shown, scope.name().as_str(), "{kinds}");
                assert!(scope.remove("k").await.unwrap());
                // Only the scope's own value can be removed, and only once.
                assert!(!scope.remove("k").await.unwrap());
                assert!(scope.contains("k").await.unwrap());
            }
            assert_eq!(innermost.get::<String>("k").await.unwrap().unwrap(), "root");
            assert!(memory.remove("k").await.unwrap());
            assert_eq!(innermost.get::<String>("k").await.unwrap(), None);
            scopes[0].dispose().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn local_reads_never_fall_back() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("inherited", &1).await.unwrap();
        memory.add_note("of the root").await.unwrap();
        for kinds in CHAINS {
            let scopes = chain(&memory, kinds).await;
            let scope = scopes.last().unwrap();
            assert_eq!(scope.get_local::<i32>("inherited").await.unwrap(), None, "{kinds}");
            assert!(!scope.contains_local("inherited").await.unwrap());
            assert_eq!(scope.len().await.unwrap(), 0);
            assert!(scope.entries().await.unwrap().is_empty());
            assert!(scope.notes().await.unwrap().is_empty());
            scope.set("own", &2).await.unwrap();
            assert_eq!(scope.get_local::<i32>("own").await.unwrap(), Some(2));
            assert!(scope.contains_local("own").await.unwrap());
            let entries = scope.entries().await.unwrap();
            assert_eq!((entries.len(), entries[0].0.as_str(), entries[0].1.value.as_json()), (1, "own", "2"));
            scopes[0].dispose().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn writes_stay_in_the_scope() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        for kinds in CHAINS {
            memory.set("count", &10).await.unwrap();
            memory.set("text", "root").await.unwrap();
            let scopes = chain(&memory, kinds).await;
            let scope = scopes.last().unwrap();
            // These calls change the scope's own value, which does not exist yet.
            assert_eq!(scope.update("count", |own: Option<i32>| own.unwrap_or(0) + 1).await.unwrap(), 1, "{kinds}");
            scope.append("text", "own").await.unwrap();
            scope.append("text", "line").on_new_line().await.unwrap();
            assert_eq!(scope.get::<String>("text").await.unwrap().unwrap(), "own\nline");
            // This call looks in the parents first, and stores a value only if none exists.
            let never = async || -> Result<i32> { panic!("the factory should not run: there is a value") };
            assert_eq!(scope.get_or_set("count", never).await.unwrap(), 1);
            assert_eq!(scope.get_or_set("made", async || Ok::<_, Error>(7)).await.unwrap(), 7);
            assert_eq!(scope.get_local::<i32>("made").await.unwrap(), Some(7));
            memory.set("made above", &8).await.unwrap();
            assert_eq!(scope.get_or_set("made above", never).await.unwrap(), 8);
            assert!(!scope.contains_local("made above").await.unwrap());

            assert_eq!(memory.get::<i32>("count").await.unwrap(), Some(10));
            assert_eq!(memory.get::<String>("text").await.unwrap().unwrap(), "root");
            assert_eq!(memory.len().await.unwrap(), 3);
            scopes[0].dispose().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn active_scopes_describe_each_scope() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        let scopes = chain(&memory, "dde").await;
        // Two scopes can share a name; their IDs differ.
        let twin = memory.create_scope("e2").await.unwrap();
        home.clock.advance(DAY);
        scopes[1].set("a", &1).await.unwrap();
        scopes[2].set("a", &1).await.unwrap();
        scopes[2].set("b", &1).await.unwrap();
        scopes[2].add_note("n").await.unwrap();

        let active = memory.active_scopes().await.unwrap();
        assert_eq!(names(&active), ["d0", "d1", "e2", "e2"]);
        let info = |scope: &Scope| active.iter().find(|info| info.id == scope.id()).unwrap();
        let parents = scopes.iter().map(|scope| info(scope).parent).collect::<Vec<_>>();
        assert_eq!(parents, [ScopeId::ROOT, scopes[0].id(), scopes[1].id()]);
        assert_eq!(info(&twin).parent, ScopeId::ROOT);
        let counts = scopes.iter().map(|scope| (info(scope).entries, info(scope).notes)).collect::<Vec<_>>();
        assert_eq!(counts, [(0, 0), (1, 0), (2, 1)]);
        for scope in &scopes {
            assert_eq!((info(scope).durability, &info(scope).name), (scope.durability(), &scope.name()));
            assert_eq!(info(scope).created_at, start());
        }
        let durabilities = scopes.iter().map(Scope::durability).collect::<Vec<_>>();
        assert_eq!(durabilities, [Durability::Durable, Durability::Durable, Durability::Ephemeral]);
    })
    .await;
}
