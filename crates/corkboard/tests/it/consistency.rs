//! How current reads are on a store that others write to, too.

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::MemoryStore;
use corkboard::{Consistency, Corkboard, Error, Options, Refusal};

fn boards(age: Duration) -> (Corkboard, Corkboard) {
    let store = Arc::new(MemoryStore::shared());
    let cached = Options { consistency: Consistency::Cached(age), ..Options::default() };
    (Corkboard::with_store(store.clone(), Options::default()), Corkboard::with_store(store, cached))
}

#[tokio::test]
async fn a_current_read_sees_writes_acknowledged_in_another_process() {
    let store = Arc::new(MemoryStore::shared());
    let reader = Corkboard::with_store(store.clone(), Options::default());
    let other = Corkboard::with_store(store, Options::default());
    for index in 0..20 {
        other.agent("a").unwrap().working().set("key", &index).await.unwrap();
        assert_eq!(reader.agent("a").unwrap().working().get::<i32>("key").await.unwrap(), Some(index));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_reads_see_writes_acknowledged_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}/a.db", folder.path().display());
    let (reader, other) = (Corkboard::open(&url).await.unwrap(), Corkboard::open(&url).await.unwrap());
    for index in 0..200 {
        other.agent("a").unwrap().working().set("key", &index).await.unwrap();
        let readers = (0..8).map(|_| {
            let memory = reader.agent("a").unwrap().working();
            tokio::spawn(async move { memory.get::<i32>("key").await.unwrap() })
        });
        for read in futures_util::future::join_all(readers).await {
            assert_eq!(read.unwrap(), Some(index));
        }
    }
}

#[tokio::test]
async fn a_cached_read_may_be_old_and_reports_its_age() {
    let (writer, reader) = boards(Duration::from_secs(3600));
    let (written, read) = (writer.agent("a").unwrap().working(), reader.agent("a").unwrap().working());
    written.set("key", &1).await.unwrap();
    assert_eq!(read.get::<i32>("key").await.unwrap(), Some(1));
    written.set("key", &2).await.unwrap();
    assert_eq!(read.get::<i32>("key").await.unwrap(), Some(1), "within the hour, the cache answers");
    // Writes are decided on the current state, and the writer sees them at once.
    let refused = read.set("key", &3).if_version(1).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::Conflict { .. }))), "{refused:?}");
    read.set("other", &3).await.unwrap();
    assert_eq!(read.get::<i32>("other").await.unwrap(), Some(3));
    assert_eq!(read.get::<i32>("key").await.unwrap(), Some(2));
}

#[tokio::test]
async fn a_cached_read_is_never_older_than_allowed() {
    let (writer, reader) = boards(Duration::from_millis(30));
    let (written, read) = (writer.agent("a").unwrap().working(), reader.agent("a").unwrap().working());
    for index in 0..5 {
        written.set("key", &index).await.unwrap();
        tokio::time::sleep(Duration::from_millis(40)).await;
        assert_eq!(read.get::<i32>("key").await.unwrap(), Some(index));
    }
}

#[test]
fn consistency_is_chosen_by_name() {
    assert_eq!("current".parse(), Ok(Consistency::Current));
    assert_eq!("cached".parse(), Ok(Consistency::Cached(Duration::from_secs(1))));
    assert!("eventual".parse::<Consistency>().is_err());
}
