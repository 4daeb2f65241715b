//! Selects and opens a store by its URL.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::server_url::without_password;
use super::{FileStore, MemoryStore, Ownership, ServerUrl, Store, StoreError};
use crate::{Creation, Options};

/// The URL of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`: nothing on disk.
    Memory,
    /// `file:PATH`: a folder that a person can read, for one process at a time.
    File(PathBuf),
    /// `sqlite:PATH`: one file, shared by many processes on one machine.
    Sqlite(PathBuf),
    /// `redis://…` or `rediss://…`: a Redis server, shared by many machines.
    Redis(ServerUrl),
    /// `postgres://…` or `postgresql://…`: a schema of a database, shared by many machines.
    Postgres(ServerUrl),
}

const KINDS: &str = "expected memory:, file:PATH, sqlite:PATH, redis://… or postgres://…";

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self, StoreError> {
        let error = |reason: &str| StoreError::Url { url: without_password(url), reason: reason.into() };
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(error(KINDS));
        };
        match (scheme, rest) {
            ("memory", "") => Ok(Self::Memory),
            ("memory", _) => Err(error("memory: takes no path")),
            ("file" | "sqlite", "") => Err(error("the path is missing")),
            ("file", path) => Ok(Self::File(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))),
            ("sqlite", ":memory:") => Err(error("for a store without a file, use memory:")),
            ("sqlite", path) => Ok(Self::Sqlite(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))),
            ("redis" | "rediss", rest) if rest.starts_with("//") => Ok(Self::Redis(ServerUrl::new(url))),
            ("postgres" | "postgresql", rest) if rest.starts_with("//") => Ok(Self::Postgres(ServerUrl::new(url))),
            _ => Err(error(KINDS)),
        }
    }
}

impl StoreUrl {
    /// The file or folder of the store, if it has one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory | Self::Redis(_) | Self::Postgres(_) => None,
            Self::File(path) | Self::Sqlite(path) => Some(path),
        }
    }

    /// Fails if the store is missing and must not be created.
    fn check(&self, creation: Creation) -> Result<(), StoreError> {
        let Some(path) = self.path().filter(|_| creation != Creation::WithFolders && !self.exists()) else {
            return Ok(());
        };
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if creation == Creation::Nothing {
            return Err(StoreError::Missing { path });
        }
        match path.parent().filter(|folder| !folder.exists()) {
            Some(folder) => Err(StoreError::NoFolder { folder: folder.to_owned() }),
            None => Ok(()),
        }
    }

    /// Whether there is a store to open. An empty folder is not a store yet.
    fn exists(&self) -> bool {
        match self {
            Self::File(path) => match std::fs::read_dir(path) {
                Ok(mut inside) => inside.next().is_some(),
                // Opening the store reports any other error.
                Err(error) => error.kind() != std::io::ErrorKind::NotFound,
            },
            Self::Sqlite(path) => path.try_exists().unwrap_or(true),
            Self::Memory | Self::Redis(_) | Self::Postgres(_) => true,
        }
    }
}

/// Opens a store by its URL, as [`Corkboard::open_with`](crate::Corkboard::open_with) does, for programs that work on
/// raw logs.
pub async fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>, StoreError> {
    // Acknowledging before writing is safe only if no other process writes.
    let ownership = if options.save.is_on_change() { Ownership::Shared } else { Ownership::Sole };
    let store = StoreUrl::from_str(url)?;
    store.check(options.creation)?;
    match store {
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new())),
        StoreUrl::File(path) => Ok(Arc::new(FileStore::open(path, Ownership::Sole).await?)),
        #[cfg(feature = "sqlite")]
        StoreUrl::Sqlite(path) => {
            let store = super::SqliteStore::open(path, ownership, options.busy_timeout).await?;
            Ok(Arc::new(store))
        }
        #[cfg(not(feature = "sqlite"))]
        StoreUrl::Sqlite(_) => Err(without_feature(url, "sqlite")),
        StoreUrl::Redis(url) | StoreUrl::Postgres(url) if ownership == Ownership::Sole => {
            let reason = "save_interval needs a store that only one process uses, and this store is shared".into();
            Err(StoreError::Url { url: url.to_string(), reason })
        }
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => Ok(Arc::new(super::RedisStore::open(&url, options.busy_timeout).await?)),
        #[cfg(not(feature = "redis"))]
        StoreUrl::Redis(url) => Err(without_feature(&url.to_string(), "redis")),
        #[cfg(feature = "postgres")]
        StoreUrl::Postgres(url) => Ok(Arc::new(super::PostgresStore::open(&url, options.busy_timeout).await?)),
        #[cfg(not(feature = "postgres"))]
        StoreUrl::Postgres(url) => Err(without_feature(&url.to_string(), "postgres")),
    }
}

#[cfg(not(all(feature = "sqlite", feature = "redis", feature = "postgres")))]
fn without_feature(url: &str, feature: &str) -> StoreError {
    StoreError::Url { url: url.into(), reason: format!("built without the feature {feature}") }
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
        let url = "postgresql://ada:secret@host/db?schema=x";
        assert_eq!(url.parse(), Ok(StoreUrl::Postgres(ServerUrl::new(url))));
        let url = "rediss://ada:secret@host/1";
        assert_eq!(url.parse(), Ok(StoreUrl::Redis(ServerUrl::new(url))));
        for wrong in [
            "",
            "corkboard.db",
            "file:",
            "sqlite:",
            "sqlite::memory:",
            "memory:x",
            "mysql://x",
            "postgres:x",
            "redis:x",
        ] {
            assert!(matches!(wrong.parse::<StoreUrl>(), Err(StoreError::Url { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_password_is_in_no_message() {
        for url in ["postgres://ada:secret@host/db", "redis://:secret@host", "rediss://ada:se@cret@host/1"] {
            assert!(!format!("{:?}", url.parse::<StoreUrl>()).contains("cret"), "{url}");
        }
        for wrong in ["postgrse://ada:secret@host/db", "redi://ada:secret@host"] {
            let error = wrong.parse::<StoreUrl>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }
}
