//! A URL chooses the store, here and nowhere else.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use super::server_url::without_password;
use super::{MemoryStore, Ownership, ServerUrl, Store, StoreError};
use crate::Options;

/// A store's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`: nothing on disk.
    Memory,
    /// `sqlite:PATH`: one file, shared by many processes on one machine.
    Sqlite(PathBuf),
    /// `redis://…` or `rediss://…`: a Redis server, shared by many servers.
    Redis(ServerUrl),
}

/// What is wrong with a URL that names no store.
const STORES: &str = "a store is memory:, sqlite:PATH, redis://HOST or rediss://HOST";

impl FromStr for StoreUrl {
    type Err = StoreError;

    fn from_str(url: &str) -> Result<Self, StoreError> {
        let error = |reason: &str| StoreError::Url { url: without_password(url), reason: reason.into() };
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(error(STORES));
        };
        match (scheme, rest) {
            ("memory", "") => Ok(Self::Memory),
            ("memory", _) => Err(error("memory: takes no path")),
            ("sqlite", "" | ":memory:") => Err(error("sqlite: needs a path; without a file use memory:")),
            ("sqlite", path) => Ok(Self::Sqlite(PathBuf::from(path.strip_prefix("//").unwrap_or(path)))),
            ("redis" | "rediss", _) => Ok(Self::Redis(ServerUrl::new(url))),
            _ => Err(error(STORES)),
        }
    }
}

pub(crate) async fn open(url: &str, options: &Options) -> Result<Arc<dyn Store>, StoreError> {
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
        StoreUrl::Redis(url) if ownership == Ownership::Sole => Err(StoreError::Url {
            url: url.to_string(),
            reason: "Redis is shared, and save_interval is for a store of one process alone".into(),
        }),
        #[cfg(feature = "redis")]
        StoreUrl::Redis(url) => Ok(Arc::new(super::RedisStore::open(&url, options.busy_timeout).await?)),
        #[cfg(not(feature = "redis"))]
        StoreUrl::Redis(url) => {
            Err(StoreError::Url { url: url.to_string(), reason: "built without the feature redis".into() })
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
        let url = "rediss://ada:secret@host/1?prefix=x";
        assert_eq!(url.parse(), Ok(StoreUrl::Redis(ServerUrl::new(url))));
        assert!(!format!("{:?}", url.parse::<StoreUrl>()).contains("secret"));
        assert!(!"redi://ada:secret@host".parse::<StoreUrl>().unwrap_err().to_string().contains("secret"));
        for wrong in ["", "corkboard.db", "sqlite:", "sqlite::memory:", "memory:x", "mysql://x"] {
            assert!(matches!(wrong.parse::<StoreUrl>(), Err(StoreError::Url { .. })), "{wrong}");
        }
    }
}
