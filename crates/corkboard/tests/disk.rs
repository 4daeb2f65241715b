//! A disk that fails: the store ends, and nothing that was acknowledged is lost.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "in a test, helpers included, a panic is the way to fail"
)]

use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output};

use corkboard::Corkboard;

const WORKER: &str = env!("CARGO_BIN_EXE_conformance-worker");

/// Fails every fsync after the first forty, as a dying disk would.
const FAILING_FSYNC: &str = r#"
#include <errno.h>
static int calls = 0;
static int fail(void) { if (++calls > 40) { errno = EIO; return -1; } return 0; }
int fsync(int file) { (void) file; return fail(); }
int fdatasync(int file) { (void) file; return fail(); }
"#;

#[tokio::test]
async fn a_failed_fsync_ends_the_store_and_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("fsync.c"), folder.path().join("fsync.so"));
    std::fs::write(&source, FAILING_FSYNC).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status().unwrap();
    assert!(compiled.success());
    let output = Command::new(WORKER)
        .env("LD_PRELOAD", &library)
        .args([&url(folder.path()), "note", "a", "note", "1000"])
        .output()
        .unwrap();
    check(folder.path(), &output).await;
}

#[tokio::test]
async fn a_failed_write_ends_the_store_and_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    // No file may grow beyond 200 KiB, and trying is an error, not a signal.
    let script = r#"trap '' XFSZ; ulimit -f 200; exec "$0" "$@""#;
    let output = Command::new("bash")
        .args(["-c", script, WORKER, &url(folder.path()), "note", "a", "note", "1000"])
        .output()
        .unwrap();
    check(folder.path(), &output).await;
}

fn url(folder: &Path) -> String {
    format!("sqlite:{}", folder.join("corkboard.db").display())
}

async fn check(folder: &Path, output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{text}");
    // The write that met the failure may be on disk or not; none is tried on that file again.
    assert!(text.contains("error: the outcome is unknown: the store has ended"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("error: the store has ended"), "{text}");
    let acknowledged: Vec<&str> = text.lines().filter(|line| line.parse::<u32>().is_ok()).collect();
    assert!(acknowledged.len() > 5 && acknowledged.len() < 1000, "{} acknowledged", acknowledged.len());
    let board = Corkboard::open(&url(folder)).await.unwrap();
    assert_eq!(board.check().await.unwrap(), [""; 0]);
    let notes = board.agent("a").unwrap().working().notes().await.unwrap();
    let kept: HashSet<&str> = notes.iter().map(|note| &*note.text).collect();
    assert!(!kept.contains("note-again"));
    for number in acknowledged {
        assert!(kept.contains(format!("note-{number}").as_str()), "note {number} was acknowledged");
    }
}
