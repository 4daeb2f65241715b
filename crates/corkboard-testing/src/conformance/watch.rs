//! Watchers of one space and of all spaces.

use std::collections::HashMap;
use std::time::Duration;

use corkboard_core::{Head, SpaceId, SpaceKind};
use tokio::sync::broadcast;

use super::retention::eager_snapshots;
use super::{eventually, put, space};
use crate::Harness;
use crate::ids;
use corkboard::store::{Appended, StoreError};
use corkboard::{Error, Options, Retention, Watched};

/// A watcher that asks for trimmed revisions learns the oldest available one.
pub async fn a_watcher_beyond_retention_learns_the_oldest_revision(harness: &Harness) {
    let options = Options { retention: Some(Retention::Revisions(3)), ..eager_snapshots() };
    let corkboard = harness.corkboard_with(options).await;
    let agent = corkboard.agent("kept").unwrap();
    for index in 0..30 {
        agent.working().set("key", &index).await.unwrap();
    }
    let watch = || async { agent.watch(1).await.err() };
    eventually("trimming", || async { watch().await.is_some() }).await;
    // More revisions can be trimmed meanwhile. Then the error names a newer one.
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
    let fresh = harness.corkboard().await;
    assert_eq!(fresh.agent("kept").unwrap().working().get::<u32>("key").await.unwrap(), Some(29));
}

/// A watcher gets the history, then new revisions: each once, in order, whole.
pub async fn a_watcher_gets_history_then_new_revisions(harness: &Harness) {
    let (one, two) = (harness.corkboard().await, harness.corkboard().await);
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
            Watched::Bookmark { .. } => panic!("a bookmark came before a new revision"),
        }
    }
    writing.await.unwrap();
}

/// A watch cannot resume from a future revision.
pub async fn a_watcher_of_the_future_is_refused(harness: &Harness) {
    let corkboard = harness.corkboard().await;
    let agent = corkboard.agent("watched").unwrap();
    agent.working().set("key", &1).await.unwrap();
    let refused = agent.watch(2).await.err();
    assert!(matches!(refused, Some(Error::Store(StoreError::Future { asked: 2, head: 1 }))), "{refused:?}");
}

/// An idle watcher gets bookmarks with its position.
pub async fn an_idle_watcher_gets_bookmarks(harness: &Harness) {
    let options = Options { bookmark_interval: Duration::from_millis(5), ..Options::default() };
    let corkboard = harness.corkboard_with(options).await;
    let agent = corkboard.agent("idle").unwrap();
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

/// History can be read slowly. A live watcher that falls behind learns where to resume.
pub async fn a_live_watcher_that_falls_behind_is_cut_off(harness: &Harness) {
    let options = Options { max_watch_lag: 10, bookmark_interval: Duration::from_millis(1), ..Options::default() };
    let corkboard = harness.corkboard_with(options).await;
    let agent = corkboard.agent("slow").unwrap();
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

/// Waits until the listener on all spaces has received those revisions, or newer ones.
pub(super) async fn hear(moved: &mut broadcast::Receiver<(SpaceId, u64)>, expected: &[(&SpaceId, u64)]) {
    let mut waited_for: HashMap<&SpaceId, u64> = expected.iter().copied().collect();
    while !waited_for.is_empty() {
        let told = tokio::time::timeout(Duration::from_secs(120), moved.recv()).await;
        let (space, rev) =
            told.unwrap_or_else(|_| panic!("no event for {waited_for:?}")).expect("the listener should not lag");
        if waited_for.get(&space).is_some_and(|expected| rev >= *expected) {
            waited_for.remove(&space);
        }
    }
}

/// A listener on all spaces learns of each space, even of new ones, written by the same handle or by another.
pub async fn listeners_to_all_spaces_are_notified_of_each(harness: &Harness) {
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
    // A listener that comes after all others have left gets events, too.
    drop((moved, second));
    let head = put(&other, others, others_head, &[b"2"]).await;
    let mut again = store.all_changes();
    put(&other, others, head, &[b"3"]).await;
    hear(&mut again, &[(others, 3)]).await;
}

/// A deleted space that another handle writes again is reported, even if the store reuses places in its files.
pub async fn a_deleted_space_that_is_written_again_is_reported(harness: &Harness) {
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
