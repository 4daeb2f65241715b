//! Copies from a store to a file.

use corkboard_core::{Head, SpaceId};
use tokio::io::{AsyncWrite, AsyncWriteExt, BufWriter};

use super::format::{
    EndLine, ExportLine, FORMAT, FileHeader, RecordLine, SnapshotLine, SpaceLine, TotalLine, VERSION, embed,
};
use super::log::{Listing, LogReader, count, find, oldest};
use super::migrate::{cut_off, is_covered};
use super::{ATTEMPTS, Checksum, Meter, OnProgress, Stage, TokenCopying, TransferError};
use crate::clock::{Clock, SystemClock};
use crate::store::{Cursor, ListedSpace, Record, Snapshot, Store, StoreError};

/// Which spaces to export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spaces {
    /// All spaces.
    All,
    /// One space, which must exist.
    One(SpaceId),
}

/// The amount that an export wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Exported {
    /// Number of spaces.
    pub spaces: u64,
    /// Number of revisions.
    pub revisions: u64,
    /// Bytes of all bodies and snapshots. The file is larger.
    pub bytes: u64,
}

/// Writes spaces with their whole held logs as JSON lines: see [`format`](super::format).
///
/// Others may write meanwhile. Each space is exported at one revision, but different spaces at different moments.
/// Spaces that are created or deleted meanwhile may be missing.
pub async fn export(
    store: &dyn Store,
    spaces: &Spaces,
    writer: impl AsyncWrite + Unpin + Send,
    progress: OnProgress<'_>,
) -> Result<Exported, TransferError> {
    let (one, total) = match spaces {
        Spaces::All => (None, count(store, TokenCopying::Include).await.map_err(TransferError::Source)?),
        Spaces::One(space) => {
            let found = find(store, space).await.map_err(TransferError::Source)?;
            (Some(found.ok_or_else(|| TransferError::NoSuchSpace { space: space.clone() })?), 1)
        }
    };
    let mut exporter = Exporter {
        store,
        writer: BufWriter::with_capacity(64 * 1024, writer),
        line: Vec::new(),
        meter: Meter::new(Stage::Exporting, total, progress),
        total: TotalLine::default(),
    };
    exporter.header(total).await?;
    match one {
        Some(listed) => exporter.space(listed).await?,
        None => {
            let mut listing = Listing::new(store, TokenCopying::Include);
            while let Some(listed) = listing.next().await.map_err(TransferError::Source)? {
                exporter.space(listed).await?;
            }
        }
    }
    exporter.finish().await
}

struct Exporter<'a, W> {
    store: &'a dyn Store,
    writer: BufWriter<W>,
    line: Vec<u8>,
    meter: Meter<'a>,
    total: TotalLine,
}

/// The totals of a space's lines.
#[derive(Default)]
struct Written {
    records: u64,
    bytes: u64,
    checksum: Checksum,
}

impl<W: AsyncWrite + Unpin + Send> Exporter<'_, W> {
    async fn header(&mut self, spaces: u64) -> Result<(), TransferError> {
        let (format, store) = (FORMAT.into(), self.store.info().kind.into());
        self.write(&ExportLine::Export(FileHeader { format, version: VERSION, at: SystemClock.now(), store, spaces }))
            .await
    }

    async fn space(&mut self, listed: ListedSpace) -> Result<(), TransferError> {
        let space = listed.space.clone();
        let exported = self.space_as_it_is(listed).await;
        self.meter.space();
        exported.map_err(|error| error.of_space(&space))
    }

    /// Writes a space as it was listed. If it is trimmed or deleted meanwhile, starts again.
    async fn space_as_it_is(&mut self, listed: ListedSpace) -> Result<(), TransferError> {
        let space = listed.space.clone();
        let (mut listed, mut uncovered) = (Some(listed), 0);
        for _ in 0..ATTEMPTS {
            // It was deleted since.
            let Some(as_listed) = listed else { return Ok(()) };
            let mut loaded = self.store.load(&space).await.map_err(TransferError::Source)?;
            // A snapshot after the listed head does not belong to this log.
            loaded.snapshot = loaded.snapshot.filter(|snapshot| snapshot.head.rev <= as_listed.head.rev);
            let oldest = oldest(self.store, &space, loaded.born).await.map_err(TransferError::Source)?;
            if oldest > as_listed.head.rev || !is_covered(&loaded, oldest) {
                uncovered += 1;
            } else if self.lines(&as_listed, loaded.born, loaded.snapshot, oldest).await? {
                return Ok(());
            }
            listed = find(self.store, &space).await.map_err(TransferError::Source)?;
        }
        Err(if uncovered == ATTEMPTS { cut_off(&space) } else { TransferError::Contended { space } })
    }

    /// Writes a space's lines. If the space is trimmed or deleted meanwhile, cancels them and returns `false`.
    async fn lines(
        &mut self,
        listed: &ListedSpace,
        born: Head,
        snapshot: Option<Snapshot>,
        oldest: u64,
    ) -> Result<bool, TransferError> {
        let start = Cursor { rev: oldest.saturating_sub(1), commit: None };
        let mut reader = LogReader::new(self.store, &listed.space, start, listed.head.rev);
        let mut written = Written::default();
        let ListedSpace { space, head, next_due, summary: bytes } = listed;
        let (summary, summary_base64) = embed(bytes);
        let (head, next_due) = (*head, *next_due);
        let id = space.as_str().into();
        self.write(&ExportLine::Space(SpaceLine { id, born, head, next_due, summary, summary_base64 })).await?;
        written.checksum.space(space.as_str(), born, head, next_due, bytes);
        if let Some(snapshot) = snapshot {
            let (body, base64) = embed(&snapshot.body);
            let Head { rev, commit } = snapshot.head;
            self.write(&ExportLine::Snapshot(SnapshotLine { rev, commit, body, base64 })).await?;
            written.checksum.snapshot(&snapshot);
            written.bytes += snapshot.body.len() as u64;
        }
        loop {
            match reader.next().await {
                Ok(Some(record)) => self.record(&record, &mut written).await?,
                Ok(None) => break,
                Err(StoreError::Compacted { .. } | StoreError::Diverged | StoreError::Future { .. }) => {
                    self.write(&ExportLine::Void {}).await?;
                    return Ok(false);
                }
                Err(error) => return Err(TransferError::Source(error)),
            }
        }
        let Written { records, bytes, checksum } = written;
        self.write(&ExportLine::End(EndLine { records, bytes, checksum })).await?;
        self.total.spaces += 1;
        self.total.records += records;
        self.total.bytes += bytes;
        self.total.checksum.checksum(checksum);
        Ok(true)
    }

    async fn record(&mut self, record: &Record, written: &mut Written) -> Result<(), TransferError> {
        let Record { rev, commit, at, body: bytes } = record;
        let (body, base64) = embed(bytes);
        self.write(&ExportLine::Record(RecordLine { rev: *rev, commit: *commit, at: *at, body, base64 })).await?;
        written.checksum.record(record);
        written.records += 1;
        written.bytes += bytes.len() as u64;
        self.meter.revisions(1, bytes.len() as u64);
        Ok(())
    }

    async fn finish(mut self) -> Result<Exported, TransferError> {
        let TotalLine { spaces, records: revisions, bytes, .. } = self.total;
        self.write(&ExportLine::Total(self.total)).await?;
        self.writer.flush().await.map_err(TransferError::Write)?;
        Ok(Exported { spaces, revisions, bytes })
    }

    async fn write(&mut self, line: &ExportLine<'_>) -> Result<(), TransferError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, line).map_err(|error| TransferError::Write(error.into()))?;
        self.line.push(b'\n');
        self.writer.write_all(&self.line).await.map_err(TransferError::Write)
    }
}
