//! `sqlite:` on a disk that flips bits: reads and `check` report it, and no acknowledged write is dropped silently.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use corkboard::CommitId;
use corkboard::store::{
    Append, Appended, Cursor, Ownership, Record, Rewrite, Snapshot, SqliteStore, Store, StoreError, Trim,
};
use corkboard_core::{Head, SpaceId, SpaceKind};
use jiff::Timestamp;

use super::WORKER;

/// Occurs only once in a database.
const BODY: &str = "{\"body\":\"The quick brown fox jumps over the lazy dog.\"}";
const STATE: &str = "{\"state\":\"Pack my box with five dozen liquor jugs.\"}";

fn space() -> SpaceId {
    SpaceId::of(SpaceKind::Agent, "ada")
}

fn head(rev: u64) -> Head {
    if rev == 0 {
        Head::EMPTY
    } else {
        Head { rev, commit: CommitId(uuid::Uuid::from_u128((u128::from(rev) << 64) | 7)) }
    }
}

fn record(rev: u64, body: &[u8]) -> Record {
    Record { rev, commit: head(rev).commit, at: Timestamp::from_second(rev as i64).unwrap(), body: body.to_vec() }
}

fn append(rev: u64, body: &[u8]) -> Append {
    let (expected, records) = (head(rev - 1), vec![record(rev, body)]);
    Append { space: space(), expected, records, next_due: None, summary: b"{\"notes\":123454321}".to_vec() }
}

async fn try_open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path.to_owned(), Ownership::Shared, Duration::from_secs(30)).await
}

/// A closed database with a record for each body. Closing copied everything into the main file.
async fn written(folder: &Path, bodies: &[&[u8]], snapshot: Option<u64>) -> PathBuf {
    let path = folder.join("a.db");
    let store = try_open(&path).await.unwrap();
    for (rev, body) in (1..).zip(bodies) {
        assert_eq!(store.append(append(rev, body)).await, Ok(Appended::Committed));
    }
    if let Some(rev) = snapshot {
        store.write_snapshot(&space(), Snapshot { head: head(rev), body: STATE.into() }).await.unwrap();
    }
    store.close().await.unwrap();
    path
}

/// The position of the only occurrence of some bytes.
fn find(bytes: &[u8], wanted: &[u8]) -> usize {
    let mut found = bytes.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted);
    let (at, _) = found.next().unwrap();
    assert!(found.next().is_none(), "the bytes should occur only once");
    at
}

async fn read(store: &SqliteStore, after: u64) -> Result<Vec<Record>, StoreError> {
    store.read_after(&space(), Cursor { rev: after, commit: None }, 100).await.map(|page| page.records)
}

fn assert_names(error: Option<StoreError>, rev: u64, what: &str) {
    let Some(StoreError::Corrupt(text)) = &error else { panic!("{what}: {error:?}") };
    assert!(text.contains(&format!("space agent/ada, revision {rev}: ")), "{what}: {text}");
}

#[tokio::test]
async fn a_flipped_bit_in_a_record_is_noticed_by_reads_and_by_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &[b"{\"one\":1}", BODY.as_bytes(), b"{\"three\":3}"], None).await;
    let whole = std::fs::read(&path).unwrap();
    let (body, commit) = (find(&whole, BODY.as_bytes()), head(2).commit.0.into_bytes());
    let commit = find(&whole, &commit);
    // The last summary belongs to revision 3, so the summary before BODY is revision 2's.
    let summary = body - b"123454321}".len();
    let places = (body..body + BODY.len()).chain(commit..commit + 16).chain(summary..body - 1);
    for (number, at) in places.enumerate() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (number % 8);
        std::fs::write(&path, &damaged).unwrap();
        let store = try_open(&path).await.unwrap();
        assert_names(read(&store, 1).await.err(), 2, &format!("byte {at}"));
        assert_eq!(read(&store, 2).await.unwrap().len(), 1, "the other records should be readable");
        let problems = store.check().await.unwrap();
        assert!(problems.iter().any(|problem| problem.contains("agent/ada, revision 2: ")), "byte {at}: {problems:?}");
        store.close().await.unwrap();
    }
    std::fs::write(&path, &whole).unwrap();
    let store = try_open(&path).await.unwrap();
    assert_eq!(read(&store, 0).await.unwrap()[1], record(2, BODY.as_bytes()));
    assert_eq!(store.check().await, Ok(vec![]));
}

#[tokio::test]
async fn a_flipped_bit_in_any_part_of_a_long_record_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    // No two blocks of eight bytes are equal.
    let long: Vec<u8> =
        (0..Record::PART_BYTES as u64 / 3).flat_map(|number| ((number << 20) | 0xA5A5A).to_be_bytes()).collect();
    let path = written(folder.path(), &[&long], None).await;
    let whole = std::fs::read(&path).unwrap();
    for at in
        [0, 1 << 10, Record::PART_BYTES - 80, Record::PART_BYTES + 8, 2 * Record::PART_BYTES + 80, long.len() - 80]
    {
        // A page may end in the middle of a block.
        let mut blocks = long[at..].chunks(8);
        let place = blocks.find_map(|block| whole.windows(8).position(|window| window == block)).unwrap();
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        let store = try_open(&path).await.unwrap();
        assert_names(read(&store, 0).await.err(), 1, &format!("byte {at}"));
        let problems = store.check().await.unwrap();
        assert!(problems.iter().any(|problem| problem.contains("agent/ada, revision 1: ")), "byte {at}: {problems:?}");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_flipped_bit_in_a_snapshot_is_noticed_and_the_log_is_used_if_it_has_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), &[b"1", b"2", b"3"], Some(2)).await;
    for is_trimmed in [false, true] {
        if is_trimmed {
            let store = try_open(&path).await.unwrap();
            assert_eq!(store.trim(&space(), Trim { up_to: 2, older_than: None }).await, Ok(3));
            store.close().await.unwrap();
        }
        let whole = std::fs::read(&path).unwrap();
        let start = find(&whole, STATE.as_bytes());
        for at in start - 16..start + STATE.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, &damaged).unwrap();
            let store = try_open(&path).await.unwrap();
            match store.load(&space()).await {
                Ok(loaded) => assert!(!is_trimmed && loaded.snapshot.is_none(), "byte {at}: {loaded:?}"),
                Err(error) => {
                    assert!(is_trimmed, "byte {at}: {error}");
                    assert_names(Some(error), 2, &format!("byte {at}"));
                }
            }
            let problems = store.check().await.unwrap();
            assert!(problems.iter().any(|problem| problem.contains("snapshot")), "byte {at}: {problems:?}");
            if !is_trimmed {
                let trimmed = store.trim(&space(), Trim { up_to: 2, older_than: None }).await;
                assert_eq!(trimmed, Ok(1), "byte {at}: a damaged snapshot should not allow trimming");
            }
            store.close().await.unwrap();
        }
        std::fs::write(&path, &whole).unwrap();
        let store = try_open(&path).await.unwrap();
        let loaded = store.load(&space()).await.unwrap().snapshot;
        assert_eq!(loaded, Some(Snapshot { head: head(2), body: STATE.into() }));
        assert_eq!(store.check().await, Ok(vec![]));
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_rewritten_record_has_a_new_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let long = vec![b'x'; Record::PART_BYTES + 5];
    let path = written(folder.path(), &[b"a secret", &long, BODY.as_bytes()], Some(1)).await;
    let store = try_open(&path).await.unwrap();
    let records = vec![record(1, b"nothing"), record(2, b"short"), record(3, &long)];
    let snapshot = Some(Snapshot { head: head(3), body: b"other".to_vec() });
    let rewrite = Rewrite { space: space(), expected: head(3), records: records.clone(), snapshot: snapshot.clone() };
    assert_eq!(store.rewrite(rewrite).await, Ok(Appended::Committed));
    assert_eq!(read(&store, 0).await.unwrap(), records);
    assert_eq!(store.load(&space()).await.unwrap().snapshot, snapshot);
    assert_eq!(store.check().await, Ok(vec![]));
}

/// The files of a store as a crash leaves them: copied while it is open.
fn crash_image(from: &Path, to: &Path) {
    for name in ["a.db", "a.db-wal", "a.db-head", "a.db-owner"] {
        let _ = std::fs::remove_file(to.join(name));
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// Checks that the store either refuses to open and says why, or has every acknowledged write.
async fn refused_or_whole(path: &Path, acknowledged: u64, what: &str) -> bool {
    match try_open(path).await {
        Ok(store) => {
            let found = read(&store, 0).await.unwrap().len() as u64;
            assert_eq!(found, acknowledged, "{what}: it opened without an error");
            store.close().await.unwrap();
            false
        }
        Err(StoreError::Corrupt(text)) => {
            assert!(text.contains("a.db-wal"), "{what}: {text}");
            true
        }
        Err(other) => panic!("{what}: {other}"),
    }
}

#[tokio::test]
async fn a_flipped_bit_in_a_leftover_write_ahead_log_is_noticed() {
    let (folder, image) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = try_open(&folder.path().join("a.db")).await.unwrap();
    for rev in 1..=12 {
        store.append(append(rev, format!("{{\"rev\":{rev}}}").as_bytes())).await.unwrap();
    }
    let path = image.path().join("a.db");
    let log = image.path().join("a.db-wal");
    crash_image(folder.path(), image.path());
    assert!(!refused_or_whole(&path, 12, "undamaged").await);
    crash_image(folder.path(), image.path());
    let length = std::fs::metadata(&log).unwrap().len() as usize;
    assert!(length > 12 * 4096, "{length} bytes");
    let frame = 24 + 4096;
    // The header, the frame headers, and a sample of the pages.
    let mut places: Vec<usize> = (0..32).collect();
    places.extend((32..length).filter(|at| (at - 32) % frame < 24).step_by(5));
    places.extend((32..length).step_by(997));
    for (number, at) in places.into_iter().enumerate() {
        crash_image(folder.path(), image.path());
        let mut bytes = std::fs::read(&log).unwrap();
        bytes[at] ^= 1 << (number % 8);
        std::fs::write(&log, &bytes).unwrap();
        let what = format!("byte {at}, bit {}", number % 8);
        assert!(refused_or_whole(&path, 12, &what).await, "{what}: the damage was not noticed");
        assert!(std::fs::read(&log).unwrap() == bytes, "{what}: the log should not be changed");
    }
    for frames in 0..(length - 32) / frame {
        crash_image(folder.path(), image.path());
        std::fs::File::options().write(true).open(&log).unwrap().set_len((32 + frames * frame) as u64).unwrap();
        assert!(refused_or_whole(&path, 12, &format!("cut after {frames} frames")).await);
    }
    // An operator who accepts the loss can continue.
    std::fs::remove_file(image.path().join("a.db-head")).unwrap();
    let store = try_open(&path).await.unwrap();
    assert!(read(&store, 0).await.unwrap().len() < 12);
}

/// A transaction that was being committed when the process died is dropped. It was never acknowledged.
#[tokio::test]
async fn a_transaction_cut_off_by_a_crash_is_not_damage() {
    let (folder, image) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = try_open(&folder.path().join("a.db")).await.unwrap();
    for rev in 1..=6 {
        store.append(append(rev, b"{}")).await.unwrap();
    }
    let saved = std::fs::read(folder.path().join("a.db-head")).unwrap();
    let log = folder.path().join("a.db-wal");
    let before = std::fs::metadata(&log).unwrap().len();
    store.append(append(7, &[b'x'; 20_000])).await.unwrap();
    let after = std::fs::metadata(&log).unwrap().len();
    assert!(after > before + 20_000, "{before} {after}");
    for cut in (before..after).step_by(1009) {
        crash_image(folder.path(), image.path());
        std::fs::write(image.path().join("a.db-head"), &saved).unwrap();
        let log = std::fs::File::options().write(true).open(image.path().join("a.db-wal")).unwrap();
        log.set_len(cut).unwrap();
        let store = try_open(&image.path().join("a.db")).await.unwrap();
        assert_eq!(read(&store, 0).await.unwrap().len(), 6, "cut at {cut}");
        assert_eq!(store.check().await, Ok(vec![]));
        store.close().await.unwrap();
    }
}

/// While another process has the store open, `check` finds the same damage.
#[tokio::test]
async fn check_looks_at_the_write_ahead_log_of_an_open_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = try_open(&folder.path().join("a.db")).await.unwrap();
    for rev in 1..=5 {
        store.append(append(rev, b"{}")).await.unwrap();
    }
    assert_eq!(store.check().await, Ok(vec![]));
    let log = folder.path().join("a.db-wal");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[32 + 24 + 4000] ^= 4;
    std::fs::write(&log, &bytes).unwrap();
    let problems = store.check().await.unwrap();
    assert!(problems.iter().any(|problem| problem.contains("a.db-wal")), "{problems:?}");
}

/// Leftovers of killed processes are not reported as damage, however often processes are killed and whichever wrote
/// last.
#[tokio::test]
async fn killed_processes_leave_no_false_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    for round in 0..6 {
        let mut workers: Vec<_> = (0..2)
            .map(|number| {
                let agent = format!("agent-{number}");
                let mut command = Command::new(WORKER);
                command.args([&url, "note", &agent, &format!("note-{round}"), "1000000"]);
                command.stdout(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for worker in &mut workers {
            let mut lines = std::io::BufRead::lines(std::io::BufReader::new(worker.stdout.take().unwrap()));
            for _ in 0..20 {
                let line = lines.next().unwrap().unwrap();
                assert!(line.parse::<u32>().is_ok(), "{line}");
            }
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
    }
    let store = try_open(&folder.path().join("a.db")).await.unwrap();
    assert_eq!(store.check().await, Ok(vec![]));
}
