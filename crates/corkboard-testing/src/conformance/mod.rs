//! Requirements of every store. Each case is a named test per store: see
//! [`conformance_suite!`](crate::conformance_suite).

mod log;
mod processes;
mod retention;
mod spaces;
mod transfer;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use corkboard_core::{Head, SpaceId, SpaceKind};
use jiff::Timestamp;

pub use log::*;
pub use processes::*;
pub use retention::*;
pub use spaces::*;
pub use transfer::*;
pub use watch::*;

use crate::ids;
use corkboard::store::{Append, Appended, Cursor, Record, Store};

/// Declares a test for every case that needs one process. With `durable`, adds the cases in which one process continues
/// where another ended. With `processes`, adds all cases. The expression creates a fresh [`Harness`](crate::Harness).
#[macro_export]
macro_rules! conformance_suite {
    (processes: $harness:expr) => {
        $crate::conformance_suite!(durable: $harness);
        $crate::conformance_suite!(@tests $harness,
            a_counter_contended_by_many_processes_is_exact
            notes_of_many_processes_are_all_kept
            another_process_wakes_a_watcher
            another_process_notifies_listeners_to_all_spaces
            a_watcher_in_another_process_sees_every_revision
        );
    };
    (durable: $harness:expr) => {
        $crate::conformance_suite!($harness);
        $crate::conformance_suite!(@tests $harness,
            nothing_acknowledged_is_lost_at_kill_9
        );
    };
    ($harness:expr) => {
        $crate::conformance_suite!(@tests $harness,
            records_are_read_in_order
            bodies_are_kept_byte_for_byte
            a_page_holds_about_a_mebibyte
            a_long_body_is_stored_in_parts_and_read_whole
            of_two_appends_on_one_revision_one_wins
            an_append_compares_revision_and_commit
            a_conflict_in_one_space_leaves_the_others_alone
            a_reader_notices_another_history
            a_recreated_space_continues_its_revisions
            a_space_recreated_behind_a_cache_is_noticed
            an_append_whose_answer_was_lost_is_not_applied_twice
            a_counter_contended_by_many_tasks_is_exact
            readers_see_what_another_handle_wrote
            a_space_reads_the_same_across_a_snapshot
            an_older_snapshot_never_replaces_a_newer
            retention_drops_only_what_a_snapshot_covers
            the_last_record_is_never_trimmed
            a_watcher_beyond_retention_learns_the_oldest_revision
            a_watcher_gets_history_then_new_revisions
            a_watcher_of_the_future_is_refused
            an_idle_watcher_gets_bookmarks
            a_live_watcher_that_falls_behind_is_cut_off
            listeners_to_all_spaces_are_notified_of_each
            a_deleted_space_that_is_written_again_is_reported
            spaces_are_listed_with_a_cursor_and_summaries
            due_spaces_are_found_most_overdue_first
            every_kind_has_its_own_list_and_its_own_due_spaces
            a_deleted_space_is_gone_and_its_log_with_it
            a_bulk_command_is_one_revision_however_large
            a_log_is_imported_as_it_was
            an_import_never_touches_a_space_that_is_there
            a_rewritten_revision_keeps_its_place
            a_rewrite_of_a_log_that_moved_changes_nothing
            writes_are_there_after_reopening
        );
    };
    (@tests $harness:expr, $($case:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::conformance::$case(&$harness).await;
            }
        )*
    };
}

/// The cases that need several processes, each with the reason why it does not apply to a store.
pub const NOT_FOR_MEMORY: &[(&str, &str)] = &[
    ("a_counter_contended_by_many_processes_is_exact", "memory: lives in one process"),
    ("notes_of_many_processes_are_all_kept", "memory: lives in one process"),
    ("another_process_wakes_a_watcher", "memory: lives in one process"),
    ("another_process_notifies_listeners_to_all_spaces", "memory: lives in one process"),
    ("a_watcher_in_another_process_sees_every_revision", "memory: lives in one process"),
    ("nothing_acknowledged_is_lost_at_kill_9", "memory: is gone with its process, as it says"),
];

pub const NOT_FOR_FILE: &[(&str, &str)] = &[
    ("a_counter_contended_by_many_processes_is_exact", "file: is for one process at a time"),
    ("notes_of_many_processes_are_all_kept", "file: is for one process at a time"),
    ("another_process_wakes_a_watcher", "file: is for one process at a time"),
    ("another_process_notifies_listeners_to_all_spaces", "file: is for one process at a time"),
    ("a_watcher_in_another_process_sees_every_revision", "file: is for one process at a time"),
];

fn space(name: &str) -> SpaceId {
    SpaceId::of(SpaceKind::Agent, name)
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Records after `head`, each decided one second after the previous one.
fn append(space: &SpaceId, expected: Head, bodies: &[&[u8]]) -> Append {
    let records = (expected.rev + 1..).zip(bodies).map(|(rev, body)| Record {
        rev,
        commit: ids::commit(),
        at: time(rev as i64),
        body: body.to_vec(),
    });
    Append { space: space.clone(), expected, records: records.collect(), next_due: None, summary: b"{}".to_vec() }
}

/// Appends and expects success. Returns the new head.
async fn put(store: &Arc<dyn Store>, space: &SpaceId, expected: Head, bodies: &[&[u8]]) -> Head {
    let append = append(space, expected, bodies);
    let head = append.new_head();
    assert_eq!(store.append(append).await, Ok(Appended::Committed));
    head
}

fn start() -> Cursor {
    Cursor { rev: 0, commit: None }
}

/// The whole log, page by page.
async fn read_all(store: &Arc<dyn Store>, space: &SpaceId) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let cursor = records.last().map_or(start(), |last| Cursor { rev: last.rev, commit: Some(last.commit) });
        let page = store.read_after(space, cursor, 1000).await.unwrap();
        assert!(!page.records.is_empty() || page.head.rev == cursor.rev, "only the last page should be empty");
        records.extend(page.records);
        if records.last().map_or(0, |last| last.rev) == page.head.rev {
            return records;
        }
    }
}

/// Waits until a condition holds that another task or process establishes.
async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(120);
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}: not within 120 s");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
