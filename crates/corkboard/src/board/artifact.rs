//! Artifacts: what is recorded of a thing that was made, and what can be known of its bytes.

use std::io::Read;
use std::path::{Path, PathBuf};

use corkboard_core::board::{ArtifactId, BoardCommand, BoardReply, NewArtifact, normal_path};
use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::claim_task::Future;
use super::{Board, unexpected};
use crate::{Error, Result};

/// Files larger than this are recorded with their size alone.
const MOST_READ: u64 = 4 * 1024 * 1024 * 1024;
const CHUNK: usize = 64 * 1024;

/// Records an artifact. Made by [`Board::record_artifact`]; answers its id, and the how-manieth with its path it is.
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
    /// Its id.
    pub id: ArtifactId,
    /// Version number at its path, starting at 1.
    pub version: u64,
    /// The SHA-256 of its bytes, if known.
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
    /// The file lies outside of the working folder.
    OutsideFolder,
    /// There is no file at the path.
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
            Self::OutsideFolder => "the file is outside of the working folder",
            Self::NotFound => "there is no such file",
            Self::NotAFile => "it is not a file",
            Self::TooLarge => "the file is too large",
            Self::Url => "URLs are not read",
            Self::NotRead => "no file was read",
        })
    }
}

impl Board {
    /// Records an artifact. The same path again is the next version; `./a` and `x/../a` are the path `a`. Await it.
    ///
    /// Size and SHA-256 of a text that is kept on the board are worked out; those of a file only if it is said by
    /// [`RecordArtifact::in_folder`] where to look for it. If one that was given differs from what is found, nothing is
    /// recorded ([`Error::ArtifactDiffers`]).
    pub fn record_artifact(&self, artifact: NewArtifact) -> RecordArtifact {
        RecordArtifact { board: self.clone(), artifact, folder: None }
    }
}

impl RecordArtifact {
    /// Looks for the file below this folder. An absolute path of a file in it becomes the path in the folder. A file that is
    /// not there, or that lies outside of the folder, is recorded without size and checksum.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Records it, and says whether it has a checksum.
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

/// The path in the folder of what lies below it, whether the given path is absolute or leads out of the folder and back.
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
        // After a link to a folder, `..` leads elsewhere than the text says.
        Ok(real) if folder_here.join(&path).canonicalize().ok().as_ref() != Some(&real) => {
            below(&real, &folder.canonicalize().ok()?).or_else(|| real.to_str().map(ToOwned::to_owned))
        }
        _ => Some(path),
    }
}

fn is_url(path: &str) -> bool {
    path.contains("://")
}

/// What the bytes tell.
struct FileContent {
    /// None if there are too many of them.
    checksum: Option<String>,
    size: u64,
}

impl FileContent {
    fn of_text(text: &str) -> Self {
        Self { checksum: Some(HEXLOWER.encode(&Sha256::digest(text))), size: text.len() as u64 }
    }

    /// Reads a file below a folder, or says why it is not read.
    fn of_file(folder: &Path, path: &str) -> std::io::Result<Result<Self, NoChecksum>> {
        if is_url(path) {
            return Ok(Err(NoChecksum::Url));
        }
        // Whether there is a file outside of the folder is not told.
        if Path::new(path).is_absolute() || Path::new(path).starts_with("..") {
            return Ok(Err(NoChecksum::OutsideFolder));
        }
        let resolved = folder.canonicalize().and_then(|folder| Ok((folder.join(path).canonicalize()?, folder)));
        let (file, folder) = match resolved {
            Ok(resolved) => resolved,
            Err(error) if is_absence(&error) => return Ok(Err(NoChecksum::NotFound)),
            Err(error) => return Err(error),
        };
        // Links that lead out of the folder are resolved by now. What is no file (a pipe, a device) has no end.
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
        // It may grow while it is read.
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

    /// Fills in what is not given, and compares what is.
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

/// Whether there is nothing at the path, which is no error: an artifact may live elsewhere.
fn is_absence(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::*;
    // A path that no file can have (too long, with a zero byte) names something elsewhere too.
    matches!(error.kind(), NotFound | NotADirectory | InvalidInput | InvalidFilename)
}
