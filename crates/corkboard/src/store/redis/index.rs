//! Indexes of spaces and due dates: two sorted sets per kind, whose members are hints.
//!
//! The indexes have other hash tags than the spaces, so no script can update both atomically. Three rules make hints
//! sufficient anyway:
//!
//! - *Nothing is missing.* A hint is written before its append, in the same round trip. The append script demands the
//!   hint for the first append of a life, and when the due date changes. So a space that exists has its hint, and a
//!   head with a due date has a hint at or before that date. A process that stops in between leaves a hint without an
//!   append.
//! - *Nothing wrong is returned.* A reader of an index also reads the heads, and returns only what they confirm.
//! - *Cleaning up removes nothing that is needed.* A hint names the life (the revision at which the space was born) or
//!   the append (revision and commit) that it belongs to. It is removed only once the head shows that this life or
//!   append is over or never happened. Revision numbers are never reused, so the hint will not be needed later, however
//!   late its removal arrives. A hint for a revision after the head may belong to an append in progress, and is kept.
//!
//! If a failover loses writes, it loses heads and hints alike, because they are replicated in order.
//! [`RedisShared::check`] finds hints that are missing nevertheless, and writes them.

use std::collections::BTreeSet;

use corkboard_core::{Head, SpaceId, SpaceKind};
use jiff::Timestamp;
use redis::{Cmd, Value};

use super::answer::{array, bytes, due as due_of, head, senseless, text, time};
use super::connection::RedisCallError;
use super::script::HINT;
use super::{RedisShared, keys};
use crate::store::{ListedSpace, Result};

const PAGE: usize = 256;

impl RedisShared {
    /// Writes the hint that a space exists. Sends the script's source, because a server that knows the append script
    /// may not know this one.
    pub(super) fn hint_listed(&self, space: &SpaceId, born: u64) -> Cmd {
        let mut hint = HINT.whole();
        hint.arg(1).arg(self.keys.spaces(keys::kind_of(space))).arg(0).arg(keys::listed(space, &born.to_string()));
        hint
    }

    /// Writes the hint of a due date.
    pub(super) fn hint_due(&self, space: &SpaceId, at: i64, hint: &str) -> Cmd {
        let mut command = HINT.whole();
        command.arg(1).arg(self.keys.dues(keys::kind_of(space))).arg(at).arg(keys::due(space, hint));
        command
    }

    /// Removes the hint of a life that has ended.
    pub(super) async fn unlist(&self, space: &SpaceId, born: &str) {
        let mut remove = redis::cmd("ZREM");
        remove.arg(self.keys.spaces(keys::kind_of(space))).arg(keys::listed(space, born));
        self.connection_of(space).tell(remove).await;
    }

    /// Removes an obsolete hint of a due date.
    pub(super) async fn forget_due(&self, space: &SpaceId, hint: &str) {
        let mut remove = redis::cmd("ZREM");
        remove.arg(self.keys.dues(keys::kind_of(space))).arg(keys::due(space, hint));
        self.connection_of(space).tell(remove).await;
    }

    pub(super) async fn list(
        &self,
        kind: SpaceKind,
        after: Option<&SpaceId>,
        limit: usize,
    ) -> Result<Vec<ListedSpace>> {
        let index = self.keys.spaces(kind.as_str());
        // After all hints of that space.
        let mut from = after.map_or("-".to_owned(), |after| format!("({after}\u{1}")).into_bytes();
        let mut listed = Vec::new();
        while listed.len() < limit {
            let page = PAGE.min(limit.saturating_add(8));
            let mut query = redis::cmd("ZRANGEBYLEX");
            query.arg(&index).arg(&from).arg("+").arg("LIMIT").arg(0).arg(page);
            let members = self.members(&query).await?;
            let Some((last, _)) = members.last() else { break };
            from = [b"(", last.as_slice()].concat();
            let full = members.len() == page;
            let hints: Vec<_> = members.iter().filter_map(|(member, _)| keys::member(member)).collect();
            let mut stale = Vec::new();
            for ((space, born), row) in hints.iter().zip(self.rows(hints.iter().map(|(space, _)| space)).await?) {
                if row.is_life(born) {
                    let next_due = row.due.map(time);
                    listed.push(ListedSpace { space: space.clone(), head: row.head, next_due, summary: row.summary });
                } else if born.parse().is_ok_and(|born: u64| born < row.born) {
                    stale.push(keys::listed(space, born));
                }
            }
            self.remove(&index, stale).await;
            if !full {
                break;
            }
        }
        listed.truncate(limit);
        Ok(listed)
    }

    pub(super) async fn due(&self, kind: SpaceKind, now: Timestamp, limit: usize) -> Result<Vec<SpaceId>> {
        let index = self.keys.dues(kind.as_str());
        let now = now.as_millisecond();
        let (mut found, mut offset) = (BTreeSet::new(), 0);
        while found.len() < limit {
            let mut query = redis::cmd("ZRANGEBYSCORE");
            query.arg(&index).arg("-inf").arg(now).arg("WITHSCORES").arg("LIMIT").arg(offset).arg(PAGE);
            let members = self.members(&query).await?;
            let hints: Vec<_> = members
                .iter()
                .filter_map(|(member, score)| keys::member(member).map(|(space, hint)| (space, hint, *score)))
                .collect();
            let (mut stale, mut early) = (Vec::new(), Vec::new());
            for ((space, hint, score), row) in hints.iter().zip(self.rows(hints.iter().map(|(space, ..)| space)).await?)
            {
                match row.due.filter(|_| row.hint == *hint) {
                    Some(at) => {
                        if at <= now {
                            found.insert((at, space.clone()));
                        }
                        if at > *score {
                            early.push((at, keys::due(space, hint)));
                        }
                    }
                    // Its append never happened, or is still in progress.
                    None if keys::revision_of(hint).is_some_and(|rev| rev > row.head.rev) => {}
                    None => stale.push(keys::due(space, hint)),
                }
            }
            let moved = stale.len() + early.len();
            let corrected = self.remove(&index, stale).await && self.put_right(&index, early).await;
            if members.len() < PAGE {
                break;
            }
            // Corrected hints no longer match the query, so the next page starts earlier.
            offset += if corrected { PAGE.saturating_sub(moved) } else { PAGE };
        }
        Ok(found.into_iter().take(limit).map(|(_, space)| space).collect())
    }

    /// Returns the members that a query finds, with their scores if it asks for them.
    async fn members(&self, query: &Cmd) -> Result<Vec<(Vec<u8>, i64)>> {
        let found = self.pages.ask_again(query).await.map_err(RedisCallError::of_reading)?;
        let Value::Array(found) = found else { return Err(senseless("part of an index")) };
        let member = |value| match value {
            Value::Array(_) => {
                let [member, score] = array(value, "hint")?;
                let score = if let Value::Double(score) = score { score as i64 } else { 0 };
                Ok((bytes(member), score))
            }
            member => Ok((bytes(member), 0)),
        };
        found.into_iter().map(member).collect()
    }

    /// Reads the data kept beside the logs of spaces, in one round trip.
    pub(super) async fn rows(&self, spaces: impl Iterator<Item = &SpaceId>) -> Result<Vec<Row>> {
        let mut queries = redis::pipe();
        for space in spaces {
            let query = queries.cmd("HMGET").arg(self.keys.head(space));
            query.arg(&["rev", "commit", "born_rev", "due", "hint", "summary"]);
        }
        let rows = self.pages.ask_all_again(&queries).await.map_err(RedisCallError::of_reading)?;
        rows.into_iter().map(Row::new).collect()
    }

    /// Removes obsolete hints. If this fails, the next reader does it.
    async fn remove(&self, index: &str, stale: Vec<String>) -> bool {
        let mut remove = redis::cmd("ZREM");
        remove.arg(index).arg(&stale);
        stale.is_empty() || self.pages.ask(&remove).await.is_ok()
    }

    /// Corrects hints that are too early to the due date of their append, which never changes.
    async fn put_right(&self, index: &str, early: Vec<(i64, String)>) -> bool {
        let mut put = redis::cmd("ZADD");
        put.arg(index).arg("XX");
        for (at, member) in &early {
            put.arg(at).arg(member);
        }
        early.is_empty() || self.pages.ask(&put).await.is_ok()
    }
}

pub(super) struct Row {
    pub(super) head: Head,
    pub(super) born: u64,
    pub(super) due: Option<i64>,
    pub(super) hint: String,
    summary: Vec<u8>,
}

impl Row {
    fn new(value: Value) -> Result<Self> {
        let [rev, commit, born, due, hint, summary] = array(value, "head of a log")?;
        let born = text(born).parse().unwrap_or(0);
        Ok(Self { head: head(rev, commit)?, born, due: due_of(due), hint: text(hint), summary: bytes(summary) })
    }

    /// Whether the space exists, in the life that began at this revision.
    pub(super) fn is_life(&self, born: &str) -> bool {
        self.head.rev > self.born && born.parse() == Ok(self.born)
    }
}
