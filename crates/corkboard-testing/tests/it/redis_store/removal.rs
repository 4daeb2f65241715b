//! Removing data from logs and from the server's files.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use corkboard::store::{Append, Appended, Cursor, Record, Rewrite, Snapshot, Store, StoreError, Trim};
use corkboard::{Corkboard, Error, ManualClock, Options, Retention, SnapshotPolicy};
use corkboard_core::Head;
use corkboard_testing::servers::TestServer;

use crate::redis_store::support::{append, commit, eventually, head_after, open, put, space, time};

/// Whether any file below the folder contains the text.
fn is_on_disk(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return is_on_disk(&path, text);
        }
        // A file may be removed during the search.
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

#[tokio::test]
async fn scrubbing_leaves_nothing_in_the_servers_files() {
    let aof: &[&str] = &["--appendonly", "yes", "--appendfsync", "always"];
    let rdb: &[&str] = &["--save", "3600 1", "--rdbcompression", "no"];
    for arguments in [aof.to_vec(), rdb.to_vec(), [aof, rdb].concat()] {
        let server = TestServer::redis_with(&arguments);
        let store = open(&server.url()).await;
        let secret = "the number of the account";
        let head = put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
        let head = put(&store, append(&space("a"), head, secret.as_bytes())).await;
        let body = format!("state with {secret}").into_bytes();
        store.write_snapshot(&space("a"), Snapshot { head, body }).await.unwrap();
        // Twice, because existing files must be replaced, too.
        store.scrub().await.unwrap();
        assert!(is_on_disk(server.folder(), secret), "the secret should be in the files while it is stored");
        let page = store.read_after(&space("a"), Cursor { rev: 1, commit: None }, 10).await.unwrap();
        let record = Record { body: b"nothing".to_vec(), ..page.records[0].clone() };
        let snapshot = Snapshot { head, body: b"state".to_vec() };
        let rewrite = Rewrite { space: space("a"), expected: head, records: vec![record], snapshot: Some(snapshot) };
        assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
        assert!(is_on_disk(server.folder(), secret), "rewriting alone should leave it in the files");
        store.scrub().await.unwrap();
        assert!(!is_on_disk(server.folder(), secret), "{arguments:?}");
        // Deleted content disappears in the same way.
        assert!(is_on_disk(server.folder(), "nothing"));
        store.delete(&space("a"), head, commit()).await.unwrap();
        store.scrub().await.unwrap();
        assert!(!is_on_disk(server.folder(), "nothing"), "{arguments:?}");
        assert_eq!(store.check().await, Ok(vec![]));
    }
}

#[tokio::test]
async fn scrubbing_creates_no_file_on_a_server_without_files() {
    let server = TestServer::redis_with(&[]);
    let store = open(&server.url()).await;
    put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
    store.scrub().await.unwrap();
    assert!(!server.folder().join("dump.rdb").exists());
}

#[tokio::test]
async fn concurrent_scrubs_all_succeed() {
    let server = TestServer::redis_with(&["--appendonly", "yes", "--save", "3600 1"]);
    let store = open(&server.url()).await;
    put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
    let scrubs = (0..4).map(|_| store.scrub());
    assert_eq!(futures_util::future::join_all(scrubs).await, [Ok(()), Ok(()), Ok(()), Ok(())]);
}

#[tokio::test]
async fn a_long_log_is_trimmed_by_time_and_never_in_the_middle_of_a_revision() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let space = space("a");
    let mut head = Head::EMPTY;
    // More records than one step examines, with long bodies among them.
    for batch in 0..6_u64 {
        let mut records = append(&space, head, &vec![b'x'; 2 * Record::PART_BYTES + 7]).records;
        for rev in head.rev + 2..head.rev + 500 {
            records.push(Record { rev, commit: commit(), at: time(rev as i64), body: vec![batch as u8] });
        }
        let append = Append { records, ..append(&space, head, b"") };
        head = put(&store, append).await;
    }
    store.write_snapshot(&space, Snapshot { head, body: b"state".to_vec() }).await.unwrap();
    let trim = |second| Trim { up_to: u64::MAX, older_than: Some(time(second)) };
    assert_eq!(store.trim(&space, trim(1)).await, Ok(1));
    assert_eq!(store.trim(&space, trim(2400)).await, Ok(2400));
    let cursor = Cursor { rev: 2399, commit: None };
    let page = store.read_after(&space, cursor, 10_000).await.unwrap();
    assert!(page.records.iter().map(|record| record.rev).eq(2400..2400 + page.records.len() as u64));
    assert_eq!(store.check().await, Ok(vec![]));
    assert_eq!(store.trim(&space, trim(i64::from(u32::MAX))).await, Ok(head.rev));
    assert_eq!(store.check().await, Ok(vec![]));
    // A short log continues where it was.
    let next = append(&space, head, b"next");
    let expected = head_after(&next);
    assert_eq!(put(&store, next).await, expected);
    assert_eq!(store.read_after(&space, Cursor::from(head), 10).await.unwrap().records.len(), 1);
}

#[tokio::test]
async fn a_revision_is_rewritten_to_a_longer_body() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let first = put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
    let head = put(&store, append(&space("a"), first, b"two")).await;
    let mut records = store.read_after(&space("a"), Cursor { rev: 0, commit: None }, 9).await.unwrap().records;
    records[0].body = (0..2 * Record::PART_BYTES + 5).map(|index| (index * 17 % 253) as u8).collect();
    let rewrite = Rewrite { space: space("a"), expected: head, records: vec![records[0].clone()], snapshot: None };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    let page = store.read_after(&space("a"), Cursor { rev: 0, commit: None }, 1).await.unwrap();
    assert!(page.records == records[..1] && page.head == head);
    assert!(store.read_after(&space("a"), Cursor::from(first), 9).await.unwrap().records == records[1..]);
    put(&store, append(&space("a"), head, b"three")).await;
    assert_eq!(store.check().await, Ok(vec![]));
}

#[tokio::test]
async fn a_snapshot_of_another_history_is_not_kept() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let first = put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
    put(&store, append(&space("a"), first, b"two")).await;
    for rev in [1, 2] {
        let stranger = Head { rev, commit: commit() };
        store.write_snapshot(&space("a"), Snapshot { head: stranger, body: b"ghost".to_vec() }).await.unwrap();
        assert_eq!(store.load(&space("a")).await.unwrap().snapshot, None);
    }
    store.write_snapshot(&space("a"), Snapshot { head: first, body: b"state".to_vec() }).await.unwrap();
    assert!(store.load(&space("a")).await.unwrap().snapshot.is_some());
}

/// Writes thirty revisions, waits 25 hours, writes ten more. Returns the oldest revision that is left.
async fn oldest_after_a_day(retention: Option<Retention>) -> u64 {
    let server = TestServer::redis();
    let clock = Arc::new(ManualClock::new(time(1_794_000_000)));
    let snapshots = SnapshotPolicy { events: 10, bytes: u64::MAX };
    let options = Options { clock: clock.clone(), snapshots, retention, ..Options::default() };
    let corkboard = Corkboard::open_with(&server.url(), options).await.unwrap();
    let agent = corkboard.agent("a").unwrap();
    for index in 0..30 {
        agent.working().set("key", &index).await.unwrap();
    }
    clock.advance(Duration::from_secs(25 * 3600));
    let store = open(&server.url()).await;
    for index in 0..10 {
        agent.working().set("key", &index).await.unwrap();
    }
    let snapshot = || async { store.load(&space("a")).await.unwrap().snapshot.map_or(0, |snapshot| snapshot.head.rev) };
    eventually("a snapshot", || async { snapshot().await > 30 }).await;
    // Trimming follows the snapshot.
    let oldest = || async {
        match agent.watch(0).await {
            Ok(_) => 1,
            Err(Error::Store(StoreError::Compacted { oldest })) => oldest,
            Err(error) => panic!("{error}"),
        }
    };
    if retention != Some(Retention::Everything) {
        eventually("trimming", || async { oldest().await > 1 }).await;
    }
    oldest().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_of_log_is_kept_by_default() {
    assert_eq!(oldest_after_a_day(None).await, 31);
    assert_eq!(oldest_after_a_day(Some(Retention::Everything)).await, 1);
}
