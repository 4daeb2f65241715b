//! A handle reaches only its own agent's memory (004 §8.1), and a tier only its features (§3.2).

use std::time::Duration;

use corkboard::{
    Actor, ActorKind, AgentMemory, ClearOptions, Error, LimitName, Limits, MemoryEvent, Options, Refusal, Role, Scope,
    Tier, Watched,
};

use crate::common::{Home, drain, fails_without_a_trace, limit, names, on_every_store, refused, start, texts};

/// Everything that can be read of an agent, through every kind of read.
async fn all_of(agent: &AgentMemory, scopes: &[Scope]) -> String {
    let memory = agent.working();
    let mut seen = vec![
        format!("{:?}", memory.get::<String>("k").await.unwrap()),
        format!("{:?}", memory.get_entry("k").await.unwrap().map(|entry| entry.value.clone())),
        format!("{:?}", memory.contains("k").await.unwrap()),
        format!("{:?}", memory.keys().await.unwrap()),
        format!("{:?}", memory.entries().await.unwrap().len()),
        format!("{:?}", texts(&memory.notes().await.unwrap())),
        format!("{:?}", names(&memory.active_scopes().await.unwrap())),
        format!("{:?}", agent.snapshot().await.unwrap().memory),
        format!("{:?}", agent.stats().await.unwrap()),
        format!("{:?}", agent.rev().await.unwrap()),
    ];
    for scope in scopes {
        seen.push(format!("{:?}", scope.get::<String>("k").await.unwrap()));
        seen.push(format!("{:?}", scope.get_local::<String>("own").await.unwrap()));
        seen.push(format!("{:?}", texts(&scope.notes().await.unwrap())));
    }
    seen.join("\n")
}

async fn fill(agent: &AgentMemory, value: &str) -> [Scope; 2] {
    let memory = agent.working();
    memory.set("k", value).await.unwrap();
    memory.add_note(value).await.unwrap();
    let scopes = [memory.create_scope("task").await.unwrap(), memory.create_durable_scope("task").await.unwrap()];
    for scope in &scopes {
        scope.set("own", value).await.unwrap();
        scope.add_note(value).await.unwrap();
    }
    scopes
}

#[tokio::test]
async fn the_same_keys_of_two_agents_are_two_entries() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let (a, b) = (corkboard.agent("a").unwrap(), corkboard.agent("b").unwrap());
        let empty = all_of(&b, &[]).await;
        let of_a = fill(&a, "of a").await;
        assert_eq!(all_of(&b, &[]).await, empty);
        let before = all_of(&a, &of_a).await;
        let of_b = fill(&b, "of b").await;
        assert_eq!(all_of(&a, &of_a).await, before);
        assert!(!all_of(&b, &of_b).await.contains("of a"));
        assert_eq!(of_b[0].get::<String>("k").await.unwrap().unwrap(), "of b");
        assert_eq!(b.rev().await.unwrap(), 5);
    })
    .await;
}

#[tokio::test]
async fn one_agents_operations_do_not_change_another_agent() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let (a, b) = (corkboard.agent("a").unwrap(), corkboard.agent("b").unwrap());
        let of_a = fill(&a, "of a").await;
        let of_b = fill(&b, "of b").await;
        let before = all_of(&a, &of_a).await;
        let snapshot = b.snapshot().await.unwrap();
        let expiring = crate::common::days(1);
        b.working().set("soon", &1).metadata(expiring).await.unwrap();
        b.working().update("k", |_: Option<String>| "changed".into()).await.unwrap();
        b.working().get_or_set("made", async || Ok::<_, Error>(1)).await.unwrap();
        b.working().append("k", "more").await.unwrap();
        b.working().remove("k").await.unwrap();
        of_b[0].merge_to_parent(true).await.unwrap();
        of_b[1].merge_to_parent(true).await.unwrap();
        of_b[1].dispose().await.unwrap();
        home.clock.advance(Duration::from_secs(24 * 3600));
        assert_eq!(corkboard.tick().await.unwrap(), 1);
        b.working().clear().await.unwrap();
        b.restore(snapshot).await.unwrap();
        b.clear(ClearOptions::default()).await.unwrap();
        assert_eq!(all_of(&a, &of_a).await, before);
        assert!(corkboard.delete_agent("b").await.unwrap());
        assert_eq!(all_of(&a, &of_a).await, before);
    })
    .await;
}

#[tokio::test]
async fn ids_that_look_alike_are_different_agents() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let ids = [
            "a", "A", "a ", "a/", "a/b", "a/b/c", "agent/a", "á", "a\u{301}", "ａ", "%", "_", "*", "a%", "a_", "..",
            "a'--", "a\"", "🅰",
        ];
        for id in ids {
            let memory = corkboard.agent(id).unwrap().working();
            assert!(memory.is_empty().await.unwrap(), "{id:?}");
            memory.set("k", id).await.unwrap();
        }
        for id in ids {
            let memory = corkboard.agent(id).unwrap().working();
            assert_eq!(memory.get::<String>("k").await.unwrap().unwrap(), id);
            assert_eq!(memory.len().await.unwrap(), 1, "{id:?}");
        }
        let listed = corkboard.agents(None, 100).await.unwrap();
        assert_eq!(listed.len(), ids.len());
        assert!(corkboard.delete_agent("a").await.unwrap());
        for id in &ids[1..] {
            assert!(corkboard.agent(id).unwrap().working().contains("k").await.unwrap(), "{id:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_snapshot_is_restored_to_no_other_agent() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let (a, b) = (corkboard.agent("a").unwrap(), corkboard.agent("b").unwrap());
        let _of_a = fill(&a, "of a").await;
        let _of_b = fill(&b, "of b").await;
        let snapshot = a.snapshot().await.unwrap();
        let mismatch = Refusal::AgentMismatch { expected: "b".into(), found: "a".into() };
        assert_eq!(refused(&corkboard, &b, b.restore(snapshot.clone())).await, mismatch);
        assert!(a.restore(snapshot).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn a_scope_of_one_agent_cannot_be_opened_by_another() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let (a, b) = (corkboard.agent("a").unwrap(), corkboard.agent("b").unwrap());
        let [ephemeral, durable] = fill(&a, "of a").await;
        assert!(a.working().scope(durable.id()).await.unwrap().is_some());
        for id in [ephemeral.id(), durable.id()] {
            assert!(b.working().scope(id).await.unwrap().is_none());
        }
        assert!(b.working().active_scopes().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn watchers_and_events_name_the_agent_whose_memory_it_is() {
    on_every_store(async |home: Home| {
        let options = Options { bookmark_interval: Duration::from_millis(1), ..home.options() };
        let corkboard = home.open_with(options).await;
        let (a, b) = (corkboard.agent("a").unwrap(), corkboard.agent("b").unwrap());
        let mut events = corkboard.subscribe();
        let (mut watch_a, mut watch_b) = (a.watch(0).await.unwrap(), b.watch(0).await.unwrap());
        a.working().set("k", &1).await.unwrap();
        assert!(matches!(watch_a.next().await.unwrap(), Watched::Revision { rev: 1, .. }));
        assert_eq!(watch_b.next().await.unwrap(), Watched::Bookmark { rev: 0 });
        let told = drain(&mut events);
        assert!(matches!(&told[..], [MemoryEvent::Set { agent_id, .. }] if agent_id.as_str() == "a"), "{told:?}");
    })
    .await;
}

#[tokio::test]
async fn every_agent_has_separate_limits() {
    on_every_store(async |home: Home| {
        let limits = Limits { entries_per_agent: 1, scopes_per_agent: 1, ..Limits::default() };
        let corkboard = home.open_with(Options { limits, ..home.options() }).await;
        let mut scopes = Vec::new();
        for id in ["a", "b"] {
            let agent = corkboard.agent(id).unwrap();
            let memory = agent.working();
            memory.set("k", &1).await.unwrap();
            scopes.push(memory.create_scope("s").await.unwrap());
            assert_eq!(refused(&corkboard, &agent, memory.set("l", &1)).await, limit(LimitName::EntriesPerAgent, 2, 1));
            assert_eq!(
                refused(&corkboard, &agent, memory.create_scope("t")).await,
                limit(LimitName::ScopesPerAgent, 2, 1)
            );
        }
    })
    .await;
}

#[tokio::test]
async fn acting_in_another_name_changes_the_author_and_not_the_memory() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let a = corkboard.agent("a").unwrap();
        let grace = Actor::new("grace", ActorKind::Agent, Role::Worker);
        let as_grace = a.acting_as(grace.clone());
        assert_eq!(as_grace.agent_id(), a.agent_id());
        as_grace.working().set("k", &1).await.unwrap();
        as_grace.working().add_note("n").await.unwrap();
        let scope = as_grace.working().create_scope("s").await.unwrap();
        scope.set("k", &1).await.unwrap();
        a.working().set("l", &1).await.unwrap();
        let author = async |key: &str| a.working().get_entry(key).await.unwrap().unwrap().author.to_string();
        assert_eq!((author("k").await.as_str(), author("l").await.as_str()), ("grace", "local"));
        assert_eq!(&*a.working().notes().await.unwrap()[0].author, "grace");
        assert_eq!(&*scope.get_entry("k").await.unwrap().unwrap().author, "grace");
        let Watched::Revision { commit, .. } = a.watch(0).await.unwrap().next().await.unwrap() else { panic!("none") };
        assert_eq!((commit.actor, commit.at), (grace, start()));
    })
    .await;
}

// §3.2 Tiers.

#[tokio::test]
async fn long_term_memory_needs_writer_pro() {
    let home = Home::memory();
    for (tier, has_it) in [(Tier::Core, false), (Tier::WriterPro, true), (Tier::Teams, true)] {
        let corkboard = home.open_with(Options { tier, ..home.options() }).await;
        let agent = corkboard.agent("a").unwrap();
        match agent.long_term() {
            Ok(long_term) => {
                assert!(has_it, "{tier}");
                assert_eq!(long_term.agent_id(), agent.agent_id());
            }
            Err(Error::LicenseRestriction { feature, needed, tier: found }) => {
                assert!(!has_it, "{tier}");
                assert_eq!((feature, needed, found), ("long-term memory", Tier::WriterPro, tier));
            }
            Err(other) => panic!("{other:?}"),
        }
        // Working memory is complete in every tier.
        agent.working().set("k", &1).await.unwrap();
        agent.working().create_durable_scope("s").await.unwrap().merge_to_parent(true).await.unwrap();
        agent.restore(agent.snapshot().await.unwrap()).await.unwrap();
    }
    assert_eq!(Options::default().tier, Tier::Teams);
}

#[tokio::test]
async fn clearing_long_term_memory_below_writer_pro_is_refused_before_anything_is_cleared() {
    on_every_store(async |home: Home| {
        let options = Options { tier: Tier::Core, ..home.options() };
        let corkboard = home.open_with(options).await;
        let agent = corkboard.agent("a").unwrap();
        let _scopes = fill(&agent, "x").await;
        for working in [true, false] {
            let attempt = agent.clear(ClearOptions { working, long_term: true });
            let error = fails_without_a_trace(&corkboard, &agent, attempt).await;
            assert!(matches!(error, Error::LicenseRestriction { .. }), "{error:?}");
        }
        assert_eq!(agent.clear(ClearOptions { working: true, long_term: false }).await.unwrap(), 3);
    })
    .await;
}

#[tokio::test]
async fn clearing_both_memories_works_from_writer_pro_on() {
    on_every_store(async |home: Home| {
        let options = Options { tier: Tier::WriterPro, ..home.options() };
        let corkboard = home.open_with(options).await;
        let agent = corkboard.agent("a").unwrap();
        let _scopes = fill(&agent, "x").await;
        assert_eq!(agent.clear(ClearOptions { working: true, long_term: true }).await.unwrap(), 3);
    })
    .await;
}
