//! Connections that are cut, delayed and refused.

use corkboard::{ErrorKind, Watched};
use corkboard_testing::{Direction, PostgresSchema, Proxy};

use super::*;

/// A schema on the shared server, and a proxy in front of it.
async fn behind_proxy() -> (PostgresSchema, Proxy, String) {
    let schema = PostgresSchema::on_shared_server();
    let proxy = Proxy::start(schema.port()).await;
    let url = schema.url().replace(&format!(":{}/", schema.port()), &format!(":{}/", proxy.port()));
    (schema, proxy, url)
}

/// Cuts happen anywhere and in both directions, even between a commit and its answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_cut_mid_commit_lose_and_repeat_nothing() {
    let mut dice = corkboard_testing::dice();
    let (schema, proxy, url) = behind_proxy().await;
    let patience = Duration::from_secs(10);
    let boards = [open(&url, patience).await, open(&url, patience).await];
    let storm = Storm::start(&boards);
    for _ in 0..rounds(25) {
        storm.more(20).await;
        let direction = if dice.bool() { Direction::ToServer } else { Direction::ToClient };
        proxy.cut_after(direction, dice.u64(1..4000));
        eventually("the cut", || async { !proxy.cut_is_pending() }).await;
    }
    storm.more(20).await;
    storm.judge(&open(&schema.url(), patience).await).await;
}

/// If the answer to a commit is late, the commit may have happened, and the caller learns that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_held_up_for_too_long_is_an_unknown_outcome() {
    let (schema, proxy, url) = behind_proxy().await;
    let direct = patient(&schema.url()).await;
    let store = store(&url, Duration::from_secs(2)).await;
    let space = space("held");
    let mut head = Head::EMPTY;
    let landed = loop {
        head = put(&*store, &space, head, b"1").await;
        // The connection is free again once notifications are sent.
        tokio::time::sleep(Duration::from_millis(100)).await;
        proxy.delay(Direction::ToClient, Duration::from_secs(3600));
        let late = append(&space, head, b"2");
        let landed = new_head(&late);
        match store.append(late).await {
            Err(StoreError::OutcomeUnknown(_)) => break landed,
            // The open connection was in use and no other was available, so nothing was sent.
            Err(StoreError::Unavailable(_)) => assert_eq!(direct.head(&space).await, Ok(head)),
            other => panic!("{other:?}"),
        }
        proxy.delay(Direction::ToClient, Duration::ZERO);
        eventually("the store works again", || async { store.head(&space).await == Ok(head) }).await;
    };
    assert_eq!(direct.head(&space).await, Ok(landed));
    assert!(store.head(&space).await.is_err_and(|error| error.is_retryable()));
    proxy.delay(Direction::ToClient, Duration::ZERO);
    eventually("the store works again", || async { store.head(&space).await == Ok(landed) }).await;
}

/// A server that accepts connections but sends nothing, like a frozen machine: calls end after a timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_nothing_to_new_connections_is_unavailable() {
    let (_schema, proxy, url) = behind_proxy().await;
    let store = store(&url, Duration::from_secs(3)).await;
    let space = space("mute");
    let head = put(&*store, &space, Head::EMPTY, b"1").await;
    proxy.delay(Direction::ToClient, Duration::from_secs(3600));
    proxy.cut();
    let late = append(&space, head, b"2");
    let landed = new_head(&late);
    let mute = async {
        let appended = store.append(late).await;
        // It may have been on its way when the connection was cut.
        let told = matches!(appended, Err(StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_)));
        assert!(told, "{appended:?}");
        let read = store.head(&space).await;
        assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    };
    tokio::time::timeout(Duration::from_secs(60), mute).await.expect("the call should end");
    proxy.delay(Direction::ToClient, Duration::ZERO);
    eventually("the store works again", || async {
        let current = store.head(&space).await;
        current == Ok(head) || current == Ok(landed)
    })
    .await;
}

/// A delayed commit happens late or not at all, but never twice, and it is not reported as failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_held_up_for_too_long_is_done_once_at_most() {
    let (schema, proxy, url) = behind_proxy().await;
    let corkboard = open(&url, Duration::from_secs(2)).await;
    let memory = corkboard.agent("ada").unwrap().working();
    memory.set("log", "").await.unwrap();
    // The notification of the first write uses the same connection; wait for it.
    tokio::time::sleep(Duration::from_millis(200)).await;
    proxy.delay(Direction::ToServer, Duration::from_secs(3600));
    let appending = tokio::spawn(async move { memory.append("log", "once").await.map(|_| ()) });
    tokio::time::sleep(Duration::from_secs(5)).await;
    proxy.delay(Direction::ToServer, Duration::ZERO);
    let outcome = appending.await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let fresh = Corkboard::open(&schema.url()).await.unwrap();
    let log: Option<String> = fresh.agent("ada").unwrap().working().get("log").await.unwrap();
    let expected: &[&str] = match &outcome {
        Ok(()) => &["once"],
        Err(Error::Store(StoreError::OutcomeUnknown(_))) => &["once", ""],
        // Every connection was in use and no other could be opened, so it was not sent.
        Err(_) => &[""],
    };
    assert!(expected.contains(&log.as_deref().unwrap()), "{outcome:?}: {log:?}");
}

/// While the server refuses connections, calls say so and write nothing. Then they work again by themselves.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_is_unavailable_until_it_accepts() {
    let (_schema, proxy, url) = behind_proxy().await;
    let corkboard = open(&url, Duration::from_secs(2)).await;
    let memory = corkboard.agent("ada").unwrap().working();
    memory.set("key", &1).await.unwrap();
    proxy.refuse();
    proxy.cut();
    eventually("the cut is noticed", || async { memory.get::<u32>("key").await.is_err() }).await;
    let refused = memory.set("key", &2).await.map(|_| ());
    assert!(refused.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unavailable), "{refused:?}");
    proxy.accept();
    eventually("the store works again", || async { memory.get::<u32>("key").await.ok() == Some(Some(1)) }).await;
    memory.set("key", &3).await.unwrap();
}

/// Calls wait during a short outage, so nobody notices it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_outage_is_ridden_out() {
    let (_schema, proxy, url) = behind_proxy().await;
    let corkboard = open(&url, Duration::from_secs(10)).await;
    let memory = corkboard.agent("ada").unwrap().working();
    memory.set("key", &0).await.unwrap();
    // On a busy machine the outage can become long, so one success is enough.
    for _ in 0..10 {
        proxy.refuse();
        proxy.cut();
        eventually("the cut", || async { proxy.connections() == 0 }).await;
        let accept = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            proxy.accept();
        };
        let (read, ()) = futures_util::future::join(memory.get::<u32>("key"), accept).await;
        let written = memory.set("key", &0).await;
        if read.is_ok() && written.is_ok() {
            return;
        }
    }
    panic!("no short outage was survived in ten attempts");
}

/// A watcher misses nothing when all connections are cut, including the listening one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watcher_whose_connections_are_cut_misses_nothing() {
    let (schema, proxy, url) = behind_proxy().await;
    let (watching, writing) = (open(&url, Duration::from_secs(5)).await, Corkboard::open(&schema.url()).await.unwrap());
    let memory = writing.agent("ada").unwrap().working();
    let mut watch = watching.agent("ada").unwrap().watch(0).await.unwrap();
    for rev in 1..=60 {
        memory.set("key", &rev).await.unwrap();
        if rev % 5 == 0 {
            proxy.cut();
        }
        let seen = loop {
            // A read that was cut is retried, as a program would.
            match tokio::time::timeout(Duration::from_secs(120), watch.next())
                .await
                .expect("the watcher should wake up")
            {
                Ok(Watched::Bookmark { .. }) => {}
                Ok(Watched::Revision { rev, .. }) => break rev,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
            }
        };
        assert_eq!(seen, rev);
    }
}
