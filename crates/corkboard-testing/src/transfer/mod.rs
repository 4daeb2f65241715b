//! Requirements for transfers between any two stores. Each case is a named test per pair of stores: see
//! [`transfer_suite!`](crate::transfer_suite).

mod files;
mod migrations;

use std::collections::BTreeMap;
use std::sync::Arc;

use corkboard_core::{Head, SpaceId, SpaceKind};
use jiff::Timestamp;

pub use files::*;
pub use migrations::*;

use super::Harness;
use crate::ids;
use corkboard::store::{Append, Appended, Cursor, ListedSpace, Loaded, Record, Snapshot, Store, StoreError, Trim};
use corkboard::transfer::TransferProgress;

/// Declares a test for every case. The expressions create a fresh [`Harness`] each: the source and the target.
#[macro_export]
macro_rules! transfer_suite {
    ($from:expr, $to:expr) => {
        $crate::transfer_suite!(@tests $from, $to,
            a_migrated_store_is_the_same
            an_agent_continues_in_the_copy
            three_hundred_spaces_are_migrated
            a_migration_interrupted_at_every_page_continues
            a_migration_through_faults_gives_the_same_copy
            two_migrations_at_once_do_no_harm
            a_copy_that_lacks_only_its_snapshot_gets_it
            a_migration_catches_up_with_writers
            a_source_that_never_rests_is_reported
            a_source_trimmed_before_it_is_compared_is_not_a_mismatch
            a_source_trimmed_under_the_copy_is_a_gap
            a_source_deleted_meanwhile_is_left_in_the_target
            another_history_in_the_target_is_left_alone
            a_changed_copy_is_found
            missing_parts_of_the_target_are_found
            an_export_is_imported_as_it_was
            one_space_is_exported
            an_import_continues_where_the_store_ends
            an_import_leaves_another_history_alone
            an_import_interrupted_at_every_page_continues
            an_export_of_a_log_that_is_trimmed_meanwhile_is_whole
            an_export_while_others_write_is_of_one_revision
            a_dry_run_writes_nothing
        );
    };
    (@tests $from:expr, $to:expr, $($case:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::transfer::$case(&$from, &$to).await;
            }
        )*
    };
}

fn space(name: &str) -> SpaceId {
    SpaceId::of(SpaceKind::Agent, name)
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn nobody(_: &TransferProgress) {}

/// Appends records with these bodies. Returns the new head.
async fn put(store: &Arc<dyn Store>, space: &SpaceId, bodies: &[&[u8]]) -> Head {
    let expected = store.head(space).await.unwrap();
    let records = (expected.rev + 1..).zip(bodies).map(|(rev, body)| Record {
        rev,
        commit: ids::commit(),
        at: time(rev as i64),
        body: body.to_vec(),
    });
    let records: Vec<_> = records.collect();
    let last = records.last().unwrap();
    let head = Head { rev: last.rev, commit: last.commit };
    let summary = format!("{{\"rev\":{}}}", head.rev).into_bytes();
    let next_due = head.rev.is_multiple_of(2).then(|| time(1_000_000 + head.rev as i64));
    let append = Append { space: space.clone(), expected, records, next_due, summary };
    assert_eq!(store.append(append).await, Ok(Appended::Committed));
    head
}

async fn put_many(store: &Arc<dyn Store>, space: &SpaceId, count: usize) -> Head {
    let body = |index: usize| format!("{{\"event\":{index}}}").into_bytes();
    let bodies: Vec<_> = (0..count).map(body).collect();
    let bodies: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
    put(store, space, &bodies).await
}

/// Writes a snapshot of an available revision, and trims the log up to another.
async fn snapshot_and_trim(store: &Arc<dyn Store>, space: &SpaceId, rev: u64, up_to: u64) {
    let page = store.read_after(space, Cursor { rev: rev - 1, commit: None }, 1).await.unwrap();
    let head = Head { rev, commit: page.records[0].commit };
    let body = format!("{{\"state\":{rev}}}").into_bytes();
    store.write_snapshot(space, Snapshot { head, body }).await.unwrap();
    store.trim(space, Trim { up_to, older_than: None }).await.unwrap();
}

/// Fills a store with logs of every shape.
async fn fill(store: &Arc<dyn Store>) {
    put(store, &space("plain"), &[b"{\"a\":1}", b"not JSON", b"", b" {} ", b"\xff\x00\n"]).await;
    let large: Vec<u8> = (0..2_500_000_u32).map(|index| (index * 31 % 251) as u8).collect();
    put(store, &space("large"), &[&large, b"small", &large]).await;
    put_many(store, &space("trimmed"), 30).await;
    snapshot_and_trim(store, &space("trimmed"), 20, 14).await;
    // Only the head of the log is left.
    put_many(store, &space("snapshot only"), 10).await;
    snapshot_and_trim(store, &space("snapshot only"), 10, 10).await;
    // The log has three pages, and the snapshot needed to read them is in the second.
    put_many(store, &space("pages"), 1500).await;
    snapshot_and_trim(store, &space("pages"), 1000, 100).await;
    let before = put_many(store, &space("reborn"), 3).await;
    store.delete(&space("reborn"), before, ids::commit()).await.unwrap();
    put_many(store, &space("reborn"), 4).await;
    let before = put_many(store, &space("deleted"), 3).await;
    store.delete(&space("deleted"), before, ids::commit()).await.unwrap();
}

/// Everything that a store returns for a space.
#[derive(Debug, PartialEq)]
struct StoredSpace {
    listed: ListedSpace,
    loaded: Loaded,
    records: Vec<Record>,
}

async fn everything(store: &Arc<dyn Store>) -> BTreeMap<SpaceId, StoredSpace> {
    let mut all = BTreeMap::new();
    let mut after = None;
    loop {
        let page = store.list(SpaceKind::Agent, after.as_ref(), 100).await.unwrap();
        let Some(last) = page.last() else { return all };
        after = Some(last.space.clone());
        for listed in page {
            let loaded = store.load(&listed.space).await.unwrap();
            let records = held(store, &listed.space, loaded.born).await;
            all.insert(listed.space.clone(), StoredSpace { listed, loaded, records });
        }
    }
}

async fn held(store: &Arc<dyn Store>, space: &SpaceId, born: Head) -> Vec<Record> {
    let mut cursor = Cursor { rev: born.rev, commit: None };
    let mut records = Vec::new();
    loop {
        match store.read_after(space, cursor, 700).await {
            Ok(page) => {
                let Some(last) = page.records.last() else { return records };
                cursor = Cursor { rev: last.rev, commit: Some(last.commit) };
                records.extend(page.records);
            }
            Err(StoreError::Compacted { oldest }) => cursor = Cursor { rev: oldest - 1, commit: None },
            Err(error) => panic!("{error}"),
        }
    }
}

/// Fails unless both stores have the same content and pass their checks.
async fn assert_same(from: &Arc<dyn Store>, to: &Arc<dyn Store>) {
    let (original, copy) = (everything(from).await, everything(to).await);
    let names = |all: &BTreeMap<SpaceId, StoredSpace>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&original), names(&copy));
    for (space, whole) in &original {
        // Not `assert_eq!`, which would print megabytes.
        assert!(copy[space] == *whole, "{space} differs: {:?} {:?}", copy[space].loaded.head, whole.loaded.head);
    }
    assert_eq!(to.check().await, Ok(vec![]));
}

/// Fails if an unfinished copy looks complete or is inconsistent.
async fn assert_plain_halves(from: &Arc<dyn Store>, to: &Arc<dyn Store>) {
    let originals = everything(from).await;
    for (space, StoredSpace { listed, loaded, records }) in everything(to).await {
        let original = &originals[&space];
        assert!(original.records.starts_with(&records), "{space} is not a prefix of the original");
        let snapshot = loaded.snapshot.map_or(0, |snapshot| snapshot.head.rev);
        assert!(snapshot <= listed.head.rev, "{space} has a snapshot that is ahead of its log");
        if listed.head != original.listed.head {
            assert_eq!((listed.next_due, listed.summary), (None, Vec::new()), "{space} looks finished");
        }
    }
}

/// Runs async work inside a callback that is not async.
fn now<T>(work: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(work))
}
