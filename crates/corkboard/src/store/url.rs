//! A URL chooses the store, here and nowhere else.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use super::{FileStore, MemoryStore, Ownership, Store, StoreError};
use crate::Options;

/// A store's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`: nothing on disk.
    Memory,
    /// `file:PATH`: a folder that a person can read, for one process at a time.
    File(PathBuf),
    /// `sqlite:PATH`: one file, shared by many processes on one machine.
    Sqlite(PathBuf),
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self, StoreError> {
        let error = |reason: &str| StoreError::Url { url: url.into(), reason: reason.into() };
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(error("a store is memory:, file:PATH or sqlite:PATH"));
        };
        match (scheme, rest) {
            ("memory", "") => Ok(Self::Memory),
            ("memory", _) => Err(error("memory: takes no path")),
            ("file", "") => Err(error("file: needs the path of a folder")),
            ("file", path) => Ok(Self::File(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))),
            ("sqlite", "" | ":memory:") => Err(error("sqlite: needs a path; without a file use memory:")),
            ("sqlite", path) => Ok(Self::Sqlite(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))),
            _ => Err(error("a store is memory:, file:PATH or sqlite:PATH")),
        }
    }
}

pub(crate) async fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>, StoreError> {
    // Acknowledging before writing is safe only where nobody else writes.
    let ownership = if options.save.is_on_change() { Ownership::Shared } else { Ownership::Sole };
    match StoreUrl::from_str(url)? {
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new())),
        StoreUrl::File(path) => Ok(Arc::new(FileStore::open(path, Ownership::Sole).await?)),
        #[cfg(feature = "sqlite")]
        StoreUrl::Sqlite(path) => {
            let store = super::SqliteStore::open(path, ownership, options.busy_timeout).await?;
            Ok(Arc::new(store))
        }
        #[cfg(not(feature = "sqlite"))]
        StoreUrl::Sqlite(_) => {
            let _ = ownership;
            Err(StoreError::Url { url: url.into(), reason: "built without the feature sqlite".into() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        assert_eq!("memory:".parse(), Ok(StoreUrl::Memory));
        assert_eq!("sqlite:a b/c.db".parse(), Ok(StoreUrl::Sqlite("a b/c.db".into())));
        assert_eq!("sqlite:///tmp/c.db".parse(), Ok(StoreUrl::Sqlite("/tmp/c.db".into())));
        assert_eq!("file:a b/c".parse(), Ok(StoreUrl::File("a b/c".into())));
        assert_eq!("file:///tmp/c".parse(), Ok(StoreUrl::File("/tmp/c".into())));
        for wrong in ["", "corkboard.db", "file:", "sqlite:", "sqlite::memory:", "memory:x", "mysql://x"] {
            assert!(matches!(wrong.parse::<StoreUrl>(), Err(StoreError::Url { .. })), "{wrong}");
        }
    }
}
