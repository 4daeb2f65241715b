//! Processes that continue where another ended, and many processes at once.

use std::collections::HashSet;
use std::time::Duration;

use super::space;
use super::watch::hear;
use crate::Harness;
use corkboard::{Error, Watched};

/// Closing and reopening changes nothing.
pub async fn writes_are_there_after_reopening(harness: &Harness) {
    let corkboard = harness.corkboard().await;
    let agent = corkboard.agent("kept").unwrap();
    agent.working().set("key", "value").await.unwrap();
    agent.working().add_note("noted").await.unwrap();
    let before = agent.snapshot().await.unwrap();
    corkboard.close().await.unwrap();
    assert!(matches!(agent.working().set("key", "late").await, Err(Error::Closed)));
    let corkboard = harness.corkboard().await;
    let agent = corkboard.agent("kept").unwrap();
    assert_eq!(agent.working().get::<String>("key").await.unwrap().as_deref(), Some("value"));
    let after = agent.snapshot().await.unwrap();
    assert_eq!((after.memory, after.rev, after.rev), (before.memory, before.rev, 2));
    assert!(corkboard.check().await.unwrap().is_empty());
}

/// Many processes increment one number, and every increment counts.
pub async fn a_counter_contended_by_many_processes_is_exact(harness: &Harness) {
    let workers: Vec<_> = (0..6).map(|_| harness.spawn(&["count", "counted", "count", "25"])).collect();
    for worker in workers {
        worker.finish().await;
    }
    let corkboard = harness.corkboard().await;
    assert_eq!(corkboard.agent("counted").unwrap().working().get::<u64>("count").await.unwrap(), Some(150));
}

/// Many processes add notes. All are kept, in the order of each process.
pub async fn notes_of_many_processes_are_all_kept(harness: &Harness) {
    let prefixes = ["a", "b", "c", "d", "e", "f"];
    let workers: Vec<_> = prefixes.iter().map(|prefix| harness.spawn(&["note", "noted", prefix, "25"])).collect();
    for worker in workers {
        assert_eq!(worker.finish().await.len(), 25);
    }
    let notes = harness.corkboard().await.agent("noted").unwrap().working().notes().await.unwrap();
    assert_eq!(notes.len(), 150);
    for prefix in prefixes {
        let own = notes.iter().map(|note| &*note.text).filter(|text| text.starts_with(prefix));
        assert!(own.eq((0..25).map(|index| format!("{prefix}-{index}"))));
    }
}

/// A commit of another process wakes a watcher soon.
pub async fn another_process_wakes_a_watcher(harness: &Harness) {
    let corkboard = harness.corkboard().await;
    let agent = corkboard.agent("woken").unwrap();
    let mut watch = agent.watch(0).await.unwrap();
    let worker = harness.spawn(&["note", "woken", "n", "40"]);
    for expected in 1..=40 {
        let next =
            tokio::time::timeout(Duration::from_secs(120), watch.next()).await.expect("the watcher should wake up");
        assert!(matches!(next.unwrap(), Watched::Revision { rev, .. } if rev == expected));
    }
    worker.finish().await;
}

/// A listener on all spaces learns of other processes' writes, even to spaces unknown here.
pub async fn another_process_notifies_listeners_to_all_spaces(harness: &Harness) {
    let store = harness.open().await;
    let mut moved = store.all_changes();
    let workers = [harness.spawn(&["note", "one", "n", "20"]), harness.spawn(&["note", "two", "n", "20"])];
    hear(&mut moved, &[(&space("one"), 20), (&space("two"), 20)]).await;
    for worker in workers {
        worker.finish().await;
    }
}

/// A watcher in one process sees every revision of three others, in order and once.
pub async fn a_watcher_in_another_process_sees_every_revision(harness: &Harness) {
    let mut watcher = harness.spawn(&["watch", "busy", "0", "90"]);
    assert_eq!(watcher.line().await.as_deref(), Some("watching"));
    let writers: Vec<_> = ["a", "b", "c"].iter().map(|prefix| harness.spawn(&["note", "busy", prefix, "30"])).collect();
    for writer in writers {
        writer.finish().await;
    }
    let seen = watcher.finish().await;
    assert!(seen.iter().map(|line| line.parse::<u64>().unwrap()).eq(1..=90), "{seen:?}");
}

/// A process that is killed at fifty random moments in a loop of writes loses no acknowledged write.
pub async fn nothing_acknowledged_is_lost_at_kill_9(harness: &Harness) {
    let mut dice = crate::dice();
    let mut acknowledged = Vec::new();
    for life in 0..50 {
        let prefix = format!("life{life}");
        let mut worker = harness.spawn(&["note", "killed", &prefix, "1000000"]);
        let mut lines = Vec::new();
        for _ in 0..dice.usize(0..12) {
            lines.push(worker.line().await.expect("the worker should continue"));
        }
        // In the middle of a write, or between two.
        tokio::time::sleep(Duration::from_micros(dice.u64(0..3000))).await;
        lines.extend(worker.kill().await);
        // The pipe may end with half a line.
        lines.retain(|line| line.parse::<u64>().is_ok());
        acknowledged.extend(lines.into_iter().map(|line| format!("{prefix}-{line}")));
    }
    let corkboard = harness.corkboard().await;
    assert!(corkboard.check().await.unwrap().is_empty());
    let notes = corkboard.agent("killed").unwrap().working().notes().await.unwrap();
    let kept: HashSet<&str> = notes.iter().map(|note| &*note.text).collect();
    assert_eq!(kept.len(), notes.len(), "no note should be there twice");
    let lost: Vec<_> = acknowledged.iter().filter(|note| !kept.contains(note.as_str())).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), acknowledged.len());
    assert!(acknowledged.len() > 50, "only {} writes were acknowledged at all", acknowledged.len());
}
