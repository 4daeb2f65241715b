//! Removes old bytes from the server's files.

use std::time::Duration;

use redis::ServerErrorKind;

use super::RedisShared;
use super::connection::RedisCallError;
use crate::store::{Result, StoreError};

/// How often to ask the server whether it is done.
const LOOK: Duration = Duration::from_millis(50);

/// A file that the server rewrites on request.
struct File {
    command: &'static str,
    /// Field names in INFO: whether the file is being written, whether that is scheduled, the last result, and how
    /// often it was started.
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
    /// Makes the server rewrite its files from its current data. This does not reach replicas, backups, and RDB files
    /// from earlier settings.
    pub(super) async fn scrub(&self) -> Result<()> {
        let info = self.server_info(&["persistence"]).await?;
        if info.get::<u64>("aof_enabled") == Some(1) {
            self.write_anew(&AOF).await?;
        }
        // If the server never saves an RDB file, do not create one: the next start could load it.
        if self.server.get().is_none_or(|server| server.saves()) || info.get::<u64>(RDB.begun) > Some(0) {
            self.write_anew(&RDB).await?;
        }
        Ok(())
    }

    async fn write_anew(&self, file: &File) -> Result<()> {
        let begun = loop {
            let info = self.server_info(&["persistence"]).await?;
            let number = |name| info.get::<u64>(name).unwrap_or(0);
            // A rewrite that started earlier may contain old data, so wait for it. Redis writes only one of the files
            // at a time.
            let busy = [AOF.running, AOF.scheduled, RDB.running].into_iter().any(|name| number(name) > 0);
            if !busy {
                match self.bulk.ask(&redis::cmd(file.command)).await {
                    Ok(_) => break number(file.begun),
                    Err(RedisCallError::Refused(error)) if error.kind() == Some(ServerErrorKind::NoPerm) => {
                        return Err(StoreError::Unavailable(format!(
                            "this Redis user may not use {0}: removed data stays in the server's files until someone \
                             runs {0} there",
                            file.command
                        )));
                    }
                    // Another client started one in between.
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
                    "{} failed on the server: removed data may still be in its files",
                    file.command
                )));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Whether Redis refused because it is already writing a file; it has several messages for that.
fn is_busy(details: &str) -> bool {
    details.contains("in progress") || details.contains("child process")
}
