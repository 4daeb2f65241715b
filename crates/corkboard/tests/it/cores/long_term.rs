//! An agent's long-term memory: a private core, subject to the tier, and part of the agent's snapshots and counts.

use corkboard::cores::NewCoreEntry;
use corkboard::{Actor, AgentMemory, ClearOptions, Corkboard, Error, MemorySnapshot, Options, Refusal, Role, Tier};

use super::{found, id};
use crate::common::{Home, on_every_store, refusal};

async fn filled(corkboard: &Corkboard) -> AgentMemory {
    let agent = corkboard.agent("A").unwrap();
    agent.working().set("today", "tea").await.unwrap();
    let long_term = agent.long_term().unwrap();
    long_term.add("Ada prefers tea").await.unwrap();
    long_term.add("Ada lives in London").await.unwrap();
    long_term.forget(id(2), None).await.unwrap();
    agent
}

#[tokio::test]
async fn it_is_the_agents_own_and_counted() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let agent = filled(&corkboard).await;
        assert_eq!(found(&agent.long_term().unwrap(), "tea").await, [1]);
        let other = corkboard.agent("B").unwrap().long_term().unwrap();
        assert_eq!(found(&other, "tea").await, [0; 0]);
        let reserved = Refusal::ReservedName { what: "core name".into(), prefix: "agent:".into() };
        assert_eq!(refusal(corkboard.core("agent:A")), reserved);
        assert_eq!(refusal(corkboard.delete_core("agent:A").await), reserved);
        let stats = agent.stats().await.unwrap();
        let counts = (stats.total_entries_working, stats.total_entries_long_term, stats.total_entries_forgotten);
        assert_eq!(counts, (1, 1, 1));
        assert!(stats.storage_bytes_used > "Ada prefers tea Ada lives in London".len() as u64);
        let listed = corkboard.cores(None, 9).await.unwrap();
        assert_eq!(listed.iter().map(|listed| listed.id.as_str()).collect::<Vec<_>>(), ["agent:A"]);
        assert_eq!(listed[0].id.agent().as_ref(), Some(agent.agent_id()));
        assert_eq!((&listed[0].summary["entries"], &listed[0].summary["forgotten"]), (&1.into(), &1.into()));
        assert!(corkboard.delete_agent("A").await.unwrap());
        assert!(corkboard.cores(None, 9).await.unwrap().is_empty());
        assert!(!corkboard.delete_agent("A").await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn it_is_restored_from_snapshots_and_spared_by_clear() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let agent = filled(&corkboard).await;
        let long_term = agent.long_term().unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        let json = serde_json::to_vec(&snapshot).unwrap();
        assert_eq!(MemorySnapshot::from_json(&json).unwrap(), snapshot);
        assert_eq!(agent.clear(ClearOptions::default()).await.unwrap(), 1);
        assert_eq!(found(&long_term, "tea").await, [1], "clear keeps it unless asked to clear it");
        assert_eq!(agent.clear(ClearOptions { working: false, long_term: true }).await.unwrap(), 2);
        let added = long_term.add("Ada prefers coffee").await.unwrap();
        assert_eq!(added.id, id(3), "no number is given twice");
        agent.restore(snapshot.clone()).await.unwrap();
        assert_eq!(agent.working().get::<String>("today").await.unwrap().as_deref(), Some("tea"));
        assert_eq!(found(&long_term, "prefers").await, [1]);
        let stats = agent.stats().await.unwrap();
        assert_eq!((stats.total_entries_long_term, stats.total_entries_forgotten), (1, 1));
        // A snapshot from before long-term memory existed leaves it unchanged.
        agent.restore(MemorySnapshot { long_term: None, ..snapshot.clone() }).await.unwrap();
        assert_eq!(found(&long_term, "prefers").await, [1]);
        // An invalid long-term memory is refused before anything is replaced.
        agent.working().set("today", "coffee").await.unwrap();
        let mut twice = snapshot;
        let image = twice.long_term.as_mut().unwrap();
        image.entries.push(image.entries[0].clone());
        assert!(matches!(agent.restore(twice).await, Err(Error::NotASnapshot(_))));
        assert_eq!(agent.working().get::<String>("today").await.unwrap().as_deref(), Some("coffee"));
    })
    .await;
}

#[tokio::test]
async fn below_its_tier_it_is_neither_read_nor_written() {
    let home = Home::sqlite();
    let agent = filled(&home.open().await).await;
    let snapshot = agent.snapshot().await.unwrap();
    let corkboard = home.open_with(Options { tier: Tier::Core, ..home.options() }).await;
    let gated = corkboard.agent("A").unwrap();
    assert!(matches!(gated.long_term(), Err(Error::LicenseRestriction { .. })));
    let stats = gated.stats().await.unwrap();
    assert_eq!((stats.total_entries_long_term, stats.total_entries_forgotten), (0, 0));
    assert_eq!(gated.snapshot().await.unwrap().long_term, None);
    let rev = gated.rev().await.unwrap();
    assert!(matches!(gated.restore(snapshot.clone()).await, Err(Error::LicenseRestriction { .. })));
    assert_eq!(gated.rev().await.unwrap(), rev, "a refused restore changes nothing");
    // A snapshot with an empty long-term memory needs no tier.
    let empty = MemorySnapshot { long_term: Some(Default::default()), ..snapshot };
    gated.restore(empty).await.unwrap();
    assert_eq!(found(&agent.long_term().unwrap(), "tea").await, [1]);
    // Shared cores are available in every tier.
    corkboard.core("shared").unwrap().add(NewCoreEntry::new("open to all")).await.unwrap();
    assert!(corkboard.delete_agent("A").await.unwrap());
    assert_eq!(found(&agent.long_term().unwrap(), "tea").await, [0; 0]);
}

/// An agent's private core belongs to the agent. Other agents with low roles may not change it, and are refused before
/// any of the agent's memory is changed.
#[tokio::test]
async fn only_the_agent_itself_and_people_write_it() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let own = filled(&corkboard).await;
        let as_one = |name: &str, role| own.acting_as(Actor { role, ..super::agent(name) });
        let snapshot = own.snapshot().await.unwrap();
        let itself = as_one("A", Role::Worker);
        itself.long_term().unwrap().add("Ada has a cat").await.unwrap();
        itself.working().set("today", "milk").await.unwrap();
        let both = ClearOptions { working: true, long_term: true };
        for other in [as_one("B", Role::Worker), as_one("B", Role::Reviewer), as_one("A", Role::Observer)] {
            let long_term = other.long_term().unwrap();
            let denied = |refusal: Refusal| assert!(matches!(refusal, Refusal::RoleDenied { .. }), "{refusal}");
            denied(refusal(long_term.add("Ada has a dog").await));
            denied(refusal(long_term.clear().await));
            denied(refusal(other.clear(both).await));
            denied(refusal(other.restore(snapshot.clone()).await));
            assert_eq!(other.working().get::<String>("today").await.unwrap().as_deref(), Some("milk"));
            assert_eq!(found(&long_term, "cat").await, [3], "everybody may read it");
        }
        itself.restore(snapshot.clone()).await.unwrap();
        assert_eq!(found(&own.long_term().unwrap(), "cat").await, [0; 0]);
        // A restore that would not change long-term memory does not touch it.
        as_one("B", Role::Worker).restore(own.snapshot().await.unwrap()).await.unwrap();
        assert_eq!(itself.clear(both).await.unwrap(), 3);
        as_one("H", Role::Human).restore(snapshot).await.unwrap();
        if home.is_shared() {
            let theirs = Options { actor: super::agent("B"), ..home.options() };
            let theirs = home.open_with(theirs).await;
            assert!(matches!(refusal(theirs.delete_agent("A").await), Refusal::RoleDenied { .. }));
            assert_eq!(own.stats().await.unwrap().total_entries_working, 1, "a refused deletion deletes nothing");
            // An agent without long-term memory can be deleted by others.
            corkboard.agent("C").unwrap().working().set("k", "v").await.unwrap();
            assert!(theirs.delete_agent("C").await.unwrap());
            let itself = Options { actor: super::agent("A"), ..home.options() };
            assert!(home.open_with(itself).await.delete_agent("A").await.unwrap());
        }
    })
    .await;
}
