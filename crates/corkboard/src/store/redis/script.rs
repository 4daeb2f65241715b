//! What the server does in one step: scripts, sent by their hash, and whole where the server does not know them.

use std::sync::LazyLock;

use redis::{Cmd, ServerErrorKind, Value};

use super::connection::{Connection, RedisCallError};

/// A script and the name that the server knows it by.
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

    /// The call by hash. The server answers NOSCRIPT, and does nothing, if it was restarted or told to forget scripts.
    pub(super) fn by_hash(&self) -> Cmd {
        let mut cmd = redis::cmd("EVALSHA");
        cmd.arg(&self.hash);
        cmd
    }

    /// The call that teaches the server the script.
    pub(super) fn whole(&self) -> Cmd {
        let mut cmd = redis::cmd("EVAL");
        cmd.arg(self.source);
        cmd
    }

    /// Runs it. `arguments` adds the number of keys, the keys and the rest to the call.
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

    /// Runs a script that only reads: if the connection is lost, once more.
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
