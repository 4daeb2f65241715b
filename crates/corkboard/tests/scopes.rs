//! Scopes (004 §4.3, DESIGN §3): fallback, merging, disposal, durability, expiry.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what does not hold in a test ends the test"
)]

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use corkboard::{
    AgentMemory, ClearOptions, Corkboard, Durability, EntryMetadata, Error, LimitName, Limits, MemoryEvent, MemoryKind,
    NoteId, Options, Result, Scope, ScopeId, WorkingMemory,
};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use jiff::SignedDuration;

use common::{Home, agent_a, days, drain, fails_without_a_trace, limit, names, on_every_store, refused, start, texts};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Nested scopes below the root, outermost first: `d` is durable, `e` ephemeral.
async fn chain(memory: &WorkingMemory, kinds: &str) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = Vec::new();
    for (level, kind) in kinds.chars().enumerate() {
        let name = format!("{kind}{level}");
        let scope = match (scopes.last(), kind) {
            (None, 'e') => memory.create_scope(&name).await,
            (None, 'd') => memory.create_durable_scope(&name).await,
            (Some(parent), 'e') => parent.create_child_scope(&name).await,
            (Some(parent), 'd') => parent.create_durable_child_scope(&name).await,
            _ => panic!("no kind {kind}"),
        };
        scopes.push(scope.unwrap());
    }
    scopes
}

const CHAINS: [&str; 8] = ["e", "d", "ee", "de", "dd", "dde", "eeee", "ddee"];

// Reading.

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
                // Only the own value can be removed, and only once.
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
            assert_eq!(scope.local_len().await.unwrap(), 0);
            assert!(scope.local_entries().await.unwrap().is_empty());
            assert!(scope.notes().await.unwrap().is_empty());
            scope.set("own", &2).await.unwrap();
            assert_eq!(scope.get_local::<i32>("own").await.unwrap(), Some(2));
            assert!(scope.contains_local("own").await.unwrap());
            let entries = scope.local_entries().await.unwrap();
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
            // These change the own value, which is not there yet.
            assert_eq!(scope.update("count", |own: Option<i32>| own.unwrap_or(0) + 1).await.unwrap(), 1, "{kinds}");
            scope.append("text", "own").await.unwrap();
            scope.append("text", "line").on_new_line().await.unwrap();
            assert_eq!(scope.get::<String>("text").await.unwrap().unwrap(), "own\nline");
            // This one looks up first, and stores only what is nowhere.
            let never = async || -> Result<i32> { panic!("there is a value") };
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
async fn active_scopes_tell_what_each_scope_is() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        let scopes = chain(&memory, "dde").await;
        // Two scopes may share a name; their ids differ.
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

// Merging.

#[tokio::test]
async fn merging_copies_entries_to_the_parent_and_appends_each_note_once() {
    on_every_store(async |home: Home| {
        // The last scope merges into the one before it.
        for kinds in ["e", "d", "ee", "de", "dd", "dde", "eee"] {
            for overwrite in [true, false] {
                merges(&home, kinds, overwrite).await;
            }
        }
    })
    .await;
}

/// The parent of the last scope in a chain, which may be the root.
enum Parent<'a> {
    Root(&'a WorkingMemory),
    Scope(&'a Scope),
}

impl Parent<'_> {
    async fn set(&self, key: &str, value: &str) {
        match self {
            Self::Root(memory) => memory.set(key, value).await.unwrap(),
            Self::Scope(scope) => scope.set(key, value).await.unwrap(),
        };
    }

    async fn add_note(&self, text: &str) {
        match self {
            Self::Root(memory) => memory.add_note(text).await.unwrap(),
            Self::Scope(scope) => scope.add_note(text).await.unwrap(),
        };
    }

    async fn content(&self) -> Vec<(String, String)> {
        let entries = match self {
            Self::Root(memory) => memory.entries().await.unwrap(),
            Self::Scope(scope) => scope.local_entries().await.unwrap(),
        };
        entries.iter().map(|(key, entry)| (key.to_string(), entry.value.parse().unwrap())).collect()
    }

    async fn notes(&self) -> Vec<String> {
        let notes = match self {
            Self::Root(memory) => memory.notes().await.unwrap(),
            Self::Scope(scope) => scope.notes().await.unwrap(),
        };
        texts(&notes).into_iter().map(str::to_owned).collect()
    }
}

async fn merges(home: &Home, kinds: &str, overwrite: bool) {
    let case = format!("{kinds}, overwrite: {overwrite}");
    let board = home.open().await;
    let agent = board.agent(&case).unwrap();
    let memory = agent.working();
    let scopes = chain(&memory, kinds).await;
    let child = scopes.last().unwrap();
    let parent = match scopes.len() {
        1 => Parent::Root(&memory),
        more => Parent::Scope(&scopes[more - 2]),
    };
    parent.set("both", "parent").await;
    parent.set("old", "parent").await;
    parent.add_note("parent's").await;
    child.set("both", "child").await.unwrap();
    child.set("new", "child").await.unwrap();
    child.add_note("first").await.unwrap();
    child.add_note("second").await.unwrap();

    let both = if overwrite { "child" } else { "parent" };
    let expected = [("both", both), ("new", "child"), ("old", "parent")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let merged = child.merge_to_parent(overwrite).await.unwrap();
    assert_eq!(merged, if overwrite { 2 } else { 1 }, "{case}");
    assert_eq!(parent.content().await, expected, "{case}");
    assert_eq!(parent.notes().await, ["parent's", "first", "second"], "{case}");
    // The scope keeps what it has.
    assert_eq!(child.local_len().await.unwrap(), 2, "{case}");
    assert_eq!(child.get_local::<String>("both").await.unwrap().unwrap(), "child", "{case}");
    assert_eq!(texts(&child.notes().await.unwrap()), ["first", "second"], "{case}");

    // Again: the same entries, no note a second time. Without `overwrite` there is nothing left to do.
    let rev = agent.rev().await.unwrap();
    assert_eq!(child.merge_to_parent(overwrite).await.unwrap(), if overwrite { 2 } else { 0 }, "{case}");
    assert_eq!(parent.content().await, expected, "{case}");
    assert_eq!(parent.notes().await, ["parent's", "first", "second"], "{case}");
    if !overwrite {
        assert_eq!(agent.rev().await.unwrap(), rev, "{case}");
    }

    // What is new since then goes over the next time, and what the parent dropped does not come back.
    child.add_note("third").await.unwrap();
    child.remove("new").await.unwrap();
    child.set("newer", "child").await.unwrap();
    child.merge_to_parent(overwrite).await.unwrap();
    assert_eq!(parent.notes().await, ["parent's", "first", "second", "third"], "{case}");
    assert_eq!(parent.content().await.len(), 4, "{case}");

    // It went to the parent and no further.
    if let Parent::Scope(_) = parent {
        assert!(memory.is_empty().await.unwrap(), "{case}");
        assert!(memory.notes().await.unwrap().is_empty(), "{case}");
    }
    assert_eq!(child.dispose().await.unwrap(), 2, "{case}");
    assert_eq!(parent.content().await.len(), 4, "{case}");
}

#[tokio::test]
async fn merging_keeps_what_is_known_about_an_entry() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        for kinds in ["e", "d"] {
            let scopes = chain(&memory, kinds).await;
            let metadata = EntryMetadata {
                importance: Some(0.75),
                tags: Some(vec!["tag".into()]),
                kind: Some(MemoryKind::Insight),
                session: Some("monday".into()),
                custom: Some(serde_json::Map::from_iter([("line".into(), 7.into())])),
                ..days(3)
            };
            scopes[0].set("k", &true).metadata(metadata).await.unwrap();
            scopes[0].add_note("n").await.unwrap();
            let (own, note) = (scopes[0].get_entry("k").await.unwrap().unwrap(), scopes[0].notes().await.unwrap());
            home.clock.advance(DAY);
            scopes[0].merge_to_parent(true).await.unwrap();
            let merged = memory.get_entry("k").await.unwrap().unwrap();
            let mut data = merged.data.clone();
            data.id = own.id;
            assert_eq!(data, own.data, "{kinds}");
            assert_eq!(merged.version, agent.rev().await.unwrap(), "{kinds}");
            let merged_note = memory.notes().await.unwrap().pop().unwrap();
            assert_eq!((&merged_note.text, merged_note.timestamp), (&note[0].text, note[0].timestamp), "{kinds}");
            memory.remove("k").await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn merging_is_told_as_writes_to_the_parent() {
    on_every_store(async |home: Home| {
        let (board, _, memory) = agent_a(&home).await;
        memory.set("a", &1).await.unwrap();
        for kinds in ["e", "d", "de"] {
            let scopes = chain(&memory, kinds).await;
            let child = scopes.last().unwrap();
            child.set("a", &2).await.unwrap();
            child.add_note("n").await.unwrap();
            let mut events = board.subscribe();
            child.merge_to_parent(true).await.unwrap();
            let told = drain(&mut events);
            let [MemoryEvent::Set { key, scope_id, is_update, .. }] = &told[..] else { panic!("{told:?}") };
            let to_root = kinds.len() == 1;
            assert_eq!((key.as_str(), *is_update), ("a", to_root), "{kinds}");
            assert_eq!(*scope_id, (!to_root).then(|| scopes[0].id()), "{kinds}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn merges_that_run_at_the_same_time_append_each_note_once() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        for kinds in ["e", "d"] {
            let scope = chain(&memory, kinds).await.remove(0);
            for note in 0..5 {
                scope.add_note(&format!("{kinds} {note}")).await.unwrap();
            }
            let merges = (0..10).map(|_| {
                let scope = scope.clone();
                tokio::spawn(async move { scope.merge_to_parent(true).await })
            });
            for merged in join_all(merges).await {
                merged.unwrap().unwrap();
            }
            let notes = memory.notes().await.unwrap();
            assert_eq!(texts(&notes), [0, 1, 2, 3, 4].map(|note| format!("{kinds} {note}")));
            memory.clear().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_merge_that_nobody_waits_for_still_appends_each_note_once() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        let scope = memory.create_scope("task").await.unwrap();
        scope.add_note("once").await.unwrap();
        // Begun, and dropped.
        assert!(scope.merge_to_parent(true).into_future().now_or_never().is_none());
        scope.merge_to_parent(true).await.unwrap();
        scope.merge_to_parent(true).await.unwrap();
        assert_eq!(texts(&memory.notes().await.unwrap()), ["once"]);
    })
    .await;
}

// Disposal.

/// Every method of `Scope` that may no longer be called once it is disposed.
fn calls(scope: &Scope) -> Vec<(&'static str, BoxFuture<'_, Result<()>>)> {
    macro_rules! calls {
        ($($name:ident: $call:expr,)*) => {
            vec![$((stringify!($name), async move { $call.await.map(|_| ()) }.boxed())),*]
        };
    }
    calls![
        local_len: scope.local_len(),
        set: scope.set("k", &1),
        get: scope.get::<i32>("k"),
        get_entry: scope.get_entry("k"),
        get_local: scope.get_local::<i32>("k"),
        get_or_set: scope.get_or_set("k", async || Ok::<_, Error>(1)),
        update: scope.update("k", |_: Option<i32>| 1),
        append: scope.append("k", "text"),
        contains: scope.contains("k"),
        contains_local: scope.contains_local("k"),
        remove: scope.remove("k"),
        batch: scope.batch().set("k", &1),
        local_entries: scope.local_entries(),
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
    // What a disposed scope still answers.
    listed.extend(["name", "id", "durability", "is_disposed", "dispose"]);
    let source = include_str!("../src/memory/scope.rs");
    let public = source.lines().filter_map(|line| {
        let line = line.strip_prefix("    pub ")?;
        let name = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
        name.split(['(', '<']).next()
    });
    assert_eq!(public.collect::<BTreeSet<_>>(), listed);
}

async fn assert_disposed(board: &Corkboard, agent: &AgentMemory, scope: &Scope, how: &str) {
    for (name, call) in calls(scope) {
        match fails_without_a_trace(board, agent, call).await {
            Error::ScopeDisposed { id, name: scope_name } => {
                assert_eq!((id, scope_name.as_str()), (scope.id(), scope.name().as_str()));
            }
            other => panic!("{name} after {how} answers {other:?}"),
        }
    }
    let mut events = board.subscribe();
    assert!(scope.is_disposed(), "{how}");
    assert_eq!(scope.dispose().await.unwrap(), 0, "{how}");
    assert_eq!(drain(&mut events), [], "{how}");
}

#[tokio::test]
async fn a_disposed_scope_answers_every_call_with_an_error_and_a_second_disposal_with_0() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
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
            // A write that was prepared in time comes too late, too.
            let prepared = scope.set("k", &2);
            assert_eq!(scope.dispose().await.unwrap(), 2);
            assert!(matches!(prepared.await, Err(Error::ScopeDisposed { .. })));
            assert_disposed(&board, &agent, &scope, "dispose").await;

            let scope = filled().await;
            agent.clear(ClearOptions::default()).await.unwrap();
            assert_disposed(&board, &agent, &scope, "clear").await;

            let scope = filled().await;
            agent.restore(before.clone()).await.unwrap();
            assert_disposed(&board, &agent, &scope, "restore").await;

            let scope = filled().await;
            assert!(board.delete_agent("A").await.unwrap());
            assert_disposed(&board, &agent, &scope, "delete_agent").await;
        }
    })
    .await;
}

#[tokio::test]
async fn disposing_a_scope_disposes_all_below_it() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        for kinds in ["ee", "de", "dd", "eee", "dde", "ddee", "dddd"] {
            let scopes = chain(&memory, kinds).await;
            let niece = scopes[0].create_child_scope("niece").await.unwrap();
            let (sister, brother) = (memory.create_scope("sister").await.unwrap(), chain(&memory, "d").await.remove(0));
            for scope in scopes.iter().chain([&niece, &sister, &brother]) {
                scope.set("k", &1).await.unwrap();
            }
            let mut events = board.subscribe();
            // Its own entries are counted, not those of the scopes below.
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
                assert_disposed(&board, &agent, scope, kinds).await;
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
        let (board, _, memory) = agent_a(&home).await;
        for kinds in ["eee", "ddd"] {
            let scopes = chain(&memory, kinds).await;
            let mut events = board.subscribe();
            scopes[0].dispose().await.unwrap();
            let order: Vec<_> = drain(&mut events).iter().filter_map(disposed_id).collect();
            assert_eq!(order, [scopes[2].id(), scopes[1].id(), scopes[0].id()]);
        }
    })
    .await;
}

fn disposed_id(event: &MemoryEvent) -> Option<ScopeId> {
    match event {
        MemoryEvent::ScopeDisposed { scope_id, .. } => Some(*scope_id),
        _ => None,
    }
}

#[tokio::test]
async fn dropping_the_last_handle_disposes_an_ephemeral_scope() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let scope = memory.create_scope("task").await.unwrap();
        scope.set("a", &1).await.unwrap();
        scope.set("b", &1).await.unwrap();
        let (id, clone) = (scope.id(), scope.clone());
        let mut events = board.subscribe();
        drop(scope);
        assert_eq!(drain(&mut events), []);
        assert_eq!(clone.get::<i32>("a").await.unwrap(), Some(1));
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["task"]);

        drop(clone);
        let told = drain(&mut events);
        let [MemoryEvent::ScopeDisposed { scope_id, entries_cleared: 2, timestamp, .. }] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!((*scope_id, *timestamp), (id, start()));
        assert!(memory.active_scopes().await.unwrap().is_empty());
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.active_working_scopes, stats.storage_bytes_used), (0, 0));
        // Nothing of it ever came to the store.
        assert_eq!(agent.rev().await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_live_child_keeps_its_parent() {
    on_every_store(async |home: Home| {
        let (board, _, memory) = agent_a(&home).await;
        let mut scopes = chain(&memory, "eee").await;
        scopes[0].set("outer", &0).await.unwrap();
        scopes[1].set("middle", &1).await.unwrap();
        let ids: Vec<_> = scopes.iter().map(Scope::id).collect();
        let innermost = scopes.pop().unwrap();
        let mut events = board.subscribe();
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
async fn a_scope_keeps_its_agent_when_no_other_handle_is_left() {
    on_every_store(async |home: Home| {
        let board = home.open().await;
        let scope = board.agent("A").unwrap().working().create_scope("task").await.unwrap();
        scope.set("k", &1).await.unwrap();
        let memory = board.agent("A").unwrap().working();
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["task"]);
        memory.set("late", &2).await.unwrap();
        assert_eq!(scope.get::<i32>("late").await.unwrap(), Some(2));
    })
    .await;
}

// Durability.

#[tokio::test]
async fn durable_scopes_survive_their_handles_and_ephemeral_ones_cannot_be_opened() {
    on_every_store(async |home: Home| {
        let (board, _, memory) = agent_a(&home).await;
        let scopes = chain(&memory, "dde").await;
        scopes[1].set("k", &1).await.unwrap();
        let ids: Vec<_> = scopes.iter().map(Scope::id).collect();
        let mut events = board.subscribe();
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
    let (board, _, memory) = agent_a(&home).await;
    memory.set("of the root", &0).await.unwrap();
    let scopes = chain(&memory, "dd").await;
    scopes[0].set("outer", &1).await.unwrap();
    scopes[1].set("inner", &2).await.unwrap();
    scopes[1].add_note("merged before").await.unwrap();
    scopes[1].merge_to_parent(true).await.unwrap();
    let id = scopes[1].id();
    board.close().await.unwrap();

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
    // It is gone already; what hung below it in this process goes now.
    assert_eq!(durable.dispose().await.unwrap(), 0);
    assert_disposed(&here.0, &here.1, &durable, "disposal by another").await;
    assert_disposed(&here.0, &here.1, &below, "disposal of its parent by another").await;
}

#[tokio::test]
async fn a_durable_scope_below_an_ephemeral_one_is_refused() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        for kinds in ["e", "de"] {
            let scopes = chain(&memory, kinds).await;
            let parent = scopes.last().unwrap();
            let error = fails_without_a_trace(&board, &agent, parent.create_durable_child_scope("d")).await;
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
        let board = home.open_with(Options { limits, ..home.options() }).await;
        let agent = board.agent("A").unwrap();
        let memory = agent.working();
        let durable = memory.create_durable_scope("d").await.unwrap();
        let ephemeral = memory.create_scope("e").await.unwrap();
        let nested = ephemeral.create_child_scope("n").await.unwrap();
        let scopes = limit(LimitName::ScopesPerAgent, 4, 3);
        assert_eq!(refused(&board, &agent, memory.create_scope("x")).await, scopes);
        assert_eq!(refused(&board, &agent, durable.create_durable_child_scope("x")).await, scopes);

        memory.set("a", &1).await.unwrap();
        durable.set("a", &1).await.unwrap();
        ephemeral.set("a", &1).await.unwrap();
        nested.set("a", &1).await.unwrap();
        let entries = limit(LimitName::EntriesPerAgent, 5, 4);
        assert_eq!(refused(&board, &agent, memory.set("b", &1)).await, entries);
        assert_eq!(refused(&board, &agent, durable.set("b", &1)).await, entries);
        assert_eq!(refused(&board, &agent, ephemeral.set("b", &1)).await, entries);
        assert_eq!(refused(&board, &agent, nested.set("b", &1)).await, entries);
        // What a merge copies counts on both sides.
        ephemeral.remove("a").await.unwrap();
        ephemeral.set("c", &1).await.unwrap();
        assert_eq!(refused(&board, &agent, ephemeral.merge_to_parent(true)).await, entries);
        nested.dispose().await.unwrap();
        assert_eq!(ephemeral.merge_to_parent(true).await.unwrap(), 1);
        assert_eq!(agent.stats().await.unwrap().total_entries_working, 4);
    })
    .await;
}

// Expiry.

#[tokio::test]
async fn an_expired_entry_is_nowhere_to_be_seen_before_it_is_swept() {
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
                    scope.local_entries().await.unwrap().iter().any(|(found, _)| found.as_str() == key),
                    scope.local_len().await.unwrap() == 3,
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
        assert_eq!(scopes[0].local_len().await.unwrap(), 1);
        // Nobody has swept: reading writes nothing.
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

            // The expired count neither as cleared nor as disposed, and are not merged.
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
async fn an_expired_entry_shows_the_parents_again() {
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
async fn a_tick_sweeps_what_has_expired_and_tells_it() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let (ephemeral, durable) = (chain(&memory, "e").await.remove(0), chain(&memory, "d").await.remove(0));
        memory.set("k", &1).metadata(days(1)).await.unwrap();
        ephemeral.set("k", &1).metadata(days(1)).await.unwrap();
        durable.set("k", &1).metadata(days(1)).await.unwrap();
        durable.set("later", &1).metadata(days(2)).await.unwrap();
        let other = board.agent("B").unwrap();
        other.working().set("k", &1).await.unwrap();
        let (rev, rev_of_other) = (agent.rev().await.unwrap(), other.rev().await.unwrap());
        let mut events = board.subscribe();
        assert_eq!(board.tick().await.unwrap(), 0);
        assert_eq!(drain(&mut events), []);

        home.clock.advance(DAY);
        assert_eq!(board.tick().await.unwrap(), 1);
        let removed = |scope: Option<&Scope>| MemoryEvent::Removed {
            agent_id: agent.agent_id().clone(),
            key: corkboard::Key::new("k", &Limits::default()).unwrap(),
            timestamp: start() + SignedDuration::from_hours(24),
            scope_name: scope.map(Scope::name),
            scope_id: scope.map(Scope::id),
            expired: true,
        };
        let told = drain(&mut events);
        let expected = [removed(None), removed(Some(&ephemeral)), removed(Some(&durable))];
        assert_eq!(told.len(), 3, "{told:?}");
        assert!(expected.iter().all(|event| told.contains(event)), "{told:?}");
        // One revision for all of it, by nobody but Corkboard.
        assert_eq!((agent.rev().await.unwrap(), other.rev().await.unwrap()), (rev + 1, rev_of_other));
        let mut watch = agent.watch(rev).await.unwrap();
        let corkboard::Watched::Revision { commit, .. } = watch.next().await.unwrap() else { panic!("no revision") };
        assert_eq!((commit.actor.principal.as_str(), commit.events.len()), ("corkboard", 2));
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_working, stats.storage_bytes_used), (1, 6));

        assert_eq!(board.tick().await.unwrap(), 0);
        assert_eq!(drain(&mut events), []);
        home.clock.advance(DAY);
        assert_eq!(board.tick().await.unwrap(), 1);
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
async fn what_expires_with_its_scope_is_told_with_the_scopes_name() {
    on_every_store(async |home: Home| {
        let (board, _, memory) = agent_a(&home).await;
        for kinds in ["e", "d"] {
            let scope = chain(&memory, kinds).await.remove(0);
            scope.set("k", &1).metadata(days(1)).await.unwrap();
            home.clock.advance(DAY);
            let mut events = board.subscribe();
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

// Clearing, restoring, deleting.

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
            // The root's clear is for the root alone.
            assert_eq!(memory.clear().await.unwrap(), 1);
            assert_eq!(scopes[2].local_len().await.unwrap(), 1);
            scopes[0].dispose().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn clearing_an_agent_disposes_its_scopes_and_counts_all_their_entries() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        let (ephemeral, durable) = (chain(&memory, "ee").await, chain(&memory, "dd").await);
        for scope in ephemeral.iter().chain(&durable) {
            scope.set("k", &1).await.unwrap();
            scope.add_note("n").await.unwrap();
        }
        memory.set("k", &1).await.unwrap();
        memory.add_note("n").await.unwrap();
        let other = board.agent("B").unwrap().working();
        other.set("k", &1).await.unwrap();

        let rev = agent.rev().await.unwrap();
        let nothing = ClearOptions { working: false, long_term: false };
        assert_eq!(agent.clear(nothing).await.unwrap(), 0);
        assert_eq!((agent.rev().await.unwrap(), memory.active_scopes().await.unwrap().len()), (rev, 4));
        let mut events = board.subscribe();
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
        let (board, agent, memory) = agent_a(&home).await;
        let kept = chain(&memory, "d").await.remove(0);
        kept.set("k", "then").await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        let late = memory.create_durable_scope("late").await.unwrap();
        let ephemeral = kept.create_child_scope("ephemeral").await.unwrap();
        kept.dispose().await.unwrap();
        let another = memory.create_scope("another").await.unwrap();

        agent.restore(snapshot).await.unwrap();
        assert_disposed(&board, &agent, &late, "restore").await;
        assert_disposed(&board, &agent, &ephemeral, "restore").await;
        assert_disposed(&board, &agent, &another, "restore").await;
        // A handle names a scope; the scope is there again.
        assert!(!kept.is_disposed());
        assert_eq!(kept.get_local::<String>("k").await.unwrap().unwrap(), "then");
        assert_eq!(names(&memory.active_scopes().await.unwrap()), ["d0"]);
    })
    .await;
}

#[tokio::test]
async fn a_deleted_agent_begins_anew() {
    on_every_store(async |home: Home| {
        let (board, agent, memory) = agent_a(&home).await;
        assert!(!board.delete_agent("A").await.unwrap());
        let scopes = [chain(&memory, "e").await.remove(0), chain(&memory, "d").await.remove(0)];
        let stale = memory.set("k", &1).await.unwrap();
        memory.add_note("n").await.unwrap();
        scopes[1].set("k", &1).await.unwrap();
        board.agent("B").unwrap().working().set("k", &2).await.unwrap();
        let listed = async || -> Vec<String> {
            board.agents(None, 10).await.unwrap().iter().map(|listed| listed.agent.to_string()).collect()
        };
        assert_eq!(listed().await, ["A", "B"]);
        let rev = agent.rev().await.unwrap();

        assert!(board.delete_agent("A").await.unwrap());
        assert!(!board.delete_agent("A").await.unwrap());
        assert_eq!(listed().await, ["B"]);
        assert!(memory.is_empty().await.unwrap());
        assert!(memory.notes().await.unwrap().is_empty());
        assert!(memory.active_scopes().await.unwrap().is_empty());
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.active_working_scopes, stats.storage_bytes_used), (0, 0));
        for scope in &scopes {
            assert_disposed(&board, &agent, scope, "delete_agent").await;
        }
        // A version never repeats, not even in the next life.
        let written = memory.set("k", &3).await.unwrap();
        assert!(written.version > rev, "{} after {rev}", written.version);
        let refusal = refused(&board, &agent, memory.set("k", &4).if_version(stale.version)).await;
        assert!(matches!(refusal, corkboard::Refusal::Conflict { current: Some(_), .. }), "{refusal:?}");
        assert_eq!(board.agent("B").unwrap().working().get::<i32>("k").await.unwrap(), Some(2));
    })
    .await;
}
