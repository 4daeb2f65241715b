//! Records, appends and conflicts.

use std::sync::Arc;

use corkboard_core::Head;

use super::{append, put, read_all, space, start, time};
use crate::ids;
use crate::{Fault, FaultPlan, FaultyStore, Harness};
use corkboard::store::{Appended, Cursor, Record, Rewrite, StoreError};
use corkboard::{Corkboard, Error, Options, Refusal, Watched};

/// Records are read in the order of their appends, across appends of several records and across pages.
pub async fn records_are_read_in_order(harness: &Harness) {
    let store = harness.open().await;
    let space = space("order");
    let mut head = Head::EMPTY;
    for batch in 0..5_u8 {
        head = put(&store, &space, head, &[&[batch, 0], &[batch, 1], &[batch, 2]]).await;
    }
    assert_eq!(store.head(&space).await, Ok(head));
    let mut cursor = start();
    let mut bodies = Vec::new();
    loop {
        let page = store.read_after(&space, cursor, 4).await.unwrap().records;
        let Some(last) = page.last() else { break };
        assert!(page.len() <= 4);
        cursor = Cursor { rev: last.rev, commit: Some(last.commit) };
        bodies.extend(page.into_iter().map(|record| (record.rev, record.body, record.at)));
    }
    let expected = (0..5_u8).flat_map(|batch| (0..3_u8).map(move |item| vec![batch, item]));
    let expected: Vec<_> = (1..).zip(expected).map(|(rev, body)| (rev, body, time(rev as i64))).collect();
    assert_eq!(bodies, expected);
}

/// Bodies are stored byte for byte: empty ones, arbitrary bytes, and a mebibyte.
pub async fn bodies_are_kept_byte_for_byte(harness: &Harness) {
    let store = harness.open().await;
    let space = space("bytes \u{1F4CC} /?'\"%");
    let any: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..1024 * 1024).map(|index| (index * 31 % 251) as u8).collect();
    put(&store, &space, Head::EMPTY, &[&[], &any, &large]).await;
    let records = read_all(&store, &space).await;
    assert!(records.iter().map(|record| &record.body).eq([&vec![], &any, &large]));
}

/// A body of several parts is one revision: no page splits it, and its neighbours are unaffected.
pub async fn a_long_body_is_stored_in_parts_and_read_whole(harness: &Harness) {
    let store = harness.open().await;
    let space = space("parts");
    let long = |length: usize| (0..length).map(|index| (index * 17 % 253) as u8).collect::<Vec<u8>>();
    let bodies =
        [long(Record::PART_BYTES), b"small".to_vec(), long(3 * Record::PART_BYTES + 5), long(2 * Record::PART_BYTES)];
    put(&store, &space, Head::EMPTY, &[&bodies[0], &bodies[1]]).await;
    let head = store.head(&space).await.unwrap();
    let head = put(&store, &space, head, &[&bodies[2], &bodies[3]]).await;
    let page = store.read_after(&space, start(), 1).await.unwrap();
    assert_eq!((page.records.len(), page.head), (1, head));
    assert!(read_all(&store, &space).await.iter().map(|record| &record.body).eq(&bodies));
    // A rewrite and a deletion leave no part behind.
    let shorter = Record { body: long(Record::PART_BYTES), ..read_all(&store, &space).await[2].clone() };
    let rewrite = Rewrite { space: space.clone(), expected: head, records: vec![shorter], snapshot: None };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    assert!(read_all(&store, &space).await[2].body == bodies[0]);
    store.delete(&space, head, ids::commit()).await.unwrap();
    let head = store.head(&space).await.unwrap();
    put(&store, &space, head, &[&bodies[0]]).await;
    let cursor = Cursor::from(head);
    assert!(store.read_after(&space, cursor, 9).await.unwrap().records[0].body == bodies[0]);
    assert_eq!(store.check().await, Ok(vec![]));
}

/// A page has a maximum size in bytes, so that readers of large records need little memory.
pub async fn a_page_holds_about_a_mebibyte(harness: &Harness) {
    let store = harness.open().await;
    let space = space("pages");
    let large = vec![b'x'; 400 * 1024];
    let mut head = Head::EMPTY;
    for _ in 0..8 {
        head = put(&store, &space, head, &[&large]).await;
    }
    let page = store.read_after(&space, start(), 1000).await.unwrap();
    assert_eq!((page.records.len(), page.head), (3, head));
    assert_eq!(read_all(&store, &space).await.len(), 8);
    let corkboard = harness.corkboard().await;
    let memory = corkboard.agent("large").unwrap().working();
    let text = "x".repeat(400 * 1024);
    for index in 0..8 {
        memory.set(&format!("key-{index}"), &text).await.unwrap();
    }
    let fresh = harness.corkboard().await;
    assert_eq!(fresh.agent("large").unwrap().working().len().await.unwrap(), 8, "a load reads all pages");
}

/// Of two appends on one revision, exactly one succeeds. The other learns the current head.
pub async fn of_two_appends_on_one_revision_one_wins(harness: &Harness) {
    let (one, two) = (harness.open().await, harness.open().await);
    let space = space("race");
    let mut head = Head::EMPTY;
    for _ in 0..20 {
        let (first, second) = (append(&space, head, &[b"a"]), append(&space, head, &[b"b", b"b"]));
        let heads = [first.new_head(), second.new_head()];
        let (first, second) = tokio::join!(one.append(first), two.append(second));
        let new = match (first.unwrap(), second.unwrap()) {
            (Appended::Committed, Appended::Conflict { head }) => (heads[0], head),
            (Appended::Conflict { head }, Appended::Committed) => (heads[1], head),
            other => panic!("{other:?}"),
        };
        assert_eq!(new.0, new.1);
        head = new.0;
        assert_eq!(one.head(&space).await, Ok(head));
        assert_eq!(two.head(&space).await, Ok(head));
    }
}

/// The right revision with another commit is a conflict.
pub async fn an_append_compares_revision_and_commit(harness: &Harness) {
    let store = harness.open().await;
    let space = space("compare");
    let head = put(&store, &space, Head::EMPTY, &[b"1"]).await;
    let stranger = Head { rev: head.rev, commit: ids::commit() };
    assert_eq!(store.append(append(&space, stranger, &[b"2"])).await, Ok(Appended::Conflict { head }));
    assert_eq!(store.append(append(&space, Head::EMPTY, &[b"2"])).await, Ok(Appended::Conflict { head }));
    assert_eq!(store.read_after(&space, start(), 10).await.unwrap().records.len(), 1);
}

/// Appends that are sent together succeed or fail independently.
pub async fn a_conflict_in_one_space_leaves_the_others_alone(harness: &Harness) {
    let store = harness.open().await;
    let head = put(&store, &space("taken"), Head::EMPTY, &[b"1"]).await;
    let appends = (0..20).map(|index| {
        let name = if index == 7 { "taken".to_owned() } else { format!("free-{index}") };
        let store = store.clone();
        async move { store.append(append(&space(&name), Head::EMPTY, &[b"2"])).await }
    });
    let results = futures_util::future::join_all(appends).await;
    for (index, result) in results.into_iter().enumerate() {
        let expected = if index == 7 { Appended::Conflict { head } } else { Appended::Committed };
        assert_eq!(result, Ok(expected));
    }
}

/// A cursor contains its commit. A log with another commit at that revision is a different log.
pub async fn a_reader_notices_another_history(harness: &Harness) {
    let store = harness.open().await;
    let space = space("histories");
    put(&store, &space, Head::EMPTY, &[b"1", b"2"]).await;
    for rev in [1, 2] {
        let stranger = Cursor { rev, commit: Some(ids::commit()) };
        assert_eq!(store.read_after(&space, stranger, 10).await, Err(StoreError::Diverged));
    }
    let future = Cursor { rev: 3, commit: None };
    assert_eq!(store.read_after(&space, future, 10).await, Err(StoreError::Future { asked: 3, head: 2 }));
}

/// Revisions continue after a tombstone, so that a revision number never names two things.
pub async fn a_recreated_space_continues_its_revisions(harness: &Harness) {
    let store = harness.open().await;
    let space = space("lives");
    let first = put(&store, &space, Head::EMPTY, &[b"1", b"2"]).await;
    let tombstone = ids::commit();
    assert_eq!(store.delete(&space, Head::EMPTY, tombstone).await, Ok(Appended::Conflict { head: first }));
    assert_eq!(store.delete(&space, first, tombstone).await, Ok(Appended::Committed));
    let born = Head { rev: 3, commit: tombstone };
    assert_eq!(store.head(&space).await, Ok(born));
    let second = put(&store, &space, born, &[b"4"]).await;
    assert_eq!(second.rev, 4);
    let loaded = store.load(&space).await.unwrap();
    assert_eq!((loaded.head, loaded.born, loaded.snapshot), (second, born, None));
    assert_eq!(store.append(append(&space, first, &[b"x"])).await, Ok(Appended::Conflict { head: second }));
    assert_eq!(store.read_after(&space, Cursor::from(first), 9).await, Err(StoreError::Compacted { oldest: 4 }));
    assert_eq!(store.read_after(&space, Cursor::from(born), 9).await.unwrap().records.len(), 1);
}

/// ABA: a cache from before a deletion notices the recreated space, on reads and on writes.
pub async fn a_space_recreated_behind_a_cache_is_noticed(harness: &Harness) {
    let (one, two) = (harness.corkboard().await, harness.corkboard().await);
    let (mine, theirs) = (one.agent("aba").unwrap().working(), two.agent("aba").unwrap().working());
    mine.set("key", "first life").await.unwrap();
    let stale = mine.get_entry("key").await.unwrap().unwrap().version;
    assert!(two.delete_agent("aba").await.unwrap());
    assert_eq!(mine.get::<String>("key").await.unwrap(), None);
    theirs.set("key", "second life").await.unwrap();
    assert_eq!(mine.get::<String>("key").await.unwrap().as_deref(), Some("second life"));
    let refused = mine.set("key", "overwritten").if_version(stale).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::Conflict { .. }))), "{refused:?}");
    mine.append("log", "a").await.unwrap();
    theirs.append("log", "b").await.unwrap();
    assert_eq!(mine.get::<String>("log").await.unwrap().as_deref(), Some("ab"));
}

/// If an append's answer is lost, its commit ID is looked up: the command is answered, and applied once.
pub async fn an_append_whose_answer_was_lost_is_not_applied_twice(harness: &Harness) {
    let faulty = Arc::new(FaultyStore::new(harness.open().await, FaultPlan::none()));
    let corkboard = Corkboard::with_store(faulty.clone(), Options::default());
    let memory = corkboard.agent("lost").unwrap().working();
    memory.set("log", "").await.unwrap();
    let faults = [Fault::CutAfter, Fault::CutBefore, Fault::LandLater, Fault::CutAfter];
    for (index, fault) in faults.into_iter().enumerate() {
        faulty.next_appends([fault]);
        let version = memory.append("log", &format!("{index} ")).await.unwrap().version;
        assert_eq!(memory.get_entry("log").await.unwrap().unwrap().version, version);
    }
    assert_eq!(memory.get::<String>("log").await.unwrap().as_deref(), Some("0 1 2 3 "));
}

/// Many tasks on two handles increment one number, and every increment counts.
pub async fn a_counter_contended_by_many_tasks_is_exact(harness: &Harness) {
    let boards = [harness.corkboard().await, harness.corkboard().await];
    let tasks = (0..40).map(|index| {
        let memory = boards[index % 2].agent("counted").unwrap().working();
        tokio::spawn(async move {
            for _ in 0..5 {
                memory.update("count", |count: Option<u64>| count.unwrap_or(0) + 1).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    for corkboard in &boards {
        let count = corkboard.agent("counted").unwrap().working().get::<u64>("count").await.unwrap();
        assert_eq!(count, Some(200));
    }
}

/// A read is current: it sees writes that were acknowledged on another handle.
pub async fn readers_see_what_another_handle_wrote(harness: &Harness) {
    let (one, two) = (harness.corkboard().await, harness.corkboard().await);
    let (writer, reader) = (one.agent("shared").unwrap().working(), two.agent("shared").unwrap().working());
    for value in 0..50_u32 {
        writer.set("value", &value).await.unwrap();
        assert_eq!(reader.get::<u32>("value").await.unwrap(), Some(value));
    }
}

/// A restore of several mebibytes is stored in parts, but is one revision: readers see all of it or nothing.
pub async fn a_bulk_command_is_one_revision_however_large(harness: &Harness) {
    let corkboard = harness.corkboard().await;
    let agent = corkboard.agent("bulky").unwrap();
    let value = "x".repeat(200 * 1024);
    for index in 0..25 {
        agent.working().set(&format!("key {index}"), &value).await.unwrap();
    }
    let snapshot = agent.snapshot().await.unwrap();
    agent.clear(corkboard::ClearOptions::default()).await.unwrap();
    let rev = agent.restore(snapshot.clone()).await.unwrap();
    assert_eq!(rev, 27);
    let fresh = harness.corkboard().await;
    let restored = fresh.agent("bulky").unwrap();
    assert_eq!((restored.working().len().await.unwrap(), restored.rev().await.unwrap()), (25, 27));
    let mut watch = restored.watch(26).await.unwrap();
    assert!(matches!(watch.next().await.unwrap(), Watched::Revision { rev: 27, .. }));
}
