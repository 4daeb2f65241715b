//! Items of a board by ID, and the differences between two boards.

use core::fmt;
use core::str::FromStr;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ArtifactId, BoardState, ChoiceId, DecisionId, DiscoveryId, ParseIdError, TaskId};

/// The ID of a task or record on a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoardItem {
    /// `T-7`.
    Task(TaskId),
    /// `D-3`.
    Decision(DecisionId),
    /// `F-2`.
    Discovery(DiscoveryId),
    /// `A-4`.
    Artifact(ArtifactId),
    /// `C-1`.
    Choice(ChoiceId),
}

impl BoardItem {
    /// Its kind in one word.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Task(_) => "task",
            Self::Decision(_) => "decision",
            Self::Discovery(_) => "discovery",
            Self::Artifact(_) => "artifact",
            Self::Choice(_) => "choice",
        }
    }
}

impl fmt::Display for BoardItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(id) => id.fmt(f),
            Self::Decision(id) => id.fmt(f),
            Self::Discovery(id) => id.fmt(f),
            Self::Artifact(id) => id.fmt(f),
            Self::Choice(id) => id.fmt(f),
        }
    }
}

impl FromStr for BoardItem {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let others = || text.parse().map(Self::Discovery).or_else(|_| text.parse().map(Self::Artifact));
        let others = || others().or_else(|_: ParseIdError| text.parse().map(Self::Choice));
        let found = text.parse().map(Self::Decision).or_else(|_: ParseIdError| others());
        // Anything else was most likely meant as a task ID.
        found.or_else(|_| text.parse().map(Self::Task))
    }
}

impl<'de> Deserialize<'de> for BoardItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        alloc::string::String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Serialize for BoardItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl BoardState {
    /// Calls `each` once with every item that differs between two boards. If one board came from the other, the time is
    /// proportional to the number of differences.
    pub fn each_difference(&self, other: &Self, mut each: impl FnMut(BoardItem)) {
        differences(&self.nodes, &other.nodes, |id| each(BoardItem::Task(id)));
        differences(&self.decisions, &other.decisions, |id| each(BoardItem::Decision(id)));
        differences(&self.discoveries, &other.discoveries, |id| each(BoardItem::Discovery(id)));
        differences(&self.artifacts, &other.artifacts, |id| each(BoardItem::Artifact(id)));
        differences(&self.choices, &other.choices, |id| each(BoardItem::Choice(id)));
    }
}

/// Parts that both maps share are skipped.
fn differences<K: Ord + Copy, V: PartialEq>(one: &OrdMap<K, V>, other: &OrdMap<K, V>, mut each: impl FnMut(K)) {
    for difference in one.diff(other) {
        match difference {
            DiffItem::Add(id, _) | DiffItem::Remove(id, _) | DiffItem::Update { new: (id, _), .. } => each(*id),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn ids_parse_and_print_alike() {
        for name in ["T-7", "D-3", "F-2", "A-4", "C-1"] {
            assert_eq!(name.parse::<BoardItem>().unwrap().to_string(), name);
        }
        assert_eq!("f-2".parse(), Ok(BoardItem::Discovery(DiscoveryId(2))));
        assert!("X-1".parse::<BoardItem>().unwrap_err().to_string().contains("invalid task ID"));
    }
}
