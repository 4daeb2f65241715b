//! Connections that are cut, slow or silent.

use std::time::Duration;

use corkboard::Corkboard;
use corkboard::store::{Appended, Cursor, Store, StoreError};
use corkboard_core::Head;
use corkboard_testing::servers::TestServer;
use corkboard_testing::{Direction, Harness, Proxy};

use crate::redis_store::support::{
    Writers, append, commit, eventually, head_after, in_time, open_within, put, redis, rounds, space,
};

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_cut_anywhere_lose_nothing_and_repeat_nothing() {
    let server = TestServer::redis();
    let proxy = Proxy::start(server.port()).await;
    let corkboard = Corkboard::open(&server.url_at(proxy.port())).await.unwrap();
    let writers = Writers::start(&corkboard, "writer");
    let mut dice = corkboard_testing::dice();
    for _ in 0..rounds() * 8 {
        let direction = if dice.bool() { Direction::ToServer } else { Direction::ToClient };
        proxy.delay(direction, Duration::from_micros(dice.u64(0..3000)));
        match dice.u8(0..4) {
            0 => proxy.cut(),
            _ => proxy.cut_after(direction, dice.u64(1..5000)),
        }
        eventually("the cut", || async { !proxy.cut_is_pending() }).await;
        writers.progress(3).await;
    }
    writers.check(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_whose_answer_is_cut_is_unknown_and_one_that_never_left_is_not() {
    let server = TestServer::redis();
    let proxy = Proxy::start(server.port()).await;
    let store = open_within(&server.url_at(proxy.port()), Duration::from_secs(30)).await;
    let space = space("a");
    let head = put(&store, append(&space, Head::EMPTY, b"one")).await;

    // The answer is cut: the append was written.
    proxy.cut_after(Direction::ToClient, 1);
    let second = append(&space, head, b"two");
    let cut = store.append(second.clone()).await;
    assert!(matches!(cut, Err(StoreError::OutcomeUnknown(_))), "{cut:?}");
    eventually("the append arrives", || async { store.head(&space).await == Ok(head_after(&second)) }).await;
    let head = head_after(&second);

    // The command is cut: the append was not written.
    proxy.cut_after(Direction::ToServer, 20);
    let cut = store.append(append(&space, head, b"three")).await;
    assert!(matches!(cut, Err(StoreError::OutcomeUnknown(_))), "{cut:?}");
    assert_eq!(store.head(&space).await, Ok(head));

    // Nothing can be sent: nothing was written, and the caller knows that.
    proxy.refuse();
    proxy.cut();
    // Until the cut is noticed, a command may be half sent.
    eventually("the cut", || async { store.head(&space).await.is_err() }).await;
    let denied = in_time(store.append(append(&space, head, b"three"))).await;
    assert!(matches!(denied, Err(StoreError::Unavailable(_))), "{denied:?}");
    proxy.accept();
    put(&store, append(&space, head, b"three")).await;
    let page = store.read_after(&space, Cursor { rev: 0, commit: None }, 10).await.unwrap();
    assert!(page.records.iter().map(|record| &*record.body).eq([b"one".as_slice(), b"two", b"three"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_answering_is_given_up_after_a_timeout() {
    let server = TestServer::redis();
    let proxy = Proxy::start(server.port()).await;
    let store = open_within(&server.url_at(proxy.port()), Duration::from_secs(2)).await;
    let space = space("a");
    let head = put(&store, append(&space, Head::EMPTY, b"one")).await;
    proxy.delay(Direction::ToClient, Duration::from_secs(3600));
    let late = in_time(store.append(append(&space, head, b"two"))).await;
    assert!(matches!(&late, Err(StoreError::OutcomeUnknown(why)) if why.contains("did not answer")), "{late:?}");
    let late = in_time(store.head(&space)).await;
    assert!(matches!(late, Err(StoreError::Unavailable(_))), "{late:?}");
    proxy.delay(Direction::ToClient, Duration::ZERO);
    assert_eq!(store.head(&space).await.unwrap().rev, 2, "the append should have arrived");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_up_is_lost_with_its_connection() {
    let server = TestServer::redis();
    let proxy = Proxy::start(server.port()).await;
    let listener = open_within(&server.url_at(proxy.port()), Duration::from_secs(30)).await;
    let writer = open_within(&server.url(), Duration::from_secs(30)).await;
    let a = space("a");
    let mut changes = listener.changes(&a);
    let mut head = put(&writer, append(&a, Head::EMPTY, b"x")).await;
    for _ in 0..rounds() {
        in_time(changes.wait_for(|rev| *rev == head.rev)).await.unwrap();
        // Messages published now reach nobody.
        proxy.refuse();
        proxy.cut();
        eventually("the cut", || async { proxy.connections() == 0 }).await;
        head = put(&writer, append(&a, head, b"x")).await;
        proxy.accept();
    }
    in_time(changes.wait_for(|rev| *rev == head.rev)).await.unwrap();
    // Wake-ups do not depend on messages. Check that messages arrive again.
    eventually("a message arrives", || async {
        redis::<()>(&server, &["PUBLISH", "cork:{agent/a}:wake", "50"]);
        *changes.borrow() == 50
    })
    .await;
    redis::<()>(&server, &["HSET", "cork:{agent/a}:head", "rev", "99"]);
    in_time(changes.wait_for(|rev| *rev == 99)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_notify_listeners() {
    let server = TestServer::redis();
    let store = open_within(&server.url(), Duration::from_secs(30)).await;
    let a = space("a");
    let channel = "cork:{agent/a}:wake";
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let mut told = connection.as_pubsub();
    told.subscribe(channel).unwrap();
    let head = put(&store, append(&a, Head::EMPTY, b"x")).await;
    assert_eq!(store.delete(&a, head, commit()).await, Ok(Appended::Committed));
    for expected in ["1", "2"] {
        assert_eq!(told.get_message().unwrap().get_payload::<String>().unwrap(), expected);
    }
    // A revision announced on the channel is trusted without a check: this one exists nowhere else.
    let mut changes = store.changes(&a);
    in_time(changes.wait_for(|rev| *rev == 2)).await.unwrap();
    redis::<()>(&server, &["PUBLISH", channel, "77"]);
    in_time(changes.wait_for(|rev| *rev == 77)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connection_for_wake_ups_is_there_while_someone_listens() {
    let server = TestServer::redis();
    let store = open_within(&server.url(), Duration::from_secs(30)).await;
    let channels = || {
        let mut found: Vec<String> = redis(&server, &["PUBSUB", "CHANNELS"]);
        found.sort();
        found
    };
    assert_eq!(channels(), [""; 0]);
    let (a, b) = (store.changes(&space("a")), store.changes(&space("b{}")));
    eventually("both subscriptions", || async { channels() == ["cork:{agent/a}:wake", "cork:{agent/b%7B%7D}:wake"] })
        .await;
    drop(a);
    eventually("only one subscription is left", || async { channels() == ["cork:{agent/b%7B%7D}:wake"] }).await;
    drop(b);
    let subscribers = || async {
        let clients: String = redis(&server, &["CLIENT", "LIST", "TYPE", "pubsub"]);
        clients.lines().count()
    };
    eventually("no subscription is left", || async { subscribers().await == 0 }).await;
    // And again.
    let mut again = store.changes(&space("a"));
    put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
    in_time(again.wait_for(|rev| *rev == 1)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_on_one_space_and_on_many_lose_nothing() {
    let harness = Harness::redis(WORKER);
    let mut workers = Vec::new();
    for prefix in ["a", "b", "c"] {
        workers.push(harness.spawn(&["note", "one", prefix, "40"]));
        workers.push(harness.spawn(&["note", &format!("own-{prefix}"), prefix, "40"]));
    }
    for worker in workers {
        assert_eq!(worker.finish().await.len(), 40);
    }
    let corkboard = harness.corkboard().await;
    assert_eq!(corkboard.agent("one").unwrap().working().notes().await.unwrap().len(), 120);
    let agents = corkboard.agents(None, 10).await.unwrap();
    assert!(agents.iter().map(|agent| agent.id.as_str()).eq(["one", "own-a", "own-b", "own-c"]));
    assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_store_says_so() {
    let server = TestServer::redis();
    let store = open_within(&server.url(), Duration::from_secs(30)).await;
    let append = append(&space("a"), Head::EMPTY, b"one");
    assert_eq!(store.append(append.clone()).await, Ok(Appended::Committed));
    store.close().await.unwrap();
    assert_eq!(store.append(append).await, Err(StoreError::Closed));
    assert_eq!(store.head(&space("a")).await, Err(StoreError::Closed));
    let ours = || async {
        let clients: String = redis(&server, &["CLIENT", "LIST"]);
        clients.lines().count()
    };
    eventually("its connections are closed", || async { ours().await == 1 }).await;
}
