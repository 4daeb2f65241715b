//! With faults everywhere: an acknowledged write is stored once, a failed one is not stored, and only a write with an
//! unknown outcome can be either.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use corkboard::store::{MemoryStore, Store, StoreError};
use corkboard::{Corkboard, Error, Options, Watched};
use corkboard_testing::{Fault, FaultPlan, FaultyStore, Harness};

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

async fn check(store: Arc<dyn Store>, seed: u64) {
    println!("seed {seed}");
    let faulty = Arc::new(FaultyStore::new(store.clone(), FaultPlan::everything(seed)));
    let boards = [
        Corkboard::with_store(faulty.clone(), Options::default()),
        Corkboard::with_store(faulty.clone(), Options::default()),
    ];
    let tasks = (0..24).map(|task| {
        let memory = boards[task % 2].agent("victim").unwrap().working();
        tokio::spawn(async move {
            let mut outcomes = Vec::new();
            for index in 0..8 {
                let note = format!("{task}/{index}");
                outcomes.push((note.clone(), memory.add_note(&note).await.map(|_| ())));
            }
            outcomes
        })
    });
    let mut outcomes = Vec::new();
    for task in futures_util::future::join_all(tasks).await {
        outcomes.extend(task.unwrap());
    }
    faulty.set_plan(FaultPlan::none());
    faulty.settle().await;
    let notes = boards[0].agent("victim").unwrap().working().notes().await.unwrap();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for note in &notes {
        *count.entry(&note.text).or_default() += 1;
    }
    let mut unknown = 0;
    for (note, outcome) in &outcomes {
        let found = count.get(note.as_str()).copied().unwrap_or(0);
        match outcome {
            Ok(()) => assert_eq!(found, 1, "acknowledged {note} (seed {seed})"),
            Err(Error::Store(StoreError::OutcomeUnknown(_))) => {
                unknown += 1;
                assert!(found <= 1, "{note} with unknown outcome is stored {found} times (seed {seed})");
            }
            Err(error) => assert_eq!(found, 0, "{note} failed with {error}, but is stored (seed {seed})"),
        }
    }
    let acknowledged = outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).count();
    println!("{acknowledged} acknowledged, {unknown} unknown, of {}", outcomes.len());
    assert!(acknowledged > 0);
    let replayed = Corkboard::with_store(store, Options::default());
    let read = replayed.agent("victim").unwrap().snapshot().await.unwrap();
    assert_eq!(read.memory, boards[1].agent("victim").unwrap().snapshot().await.unwrap().memory);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_or_doubled_in_memory() {
    let first = corkboard_testing::seed();
    for seed in first..first + 30 {
        check(Arc::new(MemoryStore::shared()), seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_or_doubled_in_files() {
    let first = corkboard_testing::seed();
    for seed in first..first + 5 {
        check(Harness::file(WORKER).open().await, seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_or_doubled_in_sqlite() {
    let first = corkboard_testing::seed();
    for seed in first..first + 5 {
        check(Harness::sqlite(WORKER).open().await, seed).await;
    }
}

#[tokio::test]
async fn an_append_that_may_still_land_is_never_reported_as_failed() {
    let store = Arc::new(MemoryStore::shared());
    let faulty = Arc::new(FaultyStore::new(store, FaultPlan::none()));
    // Do not wait for the outcome.
    let options = Options { busy_timeout: Duration::ZERO, ..Options::default() };
    let memory = Corkboard::with_store(faulty.clone(), options).agent("victim").unwrap().working();
    memory.add_note("before").await.unwrap();
    faulty.next_appends([Fault::LandLater]);
    let outcome = memory.add_note("late").await;
    assert!(matches!(outcome, Err(Error::Store(StoreError::OutcomeUnknown(_)))), "{outcome:?}");
    faulty.settle().await;
    assert_eq!(memory.notes().await.unwrap().len(), 2, "the append should land after all");
}

#[tokio::test]
async fn a_lost_answer_is_looked_up_until_the_outcome_is_known() {
    let store = Arc::new(MemoryStore::shared());
    let faulty = Arc::new(FaultyStore::new(store, FaultPlan::none()));
    let memory = Corkboard::with_store(faulty.clone(), Options::default()).agent("victim").unwrap().working();
    memory.add_note("before").await.unwrap();
    // The first attempt is still on its way when the second is refused and the third is lost.
    faulty.next_appends([Fault::LandLater, Fault::Refuse, Fault::CutBefore]);
    memory.add_note("late").await.unwrap();
    faulty.settle().await;
    assert_eq!(memory.notes().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_late_append_matches_its_callers_answer() {
    let store = Arc::new(MemoryStore::shared());
    let faulty = Arc::new(FaultyStore::new(store, FaultPlan::none()));
    let memory = Corkboard::with_store(faulty.clone(), Options::default()).agent("victim").unwrap().working();
    memory.add_note("before").await.unwrap();
    for round in 0..5 {
        let key = format!("key {round}");
        // Only the first attempt ever lands.
        faulty.next_appends([Fault::LandLater]);
        faulty.next_appends([Fault::CutBefore; 1000]);
        let mut calls = 0;
        let told = memory
            .update(&key, move |_: Option<u64>| {
                calls += 1;
                calls
            })
            .await
            .unwrap();
        faulty.settle().await;
        faulty.clear_script();
        assert_eq!(memory.get::<u64>(&key).await.unwrap(), Some(told), "round {round}");
    }
}

/// A writer, and a watcher whose store fails on demand.
fn beside_a_faulty_store(options: Options) -> (Corkboard, Arc<FaultyStore>, Corkboard) {
    let store = Arc::new(MemoryStore::shared());
    let faulty = Arc::new(FaultyStore::new(store.clone(), FaultPlan::none()));
    let watching = Corkboard::with_store(faulty.clone(), options);
    (Corkboard::with_store(store, Options::default()), faulty, watching)
}

#[tokio::test]
async fn a_watcher_whose_read_fails_after_a_wake_up_reads_again_before_it_reports() {
    let options = Options { bookmark_interval: Duration::from_millis(1), ..Options::default() };
    let (writing, faulty, watching) = beside_a_faulty_store(options);
    let memory = writing.agent("a").unwrap().working();
    let mut watch = watching.agent("a").unwrap().watch(0).await.unwrap();
    assert_eq!(watch.next().await.unwrap(), Watched::Bookmark { rev: 0 });
    for rev in 1..=3 {
        faulty.refuse_reads(4);
        memory.add_note("news").await.unwrap();
        // A bookmark would claim that there is no new revision.
        let told = watch.next().await.unwrap();
        assert!(matches!(told, Watched::Revision { rev: found, .. } if found == rev), "{rev}: {told:?}");
        assert_eq!(faulty.reads_to_refuse(), 0);
        assert_eq!(watch.next().await.unwrap(), Watched::Bookmark { rev });
    }
}

#[tokio::test]
async fn a_watcher_whose_read_failed_retries_by_itself() {
    // Nothing else happens that could wake it.
    let options = Options { bookmark_interval: Duration::from_secs(3600), ..Options::default() };
    let (writing, faulty, watching) = beside_a_faulty_store(options);
    let memory = writing.agent("a").unwrap().working();
    let mut watch = watching.agent("a").unwrap().watch(0).await.unwrap();
    faulty.refuse_reads(2);
    memory.add_note("news").await.unwrap();
    let told =
        tokio::time::timeout(Duration::from_secs(120), watch.next()).await.expect("the watcher should retry").unwrap();
    assert!(matches!(told, Watched::Revision { rev: 1, .. }), "{told:?}");
}

#[tokio::test]
async fn a_failed_read_of_history_does_not_skip_to_live() {
    let options = Options { max_watch_lag: 5, bookmark_interval: Duration::from_millis(1), ..Options::default() };
    let (writing, faulty, watching) = beside_a_faulty_store(options);
    let memory = writing.agent("a").unwrap().working();
    for _ in 0..20 {
        memory.add_note("history").await.unwrap();
    }
    // Its first read and some more.
    faulty.refuse_reads(4);
    let mut watch = watching.agent("a").unwrap().watch(0).await.unwrap();
    memory.add_note("news").await.unwrap();
    for rev in 1..=21 {
        let told = watch.next().await.unwrap();
        assert!(matches!(told, Watched::Revision { rev: found, .. } if found == rev), "{rev}: {told:?}");
    }
    assert_eq!(faulty.reads_to_refuse(), 0);
}

/// Only the store itself is asked: no caller writes meanwhile.
#[tokio::test]
async fn every_store_finds_out_by_itself_that_it_can_write_again() {
    let harnesses = [
        Harness::memory(),
        Harness::file(WORKER),
        Harness::sqlite(WORKER),
        Harness::redis(WORKER),
        Harness::postgres(WORKER),
    ];
    for harness in harnesses {
        let full = Arc::new(FaultyStore::new(harness.open().await, FaultPlan::none()));
        let corkboard = Corkboard::with_store(full.clone(), Options::default());
        let (memory, kind) = (corkboard.agent("ada").unwrap().working(), corkboard.store_info().kind);
        memory.set("number", &1).await.unwrap();
        corkboard.check_writes().await.unwrap();
        for round in 0..2 {
            full.set_full(true);
            assert!(memory.set("number", &2).await.unwrap_err().is_retryable(), "{kind}");
            let failing = corkboard.check_writes().await;
            assert!(matches!(failing, Err(Error::Store(StoreError::NoSpace(_)))), "{kind} {round}: {failing:?}");
            full.set_full(false);
            let recovered = async {
                while corkboard.check_writes().await.is_err() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(60), recovered).await.expect(kind);
        }
        assert_eq!(memory.get::<u32>("number").await.unwrap(), Some(1), "{kind}");
        // The probe write creates nothing that is listed.
        assert_eq!(corkboard.agents(None, 10).await.unwrap().len(), 1, "{kind}");
        assert_eq!(corkboard.boards(None, 10).await.unwrap().len(), 0, "{kind}");
        assert_eq!(corkboard.check().await.unwrap(), [""; 0], "{kind}");
        memory.set("number", &3).await.unwrap();
    }
}
