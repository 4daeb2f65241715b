//! Writes a space from a file, after all its lines were read.

use corkboard_core::Head;

use super::import::ImportMode;
use super::log::{LogReader, oldest};
use super::migrate::is_covered;
use super::space_lines::SpaceLines;
use super::verify::{difference, mismatch};
use super::writer::SpaceWriter;
use super::{ATTEMPTS, TransferError};
use crate::store::{Appended, Cursor, Loaded, Store};

/// The effect of an import on a space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// The store did not have the space.
    New,
    /// The store had the beginning, and the rest was appended.
    Continued,
    /// The store already had all of it.
    Unchanged,
}

pub(super) struct WrittenSpace {
    pub(super) outcome: ImportOutcome,
    pub(super) revisions: u64,
    pub(super) bytes: u64,
}

/// Writes the revisions of a space that the store lacks. If the store has another history of it, nothing is written.
pub(super) async fn write_space(
    to: &dyn Store,
    mode: ImportMode,
    lines: &mut SpaceLines,
) -> Result<WrittenSpace, TransferError> {
    for _ in 0..ATTEMPTS {
        let target = to.load(&lines.space).await.map_err(TransferError::Target)?;
        let written = match target.head == Head::EMPTY {
            true => write(to, mode, lines, None).await?,
            false => {
                expect_beginning(&target, lines)?;
                write(to, mode, lines, Some(&target)).await?
            }
        };
        if let Some(written) = written {
            return Ok(written);
        }
    }
    Err(TransferError::Contended { space: lines.space.clone() })
}

/// Fails if the store's log cannot be the beginning of the file's. Whether it is one, only its records can show.
fn expect_beginning(target: &Loaded, lines: &SpaceLines) -> Result<(), TransferError> {
    let (space, rev) = (lines.space.clone(), target.head.rev);
    if target.born != lines.born {
        let was_deleted = target.head == target.born;
        return Err(if was_deleted {
            TransferError::Deleted { space, rev }
        } else {
            TransferError::Diverged { space, rev: target.born.rev.max(lines.born.rev) }
        });
    }
    if rev > lines.head.rev {
        return Err(TransferError::Ahead { space, rev, end: lines.head.rev });
    }
    // Without a common record, the file must tell the commit before its first record.
    let is_joint = rev >= lines.first || target.head == lines.born || Some(target.head) == lines.snapshot;
    if rev.saturating_add(1) < lines.first || !is_joint {
        return Err(TransferError::Gap { space, rev, oldest: lines.first });
    }
    Ok(())
}

/// Compares the records that both have, then appends the rest. `None` if the store's log has changed, so the caller
/// reads it again.
async fn write(
    to: &dyn Store,
    mode: ImportMode,
    lines: &mut SpaceLines,
    target: Option<&Loaded>,
) -> Result<Option<WrittenSpace>, TransferError> {
    let (space, born, end) = (lines.space.clone(), lines.born, lines.head);
    let (next_due, summary) = (lines.next_due, lines.summary.clone());
    let head = target.map_or(Head::EMPTY, |target| target.head);
    let (held, is_readable) = match target {
        Some(target) => {
            let oldest = oldest(to, &space, born).await.map_err(TransferError::Target)?;
            (oldest.max(lines.first), is_covered(target, oldest))
        }
        None => (lines.first, true),
    };
    let before = Cursor { rev: held.saturating_sub(1), commit: None };
    let mut present = LogReader::new(to, &space, before, head.rev);
    let mut kept = lines.read()?;
    // A complete log needs no snapshot from the file, unless an earlier import stopped just before writing it.
    let snapshot = kept.snapshot.take().filter(|_| head != end || !is_readable);
    let mut writer = SpaceWriter::new(to, &space, born, head, snapshot);
    let (mut revisions, mut bytes) = (0, 0);
    while let Some(record) = kept.next()? {
        if record.rev < held {
            continue;
        }
        if let Some(copy) = present.next().await.map_err(TransferError::Target)? {
            match difference(&record, &copy) {
                None => continue,
                Some(_) if record.commit != copy.commit => {
                    return Err(TransferError::Diverged { space, rev: record.rev });
                }
                Some(what) => return Err(mismatch(&space, record.rev, what)),
            }
        }
        revisions += 1;
        bytes += record.body.len() as u64;
        if mode == ImportMode::Write {
            let appended = writer.push(record).await.map_err(TransferError::Target)?;
            if appended != Appended::Committed {
                return Ok(None);
            }
        }
    }
    if mode == ImportMode::Write {
        let appended = writer.finish(next_due, summary).await.map_err(TransferError::Target)?;
        if appended != Appended::Committed {
            return Ok(None);
        }
    }
    let outcome = match (target, revisions) {
        (None, _) => ImportOutcome::New,
        (Some(_), 0) => ImportOutcome::Unchanged,
        (Some(_), _) => ImportOutcome::Continued,
    };
    Ok(Some(WrittenSpace { outcome, revisions, bytes }))
}
