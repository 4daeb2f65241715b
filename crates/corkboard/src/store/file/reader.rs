//! Reads a space. Files are opened while none can be replaced. An open file stays unchanged afterwards, so it can be
//! read without holding the lock.

use std::fs::File;
use std::path::Path;

use corkboard_core::Head;

use super::disk::{LOG, SNAPSHOT};
use super::line::Unreadable;
use super::log::{LogIndex, Scan, cannot_read, scan};
use super::snapshot::{self, SnapshotFile};
use super::space::{SpaceFiles, snapshot_problem};
use crate::store::{Cursor, Loaded, Page, Result, StoreError};

const PROBLEMS: usize = 20;

pub(super) fn load(files: &SpaceFiles) -> Result<Loaded> {
    files.met(
        files.with(|index| Ok(Loaded { head: index.head, born: index.header.born, snapshot: files.snapshot(index)? })),
    )
}

pub(super) fn read_after(files: &SpaceFiles, cursor: Cursor, limit: usize) -> Result<Page> {
    let (head, records) = files.with(|index| {
        cursor.check(index.head, index.header.born, index.oldest(), || Ok(None))?;
        // Also read the revision at the cursor, if it is stored, to check its commit.
        let is_at_end = cursor.rev == index.head.rev;
        let records = (!is_at_end).then(|| files.records(index, index.before(cursor.rev))).transpose()?;
        Ok((index.head, records))
    })?;
    let Some(mut records) = records else { return Ok(Page { records: Vec::new(), head }) };
    let records = std::iter::from_fn(|| records.next().transpose()).map(|next| {
        let (record, _) = next?;
        match cursor.commit {
            Some(expected) if cursor.rev == record.rev && expected != record.commit => Err(StoreError::Diverged),
            _ => Ok(record),
        }
    });
    let after = records.filter(|record| record.as_ref().map_or(true, |record| record.rev > cursor.rev));
    files.met(Page::fill(after.take(limit), head))
}

/// Reads all files of a space and returns the problems found.
pub(super) fn check(files: &SpaceFiles) -> Vec<String> {
    let path = files.file(LOG);
    let looked = files.with(|index| {
        if index.end.offset == 0 {
            return Ok(None);
        }
        let file = File::open(&path).map_err(|error| cannot_read(&path, &error))?;
        let mut problems = check_snapshot(files, index)?;
        if index.repair.is_some() {
            problems.push(format!("{}: the incomplete append at its end could not be removed yet", path.display()));
        }
        Ok(Some((file, index.end.offset, index.head, problems)))
    });
    match looked {
        Ok(None) => Vec::new(),
        Ok(Some((file, end, head, mut problems))) => {
            match scan(file, end, files.space().as_str(), PROBLEMS) {
                Ok(scan) if scan.problems.is_empty() && scan.index.head != head => {
                    let Head { rev, .. } = scan.index.head;
                    problems.push(format!("{}: it ends at revision {rev} instead of {}", path.display(), head.rev));
                }
                Ok(scan) => problems.extend(damaged_lines(&path, &scan)),
                Err(error) => problems.push(cannot_read(&path, &error).to_string()),
            }
            problems
        }
        // The log could not be opened. Scan it for all problems; if there are none, the problem is in another file.
        Err(error) => {
            let scanned = File::open(&path).and_then(|file| {
                let length = file.metadata()?.len();
                scan(file, length, files.space().as_str(), PROBLEMS)
            });
            let problems = scanned.map(|scan| damaged_lines(&path, &scan)).unwrap_or_default();
            if problems.is_empty() { vec![error.into_problem()] } else { problems }
        }
    }
}

fn damaged_lines(path: &Path, scan: &Scan) -> Vec<String> {
    let problems = scan.problems.iter().map(|(line, problem)| {
        let text = match problem {
            Unreadable::Newer { found } => format!("it is in format {found}, which is newer than this Corkboard"),
            Unreadable::Damaged(text) => text.clone(),
        };
        format!("{}, line {line}: {text}", path.display())
    });
    problems.collect()
}

fn check_snapshot(files: &SpaceFiles, index: &LogIndex) -> Result<Vec<String>> {
    let path = files.file(SNAPSHOT);
    let problem = match snapshot::read(&path, files.space().as_str())? {
        SnapshotFile::Nothing => index.snapshot.map(|_| "it is missing".into()),
        SnapshotFile::Damaged(error) => return Ok(vec![error.into_problem()]),
        SnapshotFile::Snapshot(stored) => snapshot_problem(&files.file(LOG), index, stored.snapshot.head)?,
    };
    Ok(problem.map(|problem| format!("{}: {problem}", path.display())).into_iter().collect())
}
