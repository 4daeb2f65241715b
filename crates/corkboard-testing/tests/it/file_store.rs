//! `file:` on a disk that people, crashes and bit rot change: acknowledged writes are there, or the space reports the
//! damage.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use corkboard::store::{
    Append, Appended, Cursor, FileStore, Import, Loaded, Ownership, Record, Rewrite, Snapshot, Store, StoreError, Trim,
};
use corkboard::{CommitId, Corkboard, EntryMetadata, ManualClock, Options};
use corkboard_core::{Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use tempfile::TempDir;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

/// Revisions 1 and 2 in one append, 3 and 4 in another.
const BODIES: [&str; 4] = [r#"{"one":1}"#, "two\nlines", r#"["three"]"#, r#"{"four":"vier"}"#];

fn space(name: &str) -> SpaceId {
    SpaceId::of(SpaceKind::Agent, name)
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

async fn open(folder: &Path) -> FileStore {
    FileStore::open(folder.join("store"), Ownership::Sole).await.unwrap()
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join("store/agent").join(name)
}

fn append(space: &SpaceId, expected: Head, bodies: &[&str]) -> Append {
    let records = (expected.rev + 1..).zip(bodies).map(|(rev, body)| Record {
        rev,
        commit: CommitId(uuid(rev)),
        at: time(rev as i64),
        body: body.as_bytes().to_vec(),
    });
    let records = records.collect();
    Append { space: space.clone(), expected, records, next_due: Some(time(9)), summary: b"{\"n\":1}".to_vec() }
}

/// The same ID for the same revision, so that two runs write the same bytes.
fn uuid(rev: u64) -> uuid::Uuid {
    uuid::Uuid::from_u128(u128::from(rev))
}

fn head(rev: u64) -> Head {
    Head { rev, commit: CommitId(uuid(rev)) }
}

async fn put(store: &dyn Store, space: &SpaceId, expected: Head, bodies: &[&str]) -> Head {
    let append = append(space, expected, bodies);
    let new = head(append.expected.rev + bodies.len() as u64);
    assert_eq!(store.append(append).await, Ok(Appended::Committed));
    new
}

async fn bodies(store: &dyn Store, space: &SpaceId) -> Vec<String> {
    let oldest = match store.read_after(space, Cursor { rev: 0, commit: None }, 100).await {
        Err(StoreError::Compacted { oldest }) => oldest,
        _ => 1,
    };
    let page = store.read_after(space, Cursor { rev: oldest - 1, commit: None }, 100).await.unwrap();
    page.records.into_iter().map(|record| String::from_utf8(record.body).unwrap()).collect()
}

/// A closed store in which agent "a" has two appends, and "b" one.
async fn two_spaces() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let two = put(&store, &space("a"), Head::EMPTY, &BODIES[..2]).await;
    std::fs::copy(file(folder.path(), "a/head.json"), folder.path().join("head-at-2.json")).unwrap();
    put(&store, &space("a"), two, &BODIES[2..]).await;
    put(&store, &space("b"), Head::EMPTY, &BODIES[..1]).await;
    store.close().await.unwrap();
    folder
}

/// As if the last append to "a" had been written but not yet fsynced before a crash.
fn last_append_was_not_saved(folder: &Path) {
    std::fs::copy(folder.join("head-at-2.json"), file(folder, "a/head.json")).unwrap();
}

/// All files of a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The start of each line, and the end.
fn line_starts(log: &[u8]) -> Vec<usize> {
    std::iter::once(0).chain((1..=log.len()).filter(|end| log[end - 1] == b'\n')).collect()
}

#[tokio::test]
async fn a_log_cut_at_any_byte_of_its_last_append_loses_only_that_append() {
    let folder = two_spaces().await;
    let log = file(folder.path(), "a/log.jsonl");
    let whole = std::fs::read(&log).unwrap();
    let last = line_starts(&whole)[3];
    for cut in last..whole.len() {
        std::fs::write(&log, &whole[..cut]).unwrap();
        last_append_was_not_saved(folder.path());
        let store = open(folder.path()).await;
        // If only the last line break is missing, nothing is lost.
        let kept = if cut == whole.len() - 1 { 4 } else { 2 };
        assert_eq!(store.head(&space("a")).await, Ok(head(kept as u64)), "cut at {cut}");
        assert_eq!(bodies(&store, &space("a")).await, BODIES[..kept]);
        assert_eq!(store.list(SpaceKind::Agent, None, 1).await.unwrap()[0].head, head(kept as u64));
        assert_eq!(std::fs::read(&log).unwrap(), whole[..if kept == 4 { whole.len() } else { last }]);
        if kept == 2 && cut > last {
            assert_eq!(std::fs::read(file(folder.path(), "a/log.torn")).unwrap(), whole[last..cut]);
        }
        if cut % 50 == 0 {
            put(&store, &space("a"), head(2), &BODIES[2..]).await;
            assert_eq!(bodies(&store, &space("a")).await, BODIES);
            assert_eq!(store.check().await, Ok(vec![]));
        }
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_log_cut_between_two_records_is_noticed() {
    let folder = two_spaces().await;
    let log = file(folder.path(), "a/log.jsonl");
    let store = open(folder.path()).await;
    for rev in 4..40 {
        put(&store, &space("a"), head(rev), &["{}"]).await;
    }
    store.close().await.unwrap();
    let whole = std::fs::read(&log).unwrap();
    let starts = line_starts(&whole);
    for (lines, cut) in starts[..starts.len() - 1].iter().enumerate() {
        // Between two records, and in the middle of one that had been acknowledged, too.
        for cut in [*cut, *cut + 40] {
            std::fs::write(&log, &whole[..cut]).unwrap();
            let store = open(folder.path()).await;
            let error = store.head(&space("a")).await.expect_err("a cut log should be an error");
            let is_named =
                matches!(&error, StoreError::Corrupt(text) if text.contains("a/log.jsonl: it ends at revision"));
            assert!(is_named, "cut after {lines} lines: {error}");
            if lines % 10 == 0 {
                stopped(&store, "a", "but revision 40 was saved").await;
            }
            store.close().await.unwrap();
            assert!(std::fs::read(&log).unwrap() == whole[..cut], "the log should not be changed");
            assert!(!file(folder.path(), "a/log.torn").exists());
        }
    }
    std::fs::remove_file(&log).unwrap();
    let store = open(folder.path()).await;
    stopped(&store, "a", "is missing").await;
    store.close().await.unwrap();
    // How to continue without the lost records.
    std::fs::write(&log, &whole[..starts[20]]).unwrap();
    std::fs::remove_file(file(folder.path(), "a/head.json")).unwrap();
    let store = open(folder.path()).await;
    let left = store.head(&space("a")).await.unwrap();
    assert!(left.rev > 10 && left.rev < 40, "{left:?}");
    put(&store, &space("a"), left, &["{}"]).await;
    store.close().await.unwrap();
    let store = open(folder.path()).await;
    assert_eq!(store.check().await, Ok(vec![]));
}

/// A folder with the name of the file for torn bytes imitates a disk without room for them.
#[tokio::test]
async fn a_torn_append_that_cannot_be_cut_off_yet_does_not_block_readers() {
    let folder = two_spaces().await;
    let (log, torn) = (file(folder.path(), "a/log.jsonl"), file(folder.path(), "a/log.torn"));
    let whole = std::fs::read(&log).unwrap();
    let last = line_starts(&whole)[3];
    for cut in [last + 1, last + 30, whole.len() - 2] {
        std::fs::write(&log, &whole[..cut]).unwrap();
        last_append_was_not_saved(folder.path());
        std::fs::create_dir(&torn).unwrap();
        let store = open(folder.path()).await;
        assert_eq!(store.head(&space("a")).await, Ok(head(2)), "cut at {cut}");
        assert_eq!(bodies(&store, &space("a")).await, BODIES[..2]);
        assert_eq!(store.list(SpaceKind::Agent, None, 1).await.unwrap()[0].head, head(2));
        let told = store.check().await.unwrap();
        assert!(told.len() == 1 && told[0].contains("could not be removed"), "{told:?}");
        // Nothing is written after the torn bytes. Other spaces can be written.
        for _ in 0..2 {
            let refused = store.append(append(&space("a"), head(2), &BODIES[2..])).await;
            assert!(matches!(&refused, Err(StoreError::Unavailable(why)) if why.contains("log.torn")), "{refused:?}");
            let deleted = store.delete(&space("a"), head(2), CommitId(uuid(9))).await;
            assert!(matches!(&deleted, Err(StoreError::Unavailable(_))), "{deleted:?}");
        }
        assert_eq!(std::fs::read(&log).unwrap(), whole[..cut]);
        put(&store, &space("c"), Head::EMPTY, &BODIES[..1]).await;
        assert_eq!(bodies(&store, &space("b")).await, BODIES[..1]);
        // Now there is room again.
        std::fs::remove_dir(&torn).unwrap();
        put(&store, &space("a"), head(2), &BODIES[2..]).await;
        assert_eq!(std::fs::read(&log).unwrap(), whole);
        assert_eq!(std::fs::read(&torn).unwrap(), whole[last..cut]);
        assert_eq!(store.check().await, Ok(vec![]));
        assert_eq!(store.delete(&space("c"), head(1), CommitId(uuid(2))).await, Ok(Appended::Committed));
        store.close().await.unwrap();
        std::fs::remove_file(&torn).unwrap();
        std::fs::remove_dir_all(file(folder.path(), "c")).unwrap();
    }
}

#[tokio::test]
async fn a_record_of_several_parts_is_stored_completely_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let long = format!("[\"{}\"]", "Ä\\\"".repeat(Record::PART_BYTES / 2));
    let one = put(&store, &space("a"), Head::EMPTY, &BODIES[..1]).await;
    let saved = std::fs::read(file(folder.path(), "a/head.json")).unwrap();
    put(&store, &space("a"), one, &[&long, BODIES[1]]).await;
    assert_eq!(bodies(&store, &space("a")).await, [BODIES[0], &long]);
    store.close().await.unwrap();
    let log = file(folder.path(), "a/log.jsonl");
    let whole = std::fs::read(&log).unwrap();
    let starts = line_starts(&whole);
    assert!(starts.len() > 6, "{} lines", starts.len());
    assert!(starts.windows(2).all(|line| line[1] - line[0] < Record::PART_BYTES + 500));
    for cut in starts[3..starts.len() - 1].iter().flat_map(|start| [start - 1, *start, start + 100]) {
        std::fs::write(&log, &whole[..cut]).unwrap();
        std::fs::write(file(folder.path(), "a/head.json"), &saved).unwrap();
        let store = open(folder.path()).await;
        assert_eq!(store.head(&space("a")).await, Ok(one), "cut at {cut}");
        assert_eq!(bodies(&store, &space("a")).await, BODIES[..1]);
        store.close().await.unwrap();
    }
    // A part missing from the middle is not the result of a crash.
    std::fs::write(&log, [&whole[..starts[4]], &whole[starts[5]..]].concat()).unwrap();
    let store = open(folder.path()).await;
    assert!(matches!(store.head(&space("a")).await, Err(StoreError::Corrupt(_))));
}

/// Checks that every call on the space fails with an error that names the file and contains a text.
async fn stopped(store: &FileStore, name: &str, text: &str) {
    let space = space(name);
    let import = Import {
        space: space.clone(),
        born: Head::EMPTY,
        snapshot: None,
        records: Vec::new(),
        next_due: None,
        summary: Vec::new(),
    };
    let rewrite = Rewrite { space: space.clone(), expected: head(4), records: Vec::new(), snapshot: None };
    let errors = [
        store.head(&space).await.err(),
        store.load(&space).await.err(),
        store.read_after(&space, Cursor { rev: 0, commit: None }, 1).await.err(),
        store.append(append(&space, head(4), &["five"])).await.err(),
        store.write_snapshot(&space, Snapshot { head: head(4), body: Vec::new() }).await.err(),
        store.trim(&space, Trim { up_to: 9, older_than: None }).await.err(),
        store.delete(&space, head(4), CommitId(uuid(5))).await.err(),
        store.import(import).await.err(),
        store.rewrite(rewrite).await.err(),
        store.scrub().await.err(),
    ];
    for (call, error) in errors.into_iter().enumerate() {
        let Some(StoreError::Corrupt(said)) = &error else { panic!("call {call} returned {error:?}") };
        assert!(said.contains(&format!("agent/{name}/")) && said.contains(text), "call {call} returned {said:?}");
    }
    let problems = store.check().await.unwrap();
    assert!(problems.iter().any(|problem| problem.contains(text)), "{problems:?} does not contain {text:?}");
    assert!(!problems.iter().any(|problem| problem.contains("agent/b/")), "{problems:?}");
    let listed = store.list(SpaceKind::Agent, None, 9).await.unwrap();
    assert!(listed.iter().map(|listed| listed.space.name()).eq([name, "b"]), "the space should not look deleted");
    // Other spaces are unaffected.
    let b = self::space("b");
    let at = store.head(&b).await.unwrap();
    assert_eq!(store.append(append(&b, at, &["more"])).await, Ok(Appended::Committed));
}

#[tokio::test]
async fn a_changed_byte_stops_its_space_and_nothing_else() {
    let folder = two_spaces().await;
    let log = file(folder.path(), "a/log.jsonl");
    let whole = std::fs::read(&log).unwrap();
    let starts = line_starts(&whole);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= [1, 0x20, 0x80][at % 3];
        std::fs::write(&log, &damaged).unwrap();
        let store = open(folder.path()).await;
        let line = starts.partition_point(|start| *start <= at);
        if at % 40 == 0 {
            stopped(&store, "a", &format!("log.jsonl, line {line}: ")).await;
        }
        let listed = store.list(SpaceKind::Agent, None, 1).await.unwrap().remove(0);
        // Calls that do not read the whole log check its last line, and the seal of the line before it.
        let is_told = at < starts[4] - 27;
        assert_eq!(
            (listed.head, listed.summary.is_empty()),
            if is_told { (head(4), false) } else { (Head::EMPTY, true) }
        );
        let error = store.head(&space("a")).await.expect_err("a changed byte should be an error");
        assert!(error.to_string().contains(&format!("a/log.jsonl, line {line}: ")), "byte {at}: {error}");
        store.close().await.unwrap();
        assert!(std::fs::read(&log).unwrap() == damaged, "the log should not be changed, byte {at}");
    }
    std::fs::write(&log, &whole).unwrap();
    let store = open(folder.path()).await;
    assert_eq!(bodies(&store, &space("a")).await, BODIES, "after a repair the space should work again");
}

#[tokio::test]
async fn a_tombstone_is_not_taken_for_a_torn_beginning() {
    let folder = two_spaces().await;
    let store = open(folder.path()).await;
    assert_eq!(store.delete(&space("a"), head(4), CommitId(uuid(5))).await, Ok(Appended::Committed));
    store.close().await.unwrap();
    let log = file(folder.path(), "a/log.jsonl");
    let whole = std::fs::read(&log).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= [1, 0x20, 0x80][at % 3];
        std::fs::write(&log, &damaged).unwrap();
        let store = open(folder.path()).await;
        let error = store.head(&space("a")).await.expect_err("a changed byte should be an error");
        assert!(error.to_string().contains("a/log.jsonl, line 1: "), "byte {at}: {error}");
        store.close().await.unwrap();
    }
    // An editor may remove the last line break. The store adds it again.
    std::fs::write(&log, whole.strip_suffix(b"\n").unwrap()).unwrap();
    let store = open(folder.path()).await;
    assert_eq!(store.head(&space("a")).await, Ok(head(5)));
    put(&store, &space("a"), head(5), &["a new life"]).await;
    assert_eq!(store.check().await, Ok(vec![]));
}

#[tokio::test]
async fn removed_moved_or_repeated_lines_are_found() {
    let folder = two_spaces().await;
    let log = file(folder.path(), "a/log.jsonl");
    let whole = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    for (order, line) in [
        (vec![0, 1, 3, 4], 3),
        (vec![0, 2, 3, 4], 2),
        (vec![1, 2, 3, 4], 1),
        (vec![0, 1, 2, 2, 3, 4], 4),
        (vec![0, 1, 3, 2, 4], 3),
        (vec![0, 1, 2, 3, 4, 0], 6),
    ] {
        std::fs::write(&log, order.iter().map(|line| lines[*line]).collect::<String>()).unwrap();
        let store = open(folder.path()).await;
        stopped(&store, "a", &format!("log.jsonl, line {line}: ")).await;
        store.close().await.unwrap();
    }
    // Every damaged line is reported, not only the first.
    let damaged = whole.replace("\"three\"", "\"drei\"").replace("\"one\"", "\"eins\"");
    std::fs::write(&log, damaged).unwrap();
    let store = open(folder.path()).await;
    let problems = store.check().await.unwrap();
    assert!(problems.len() == 2 && problems[0].contains("line 2") && problems[1].contains("line 4"), "{problems:?}");
    store.close().await.unwrap();
    // A line from before a rewrite is valid, but does not belong to this log.
    std::fs::write(&log, &whole).unwrap();
    let store = open(folder.path()).await;
    let record = Record { rev: 3, commit: CommitId(uuid(3)), at: time(3), body: b"[\"other\"]".to_vec() };
    let rewrite = Rewrite { space: space("a"), expected: head(4), records: vec![record], snapshot: None };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    store.close().await.unwrap();
    let rewritten = std::fs::read_to_string(&log).unwrap();
    let other = rewritten.split_inclusive('\n').nth(3).unwrap();
    std::fs::write(&log, rewritten.replace(other, lines[3])).unwrap();
    let store = open(folder.path()).await;
    stopped(&store, "a", "log.jsonl, line 5: its checksum does not match").await;
    store.close().await.unwrap();
    // Another agent's log is not accepted.
    std::fs::copy(file(folder.path(), "b/log.jsonl"), &log).unwrap();
    let store = open(folder.path()).await;
    stopped(&store, "a", "it is the log of agent/b").await;
}

#[tokio::test]
async fn a_snapshot_notices_that_the_end_of_the_log_is_gone() {
    let folder = two_spaces().await;
    let store = open(folder.path()).await;
    store.write_snapshot(&space("a"), Snapshot { head: head(4), body: b"{}".to_vec() }).await.unwrap();
    store.close().await.unwrap();
    let log = file(folder.path(), "a/log.jsonl");
    let whole = std::fs::read(&log).unwrap();
    std::fs::write(&log, &whole[..line_starts(&whole)[3]]).unwrap();
    // As older versions left it.
    std::fs::remove_file(file(folder.path(), "a/head.json")).unwrap();
    let store = open(folder.path()).await;
    stopped(&store, "a", "snapshot.json: it shows revision 4, but the log ends at 2").await;
    store.close().await.unwrap();
    std::fs::remove_file(&log).unwrap();
    let store = open(folder.path()).await;
    stopped(&store, "a", "log.jsonl is missing").await;
}

#[tokio::test]
async fn a_damaged_snapshot_is_fatal_only_where_the_log_does_not_begin_at_the_beginning() {
    let folder = two_spaces().await;
    let store = open(folder.path()).await;
    let snapshot = Snapshot { head: head(3), body: b"{\"state\":3}".to_vec() };
    store.write_snapshot(&space("a"), snapshot.clone()).await.unwrap();
    store.close().await.unwrap();
    let path = file(folder.path(), "a/snapshot.json");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, whole.replace("\"state\"", "\"stale\"")).unwrap();
    let store = open(folder.path()).await;
    let loaded = Loaded { head: head(4), born: Head::EMPTY, snapshot: None };
    assert_eq!(store.load(&space("a")).await, Ok(loaded));
    let problems = store.check().await.unwrap();
    assert!(problems.len() == 1 && problems[0].contains("snapshot.json: its checksum"), "{problems:?}");
    assert_eq!(
        store.trim(&space("a"), Trim { up_to: 9, older_than: None }).await,
        Ok(1),
        "no valid snapshot covers the records"
    );
    // A new snapshot replaces it, and then the log can be trimmed.
    store.write_snapshot(&space("a"), snapshot).await.unwrap();
    assert_eq!(store.trim(&space("a"), Trim { up_to: 9, older_than: None }).await, Ok(4));
    assert_eq!(store.check().await, Ok(vec![]));
    store.close().await.unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    for damaged in [Some(whole.replace("\"state\"", "\"stale\"")), Some(whole[..20].to_owned()), None] {
        match damaged {
            Some(damaged) => std::fs::write(&path, damaged).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let store = open(folder.path()).await;
        stopped(&store, "a", "snapshot.json: ").await;
        store.close().await.unwrap();
    }
    std::fs::write(&path, whole).unwrap();
    assert_eq!(bodies(&open(folder.path()).await, &space("a")).await, BODIES[3..]);
}

#[tokio::test]
async fn a_log_that_another_program_changes_is_not_written_to() {
    let folder = two_spaces().await;
    let store = open(folder.path()).await;
    assert_eq!(store.head(&space("a")).await, Ok(head(4)));
    let log = file(folder.path(), "a/log.jsonl");
    let mut text = std::fs::read_to_string(&log).unwrap();
    text.push_str("a remark\n");
    std::fs::write(&log, &text).unwrap();
    let error = store.append(append(&space("a"), head(4), &["five"])).await;
    assert!(matches!(&error, Err(StoreError::Corrupt(text)) if text.contains("another program")), "{error:?}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), text);
    put(&store, &space("b"), head(1), &["two"]).await;
    // A folder that another program created meanwhile is not overwritten, either.
    std::fs::create_dir(file(folder.path(), "c")).unwrap();
    std::fs::write(file(folder.path(), "c/log.jsonl"), "mine\n").unwrap();
    let error = store.delete(&space("c"), Head::EMPTY, CommitId(uuid(1))).await;
    assert!(matches!(&error, Err(StoreError::Corrupt(text)) if text.contains("another program")), "{error:?}");
    assert_eq!(std::fs::read(file(folder.path(), "c/log.jsonl")).unwrap(), b"mine\n");
}

#[tokio::test]
async fn one_process_at_a_time() {
    let folder = two_spaces().await;
    let url = format!("file:{}", folder.path().join("store").display());
    let corkboard = Corkboard::open(&url).await.unwrap();
    assert_eq!(corkboard.store_info().ownership, Ownership::Sole);
    let worker = || Command::new(WORKER).args([&url, "note", "c", "n", "1"]).output().unwrap();
    let output = worker();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, format!("error: the store is locked by process {}\n", std::process::id()));
    assert!(!output.status.success());
    let again = FileStore::open(folder.path().join("store"), Ownership::Sole).await.err();
    assert!(matches!(again, Some(StoreError::Locked { .. })), "even this process should not open it twice: {again:?}");
    corkboard.close().await.unwrap();
    assert!(worker().status.success());
    assert_eq!(
        std::fs::read(folder.path().join("store/corkboard.lock")).unwrap(),
        b"",
        "the lock file should be empty after closing"
    );
}

/// Masks IDs and checksums, which differ between runs.
fn masked(text: &str) -> String {
    let is_id = |part: &str| part.len() == 36 && part.bytes().filter(|byte| *byte == b'-').count() == 4;
    let is_sum = |part: &str| part.len() == 16 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts = text.split('"').map(|part| if is_id(part) || is_sum(part) { "…" } else { part });
    parts.collect::<Vec<_>>().join("\"")
}

#[tokio::test]
async fn the_files_are_readable_by_people() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("deep/in/store");
    let options = Options {
        clock: Arc::new(ManualClock::new("2026-02-04T12:00:00Z".parse().unwrap())),
        tick_interval: std::time::Duration::from_secs(3600),
        ..Options::default()
    };
    let corkboard = Corkboard::open_with(&format!("file:{}", store.display()), options).await.unwrap();
    let memory = corkboard.agent("Ada L.").unwrap().working();
    memory.set("name", "Grace").await.unwrap();
    let week = EntryMetadata { expiry_days: Some(7), ..EntryMetadata::default() };
    memory.set("plan", &["schema", "routes"]).metadata(week).await.unwrap();
    memory.add_note("prefers \"short\" answers").await.unwrap();
    corkboard.close().await.unwrap();
    let files = files(&store);
    let names: Vec<_> = files.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(
        names,
        ["README.txt", "agent/Ada%20L./head.json", "agent/Ada%20L./log.jsonl", "corkboard.json", "corkboard.lock"]
    );
    assert_eq!(files[Path::new("corkboard.json")], b"{\"store\":\"corkboard\",\"format\":1}\n");
    let readme = str::from_utf8(&files[Path::new("README.txt")]).unwrap();
    assert!(readme.starts_with("This folder is a Corkboard store"), "{readme}");
    let read = |name: &str| masked(str::from_utf8(&files[&Path::new("agent/Ada%20L.").join(name)]).unwrap());
    assert_eq!(read("log.jsonl"), PERSONS_VIEW);
    assert_eq!(read("head.json"), "{\"format\":1,\"head\":{\"rev\":3,\"commit\":\"…\"},\"sum\":\"…\"}\n");
}

/// With IDs and checksums masked.
const PERSONS_VIEW: &str = r#"{"format":1,"space":"agent/Ada L.","sum":"…"}
{"rev":1,"at":"2026-02-04T12:00:00Z","commit":"…","body":{"v":3,"at":"2026-02-04T12:00:00Z","actor":{"principal":"local","kind":"human","role":"admin","via":null},"events":[{"entry_set":{"key":"name","is_update":false,"entry":{"id":"…","value":"Grace","type_name":"str","kind":"fact","importance":0.5,"tags":[],"custom":null,"at":"2026-02-04T12:00:00Z","expires_at":null,"author":"local","session":null,"trust":null}}}]},"summary":{"entries":1,"notes":0,"scopes":0,"bytes":11},"sum":"…"}
{"rev":2,"at":"2026-02-04T12:00:00Z","commit":"…","body":{"v":3,"at":"2026-02-04T12:00:00Z","actor":{"principal":"local","kind":"human","role":"admin","via":null},"events":[{"entry_set":{"key":"plan","is_update":false,"entry":{"id":"…","value":["schema","routes"],"type_name":"[&str; 2]","kind":"fact","importance":0.5,"tags":[],"custom":null,"at":"2026-02-04T12:00:00Z","expires_at":"2026-02-11T12:00:00Z","author":"local","session":null,"trust":null}}}]},"next_due":"2026-02-11T12:00:00Z","summary":{"entries":2,"notes":0,"scopes":0,"bytes":34},"sum":"…"}
{"rev":3,"at":"2026-02-04T12:00:00Z","commit":"…","body":{"v":3,"at":"2026-02-04T12:00:00Z","actor":{"principal":"local","kind":"human","role":"admin","via":null},"events":[{"note_added":{"note":{"id":1,"text":"prefers \"short\" answers","author":"local","at":"2026-02-04T12:00:00Z","trust":null}}}]},"next_due":"2026-02-11T12:00:00Z","summary":{"entries":2,"notes":1,"scopes":0,"bytes":57},"sum":"…"}
"#;

#[tokio::test]
async fn names_of_all_sorts() {
    let folder = tempfile::tempdir().unwrap();
    let long = "ö".repeat(2000);
    let longer = format!("{long}x");
    let names =
        [".", "..", "../../up", "a b", "a/b", "ADA", "ada", "üñí 📌", "%2E", "con", "-rf", "log.jsonl", &long, &longer];
    let store = open(folder.path()).await;
    for name in names {
        put(&store, &space(name), Head::EMPTY, &[name]).await;
    }
    // A kind that this version does not know, and IDs without a kind.
    let others = ["later/x", "x", "/x"].map(SpaceId::from_stored);
    for space in &others {
        put(&store, space, Head::EMPTY, &[space.as_str()]).await;
    }
    store.close().await.unwrap();
    let outside: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside, ["store"]);
    let store = open(folder.path()).await;
    let mut sorted = names;
    sorted.sort_unstable();
    let listed = store.list(SpaceKind::Agent, None, 100).await.unwrap();
    assert!(listed.iter().map(|listed| listed.space.name()).eq(sorted), "{listed:?}");
    for space in names.map(space).iter().chain(&others) {
        let body = if space.kind().is_some() { space.name() } else { space.as_str() };
        assert_eq!(bodies(&store, space).await, [body]);
    }
    assert_eq!(store.check().await, Ok(vec![]));
    store.close().await.unwrap();
    // A long name is stored only in the log. If the log cannot be read, the name is unknown, but the space is not
    // forgotten.
    let is_cut = |path: &PathBuf| path.to_str().unwrap().contains("%-") && path.ends_with("log.jsonl");
    let cut = files(&folder.path().join("store")).into_keys().find(is_cut).unwrap();
    let path = folder.path().join("store").join(&cut);
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap().replacen("agent", "agend", 1)).unwrap();
    let store = open(folder.path()).await;
    let problems = store.check().await.unwrap();
    assert!(problems.len() == 1 && problems[0].contains("cannot tell which space this log belongs to"), "{problems:?}");
    let listed = store.list(SpaceKind::Agent, None, 100).await.unwrap();
    assert_eq!(listed.len(), names.len() - 1);
    let lost = [&long, &longer].map(|name| space(name));
    let lost = lost.iter().find(|space| !listed.iter().any(|listed| listed.space == **space)).unwrap();
    // A caller that knows the name gets an error, and cannot recreate the space.
    let errors = [
        store.head(lost).await.err(),
        store.load(lost).await.err(),
        store.delete(lost, Head::EMPTY, CommitId(uuid(1))).await.err(),
        store.append(append(lost, Head::EMPTY, &["1"])).await.err(),
    ];
    assert!(errors.iter().all(|error| matches!(error, Some(StoreError::Corrupt(_)))), "{errors:?}");
}

#[tokio::test]
async fn a_folder_that_is_not_ours_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("diary.txt"), "dear diary").unwrap();
    let refused = FileStore::open(folder.path().to_owned(), Ownership::Sole).await.err();
    assert!(
        matches!(&refused, Some(StoreError::Url { reason, .. }) if reason.contains("not a Corkboard")),
        "{refused:?}"
    );
    assert_eq!(files(folder.path()).len(), 1);
    let refused = FileStore::open(folder.path().join("diary.txt"), Ownership::Sole).await.err();
    assert!(matches!(refused, Some(StoreError::Url { .. })), "{refused:?}");
    let refused = FileStore::open(folder.path().join("diary.txt/store"), Ownership::Sole).await.err();
    assert!(matches!(refused, Some(StoreError::Url { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_newer_format_is_left_alone() {
    let folder = two_spaces().await;
    let marker = folder.path().join("store/corkboard.json");
    std::fs::write(&marker, "{\"store\":\"corkboard\",\"format\":2,\"shape\":\"new\"}").unwrap();
    let refused = FileStore::open(folder.path().join("store"), Ownership::Sole).await.err();
    assert_eq!(refused, Some(StoreError::NewerFormat { found: 2, known: 1 }));
}

#[tokio::test]
async fn appends_that_wait_together_cost_one_fsync() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let a = space("a");
    // Each append follows the previous one, without waiting for it.
    let appends = (0..100).map(|rev| {
        let expected = if rev == 0 { Head::EMPTY } else { head(rev) };
        store.append(append(&a, expected, &["{}"]))
    });
    let results = futures_util::future::join_all(appends).await;
    assert!(results.iter().all(|result| *result == Ok(Appended::Committed)));
    assert!(store.writes() < 50, "{} writes", store.writes());
    assert_eq!(store.head(&a).await, Ok(head(100)));
    assert_eq!(store.check().await, Ok(vec![]));
}

#[tokio::test]
async fn a_conflict_does_not_affect_the_other_waiting_appends() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let a = space("a");
    let appends = [Head::EMPTY, head(1), head(1), head(7), head(2)];
    let results = futures_util::future::join_all(appends.map(|at| store.append(append(&a, at, &["{}"])))).await;
    let conflict = Ok(Appended::Conflict { head: head(2) });
    let committed = Ok(Appended::Committed);
    assert_eq!(results, [committed.clone(), committed.clone(), conflict.clone(), conflict, committed]);
    assert_eq!(bodies(&store, &a).await.len(), 3);
}

#[tokio::test]
async fn changes_that_would_break_a_log_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let a = space("a");
    let good = append(&a, Head::EMPTY, &["1", "2"]);
    let mut gap = good.clone();
    gap.records[1].rev = 3;
    for wrong in
        [gap.clone(), Append { records: Vec::new(), ..good.clone() }, Append { summary: vec![0; 4097], ..good }]
    {
        assert!(matches!(store.append(wrong).await, Err(StoreError::Unavailable(_))));
    }
    let records = gap.records;
    let (snapshot, summary) = (None, Vec::new());
    let import = Import { space: a.clone(), born: Head::EMPTY, snapshot, records, next_due: None, summary };
    let later = Import { records: append(&a, head(6), &["7"]).records, ..import.clone() };
    let other = Snapshot { head: Head { rev: 7, commit: CommitId(uuid(1)) }, body: Vec::new() };
    let unborn = Import { born: head(9), ..later.clone() };
    for wrong in [import, unborn, later.clone(), Import { snapshot: Some(other), ..later }] {
        let refused = store.import(wrong).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    }
    assert_eq!(store.head(&a).await, Ok(Head::EMPTY));
    put(&store, &a, Head::EMPTY, &["1"]).await;
    // A snapshot of a different history is not kept.
    let other = Snapshot { head: Head { rev: 1, commit: CommitId(uuid(9)) }, body: Vec::new() };
    store.write_snapshot(&a, other).await.unwrap();
    assert_eq!(store.load(&a).await.unwrap().snapshot, None);
    let left = files(&folder.path().join("store/agent"));
    assert!(left.keys().eq(["a/head.json", "a/log.jsonl"].map(Path::new)), "refused changes should leave no files");
}

#[tokio::test]
async fn deleted_or_rewritten_content_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let (a, b) = (space("a"), space("b"));
    for space in [&a, &b] {
        put(&store, space, Head::EMPTY, &["one", "a secret", "three"]).await;
        store.write_snapshot(space, Snapshot { head: head(2), body: b"state with a secret".to_vec() }).await.unwrap();
    }
    store.close().await.unwrap();
    for path in ["a/log.torn", "b/log.torn", "b/log.jsonl~"] {
        std::fs::write(file(folder.path(), path), "half a secret").unwrap();
    }
    std::fs::create_dir(file(folder.path(), "b/folder")).unwrap();
    let store = open(folder.path()).await;
    assert_eq!(store.delete(&a, head(3), CommitId(uuid(4))).await, Ok(Appended::Committed));
    let left = files(&file(folder.path(), "a"));
    assert!(left.keys().eq(["head.json", "log.jsonl"].map(Path::new)), "only the tombstone should be left");
    let record = Record { rev: 2, commit: CommitId(uuid(2)), at: time(2), body: b"nothing".to_vec() };
    let snapshot = Snapshot { head: head(3), body: b"state".to_vec() };
    let rewrite =
        Rewrite { space: b.clone(), expected: head(3), records: vec![record], snapshot: Some(snapshot.clone()) };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    store.scrub().await.unwrap();
    let left = files(&folder.path().join("store"));
    for (path, bytes) in &left {
        assert!(!String::from_utf8_lossy(bytes).contains("secret"), "{path:?}");
    }
    let names: Vec<_> = left.keys().filter(|path| path.starts_with("agent")).collect();
    let expected = ["a/head.json", "a/log.jsonl", "b/head.json", "b/log.jsonl", "b/snapshot.json"];
    assert_eq!(names, expected.map(|name| Path::new("agent").join(name)).iter().collect::<Vec<_>>());
    store.close().await.unwrap();
    let store = open(folder.path()).await;
    assert_eq!(bodies(&store, &b).await, ["one", "nothing", "three"]);
    let summary = b"{\"n\":1}".to_vec();
    let listed = store.list(SpaceKind::Agent, None, 9).await.unwrap();
    assert_eq!((listed.len(), &listed[0].summary, listed[0].next_due), (1, &summary, Some(time(9))));
    assert_eq!(store.load(&b).await, Ok(Loaded { head: head(3), born: Head::EMPTY, snapshot: Some(snapshot) }));
    assert_eq!(store.load(&a).await, Ok(Loaded { head: head(4), born: head(4), snapshot: None }));
}

#[tokio::test]
async fn a_long_log_is_read_from_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let a = space("a");
    let filler = "x".repeat(700);
    let body = |rev: u64| format!("{{\"rev\":{rev},\"text\":\"{filler}\"}}");
    let all: Vec<String> = (1..=600).map(body).collect();
    let mut at = Head::EMPTY;
    for batch in all.chunks(7) {
        at = put(&store, &a, at, &batch.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }
    let check = async |store: &FileStore, oldest: u64| {
        for rev in (oldest - 1..=600).step_by(13) {
            let commit = (rev > 0).then(|| CommitId(uuid(rev)));
            let page = store.read_after(&a, Cursor { rev, commit }, 3).await.unwrap();
            let revs = page.records.iter().map(|record| record.rev);
            assert!(revs.eq((rev + 1..=600).take(3)), "after {rev}");
            assert!(page.records.iter().all(|record| record.body == body(record.rev).as_bytes()));
            if rev >= oldest {
                let stranger = Cursor { rev, commit: Some(CommitId(uuid(1000))) };
                assert_eq!(store.read_after(&a, stranger, 3).await, Err(StoreError::Diverged), "at {rev}");
            }
        }
    };
    check(&store, 1).await;
    store.write_snapshot(&a, Snapshot { head: head(500), body: b"{}".to_vec() }).await.unwrap();
    assert_eq!(store.trim(&a, Trim { up_to: 300, older_than: Some(time(250)) }).await, Ok(250));
    check(&store, 250).await;
    store.close().await.unwrap();
    let store = open(folder.path()).await;
    check(&store, 250).await;
    assert_eq!(store.check().await, Ok(vec![]));
    // Everything that a snapshot covers can be trimmed except the head.
    store.write_snapshot(&a, Snapshot { head: head(600), body: b"{}".to_vec() }).await.unwrap();
    assert_eq!(store.trim(&a, Trim { up_to: u64::MAX, older_than: None }).await, Ok(600));
    store.close().await.unwrap();
    let store = open(folder.path()).await;
    assert_eq!(store.head(&a).await, Ok(head(600)));
    put(&store, &a, head(600), &["more"]).await;
    assert_eq!(store.check().await, Ok(vec![]));
}
