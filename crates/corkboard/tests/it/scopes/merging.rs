//! Merging a scope into its parent.

use corkboard::{EntryMetadata, MemoryEvent, MemoryKind, Scope, WorkingMemory};
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::{DAY, chain};
use crate::common::{Home, agent_a, days, drain, on_every_store, texts};

#[tokio::test]
async fn merging_copies_entries_to_the_parent_and_appends_each_note_once() {
    on_every_store(async |home: Home| {
        // The last scope of the chain merges into the one before it.
        for kinds in ["e", "d", "ee", "de", "dd", "dde", "eee"] {
            for overwrite in [true, false] {
                merges(&home, kinds, overwrite).await;
            }
        }
    })
    .await;
}

/// The parent of the last scope in a chain; can be the root.
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
            Self::Scope(scope) => scope.entries().await.unwrap(),
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
    let corkboard = home.open().await;
    let agent = corkboard.agent(&case).unwrap();
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
    // The scope keeps its content.
    assert_eq!(child.len().await.unwrap(), 2, "{case}");
    assert_eq!(child.get_local::<String>("both").await.unwrap().unwrap(), "child", "{case}");
    assert_eq!(texts(&child.notes().await.unwrap()), ["first", "second"], "{case}");

    // A second merge copies the same entries, and no note again. Without `overwrite`, it changes nothing.
    let rev = agent.rev().await.unwrap();
    assert_eq!(child.merge_to_parent(overwrite).await.unwrap(), if overwrite { 2 } else { 0 }, "{case}");
    assert_eq!(parent.content().await, expected, "{case}");
    assert_eq!(parent.notes().await, ["parent's", "first", "second"], "{case}");
    if !overwrite {
        assert_eq!(agent.rev().await.unwrap(), rev, "{case}");
    }

    // The next merge copies what is new since then. It does not restore what the parent removed.
    child.add_note("third").await.unwrap();
    child.remove("new").await.unwrap();
    child.set("newer", "child").await.unwrap();
    child.merge_to_parent(overwrite).await.unwrap();
    assert_eq!(parent.notes().await, ["parent's", "first", "second", "third"], "{case}");
    assert_eq!(parent.content().await.len(), 4, "{case}");

    // The merge changed the parent only.
    if let Parent::Scope(_) = parent {
        assert!(memory.is_empty().await.unwrap(), "{case}");
        assert!(memory.notes().await.unwrap().is_empty(), "{case}");
    }
    assert_eq!(child.dispose().await.unwrap(), 2, "{case}");
    assert_eq!(parent.content().await.len(), 4, "{case}");
}

#[tokio::test]
async fn merging_keeps_an_entrys_metadata() {
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
            assert_eq!((&merged_note.text, merged_note.at), (&note[0].text, note[0].at), "{kinds}");
            memory.remove("k").await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn merging_is_reported_as_writes_to_the_parent() {
    on_every_store(async |home: Home| {
        let (corkboard, _, memory) = agent_a(&home).await;
        memory.set("a", &1).await.unwrap();
        for kinds in ["e", "d", "de"] {
            let scopes = chain(&memory, kinds).await;
            let child = scopes.last().unwrap();
            child.set("a", &2).await.unwrap();
            child.add_note("n").await.unwrap();
            let mut events = corkboard.subscribe();
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
async fn concurrent_merges_append_each_note_once() {
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
async fn an_abandoned_merge_still_appends_each_note_once() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        let scope = memory.create_scope("task").await.unwrap();
        scope.add_note("once").await.unwrap();
        // Started, then dropped.
        assert!(scope.merge_to_parent(true).into_future().now_or_never().is_none());
        scope.merge_to_parent(true).await.unwrap();
        scope.merge_to_parent(true).await.unwrap();
        assert_eq!(texts(&memory.notes().await.unwrap()), ["once"]);
    })
    .await;
}
