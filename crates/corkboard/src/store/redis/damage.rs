//! Checks for damage and missing hints.

use std::collections::BTreeSet;

use corkboard_core::SpaceId;
use redis::Value;

use super::answer::{array, entry_id, senseless, text};
use super::connection::RedisCallError;
use super::index::Row;
use super::script::CHECK;
use super::{RedisShared, keys};
use crate::store::Result;

/// How often to check a space that seems damaged: other clients may write, trim and delete during a check.
const LOOKS: usize = 3;

/// What a check found of a space.
#[derive(Default)]
struct CheckedSpace {
    rev: Option<u64>,
    born: u64,
    snapshot: Option<u64>,
    /// The first and the last revision in the log.
    log: Option<(u64, u64)>,
    problems: Vec<String>,
}

impl RedisShared {
    pub(super) async fn check(&self) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        for space in self.spaces().await? {
            let mut found = Vec::new();
            for _ in 0..LOOKS {
                found = self.check_log(&space).await?;
                if found.is_empty() {
                    break;
                }
            }
            found.extend(self.check_hints(&space).await?);
            problems.extend(found.into_iter().map(|problem| format!("space {space}: {problem}")));
        }
        Ok(problems)
    }

    /// All spaces that have any key.
    async fn spaces(&self) -> Result<BTreeSet<SpaceId>> {
        let mut spaces = BTreeSet::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut query = redis::cmd("SCAN");
            query.arg(&cursor).arg("MATCH").arg(self.keys.all("*")).arg("COUNT").arg(1000);
            let answer = self.pages.ask_again(&query).await.map_err(RedisCallError::of_reading)?;
            let [next, found] = array(answer, "list of keys")?;
            let Value::Array(found) = found else { return Err(senseless("list of keys")) };
            for key in found.into_iter().map(text) {
                if let Some((space, "head" | "log" | "snapshot")) = self.keys.space_of(&key) {
                    spaces.insert(space);
                }
            }
            cursor = text(next);
            if cursor == "0" {
                return Ok(spaces);
            }
        }
    }

    async fn check_log(&self, space: &SpaceId) -> Result<Vec<String>> {
        let mut seen = self.see(space).await?;
        let Some(rev) = seen.rev else {
            return Ok(vec!["it has a log or a snapshot, but no head".into()]);
        };
        let mut problems = std::mem::take(&mut seen.problems);
        match seen.log {
            Some((first, last)) => {
                let begins = first == seen.born + 1 || seen.snapshot.is_some_and(|snapshot| first <= snapshot + 1);
                if first <= seen.born || !begins {
                    problems.push(format!("its log begins at {first}, and no snapshot covers the revisions before"));
                }
                if last != rev {
                    problems.push(format!("its log ends at {last}, but its head is at {rev}"));
                }
            }
            None if rev != seen.born && seen.snapshot != Some(rev) => {
                problems.push(format!("its head is at {rev}, but there is no log"));
            }
            None => {}
        }
        if seen.snapshot.is_some_and(|snapshot| snapshot > rev || snapshot <= seen.born) {
            problems.push("its snapshot is not from the current life of the space".into());
        }
        Ok(problems)
    }

    /// Writes missing hints, and reports them, because lists did not show the space.
    async fn check_hints(&self, space: &SpaceId) -> Result<Vec<String>> {
        let Some(before) = self.row(space).await? else { return Ok(Vec::new()) };
        let kind = keys::kind_of(space);
        let mut queries = redis::pipe();
        queries.cmd("ZSCORE").arg(self.keys.spaces(kind)).arg(keys::listed(space, &before.born.to_string()));
        queries.cmd("ZSCORE").arg(self.keys.dues(kind)).arg(keys::due(space, &before.hint));
        let mut scores = self.pages.ask_all_again(&queries).await.map_err(RedisCallError::of_reading)?.into_iter();
        let (listed, hinted) = (scores.next().unwrap_or_default(), scores.next().unwrap_or_default());
        // A hint is removed after the thing it belongs to. If that still exists now, the hint was really missing.
        let Some(after) = self.row(space).await? else { return Ok(Vec::new()) };
        let mut problems = Vec::new();
        let mut repairs = redis::pipe();
        if listed == Value::Nil && after.born == before.born {
            repairs.add_command(self.hint_listed(space, after.born));
            problems.push("it was missing in the list of spaces; this was repaired".into());
        }
        let in_time = |at| matches!(hinted, Value::Double(score) if score as i64 <= at);
        if let Some(at) = after.due.filter(|at| after.hint == before.hint && !in_time(*at)) {
            repairs.add_command(self.hint_due(space, at, &after.hint));
            problems.push("it was missing in the list of due dates; this was repaired".into());
        }
        self.pages.ask_all_again(&repairs).await.map_err(RedisCallError::of_reading)?;
        Ok(problems)
    }

    /// Reads the data kept beside the log of an existing space.
    async fn row(&self, space: &SpaceId) -> Result<Option<Row>> {
        let row = self.rows(std::iter::once(space)).await?.pop();
        Ok(row.filter(|row| row.head.rev > row.born))
    }

    async fn see(&self, space: &SpaceId) -> Result<CheckedSpace> {
        let keys = self.keys.of(space);
        let mut seen = CheckedSpace::default();
        let mut last: Option<(u64, u64)> = None;
        loop {
            let from = last.map_or("-".to_owned(), |(rev, part)| format!("({rev}-{part}"));
            let answer = CHECK.run_again(&self.pages, |call| {
                call.arg(3).arg(&keys.head).arg(&keys.log).arg(&keys.snapshot).arg(&from);
            });
            let answer = answer.await.map_err(RedisCallError::of_reading)?;
            let [rev, born, snapshot, more, ids] = array(answer, "part of a check")?;
            seen.rev = text(rev).parse().ok();
            seen.born = text(born).parse().unwrap_or(0);
            seen.snapshot = text(snapshot).parse().ok();
            let Value::Array(ids) = ids else { return Err(senseless("list of records")) };
            for id in ids.into_iter().map(text) {
                let Some((rev, part)) = entry_id(&id) else { return Err(senseless("record")) };
                let follows = match last {
                    Some((before, _)) if part == 0 => rev == before + 1,
                    Some((before, part_before)) => rev == before && part == part_before + 1,
                    None => part == 0,
                };
                if !follows {
                    seen.problems.push(format!("entry {id} of its log does not follow the entry before it"));
                }
                last = Some((rev, part));
                let first = seen.log.map_or(rev, |(first, _)| first);
                seen.log = Some((first, rev));
            }
            if !matches!(more, Value::Int(1)) {
                return Ok(seen);
            }
        }
    }
}
