//! Copies from a file to a store.

use corkboard_core::SpaceId;
use tokio::io::AsyncBufRead;

use super::format::{AnyHeader, ExportLine, FORMAT, SpaceLine, TotalLine, VERSION};
use super::lines::{FoundLine, LineReader};
use super::space_lines::{Misfit, SpaceLines, shown};
use super::write_space::{ImportOutcome, write_space};
use super::{Meter, OnProgress, Stage, TokenCopying, TransferError, token_count};
use crate::json_error;
use crate::store::Store;

/// Maximum number of damaged places before the import stops.
const MOST_DAMAGE: u32 = 1000;

/// Whether an import writes to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Writes what the store lacks.
    Write,
    /// Only reports what it would write.
    DryRun,
}

/// Options of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportOptions {
    /// Whether to write.
    pub mode: ImportMode,
    /// Whether to copy access tokens.
    pub tokens: TokenCopying,
}

impl From<ImportMode> for ImportOptions {
    /// Without access tokens.
    fn from(mode: ImportMode) -> Self {
        Self { mode, tokens: TokenCopying::default() }
    }
}

/// The result of an import.
#[derive(Debug, Default)]
pub struct Imported {
    /// The spaces of the file without problems, in the file's order.
    pub spaces: Vec<ImportedSpace>,
    /// Parts of the file that were not imported, and why. If empty, the store has everything that was exported, except
    /// tokens.
    pub problems: Vec<FileProblem>,
    /// Number of access tokens of the file that were omitted.
    pub left_out_tokens: u64,
}

/// One space of an import.
#[derive(Debug, Clone)]
pub struct ImportedSpace {
    /// The agent, board or core that was imported.
    pub space: SpaceId,
    /// Its last revision in the file.
    pub rev: u64,
    /// The effect of the import.
    pub outcome: ImportOutcome,
    /// Revisions written.
    pub revisions: u64,
    /// Bytes of these revisions.
    pub bytes: u64,
}

/// A part of a file that was not imported, and why.
#[derive(Debug)]
pub struct FileProblem {
    /// The space, if it is known.
    pub space: Option<SpaceId>,
    /// The reason.
    pub error: TransferError,
}

/// Reads an export (see [`format`](super::format)) and writes the part that the store lacks, with the same revisions
/// and commit IDs.
///
/// A space is written after all its lines were read and their checksum matched. Until then they are kept in memory, or
/// beyond 4 MiB in a temporary file. If the store has all of a space, it stays unchanged. If the store has the
/// beginning, the rest is appended. If the store has another history of the space, or more revisions than the file,
/// that is a [`FileProblem`] and the space stays unchanged. Damage in the file is a [`FileProblem`] too. The import
/// continues with the other spaces. Access tokens are omitted unless the options include them.
pub async fn import(
    store: &dyn Store,
    reader: impl AsyncBufRead + Unpin + Send,
    options: impl Into<ImportOptions>,
    progress: OnProgress<'_>,
) -> Result<Imported, TransferError> {
    read(Some((store, options.into())), reader, progress).await
}

/// Checks an export for problems, without a store. [`ImportedSpace::outcome`] is the one for an empty store.
pub async fn check(
    reader: impl AsyncBufRead + Unpin + Send,
    progress: OnProgress<'_>,
) -> Result<Imported, TransferError> {
    read(None, reader, progress).await
}

async fn read(
    to: Option<(&dyn Store, ImportOptions)>,
    reader: impl AsyncBufRead + Unpin + Send,
    progress: OnProgress<'_>,
) -> Result<Imported, TransferError> {
    let mut lines = LineReader::new(reader);
    let total = expect_header(lines.next().await)?;
    let mut importer = Importer {
        to,
        meter: Meter::new(Stage::Importing, total, progress),
        seen: TotalLine::default(),
        imported: Imported::default(),
        state: State::Between,
        damage: 0,
    };
    while importer.state != State::Done {
        match lines.next().await {
            Ok(Some(line)) => importer.take(&line).await?,
            Ok(None) => importer.cut_off(lines.number()),
            Err(error @ TransferError::LineTooLong { .. }) => importer.damaged(error)?,
            Err(error) => return Err(error),
        }
    }
    if let Ok(None) = lines.next().await {
        return Ok(importer.imported);
    }
    let message = "unexpected data after the end of the export".into();
    importer.problem(None, TransferError::ExportLine { line: lines.number(), message });
    Ok(importer.imported)
}

fn expect_header(line: Result<Option<FoundLine<'_>>, TransferError>) -> Result<u64, TransferError> {
    let not_an_export = |reason: &str| Err(TransferError::NotAnExport(reason.into()));
    let line = match line {
        Ok(Some(line)) => line,
        Ok(None) => return not_an_export("it is empty"),
        Err(TransferError::LineTooLong { .. }) => return not_an_export("its first line is too long"),
        Err(error) => return Err(error),
    };
    // A newer header may have another shape: its version decides.
    match serde_json::from_slice(line.bytes) {
        Ok(AnyHeader { export }) if export.format != FORMAT => return not_an_export("it belongs to another program"),
        Ok(AnyHeader { export }) if export.version > VERSION => {
            return Err(TransferError::NewerVersion { found: export.version });
        }
        Ok(_) => {}
        Err(_) if !json_error::is_json(line.bytes) => return not_an_export("line 1 is not JSON"),
        Err(error) => return not_an_export(&reason(line.bytes, &error)),
    }
    match serde_json::from_slice(line.bytes) {
        Ok(ExportLine::Export(header)) => Ok(header.spaces),
        Ok(_) => not_an_export("it has no header"),
        Err(error) => not_an_export(&reason(line.bytes, &error)),
    }
}

struct Importer<'a> {
    to: Option<(&'a dyn Store, ImportOptions)>,
    meter: Meter<'a>,
    seen: TotalLine,
    imported: Imported,
    state: State,
    /// Number of damaged places in the file.
    damage: u32,
}

enum State {
    /// Before a space, or the total.
    Between,
    Inside(Box<SpaceLines>),
    /// After damage, until the next space.
    Lost,
    Done,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Importer<'_> {
    async fn take(&mut self, found: &FoundLine<'_>) -> Result<(), TransferError> {
        let number = found.number;
        let line = match serde_json::from_slice(found.bytes) {
            Ok(line) => line,
            Err(_) if !found.is_whole => {
                self.cut_off(number);
                return Ok(());
            }
            Err(error) => {
                let message = reason(found.bytes, &error);
                return self.damaged(TransferError::ExportLine { line: number, message });
            }
        };
        let misplaced = |what: &str| TransferError::ExportLine {
            line: number,
            message: format!("unexpected {what} (is the file damaged?)"),
        };
        match (&mut self.state, line) {
            (State::Inside(_), ExportLine::Space(line)) => {
                self.damaged(misplaced("header of an agent, board or core: the end of the previous one is missing"))?;
                self.begin(number, &line)
            }
            (_, ExportLine::Space(line)) => self.begin(number, &line),
            (State::Inside(lines), ExportLine::Snapshot(line)) => {
                let taken = lines.snapshot(&line, found.bytes);
                self.expect(number, taken)
            }
            (State::Inside(lines), ExportLine::Record(line)) => {
                let before = lines.amount();
                let taken = lines.record(&line, found.bytes);
                let after = lines.amount();
                self.meter.revisions(after.0 - before.0, after.1 - before.1);
                self.expect(number, taken)
            }
            (State::Inside(lines), ExportLine::End(line)) => match lines.end(&line) {
                Ok(()) => self.write_space().await,
                Err(misfit) => {
                    self.expect(number, Err(misfit))?;
                    self.state = State::Between;
                    Ok(())
                }
            },
            (State::Inside(_) | State::Lost, ExportLine::Void {}) | (State::Lost, ExportLine::End(_)) => {
                self.state = State::Between;
                Ok(())
            }
            (State::Lost, ExportLine::Snapshot(_) | ExportLine::Record(_)) => Ok(()),
            (State::Between, ExportLine::Total(total)) => {
                if total != self.seen && self.imported.problems.iter().all(|problem| problem.error.concerns_one_space())
                {
                    self.problem(None, TransferError::Totals { line: number });
                }
                self.state = State::Done;
                Ok(())
            }
            (_, ExportLine::Total(_)) => {
                if self.state != State::Lost {
                    self.damaged(misplaced("end of the file: the end of the last agent, board or core is missing"))?;
                }
                self.state = State::Done;
                Ok(())
            }
            (_, ExportLine::Export(_)) => self.damaged(misplaced("header of the file: it belongs in line 1")),
            (_, ExportLine::Snapshot(_) | ExportLine::Record(_) | ExportLine::End(_) | ExportLine::Void {}) => {
                self.damaged(misplaced("record: the header of its agent, board or core is missing"))
            }
        }
    }

    fn begin(&mut self, number: u64, line: &SpaceLine<'_>) -> Result<(), TransferError> {
        match SpaceLines::begin(line) {
            Ok(lines) => {
                self.state = State::Inside(Box::new(lines));
                Ok(())
            }
            Err(misfit) => self.expect(number, Err(misfit)),
        }
    }

    /// Records the damage if the line was invalid. Fails if the import cannot continue.
    fn expect(&mut self, line: u64, taken: Result<(), Misfit>) -> Result<(), TransferError> {
        match (taken, &self.state) {
            (Ok(()), _) => Ok(()),
            (Err(Misfit::Spool(error)), _) => Err(TransferError::Spool(error)),
            (Err(Misfit::Checksum), State::Inside(lines)) => {
                let space = lines.space.clone();
                self.damaged(TransferError::Checksum { line, space })
            }
            (Err(Misfit::Checksum), _) => Ok(()),
            (Err(Misfit::ExportLine(message)), _) => self.damaged(TransferError::ExportLine { line, message }),
        }
    }

    /// Writes a space after all its lines were read.
    async fn write_space(&mut self) -> Result<(), TransferError> {
        let State::Inside(mut lines) = std::mem::replace(&mut self.state, State::Between) else { return Ok(()) };
        let (records, bytes) = lines.amount();
        self.seen.spaces += 1;
        self.seen.records = self.seen.records.saturating_add(records);
        self.seen.bytes = self.seen.bytes.saturating_add(bytes);
        self.seen.checksum.checksum(lines.checksum());
        let (space, rev) = (lines.space.clone(), lines.head.rev);
        if let Some((_, options)) = self.to
            && space.kind().is_some_and(|kind| options.tokens.leave_out(kind))
        {
            self.imported.left_out_tokens += token_count(&lines.summary);
            self.meter.space();
            return Ok(());
        }
        let imported = match self.to {
            None => Ok(ImportedSpace { space, rev, outcome: ImportOutcome::New, revisions: records, bytes }),
            Some((store, options)) => write_space(store, options.mode, &mut lines).await.map(|written| ImportedSpace {
                space,
                rev,
                outcome: written.outcome,
                revisions: written.revisions,
                bytes: written.bytes,
            }),
        };
        match imported {
            Ok(imported) => self.imported.spaces.push(imported),
            Err(error) if error.concerns_one_space() => self.problem(Some(lines.space.clone()), error),
            Err(error) => return Err(error),
        }
        self.meter.space();
        Ok(())
    }

    /// Records damage. Skips all lines up to the next space.
    fn damaged(&mut self, error: TransferError) -> Result<(), TransferError> {
        let line = match &error {
            TransferError::ExportLine { line, .. }
            | TransferError::LineTooLong { line }
            | TransferError::Checksum { line, .. } => *line,
            _ => 0,
        };
        let space = match std::mem::replace(&mut self.state, State::Lost) {
            State::Inside(lines) => Some(lines.space.clone()),
            // Damage that follows other damage is not reported again.
            State::Lost => return Ok(()),
            State::Between | State::Done => None,
        };
        self.problem(space, error);
        self.damage += 1;
        if self.damage > MOST_DAMAGE { Err(TransferError::TooDamaged { line }) } else { Ok(()) }
    }

    /// The file ends before its total line.
    fn cut_off(&mut self, line: u64) {
        let space = match std::mem::replace(&mut self.state, State::Done) {
            State::Inside(lines) => Some(lines.space.clone()),
            _ => None,
        };
        self.problem(space, TransferError::Truncated { line });
    }

    fn problem(&mut self, space: Option<SpaceId>, error: TransferError) {
        self.imported.problems.push(FileProblem { space, error });
    }
}

/// The parser's message without its line number, which is useless because every line is parsed separately.
fn reason(line: &[u8], error: &serde_json::Error) -> String {
    match json_error::is_json(line) {
        true => format!("{} (at byte {})", shown(&json_error::wording(error)), error.column()),
        false => format!("not JSON (at byte {})", error.column()),
    }
}
