//! The scratchpad's methods of 000, through every kind of handle that can hold one. Its two skills are tools, tested in
//! `seed_000_tools.rs`.

use corkboard::{Refusal, Scope, WorkingMemory};
use serde_json::{Value, json};

use crate::common::{Home, agent_a, names, on_every_store, refusal, texts};

/// The methods of 000's `WorkingMemory` struct, by their names there.
enum Scratchpad {
    Root(WorkingMemory),
    Scope(Scope),
}

impl Scratchpad {
    async fn set(&self, key: &str, value: &str) {
        match self {
            Self::Root(memory) => memory.set(key, value).await,
            Self::Scope(scope) => scope.set(key, value).await,
        }
        .unwrap();
    }

    async fn get(&self, key: &str) -> Option<String> {
        match self {
            Self::Root(memory) => memory.get(key).await,
            Self::Scope(scope) => scope.get(key).await,
        }
        .unwrap()
    }

    async fn delete(&self, key: &str) -> bool {
        match self {
            Self::Root(memory) => memory.remove(key).await,
            Self::Scope(scope) => scope.remove(key).await,
        }
        .unwrap()
    }

    async fn list_keys(&self) -> Vec<String> {
        match self {
            Self::Root(memory) => memory.keys().await.unwrap().iter().map(|key| key.to_string()).collect(),
            Self::Scope(scope) => scope.entries().await.unwrap().iter().map(|(key, _)| key.to_string()).collect(),
        }
    }

    async fn add_note(&self, text: &str) {
        match self {
            Self::Root(memory) => memory.add_note(text).await,
            Self::Scope(scope) => scope.add_note(text).await,
        }
        .unwrap();
    }

    async fn get_notes(&self) -> Vec<String> {
        let notes = match self {
            Self::Root(memory) => memory.notes().await,
            Self::Scope(scope) => scope.notes().await,
        };
        texts(&notes.unwrap()).into_iter().map(str::to_owned).collect()
    }

    async fn clear(&self) -> u64 {
        match self {
            Self::Root(memory) => memory.clear().await,
            Self::Scope(scope) => scope.clear().await,
        }
        .unwrap()
    }
}

/// Runs a test with two fresh scratchpads of every kind, on every store.
async fn check(test: impl AsyncFn(Scratchpad, Scratchpad)) {
    on_every_store(async |home: Home| {
        let (corkboard, _, memory) = agent_a(&home).await;
        println!("root scopes of two agents");
        let other = corkboard.agent("B").unwrap().working();
        test(Scratchpad::Root(memory.clone()), Scratchpad::Root(other)).await;

        memory.clear().await.unwrap();
        println!("ephemeral scopes");
        let scope = async |name| Scratchpad::Scope(memory.create_scope(name).await.unwrap());
        test(scope("A").await, scope("B").await).await;

        println!("durable scopes");
        let scope = async |name| Scratchpad::Scope(memory.create_durable_scope(name).await.unwrap());
        test(scope("A").await, scope("B").await).await;
    })
    .await;
}

#[tokio::test]
async fn set_and_get() {
    check(async |pad: Scratchpad, _| {
        pad.set("name", "Alice").await;
        pad.set("mood", "").await;
        assert_eq!(pad.get("name").await.as_deref(), Some("Alice"));
        assert_eq!(pad.get("mood").await.as_deref(), Some(""));
        assert_eq!(pad.get("age").await, None);
        pad.set("name", "Bob").await;
        assert_eq!(pad.get("name").await.as_deref(), Some("Bob"));
    })
    .await;
}

#[tokio::test]
async fn delete() {
    check(async |pad: Scratchpad, _| {
        pad.set("name", "Alice").await;
        pad.set("mood", "calm").await;
        assert!(pad.delete("name").await);
        assert_eq!(pad.get("name").await, None);
        assert!(!pad.delete("name").await);
        assert_eq!(pad.list_keys().await, ["mood"]);
    })
    .await;
}

#[tokio::test]
async fn list_keys() {
    check(async |pad: Scratchpad, _| {
        assert!(pad.list_keys().await.is_empty());
        for key in ["b", "a", "ä", "B", "a/b", "b"] {
            pad.set(key, "x").await;
        }
        assert_eq!(pad.list_keys().await, ["B", "a", "a/b", "b", "ä"]);
    })
    .await;
}

#[tokio::test]
async fn add_note_and_get_notes() {
    check(async |pad: Scratchpad, _| {
        assert!(pad.get_notes().await.is_empty());
        for note in ["User prefers dark mode", "second\nline", "User prefers dark mode"] {
            pad.add_note(note).await;
        }
        assert_eq!(pad.get_notes().await, ["User prefers dark mode", "second\nline", "User prefers dark mode"]);
        assert!(pad.list_keys().await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn clear_empties_keys_and_notes() {
    check(async |pad: Scratchpad, _| {
        assert_eq!(pad.clear().await, 0);
        pad.set("name", "Alice").await;
        pad.set("mood", "calm").await;
        pad.add_note("a note").await;
        assert_eq!(pad.clear().await, 2);
        assert_eq!((pad.list_keys().await, pad.get_notes().await, pad.get("name").await), (vec![], vec![], None));
        pad.add_note("only a note").await;
        assert_eq!(pad.clear().await, 0);
        assert!(pad.get_notes().await.is_empty());
        pad.set("name", "Carol").await;
        assert_eq!(pad.get("name").await.as_deref(), Some("Carol"));
    })
    .await;
}

#[tokio::test]
async fn two_conversations_have_independent_scratchpads() {
    check(async |a: Scratchpad, b: Scratchpad| {
        a.set("name", "Alice").await;
        a.add_note("from a").await;
        assert_eq!((b.get("name").await, b.list_keys().await, b.get_notes().await), (None, vec![], vec![]));
        b.set("name", "Bob").await;
        b.add_note("from b").await;
        assert_eq!((b.clear().await, a.get("name").await.as_deref()), (1, Some("Alice")));
        assert_eq!(a.get_notes().await, ["from a"]);
    })
    .await;
}

#[tokio::test]
async fn it_serializes_to_json_for_the_context() {
    on_every_store(async |home: Home| {
        let (_board, _, memory) = agent_a(&home).await;
        memory.set("user_name", "Alice").await.unwrap();
        memory.add_note("prefers dark mode").await.unwrap();
        let entries: Value = serde_json::to_value(memory.entries().await.unwrap()).unwrap();
        assert_eq!((&entries[0][0], &entries[0][1]["value"]), (&json!("user_name"), &json!("Alice")));
        let notes: Value = serde_json::to_value(memory.notes().await.unwrap()).unwrap();
        assert_eq!((&notes[0]["text"], &notes[0]["author"]), (&json!("prefers dark mode"), &json!("local")));
    })
    .await;
}

#[tokio::test]
async fn notes_can_be_removed_one_by_one_and_are_not_blank() {
    on_every_store(async |home: Home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let scope = memory.create_scope("task").await.unwrap();
        let first = memory.add_note("first").await.unwrap();
        let second = memory.add_note("second").await.unwrap();
        let elsewhere = scope.add_note("in the scope").await.unwrap();
        assert!(first < second);
        assert!(memory.remove_note(first).await.unwrap());
        assert!(!memory.remove_note(first).await.unwrap());
        assert_eq!(texts(&memory.notes().await.unwrap()), ["second"]);
        assert!(scope.remove_note(elsewhere).await.unwrap());
        // A note's number is never used twice.
        assert!(memory.add_note("third").await.unwrap() > second);
        let rev = agent.rev().await.unwrap();
        assert_eq!(refusal(memory.add_note("\u{a0}\n").await), Refusal::Blank { what: "note".into() });
        assert_eq!(agent.rev().await.unwrap(), rev);
    })
    .await;
}

/// 000 forgets at restart, 001 does not. The scope's durability decides.
#[tokio::test]
async fn an_ephemeral_scratchpad_is_gone_after_a_restart_and_the_root_is_not() {
    let home = Home::sqlite();
    let (corkboard, _, memory) = agent_a(&home).await;
    let conversation = memory.create_scope("conversation").await.unwrap();
    conversation.set("name", "Alice").await.unwrap();
    conversation.add_note("a note").await.unwrap();
    memory.set("name", "root").await.unwrap();
    corkboard.close().await.unwrap();

    let (_board, agent, memory) = agent_a(&home).await;
    assert!(names(&memory.active_scopes().await.unwrap()).is_empty());
    assert!(memory.scope(conversation.id()).await.unwrap().is_none());
    assert_eq!(memory.get::<String>("name").await.unwrap().unwrap(), "root");
    let stats = agent.stats().await.unwrap();
    assert_eq!((stats.total_entries_working, stats.total_notes), (1, 0));
}
