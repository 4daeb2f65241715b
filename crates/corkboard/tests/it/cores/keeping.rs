//! Memory cores in their store: copied, checked, flushed, evicted, deleted.

use std::time::Duration;

use corkboard::cores::{CoreEntryId, NewCoreEntry};
use corkboard::store::Store;
use corkboard::transfer::{ImportMode, MigrateOptions, Spaces, export, import, migrate};
use corkboard::{ForgottenEntries, Options, SavePolicy, SnapshotPolicy};

use super::{found, id};
use crate::common::{Home, in_time};

async fn open_store(home: &Home) -> std::sync::Arc<dyn Store> {
    corkboard::store::open(home.url(), &home.options()).await.unwrap()
}

/// A shared core and an agent's private core, each with a snapshot and some log after it. One entry expires later.
async fn busy(home: &Home) {
    let snapshots = SnapshotPolicy { events: 5, bytes: u64::MAX };
    let corkboard = home.open_with(Options { snapshots, ..home.options() }).await;
    let core = corkboard.core("rules").unwrap();
    for number in 1..=7 {
        core.add(format!("rule {number}")).await.unwrap();
    }
    let expires_at = Some(home.clock_now() + Duration::from_secs(60));
    core.add(NewCoreEntry { expires_at, .."for a minute".into() }).await.unwrap();
    core.forget(id(3), Some("outdated")).await.unwrap();
    corkboard.agent("A").unwrap().long_term().unwrap().add("a secret").await.unwrap();
    corkboard.close().await.unwrap();
}

async fn is_the_same(copy: &Home) {
    let corkboard = copy.open().await;
    assert!(corkboard.check().await.unwrap().is_empty());
    let listed = corkboard.cores(None, 9).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|core| (core.id.as_str(), core.rev)).collect();
    assert_eq!(listed, [("agent:A", 1), ("rules", 9)]);
    let core = corkboard.core("rules").unwrap();
    assert_eq!(found(&core, "rule").await.len(), 6);
    assert_eq!(core.entries().forgotten(ForgottenEntries::Only).await.unwrap().items[0].id, id(3));
    assert_eq!(found(&corkboard.agent("A").unwrap().long_term().unwrap(), "secret").await, [1]);
    copy.clock.advance(Duration::from_secs(60));
    assert_eq!(corkboard.tick().await.unwrap(), 1);
    assert_eq!(core.stats().await.unwrap().rev, 10);
}

#[tokio::test]
async fn cores_are_exported_and_imported() {
    let (from, to) = (Home::sqlite(), Home::sqlite());
    busy(&from).await;
    let mut bytes = Vec::new();
    let exported = export(&*open_store(&from).await, &Spaces::All, &mut bytes, &mut |_| {}).await.unwrap();
    assert_eq!(exported.spaces, 2);
    let store = open_store(&to).await;
    let imported = import(&*store, &bytes[..], ImportMode::Write, &mut |_| {}).await.unwrap();
    assert!(imported.problems.is_empty(), "{:?}", imported.problems);
    store.close().await.unwrap();
    is_the_same(&to).await;
}

#[tokio::test]
async fn cores_are_migrated() {
    let (from, to) = (Home::sqlite(), Home::sqlite());
    busy(&from).await;
    let (source, target) = (open_store(&from).await, open_store(&to).await);
    let migrated = migrate(&*source, &*target, MigrateOptions::default(), &mut |_| {}).await.unwrap();
    assert!(migrated.problems.is_empty(), "{:?}", migrated.problems);
    assert_eq!(migrated.spaces.len(), 2);
    target.close().await.unwrap();
    is_the_same(&to).await;
}

#[tokio::test]
async fn a_core_saved_at_intervals_is_complete_after_closing() {
    let home = Home::sqlite();
    let options = Options { save: SavePolicy::Interval(Duration::from_secs(3600)), ..home.options() };
    let corkboard = home.open_with(options.clone()).await;
    corkboard.core("rules").unwrap().add("one").await.unwrap();
    corkboard.close().await.unwrap();
    let reopened = home.open_with(options).await;
    assert_eq!(found(&reopened.core("rules").unwrap(), "one").await, [1]);
}

#[tokio::test]
async fn cores_and_agents_share_one_memory_budget() {
    let home = Home::sqlite();
    let budget = 300_000;
    let corkboard = home.open_with(Options { memory_budget: budget, ..home.options() }).await;
    let text = "x".repeat(20_000);
    for index in 0..40 {
        let core = corkboard.core(&format!("core-{index}")).unwrap();
        core.add(text.clone()).await.unwrap();
        corkboard.agent(&format!("agent-{index}")).unwrap().working().set("large", &text).await.unwrap();
    }
    in_time(async {
        while corkboard.resident().1 > budget {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (loaded, bytes) = corkboard.resident();
    assert!(loaded < 20 && bytes > 100_000, "{loaded} loaded, {bytes} bytes");
    // Evicted cores are loaded again.
    for index in 0..40 {
        let core = corkboard.core(&format!("core-{index}")).unwrap();
        assert_eq!(core.get(CoreEntryId(1)).await.unwrap().unwrap().content.len(), 20_000);
    }
}

#[tokio::test]
async fn a_deleted_core_is_gone_and_no_longer_listed() {
    let home = Home::sqlite();
    let corkboard = home.open().await;
    for name in ["b", "a", "c"] {
        corkboard.core(name).unwrap().add("one").await.unwrap();
    }
    let first = corkboard.cores(None, 2).await.unwrap();
    assert_eq!(first.iter().map(|listed| listed.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let rest = corkboard.cores(Some(&first[1].id), 2).await.unwrap();
    assert_eq!(rest.iter().map(|listed| listed.id.as_str()).collect::<Vec<_>>(), ["c"]);
    assert!(corkboard.delete_core("b").await.unwrap());
    assert!(corkboard.delete_core("c").hard().await.unwrap());
    assert!(!corkboard.delete_core("b").await.unwrap());
    assert_eq!(corkboard.cores(None, 9).await.unwrap().len(), 1);
    let anew = corkboard.core("b").unwrap();
    assert_eq!(anew.stats().await.unwrap().entries, 0);
    anew.add("one").await.unwrap();
    assert_eq!(anew.stats().await.unwrap().rev, 3, "a recreated core continues the revisions");
}
