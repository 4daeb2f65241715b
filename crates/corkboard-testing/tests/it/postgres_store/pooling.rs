//! The whole conformance suite behind a PgBouncer that gives every transaction another server connection.

use corkboard::Watched;
use corkboard_testing::{Harness, PostgresSchema, Proxy};

use super::*;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

corkboard_testing::conformance_suite!(processes: Harness::pgbouncer(WORKER));

fn detail(store: &PostgresStore, name: &str) -> String {
    let details = store.info().details;
    details.into_iter().find(|(known, _)| *known == name).unwrap().1
}

/// The store detects the proxy, which would mix up prepared statements and lose notifications.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_is_noticed() {
    let schema = PostgresSchema::behind_pgbouncer();
    let store = patient(&schema.url()).await;
    assert_eq!(detail(&store, "statements"), "not prepared");
    assert!(detail(&store, "wake-ups").starts_with("polled"));
    let direct = PostgresSchema::on_shared_server();
    let store = patient(&direct.url()).await;
    assert_eq!(detail(&store, "statements"), "prepared");
    assert!(detail(&store, "wake-ups").starts_with("LISTEN"));
}

/// Even with prepared statements forced on, calls work where the statements do not last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prepared_statements_that_do_not_last_are_given_up() {
    let schema = PostgresSchema::behind_pgbouncer();
    let url = format!("{}&prepare=on", schema.url());
    let boards = [Corkboard::open(&url).await.unwrap(), Corkboard::open(&url).await.unwrap()];
    let tasks = (0..20).map(|task| {
        let memory = boards[task % 2].agent(&format!("agent-{}", task % 5)).unwrap().working();
        tokio::spawn(async move {
            for _ in 0..10 {
                memory.update("count", |count: Option<u64>| count.unwrap_or(0) + 1).await.unwrap();
                memory.get::<u64>("count").await.unwrap().unwrap();
            }
        })
    });
    futures_util::future::join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    for agent in 0..5 {
        let memory = boards[0].agent(&format!("agent-{agent}")).unwrap().working();
        assert_eq!(memory.get::<u64>("count").await.unwrap(), Some(40));
    }
}

/// Behind the proxy, notifications can use a separate, direct connection to the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_can_bypass_the_proxy() {
    let direct = PostgresSchema::on_shared_server();
    let schema = PostgresSchema::behind_pgbouncer();
    let way = Proxy::start(direct.port()).await;
    let listen = direct.server().replace(&format!(":{}/", direct.port()), &format!(":{}/", way.port()));
    let url = format!("{}&listen={}", schema.url(), listen.replace(':', "%3A").replace('/', "%2F"));
    let (one, two) = (Corkboard::open(&url).await.unwrap(), Corkboard::open(&schema.url()).await.unwrap());
    assert_eq!(way.connections(), 0, "there should be no listening connection yet");
    let mut watch = one.agent("ada").unwrap().watch(0).await.unwrap();
    eventually("the listening connection is open", || async { way.connections() == 1 }).await;
    for rev in 1..=20 {
        two.agent("ada").unwrap().working().set("key", &rev).await.unwrap();
        let seen =
            tokio::time::timeout(Duration::from_secs(120), watch.next()).await.expect("the watcher should wake up");
        assert!(matches!(seen.unwrap(), Watched::Revision { rev: seen, .. } if seen == rev));
    }
    drop(watch);
    eventually("the listening connection is closed", || async { way.connections() == 0 }).await;
}
