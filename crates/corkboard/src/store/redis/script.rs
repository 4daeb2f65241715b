//! Scripts that the server runs atomically. They are called by hash, and sent in full if the server does not know them.

use std::sync::LazyLock;

use redis::{Cmd, ServerErrorKind, Value};

use super::connection::{Connection, RedisCallError};

/// A script, and the hash by which the server knows it.
pub(super) struct Script {
    source: &'static str,
    hash: String,
}

macro_rules! scripts {
    ($($name:ident = $file:literal;)*) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!(concat!("lua/", $file))));)*
    };
}

scripts! {
    APPEND = "append.lua";
    CHECK = "check.lua";
    DELETE = "delete.lua";
    HINT = "hint.lua";
    IMPORT = "import.lua";
    LOAD = "load.lua";
    OPEN = "open.lua";
    READ = "read.lua";
    REWRITE = "rewrite.lua";
    SNAPSHOT = "snapshot.lua";
    TRIM = "trim.lua";
}

impl Script {
    fn new(source: &'static str) -> Self {
        Self { source, hash: redis::Script::new(source).get_hash().into() }
    }

    /// The call by hash. If the server was restarted or its scripts were flushed, it answers NOSCRIPT and does nothing.
    pub(super) fn by_hash(&self) -> Cmd {
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(&self.hash);
        cmd
    }

    /// The call with the script's source, which the server then remembers.
    pub(super) fn whole(&self) -> Cmd {
        let mut cmd = redis::cmd("EVAL");
        cmd.arg(self.source);
        cmd
    }

    /// Runs the script. `arguments` adds the number of keys, the keys and the other arguments.
    pub(super) async fn run(
        &self,
        connection: &Connection,
        arguments: impl Fn(&mut Cmd),
    ) -> Result<Value, RedisCallError> {
        let mut call = self.by_hash();
        arguments(&mut call);
        match connection.ask(&call).await {
            Err(RedisCallError::Refused(error)) if error.kind() == Some(ServerErrorKind::NoScript) => {
                let mut call = self.whole();
                arguments(&mut call);
                connection.ask(&call).await
            }
            answered => answered,
        }
    }

    /// Runs a read-only script, and repeats it once if the connection is lost.
    pub(super) async fn run_again(
        &self,
        connection: &Connection,
        arguments: impl Fn(&mut Cmd),
    ) -> Result<Value, RedisCallError> {
        match self.run(connection, &arguments).await {
            Err(RedisCallError::Cut(_)) => self.run(connection, &arguments).await,
            answered => answered,
        }
    }
}
