//! A URL chooses the store, here and nowhere else.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::{MemoryStore, Ownership, Store, StoreError};
use crate::Options;

/// A store's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`: nothing on disk.
    Memory,
    /// `sqlite:PATH`: one file, shared by many processes on one machine.
    Sqlite(PathBuf),
}

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self, StoreError> {
        let error = |reason: &str| StoreError::Url { url: url.into(), reason: reason.into() };
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(error("a store is memory: or sqlite:PATH"));
        };
        match (scheme, rest) {
            ("memory", "") => Ok(Self::Memory),
            ("memory", _) => Err(error("memory: takes no path")),
            ("sqlite", "" | ":memory:") => Err(error("sqlite: needs a path; without a file use memory:")),
            ("sqlite", path) => Ok(Self::Sqlite(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))),
            _ => Err(error("a store is memory: or sqlite:PATH")),
        }
    }
}

impl StoreUrl {
    /// The file or folder that the store lies in, if it is one that can be looked for.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::Sqlite(path) => Some(path),
        }
    }
}

/// Opens a store by its URL, as [`Corkboard::open_with`](crate::Corkboard::open_with) does, for those who work on logs and
/// not on what they mean.
pub async fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>, StoreError> {
    // Acknowledging before writing is safe only where nobody else writes.
    let ownership = if options.save.is_on_change() { Ownership::Shared } else { Ownership::Sole };
    match StoreUrl::from_str(url)? {
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new())),
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
        for wrong in ["", "corkboard.db", "sqlite:", "sqlite::memory:", "memory:x", "mysql://x"] {
            assert!(matches!(wrong.parse::<StoreUrl>(), Err(StoreError::Url { .. })), "{wrong}");
        }
    }
}
