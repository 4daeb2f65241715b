//! Only the owner of a store on disk can read or lock it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use corkboard::Corkboard;

use super::WORKER;

/// All files and folders below a folder, with their permissions.
fn modes(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        found.push((path.clone(), mode(&path)));
        if path.is_dir() {
            found.extend(modes(&path));
        }
    }
    found
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs a worker that writes notes, and lists the files while it runs, because SQLite removes some when it closes.
fn modes_with(umask: &str, folder: &Path, url: &str) -> Vec<(PathBuf, u32)> {
    let script = format!("umask {umask}; exec \"$0\" \"$@\"");
    let mut worker = Command::new("sh")
        .args(["-c", &script, WORKER, url, "note", "a", "note", "1000000"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(worker.stdout.take().unwrap()));
    for _ in 0..3 {
        lines.next().unwrap().unwrap();
    }
    // Stop the worker, so that no file is removed during the listing.
    let stopped = Command::new("kill").args(["-STOP", &worker.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    let found = modes(folder);
    worker.kill().unwrap();
    worker.wait().unwrap();
    found
}

#[test]
fn a_store_on_disk_is_created_for_its_owner_alone_under_any_umask() {
    for umask in ["000", "022", "077"] {
        for store in ["file", "sqlite"] {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("{store}:{}", folder.path().join("new/folder/corkboard").display());
            let found = modes_with(umask, folder.path(), &url);
            assert!(found.len() > 5, "{found:?}");
            for (path, mode) in &found {
                let expected = if path.is_dir() { 0o700 } else { 0o600 };
                assert_eq!(*mode, expected, "{store}, umask {umask}: {path:?} has mode {mode:o}");
            }
            let names: Vec<_> = found.iter().filter_map(|(path, _)| path.file_name()?.to_str()).collect();
            if store == "sqlite" {
                for name in ["corkboard", "corkboard-wal", "corkboard-shm", "corkboard-owner"] {
                    assert!(names.contains(&name), "{names:?}");
                }
            }
        }
    }
}

/// Reopens a closed store. If tests are threads of one process, a child that another test is starting keeps a copy of
/// the closed lock until it runs its program.
async fn open_again(url: &str) -> Corkboard {
    for _ in 0..3000 {
        match Corkboard::open(url).await {
            Err(error) if error.code() == "locked" => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            opened => return opened.unwrap(),
        }
    }
    panic!("{url} stays locked");
}

/// Existing files keep their permissions. Files next to a database get the database's permissions.
#[tokio::test]
async fn a_store_that_others_can_open_stays_so_and_warns() {
    for store in ["file", "sqlite"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("corkboard");
        let url = format!("{store}:{}", path.display());
        let corkboard = Corkboard::open(&url).await.unwrap();
        let notes = corkboard.agent("a").unwrap().working();
        notes.add_note("one").await.unwrap();
        assert_eq!(corkboard.store_info().warnings, [""; 0], "{store}");
        corkboard.close().await.unwrap();
        for (path, _) in modes(folder.path()) {
            set_mode(&path, if path.is_dir() { 0o750 } else { 0o640 });
        }
        let _ = std::fs::remove_file(folder.path().join("corkboard-owner"));
        let corkboard = open_again(&url).await;
        corkboard.agent("a").unwrap().working().add_note("two").await.unwrap();
        let warnings = corkboard.store_info().warnings;
        assert!(warnings.len() == 1 && warnings[0].contains("chmod"), "{store}: {warnings:?}");
        if store == "sqlite" {
            for (path, mode) in modes(folder.path()) {
                assert_eq!(mode, 0o640, "{path:?} has mode {mode:o}");
            }
        } else {
            assert_eq!(mode(&path.join("agent/a/log.jsonl")), 0o640);
            let forgotten = corkboard.delete_agent("a").await;
            assert!(forgotten.is_ok());
            assert_eq!(mode(&path.join("agent/a/log.jsonl")), 0o640, "a new log should have the old one's permissions");
        }
        corkboard.close().await.unwrap();
    }
}
