//! A large memory core. `CORK_CORE_ENTRIES` sets the number of entries; the default of ten thousand keeps the suite
//! fast.

use corkboard::ForgottenEntries;
use corkboard::cores::{NewCoreEntry, Withdrawal};

use super::{agent, found, id};
use crate::common::Home;

#[tokio::test]
async fn a_large_core_is_filled_searched_and_reloaded() {
    let entries: u64 = std::env::var("CORK_CORE_ENTRIES").map_or(10_000, |count| count.parse().unwrap());
    const BATCH: u64 = 5_000;
    let home = Home::sqlite();
    let corkboard = home.open().await;
    let core = corkboard.core("large").unwrap();
    let lesson = |number: u64| NewCoreEntry {
        importance: Some((number % 10) as f32 / 10.0),
        tags: vec![format!("topic{}", number % 100)],
        ..format!("Lesson {number}: service s{} needs setting k{} in region r{}", number % 997, number, number % 7)
            .into()
    };
    for first in (0..entries).step_by(BATCH as usize) {
        let batch: Vec<_> = (first..entries.min(first + BATCH)).map(lesson).collect();
        core.acting_as(agent(&format!("agent-{}", first / BATCH))).add_many(batch).await.unwrap();
    }
    let stats = core.stats().await.unwrap();
    assert_eq!((stats.entries, stats.rev), (entries, entries.div_ceil(BATCH)));
    // Add all entries again as another agent: only their origins are new.
    core.acting_as(agent("again")).add_many((0..BATCH).map(lesson).collect()).await.unwrap();
    assert_eq!(core.stats().await.unwrap().entries, entries);
    assert_eq!(found(&core, "k4321").await, [4322]);
    core.forget(id(4322), None).await.unwrap();
    assert_eq!(found(&core, "k4321").await, [0; 0]);
    corkboard.close().await.unwrap();
    let reopened = home.open().await;
    let core = reopened.core("large").unwrap();
    assert_eq!(core.entries().forgotten(ForgottenEntries::Only).await.unwrap().items[0].id, id(4322));
    core.restore(id(4322)).await.unwrap();
    assert_eq!(found(&core, "k4321").await, [4322]);
    let gone = core.withdraw(Withdrawal::Author { name: "agent-0".into() }).await.unwrap();
    assert_eq!((gone.removed, gone.kept), (0, BATCH), "another agent contributed them, too");
    let gone = core.withdraw(Withdrawal::Author { name: "again".into() }).await.unwrap();
    assert_eq!((gone.removed, gone.kept), (BATCH, 0));
    assert_eq!(core.stats().await.unwrap().entries, entries - BATCH);
}
