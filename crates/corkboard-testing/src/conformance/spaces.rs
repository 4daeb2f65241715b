//! Lists, due dates, and deleted spaces.

use corkboard_core::{AgentId, Head, Limits, SpaceId, SpaceKind};

use super::retention::eager_snapshots;
use super::{append, eventually, put, space, start, time};
use crate::Harness;
use crate::ids;
use corkboard::store::{Append, Appended, StoreError};

/// A list is ordered, continues after a cursor, shows summaries, and omits deleted spaces.
pub async fn spaces_are_listed_with_a_cursor_and_summaries(harness: &Harness) {
    let store = harness.open().await;
    for index in [3, 1, 4, 0, 2] {
        let summary = format!("{{\"index\":{index}}}").into_bytes();
        let next_due = (index == 4).then(|| time(7));
        let append = append(&space(&format!("s{index}")), Head::EMPTY, &[b"x"]);
        assert_eq!(store.append(Append { summary, next_due, ..append }).await, Ok(Appended::Committed));
    }
    let deleted = put(&store, &space("s15"), Head::EMPTY, &[b"x"]).await;
    store.delete(&space("s15"), deleted, ids::commit()).await.unwrap();
    let page = store.list(SpaceKind::Agent, None, 2).await.unwrap();
    assert!(page.iter().map(|listed| listed.space.name()).eq(["s0", "s1"]));
    let rest = store.list(SpaceKind::Agent, Some(&page[1].space), 10).await.unwrap();
    assert!(rest.iter().map(|listed| listed.space.name()).eq(["s2", "s3", "s4"]));
    assert_eq!(rest[2].summary, b"{\"index\":4}");
    assert_eq!((rest[2].next_due, rest[2].head.rev), (Some(time(7)), 1));
}

/// Due spaces are found without loading them, the most overdue first, until they are handled.
pub async fn due_spaces_are_found_most_overdue_first(harness: &Harness) {
    let store = harness.open().await;
    for (name, due) in [("late", Some(30)), ("soon", Some(10)), ("never", None), ("later", Some(50))] {
        let append = append(&space(name), Head::EMPTY, &[b"x"]);
        store.append(Append { next_due: due.map(time), ..append }).await.unwrap();
    }
    // A kind that only newer servers know.
    let unknown = append(&SpaceId::from_stored("later/x"), Head::EMPTY, &[b"x"]);
    store.append(Append { next_due: Some(time(1)), ..unknown }).await.unwrap();
    let names = |due: Vec<SpaceId>| due.iter().map(|space| space.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(store.due(SpaceKind::Agent, time(40), 10).await.unwrap()), ["soon", "late"]);
    assert_eq!(names(store.due(SpaceKind::Agent, time(40), 1).await.unwrap()), ["soon"]);
    assert_eq!(names(store.due(SpaceKind::Agent, time(9), 10).await.unwrap()), [""; 0]);
    let head = store.head(&space("soon")).await.unwrap();
    put(&store, &space("soon"), head, &[b"done"]).await;
    assert_eq!(names(store.due(SpaceKind::Agent, time(40), 10).await.unwrap()), ["late"]);
    let head = store.head(&space("late")).await.unwrap();
    store.delete(&space("late"), head, ids::commit()).await.unwrap();
    assert_eq!(names(store.due(SpaceKind::Agent, time(40), 10).await.unwrap()), [""; 0]);
}

/// Spaces of different kinds can have the same name. Each kind has a separate list and separate due spaces.
pub async fn every_kind_has_its_own_list_and_its_own_due_spaces(harness: &Harness) {
    let store = harness.open().await;
    for (index, kind) in SpaceKind::ALL.iter().enumerate() {
        for name in ["same", kind.as_str()] {
            let append = append(&SpaceId::of(*kind, name), Head::EMPTY, &[b"x"]);
            store.append(Append { next_due: Some(time(10 + index as i64)), ..append }).await.unwrap();
        }
    }
    for kind in SpaceKind::ALL {
        let mut own = [SpaceId::of(*kind, "same"), SpaceId::of(*kind, kind.as_str())];
        own.sort();
        let listed = store.list(*kind, None, 9).await.unwrap();
        assert!(listed.iter().map(|listed| &listed.space).eq(&own), "{kind:?}");
        let mut due = store.due(*kind, time(40), 9).await.unwrap();
        due.sort();
        assert_eq!(due, own, "{kind:?}");
    }
}

/// Deleting removes the log, the snapshot and the due date. Deleting again finds nothing.
pub async fn a_deleted_space_is_gone_and_its_log_with_it(harness: &Harness) {
    let corkboard = harness.corkboard_with(eager_snapshots()).await;
    let agent = corkboard.agent("deleted").unwrap();
    for index in 0..20 {
        agent.working().set("key", &index).await.unwrap();
    }
    let store = harness.open().await;
    let space = SpaceId::agent(&AgentId::new("deleted", &Limits::default()).unwrap());
    eventually("a snapshot", || async { store.load(&space).await.unwrap().snapshot.is_some() }).await;
    assert!(corkboard.delete_agent("deleted").await.unwrap());
    assert!(!corkboard.delete_agent("deleted").await.unwrap());
    assert!(!corkboard.delete_agent("never there").await.unwrap());
    assert_eq!(agent.working().len().await.unwrap(), 0);
    let loaded = store.load(&space).await.unwrap();
    assert_eq!((loaded.snapshot, loaded.head.rev), (None, 21));
    assert_eq!(store.read_after(&space, start(), 10).await, Err(StoreError::Compacted { oldest: 22 }));
    assert!(corkboard.agents(None, 10).await.unwrap().is_empty());
}
