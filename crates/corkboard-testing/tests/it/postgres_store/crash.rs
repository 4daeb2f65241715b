//! A server that is killed, and one that is unavailable.

use corkboard::{ErrorKind, Watched};
use corkboard_testing::servers::TestServer;

use super::*;

/// The server is killed under load and restarted, repeatedly: no acknowledged write is lost, nothing is applied twice,
/// and all callers recover by themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_nothing_acknowledged() {
    let mut dice = corkboard_testing::dice();
    let mut server = TestServer::postgres();
    let patience = Duration::from_secs(5);
    let boards = [open(&server.url(), patience).await, open(&server.url(), patience).await];
    let storm = Storm::start(&boards);
    for _ in 0..rounds(3) {
        storm.more(100).await;
        tokio::time::sleep(Duration::from_micros(dice.u64(0..5000))).await;
        tokio::task::block_in_place(|| {
            server.kill();
            server.start();
        });
    }
    storm.more(100).await;
    storm.judge(&open(&server.url(), patience).await).await;
}

/// While the server is unavailable, calls fail within a bounded time. When it is back, calls and watchers work again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_that_restarts_is_found_again() {
    let mut server = TestServer::postgres();
    let (one, two) = (open(&server.url(), Duration::from_secs(2)).await, patient(&server.url()).await);
    let memory = one.agent("ada").unwrap().working();
    memory.set("key", &1).await.unwrap();
    let mut watch = one.agent("ada").unwrap().watch(1).await.unwrap();
    tokio::task::block_in_place(|| server.kill());
    eventually("the outage is noticed", || async {
        memory.get::<u32>("key").await.is_err_and(|error| error.kind() == ErrorKind::Unavailable)
    })
    .await;
    let refused = memory.set("key", &2).await.map(|_| ());
    assert!(matches!(refused, Err(Error::Store(StoreError::Unavailable(_)))), "{refused:?}");
    assert!(two.load(&space("ada")).await.is_err_and(|error| error.is_retryable()));
    tokio::task::block_in_place(|| server.start());
    eventually("the store works again", || async { memory.set("key", &3).await.is_ok() }).await;
    let seen = tokio::time::timeout(Duration::from_secs(120), watch.next()).await.expect("the watcher should wake up");
    assert!(matches!(seen.unwrap(), Watched::Revision { rev: 2, .. }));
    eventually("the other store handle works again", || async { two.load(&space("ada")).await.is_ok() }).await;
}
