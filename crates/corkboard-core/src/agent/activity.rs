//! The activity of a memory by day: one readable line per write, and the number of writes.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use imbl::OrdMap;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use serde::{Deserialize, Serialize};

use super::{AgentEvent, AgentState};
use crate::ScopeId;
use crate::space::Stamp;

/// The writes to an agent's memory. The counts of all days are kept. Of the lines, only the newest are kept: between
/// [`Activity::LINES`] and twice that number.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "ActivityImage", into = "ActivityImage")]
pub struct Activity {
    /// The number of writes on the days before the current one.
    past: OrdMap<i64, u64>,
    day: i64,
    writes: u64,
    newer: Lines,
    /// When `newer` is full, it replaces `older`.
    older: Lines,
}

/// The activity of one day.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DayActivity {
    /// The day (UTC).
    pub date: Date,
    /// The number of writes.
    pub writes: u64,
    /// One line per write, oldest first. The oldest lines may be missing.
    pub lines: Vec<ActivityLine>,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ActivityLine {
    pub at: Timestamp,
    /// The author of the write.
    pub by: Arc<str>,
    #[serde(rename = "action")]
    pub kind: ActivityKind,
    /// The object of the write: a key, a note number, or the name of a scope or notebook.
    pub target: Option<Arc<str>>,
}

/// The kind of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = MemoryAction))]
#[serde(rename_all = "snake_case")]
pub enum ActivityKind {
    /// A new entry was written.
    Set,
    /// An entry was replaced.
    Replaced,
    /// Text was appended to an entry.
    Appended,
    /// An entry was removed.
    Removed,
    /// A note was added.
    Noted,
    /// A note was removed.
    NoteRemoved,
    /// A scope's entries and notes were removed.
    Cleared,
    /// A scope was created.
    ScopeCreated,
    /// A scope was merged into its parent.
    ScopeMerged,
    /// A scope was disposed.
    ScopeDisposed,
    /// The memory was restored from a snapshot.
    Restored,
    /// A notebook was updated.
    NotebookUpdated,
    /// A notebook was restored to an earlier revision.
    NotebookRestored,
    /// A notebook was emptied.
    NotebookCleared,
    /// A learning or a snippet was removed from a notebook.
    NotebookItemRemoved,
}

impl fmt::Display for ActivityLine {
    /// Writes the line without its day, which the caller already knows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.kind {
            ActivityKind::Set => "set",
            ActivityKind::Replaced => "replaced",
            ActivityKind::Appended => "appended to",
            ActivityKind::Removed => "removed",
            ActivityKind::Noted => "added note",
            ActivityKind::NoteRemoved => "removed note",
            ActivityKind::Cleared => "cleared",
            ActivityKind::ScopeCreated => "created scope",
            ActivityKind::ScopeMerged => "merged scope",
            ActivityKind::ScopeDisposed => "disposed scope",
            ActivityKind::Restored => "restored a snapshot",
            ActivityKind::NotebookUpdated => "updated notebook",
            ActivityKind::NotebookRestored => "restored notebook",
            ActivityKind::NotebookCleared => "cleared notebook",
            ActivityKind::NotebookItemRemoved => "removed",
        };
        write!(f, "{} {} {verb}", Offset::UTC.to_datetime(self.at).time().strftime("%H:%M:%S"), self.by)?;
        self.target.as_deref().map_or(Ok(()), |target| write!(f, " {target}"))
    }
}

impl Activity {
    /// The minimum number of lines that are kept.
    pub const LINES: usize = 1000;

    /// The activity of a day (UTC).
    pub fn on(&self, date: Date) -> DayActivity {
        let day = day_of(date);
        let writes = if day == self.day { self.writes } else { self.past.get(&day).copied().unwrap_or(0) };
        let is_then = |line: &&ActivityLine| day_at(line.at) == day;
        let lines = self.newest_first().skip_while(|line| day_at(line.at) > day).take_while(is_then);
        let mut lines: Vec<ActivityLine> = lines.cloned().collect();
        lines.reverse();
        DayActivity { date, writes, lines }
    }

    /// The days with activity, oldest first, each with its number of writes.
    pub fn days(&self) -> impl Iterator<Item = (Date, u64)> {
        let today = (self.writes > 0).then_some((self.day, self.writes));
        self.past.iter().map(|(day, writes)| (*day, *writes)).chain(today).map(|(day, writes)| (date_of(day), writes))
    }

    fn is_empty(&self) -> bool {
        self.writes == 0 && self.past.is_empty()
    }

    fn newest_first(&self) -> impl Iterator<Item = &ActivityLine> {
        self.newer.iter().chain(self.older.iter())
    }

    fn add(&mut self, line: ActivityLine) {
        self.count(day_at(line.at), 1);
        self.push(line);
    }

    /// Days never decrease, because time in a space does not run backwards.
    fn count(&mut self, day: i64, writes: u64) {
        if day != self.day {
            if self.writes > 0 {
                self.past.insert(self.day, self.writes);
            }
            (self.day, self.writes) = (day, 0);
        }
        self.writes += writes;
    }

    fn push(&mut self, line: ActivityLine) {
        if self.newer.len == Self::LINES {
            self.older = core::mem::take(&mut self.newer);
        }
        self.newer.push(line);
    }
}

/// Lines, newest first. Adding one costs one node, because all states share the other nodes.
#[derive(Clone, Default)]
struct Lines {
    newest: Option<Arc<LineNode>>,
    len: usize,
}

struct LineNode {
    line: ActivityLine,
    before: Option<Arc<LineNode>>,
}

impl Lines {
    fn push(&mut self, line: ActivityLine) {
        self.newest = Some(Arc::new(LineNode { line, before: self.newest.take() }));
        self.len += 1;
    }

    fn iter(&self) -> impl Iterator<Item = &ActivityLine> {
        core::iter::successors(self.newest.as_deref(), |node| node.before.as_deref()).map(|node| &node.line)
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|line| format!("{line}"))).finish()
    }
}

impl PartialEq for Lines {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Drop for LineNode {
    /// Drops the chain in a loop. Dropping a long chain recursively could overflow the stack.
    fn drop(&mut self) {
        let mut next = self.before.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.before.take();
        }
    }
}

fn day_at(at: Timestamp) -> i64 {
    at.as_second().div_euclid(SECONDS)
}

fn day_of(date: Date) -> i64 {
    Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).map_or(i64::MAX, day_at)
}

fn date_of(day: i64) -> Date {
    let midnight = Timestamp::from_second(day.saturating_mul(SECONDS)).unwrap_or(Timestamp::MAX);
    Offset::UTC.to_datetime(midnight).date()
}

const SECONDS: i64 = 24 * 60 * 60;

/// The stored form.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Activity))]
struct ActivityImage {
    days: BTreeMap<Date, u64>,
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    lines: Vec<StoredLine>,
}

/// The stored form of a line, with its first names.
#[derive(Serialize, Deserialize)]
struct StoredLine {
    at: Timestamp,
    who: Arc<str>,
    deed: ActivityKind,
    #[serde(default)]
    what: Option<Arc<str>>,
}

impl From<ActivityLine> for StoredLine {
    fn from(ActivityLine { at, by, kind, target }: ActivityLine) -> Self {
        Self { at, who: by, deed: kind, what: target }
    }
}

impl From<StoredLine> for ActivityLine {
    fn from(StoredLine { at, who, deed, what }: StoredLine) -> Self {
        Self { at, by: who, kind: deed, target: what }
    }
}

#[cfg(feature = "openapi")]
crate::schema::same_as!(Activity, ActivityImage;);

impl From<Activity> for ActivityImage {
    fn from(activity: Activity) -> Self {
        let mut lines: Vec<StoredLine> = activity.newest_first().cloned().map(Into::into).collect();
        lines.reverse();
        Self { days: activity.days().collect(), lines }
    }
}

impl From<ActivityImage> for Activity {
    fn from(image: ActivityImage) -> Self {
        let mut activity = Self::default();
        image.days.into_iter().for_each(|(date, writes)| activity.count(day_of(date), writes));
        // Restores the split between both lists: `older` was full when it became the older list.
        let older = image.lines.len().saturating_sub(1) / Self::LINES * Self::LINES;
        for (index, line) in image.lines.into_iter().enumerate() {
            if index < older { activity.older.push(line.into()) } else { activity.newer.push(line.into()) }
        }
        activity
    }
}

impl AgentState {
    /// The activity of this memory, by day.
    pub fn activity(&self) -> Option<&Activity> {
        self.activity.as_ref()
    }

    /// A state that records no activity, for memory that is never stored.
    pub fn without_activity() -> Self {
        Self { activity: None, ..Self::default() }
    }

    /// The activity for the image. None if there is none.
    pub(super) fn activity_to_store(&self) -> Option<Activity> {
        self.activity.clone().filter(|activity| !activity.is_empty())
    }

    pub(super) fn note_activity(&mut self, event: &AgentEvent, stamp: Stamp<'_>) {
        if self.activity.is_none() {
            return;
        }
        let Some((kind, target)) = self.activity_of(event) else { return };
        let Some(activity) = &mut self.activity else { return };
        let before = activity.newest_first().next().map(|line| &line.by);
        let by = before.filter(|by| ***by == *stamp.principal).cloned();
        let by = by.unwrap_or_else(|| stamp.principal.into());
        activity.add(ActivityLine { at: stamp.at, by, kind, target });
    }

    fn activity_of(&self, event: &AgentEvent) -> Option<(ActivityKind, Option<Arc<str>>)> {
        let within = |scope: &ScopeId, what: Arc<str>| match self.scopes.get(scope) {
            Some(found) => format!("{what} in scope {}", found.name).into(),
            None => what,
        };
        Some(match event {
            AgentEvent::EntrySet { scope, key, is_update, .. } => {
                (if *is_update { ActivityKind::Replaced } else { ActivityKind::Set }, Some(within(scope, key.shared())))
            }
            AgentEvent::EntryAppended { scope, key, .. } => (ActivityKind::Appended, Some(within(scope, key.shared()))),
            AgentEvent::EntryRemoved { scope, key } => (ActivityKind::Removed, Some(within(scope, key.shared()))),
            AgentEvent::NoteAdded { scope, note } => {
                (ActivityKind::Noted, Some(within(scope, format!("{}", note.id).into())))
            }
            AgentEvent::NoteRemoved { scope, id } => {
                (ActivityKind::NoteRemoved, Some(within(scope, format!("{id}").into())))
            }
            AgentEvent::Cleared { scope, .. } => {
                let name = self.scope(*scope).map(|scope| scope.name.as_str().to_owned());
                (ActivityKind::Cleared, name.map(|name| format!("scope {name}").into()))
            }
            AgentEvent::ScopeCreated { name, .. } => (ActivityKind::ScopeCreated, Some(name.as_str().into())),
            AgentEvent::ScopeMerged { scope, .. } => {
                (ActivityKind::ScopeMerged, self.scope(*scope).map(|scope| scope.name.as_str().into()))
            }
            AgentEvent::ScopeDisposed { name, .. } => (ActivityKind::ScopeDisposed, Some(name.as_str().into())),
            AgentEvent::Restored { .. } => (ActivityKind::Restored, None),
            AgentEvent::NotebookUpdated { notebook, .. } => {
                (ActivityKind::NotebookUpdated, Some(notebook.as_str().into()))
            }
            AgentEvent::NotebookRestored { notebook, content } => {
                (ActivityKind::NotebookRestored, Some(format!("{notebook} to revision {}", content.rev).into()))
            }
            AgentEvent::NotebookCleared { notebook } => (ActivityKind::NotebookCleared, Some(notebook.as_str().into())),
            AgentEvent::NotebookItemRemoved { notebook, id } => {
                (ActivityKind::NotebookItemRemoved, Some(format!("{id} from notebook {notebook}").into()))
            }
            // These are not writes by anybody.
            AgentEvent::EntryExpired { .. } | AgentEvent::ConversationRenewed { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec;

    fn line(second: i64, what: &str) -> ActivityLine {
        let at = Timestamp::from_second(second).unwrap();
        ActivityLine { at, by: "ada".into(), kind: ActivityKind::Set, target: Some(what.into()) }
    }

    #[test]
    fn a_line_reads_as_a_sentence() {
        assert_eq!(line(86_400 + 3_661, "plan").to_string(), "01:01:01 ada set plan");
        let restored = ActivityLine { kind: ActivityKind::Restored, target: None, ..line(0, "") };
        assert_eq!(restored.to_string(), "00:00:00 ada restored a snapshot");
    }

    #[test]
    fn days_are_kept_apart_and_all_of_them_counted() {
        let mut activity = Activity::default();
        for second in [10, 20, 86_400, 3 * 86_400 - 1, 3 * 86_400] {
            activity.add(line(second, "k"));
        }
        let counts: Vec<_> = activity.days().map(|(date, writes)| (date.to_string(), writes)).collect();
        let day = |day: &str, writes| (day.to_string(), writes);
        let expected = vec![day("1970-01-01", 2), day("1970-01-02", 1), day("1970-01-03", 1), day("1970-01-04", 1)];
        assert_eq!(counts, expected);
        let first = activity.on("1970-01-01".parse().unwrap());
        assert_eq!((first.writes, first.lines), (2, vec![line(10, "k"), line(20, "k")]));
        assert_eq!(activity.on("1970-01-05".parse().unwrap()).writes, 0);
        assert_eq!(activity.on(Date::MAX).writes, 0);
        assert_eq!(activity.on(Date::MIN).lines, vec![]);
    }

    #[test]
    fn the_newest_lines_are_kept_and_what_is_stored_is_the_same() {
        let (mut activity, limit) = (Activity::default(), Activity::LINES as i64);
        for second in 0..3 * limit + 5 {
            activity.add(line(second, "k"));
            let kept = activity.newest_first().count();
            assert!(kept >= Activity::LINES.min(second as usize + 1) && kept <= 2 * Activity::LINES, "{kept}");
            if second % 250 == 0 || second > 3 * limit {
                let json = serde_json::to_string(&activity).unwrap();
                assert_eq!(serde_json::from_str::<Activity>(&json).unwrap(), activity, "{second}");
            }
        }
        assert_eq!(activity.newest_first().next(), Some(&line(3 * limit + 4, "k")));
        assert_eq!(activity.on("1970-01-01".parse().unwrap()).writes, 3 * limit as u64 + 5);
    }
}
