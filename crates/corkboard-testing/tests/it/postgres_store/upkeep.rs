//! Durability settings, notifications, the clock, and scrubbing.

use std::path::Path;

use corkboard::store::{Rewrite, Snapshot};
use corkboard_testing::PostgresSchema;
use corkboard_testing::servers::TestServer;

use super::*;

/// Whether any file below the folder contains these bytes.
fn holds(folder: &Path, secret: &[u8]) -> bool {
    let mut entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.any(|entry| match entry.file_type().unwrap().is_dir() {
        true => holds(&entry.path(), secret),
        // The server may remove files at any time.
        false => {
            std::fs::read(entry.path()).is_ok_and(|bytes| bytes.windows(secret.len()).any(|window| window == secret))
        }
    })
}

/// Deleted and rewritten content is removed from every table, including statistics, once no transaction can see it.
/// `VACUUM FULL` removes it from free space.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scrubbing_removes_deleted_content_except_from_free_space() {
    let server = TestServer::postgres();
    let store = store(&server.url(), Duration::from_secs(3)).await;
    let files = server.folder().join("data/base");
    let secrets: [&[u8]; 4] =
        [b"deleted-event-4711", b"rewritten-event-4712", b"old-snapshot-4713", b"old-summary-4714"];
    let [deleted, rewritten, snapshot, summary] = secrets;
    let gone = put(&*store, &space("gone"), Head::EMPTY, deleted).await;
    let mut kept = append(&space("kept"), Head::EMPTY, rewritten);
    kept.summary = summary.to_vec();
    let (head, mut record) = (new_head(&kept), kept.records[0].clone());
    assert_eq!(store.append(kept).await, Ok(Appended::Committed));
    store.write_snapshot(&space("kept"), Snapshot { head, body: snapshot.to_vec() }).await.unwrap();
    let client = sql(&server.url()).await;
    client.batch_execute("ANALYZE").await.unwrap();
    client.batch_execute("CHECKPOINT").await.unwrap();
    assert!(secrets.iter().all(|secret| holds(&files, secret)), "the secrets should be in the files first");
    store.delete(&space("gone"), gone, commit()).await.unwrap();
    record.body = b"nothing".to_vec();
    let new = Snapshot { head, body: b"state".to_vec() };
    let rewrite = Rewrite { space: space("kept"), expected: head, records: vec![record], snapshot: Some(new) };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    let last = put(&*store, &space("kept"), head, b"next").await;
    // While a transaction can still see it, it cannot be removed, and the error says so.
    let mut other = sql(&server.url()).await;
    let reader =
        other.build_transaction().isolation_level(tokio_postgres::IsolationLevel::RepeatableRead).read_only(true);
    let reader = reader.start().await.unwrap();
    reader.query("SELECT 1 FROM pg_class LIMIT 1", &[]).await.unwrap();
    client.batch_execute("CREATE TABLE moves_time (); DROP TABLE moves_time").await.unwrap();
    store.delete(&space("kept"), last, commit()).await.unwrap();
    let seen = store.scrub().await;
    assert!(matches!(&seen, Err(StoreError::Unavailable(reason)) if reason.contains("still needs")), "{seen:?}");
    reader.rollback().await.unwrap();
    store.scrub().await.unwrap();
    client.batch_execute("ANALYZE").await.unwrap();
    client.batch_execute("VACUUM (FULL)").await.unwrap();
    client.batch_execute("CHECKPOINT").await.unwrap();
    for secret in secrets {
        assert!(!holds(&files, secret), "{}", String::from_utf8_lossy(secret));
    }
    assert_eq!(store.check().await, Ok(vec![]));
}

/// A transaction that has read the tables holds a lock for which only `VACUUM FULL` waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scrubbing_does_not_stop_readers_or_writers() {
    let server = TestServer::postgres();
    let store = store(&server.url(), Duration::from_secs(10)).await;
    let gone = put(&*store, &space("gone"), Head::EMPTY, b"deleted").await;
    let mut head = put(&*store, &space("kept"), Head::EMPTY, b"kept").await;
    store.delete(&space("gone"), gone, commit()).await.unwrap();
    let reader = sql(&server.url()).await;
    reader.batch_execute("BEGIN; SELECT count(*) FROM corkboard.events").await.unwrap();
    let scrubbing = tokio::spawn({
        let store = store.clone();
        async move { store.scrub().await }
    });
    for number in 0..2000 {
        head = put(&*store, &space("kept"), head, format!("number {number}").as_bytes()).await;
        if number >= 50 && scrubbing.is_finished() {
            break;
        }
    }
    reader.batch_execute("COMMIT").await.unwrap();
    assert_eq!(scrubbing.await.unwrap(), Ok(()));
    assert_eq!(store.head(&space("kept")).await, Ok(head));
}

/// Settings that could lose acknowledged writes give warnings or are overridden.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn risky_settings_give_warnings_or_are_overridden() {
    let risky = TestServer::postgres_with(&["fsync=off", "full_page_writes=off", "synchronous_commit=off"]);
    let info = patient(&risky.url()).await.info();
    assert!(info.warnings.iter().any(|warning| warning.contains("fsync is off")), "{info:?}");
    assert!(info.warnings.iter().any(|warning| warning.contains("full_page_writes is off")), "{info:?}");
    assert!(info.details.iter().any(|(_, text)| text.contains("synchronous_commit=on")), "{info:?}");
    // Set inside the transaction of every write, against any default.
    let mut client = sql(&risky.url()).await;
    let nil = uuid::Uuid::nil();
    for write in [
        "SELECT corkboard.append('{agent/a}', '{0}', ARRAY[$1]::uuid[], '{1}', ARRAY[$1]::uuid[], '{null}', '{x}', '{}', '{}',
             '{}', '{}', '{}', '{}')",
        "SELECT corkboard.delete_space('agent/b', 0, $1, $1)",
        "SELECT corkboard.import('agent/c', 1, $1, 1, $1, NULL, '', '{}', '{}', '{}', '{}', '{}', NULL, NULL, NULL)",
        "SELECT corkboard.rewrite('agent/d', 0, $1, '{}', '{}', '{}', NULL, NULL, NULL)",
        "SELECT corkboard.write_snapshot('agent/e', 1, $1, '')",
        "SELECT corkboard.trim('agent/f', 1, NULL) WHERE $1::uuid IS NOT NULL",
    ] {
        let transaction = client.transaction().await.unwrap();
        transaction.query(write, &[&nil]).await.unwrap();
        let set: String = transaction.query_one("SHOW synchronous_commit", &[]).await.unwrap().get(0);
        assert_eq!(set, "on", "{write}");
        transaction.rollback().await.unwrap();
    }
    let safe = PostgresSchema::on_shared_server();
    assert_eq!(patient(&safe.url()).await.info().warnings, [""; 0]);
}

/// Listeners learn of a commit soon after it, not inside its transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_processes_are_notified_of_commits() {
    let schema = PostgresSchema::on_shared_server();
    let store = patient(&schema.url()).await;
    let (client, mut connection) = tokio_postgres::connect(schema.server(), NoTls).await.unwrap();
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let tokio_postgres::AsyncMessage::Notification(notification) = message {
                let _ = sender.send(notification.payload().to_owned());
            }
        }
    });
    client.batch_execute(&format!("LISTEN \"corkboard:{}\"", schema.name())).await.unwrap();
    let long = space(&"x".repeat(2000));
    let head = put(&*store, &long, Head::EMPTY, b"1").await;
    let heard = tokio::time::timeout(Duration::from_secs(120), told.recv()).await.unwrap().unwrap();
    assert!(heard.trim().ends_with(":1") && heard.len() < 100, "{heard}");
    store.delete(&long, head, commit()).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_secs(120), told.recv()).await.unwrap().unwrap();
    assert!(heard.trim().ends_with(":2"), "{heard}");
}

/// If listening is turned off, or the server ends its connection, polling finds other processes' writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_notifications_polling_finds_other_writes() {
    let schema = PostgresSchema::on_shared_server();
    let client = sql(schema.server()).await;
    for url in [format!("{}&listen=off", schema.url()), schema.url()] {
        let (one, two) = (patient(&url).await, patient(&schema.url()).await);
        let space = space(&format!("{}", url.len()));
        let mut changes = one.changes(&space);
        let mut head = Head::EMPTY;
        for _ in 0..5 {
            let end =
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE $1 AND query LIKE '%ANY%'";
            let ended = client.query(end, &[&format!("%{}%", schema.name())]).await.unwrap().len();
            println!("{ended} connections ended");
            head = loop {
                let append = append(&space, head, b"x");
                let new = new_head(&append);
                match two.append(append).await {
                    Ok(_) => break new,
                    Err(error) => assert!(matches!(error, StoreError::OutcomeUnknown(_)), "{error}"),
                }
            };
            let newest = changes.wait_for(|rev| *rev >= head.rev);
            tokio::time::timeout(Duration::from_secs(120), newest).await.expect("the watcher should wake up").unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_clock_is_used() {
    let schema = PostgresSchema::on_shared_server();
    let store = patient(&schema.url()).await;
    let client = sql(schema.server()).await;
    let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let before: i64 = client.query_one(now, &[]).await.unwrap().get(0);
    let shown = store.now().unwrap().as_millisecond();
    let after: i64 = client.query_one(now, &[]).await.unwrap().get(0);
    // Accurate to half a round trip to a busy server.
    assert!((before - 2000..=after + 2000).contains(&shown), "{before} {shown} {after}");
}
