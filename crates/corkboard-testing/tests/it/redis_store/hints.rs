//! The indexes are only hints: lists and due dates are right even if the hints are wrong.

use corkboard::store::{Append, Appended, Store};
use corkboard_core::{Head, SpaceKind};
use corkboard_testing::servers::TestServer;

use crate::redis_store::support::{append, commit, eventually, open, put, redis, space, time};

const SPACES: &str = "cork:{index}:spaces:agent";
const DUES: &str = "cork:{index}:due:agent";

#[tokio::test]
async fn a_hint_without_its_append_is_ignored() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    put(&store, append(&space("b"), Head::EMPTY, b"x")).await;
    // As a process leaves them that ends between hint and append.
    redis::<()>(&server, &["ZADD", SPACES, "0", "agent/a\x000"]);
    redis::<()>(&server, &["ZADD", DUES, "1000", "agent/a\x001-00000000000000000000000000000001"]);
    let listed = store.list(SpaceKind::Agent, None, 10).await.unwrap();
    assert!(listed.iter().map(|listed| listed.space.name()).eq(["b"]));
    assert_eq!(store.due(SpaceKind::Agent, time(100), 10).await.unwrap(), []);
    // The append may still come, so its hints stay and are used then.
    assert_eq!(redis::<usize>(&server, &["ZCARD", SPACES]), 2);
    assert_eq!(redis::<usize>(&server, &["ZCARD", DUES]), 1);
    put(&store, Append { next_due: Some(time(7)), ..append(&space("a"), Head::EMPTY, b"x") }).await;
    assert_eq!(store.list(SpaceKind::Agent, None, 10).await.unwrap().len(), 2);
    assert_eq!(store.due(SpaceKind::Agent, time(100), 10).await.unwrap(), [space("a")]);
    // One of the two hints of this revision belonged to no append. Now that is certain, and it is removed.
    assert_eq!(redis::<usize>(&server, &["ZCARD", DUES]), 1);
    assert_eq!(store.check().await, Ok(vec![]));
}

#[tokio::test]
async fn obsolete_hints_are_removed() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let space = space("a");
    let mut head = Head::EMPTY;
    for due in [Some(50), Some(40), Some(40), None, Some(60)] {
        head = put(&store, Append { next_due: due.map(time), ..append(&space, head, b"x") }).await;
        let expected = usize::from(due.is_some());
        eventually("at most one hint is left", || async { redis::<usize>(&server, &["ZCARD", DUES]) == expected })
            .await;
    }
    assert_eq!(store.delete(&space, head, commit()).await, Ok(Appended::Committed));
    eventually("no hint is left", || async {
        redis::<usize>(&server, &["ZCARD", DUES]) + redis::<usize>(&server, &["ZCARD", SPACES]) == 0
    })
    .await;
    // If a removal was lost, the next reader repeats it.
    redis::<()>(&server, &["ZADD", SPACES, "0", "agent/a\x000"]);
    redis::<()>(&server, &["ZADD", DUES, "1000", "agent/a\x002-00000000000000000000000000000002"]);
    assert_eq!(store.list(SpaceKind::Agent, None, 10).await.unwrap(), []);
    assert_eq!(store.due(SpaceKind::Agent, time(100), 10).await.unwrap(), []);
    assert_eq!(redis::<usize>(&server, &["ZCARD", DUES]) + redis::<usize>(&server, &["ZCARD", SPACES]), 0);
    // The recreated space needs another hint, which its first append does not know yet.
    let head = store.head(&space).await.unwrap();
    put(&store, append(&space, head, b"again")).await;
    assert_eq!(store.list(SpaceKind::Agent, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.check().await, Ok(vec![]));
}

#[tokio::test]
async fn a_due_date_that_a_process_remembers_is_hinted_again_where_it_is_needed() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let due = |head| Append { next_due: Some(time(50)), ..append(&space("a"), head, b"x") };
    let head = put(&store, due(Head::EMPTY)).await;
    put(&store, due(head)).await;
    redis::<()>(&server, &["FLUSHALL"]);
    put(&store, due(Head::EMPTY)).await;
    assert_eq!(store.due(SpaceKind::Agent, time(50), 10).await.unwrap(), [space("a")]);
    assert_eq!(store.check().await, Ok(vec![]));
}

#[tokio::test]
async fn a_hint_that_comes_too_early_is_corrected() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    put(&store, Append { next_due: Some(time(50)), ..append(&space("a"), Head::EMPTY, b"x") }).await;
    let members: Vec<String> = redis(&server, &["ZRANGE", DUES, "0", "-1"]);
    redis::<()>(&server, &["ZADD", DUES, "10000", &members[0]]);
    assert_eq!(store.due(SpaceKind::Agent, time(40), 10).await.unwrap(), []);
    assert_eq!(redis::<u64>(&server, &["ZSCORE", DUES, &members[0]]), 50_000);
    assert_eq!(store.due(SpaceKind::Agent, time(50), 10).await.unwrap(), [space("a")]);
}

#[tokio::test]
async fn a_check_restores_missing_hints_and_finds_damage() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let mut head = Head::EMPTY;
    for _ in 0..5 {
        head = put(&store, Append { next_due: Some(time(50)), ..append(&space("a"), head, b"x") }).await;
    }
    assert_eq!(store.check().await, Ok(vec![]));
    redis::<()>(&server, &["DEL", SPACES, DUES]);
    let problems = store.check().await.unwrap();
    assert!(
        problems.len() == 2 && problems.iter().all(|problem| problem.contains("this was repaired")),
        "{problems:?}"
    );
    assert_eq!(store.check().await, Ok(vec![]));
    assert_eq!(store.list(SpaceKind::Agent, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.due(SpaceKind::Agent, time(50), 10).await.unwrap(), [space("a")]);

    let log = "cork:{agent/a}:log";
    redis::<()>(&server, &["XDEL", log, "3-0"]);
    let problems = store.check().await.unwrap();
    assert!(problems.len() == 1 && problems[0].contains("entry 4-0"), "{problems:?}");
    redis::<()>(&server, &["XTRIM", log, "MINID", "4"]);
    let problems = store.check().await.unwrap();
    assert!(problems.len() == 1 && problems[0].contains("begins at 4"), "{problems:?}");
    redis::<()>(&server, &["XDEL", log, "5-0"]);
    redis::<()>(&server, &["DEL", "cork:{agent/a}:snapshot"]);
    let problems = store.check().await.unwrap();
    assert!(problems.iter().any(|problem| problem.contains("ends at 4, but its head is at 5")), "{problems:?}");
    redis::<()>(&server, &["DEL", "cork:{agent/a}:head"]);
    let problems = store.check().await.unwrap();
    assert!(problems.len() == 1 && problems[0].contains("no head"), "{problems:?}");
    // The damaged rest is not overwritten.
    let begun = store.append(append(&space("a"), Head::EMPTY, b"x")).await;
    assert!(matches!(begun, Err(corkboard::store::StoreError::Corrupt(_))), "{begun:?}");
    assert_eq!(redis::<Option<String>>(&server, &["HGET", "cork:{agent/a}:head", "rev"]).as_deref(), Some("0"));
}
