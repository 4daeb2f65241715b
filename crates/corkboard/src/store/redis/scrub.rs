//! Getting old bytes out of the server's files.

use std::time::Duration;

use redis::ServerErrorKind;

use super::RedisShared;
use super::connection::RedisCallError;
use crate::store::{Result, StoreError};

/// How often the server is asked whether it is done.
const LOOK: Duration = Duration::from_millis(50);

/// A file that the server writes anew on demand.
struct File {
    command: &'static str,
    /// Names in INFO: whether it is being written, whether it will be, how the last time ended, how often it was begun.
    running: &'static str,
    scheduled: &'static str,
    status: &'static str,
    begun: &'static str,
}

const AOF: File = File {
    command: "BGREWRITEAOF",
    running: "aof_rewrite_in_progress",
    scheduled: "aof_rewrite_scheduled",
    status: "aof_last_bgrewrite_status",
    begun: "aof_rewrites",
};
const RDB: File = File {
    command: "BGSAVE",
    running: "rdb_bgsave_in_progress",
    scheduled: "rdb_bgsave_scheduled",
    status: "rdb_last_bgsave_status",
    begun: "rdb_saves",
};

impl RedisShared {
    /// Has the server write its files anew from what it holds now. What replicas, backups and an RDB file of former settings
    /// hold is beyond reach.
    pub(super) async fn scrub(&self) -> Result<()> {
        let info = self.server_info(&["persistence"]).await?;
        if info.get::<u64>("aof_enabled") == Some(1) {
            self.write_anew(&AOF).await?;
        }
        // Where none is ever written, one would come to life at the next start.
        if self.server.get().is_none_or(|server| server.saves()) || info.get::<u64>(RDB.begun) > Some(0) {
            self.write_anew(&RDB).await?;
        }
        Ok(())
    }

    async fn write_anew(&self, file: &File) -> Result<()> {
        let begun = loop {
            let info = self.server_info(&["persistence"]).await?;
            let number = |name| info.get::<u64>(name).unwrap_or(0);
            // What began earlier may have seen what is to be gone. Only one of the two is written at a time.
            let busy = [AOF.running, AOF.scheduled, RDB.running].into_iter().any(|name| number(name) > 0);
            if !busy {
                match self.bulk.ask(&redis::cmd(file.command)).await {
                    Ok(_) => break number(file.begun),
                    Err(RedisCallError::Refused(error)) if error.kind() == Some(ServerErrorKind::NoPerm) => {
                        return Err(StoreError::Unavailable(format!(
                            "this Redis user may not use {0}: what was removed stays in the server's files until someone \
                             runs {0} there",
                            file.command
                        )));
                    }
                    // Someone else began in between.
                    Err(RedisCallError::Refused(error)) if error.details().is_some_and(is_busy) => {}
                    Err(failure) => return Err(failure.of_reading()),
                }
            }
            tokio::time::sleep(LOOK).await;
        };
        loop {
            let info = self.server_info(&["persistence"]).await?;
            let number = |name| info.get::<u64>(name).unwrap_or(0);
            if number(file.begun) != begun && number(file.running) == 0 && number(file.scheduled) == 0 {
                let status = info.get::<String>(file.status).unwrap_or_default();
                if status == "ok" {
                    return Ok(());
                }
                return Err(StoreError::Unavailable(format!(
                    "{} failed on the server: what was removed may still be in its files",
                    file.command
                )));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Redis writes one file at a time, and says so in several ways.
fn is_busy(details: &str) -> bool {
    details.contains("in progress") || details.contains("child process")
}
