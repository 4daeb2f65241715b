//! Transfers through a file.

use super::*;
use crate::{Fault, FaultPlan, FaultyStore};
use corkboard::transfer::{
    Exported, ImportMode, ImportOutcome, Imported, Spaces, Stage, TransferError, check, export, import,
};

async fn exported(store: &Arc<dyn Store>) -> Vec<u8> {
    let mut file = Vec::new();
    export(&**store, &Spaces::All, &mut file, &mut nobody).await.unwrap();
    file
}

async fn imported(store: &Arc<dyn Store>, file: &[u8]) -> Imported {
    import(&**store, file, ImportMode::Write, &mut nobody).await.unwrap()
}

fn outcomes(imported: &Imported) -> Vec<(&str, ImportOutcome, u64)> {
    assert!(imported.problems.is_empty(), "{:?}", imported.problems);
    imported.spaces.iter().map(|space| (space.space.name(), space.outcome, space.revisions)).collect()
}

/// The lines after the header, which contains the time.
fn lines(file: &[u8]) -> Vec<&str> {
    std::str::from_utf8(file).unwrap().lines().skip(1).collect()
}

/// Logs of every shape survive an export and an import unchanged. A second import has nothing to do.
pub async fn an_export_is_imported_as_it_was(from: &Harness, to: &Harness) {
    let (from, to) = (from.open().await, to.open().await);
    fill(&from).await;
    let mut file = Vec::new();
    let Exported { spaces, revisions, bytes } = export(&*from, &Spaces::All, &mut file, &mut nobody).await.unwrap();
    let all = everything(&from).await;
    let count: usize = all.values().map(|whole| whole.records.len()).sum();
    assert_eq!((spaces, revisions), (all.len() as u64, count as u64));
    assert!(bytes > 5_000_000);
    let checked = check(&*file, &mut nobody).await.unwrap();
    assert_eq!((checked.spaces.len() as u64, checked.problems.len()), (spaces, 0));
    let mut last = None;
    let tell = &mut |progress: &TransferProgress| last = Some(*progress);
    let imported = import(&*to, &*file, ImportMode::Write, tell).await.unwrap();
    assert!(outcomes(&imported).iter().all(|(_, outcome, _)| *outcome == ImportOutcome::New));
    let last = last.unwrap();
    assert_eq!((last.stage, last.spaces, last.total, last.revisions), (Stage::Importing, spaces, spaces, revisions));
    assert_same(&from, &to).await;
    let again = self::imported(&to, &file).await;
    assert!(outcomes(&again).iter().all(|(_, outcome, written)| (*outcome, *written) == (ImportOutcome::Unchanged, 0)));
    assert_same(&from, &to).await;
    assert!(lines(&exported(&to).await) == lines(&file), "a second export should be the same");
}

/// An export of one space contains nothing of the others.
pub async fn one_space_is_exported(from: &Harness, to: &Harness) {
    let (from, to) = (from.open().await, to.open().await);
    // Names that are neighbours in a list.
    for name in ["bo", "boa", "bob", "bobby", "boc"] {
        put_many(&from, &space(name), 2).await;
    }
    for index in 0..40 {
        put_many(&from, &space(&format!("bo {index}")), 1).await;
    }
    let mut file = Vec::new();
    let written = export(&*from, &Spaces::One(space("bob")), &mut file, &mut nobody).await.unwrap();
    assert_eq!((written.spaces, written.revisions), (1, 2));
    assert_eq!(outcomes(&imported(&to, &file).await), [("bob", ImportOutcome::New, 2)]);
    assert_eq!(everything(&to).await.len(), 1);
    let none = export(&*from, &Spaces::One(space("boba")), &mut file, &mut nobody).await;
    assert!(matches!(none, Err(TransferError::NoSuchSpace { .. })), "{none:?}");
}

/// If the target has the beginning of a log, the rest is appended. If it has all of it, nothing is.
pub async fn an_import_continues_where_the_store_ends(from: &Harness, to: &Harness) {
    let (from, to) = (from.open().await, to.open().await);
    put_many(&from, &space("grows"), 600).await;
    put_many(&from, &space("rests"), 3).await;
    // The recreated space starts at the tombstone, which the target has, too.
    let old = exported(&from).await;
    assert_eq!(
        outcomes(&imported(&to, &old).await),
        [("grows", ImportOutcome::New, 600), ("rests", ImportOutcome::New, 3)]
    );
    put_many(&from, &space("grows"), 600).await;
    snapshot_and_trim(&from, &space("grows"), 900, 400).await;
    let new = exported(&from).await;
    let done = imported(&to, &new).await;
    assert_eq!(outcomes(&done), [("grows", ImportOutcome::Continued, 600), ("rests", ImportOutcome::Unchanged, 0)]);
    assert_eq!(
        held(&to, &space("grows"), Head::EMPTY).await.len(),
        1200,
        "the target should keep revisions that the source trimmed"
    );
    assert_eq!(to.load(&space("grows")).await, from.load(&space("grows")).await);
    // Revisions missing in the file cannot be filled in.
    let (fresh, tombstone) = (space("fresh"), ids::commit());
    put_many(&to, &fresh, 1).await;
    let head = to.head(&fresh).await.unwrap();
    to.delete(&fresh, head, tombstone).await.unwrap();
    let head = put_many(&from, &fresh, 1).await;
    from.delete(&fresh, head, tombstone).await.unwrap();
    put_many(&from, &fresh, 2).await;
    let done = imported(&to, &exported(&from).await).await;
    assert_eq!(outcomes(&done)[0], ("fresh", ImportOutcome::Continued, 2), "the same tombstone, so the log continues");
    assert_eq!(to.load(&fresh).await, from.load(&fresh).await);
    assert_eq!(to.check().await, Ok(vec![]));
}

/// If the target has a different log under a space's name, it stays unchanged, and the other spaces are imported.
pub async fn an_import_leaves_another_history_alone(from: &Harness, to: &Harness) {
    let (from, to) = (from.open().await, to.open().await);
    for name in ["ahead", "changed", "deleted", "diverged", "gap", "good"] {
        put_many(&from, &space(name), 5).await;
    }
    assert_eq!(imported(&to, &exported(&from).await).await.problems.len(), 0);
    put_many(&to, &space("ahead"), 1).await;
    let head = to.head(&space("deleted")).await.unwrap();
    to.delete(&space("deleted"), head, ids::commit()).await.unwrap();
    put_many(&to, &space("diverged"), 2).await;
    put_many(&from, &space("diverged"), 4).await;
    put_many(&from, &space("gap"), 5).await;
    snapshot_and_trim(&from, &space("gap"), 8, 6).await;
    put_many(&from, &space("good"), 1).await;
    let whole = &everything(&from).await[&space("changed")];
    let records = vec![Record { body: b"{}".to_vec(), ..whole.records[1].clone() }];
    let rewrite =
        corkboard::store::Rewrite { space: space("changed"), expected: whole.loaded.head, records, snapshot: None };
    assert_eq!(from.rewrite(rewrite).await, Ok(Appended::Committed));
    let before = everything(&to).await;
    let done = imported(&to, &exported(&from).await).await;
    let said: Vec<_> = done.problems.iter().map(|problem| problem.error.to_string()).collect();
    assert_eq!(
        said,
        [
            "agent/ahead: the target is ahead, at revision 6; the original ends at 5",
            "agent/changed: the copy differs from the original at revision 2: its content",
            "agent/deleted: it was deleted in the target, at revision 6",
            "agent/diverged: the target has another history: its revision 6 differs from the original",
            "agent/gap: the target is at revision 5, and the source no longer has revisions before 7",
        ]
    );
    assert_eq!(done.spaces.len(), 1);
    let after = everything(&to).await;
    for name in ["ahead", "changed", "diverged", "gap"] {
        assert_eq!(after[&space(name)], before[&space(name)]);
    }
    assert_eq!(after[&space("good")].records.len(), 6);
    assert_eq!(to.head(&space("deleted")).await.unwrap().rev, 6);
}

/// After a refused write or a lost answer at any page, the next import of the file continues from there.
pub async fn an_import_interrupted_at_every_page_continues(from: &Harness, to: &Harness) {
    let (from, to) = (from.open().await, to.open().await);
    fill(&from).await;
    let file = exported(&from).await;
    let faulty = Arc::new(FaultyStore::new(to.clone(), FaultPlan::none()));
    let faults = [Fault::Refuse, Fault::CutBefore, Fault::CutAfter, Fault::LandLater];
    let mut interrupted = 0;
    while interrupted < 100 {
        faulty.next_appends([Fault::Pass, faults[interrupted % faults.len()]]);
        match import(&*faulty, &*file, ImportMode::Write, &mut nobody).await {
            Ok(imported) => {
                assert!(imported.problems.is_empty(), "{:?}", imported.problems);
                break;
            }
            Err(TransferError::Target(StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_))) => interrupted += 1,
            Err(error) => panic!("{error}"),
        }
        assert_plain_halves(&from, &to).await;
    }
    assert!((4..20).contains(&interrupted), "{interrupted}");
    faulty.settle().await;
    assert_same(&from, &to).await;
}

/// If a space is trimmed during the export, its lines are discarded and written again.
pub async fn an_export_of_a_log_that_is_trimmed_meanwhile_is_whole(from: &Harness, to: &Harness) {
    let (from, to) = (from.open().await, to.open().await);
    put_many(&from, &space("long"), 2000).await;
    let mut trimmed = false;
    let mut trim = |progress: &TransferProgress| {
        if progress.revisions == 10 && !trimmed {
            trimmed = true;
            now(put_many(&from, &space("long"), 5));
            now(snapshot_and_trim(&from, &space("long"), 1900, 1800));
        }
    };
    let mut file = Vec::new();
    let written = export(&*from, &Spaces::All, &mut file, &mut trim).await.unwrap();
    assert_eq!((written.spaces, written.revisions), (1, 205));
    assert!(lines(&file).contains(&"{\"void\":{}}"));
    assert_eq!(outcomes(&imported(&to, &file).await), [("long", ImportOutcome::New, 205)]);
    assert_same(&from, &to).await;
}

/// Concurrent writes do not appear partially: an exported log ends at the revision of its summary and due date, and a
/// newer snapshot is not included.
pub async fn an_export_while_others_write_is_of_one_revision(from: &Harness, to: &Harness) {
    let (from, to) = (from.open().await, to.open().await);
    for name in ["busy", "covered", "trimmed"] {
        put_many(&from, &space(name), 700).await;
    }
    let before = everything(&from).await;
    let mut is_first = true;
    let mut write = |progress: &TransferProgress| {
        if progress.revisions % 100 == 1 {
            now(put_many(&from, &space("busy"), 3));
        }
        if progress.revisions == 1 && std::mem::take(&mut is_first) {
            for (name, up_to) in [("covered", 0), ("trimmed", 750)] {
                now(put_many(&from, &space(name), 100));
                now(snapshot_and_trim(&from, &space(name), 760, up_to));
            }
        }
    };
    let mut file = Vec::new();
    export(&*from, &Spaces::All, &mut file, &mut write).await.unwrap();
    let expected =
        [("busy", ImportOutcome::New, 700), ("covered", ImportOutcome::New, 700), ("trimmed", ImportOutcome::New, 50)];
    assert_eq!(outcomes(&imported(&to, &file).await), expected);
    let (after, copy) = (everything(&from).await, everything(&to).await);
    assert_eq!(copy[&space("busy")], before[&space("busy")]);
    assert_eq!(copy[&space("covered")], before[&space("covered")]);
    assert_eq!(copy[&space("trimmed")], after[&space("trimmed")], "the earlier revision is trimmed");
    assert!(after[&space("busy")].listed.head.rev > 700);
}

/// A dry run reports the result of an import without writing.
pub async fn a_dry_run_writes_nothing(from: &Harness, to: &Harness) {
    let (from, to) = (from.open().await, to.open().await);
    put_many(&from, &space("grows"), 5).await;
    put_many(&from, &space("rests"), 5).await;
    imported(&to, &exported(&from).await).await;
    // More than a page.
    put_many(&from, &space("grows"), 600).await;
    put_many(&from, &space("new"), 600).await;
    let before = everything(&to).await;
    let would = import(&*to, &*exported(&from).await, ImportMode::DryRun, &mut nobody).await.unwrap();
    let expected = [
        ("grows", ImportOutcome::Continued, 600),
        ("new", ImportOutcome::New, 600),
        ("rests", ImportOutcome::Unchanged, 0),
    ];
    assert_eq!(outcomes(&would), expected);
    assert_eq!(everything(&to).await, before);
    assert_eq!(outcomes(&imported(&to, &exported(&from).await).await), expected);
}
