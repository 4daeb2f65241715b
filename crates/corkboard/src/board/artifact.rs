//! Artifacts: what is recorded of a thing that was made, and what can be known of its bytes.

use std::io::Read;
use std::path::{Path, PathBuf};

use corkboard_core::board::{ArtifactId, BoardCommand, BoardReply, NewArtifact};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::claim::Future;
use super::{Board, unexpected};
use crate::{Error, Result};

/// Files larger than this are recorded with their size alone.
const MOST_READ: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// Records an artifact. Made by [`Board::record_artifact`]; answers its id, and the how-manieth with its path it is.
#[must_use = "nothing is recorded until this is awaited"]
#[derive(Debug, Clone)]
pub struct RecordArtifact {
    board: Board,
    artifact: NewArtifact,
    folder: Option<PathBuf>,
}

impl Board {
    /// Records an artifact. The same path again is the next version. Await it.
    ///
    /// Size and SHA-256 of a text that is kept on the board are worked out; those of a file only if it is said by
    /// [`RecordArtifact::in_folder`] where to look for it. If one that was given differs from what is found, nothing is
    /// recorded ([`Error::ArtifactDiffers`]).
    pub fn record_artifact(&self, artifact: NewArtifact) -> RecordArtifact {
        RecordArtifact { board: self.clone(), artifact, folder: None }
    }
}

impl RecordArtifact {
    /// Looks for the file below this folder. One that is not there, or that lies outside of it, is recorded without what
    /// its bytes would tell.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }
}

impl IntoFuture for RecordArtifact {
    type Output = Result<(ArtifactId, u64)>;
    type IntoFuture = Future<'static, (ArtifactId, u64)>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { board, mut artifact, folder } = self;
            if let Some(content) = &artifact.content {
                let known = Known::of_text(content);
                known.fill_in(&mut artifact)?;
            }
            if let Some(folder) = folder {
                let path = artifact.path.clone();
                let known = tokio::task::spawn_blocking(move || Known::of_file(&folder, &path)).await;
                let known = known.unwrap_or_else(|error| Err(std::io::Error::other(error)));
                let found = known.map_err(|error| Error::ArtifactUnreadable {
                    path: artifact.path.clone(),
                    message: error.to_string(),
                })?;
                found.map_or(Ok(()), |known| known.fill_in(&mut artifact))?;
            }
            artifact.checksum = artifact.checksum.map(|checksum| checksum.to_ascii_lowercase());
            match board.ask(BoardCommand::RecordArtifact(artifact)).await?.reply {
                BoardReply::Artifact { id, version } => Ok((id, version)),
                other => Err(unexpected(other)),
            }
        })
    }
}

/// What the bytes tell.
struct Known {
    /// None if there are too many of them.
    checksum: Option<String>,
    size: u64,
}

impl Known {
    fn of_text(text: &str) -> Self {
        Self { checksum: Some(HEXLOWER.encode(&Sha256::digest(text))), size: text.len() as u64 }
    }

    /// Reads a file below a folder, if it is there.
    fn of_file(folder: &Path, path: &str) -> std::io::Result<Option<Self>> {
        let resolved = folder.canonicalize().and_then(|folder| Ok((folder.join(path).canonicalize()?, folder)));
        let (file, folder) = match resolved {
            Ok(resolved) => resolved,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        // Links that lead out of the folder are resolved by now. What is no file (a pipe, a device) has no end.
        if !file.starts_with(&folder) || !file.metadata()?.is_file() {
            return Ok(None);
        }
        let file = std::fs::File::open(&file)?;
        let size = file.metadata()?.len();
        if size > MOST_READ {
            return Ok(Some(Self { checksum: None, size }));
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
        Ok(Some(Self { checksum: Some(HEXLOWER.encode(&hash.finalize())), size }))
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
