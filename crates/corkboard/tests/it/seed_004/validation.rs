//! §8.2: input is validated.

use std::collections::BTreeMap;

use corkboard::{EntryData, EntryMetadata, Error, LimitName, Refusal, Result, Scope, WorkingMemory};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::replaced;
use crate::common::{Home, agent_a, days, fails_without_a_trace, limit, on_every_store, refusal, refused, start};

type Call<'a> = (&'static str, BoxFuture<'a, Result<()>>);

/// Every call that takes a key, on the root and on both kinds of scope.
fn calls_with_key<'a>(memory: &'a WorkingMemory, scopes: &'a [Scope], key: &'a str) -> Vec<Call<'a>> {
    fn call<'a, T>(name: &'static str, future: impl IntoFuture<Output = Result<T>, IntoFuture: Send + 'a>) -> Call<'a> {
        let future = future.into_future();
        (name, Box::pin(async move { future.await.map(|_| ()) }))
    }
    let factory = async || Ok::<u8, Error>(1);
    let mut calls = vec![
        call("set", memory.set(key, &1)),
        call("get", memory.get::<u8>(key)),
        call("get_entry", memory.get_entry(key)),
        call("get_or_set", memory.get_or_set(key, factory)),
        call("update", memory.update(key, |_: Option<u8>| 1)),
        call("append", memory.append(key, "text")),
        call("contains", memory.contains(key)),
        call("remove", memory.remove(key)),
    ];
    for scope in scopes {
        calls.extend([
            call("scope set", scope.set(key, &1)),
            call("scope get", scope.get::<u8>(key)),
            call("scope get_local", scope.get_local::<u8>(key)),
            call("scope get_entry", scope.get_entry(key)),
            call("scope get_or_set", scope.get_or_set(key, factory)),
            call("scope update", scope.update(key, |_: Option<u8>| 1)),
            call("scope append", scope.append(key, "text")),
            call("scope contains", scope.contains(key)),
            call("scope contains_local", scope.contains_local(key)),
            call("scope remove", scope.remove(key)),
        ]);
    }
    calls
}

/// Invalid names, each with its refusal. `what` is the refusal's term for the name.
fn wrong_names(what: &'static str, limit_name: LimitName, allowed: u64) -> Vec<(String, Refusal)> {
    let too_long = "n".repeat(usize::try_from(allowed).unwrap() + 1);
    // Two bytes per character: the limit counts bytes.
    let too_wide = "é".repeat(usize::try_from(allowed).unwrap() / 2 + 1);
    let control = |character, at| Refusal::ControlCharacter { what: what.into(), character, at };
    vec![
        (String::new(), Refusal::Blank { what: what.into() }),
        (" \t\u{3000}".into(), Refusal::Blank { what: what.into() }),
        ("a\nb".into(), control('\n', 1)),
        ("é\0".into(), control('\0', 2)),
        ("\u{1b}[2J".into(), control('\u{1b}', 0)),
        ("abc\u{85}".into(), control('\u{85}', 3)),
        (too_long, limit(limit_name, allowed + 1, allowed)),
        (too_wide, limit(limit_name, allowed / 2 * 2 + 2, allowed)),
    ]
}

#[tokio::test]
async fn validation_keys_are_not_blank_printable_and_at_most_512_bytes() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        for (key, expected) in wrong_names("key", LimitName::KeyBytes, 512) {
            for (name, call) in calls_with_key(&memory, &scopes, &key) {
                assert_eq!(refused(&corkboard, &agent, call).await, expected, "{name}({key:?})");
            }
        }
        for key in [&"k".repeat(512), &"é".repeat(256), "ключ 🗝 / a'b\"c", "."] {
            memory.set(key, &1).await.unwrap();
            assert_eq!(memory.get::<i32>(key).await.unwrap(), Some(1), "{key}");
        }
    })
    .await;
}

#[tokio::test]
async fn validation_keys_in_a_snapshot_are_held_to_the_same_rules() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("@key", &1).await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        for (key, expected) in wrong_names("key", LimitName::KeyBytes, 512) {
            let snapshot = replaced(&snapshot, "@key", &key);
            assert_eq!(refused(&corkboard, &agent, agent.restore(snapshot)).await, expected, "{key:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn validation_scope_names_are_not_blank_printable_and_at_most_512_bytes() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let (short, long) = (memory.create_scope("e").await.unwrap(), memory.create_durable_scope("@d").await.unwrap());
        let snapshot = agent.snapshot().await.unwrap();
        for (name, expected) in wrong_names("scope name", LimitName::ScopeNameBytes, 512) {
            assert_eq!(refused(&corkboard, &agent, memory.create_scope(&name)).await, expected);
            assert_eq!(refused(&corkboard, &agent, memory.create_durable_scope(&name)).await, expected);
            assert_eq!(refused(&corkboard, &agent, short.create_child_scope(&name)).await, expected);
            assert_eq!(refused(&corkboard, &agent, long.create_child_scope(&name)).await, expected);
            assert_eq!(refused(&corkboard, &agent, long.create_durable_child_scope(&name)).await, expected);
            let snapshot = replaced(&snapshot, "@d", &name);
            assert_eq!(refused(&corkboard, &agent, agent.restore(snapshot)).await, expected, "{name:?}");
        }
        let name = "n".repeat(512);
        assert_eq!(memory.create_scope(&name).await.unwrap().name().as_str(), name);
    })
    .await;
}

#[tokio::test]
async fn validation_agent_ids_are_not_blank_printable_and_at_most_256_bytes() {
    let corkboard = Home::memory().open().await;
    for (agent, expected) in wrong_names("agent ID", LimitName::AgentIdBytes, 256) {
        assert_eq!(refusal(corkboard.agent(&agent).map(|_| ())), expected);
        assert_eq!(refusal(corkboard.delete_agent(&agent).await), expected);
    }
    assert_eq!(corkboard.agent(&"a".repeat(256)).unwrap().rev().await.unwrap(), 0);
    assert!(corkboard.agents(None, 10).await.unwrap().is_empty());
}

/// A value that cannot be serialized as JSON.
struct Unspeakable;

impl Serialize for Unspeakable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("words fail"))
    }
}

impl<'de> Deserialize<'de> for Unspeakable {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self)
    }
}

#[tokio::test]
async fn validation_values_are_json_serializable() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        let unspeakable = |error: Error| {
            let Error::Serialize { key, message } = error else { panic!("{error:?}") };
            assert_eq!((key.as_str(), message.as_str()), ("k", "words fail"));
        };
        let factory = async || Ok::<_, Error>(Unspeakable);
        unspeakable(fails_without_a_trace(&corkboard, &agent, memory.set("k", &Unspeakable)).await);
        unspeakable(fails_without_a_trace(&corkboard, &agent, memory.get_or_set("k", factory)).await);
        unspeakable(fails_without_a_trace(&corkboard, &agent, memory.update("k", |_| Unspeakable)).await);
        for scope in &scopes {
            unspeakable(fails_without_a_trace(&corkboard, &agent, scope.set("k", &Unspeakable)).await);
            unspeakable(fails_without_a_trace(&corkboard, &agent, scope.get_or_set("k", factory)).await);
            unspeakable(fails_without_a_trace(&corkboard, &agent, scope.update("k", |_| Unspeakable)).await);
        }
        let no_text_as_key = BTreeMap::from([(vec![1], 1)]);
        let error = fails_without_a_trace(&corkboard, &agent, memory.set("k", &no_text_as_key)).await;
        assert!(matches!(&error, Error::Serialize { message, .. } if message.contains("key must be a string")));
    })
    .await;
}

#[tokio::test]
async fn validation_metadata_is_within_its_bounds() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        let scopes = [memory.create_scope("e").await.unwrap(), memory.create_durable_scope("d").await.unwrap()];
        let none = EntryMetadata::default;
        let importance = |importance: f32| EntryMetadata { importance: Some(importance), ..none() };
        let tags = |tags: Vec<String>| EntryMetadata { tags: Some(tags), ..none() };
        let expiry = |reason| Refusal::Expiry { reason };
        let past = "it must be in the future";
        let cases = [
            (importance(-0.1), Refusal::Importance { importance: -0.1 }),
            (importance(1.000_001), Refusal::Importance { importance: 1.000_001 }),
            (importance(f32::INFINITY), Refusal::Importance { importance: f32::INFINITY }),
            (tags(vec!["t".into(); 65]), limit(LimitName::TagsPerEntry, 65, 64)),
            (tags(vec!["t".into(), "t".repeat(129)]), limit(LimitName::TagBytes, 129, 128)),
            (tags(vec![" ".into()]), Refusal::Blank { what: "tag".into() }),
            (tags(vec!["a\tb".into()]), Refusal::ControlCharacter { what: "tag".into(), character: '\t', at: 1 }),
            (EntryMetadata { author: Some("a".repeat(257)), ..none() }, limit(LimitName::AgentIdBytes, 257, 256)),
            (
                EntryMetadata { session: Some("mon\nday".into()), ..none() },
                Refusal::ControlCharacter { what: "session".into(), character: '\n', at: 3 },
            ),
            (days(0), expiry(past.into())),
            (EntryMetadata { expires_at: Some(start()), ..none() }, expiry(past.into())),
            (days(u32::MAX), expiry("that many days exceed the range of the calendar".into())),
            (
                EntryMetadata { expires_at: Some(jiff::Timestamp::MAX), ..days(1) },
                expiry("give either days or a time, not both".into()),
            ),
        ];
        for (metadata, expected) in cases {
            let attempt = memory.set("k", &1).metadata(metadata.clone());
            assert_eq!(refused(&corkboard, &agent, attempt).await, expected);
            for scope in &scopes {
                let attempt = scope.set("k", &1).metadata(metadata.clone());
                assert_eq!(refused(&corkboard, &agent, attempt).await, expected);
            }
        }
        // NaN is not equal to itself, so match it instead.
        let nan = refused(&corkboard, &agent, memory.set("k", &1).metadata(importance(f32::NAN))).await;
        assert!(matches!(nan, Refusal::Importance { importance } if importance.is_nan()));
        for allowed in [importance(0.0), importance(1.0), tags(vec!["t".repeat(128); 64]), days(1)] {
            memory.set("k", &1).metadata(allowed).await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn validation_metadata_in_a_snapshot_is_held_to_the_same_bounds() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("k", &1).await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        let with = |change: &dyn Fn(&mut EntryData)| {
            let mut snapshot = snapshot.clone();
            change(&mut snapshot.memory.scopes[0].entries[0].entry);
            agent.restore(snapshot)
        };
        for importance in [-0.1, 2.0, f32::INFINITY] {
            let attempt = with(&|entry| entry.importance = importance);
            assert_eq!(refused(&corkboard, &agent, attempt).await, Refusal::Importance { importance });
        }
        let nan = refused(&corkboard, &agent, with(&|entry| entry.importance = f32::NAN)).await;
        assert!(matches!(nan, Refusal::Importance { importance } if importance.is_nan()));
        let attempt = with(&|entry| entry.tags = vec!["t".into(); 65]);
        assert_eq!(refused(&corkboard, &agent, attempt).await, limit(LimitName::TagsPerEntry, 65, 64));
        let attempt = with(&|entry| entry.tags = vec!["t".repeat(129).into()]);
        assert_eq!(refused(&corkboard, &agent, attempt).await, limit(LimitName::TagBytes, 129, 128));
        let attempt = with(&|entry| entry.tags = vec!["".into()]);
        assert_eq!(refused(&corkboard, &agent, attempt).await, Refusal::Blank { what: "tag".into() });
        let attempt = with(&|entry| entry.author = "".into());
        assert_eq!(refused(&corkboard, &agent, attempt).await, Refusal::Blank { what: "author".into() });
        let attempt = with(&|entry| entry.session = Some("s".repeat(257).into()));
        assert_eq!(refused(&corkboard, &agent, attempt).await, limit(LimitName::AgentIdBytes, 257, 256));
    })
    .await;
}
