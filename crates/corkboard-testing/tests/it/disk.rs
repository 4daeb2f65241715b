//! A failing disk: the store stops, and no acknowledged write is lost.

mod damage;
mod permissions;

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use corkboard::Corkboard;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

const STORES: [&str; 2] = ["file", "sqlite"];

/// Fails every fsync after the first forty, as a dying disk would.
const FAILING_FSYNC: &str = r#"
#include <errno.h>
static int calls = 0;
static int fail(void) { if (++calls > 40) { errno = EIO; return -1; } return 0; }
int fsync(int file) { (void) file; return fail(); }
int fdatasync(int file) { (void) file; return fail(); }
"#;

/// Fails every fsync of the database once it has content, but none of its write-ahead log.
const FAILING_CHECKPOINT: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int is_filled_database(int file) {
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length < 0) return 0;
    name[length] = 0;
    struct stat status;
    return strlen(name) > 4 && strcmp(name + strlen(name) - 4, "-wal") != 0 && fstat(file, &status) == 0
        && status.st_size > 100 * 1024;
}
static int sync_it(const char *how, int file) {
    if (is_filled_database(file)) { errno = EIO; return -1; }
    return ((int (*)(int)) dlsym(RTLD_NEXT, how))(file);
}
int fsync(int file) { return sync_it("fsync", file); }
int fdatasync(int file) { return sync_it("fdatasync", file); }
"#;

/// Fails every fsync.
const NO_FSYNC: &str = r#"
#include <errno.h>
int fsync(int file) { (void) file; errno = EIO; return -1; }
int fdatasync(int file) { (void) file; errno = EIO; return -1; }
"#;

/// After 100 KiB of file writes, half of a write is stored, and then the disk fails.
const FAILING_WRITE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
static long room = 100 * 1024;
ssize_t write(int file, const void *bytes, size_t count) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return real(file, bytes, count);
    if (room <= 0) { errno = EIO; return -1; }
    if ((long) count > room) { count = count / 2; room = 0; } else { room -= count; }
    return real(file, bytes, count);
}
"#;

/// While a file named by FULL exists, half of the first write is stored, and then the disk is full.
const FULL_AT_TIMES: &str = include_str!("../full_disk.c");

#[tokio::test]
async fn a_failed_fsync_ends_the_store_and_loses_nothing_acknowledged() {
    for store in STORES {
        let folder = tempfile::tempdir().unwrap();
        let output = worker(folder.path(), store, FAILING_FSYNC);
        check(folder.path(), store, &output).await;
    }
}

/// SQLite itself reports nothing and continues. All acknowledged writes are in its log.
#[tokio::test]
async fn a_failed_fsync_of_the_database_ends_a_store_of_sqlite_and_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let output = worker(folder.path(), "sqlite", FAILING_CHECKPOINT);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    assert!(text.lines().last().unwrap().starts_with("error: the store has stopped: disk I/O error"), "{text}");
    check_kept(folder.path(), "sqlite", &text).await;
}

/// A killed process may have left data only in the disk's cache.
#[tokio::test]
async fn data_that_cannot_be_fsynced_is_not_read_from_a_store_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let written = Command::new(WORKER).args([&url(folder.path(), "file"), "note", "a", "note", "3"]).status().unwrap();
    assert!(written.success());
    let output = worker(folder.path(), "file", NO_FSYNC);
    let text = String::from_utf8_lossy(&output.stdout);
    // The second attempt does not ask the disk again, which could wrongly report success.
    let errors: Vec<&str> = text.lines().collect();
    assert_eq!(errors.len(), 2, "{text}");
    assert!(errors.iter().all(|error| error.starts_with("error: the store has stopped: fsync of ")), "{text}");
    let corkboard = Corkboard::open(&url(folder.path(), "file")).await.unwrap();
    assert_eq!(corkboard.agent("a").unwrap().working().notes().await.unwrap().len(), 3);
}

/// After a failed write, the content of the disk is unknown.
#[tokio::test]
async fn a_failed_write_ends_a_store_of_files_and_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let output = worker(folder.path(), "file", FAILING_WRITE);
    check(folder.path(), "file", &output).await;
    let torn = std::fs::metadata(folder.path().join("corkboard/agent/a/log.torn")).unwrap();
    assert!(torn.len() > 0);
}

/// As with a quota: a write that does not fit is not stored, and the store does not stop.
#[tokio::test]
async fn a_file_that_may_not_grow_ends_no_store_and_loses_nothing_acknowledged() {
    for store in STORES {
        let folder = tempfile::tempdir().unwrap();
        // No file may grow beyond 200 KiB, and exceeding it is an error, not a signal.
        let script = r#"trap '' XFSZ; ulimit -f 200; exec "$0" "$@""#;
        let output = Command::new("bash")
            .args(["-c", script, WORKER, &url(folder.path(), store), "note", "a", "note", "1000"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && !text.contains("ended") && !text.contains("unknown"), "{store}: {text}");
        check_kept(folder.path(), store, &text).await;
    }
}

/// A writer that waits for space gets it, and no write is stored partially.
#[tokio::test]
async fn after_a_full_disk_the_store_writes_again_and_loses_nothing_acknowledged() {
    for store in STORES {
        let folder = tempfile::tempdir().unwrap();
        let full = folder.path().join("full");
        let mut command = Command::new(WORKER);
        command.env("LD_PRELOAD", preloaded(folder.path(), FULL_AT_TIMES)).env("FULL", &full);
        command.args([&url(folder.path(), store), "persist", "a", "note", "400"]);
        let mut worker = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(worker.stdout.take().unwrap()).lines().map(Result::unwrap);
        for round in 0..3 {
            assert!(lines.by_ref().any(|line| line == format!("{}", 100 * round + 50)), "{store}");
            std::fs::write(&full, "").unwrap();
            let error = lines.by_ref().find(|line| line.starts_with("error: ")).unwrap_or_default();
            assert!(error.contains("no space left") && error.contains("nothing was written"), "{store}: {error}");
            std::fs::remove_file(&full).unwrap();
        }
        assert!(lines.by_ref().any(|line| line == "399"), "{store}: it should write again");
        assert!(worker.wait().unwrap().success(), "{store}");
        let corkboard = Corkboard::open(&url(folder.path(), store)).await.unwrap();
        assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
        let notes = corkboard.agent("a").unwrap().working().notes().await.unwrap();
        let texts: Vec<String> = notes.iter().map(|note| note.text.to_string()).collect();
        assert_eq!(texts, (0..400).map(|number| format!("note-{number}")).collect::<Vec<_>>(), "{store}");
        assert!(
            !folder.path().join("corkboard/agent/a/log.torn").exists(),
            "nothing should be left of the write that did not fit"
        );
    }
}

/// A process that adds notes, with a preloaded library in front of the system's.
fn worker(folder: &Path, store: &str, source: &str) -> Output {
    let notes = [&url(folder, store), "note", "a", "note", "1000"];
    Command::new(WORKER).env("LD_PRELOAD", preloaded(folder, source)).args(notes).output().unwrap()
}

fn preloaded(folder: &Path, text: &str) -> PathBuf {
    let (source, library) = (folder.join("preloaded.c"), folder.join("preloaded.so"));
    std::fs::write(&source, text).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(compiled.success());
    library
}

fn url(folder: &Path, store: &str) -> String {
    format!("{store}:{}", folder.join("corkboard").display())
}

async fn check(folder: &Path, store: &str, output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    // The write that met the failure may or may not be stored. That file is not written again.
    assert!(text.contains("error: the outcome is unknown: the store has stopped"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("error: the store has stopped"), "{text}");
    check_kept(folder, store, &text).await;
}

async fn check_kept(folder: &Path, store: &str, text: &str) {
    let acknowledged: Vec<&str> = text.lines().filter(|line| line.parse::<u32>().is_ok()).collect();
    assert!(acknowledged.len() > 5 && acknowledged.len() < 1000, "{} acknowledged", acknowledged.len());
    let corkboard = Corkboard::open(&url(folder, store)).await.unwrap();
    assert_eq!(corkboard.check().await.unwrap(), [""; 0]);
    let notes = corkboard.agent("a").unwrap().working().notes().await.unwrap();
    let kept: HashSet<&str> = notes.iter().map(|note| &*note.text).collect();
    assert!(!kept.contains("note-again"));
    for number in acknowledged {
        assert!(kept.contains(format!("note-{number}").as_str()), "note {number} was acknowledged but is missing");
    }
}
