//! Servers that are killed, restarted, emptied, or lose their scripts, under load.

use std::time::Duration;

use corkboard::store::{Store, StoreError};
use corkboard::{Corkboard, Error, Options, Watched};
use corkboard_testing::servers::TestServer;

use crate::redis_store::support::{Writers, eventually, in_time, open, redis, rounds, space};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_loses_nothing_acknowledged_and_applies_nothing_twice() {
    let mut server = TestServer::redis();
    let corkboard = Corkboard::open(&server.url()).await.unwrap();
    let mut dice = corkboard_testing::dice();
    for round in 0..rounds() {
        let writers = Writers::start(&corkboard, &format!("round-{round}"));
        writers.progress(50).await;
        tokio::time::sleep(Duration::from_micros(dice.u64(0..20_000))).await;
        let down = Duration::from_millis(dice.u64(0..300));
        let url = server.url();
        server = tokio::task::spawn_blocking(move || {
            server.kill();
            std::thread::sleep(down);
            server.start();
            server
        })
        .await
        .unwrap();
        // The writers find the server again by themselves.
        writers.progress(50).await;
        let ledger = writers.check(&url).await;
        println!("round {round}: {} outcomes unknown", ledger.unknown);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_scripts_are_sent_again() {
    let server = TestServer::redis();
    let corkboard = Corkboard::open(&server.url()).await.unwrap();
    let writers = Writers::start(&corkboard, "writer");
    for round in 0..50 {
        redis::<()>(&server, &["SCRIPT", "FLUSH", "SYNC"]);
        // A new log with a due date: the only case in which several commands are sent together.
        let days = corkboard::EntryMetadata { expiry_days: Some(1), ..Default::default() };
        let memory = corkboard.agent(&format!("new-{round}")).unwrap().working();
        memory.set("key", &round).metadata(days).await.unwrap();
        writers.progress(1).await;
    }
    let ledger = writers.check(&server.url()).await;
    assert_eq!(ledger.unknown, 0);
    assert_eq!(corkboard.agents(None, 1000).await.unwrap().len(), 50 + 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unavailable_server_is_reported_in_time_and_found_again() {
    let mut server = TestServer::redis();
    // How long a lost answer is looked up.
    let options = Options { busy_timeout: Duration::from_secs(2), ..Options::default() };
    let corkboard = Corkboard::open_with(&server.url(), options).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    memory.set("key", "before").await.unwrap();
    server.kill();
    // The connection's end may be noticed before or after the call is sent.
    let told = in_time(memory.set("key", "lost")).await;
    assert!(matches!(told, Err(Error::Store(StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_)))), "{told:?}");
    let told = in_time(memory.get::<String>("key")).await;
    assert!(matches!(told, Err(Error::Store(StoreError::Unavailable(_)))), "{told:?}");
    let told = in_time(memory.set("key", "denied")).await;
    assert!(matches!(told, Err(Error::Store(StoreError::Unavailable(_)))), "{told:?}");
    let opened = in_time(Corkboard::open(&server.url())).await;
    assert!(matches!(opened, Err(Error::Store(StoreError::Unavailable(_)))), "{opened:?}");
    server.start();
    memory.set("key", "after").await.unwrap();
    assert_eq!(memory.get::<String>("key").await.unwrap().as_deref(), Some("after"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_emptied_under_a_running_process_is_noticed() {
    let server = TestServer::redis();
    let corkboard = Corkboard::open(&server.url()).await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    let memory = agent.working();
    let days = || corkboard::EntryMetadata { expiry_days: Some(1), ..Default::default() };
    for index in 0..5 {
        memory.set(&format!("key-{index}"), &index).metadata(days()).await.unwrap();
    }
    let mut watch = agent.watch(5).await.unwrap();
    redis::<()>(&server, &["FLUSHALL"]);
    assert_eq!(memory.len().await.unwrap(), 0, "a read should be current and find nothing");
    // Writing starts again, including hints, although this process remembers writing the same due date before.
    memory.set("key", "new").metadata(days()).await.unwrap();
    assert_eq!((agent.rev().await.unwrap(), memory.len().await.unwrap()), (1, 1));
    let told = in_time(async {
        loop {
            match watch.next().await {
                Ok(Watched::Bookmark { .. }) => {}
                other => break other,
            }
        }
    });
    assert!(matches!(told.await, Err(Error::Store(StoreError::Future { asked: 5, head: 1 }))));
    assert_eq!(corkboard.agents(None, 10).await.unwrap().len(), 1);
    assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
    let fresh = Corkboard::open(&server.url()).await.unwrap();
    assert_eq!(fresh.agent("a").unwrap().working().get::<String>("key").await.unwrap().as_deref(), Some("new"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_is_the_servers() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let (second, _): (i64, i64) = redis(&server, &["TIME"]);
    let ours = store.now().unwrap().as_second();
    assert!((second - ours).abs() < 10, "{second} : {ours}");
    // The clock works without the server.
    drop(server);
    let later = || async { store.now().unwrap().as_millisecond() > ours * 1000 + 1000 };
    eventually("time passes", later).await;
    assert!(matches!(in_time(store.head(&space("a"))).await, Err(StoreError::Unavailable(_))));
}
