//! Converts the server's answers and errors.

use corkboard_core::{CommitId, Head};
use jiff::Timestamp;
use redis::{ErrorKind, RedisError, ServerError, Value};
use uuid::Uuid;

use super::connection::RedisCallError;
use crate::store::{Record, Result, StoreError};

impl RedisCallError {
    /// The error of a read, which can always be repeated.
    pub(super) fn of_reading(self) -> StoreError {
        match self {
            Self::Cut(why) | Self::Late(why) | Self::NotSent(why) | Self::Denied(why) => StoreError::Unavailable(why),
            Self::Refused(error) => refused(&error),
            Self::Closed => StoreError::Closed,
        }
    }

    /// The error of a write. If it was sent, it may have been done.
    pub(super) fn of_writing(self) -> StoreError {
        match self {
            Self::Cut(why) | Self::Late(why) => StoreError::OutcomeUnknown(why),
            other => other.of_reading(),
        }
    }
}

/// The error for a refusal. Scripts are written so that they are never refused after they have written something.
fn refused(error: &ServerError) -> StoreError {
    let details = error.details().unwrap_or_default();
    let unavailable = |why: &str| StoreError::Unavailable(why.into());
    match error.code() {
        "LOADING" => unavailable("Redis is still reading its data after a start"),
        "READONLY" => unavailable("this Redis is a read-only replica; a failover may be in progress"),
        "OOM" => unavailable("Redis has reached its maxmemory; nothing was written"),
        "MISCONF" => unavailable("Redis refuses writes because it cannot save to its disk; nothing was written"),
        "NOPERM" => StoreError::Unavailable(format!("the Redis user lacks a permission: {details}")),
        "NOAUTH" | "WRONGPASS" => unavailable("Redis no longer accepts the user or the password"),
        "BUSY" => unavailable("Redis is busy with a long-running script"),
        "MASTERDOWN" => unavailable("this Redis is a replica that has lost its master"),
        "DAMAGED" | "WRONGTYPE" => StoreError::Corrupt(details.into()),
        code => StoreError::Unavailable(format!("Redis refused: {code} {details}")),
    }
}

/// The error for a failed connection attempt.
pub(super) fn cannot_connect(error: &RedisError, location: &str) -> RedisCallError {
    match error.code().unwrap_or_default() {
        "NOAUTH" => return RedisCallError::Denied("Redis requires a password; add it to the URL".into()),
        "WRONGPASS" => return RedisCallError::Denied("Redis does not accept the user or the password".into()),
        _ => {}
    }
    if error.kind() == ErrorKind::RESP3NotSupported {
        return RedisCallError::Denied("this server is too old: Corkboard needs Redis 7.0 or newer".into());
    }
    let text = error.to_string();
    if text.contains("switch database") || text.contains("certificate") {
        return RedisCallError::Denied(text);
    }
    RedisCallError::NotSent(format!("cannot connect to {location}: {text}"))
}

pub(super) fn senseless(what: &str) -> StoreError {
    StoreError::Corrupt(format!("Redis returned an invalid {what}"))
}

pub(super) fn array<const N: usize>(value: Value, what: &str) -> Result<[Value; N]> {
    match value {
        Value::Array(values) => values.try_into().map_err(|_| senseless(what)),
        _ => Err(senseless(what)),
    }
}

/// Returns the bytes of a value; empty if it has none.
pub(super) fn bytes(value: Value) -> Vec<u8> {
    match value {
        Value::BulkString(bytes) => bytes,
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.into_bytes(),
        Value::Int(number) => number.to_string().into_bytes(),
        _ => Vec::new(),
    }
}

pub(super) fn text(value: Value) -> String {
    String::from_utf8(bytes(value)).unwrap_or_default()
}

/// Decodes a revision and a commit. Empty if the log was never written.
pub(super) fn head(rev: Value, commit: Value) -> Result<Head> {
    let (rev, commit) = (bytes(rev), bytes(commit));
    if rev.is_empty() && commit.is_empty() {
        return Ok(Head::EMPTY);
    }
    let rev = std::str::from_utf8(&rev).ok().and_then(|rev| rev.parse().ok());
    let commit = Uuid::from_slice(&commit).ok().map(CommitId);
    rev.zip(commit).map(|(rev, commit)| Head { rev, commit }).ok_or_else(|| senseless("head of a log"))
}

pub(super) fn due(value: Value) -> Option<i64> {
    text(value).parse().ok()
}

pub(super) fn time(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// The revision and the part in an entry's ID.
pub(super) fn entry_id(id: &str) -> Option<(u64, u64)> {
    let (rev, part) = id.split_once('-')?;
    Some((rev.parse().ok()?, part.parse().ok()?))
}

/// Decodes the entries of a stream. Further parts are appended to the body they continue.
pub(super) fn records(entries: Value) -> Result<Vec<Record>> {
    let Value::Array(entries) = entries else { return Err(senseless("list of records")) };
    let mut records: Vec<Record> = Vec::with_capacity(entries.len());
    for entry in entries {
        let damaged = || senseless("record");
        let [id, fields] = array(entry, "record")?;
        let (rev, part) = entry_id(&text(id)).ok_or_else(damaged)?;
        let Value::Array(fields) = fields else { return Err(damaged()) };
        let mut values = fields.into_iter().skip(1).step_by(2);
        let mut next = || values.next().ok_or_else(damaged);
        if part > 0 {
            let body = bytes(next()?);
            let record = records.last_mut().filter(|record| record.rev == rev).ok_or_else(damaged)?;
            record.body.extend_from_slice(&body);
            continue;
        }
        let commit = Uuid::from_slice(&bytes(next()?)).map_err(|_| damaged())?;
        let at = time(text(next()?).parse().map_err(|_| damaged())?);
        records.push(Record { rev, commit: CommitId(commit), at, body: bytes(next()?) });
    }
    Ok(records)
}
