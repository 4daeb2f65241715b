//! Server configurations: what they may lose, what is refused, and what is reported when they cannot write.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use corkboard::store::{Append, Appended, Store, StoreError};
use corkboard::{Corkboard, Error, Options, SavePolicy};
use corkboard_core::{Head, SpaceKind};
use corkboard_testing::servers::{TestServer, free_port};
use parking_lot::Mutex;

use crate::redis_store::support::{append, commit, eventually, head_after, open, put, redis, refused, space};

#[tokio::test]
async fn a_server_that_evicts_is_refused() {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let server = TestServer::redis_with(&["--maxmemory-policy", policy]);
        let error = refused(&server.url()).await.to_string();
        assert!(error.contains(policy) && error.contains("CONFIG SET maxmemory-policy noeviction"), "{error}");
        redis::<()>(&server, &["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
        open(&server.url()).await;
    }
}

#[tokio::test]
async fn the_possible_loss_in_a_crash_is_reported() {
    let cases: [(&[&str], &str, &str); 6] = [
        (&["--appendonly", "yes", "--appendfsync", "always"], "", "append-only file, appendfsync always; no RDB saves"),
        (&["--appendonly", "yes"], "about the last second", "append-only file, appendfsync everysec; no RDB saves"),
        (
            &["--appendonly", "yes", "--appendfsync", "no"],
            "what the operating system had not written",
            "appendfsync no",
        ),
        (&["--save", "60 1"], "everything since its last RDB save", "no append-only file; RDB saves (60 1)"),
        (&[], "everything: it has no append-only file and saves nothing", "no append-only file; no RDB saves"),
        (
            &["--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "yes"],
            "while it rewrites a file",
            "appendfsync always",
        ),
    ];
    for (arguments, warning, durability) in cases {
        let server = TestServer::redis_with(arguments);
        let (store, log) = logged(async || open(&server.url()).await).await;
        let info = store.info();
        let said = &info.details.iter().find(|(name, _)| *name == "durability").unwrap().1;
        assert!(said.contains(durability), "{said}");
        assert_eq!(info.warnings.len(), usize::from(!warning.is_empty()), "{:?}", info.warnings);
        let warned: Vec<&str> = log.lines().filter(|line| line.contains("WARN")).collect();
        assert_eq!(warned.len(), info.warnings.len(), "{log}");
        for line in warned.into_iter().chain(info.warnings.iter().map(String::as_str)) {
            assert!(line.contains(warning), "{line}");
        }
    }
}

/// The result of some work, and the log output meanwhile.
pub(crate) async fn logged<T>(work: impl AsyncFnOnce() -> T) -> (T, String) {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);
    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter("trace")
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let done = work().await;
    let text = String::from_utf8(log.0.lock().clone()).unwrap();
    (done, text)
}

#[tokio::test]
async fn the_details_describe_the_server() {
    let server = TestServer::redis();
    let store = open(&format!("{}?prefix=mine", server.url())).await;
    let info = store.info();
    assert_eq!((info.kind, info.location), ("redis", format!("redis://127.0.0.1:{}/0", server.port())));
    let detail = |wanted: &str| info.details.iter().find(|(name, _)| *name == wanted).unwrap().1.clone();
    assert!(detail("redis").starts_with(|first: char| first.is_ascii_digit()), "{}", detail("redis"));
    assert_eq!(
        (detail("eviction"), detail("prefix"), detail("tls")),
        ("noeviction".into(), "mine".into(), "none".into())
    );
    put(&store, append(&space("a"), Head::EMPTY, b"x")).await;
    let keys: Vec<String> = redis(&server, &["KEYS", "*"]);
    assert!(keys.iter().all(|key| key.starts_with("mine:")), "{keys:?}");
}

#[tokio::test]
async fn databases_and_prefixes_keep_stores_apart() {
    let server = TestServer::redis();
    let urls = ["0", "0?prefix=other", "3", "3?prefix=other"].map(|rest| format!("{}{rest}", server.url()));
    for url in &urls {
        put(&open(url).await, append(&space("a"), Head::EMPTY, url.as_bytes())).await;
    }
    for url in &urls {
        let store = open(url).await;
        let page = store.read_after(&space("a"), corkboard::store::Cursor { rev: 0, commit: None }, 9).await.unwrap();
        assert!(page.records.len() == 1 && page.records[0].body == url.as_bytes());
    }
    assert!(refused(&format!("{}99", server.url())).await.to_string().contains("database"));
}

/// Fills the server with other data; without it there is room.
fn fill(server: &TestServer) {
    let filler = "x".repeat(2 * 1024 * 1024);
    redis::<()>(server, &["SET", "filler", &filler]);
    redis::<()>(server, &["CONFIG", "SET", "maxmemory", "2mb"]);
}

#[tokio::test]
async fn a_full_server_refuses_writes_cleanly() {
    let server = TestServer::redis();
    let corkboard = Corkboard::open(&server.url()).await.unwrap();
    let memory = corkboard.agent("a").unwrap().working();
    memory.set("key", "before").await.unwrap();
    let store = open(&server.url()).await;
    let head = store.head(&space("a")).await.unwrap();
    fill(&server);
    let full = |error: &StoreError| matches!(error, StoreError::Unavailable(why) if why.contains("maxmemory"));
    let told = memory.set("key", "more").await;
    assert!(matches!(&told, Err(Error::Store(error)) if full(error)), "{told:?}");
    let due = Append { next_due: Some(crate::redis_store::support::time(1)), ..append(&space("b"), Head::EMPTY, b"x") };
    assert!(full(&store.append(due).await.unwrap_err()));
    assert!(full(&store.write_snapshot(&space("a"), snapshot(head)).await.unwrap_err()));
    // Nothing of it is stored, and everything else is there. Reading, opening and deleting work.
    assert_eq!(store.head(&space("b")).await, Ok(Head::EMPTY));
    assert_eq!(memory.get::<String>("key").await.unwrap().as_deref(), Some("before"));
    let second = open(&server.url()).await;
    assert_eq!(second.list(SpaceKind::Agent, None, 10).await.unwrap().len(), 1);
    assert_eq!(second.due(SpaceKind::Agent, crate::redis_store::support::time(5), 10).await, Ok(vec![]));
    assert!(corkboard.delete_agent("a").await.unwrap());
    redis::<()>(&server, &["DEL", "filler"]);
    memory.set("key", "after").await.unwrap();
    assert_eq!(memory.get::<String>("key").await.unwrap().as_deref(), Some("after"));
    assert_eq!(store.check().await, Ok(vec![]));
}

fn snapshot(head: Head) -> corkboard::store::Snapshot {
    corkboard::store::Snapshot { head, body: b"state".to_vec() }
}

#[tokio::test]
async fn an_append_that_started_in_time_is_written_completely() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let used: String = redis(&server, &["INFO", "memory"]);
    let used = used.lines().find_map(|line| line.strip_prefix("used_memory:")?.parse::<u64>().ok()).unwrap();
    redis::<()>(&server, &["CONFIG", "SET", "maxmemory", &(used + 2 * 1024 * 1024).to_string()]);
    // Ten times as much as there is room for.
    let body = vec![b'x'; 2 * 1024 * 1024];
    let mut large = append(&space("a"), Head::EMPTY, &body);
    for _ in 0..9 {
        let next = append(&space("a"), head_after(&large), &body);
        large.records.extend(next.records);
    }
    let (expected, appended) = (head_after(&large), store.append(large).await);
    // If the arguments alone fill the server, nothing is written.
    let head = store.head(&space("a")).await.unwrap();
    match appended {
        Ok(Appended::Committed) => assert_eq!(head, expected),
        Err(StoreError::Unavailable(_)) => assert_eq!(head, Head::EMPTY),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.check().await, Ok(vec![]));
}

#[tokio::test]
async fn a_server_whose_disk_fails_takes_no_writes() {
    let server = TestServer::redis_with(&["--save", "3600 1", "--enable-protected-configs", "yes"]);
    let store = open(&server.url()).await;
    let head = put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
    // No file can be written there.
    redis::<()>(&server, &["CONFIG", "SET", "dir", "/proc"]);
    redis::<()>(&server, &["BGSAVE"]);
    eventually("the save fails", || async {
        redis::<String>(&server, &["INFO", "persistence"]).contains("rdb_last_bgsave_status:err")
    })
    .await;
    let told = store.append(append(&space("a"), head, b"two")).await;
    assert!(matches!(&told, Err(StoreError::Unavailable(why)) if why.contains("cannot save to its disk")), "{told:?}");
    assert_eq!(store.head(&space("a")).await, Ok(head));
    let scrubbed = store.scrub().await;
    assert!(matches!(&scrubbed, Err(StoreError::Unavailable(why)) if why.contains("BGSAVE failed")), "{scrubbed:?}");
    redis::<()>(&server, &["CONFIG", "SET", "dir", server.folder().to_str().unwrap()]);
    store.scrub().await.unwrap();
    put(&store, append(&space("a"), head, b"two")).await;
}

#[tokio::test]
async fn a_replica_is_read_and_not_written_to() {
    let server = TestServer::redis();
    let store = open(&server.url()).await;
    let head = put(&store, append(&space("a"), Head::EMPTY, b"one")).await;
    let replica = TestServer::redis_with(&["--replicaof", &format!("127.0.0.1 {}", server.port())]);
    eventually("the replica is in sync", || async {
        let found: Option<u64> = redis(&replica, &["HGET", "cork:{agent/a}:head", "rev"]);
        found == Some(1)
    })
    .await;
    let follower = open(&replica.url()).await;
    assert_eq!(follower.head(&space("a")).await, Ok(head));
    let told = follower.append(append(&space("a"), head, b"two")).await;
    assert!(matches!(&told, Err(StoreError::Unavailable(why)) if why.contains("replica")), "{told:?}");
    // A failover: the same address accepts writes from now on.
    drop(server);
    redis::<()>(&replica, &["REPLICAOF", "NO", "ONE"]);
    put(&follower, append(&space("a"), head, b"two")).await;
    assert_eq!(follower.delete(&space("a"), head, commit()).await.unwrap(), conflict(&follower).await);
}

async fn conflict(store: &Arc<corkboard::store::RedisStore>) -> Appended {
    Appended::Conflict { head: store.head(&space("a")).await.unwrap() }
}

#[tokio::test]
async fn unsupported_servers_are_reported() {
    let server = TestServer::redis();
    redis::<()>(&server, &["HSET", "cork:{index}:meta", "format", "99"]);
    assert_eq!(refused(&server.url()).await, StoreError::NewerFormat { found: 99, known: 1 });
    let options = Options { save: SavePolicy::Interval(Duration::from_secs(1)), ..Options::default() };
    let told = Corkboard::open_with(&server.url(), options).await.unwrap_err().to_string();
    assert!(told.contains("save_interval"), "{told}");
    // By default the cluster bus uses a port that the system may have given to another process.
    let bus = free_port().to_string();
    let cluster = TestServer::redis_with(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
    assert!(refused(&cluster.url()).await.to_string().contains("Cluster"));
}
