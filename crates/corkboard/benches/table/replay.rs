//! Opening a long log, with and without a snapshot, compared with reading its bytes.

use std::path::Path;
use std::time::{Duration, Instant};

use corkboard::{Corkboard, Options, SnapshotPolicy};

use crate::{Row, key, median, runtime, small};

const EVENTS: usize = 100_000;
const KEYS: usize = 1000;
const ROUNDS: usize = 5;

pub(crate) fn rows() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    runtime().block_on(async {
        let never = SnapshotPolicy { events: u64::MAX, bytes: u64::MAX };
        write(&path, never, EVENTS).await;
        let (replayed, read) = pairs(&path).await;
        // Two more writes with an eager snapshot policy create the snapshot.
        write(&path, SnapshotPolicy { events: 1, bytes: u64::MAX }, 2).await;
        let (from_snapshot, read_again) = pairs(&path).await;
        vec![
            row("open and replay 100,000 events", replayed, read),
            row("open from a snapshot", from_snapshot, read_again),
        ]
    })
}

fn row(what: &str, ours: Duration, read: Duration) -> Row {
    let ratio = ours.as_secs_f64() / read.as_secs_f64();
    let result = format!("{ratio:.2}× ({:.1} ms : {:.1} ms)", millis(ours), millis(read));
    Row::new(what, "reading the same log's bytes by raw SQLite", result, "report")
}

async fn write(path: &Path, snapshots: SnapshotPolicy, events: usize) {
    let options = Options { snapshots, ..Options::default() };
    let corkboard = Corkboard::open_with(&url(path), options).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let value = small();
    for start in (0..events).step_by(500) {
        let sets = (start..events.min(start + 500)).map(|index| memory.set(&keys[index % KEYS], &value));
        futures_util::future::join_all(sets.map(IntoFuture::into_future)).await.into_iter().for_each(|set| {
            set.unwrap();
        });
    }
    // The snapshot is written in the background. The next write waits for it, because both use the same writer.
    if snapshots.events == 1 {
        let started = Instant::now();
        while raw(path).query_row("SELECT count(*) FROM snapshots", [], |row| row.get::<_, i64>(0)).unwrap() == 0 {
            assert!(started.elapsed() < Duration::from_secs(30), "no snapshot was written");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    corkboard.close().await.unwrap();
}

async fn pairs(path: &Path) -> (Duration, Duration) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let corkboard = Corkboard::open(&url(path)).await.unwrap();
        assert_eq!(corkboard.agent("a").unwrap().working().len().await.unwrap(), KEYS);
        ours.push(started.elapsed());
        corkboard.close().await.unwrap();
        let started = Instant::now();
        let connection = raw(path);
        let mut bodies = connection.prepare("SELECT body FROM log ORDER BY position").unwrap();
        let bytes: usize =
            bodies.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap().map(|body| body.unwrap().len()).sum();
        assert!(bytes > EVENTS * 100);
        theirs.push(started.elapsed());
    }
    (median(ours), median(theirs))
}

fn raw(path: &Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection
}

fn url(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
