//! Snapshots, and trimming the log that they cover.

use corkboard_core::{Head, SpaceId, SpaceKind};

use super::{eventually, put, space, start, time};
use crate::Harness;
use crate::ids;
use corkboard::store::{Cursor, Snapshot, StoreError, Trim};
use corkboard::{Options, SnapshotPolicy};

pub(super) fn eager_snapshots() -> Options {
    Options { snapshots: SnapshotPolicy { events: 10, bytes: u64::MAX }, ..Options::default() }
}

/// Loading a snapshot and the log after it gives the same state.
pub async fn a_space_reads_the_same_across_a_snapshot(harness: &Harness) {
    let corkboard = harness.corkboard_with(eager_snapshots()).await;
    let agent = corkboard.agent("snapshots").unwrap();
    let memory = agent.working();
    let scope = memory.create_durable_scope("scope").await.unwrap();
    for index in 0..25 {
        memory.set(&format!("key-{index}"), &index).await.unwrap();
        memory.append("log", &format!("{index},")).await.unwrap();
        scope.add_note(&format!("note {index}")).await.unwrap();
    }
    memory.remove("key-3").await.unwrap();
    let store = harness.open().await;
    let space = SpaceId::agent(agent.agent_id());
    eventually("a snapshot", || async { store.load(&space).await.unwrap().snapshot.is_some() }).await;
    memory.set("after", "the snapshot").await.unwrap();
    let fresh = harness.corkboard().await;
    let read = fresh.agent("snapshots").unwrap().snapshot().await.unwrap();
    let live = agent.snapshot().await.unwrap();
    assert_eq!((read.memory, read.rev), (live.memory, live.rev));
}

/// A newer snapshot is never replaced by an older one, or by one from before a deletion.
pub async fn an_older_snapshot_never_replaces_a_newer(harness: &Harness) {
    let store = harness.open().await;
    let space = space("snapshots");
    let one = put(&store, &space, Head::EMPTY, &[b"1"]).await;
    let two = put(&store, &space, one, &[b"2"]).await;
    let snapshot = |head, body: &[u8]| Snapshot { head, body: body.to_vec() };
    store.write_snapshot(&space, snapshot(two, b"two")).await.unwrap();
    store.write_snapshot(&space, snapshot(one, b"one")).await.unwrap();
    assert_eq!(store.load(&space).await.unwrap().snapshot, Some(snapshot(two, b"two")));
    store.delete(&space, two, ids::commit()).await.unwrap();
    store.write_snapshot(&space, snapshot(two, b"ghost")).await.unwrap();
    assert_eq!(store.load(&space).await.unwrap().snapshot, None);
}

/// The log is trimmed from its old end, at most up to the snapshot, and has no gaps.
pub async fn retention_drops_only_what_a_snapshot_covers(harness: &Harness) {
    let store = harness.open().await;
    let space = space("trimmed");
    let bodies: Vec<&[u8]> = vec![b"x"; 6];
    let six = put(&store, &space, Head::EMPTY, &bodies).await;
    let all = Trim { up_to: u64::MAX, older_than: None };
    assert_eq!(store.trim(&space, all).await, Ok(1), "without a snapshot nothing should be trimmed");
    store.write_snapshot(&space, Snapshot { head: six, body: b"six".to_vec() }).await.unwrap();
    let eight = put(&store, &space, six, &[b"7", b"8"]).await;
    assert_eq!(store.trim(&space, Trim { up_to: 8, older_than: Some(time(3)) }).await, Ok(3));
    assert_eq!(store.trim(&space, Trim { up_to: 4, older_than: None }).await, Ok(5));
    assert_eq!(store.trim(&space, all).await, Ok(7));
    assert_eq!(
        store.read_after(&space, Cursor { rev: 5, commit: None }, 9).await,
        Err(StoreError::Compacted { oldest: 7 })
    );
    assert_eq!(store.read_after(&space, start(), 1).await, Err(StoreError::Compacted { oldest: 7 }));
    assert_eq!(store.read_after(&space, Cursor::from(six), 9).await.unwrap().records.len(), 2);
    assert_eq!(store.head(&space).await, Ok(eight));
}

/// The last record always stays, even if a snapshot covers it: the log continues from it, here and in a copy.
pub async fn the_last_record_is_never_trimmed(harness: &Harness) {
    let store = harness.open().await;
    let space = space("covered");
    let head = put(&store, &space, Head::EMPTY, &[b"1", b"2", b"3"]).await;
    store.write_snapshot(&space, Snapshot { head, body: b"three".to_vec() }).await.unwrap();
    for _ in 0..2 {
        assert_eq!(store.trim(&space, Trim { up_to: u64::MAX, older_than: None }).await, Ok(3));
        let page = store.read_after(&space, Cursor { rev: 2, commit: None }, 9).await.unwrap();
        assert_eq!((page.records.len(), page.records[0].commit, page.head), (1, head.commit, head));
    }
    let listed = store.list(SpaceKind::Agent, None, 9).await.unwrap();
    assert_eq!((listed.len(), listed[0].head), (1, head));
    put(&store, &space, head, &[b"4"]).await;
}
