//! Checks whether the server is suitable for logs, and what it may lose.

use redis::{InfoDict, ServerError, ServerErrorKind, Value};

use super::RedisShared;
use super::answer::{bytes, senseless, text};
use super::connection::RedisCallError;
use super::script::OPEN;
use crate::store::{Result, StoreError};

const FORMAT: u32 = 1;
/// Scripts with flags need this version.
const OLDEST: u32 = 7;

/// The relevant settings of the server.
#[derive(Debug, Clone, Default)]
pub(super) struct Server {
    pub(super) version: String,
    pub(super) policy: String,
    aof: bool,
    /// `appendfsync`, `save` and `no-appendfsync-on-rewrite`, if this user may read them.
    config: Option<Config>,
}

#[derive(Debug, Clone, Default)]
struct Config {
    fsync: String,
    save: String,
    pauses: bool,
}

impl Server {
    /// Describes the server's persistence.
    pub(super) fn persistence(&self) -> String {
        let save = match self.config.as_ref().map(|config| &*config.save) {
            Some("") => "no RDB saves".into(),
            Some(save) => format!("RDB saves ({save})"),
            None => "RDB saves unknown".into(),
        };
        match (self.aof, &self.config) {
            (true, Some(config)) => format!("append-only file, appendfsync {}; {save}", config.fsync),
            (true, None) => format!("append-only file, appendfsync unknown; {save}"),
            (false, _) => format!("no append-only file; {save}"),
        }
    }

    /// Warnings about what a crash may lose, one sentence each.
    pub(super) fn warnings(&self) -> Vec<String> {
        let config = self.config.as_ref();
        let lost = match (self.aof, config.map(|config| &*config.fsync)) {
            (false, _) => match config.map(|config| &*config.save) {
                Some("") => "everything: it has no append-only file and saves nothing (set `appendonly yes`)",
                Some(_) => "everything since its last RDB save: it has no append-only file (set `appendonly yes`)",
                None => {
                    "everything since its last RDB save, if it saves at all: it has no append-only file, and this user \
                     may not read `save`"
                }
            },
            (true, Some("always")) if config.is_some_and(|config| config.pauses) => {
                "what was written while it rewrites a file: `no-appendfsync-on-rewrite` is on"
            }
            (true, Some("always")) => return Vec::new(),
            (true, Some("everysec")) => "about the last second: `appendfsync` is everysec (always loses nothing)",
            (true, Some(_)) => {
                "what the operating system had not written yet: `appendfsync` is no (always loses nothing)"
            }
            (true, None) => "acknowledged writes, unless `appendfsync` is always: this user may not read it",
        };
        vec![format!("a crash of this Redis may lose {lost}")]
    }

    pub(super) fn saves(&self) -> bool {
        self.config.as_ref().is_none_or(|config| !config.save.is_empty())
    }
}

impl RedisShared {
    /// Checks a server before it is used.
    pub(super) async fn inspect(&self) -> Result<Server> {
        let info = self.server_info(&["server", "memory", "persistence"]).await?;
        let said = |name: &str| info.get::<String>(name).unwrap_or_default();
        let (version, policy) = (said("redis_version"), said("maxmemory_policy"));
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        if major.is_some_and(|major| major < OLDEST) {
            return Err(self.unfit(format!("this is Redis {version}; Corkboard needs {OLDEST}.0 or newer")));
        }
        if said("redis_mode") == "cluster" {
            return Err(self.unfit("this is a Redis Cluster node; Corkboard does not support Redis Cluster yet".into()));
        }
        if policy != "noeviction" {
            return Err(self.unfit(format!(
                "its maxmemory-policy is {policy}, so it would evict memories when it runs full; \
                 run CONFIG SET maxmemory-policy noeviction, and add it to its configuration"
            )));
        }
        let mut query = redis::cmd("CONFIG");
        query.arg("GET").arg(&["appendfsync", "save", "no-appendfsync-on-rewrite"]);
        let config = match self.first().ask_again(&query).await {
            Ok(answer) => Some(config(answer)),
            Err(RedisCallError::Refused(_)) => None,
            Err(failure) => return Err(failure.of_reading()),
        };
        self.try_out().await?;
        Ok(Server { version, policy, aof: said("aof_enabled") == "1", config })
    }

    pub(super) async fn server_info(&self, sections: &[&str]) -> Result<InfoDict> {
        let mut query = redis::cmd("INFO");
        query.arg(sections);
        match self.first().ask_again(&query).await {
            Ok(info) => Ok(InfoDict::new(&text(info))),
            Err(RedisCallError::Refused(error)) if is_denied(&error) => Err(self
                .unfit("this user may not use INFO, which Corkboard needs to check whether Redis evicts keys".into())),
            Err(failure) => Err(failure.of_reading()),
        }
    }

    /// Checks the store's format, and that the user may run all commands of the scripts.
    async fn try_out(&self) -> Result<()> {
        let [one, other] = self.keys.trial();
        let tried = OPEN.run_again(self.first(), |call| {
            call.arg(3).arg(self.keys.meta()).arg(&one).arg(&other).arg(FORMAT).arg(&one);
        });
        let answer = match tried.await {
            Ok(Value::Array(answer)) => answer,
            Ok(_) => return Err(senseless("answer")),
            // The store may still be readable: the server may be full, a replica, or have a full disk.
            Err(RedisCallError::Refused(error)) if matches!(error.code(), "OOM" | "READONLY" | "MISCONF") => {
                let mut query = redis::cmd("HGET");
                query.arg(self.keys.meta()).arg("format");
                vec![self.first().ask_again(&query).await.map_err(RedisCallError::of_reading)?]
            }
            Err(RedisCallError::Refused(error)) if is_denied(&error) => {
                return Err(self.unfit(format!("this user may not run scripts or use these keys: {error}")));
            }
            Err(failure) => return Err(failure.of_reading()),
        };
        let mut answer = answer.into_iter();
        let found = text(answer.next().unwrap_or_default()).parse().unwrap_or(FORMAT);
        if found > FORMAT {
            return Err(StoreError::NewerFormat { found, known: FORMAT });
        }
        let mut refused: Vec<String> = answer.map(text).collect();
        refused.dedup();
        if refused.is_empty() {
            return Ok(());
        }
        Err(self.unfit(format!("this user may not use {}", refused.join(", "))))
    }

    /// The error for an unsuitable server.
    fn unfit(&self, reason: String) -> StoreError {
        StoreError::Url { url: self.address.location.clone(), reason }
    }
}

fn is_denied(error: &ServerError) -> bool {
    error.kind() == Some(ServerErrorKind::NoPerm)
}

fn config(answer: Value) -> Config {
    let mut config = Config::default();
    let pairs: Vec<(Value, Value)> = match answer {
        Value::Map(pairs) => pairs,
        _ => Vec::new(),
    };
    for (name, value) in pairs {
        match &*bytes(name) {
            b"appendfsync" => config.fsync = text(value),
            b"save" => config.save = text(value),
            b"no-appendfsync-on-rewrite" => config.pauses = text(value) == "yes",
            _ => {}
        }
    }
    config
}
