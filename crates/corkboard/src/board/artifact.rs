//! Artifacts: what is recorded about a file or text, and the checksum of its bytes.

use std::io::Read;
use std::path::{Path, PathBuf};

use corkboard_core::board::{ArtifactId, BoardCommand, BoardReply, NewArtifact, normal_path};
use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::claim_task::Future;
use super::{Board, unexpected};
use crate::{Error, Result};

/// Files larger than this are recorded with their size only.
const MOST_READ: u64 = 4 * 1024 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;

/// Records an artifact. Created by [`Board::record_artifact`]; resolves to its ID and its version number at its path.
#[must_use = "nothing is recorded until this is awaited"]
#[derive(Debug, Clone)]
pub struct RecordArtifact {
    board: Board,
    artifact: NewArtifact,
    folder: Option<PathBuf>,
}

/// What was recorded of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordedArtifact {
    /// The artifact's ID.
    pub id: ArtifactId,
    /// Version number at its path, starting at 1.
    pub version: u64,
    /// The SHA-256 of the artifact's bytes, if known.
    pub checksum: Option<String>,
    /// Why there is no checksum.
    pub no_checksum: Option<NoChecksum>,
}

/// Why an artifact has no checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoChecksum {
    /// The file is outside the current folder.
    OutsideFolder,
    /// No file exists at the path.
    NotFound,
    /// The path is a folder, a pipe or a device.
    NotAFile,
    /// The file is too large to read.
    TooLarge,
    /// The path is a URL, which is not read.
    Url,
    /// No working folder was given, so no file was read.
    NotRead,
}

impl std::fmt::Display for NoChecksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OutsideFolder => "the file is outside the current folder",
            Self::NotFound => "the file does not exist",
            Self::NotAFile => "it is not a file",
            Self::TooLarge => "the file is too large",
            Self::Url => "URLs are not read",
            Self::NotRead => "no file was read",
        })
    }
}

impl Board {
    /// Records an artifact. Recording the same path again creates its next version; `./a` and `x/../a` are the path
    /// `a`. Await it.
    ///
    /// For text stored on the board, size and SHA-256 are computed. For a file they are computed only if
    /// [`RecordArtifact::in_folder`] says where it is. If a given size or checksum differs from the computed one,
    /// nothing is recorded ([`Error::ArtifactDiffers`]).
    pub fn record_artifact(&self, artifact: NewArtifact) -> RecordArtifact {
        RecordArtifact { board: self.clone(), artifact, folder: None }
    }
}

impl RecordArtifact {
    /// Looks for the file below this folder. An absolute path inside it becomes relative to it. A file that is missing
    /// or outside of the folder is recorded without size and checksum.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Records the artifact, and returns whether it has a checksum.
    pub async fn recorded(self) -> Result<RecordedArtifact> {
        let Self { board, mut artifact, folder } = self;
        if let Some(content) = &artifact.content {
            let known = FileContent::of_text(content);
            known.fill_in(&mut artifact)?;
        }
        let mut missing = NoChecksum::NotRead;
        // A blank path is refused below.
        if let Some(folder) = folder.filter(|_| !artifact.path.trim().is_empty()) {
            let path = artifact.path.clone();
            let read = tokio::task::spawn_blocking(move || {
                let path = path_in(&folder, &path).unwrap_or_else(|| normal_path(&path).into());
                (FileContent::of_file(&folder, &path), path)
            });
            let (known, path) =
                read.await.unwrap_or_else(|error| (Err(std::io::Error::other(error)), artifact.path.clone()));
            artifact.path = path;
            let unreadable = |error: std::io::Error| Error::ArtifactUnreadable {
                path: artifact.path.clone(),
                message: error.to_string(),
            };
            match known.map_err(unreadable)? {
                Ok(known) => {
                    missing = NoChecksum::TooLarge;
                    known.fill_in(&mut artifact)?;
                }
                Err(why) => missing = why,
            }
        }
        artifact.checksum = artifact.checksum.map(|checksum| checksum.to_ascii_lowercase());
        let checksum = artifact.checksum.clone();
        match board.ask(BoardCommand::RecordArtifact(artifact)).await?.reply {
            BoardReply::Artifact { id, version } => {
                let no_checksum = checksum.is_none().then_some(missing);
                Ok(RecordedArtifact { id, version, checksum, no_checksum })
            }
            other => Err(unexpected(other)),
        }
    }
}

impl IntoFuture for RecordArtifact {
    type Output = Result<(ArtifactId, u64)>;
    type IntoFuture = Future<'static, (ArtifactId, u64)>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let RecordedArtifact { id, version, .. } = self.recorded().await?;
            Ok((id, version))
        })
    }
}

/// The path relative to the folder of a file below it. The given path may be absolute, or lead out of the folder and
/// back.
fn path_in(folder: &Path, path: &str) -> Option<String> {
    if is_url(path) {
        return None;
    }
    let folder_here = std::path::absolute(folder).ok()?;
    let file = folder_here.join(path);
    let below = |file: &Path, folder: &Path| {
        let (file, folder) = (normal_path(file.to_str()?), normal_path(folder.to_str()?));
        Some(Path::new(&*file).strip_prefix(&*folder).ok()?.to_str()?.to_owned())
    };
    let through_links = || {
        let (folder, parent) = (folder.canonicalize().ok()?, file.parent()?.canonicalize().ok()?);
        below(&file, &folder).or_else(|| below(&parent.join(file.file_name()?), &folder))
    };
    let path = below(&file, &folder_here).or_else(through_links).filter(|path| !path.is_empty())?;
    match file.canonicalize() {
        // After a symbolic link to a folder, `..` leads elsewhere than the text says.
        Ok(real) if folder_here.join(&path).canonicalize().ok().as_ref() != Some(&real) => {
            below(&real, &folder.canonicalize().ok()?).or_else(|| real.to_str().map(ToOwned::to_owned))
        }
        _ => Some(path),
    }
}

fn is_url(path: &str) -> bool {
    path.contains("://")
}

/// What is known about an artifact's bytes.
struct FileContent {
    /// `None` if the file is too large.
    checksum: Option<String>,
    size: u64,
}

impl FileContent {
    fn of_text(text: &str) -> Self {
        Self { checksum: Some(HEXLOWER.encode(&Sha256::digest(text))), size: text.len() as u64 }
    }

    /// Reads a file below a folder, or returns why it is not read.
    fn of_file(folder: &Path, path: &str) -> std::io::Result<Result<Self, NoChecksum>> {
        if is_url(path) {
            return Ok(Err(NoChecksum::Url));
        }
        // Do not reveal whether a file exists outside of the folder.
        if Path::new(path).is_absolute() || Path::new(path).starts_with("..") {
            return Ok(Err(NoChecksum::OutsideFolder));
        }
        let resolved = folder.canonicalize().and_then(|folder| Ok((folder.join(path).canonicalize()?, folder)));
        let (file, folder) = match resolved {
            Ok(resolved) => resolved,
            Err(error) if is_absence(&error) => return Ok(Err(NoChecksum::NotFound)),
            Err(error) => return Err(error),
        };
        // Links out of the folder are resolved by now. Pipes and devices have no end, so do not read them.
        if !file.starts_with(&folder) {
            return Ok(Err(NoChecksum::OutsideFolder));
        }
        if !file.metadata()?.is_file() {
            return Ok(Err(NoChecksum::NotAFile));
        }
        let file = std::fs::File::open(&file)?;
        let size = file.metadata()?.len();
        if size > MOST_READ {
            return Ok(Ok(Self { checksum: None, size }));
        }
        let (mut hash, mut size, mut chunk) = (Sha256::new(), 0, vec![0; CHUNK]);
        // The file may grow while it is read.
        let mut file = file.take(MOST_READ);
        loop {
            let read = match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hash.update(chunk.get(..read).unwrap_or_default());
            size += read as u64;
        }
        Ok(Ok(Self { checksum: Some(HEXLOWER.encode(&hash.finalize())), size }))
    }

    /// Fills in missing values, and compares given ones.
    fn fill_in(self, artifact: &mut NewArtifact) -> Result<()> {
        let differs = |what, given: String, found: String| {
            let path = artifact.path.clone();
            Err(Error::ArtifactDiffers { path, what, given, found })
        };
        match artifact.size {
            Some(given) if given != self.size => return differs("size", given.to_string(), self.size.to_string()),
            _ => artifact.size = Some(self.size),
        }
        match (&artifact.checksum, self.checksum) {
            (Some(given), Some(found)) if !given.eq_ignore_ascii_case(&found) => {
                return differs("SHA-256", given.clone(), found);
            }
            (None, found) => artifact.checksum = found,
            (Some(_), _) => {}
        }
        Ok(())
    }
}

/// Whether the path does not exist. That is not an error: the artifact may be elsewhere.
fn is_absence(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::*;
    // An impossible path (too long, or with a zero byte) refers to something elsewhere too.
    matches!(error.kind(), NotFound | NotADirectory | InvalidInput | InvalidFilename)
}
