//! Writes. Every method runs one script on one space, after writing the hints it needs.

use corkboard_core::{CommitId, Head, SpaceId};
use redis::{Cmd, ServerErrorKind, Value};

use super::answer::{array, bytes, entry_id, head, senseless, text};
use super::connection::{Connection, RedisCallError};
use super::keys::{commit_bytes, due_hint};
use super::script::{APPEND, DELETE, IMPORT, REWRITE, SNAPSHOT, Script, TRIM};
use super::{KNOWN_DUES, RedisShared};
use crate::store::{Append, Appended, Import, Record, Result, Rewrite, Snapshot, StoreError, Trim};

/// Returned by the append script if a hint is missing. Nothing was written.
const HINT_NEEDED: i64 = 2;

/// Appends larger than this use the connection for bulk data.
const LARGE: usize = 64 * 1024;

impl RedisShared {
    pub(super) async fn append(&self, append: &Append) -> Result<Appended> {
        let first = append.expected.rev + 1;
        let follow = append.records.iter().map(|record| record.rev).eq(first..first + append.records.len() as u64);
        if append.records.is_empty() || !follow || append.summary.len() > Append::SUMMARY_BYTES {
            return Err(StoreError::Unavailable("the records do not follow the expected head".into()));
        }
        let due = append.next_due.map(|at| at.as_millisecond());
        // A new log and a changed due date need a hint. If this process cannot know, the script says so.
        let known = self.known_dues.lock().get(&append.space).copied();
        let hints = Hints { listed: append.expected == Head::EMPTY, due: due.is_some() && known != Some(due) };
        let mut answer = self.send_append(append, due, hints).await?;
        if matches!(answer, Value::Int(HINT_NEEDED)) {
            answer = self.send_append(append, due, Hints { listed: true, due: due.is_some() }).await?;
        }
        let stale = match answer {
            Value::Int(1) => None,
            Value::BulkString(stale) => String::from_utf8(stale).ok(),
            conflict => {
                self.known_dues.lock().remove(&append.space);
                return conflicting(conflict);
            }
        };
        self.remember_due(&append.space, due);
        self.notifier.notify(&append.space, append.new_head().rev);
        if let Some(stale) = stale {
            self.forget_due(&append.space, &stale).await;
        }
        Ok(Appended::Committed)
    }

    async fn send_append(&self, append: &Append, due: Option<i64>, hints: Hints) -> Result<Value> {
        let keys = self.keys.of(&append.space);
        let (expected, new) = (append.expected, append.new_head());
        let hint = if hints.due { due_hint(new) } else { String::new() };
        let arguments = |call: &mut Cmd| {
            call.arg(2).arg(&keys.head).arg(&keys.log);
            call.arg(expected.rev).arg(commit_bytes(&expected.commit)).arg(new.rev).arg(commit_bytes(&new.commit));
            call.arg(due.map(|at| at.to_string()).unwrap_or_default()).arg(&hint);
            call.arg(if hints.listed { "listed" } else { "" }).arg(&append.summary).arg(&keys.channel);
            entries(call, &append.records);
        };
        let mut before = Vec::new();
        if hints.listed {
            before.push(self.hint_listed(&append.space, expected.rev));
        }
        if let Some(at) = due.filter(|_| hints.due) {
            before.push(self.hint_due(&append.space, at, &hint));
        }
        let bytes: usize = append.records.iter().map(|record| record.body.len()).sum();
        self.hinted(&APPEND, self.connection_for(&append.space, bytes), before, arguments).await
    }

    /// Large bodies use another connection, so that small appends do not wait behind them.
    fn connection_for(&self, space: &SpaceId, bytes: usize) -> &Connection {
        if bytes > LARGE { &self.bulk } else { self.connection_of(space) }
    }

    /// Writes hints and runs a script in one round trip.
    async fn hinted(
        &self,
        script: &Script,
        connection: &Connection,
        hints: Vec<Cmd>,
        arguments: impl Fn(&mut Cmd),
    ) -> Result<Value> {
        if hints.is_empty() {
            return script.run(connection, arguments).await.map_err(RedisCallError::of_writing);
        }
        let mut call = script.by_hash();
        arguments(&mut call);
        let mut commands = redis::pipe();
        hints.iter().for_each(|hint| {
            commands.add_command(hint.clone());
        });
        commands.add_command(call);
        let mut answers = connection.ask_all(&commands).await.map_err(RedisCallError::of_writing)?;
        let answer = answers.pop().ok_or_else(|| senseless("answer"))?;
        let refused = answers.into_iter().find_map(|answer| answer.err());
        match (answer, refused) {
            // The server does not know the script, so nothing was written: run it now, unless the hints were refused.
            (Err(error), refused) if error.kind() == Some(ServerErrorKind::NoScript) => match refused {
                Some(refused) => Err(RedisCallError::Refused(refused).of_writing()),
                None => script.run(connection, arguments).await.map_err(RedisCallError::of_writing),
            },
            (Err(error), _) => Err(RedisCallError::Refused(error).of_writing()),
            (Ok(value), None) => Ok(value),
            // The server refused the hint and then accepted the append. The hint must be written.
            (Ok(value), Some(_)) => {
                let mut commands = redis::pipe();
                hints.into_iter().for_each(|hint| {
                    commands.add_command(hint);
                });
                if let Err(failure) = connection.ask_all_again(&commands).await {
                    let error = failure.of_reading();
                    tracing::error!(%error, "cannot write a hint; lists may miss a space until the store is checked");
                }
                Ok(value)
            }
        }
    }

    fn remember_due(&self, space: &SpaceId, due: Option<i64>) {
        let mut known = self.known_dues.lock();
        if let Some(known) = known.get_mut(space) {
            *known = due;
            return;
        }
        if known.len() >= KNOWN_DUES {
            known.clear();
        }
        known.insert(space.clone(), due);
    }

    pub(super) async fn delete(&self, space: &SpaceId, expected: Head, tombstone: CommitId) -> Result<Appended> {
        let keys = self.keys.of(space);
        let rev = expected.rev + 1;
        let answer = DELETE.run(self.connection_of(space), |call| {
            call.arg(3).arg(&keys.head).arg(&keys.log).arg(&keys.snapshot);
            call.arg(expected.rev).arg(commit_bytes(&expected.commit)).arg(rev).arg(commit_bytes(&tombstone));
            call.arg(&keys.channel);
        });
        let answer = answer.await.map_err(RedisCallError::of_writing)?;
        self.known_dues.lock().remove(space);
        let Value::Array(values) = answer else { return Err(senseless("answer")) };
        let Ok([_, born, hint]) = <[Value; 3]>::try_from(values.clone()) else {
            return conflicting(Value::Array(values));
        };
        self.notifier.notify(space, rev);
        self.unlist(space, &text(born)).await;
        let hint = text(hint);
        if !hint.is_empty() {
            self.forget_due(space, &hint).await;
        }
        Ok(Appended::Committed)
    }

    pub(super) async fn import(&self, import: &Import) -> Result<Appended> {
        let keys = self.keys.of(&import.space);
        let (head, born) = (import.head(), import.born);
        let due = import.next_due.map(|at| at.as_millisecond());
        let hint = due.map(|_| due_hint(head)).unwrap_or_default();
        let mut before = Vec::new();
        if head != born {
            before.push(self.hint_listed(&import.space, born.rev));
        }
        if let Some(at) = due {
            before.push(self.hint_due(&import.space, at, &hint));
        }
        let arguments = |call: &mut Cmd| {
            call.arg(3).arg(&keys.head).arg(&keys.log).arg(&keys.snapshot);
            call.arg(head.rev).arg(commit_bytes(&head.commit)).arg(born.rev).arg(commit_bytes(&born.commit));
            call.arg(due.map(|at| at.to_string()).unwrap_or_default())
                .arg(&hint)
                .arg(&import.summary)
                .arg(&keys.channel);
            snapshot(call, import.snapshot.as_ref());
            entries(call, &import.records);
        };
        let answer = self.hinted(&IMPORT, &self.bulk, before, arguments).await?;
        if !matches!(answer, Value::Int(1)) {
            return conflicting(answer);
        }
        self.notifier.notify(&import.space, head.rev);
        Ok(Appended::Committed)
    }

    pub(super) async fn rewrite(&self, rewrite: &Rewrite) -> Result<Appended> {
        let keys = self.keys.of(&rewrite.space);
        let answer = REWRITE.run(&self.bulk, |call| {
            call.arg(4).arg(&keys.head).arg(&keys.log).arg(&keys.snapshot).arg(&keys.rewritten);
            call.arg(rewrite.expected.rev).arg(commit_bytes(&rewrite.expected.commit));
            snapshot(call, rewrite.snapshot.as_ref());
            for record in &rewrite.records {
                let parts = record.parts();
                call.arg(record.rev).arg(parts.len());
                parts.for_each(|part| {
                    call.arg(part);
                });
            }
        });
        match answer.await.map_err(RedisCallError::of_writing)? {
            Value::Int(1) => Ok(Appended::Committed),
            conflict => conflicting(conflict),
        }
    }

    pub(super) async fn write_snapshot(&self, space: &SpaceId, snapshot: &Snapshot) -> Result<()> {
        let keys = self.keys.of(space);
        let written = SNAPSHOT.run(&self.bulk, |call| {
            call.arg(3).arg(&keys.head).arg(&keys.log).arg(&keys.snapshot);
            call.arg(snapshot.head.rev).arg(commit_bytes(&snapshot.head.commit)).arg(&snapshot.body);
        });
        written.await.map(|_| ()).map_err(RedisCallError::of_writing)
    }

    pub(super) async fn trim(&self, space: &SpaceId, trim: Trim) -> Result<u64> {
        let keys = self.keys.of(space);
        loop {
            let answer = TRIM.run(&self.bulk, |call| {
                call.arg(3).arg(&keys.head).arg(&keys.log).arg(&keys.snapshot).arg(trim.up_to);
                call.arg(trim.older_than.map(|time| time.as_millisecond().to_string()).unwrap_or_default());
            });
            let [rev, oldest, more] = array(answer.await.map_err(RedisCallError::of_writing)?, "answer")?;
            if matches!(more, Value::Int(1)) {
                continue;
            }
            let oldest = entry_id(&text(oldest)).map(|(rev, _)| rev);
            let head = text(rev).parse::<u64>().map_err(|_| senseless("revision"))?;
            return Ok(oldest.unwrap_or(head + 1));
        }
    }
}

/// The hints to write before an append.
#[derive(Clone, Copy)]
struct Hints {
    listed: bool,
    due: bool,
}

/// Adds the records as stream entries, one for each part of a body.
fn entries(call: &mut Cmd, records: &[Record]) {
    for record in records {
        for (part, body) in record.parts().enumerate() {
            call.arg(format!("{}-{part}", record.rev));
            match part {
                0 => call.arg(commit_bytes(&record.commit)).arg(record.at.as_millisecond()),
                _ => call.arg("").arg(""),
            };
            call.arg(body);
        }
    }
}

/// Adds a snapshot as three arguments, empty if there is none.
fn snapshot(call: &mut Cmd, snapshot: Option<&Snapshot>) {
    match snapshot {
        Some(snapshot) => {
            call.arg(snapshot.head.rev).arg(commit_bytes(&snapshot.head.commit)).arg(&snapshot.body);
        }
        None => {
            call.arg("").arg("").arg("");
        }
    }
}

/// Decodes a conflict.
fn conflicting(answer: Value) -> Result<Appended> {
    let [rev, commit] = array(answer, "answer to a write")?;
    // A script returns revision 0 for a log that was never written.
    match bytes(rev) {
        zero if zero == b"0" => Ok(Appended::Conflict { head: Head::EMPTY }),
        rev => Ok(Appended::Conflict { head: head(Value::BulkString(rev), commit)? }),
    }
}
