//! Imported logs and rewritten revisions.

use corkboard_core::{Head, SpaceKind};

use super::{append, put, read_all, space, start, time};
use crate::Harness;
use crate::ids;
use corkboard::store::{Appended, Cursor, Import, Loaded, Record, Rewrite, Snapshot, StoreError};

/// An imported log reads as if it had been written here: birth, snapshot, records, due date, summary.
pub async fn a_log_is_imported_as_it_was(harness: &Harness) {
    let store = harness.open().await;
    let space = space("imported");
    let born = Head { rev: 3, commit: ids::commit() };
    let before = Head { rev: 6, commit: ids::commit() };
    let records = append(&space, before, &[b"seven", b"eight"]).records;
    let head = Head { rev: 8, commit: records[1].commit };
    let snapshot = Snapshot { head: Head { rev: 7, commit: records[0].commit }, body: b"state".to_vec() };
    let import = Import {
        space: space.clone(),
        born,
        snapshot: Some(snapshot.clone()),
        records: records.clone(),
        next_due: Some(time(40)),
        summary: b"{\"copied\":1}".to_vec(),
    };
    assert_eq!(store.import(import).await, Ok(Appended::Committed));
    assert_eq!(store.head(&space).await, Ok(head));
    assert_eq!(store.load(&space).await, Ok(Loaded { head, born, snapshot: Some(snapshot) }));
    assert_eq!(store.read_after(&space, start(), 10).await, Err(StoreError::Compacted { oldest: 7 }));
    let cursor = Cursor { rev: 6, commit: None };
    assert_eq!(store.read_after(&space, cursor, 10).await.unwrap().records, records);
    let listed = store.list(SpaceKind::Agent, None, 10).await.unwrap();
    assert_eq!((&*listed[0].summary, listed[0].next_due), (b"{\"copied\":1}".as_slice(), Some(time(40))));
    assert_eq!(store.due(SpaceKind::Agent, time(40), 10).await, Ok(vec![space.clone()]));
    put(&store, &space, head, &[b"nine"]).await;
    assert_eq!(store.read_after(&space, Cursor::from(head), 10).await.unwrap().records[0].body, b"nine");
    // A tombstone alone: a recreated space continues its revisions.
    let gone = self::space("gone");
    let import =
        Import { space: gone.clone(), born, snapshot: None, records: Vec::new(), next_due: None, summary: Vec::new() };
    assert_eq!(store.import(import).await, Ok(Appended::Committed));
    assert_eq!(store.load(&gone).await, Ok(Loaded { head: born, born, snapshot: None }));
    put(&store, &gone, born, &[b"again"]).await;
    assert_eq!(store.head(&gone).await.unwrap().rev, 4);
    assert_eq!(store.check().await, Ok(vec![]));
}

/// An import starts a log. It never replaces one, living or deleted.
pub async fn an_import_never_touches_a_space_that_is_there(harness: &Harness) {
    let store = harness.open().await;
    let space = space("there");
    let import = |records: Vec<Record>| Import {
        space: space.clone(),
        born: Head::EMPTY,
        snapshot: None,
        records,
        next_due: None,
        summary: b"{}".to_vec(),
    };
    let other = append(&space, Head::EMPTY, &[b"other"]).records;
    let head = put(&store, &space, Head::EMPTY, &[b"own"]).await;
    assert_eq!(store.import(import(other.clone())).await, Ok(Appended::Conflict { head }));
    assert_eq!(read_all(&store, &space).await[0].body, b"own");
    store.delete(&space, head, ids::commit()).await.unwrap();
    let head = store.head(&space).await.unwrap();
    assert_eq!(store.import(import(other)).await, Ok(Appended::Conflict { head }));
}

/// A rewrite changes only bodies and the snapshot. Nothing of the old content is left.
pub async fn a_rewritten_revision_keeps_its_place(harness: &Harness) {
    let store = harness.open().await;
    let space = space("rewritten");
    let head = put(&store, &space, Head::EMPTY, &[b"one", b"a secret", b"three"]).await;
    let before = read_all(&store, &space).await;
    let old = Snapshot { head: Head { rev: 2, commit: before[1].commit }, body: b"state with a secret".to_vec() };
    store.write_snapshot(&space, old).await.unwrap();
    let record = Record { body: b"nothing".to_vec(), ..before[1].clone() };
    let snapshot = Snapshot { head, body: b"state".to_vec() };
    let rewrite =
        Rewrite { space: space.clone(), expected: head, records: vec![record], snapshot: Some(snapshot.clone()) };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    store.scrub().await.unwrap();
    let mut expected = before.clone();
    expected[1].body = b"nothing".to_vec();
    assert_eq!(read_all(&store, &space).await, expected);
    assert_eq!(store.load(&space).await, Ok(Loaded { head, born: Head::EMPTY, snapshot: Some(snapshot) }));
    put(&store, &space, head, &[b"four"]).await;
    assert_eq!(store.check().await, Ok(vec![]));
    // Without an earlier snapshot, it is the first one. A snapshot of an older state never replaces it.
    let first = self::space("rewritten without a snapshot");
    let head = put(&store, &first, Head::EMPTY, &[b"one", b"two"]).await;
    let snapshot = Snapshot { head, body: b"state".to_vec() };
    let rewrite = Rewrite { space: first.clone(), expected: head, records: vec![], snapshot: Some(snapshot.clone()) };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    let old = Head { rev: 1, commit: read_all(&store, &first).await[0].commit };
    store.write_snapshot(&first, Snapshot { head: old, body: b"state with a secret".to_vec() }).await.unwrap();
    assert_eq!(store.load(&first).await.unwrap().snapshot, Some(snapshot));
}

/// A rewrite is decided on the whole log. If the log changed, it must be decided again.
pub async fn a_rewrite_of_a_log_that_moved_changes_nothing(harness: &Harness) {
    let store = harness.open().await;
    let space = space("moved");
    let stale = put(&store, &space, Head::EMPTY, &[b"one"]).await;
    let record = Record { body: b"other".to_vec(), ..read_all(&store, &space).await[0].clone() };
    let head = put(&store, &space, stale, &[b"two"]).await;
    let rewrite = Rewrite { space: space.clone(), expected: stale, records: vec![record], snapshot: None };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Conflict { head }));
    assert_eq!(read_all(&store, &space).await[0].body, b"one");
}
