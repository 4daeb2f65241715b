//! What every store must do. Each case is a named test per store: see [`conformance_suite!`](crate::conformance_suite).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use corkboard_core::{AgentId, Head, Limits, SpaceId, SpaceKind};
use jiff::Timestamp;
use tokio::sync::broadcast;

use super::{Fault, FaultPlan, FaultyStore, Harness};
use crate::store::{Append, Appended, Cursor, Import, Loaded, Record, Rewrite, Snapshot, Store, StoreError, Trim};
use crate::{Corkboard, Error, Options, Refusal, Retention, SnapshotPolicy, Watched, ids};

/// Declares a test for every case that needs one process; with `durable` also for those in which one process goes on where
/// another ended; with `processes` for all cases. The expression makes a fresh [`Harness`].
#[macro_export]
macro_rules! conformance_suite {
    (processes: $harness:expr) => {
        $crate::conformance_suite!(durable: $harness);
        $crate::conformance_suite!(@tests $harness,
            a_counter_contended_by_many_processes_is_exact
            notes_of_many_processes_are_all_kept
            another_process_wakes_a_watcher
            another_process_is_heard_by_whoever_listens_to_all_spaces
            a_watcher_in_another_process_sees_every_revision
        );
    };
    (durable: $harness:expr) => {
        $crate::conformance_suite!($harness);
        $crate::conformance_suite!(@tests $harness,
            nothing_acknowledged_is_lost_at_kill_9
        );
    };
    ($harness:expr) => {
        $crate::conformance_suite!(@tests $harness,
            records_come_back_in_order
            bodies_come_back_byte_for_byte
            a_page_holds_about_a_mebibyte
            a_long_body_is_stored_in_parts_and_comes_back_whole
            of_two_appends_on_one_revision_one_wins
            an_append_compares_revision_and_commit
            a_conflict_in_one_space_leaves_the_others_alone
            a_reader_is_told_of_another_history
            a_recreated_space_goes_on_counting
            a_space_recreated_behind_a_cache_is_noticed
            an_append_whose_answer_was_lost_is_not_applied_twice
            a_counter_contended_by_many_tasks_is_exact
            readers_see_what_another_handle_wrote
            a_space_reads_the_same_across_a_snapshot
            an_older_snapshot_never_replaces_a_newer
            retention_drops_only_what_a_snapshot_covers
            the_last_record_is_never_trimmed
            a_watcher_beyond_retention_is_told_what_is_held
            a_watcher_gets_history_then_what_comes
            a_watcher_of_the_future_is_refused
            an_idle_watcher_gets_bookmarks
            a_live_watcher_that_falls_behind_is_cut_off
            whoever_listens_to_all_spaces_hears_of_each
            a_deleted_space_that_is_written_again_is_heard_of
            spaces_are_listed_with_a_cursor_and_summaries
            due_spaces_are_found_most_overdue_first
            every_kind_has_its_own_list_and_its_own_due_spaces
            a_deleted_space_is_gone_and_its_log_with_it
            a_bulk_command_is_one_revision_however_large
            a_log_is_imported_as_it_was
            an_import_never_touches_a_space_that_is_there
            a_rewritten_revision_keeps_its_place
            a_rewrite_of_a_log_that_moved_changes_nothing
            what_was_written_is_there_when_opened_again
        );
    };
    (@tests $harness:expr, $($case:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::testing::conformance::$case(&$harness).await;
            }
        )*
    };
}

/// The cases that need several processes, with the reason why they do not apply to a store.
pub const NOT_FOR_MEMORY: &[(&str, &str)] = &[
    ("a_counter_contended_by_many_processes_is_exact", "memory: lives in one process"),
    ("notes_of_many_processes_are_all_kept", "memory: lives in one process"),
    ("another_process_wakes_a_watcher", "memory: lives in one process"),
    ("another_process_is_heard_by_whoever_listens_to_all_spaces", "memory: lives in one process"),
    ("a_watcher_in_another_process_sees_every_revision", "memory: lives in one process"),
    ("nothing_acknowledged_is_lost_at_kill_9", "memory: is gone with its process, as it says"),
];

/// As [`NOT_FOR_MEMORY`].
pub const NOT_FOR_FILE: &[(&str, &str)] = &[
    ("a_counter_contended_by_many_processes_is_exact", "file: is for one process at a time"),
    ("notes_of_many_processes_are_all_kept", "file: is for one process at a time"),
    ("another_process_wakes_a_watcher", "file: is for one process at a time"),
    ("another_process_is_heard_by_whoever_listens_to_all_spaces", "file: is for one process at a time"),
    ("a_watcher_in_another_process_sees_every_revision", "file: is for one process at a time"),
];

fn space(name: &str) -> SpaceId {
    SpaceId::of(SpaceKind::Agent, name)
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Records after `head`, each decided one second after the one before.
fn append(space: &SpaceId, expected: Head, bodies: &[&[u8]]) -> Append {
    let records = (expected.rev + 1..).zip(bodies).map(|(rev, body)| Record {
        rev,
        commit: ids::commit(),
        at: time(rev as i64),
        body: body.to_vec(),
    });
    Append { space: space.clone(), expected, records: records.collect(), next_due: None, summary: b"{}".to_vec() }
}

/// Appends, expecting to succeed. Returns the new head.
async fn put(store: &Arc<dyn Store>, space: &SpaceId, expected: Head, bodies: &[&[u8]]) -> Head {
    let append = append(space, expected, bodies);
    let head = append.new_head();
    assert_eq!(store.append(append).await, Ok(Appended::Committed));
    head
}

fn start() -> Cursor {
    Cursor { rev: 0, commit: None }
}

/// The whole log, page by page.
async fn read_all(store: &Arc<dyn Store>, space: &SpaceId) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let cursor = records.last().map_or(start(), |last| Cursor { rev: last.rev, commit: Some(last.commit) });
        let page = store.read_after(space, cursor, 1000).await.unwrap();
        assert!(!page.records.is_empty() || page.head.rev == cursor.rev, "a page is empty at the end only");
        records.extend(page.records);
        if records.last().map_or(0, |last| last.rev) == page.head.rev {
            return records;
        }
    }
}

/// Waits for a condition that another task or process brings about.
async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}: not within 30 s");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Order: what was appended first comes back first, across appends of several records and across pages.
pub async fn records_come_back_in_order(harness: &Harness) {
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

/// Bytes are kept as they are, be they none, any, or a mebibyte.
pub async fn bodies_come_back_byte_for_byte(harness: &Harness) {
    let store = harness.open().await;
    let space = space("bytes \u{1F4CC} /?'\"%");
    let any: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..1024 * 1024).map(|index| (index * 31 % 251) as u8).collect();
    put(&store, &space, Head::EMPTY, &[&[], &any, &large]).await;
    let records = read_all(&store, &space).await;
    assert!(records.iter().map(|record| &record.body).eq([&vec![], &any, &large]));
}

/// A body of several parts is one revision: no page splits it, no neighbour is touched by it.
pub async fn a_long_body_is_stored_in_parts_and_comes_back_whole(harness: &Harness) {
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
    // What takes its place, and what deletes it, leaves no part behind.
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

/// A page is bounded in bytes, so that a reader of large records holds little at a time.
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
    let board = harness.board().await;
    let memory = board.agent("large").unwrap().working();
    let text = "x".repeat(400 * 1024);
    for index in 0..8 {
        memory.set(&format!("key-{index}"), &text).await.unwrap();
    }
    let fresh = harness.board().await;
    assert_eq!(fresh.agent("large").unwrap().working().len().await.unwrap(), 8, "a load reads all pages");
}

/// Two appends on one revision: exactly one wins, and the other is told where the log is.
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

/// Appends that are sent together are judged each for itself.
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

/// A cursor knows its commit: a log that has another one there is another log.
pub async fn a_reader_is_told_of_another_history(harness: &Harness) {
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

/// Revisions go on after a tombstone, so that none ever names two things.
pub async fn a_recreated_space_goes_on_counting(harness: &Harness) {
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

/// ABA: a cache of a former life neither reads nor writes as if nothing had happened.
pub async fn a_space_recreated_behind_a_cache_is_noticed(harness: &Harness) {
    let (one, two) = (harness.board().await, harness.board().await);
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

/// A cut answer is looked up by its commit id: the command is answered, and applied once.
pub async fn an_append_whose_answer_was_lost_is_not_applied_twice(harness: &Harness) {
    let faulty = Arc::new(FaultyStore::new(harness.open().await, FaultPlan::none()));
    let board = Corkboard::with_store(faulty.clone(), Options::default());
    let memory = board.agent("lost").unwrap().working();
    memory.set("log", "").await.unwrap();
    let faults = [Fault::CutAfter, Fault::CutBefore, Fault::LandLater, Fault::CutAfter];
    for (index, fault) in faults.into_iter().enumerate() {
        faulty.next_appends([fault]);
        let version = memory.append("log", &format!("{index} ")).await.unwrap().version;
        assert_eq!(memory.get_entry("log").await.unwrap().unwrap().version, version);
    }
    assert_eq!(memory.get::<String>("log").await.unwrap().as_deref(), Some("0 1 2 3 "));
}

/// Many tasks on two handles increment one number; every increment counts.
pub async fn a_counter_contended_by_many_tasks_is_exact(harness: &Harness) {
    let boards = [harness.board().await, harness.board().await];
    let tasks = (0..40).map(|index| {
        let memory = boards[index % 2].agent("counted").unwrap().working();
        tokio::spawn(async move {
            for _ in 0..5 {
                memory.update("count", |count: Option<u64>| count.unwrap_or(0) + 1).await.unwrap();
            }
        })
    });
    futures_util::future::join_all(tasks).await.into_iter().for_each(|task| task.unwrap());
    for board in &boards {
        let count = board.agent("counted").unwrap().working().get::<u64>("count").await.unwrap();
        assert_eq!(count, Some(200));
    }
}

/// A read is current: it sees what another handle was acknowledged for.
pub async fn readers_see_what_another_handle_wrote(harness: &Harness) {
    let (one, two) = (harness.board().await, harness.board().await);
    let (writer, reader) = (one.agent("shared").unwrap().working(), two.agent("shared").unwrap().working());
    for value in 0..50_u32 {
        writer.set("value", &value).await.unwrap();
        assert_eq!(reader.get::<u32>("value").await.unwrap(), Some(value));
    }
}

fn eager_snapshots() -> Options {
    Options { snapshots: SnapshotPolicy { events: 10, bytes: u64::MAX }, ..Options::default() }
}

/// A state loaded from a snapshot and the log after it is the state.
pub async fn a_space_reads_the_same_across_a_snapshot(harness: &Harness) {
    let board = harness.board_with(eager_snapshots()).await;
    let agent = board.agent("snapshots").unwrap();
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
    let fresh = harness.board().await;
    let read = fresh.agent("snapshots").unwrap().snapshot().await.unwrap();
    let live = agent.snapshot().await.unwrap();
    assert_eq!((read.memory, read.rev), (live.memory, live.rev));
}

/// Snapshots only move forward, and never come from a former life.
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

/// The log is trimmed from its old end, up to the snapshot at most, and stays without gaps.
pub async fn retention_drops_only_what_a_snapshot_covers(harness: &Harness) {
    let store = harness.open().await;
    let space = space("trimmed");
    let bodies: Vec<&[u8]> = vec![b"x"; 6];
    let six = put(&store, &space, Head::EMPTY, &bodies).await;
    let all = Trim { up_to: u64::MAX, older_than: None };
    assert_eq!(store.trim(&space, all).await, Ok(1), "without a snapshot nothing goes");
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

/// However much a snapshot covers, the last record stays: it is what the log goes on from, here and in a copy.
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

/// Who asks for what is no longer held is told the oldest that is.
pub async fn a_watcher_beyond_retention_is_told_what_is_held(harness: &Harness) {
    let options = Options { retention: Some(Retention::Revisions(3)), ..eager_snapshots() };
    let board = harness.board_with(options).await;
    let agent = board.agent("kept").unwrap();
    for index in 0..30 {
        agent.working().set("key", &index).await.unwrap();
    }
    let watch = || async { agent.watch(1).await.err() };
    eventually("old revisions to go", || async { watch().await.is_some() }).await;
    // They may go on going while we look: then we are told again.
    let mut oldest = 2;
    let mut from_oldest = loop {
        match agent.watch(oldest - 1).await {
            Ok(watch) => break watch,
            Err(Error::Store(StoreError::Compacted { oldest: held })) => {
                assert!(held > oldest);
                oldest = held;
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert!(oldest > 2);
    assert!(matches!(from_oldest.next().await, Ok(Watched::Revision { rev, .. }) if rev == oldest));
    let fresh = harness.board().await;
    assert_eq!(fresh.agent("kept").unwrap().working().get::<u32>("key").await.unwrap(), Some(29));
}

/// History, then what comes: every revision once, in order, whole.
pub async fn a_watcher_gets_history_then_what_comes(harness: &Harness) {
    let (one, two) = (harness.board().await, harness.board().await);
    let agent = one.agent("watched").unwrap();
    for index in 0..10 {
        agent.working().set("key", &index).await.unwrap();
    }
    let mut watch = two.agent("watched").unwrap().watch(4).await.unwrap();
    let writing = tokio::spawn(async move {
        for index in 0..600 {
            agent.working().set("key", &index).await.unwrap();
        }
    });
    for expected in 5..=610 {
        match watch.next().await.unwrap() {
            Watched::Revision { rev, commit, .. } => assert_eq!((rev, commit.events.len()), (expected, 1)),
            Watched::Bookmark { .. } => panic!("a bookmark while there is news"),
        }
    }
    writing.await.unwrap();
}

/// A revision that does not exist yet cannot be resumed from.
pub async fn a_watcher_of_the_future_is_refused(harness: &Harness) {
    let board = harness.board().await;
    let agent = board.agent("watched").unwrap();
    agent.working().set("key", &1).await.unwrap();
    let refused = agent.watch(2).await.err();
    assert!(matches!(refused, Some(Error::Store(StoreError::Future { asked: 2, head: 1 }))), "{refused:?}");
}

/// While nothing happens a watcher hears where it stands.
pub async fn an_idle_watcher_gets_bookmarks(harness: &Harness) {
    let options = Options { bookmark_interval: Duration::from_millis(5), ..Options::default() };
    let board = harness.board_with(options).await;
    let agent = board.agent("idle").unwrap();
    agent.working().set("key", &1).await.unwrap();
    let mut watch = agent.watch(1).await.unwrap();
    assert_eq!(watch.next().await.unwrap(), Watched::Bookmark { rev: 1 });
    agent.working().set("key", &2).await.unwrap();
    let next = loop {
        let next = watch.next().await.unwrap();
        if next != (Watched::Bookmark { rev: 1 }) {
            break next;
        }
    };
    assert!(matches!(next, Watched::Revision { rev: 2, .. }));
}

/// History may be read slowly; a live watcher that falls behind is told where to resume.
pub async fn a_live_watcher_that_falls_behind_is_cut_off(harness: &Harness) {
    let options = Options { max_watch_lag: 10, bookmark_interval: Duration::from_millis(1), ..Options::default() };
    let board = harness.board_with(options).await;
    let agent = board.agent("slow").unwrap();
    for index in 0..20 {
        agent.working().set("key", &index).await.unwrap();
    }
    let mut watch = agent.watch(0).await.unwrap();
    for _ in 0..20 {
        assert!(matches!(watch.next().await.unwrap(), Watched::Revision { .. }));
    }
    assert_eq!(watch.next().await.unwrap(), Watched::Bookmark { rev: 20 });
    for index in 0..20 {
        agent.working().set("key", &index).await.unwrap();
    }
    assert!(matches!(watch.next().await, Err(Error::Lagged { resume_from: 20 })));
    assert!(agent.watch(20).await.is_ok());
}

/// Waits until whoever listens to all spaces has heard of those revisions, or of newer ones.
async fn hear(moved: &mut broadcast::Receiver<(SpaceId, u64)>, expected: &[(&SpaceId, u64)]) {
    let mut waited_for: HashMap<&SpaceId, u64> = expected.iter().copied().collect();
    while !waited_for.is_empty() {
        let told = tokio::time::timeout(Duration::from_secs(30), moved.recv()).await;
        let (space, rev) = told.unwrap_or_else(|_| panic!("nobody told of {waited_for:?}")).expect("no lag");
        if waited_for.get(&space).is_some_and(|expected| rev >= *expected) {
            waited_for.remove(&space);
        }
    }
}

/// Whoever listens to all spaces hears of each, new ones too, be it written by the same handle or by another.
pub async fn whoever_listens_to_all_spaces_hears_of_each(harness: &Harness) {
    let (store, other) = (harness.open().await, harness.open().await);
    let names = [space("before"), space("own"), space("other"), SpaceId::of(SpaceKind::Board, "own")];
    let [before, own, others, board] = &names;
    let head = put(&store, before, Head::EMPTY, &[b"1"]).await;
    let mut moved = store.all_changes();
    let mut second = store.all_changes();
    let own_head = put(&store, own, Head::EMPTY, &[b"1", b"2"]).await;
    put(&store, board, Head::EMPTY, &[b"1"]).await;
    hear(&mut moved, &[(own, 2), (board, 1)]).await;
    let others_head = put(&other, others, Head::EMPTY, &[b"1"]).await;
    put(&other, before, head, &[b"2"]).await;
    put(&other, own, own_head, &[b"3"]).await;
    hear(&mut moved, &[(others, 1), (before, 2), (own, 3)]).await;
    hear(&mut second, &[(own, 2), (board, 1), (others, 1), (before, 2), (own, 3)]).await;
    // Whoever comes again after all have gone hears as well.
    drop((moved, second));
    let head = put(&other, others, others_head, &[b"2"]).await;
    let mut again = store.all_changes();
    put(&other, others, head, &[b"3"]).await;
    hear(&mut again, &[(others, 3)]).await;
}

/// A space that another handle deletes and writes again is heard of, also where the store gives places in its files again.
pub async fn a_deleted_space_that_is_written_again_is_heard_of(harness: &Harness) {
    let (store, other) = (harness.open().await, harness.open().await);
    let (kept, deleted) = (space("kept"), space("deleted"));
    put(&other, &kept, Head::EMPTY, &[b"1"]).await;
    let head = put(&other, &deleted, Head::EMPTY, &[b"1", b"2"]).await;
    let mut moved = store.all_changes();
    let warm = put(&other, &deleted, head, &[b"3"]).await;
    hear(&mut moved, &[(&deleted, 3)]).await;
    let tombstone = ids::commit();
    assert_eq!(other.delete(&deleted, warm, tombstone).await, Ok(Appended::Committed));
    let born = Head { rev: warm.rev + 1, commit: tombstone };
    put(&other, &deleted, born, &[b"again"]).await;
    hear(&mut moved, &[(&deleted, 5)]).await;
}

/// A list is in order, goes on after a cursor, shows summaries, and leaves out what was deleted.
pub async fn spaces_are_listed_with_a_cursor_and_summaries(harness: &Harness) {
    let store = harness.open().await;
    for index in [3, 1, 4, 0, 2] {
        let summary = format!("{{\"index\":{index}}}").into_bytes();
        let next_due = (index == 4).then(|| time(7));
        let append = append(&space(&format!("s{index}")), Head::EMPTY, &[b"x"]);
        assert_eq!(store.append(Append { summary, next_due, ..append }).await, Ok(Appended::Committed));
    }
    let deleted = put(&store, &space("s15"), Head::EMPTY, &[b"x"]).await;
    store.delete(&space("s15"), deleted, ids::commit()).await.unwrap();
    let page = store.list(SpaceKind::Agent, None, 2).await.unwrap();
    assert!(page.iter().map(|listed| listed.space.name()).eq(["s0", "s1"]));
    let rest = store.list(SpaceKind::Agent, Some(&page[1].space), 10).await.unwrap();
    assert!(rest.iter().map(|listed| listed.space.name()).eq(["s2", "s3", "s4"]));
    assert_eq!(rest[2].summary, b"{\"index\":4}");
    assert_eq!((rest[2].next_due, rest[2].head.rev), (Some(time(7)), 1));
}

/// What is due is found in spaces that were never loaded, the most overdue first, and no more once it is done.
pub async fn due_spaces_are_found_most_overdue_first(harness: &Harness) {
    let store = harness.open().await;
    for (name, due) in [("late", Some(30)), ("soon", Some(10)), ("never", None), ("later", Some(50))] {
        let append = append(&space(name), Head::EMPTY, &[b"x"]);
        store.append(Append { next_due: due.map(time), ..append }).await.unwrap();
    }
    // A kind that only a newer server knows.
    let unknown = append(&SpaceId::from_stored("later/x"), Head::EMPTY, &[b"x"]);
    store.append(Append { next_due: Some(time(1)), ..unknown }).await.unwrap();
    let names = |due: Vec<SpaceId>| due.iter().map(|space| space.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(store.due(SpaceKind::Agent, time(40), 10).await.unwrap()), ["soon", "late"]);
    assert_eq!(names(store.due(SpaceKind::Agent, time(40), 1).await.unwrap()), ["soon"]);
    assert_eq!(names(store.due(SpaceKind::Agent, time(9), 10).await.unwrap()), [""; 0]);
    let head = store.head(&space("soon")).await.unwrap();
    put(&store, &space("soon"), head, &[b"done"]).await;
    assert_eq!(names(store.due(SpaceKind::Agent, time(40), 10).await.unwrap()), ["late"]);
    let head = store.head(&space("late")).await.unwrap();
    store.delete(&space("late"), head, ids::commit()).await.unwrap();
    assert_eq!(names(store.due(SpaceKind::Agent, time(40), 10).await.unwrap()), [""; 0]);
}

/// Spaces of different kinds may have the same name, and are listed and found due apart.
pub async fn every_kind_has_its_own_list_and_its_own_due_spaces(harness: &Harness) {
    let store = harness.open().await;
    for (index, kind) in SpaceKind::ALL.iter().enumerate() {
        for name in ["same", kind.as_str()] {
            let append = append(&SpaceId::of(*kind, name), Head::EMPTY, &[b"x"]);
            store.append(Append { next_due: Some(time(10 + index as i64)), ..append }).await.unwrap();
        }
    }
    for kind in SpaceKind::ALL {
        let mut own = [SpaceId::of(*kind, "same"), SpaceId::of(*kind, kind.as_str())];
        own.sort();
        let listed = store.list(*kind, None, 9).await.unwrap();
        assert!(listed.iter().map(|listed| &listed.space).eq(&own), "{kind:?}");
        let mut due = store.due(*kind, time(40), 9).await.unwrap();
        due.sort();
        assert_eq!(due, own, "{kind:?}");
    }
}

/// Deleting removes log, snapshot and due date; deleting again finds nothing.
pub async fn a_deleted_space_is_gone_and_its_log_with_it(harness: &Harness) {
    let board = harness.board_with(eager_snapshots()).await;
    let agent = board.agent("deleted").unwrap();
    for index in 0..20 {
        agent.working().set("key", &index).await.unwrap();
    }
    let store = harness.open().await;
    let space = SpaceId::agent(&AgentId::new("deleted", &Limits::default()).unwrap());
    eventually("a snapshot", || async { store.load(&space).await.unwrap().snapshot.is_some() }).await;
    assert!(board.delete_agent("deleted").await.unwrap());
    assert!(!board.delete_agent("deleted").await.unwrap());
    assert!(!board.delete_agent("never there").await.unwrap());
    assert_eq!(agent.working().len().await.unwrap(), 0);
    let loaded = store.load(&space).await.unwrap();
    assert_eq!((loaded.snapshot, loaded.head.rev), (None, 21));
    assert_eq!(store.read_after(&space, start(), 10).await, Err(StoreError::Compacted { oldest: 22 }));
    assert!(board.agents(None, 10).await.unwrap().is_empty());
}

/// A restore of several mebibytes is stored in parts, and is one revision for everyone: all or nothing.
pub async fn a_bulk_command_is_one_revision_however_large(harness: &Harness) {
    let board = harness.board().await;
    let agent = board.agent("bulky").unwrap();
    let value = "x".repeat(200 * 1024);
    for index in 0..25 {
        agent.working().set(&format!("key {index}"), &value).await.unwrap();
    }
    let snapshot = agent.snapshot().await.unwrap();
    agent.clear(crate::ClearOptions::default()).await.unwrap();
    let rev = agent.restore(snapshot.clone()).await.unwrap();
    assert_eq!(rev, 27);
    let fresh = harness.board().await;
    let restored = fresh.agent("bulky").unwrap();
    assert_eq!((restored.working().len().await.unwrap(), restored.rev().await.unwrap()), (25, 27));
    let mut watch = restored.watch(26).await.unwrap();
    assert!(matches!(watch.next().await.unwrap(), Watched::Revision { rev: 27, .. }));
}

/// What an import brings is read as if it had been written here: birth, snapshot, records, due date, summary.
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
    // A tombstone alone: the next life goes on counting.
    let gone = self::space("gone");
    let import =
        Import { space: gone.clone(), born, snapshot: None, records: Vec::new(), next_due: None, summary: Vec::new() };
    assert_eq!(store.import(import).await, Ok(Appended::Committed));
    assert_eq!(store.load(&gone).await, Ok(Loaded { head: born, born, snapshot: None }));
    put(&store, &gone, born, &[b"again"]).await;
    assert_eq!(store.head(&gone).await.unwrap().rev, 4);
    assert_eq!(store.check().await, Ok(vec![]));
}

/// An import begins a log; it never replaces one, be it living or deleted.
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

/// A rewrite changes bodies and the snapshot, and nothing else; then nothing of the former is left.
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
    // Without a snapshot before, it is the first one; one of an older state never replaces it.
    let first = self::space("rewritten without a snapshot");
    let head = put(&store, &first, Head::EMPTY, &[b"one", b"two"]).await;
    let snapshot = Snapshot { head, body: b"state".to_vec() };
    let rewrite = Rewrite { space: first.clone(), expected: head, records: vec![], snapshot: Some(snapshot.clone()) };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    let old = Head { rev: 1, commit: read_all(&store, &first).await[0].commit };
    store.write_snapshot(&first, Snapshot { head: old, body: b"state with a secret".to_vec() }).await.unwrap();
    assert_eq!(store.load(&first).await.unwrap().snapshot, Some(snapshot));
}

/// A rewrite is decided on the whole log: if that moved, it must be decided again.
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

/// Closing and opening again changes nothing.
pub async fn what_was_written_is_there_when_opened_again(harness: &Harness) {
    let board = harness.board().await;
    let agent = board.agent("kept").unwrap();
    agent.working().set("key", "value").await.unwrap();
    agent.working().add_note("noted").await.unwrap();
    let before = agent.snapshot().await.unwrap();
    board.close().await.unwrap();
    assert!(matches!(agent.working().set("key", "late").await, Err(Error::Closed)));
    let board = harness.board().await;
    let agent = board.agent("kept").unwrap();
    assert_eq!(agent.working().get::<String>("key").await.unwrap().as_deref(), Some("value"));
    let after = agent.snapshot().await.unwrap();
    assert_eq!((after.memory, after.rev, after.rev), (before.memory, before.rev, 2));
    assert!(board.check().await.unwrap().is_empty());
}

/// Many processes increment one number; every increment counts.
pub async fn a_counter_contended_by_many_processes_is_exact(harness: &Harness) {
    let workers: Vec<_> = (0..6).map(|_| harness.spawn(&["count", "counted", "count", "25"])).collect();
    for worker in workers {
        worker.finish().await;
    }
    let board = harness.board().await;
    assert_eq!(board.agent("counted").unwrap().working().get::<u64>("count").await.unwrap(), Some(150));
}

/// Many processes add notes; all are there, each process's in its order.
pub async fn notes_of_many_processes_are_all_kept(harness: &Harness) {
    let prefixes = ["a", "b", "c", "d", "e", "f"];
    let workers: Vec<_> = prefixes.iter().map(|prefix| harness.spawn(&["note", "noted", prefix, "25"])).collect();
    for worker in workers {
        assert_eq!(worker.finish().await.len(), 25);
    }
    let notes = harness.board().await.agent("noted").unwrap().working().notes().await.unwrap();
    assert_eq!(notes.len(), 150);
    for prefix in prefixes {
        let own = notes.iter().map(|note| &*note.text).filter(|text| text.starts_with(prefix));
        assert!(own.eq((0..25).map(|index| format!("{prefix}-{index}"))));
    }
}

/// A watcher hears of another process's commits, soon.
pub async fn another_process_wakes_a_watcher(harness: &Harness) {
    let board = harness.board().await;
    let agent = board.agent("woken").unwrap();
    let mut watch = agent.watch(0).await.unwrap();
    let worker = harness.spawn(&["note", "woken", "n", "40"]);
    for expected in 1..=40 {
        let next = tokio::time::timeout(Duration::from_secs(30), watch.next()).await.expect("a wake-up");
        assert!(matches!(next.unwrap(), Watched::Revision { rev, .. } if rev == expected));
    }
    worker.finish().await;
}

/// Whoever listens to all spaces hears of what other processes write, to spaces that nobody here knew of.
pub async fn another_process_is_heard_by_whoever_listens_to_all_spaces(harness: &Harness) {
    let store = harness.open().await;
    let mut moved = store.all_changes();
    let workers = [harness.spawn(&["note", "one", "n", "20"]), harness.spawn(&["note", "two", "n", "20"])];
    hear(&mut moved, &[(&space("one"), 20), (&space("two"), 20)]).await;
    for worker in workers {
        worker.finish().await;
    }
}

/// A watcher in one process sees every revision of three others, in order, none twice.
pub async fn a_watcher_in_another_process_sees_every_revision(harness: &Harness) {
    let mut watcher = harness.spawn(&["watch", "busy", "0", "90"]);
    assert_eq!(watcher.line().await.as_deref(), Some("watching"));
    let writers: Vec<_> = ["a", "b", "c"].iter().map(|prefix| harness.spawn(&["note", "busy", prefix, "30"])).collect();
    for writer in writers {
        writer.finish().await;
    }
    let seen = watcher.finish().await;
    assert!(seen.iter().map(|line| line.parse::<u64>().unwrap()).eq(1..=90), "{seen:?}");
}

/// Killed at fifty random moments in a loop of writes, a process loses nothing that it was acknowledged for.
pub async fn nothing_acknowledged_is_lost_at_kill_9(harness: &Harness) {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut acknowledged = Vec::new();
    for life in 0..50 {
        let prefix = format!("life{life}");
        let mut worker = harness.spawn(&["note", "killed", &prefix, "1000000"]);
        let mut lines = Vec::new();
        for _ in 0..dice.usize(0..12) {
            lines.push(worker.line().await.expect("the worker goes on"));
        }
        // Somewhere inside a write, or between two.
        tokio::time::sleep(Duration::from_micros(dice.u64(0..3000))).await;
        lines.extend(worker.kill().await);
        // The pipe may hold the half of a line.
        lines.retain(|line| line.parse::<u64>().is_ok());
        acknowledged.extend(lines.into_iter().map(|line| format!("{prefix}-{line}")));
    }
    let board = harness.board().await;
    assert!(board.check().await.unwrap().is_empty());
    let notes = board.agent("killed").unwrap().working().notes().await.unwrap();
    let kept: HashSet<&str> = notes.iter().map(|note| &*note.text).collect();
    assert_eq!(kept.len(), notes.len(), "no note twice");
    let lost: Vec<_> = acknowledged.iter().filter(|note| !kept.contains(note.as_str())).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), acknowledged.len());
    assert!(acknowledged.len() > 50, "only {} writes were acknowledged at all", acknowledged.len());
}
