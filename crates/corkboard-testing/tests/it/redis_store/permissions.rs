//! Users with few permissions, and passwords.

use std::time::Duration;

use corkboard::store::{Append, Appended, Cursor, Import, Rewrite, Snapshot, Store, StoreError, Trim};
use corkboard::{Corkboard, Watched};
use corkboard_core::{Head, SpaceKind};
use corkboard_testing::servers::TestServer;

use crate::redis_store::server::logged;
use crate::redis_store::support::{
    append, commit, eventually, head_after, in_time, open, put, redis, refused, space, time,
};

/// The permissions that the module's documentation lists.
fn documented() -> Vec<&'static str> {
    let text = include_str!("../../../../corkboard/src/store/redis/mod.rs");
    let (_, list) = text.split_once("(`ACL SETUSER`): `").unwrap();
    let (list, _) = list.split_once('`').unwrap();
    list.split_whitespace().filter(|word| *word != "//!").collect()
}

/// Creates a user with these permissions and returns the URL to log in with.
fn user(server: &TestServer, permissions: &[&str]) -> String {
    let permissions = permissions.iter().map(|permission| permission.replace("PREFIX", "cork"));
    let rules = ["reset", "on", ">geheim"].into_iter().map(str::to_owned).chain(permissions);
    let command: Vec<String> = ["ACL", "SETUSER", "ada"].into_iter().map(str::to_owned).chain(rules).collect();
    redis::<()>(server, &command.iter().map(String::as_str).collect::<Vec<_>>());
    format!("redis://ada:geheim@127.0.0.1:{}/", server.port())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_permissions_are_enough() {
    let server = TestServer::redis();
    let permissions = documented();
    assert!(permissions.len() > 20 && permissions.contains(&"~PREFIX:*"), "{permissions:?}");
    let url = user(&server, &permissions);
    let store = open(&url).await;
    assert!(store.info().warnings[0].contains("may not read it"), "{:?}", store.info().warnings);
    let a = space("a");
    let first = put(&store, Append { next_due: Some(time(5)), ..append(&a, Head::EMPTY, b"one") }).await;
    let second = put(&store, append(&a, first, b"two")).await;
    store.write_snapshot(&a, Snapshot { head: second, body: b"state".to_vec() }).await.unwrap();
    assert_eq!(store.trim(&a, Trim { up_to: 1, older_than: Some(time(10)) }).await, Ok(2));
    let page = store.read_after(&a, Cursor::from(first), 10).await.unwrap();
    let rewrite = Rewrite { space: a.clone(), expected: second, records: page.records.clone(), snapshot: None };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    assert_eq!(store.list(SpaceKind::Agent, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.due(SpaceKind::Agent, time(100), 10).await, Ok(vec![]));
    assert_eq!(store.load(&a).await.unwrap().head, second);
    let other = append(&space("b"), Head::EMPTY, b"x");
    let (head, records) = (head_after(&other), other.records);
    let import =
        Import { space: space("b"), born: Head::EMPTY, snapshot: None, records, next_due: None, summary: vec![] };
    assert_eq!(store.import(import).await, Ok(Appended::Committed));
    assert_eq!(store.delete(&space("b"), head, commit()).await, Ok(Appended::Committed));
    let (one, two) = (Corkboard::open(&url).await.unwrap(), Corkboard::open(&url).await.unwrap());
    let mut watch = one.agent("watched").unwrap().watch(0).await.unwrap();
    eventually("the subscription", || async {
        redis::<Vec<String>>(&server, &["PUBSUB", "CHANNELS"]) == ["cork:{agent/watched}:wake"]
    })
    .await;
    two.agent("watched").unwrap().working().set("key", &1).await.unwrap();
    assert!(matches!(in_time(watch.next()).await.unwrap(), Watched::Revision { rev: 1, .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_permission_for_all_channels_polls_all_spaces() {
    let server = TestServer::redis();
    let further = ["+psubscribe", "+punsubscribe"];
    for (permissions, patterns) in [(documented(), 0), ([documented(), further.to_vec()].concat(), 1)] {
        let url = user(&server, &permissions);
        let (one, two) = (open(&url).await, open(&url).await);
        let mut moved = one.all_changes();
        eventually("the permitted subscriptions", || async {
            redis::<i64>(&server, &["PUBSUB", "NUMPAT"]) == patterns
        })
        .await;
        let new = space(&format!("new {patterns}"));
        put(&two, append(&new, Head::EMPTY, b"one")).await;
        while in_time(moved.recv()).await.unwrap() != (new.clone(), 1) {}
    }
}

#[tokio::test]
async fn opening_checks_every_permission_that_scripts_need() {
    let server = TestServer::redis();
    let optional = ["+info", "+ping", "+subscribe", "+unsubscribe", "+time", "+eval", "+evalsha"];
    let mut tried = 0;
    for missing in documented().iter().filter(|word| word.starts_with('+') && !optional.contains(word)) {
        let others: Vec<&str> = documented().into_iter().filter(|word| word != missing).collect();
        let error = refused(&user(&server, &others)).await.to_string();
        assert!(error.contains(&format!("may not use {}", &missing[1..])), "{missing}: {error}");
        tried += 1;
    }
    assert!(tried > 10, "{tried}");
    let error = refused(&user(&server, &["+@all", "~other:*", "&*"])).await.to_string();
    assert!(error.contains("may not"), "{error}");
    let error = refused(&user(&server, &["+@all", "-info", "~*", "&*"])).await.to_string();
    assert!(error.contains("INFO"), "{error}");
}

#[tokio::test]
async fn optional_permissions_are_reported_when_needed() {
    let server = TestServer::redis();
    let store = open(&user(&server, &documented())).await;
    put(&store, append(&space("a"), Head::EMPTY, b"x")).await;
    let scrubbed = store.scrub().await;
    assert!(
        matches!(&scrubbed, Err(StoreError::Unavailable(why)) if why.contains("someone runs BGREWRITEAOF")),
        "{scrubbed:?}"
    );
    let checked = store.check().await;
    assert!(matches!(&checked, Err(StoreError::Unavailable(why)) if why.contains("scan")), "{checked:?}");
    let further = ["+config|get", "+scan", "+zscore", "+bgrewriteaof", "+bgsave"];
    let store = open(&user(&server, &[documented(), further.to_vec()].concat())).await;
    assert_eq!(store.info().warnings, [""; 0]);
    assert_eq!(store.check().await, Ok(vec![]));
    store.scrub().await.unwrap();
}

#[tokio::test]
async fn a_revoked_permission_leaves_no_partial_write() {
    let server = TestServer::redis();
    let store = open(&user(&server, &documented())).await;
    let head = put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
    for missing in ["+xadd", "+hset"] {
        let others: Vec<&str> = documented().into_iter().filter(|word| *word != missing).collect();
        user(&server, &others);
        // Changing a user closes its connections.
        eventually("the append is refused", || async {
            let told = store.append(append(&space("a"), head, b"two")).await;
            matches!(told, Err(StoreError::Unavailable(why)) if why.contains("can't run this command"))
        })
        .await;
        assert_eq!(store.head(&space("a")).await, Ok(head));
        assert_eq!(open(&server.url()).await.check().await, Ok(vec![]));
    }
    user(&server, &documented());
    eventually("the append works again", || async {
        store.append(append(&space("a"), head, b"two")).await == Ok(Appended::Committed)
    })
    .await;
    assert_eq!(open(&server.url()).await.check().await, Ok(vec![]));
}

#[tokio::test]
async fn passwords_are_checked_and_never_shown() {
    let server = TestServer::redis();
    let url = user(&server, &["+@all", "~*", "&*"]);
    redis::<()>(&server, &["CONFIG", "SET", "requirepass", "geheim"]);
    let (store, log) = logged(async || {
        let store = open(&url).await;
        put(&store, append(&space("a"), Head::EMPTY, b"x")).await;
        store
    })
    .await;
    let info = store.info();
    assert_eq!(info.location, format!("redis://ada@127.0.0.1:{}/0", server.port()));
    let corkboard = Corkboard::open(&url).await.unwrap();
    for shown in [&log, &format!("{info:?}"), &format!("{corkboard:?}"), &serde_json::to_string(&info).unwrap()] {
        assert!(!shown.contains("geheim"), "{shown}");
    }
    let without = format!("redis://127.0.0.1:{}/", server.port());
    for (url, expected) in [
        (url.replace("geheim", "geheimnis"), "does not accept the user or the password"),
        (url.replace("ada", "bob"), "does not accept the user or the password"),
        (without, "requires a password"),
    ] {
        let (error, log) = logged(async || refused(&url).await).await;
        assert!(error.to_string().contains(expected), "{error}");
        for shown in [log, error.to_string(), format!("{error:?}")] {
            assert!(!shown.contains("geheim"), "{shown}");
        }
    }
    let error = Corkboard::open(&format!("{url}?bogus=1")).await.unwrap_err();
    assert!(error.to_string().contains("bogus") && !format!("{error} {error:?}").contains("geheim"), "{error}");
    // If the password changes while a process runs, calls fail, and work again once the password is right.
    redis_as(&url, &["ACL", "SETUSER", "ada", "resetpass", ">neu"]);
    eventually("the login is refused", || async {
        let told = store.head(&space("a")).await;
        matches!(told, Err(StoreError::Unavailable(why)) if why.contains("does not accept"))
    })
    .await;
    redis_as(&url.replace("geheim", "neu"), &["ACL", "SETUSER", "ada", "resetpass", ">geheim"]);
    assert!(tokio::time::timeout(Duration::from_secs(120), store.head(&space("a"))).await.unwrap().is_ok());
}

fn redis_as(url: &str, command: &[&str]) {
    let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
    redis::cmd(command[0]).arg(&command[1..]).exec(&mut connection).unwrap();
    // Logged-in clients stay logged in until they are disconnected.
    let _ = redis::cmd("CLIENT").arg(&["KILL", "USER", "ada"]).exec(&mut connection);
}
