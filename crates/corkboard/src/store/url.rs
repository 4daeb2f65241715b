//! A URL chooses the store, here and nowhere else.

use std::fmt;
use std::path::PathBuf;
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
    /// `redis://…` or `rediss://…`: a Redis server, shared by many servers.
    Redis(ServerUrl),
}

/// The URL of a server. It may hold a password, so it is shown without.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&without_password(&self.0), f)
    }
}

/// What is wrong with a URL that names no store.
const STORES: &str = "a store is memory:, sqlite:PATH, redis://HOST or rediss://HOST";

/// A URL as it may be shown: between the user and the last @ there may be a password.
pub(crate) fn without_password(url: &str) -> String {
    let shown = || {
        let (scheme, rest) = url.split_once("://")?;
        let (login, place) = rest.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}:***@{place}"))
    };
    shown().unwrap_or_else(|| url.into())
}

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
            ("redis" | "rediss", _) => Ok(Self::Redis(ServerUrl(url.into()))),
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
        StoreUrl::Redis(server) if ownership == Ownership::Sole => {
            let reason = "save_interval needs a store that one process owns, and Redis is for many".into();
            Err(StoreError::Url { url: without_password(&server.0), reason })
        }
        #[cfg(feature = "redis")]
        StoreUrl::Redis(server) => Ok(Arc::new(super::RedisStore::open(&server.0, options.busy_timeout).await?)),
        #[cfg(not(feature = "redis"))]
        StoreUrl::Redis(server) => {
            let reason = "built without the feature redis".into();
            Err(StoreError::Url { url: without_password(&server.0), reason })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("redis://ada:geheim@host/1", "redis://ada:***@host/1"),
            ("redis://:ge/he@im@host", "redis://:***@host"),
            ("redi://ada:geheim@host", "redi://ada:***@host"),
            ("redis://ada@host", "redis://ada@host"),
            ("sqlite:///tmp/a@b", "sqlite:///tmp/a@b"),
        ] {
            assert_eq!(without_password(url), shown);
        }
        let url: StoreUrl = "redis://ada:geheim@host/1".parse().unwrap();
        assert_eq!(format!("{url:?}"), "Redis(\"redis://ada:***@host/1\")");
        let error = "redi://ada:geheim@host".parse::<StoreUrl>().unwrap_err();
        assert!(!error.to_string().contains("geheim") && !format!("{error:?}").contains("geheim"));
    }

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
