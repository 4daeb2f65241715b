//! `file:` in a process that ends at each of its steps in turn, with or without a power loss. Every change happened
//! completely or not at all, and every acknowledged change happened. What the next process has seen stays, even if the
//! power fails then.

use std::path::{Path, PathBuf};
use std::process::Command;

use corkboard::CommitId;
use corkboard::store::{
    Append, Appended, Cursor, FileStore, Import, Ownership, Record, Rewrite, Snapshot, Store, StoreError, Trim,
};
use corkboard_core::{Head, SpaceId, SpaceKind};
use jiff::Timestamp;

fn space(name: &str) -> SpaceId {
    SpaceId::of(SpaceKind::Agent, name)
}

/// The same ID in every run.
fn commit(rev: u64) -> CommitId {
    CommitId(uuid::Uuid::from_u128(u128::from(rev)))
}

fn head(rev: u64) -> Head {
    if rev == 0 { Head::EMPTY } else { Head { rev, commit: commit(rev) } }
}

fn record(rev: u64, body: &str) -> Record {
    Record { rev, commit: commit(rev), at: Timestamp::from_second(rev as i64).unwrap(), body: body.into() }
}

fn append(name: &str, expected: u64, bodies: &[&str]) -> Append {
    let records = (expected + 1..).zip(bodies).map(|(rev, body)| record(rev, body)).collect();
    let summary = format!("{{\"after\":{expected}}}").into_bytes();
    Append { space: space(name), expected: head(expected), records, next_due: None, summary }
}

fn snapshot(rev: u64, body: &str) -> Snapshot {
    Snapshot { head: head(rev), body: body.into() }
}

fn rewrite(name: &str, expected: u64, record: Record, snapshot: Option<Snapshot>) -> Rewrite {
    Rewrite { space: space(name), expected: head(expected), records: vec![record], snapshot }
}

/// The changes of one process, in order. From [`FORGOTTEN`] on, no file of the store may contain the word "secret".
async fn change(store: &FileStore, number: usize) -> bool {
    let (a, b) = (space("a"), space("b"));
    let long = format!("[\"{}\"]", "long ".repeat(Record::PART_BYTES / 4));
    let committed = |result: Result<Appended, StoreError>| assert_eq!(result, Ok(Appended::Committed));
    match number {
        0 => committed(store.append(append("a", 0, &["one", "a secret", "three"])).await),
        1 => store.write_snapshot(&a, snapshot(2, "state with a secret")).await.unwrap(),
        2 => committed(store.append(append("a", 3, &["four", "five"])).await),
        3 => assert_eq!(store.trim(&a, Trim { up_to: 1, older_than: None }).await, Ok(2)),
        4 => committed(store.rewrite(rewrite("a", 5, record(2, "nothing"), Some(snapshot(3, "state")))).await),
        5 => {
            let import = Import {
                space: b.clone(),
                born: head(3),
                snapshot: Some(snapshot(7, "copied state")),
                records: vec![record(7, "seven"), record(8, "eight")],
                next_due: None,
                summary: b"{}".to_vec(),
            };
            committed(store.import(import).await);
        }
        6 => committed(store.rewrite(rewrite("b", 8, record(8, "other"), None)).await),
        7 => store.write_snapshot(&b, snapshot(8, "newer state")).await.unwrap(),
        8 => committed(store.delete(&a, head(5), commit(6)).await),
        9 => committed(store.append(append("a", 6, &[&long, "eight"])).await),
        10 => store.scrub().await.unwrap(),
        _ => return false,
    }
    true
}

/// Number of changes after which the secret is gone.
const FORGOTTEN: usize = 5;

/// Everything that the store returns about its spaces.
async fn describe(store: &FileStore) -> String {
    let mut text = format!("{:?}\n", store.list(SpaceKind::Agent, None, 9).await.unwrap());
    for space in [space("a"), space("b")] {
        let loaded = store.load(&space).await.unwrap();
        text += &format!("{space}: {loaded:?}\n");
        let mut cursor = match store.read_after(&space, Cursor { rev: 0, commit: None }, 1).await {
            Err(StoreError::Compacted { oldest }) => Cursor { rev: oldest - 1, commit: None },
            _ => Cursor { rev: 0, commit: None },
        };
        while cursor.rev < loaded.head.rev {
            let record = store.read_after(&space, cursor, 1).await.unwrap().records.remove(0);
            cursor = Cursor { rev: record.rev, commit: Some(record.commit) };
            text += &format!("  {} {} {:.20?} {}\n", record.rev, record.at, record.body, record.body.len());
        }
    }
    text
}

async fn open(folder: &Path) -> FileStore {
    FileStore::open(folder.join("store"), Ownership::Sole).await.unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// The work of the process that is ended: a child process of this test, or this test itself, which runs to the end.
#[tokio::test]
async fn the_changes_of_one_process() {
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("CRASH_FOLDER").map_or(own.path().to_owned(), PathBuf::from);
    let store = open(&folder).await;
    let mut number = 0;
    while change(&store, number).await {
        number += 1;
        println!("\ndone {number}");
    }
    assert_eq!(store.check().await, Ok(vec![]));
    store.close().await.unwrap();
}

/// A space that only the next process writes to.
fn of_the_next() -> SpaceId {
    SpaceId::of(SpaceKind::Board, "c")
}

/// The work of the next process: it reads, and writes to a new space.
#[tokio::test]
async fn the_next_process() {
    let own = tempfile::tempdir().unwrap();
    let folder = std::env::var_os("CRASH_FOLDER").map_or(own.path().to_owned(), PathBuf::from);
    let store = open(&folder).await;
    let saw = describe(&store).await;
    let append = Append { space: of_the_next(), ..append("a", 0, &["one"]) };
    assert_eq!(store.append(append).await, Ok(Appended::Committed));
    println!("\nsaw\n{saw}end");
    store.close().await.unwrap();
}

/// A test of this program in a separate process.
fn process(test: &str, library: &Path, place: &Path, step: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command.env("LD_PRELOAD", library).env("CRASH_FOLDER", place).env("CRASH_AT", step.to_string());
    command
}

#[tokio::test]
async fn a_process_that_ends_at_any_step_leaves_all_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("power_loss.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/power_loss.c");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(compiled.success());
    // The store after each change.
    let store = open(&folder.path().join("whole")).await;
    let mut states = vec![describe(&store).await];
    while change(&store, states.len() - 1).await {
        states.push(describe(&store).await);
    }
    for power in ["stays", "goes", "goes later"] {
        let mut step = 0;
        let mut seen = vec![0; states.len()];
        loop {
            step += 1;
            let place = folder.path().join(format!("{power}-{step}"));
            let saved = folder.path().join(format!("{power}-{step}-saved"));
            std::fs::create_dir_all(&place).unwrap();
            std::fs::create_dir_all(&saved).unwrap();
            let left = saved.join("left");
            let mut command = process("file_crash::the_changes_of_one_process", &library, &place, step);
            match power {
                "goes" => drop(command.env("CRASH_SAVE", &saved)),
                "goes later" => drop(command.env("CRASH_SAVE", &saved).env("CRASH_LEFT", &left)),
                _ => {}
            }
            let output = command.output().unwrap();
            let said = String::from_utf8(output.stdout).unwrap();
            let done = said.lines().filter(|line| line.starts_with("done ")).count();
            let what = format!("power {power}, step {step}, after {done} changes");
            let mut seen_next = None;
            if power == "goes later" && !output.status.success() {
                let mut command = process("file_crash::the_next_process", &library, &place, 0);
                let next = command.env("CRASH_SAVE", &saved).env("CRASH_LEFT", &left).output().unwrap();
                let text = String::from_utf8(next.stdout).unwrap();
                let saw = text.split_once("\nsaw\n").and_then(|(_, saw)| saw.split_once("end\n"));
                let Some((saw, _)) = saw else { panic!("{what}: the next process saw nothing: {text}") };
                seen_next = Some(saw.to_owned());
            }
            let store = open(&place).await;
            let state = describe(&store).await;
            if let Some(seen) = seen_next {
                assert_eq!(state, seen, "{what}: the next process saw a different state");
                assert_eq!(
                    store.head(&of_the_next()).await,
                    Ok(head(1)),
                    "{what}: the write of the next process is missing"
                );
            }
            // The interrupted change may or may not have happened.
            let found = (done..states.len().min(done + 2)).find(|number| states[*number] == state);
            let Some(found) = found else {
                panic!("{what}: the state is neither before nor after the change\n{state}")
            };
            seen[found] += 1;
            assert_eq!(store.check().await, Ok(vec![]), "{what}");
            store.scrub().await.unwrap();
            for path in files(&place.join("store")) {
                let name = path.file_name().unwrap().to_str().unwrap();
                let is_expected = path.parent() == Some(&place.join("store")) || name == "log.jsonl";
                assert!(is_expected || ["snapshot.json", "head.json"].contains(&name), "{what}: {path:?}");
                let secret = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains("secret");
                assert!(!secret || found < FORGOTTEN, "{what}: a secret in {path:?}");
            }
            if step % 8 == 0 {
                // The changes continue from there.
                for number in found..states.len() - 1 {
                    change(&store, number).await;
                }
                assert_eq!(&describe(&store).await, states.last().unwrap(), "{what}");
            }
            store.close().await.unwrap();
            if output.status.success() {
                break;
            }
            assert_eq!(output.status.code(), Some(77), "{what}: {said}");
            std::fs::remove_dir_all(&place).unwrap();
            std::fs::remove_dir_all(&saved).unwrap();
        }
        println!("power {power}: {step} steps; states found {seen:?}");
        assert!(step > 60, "{step} steps");
    }
}
