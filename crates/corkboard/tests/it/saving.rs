//! When a change is acknowledged, when it is written, and what closing writes.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use corkboard::boards::NewBoard;
use corkboard::store::{Cursor, MemoryStore, Store, StoreError};
use corkboard::{Corkboard, Error, Limits, Options, SavePolicy, SpaceKind, Watched};
use corkboard_core::{AgentId, SpaceId};
use corkboard_testing::{Fault, FaultPlan, FaultyStore};
use futures_util::future::join_all;

fn agent_space(agent: &str) -> SpaceId {
    SpaceId::agent(&AgentId::new(agent, &Limits::default()).unwrap())
}

fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3600)
}

fn url(folder: &tempfile::TempDir) -> String {
    format!("sqlite:{}", folder.path().join("corkboard.db").display())
}

#[tokio::test]
async fn save_interval_acknowledges_at_once_and_writes_soon() {
    let folder = tempfile::tempdir().unwrap();
    let interval = SavePolicy::Interval(Duration::from_secs(3600));
    let options = Options { save: interval, bookmark_interval: Duration::from_millis(1), ..Options::default() };
    let corkboard = Corkboard::open_with(&url(&folder), options.clone()).await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    let mut watch = agent.watch(0).await.unwrap();
    agent.working().set("key", "value").await.unwrap();
    assert_eq!(agent.working().get::<String>("key").await.unwrap().as_deref(), Some("value"));
    assert_eq!(watch.next().await.unwrap(), Watched::Bookmark { rev: 0 }, "watchers see only written changes");
    let second = Corkboard::open(&url(&folder)).await.err();
    assert!(matches!(second, Some(Error::Store(StoreError::Locked { .. }))), "{second:?}");
    corkboard.close().await.unwrap();
    drop((corkboard, agent, watch));

    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    assert_eq!(corkboard.agent("a").unwrap().working().get::<String>("key").await.unwrap().as_deref(), Some("value"));
    let sole = Corkboard::open_with(&url(&folder), options).await.err();
    assert!(
        matches!(sole, Some(Error::Store(StoreError::Locked { .. }))),
        "the store should refuse to share: {sole:?}"
    );
}

/// Starts a read that must flush first, and leaves it alone while the store handles it. Closing must not wait for it.
async fn check_lying<T>(
    store: &FaultyStore,
    corkboard: Corkboard,
    reading: impl Future<Output = corkboard::Result<T>>,
) {
    store.hold_after(0);
    let mut reading = Box::pin(reading);
    assert!(reading.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    store.held().await;
    store.let_go();
    let closed = tokio::time::timeout(Duration::from_secs(120), corkboard.close()).await;
    closed.expect("closing should not wait for an abandoned read").unwrap();
}

#[tokio::test]
async fn an_abandoned_read_does_not_stop_a_flush() {
    let open = || {
        let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new()), FaultPlan::none()));
        // Only the test itself calls the store.
        let save = SavePolicy::Interval(hours(1));
        let options = Options { save, tick_interval: hours(1), ..Options::default() };
        (store.clone(), Corkboard::with_store(store, options))
    };
    let (store, corkboard) = open();
    corkboard.agent("a").unwrap().working().set("key", "value").await.unwrap();
    let log = corkboard.log(SpaceKind::Agent, "a").unwrap();
    check_lying(&store, corkboard, log.after(Cursor { rev: 0, commit: None }, 10)).await;

    let (store, corkboard) = open();
    let board = corkboard.create_board(NewBoard { name: "b".into(), ..NewBoard::default() }).await.unwrap();
    check_lying(&store, corkboard, board.at(1)).await;
}

#[tokio::test]
async fn save_interval_writes_at_least_that_often() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { save: SavePolicy::Interval(Duration::from_millis(5)), ..Options::default() };
    let corkboard = Corkboard::open_with(&url(&folder), options).await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    let mut watch = agent.watch(0).await.unwrap();
    for index in 0..50 {
        agent.working().set("key", &index).await.unwrap();
    }
    for expected in 1..=50 {
        assert!(matches!(watch.next().await.unwrap(), Watched::Revision { rev, .. } if rev == expected));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_answers_every_caller_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|index| {
            let memory = corkboard.agent(&format!("agent-{}", index % 5)).unwrap().working();
            tokio::spawn(async move { (index, memory.set(&format!("key-{index}"), &index).await) })
        })
        .collect();
    tokio::task::yield_now().await;
    corkboard.close().await.unwrap();
    let results: Vec<_> = join_all(tasks).await.into_iter().map(Result::unwrap).collect();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    for (index, result) in results {
        let memory = corkboard.agent(&format!("agent-{}", index % 5)).unwrap().working();
        let found = memory.get::<u32>(&format!("key-{index}")).await.unwrap();
        match result {
            Ok(_) => assert_eq!(found, Some(index)),
            Err(Error::Closed) => assert_eq!(found, None),
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn after_closing_everything_answers_closed() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    let memory = agent.working();
    memory.set("key", &1).await.unwrap();
    let scope = memory.create_scope("scope").await.unwrap();
    scope.set("key", &2).await.unwrap();
    corkboard.close().await.unwrap();
    assert!(matches!(memory.get::<u32>("key").await, Err(Error::Closed)));
    assert!(matches!(memory.set("key", &3).await, Err(Error::Closed)));
    assert!(matches!(memory.len().await, Err(Error::Closed)));
    assert!(matches!(scope.set("key", &3).await, Err(Error::Closed)));
    assert!(matches!(memory.create_scope("another").await, Err(Error::Closed)));
    assert!(matches!(agent.stats().await, Err(Error::Closed)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_during_a_flush_loses_nothing() {
    for _ in 0..30 {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { save: SavePolicy::Interval(Duration::from_millis(1)), ..Options::default() };
        let corkboard = Corkboard::open_with(&url(&folder), options).await.unwrap();
        let memory = corkboard.agent("a").unwrap().working();
        let mut acknowledged = 0;
        let started = tokio::time::Instant::now();
        while started.elapsed() < Duration::from_millis(5) {
            memory.set("count", &acknowledged).await.unwrap();
            acknowledged += 1;
        }
        corkboard.close().await.unwrap();
        let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
        let count = corkboard.agent("a").unwrap().working().get::<u32>("count").await.unwrap();
        assert_eq!(count, Some(acknowledged - 1));
    }
}

#[tokio::test]
async fn a_flush_whose_answer_was_lost_continues_where_it_ended() {
    let store = Arc::new(MemoryStore::new());
    let faulty = Arc::new(FaultyStore::new(store.clone(), FaultPlan::none()));
    let options = Options { save: SavePolicy::Interval(hours(1)), ..Options::default() };
    let corkboard = Corkboard::with_store(faulty.clone(), options);
    let memory = corkboard.agent("a").unwrap().working();
    memory.set("one", &1).await.unwrap();
    memory.set("two", &2).await.unwrap();
    faulty.next_appends([Fault::CutAfter, Fault::CutBefore]);
    corkboard.close().await.unwrap();
    assert_eq!(store.head(&agent_space("a")).await.unwrap().rev, 2);
}

#[tokio::test]
async fn save_interval_continues_while_handles_exist() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { save: SavePolicy::Interval(Duration::from_millis(5)), ..Options::default() };
    let agent = Corkboard::open_with(&url(&folder), options).await.unwrap().agent("a").unwrap();
    agent.working().set("key", "value").await.unwrap();
    let mut watch = agent.watch(0).await.unwrap();
    assert!(matches!(watch.next().await.unwrap(), Watched::Revision { rev: 1, .. }), "the change should be written");
}

#[tokio::test]
async fn save_interval_stops_acknowledging_what_it_cannot_write() {
    let faulty = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new()), FaultPlan::none()));
    let options = Options { save: SavePolicy::Interval(hours(1)), ..Options::default() };
    let memory = Corkboard::with_store(faulty.clone(), options).agent("a").unwrap().working();
    memory.set("first", &0).await.unwrap();
    faulty.next_appends([Fault::Refuse; 20]);
    let text = "x".repeat(1_000_000);
    let mut refused = None;
    for index in 0..20 {
        if let Err(error) = memory.set(&format!("key-{index}"), &text).await {
            refused = Some((index, error.code()));
            break;
        }
    }
    assert!(matches!(refused, Some((4..=6, "unavailable"))), "{refused:?}");
}

#[tokio::test]
async fn a_watcher_learns_at_once_that_the_corkboard_was_closed() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    let mut watch = agent.watch(0).await.unwrap();
    let waiting = tokio::spawn(async move { watch.next().await });
    tokio::task::yield_now().await;
    corkboard.close().await.unwrap();
    let heard =
        tokio::time::timeout(Duration::from_secs(10), waiting).await.expect("closing should end the watch at once");
    assert!(matches!(heard.unwrap(), Err(Error::Closed)));
    assert!(matches!(agent.watch(0).await, Err(Error::Closed)));
    assert!(matches!(corkboard.agents(None, 1).await, Err(Error::Closed)));
    assert!(matches!(corkboard.delete_agent("a").await, Err(Error::Closed)));
    assert!(matches!(corkboard.tick().await, Err(Error::Closed)));
}

#[tokio::test]
async fn closing_releases_the_store_even_while_handles_exist() {
    let folder = tempfile::tempdir().unwrap();
    let corkboard = Corkboard::open(&url(&folder)).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    memory.set("key", "value").await.unwrap();
    corkboard.close().await.unwrap();
    let options = Options { save: SavePolicy::Interval(hours(1)), ..Options::default() };
    let sole = Corkboard::open_with(&url(&folder), options).await.unwrap();
    assert_eq!(sole.agent("a").unwrap().working().len().await.unwrap(), 1);
    assert!(matches!(memory.len().await, Err(Error::Closed)));
}
