//! References to a part of a board's log, as used by contributions: `board/ID#6..12@dev`.

use std::fmt;
use std::str::FromStr;

use corkboard_core::board::{BoardEvent, BoardReply, BoardState, ReviewVerdict};
use corkboard_core::{Commit, SpaceKind};
use serde::{Serialize, Serializer};

use crate::store::{Cursor, StoreError};
use crate::{Corkboard, Error, Result, RevisionDocument};

/// Revisions of a board, of all authors or of one: `board/ID#6..12@dev`, `board/ID#6..12`, `board/ID#6`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRef {
    /// The board's ID.
    pub board: String,
    /// The first revision.
    pub from: u64,
    /// The last revision.
    pub to: u64,
    /// Only the revisions of this author.
    pub author: Option<String>,
}

/// A text that is not a reference to a part of a board's log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid log reference {text:?}: expected a form like board/ID#6..12@agent")]
pub struct NoLogRef {
    text: String,
}

/// A page of the revisions that a reference names.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPage {
    /// The revisions, oldest first.
    pub items: Vec<RevisionDocument>,
    /// The reference to the rest; null on the last page.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub next: Option<LogRef>,
    /// The newest revision of the board.
    pub rev: u64,
}

impl Corkboard {
    /// The revisions that a reference names, oldest first. Reads at most `limit` revisions; [`LogPage::next`] is the
    /// reference to the rest.
    ///
    /// The revisions of an author are those that the author wrote, and the reviews that completed the author's tasks.
    pub async fn revisions(&self, reference: &LogRef, limit: usize) -> Result<LogPage> {
        let LogRef { board, from, to, author } = reference;
        let view = self.board(board)?.view().await?;
        if *to > view.rev() {
            return Err(StoreError::Future { asked: *to, head: view.rev() }.into());
        }
        let log = self.log(SpaceKind::Board, board)?;
        let before = Cursor { rev: from.saturating_sub(1), commit: None };
        let page = log.after(before, limit.max(1)).await?;
        let last = page.records.last().map_or(*to, |last| last.rev);
        let mut revisions = Vec::new();
        for record in page.records.into_iter().take_while(|record| record.rev <= *to) {
            let commit = Commit::decode(&record.body).map_err(|error| Error::format(log.id(), error))?;
            if author.as_deref().is_none_or(|author| is_by(&commit, author, view.state())) {
                revisions.push(RevisionDocument::of_commit::<BoardState>(
                    log.id(),
                    record.rev,
                    record.commit,
                    &commit,
                )?);
            }
        }
        let next = (last < *to).then(|| LogRef { from: last + 1, ..reference.clone() });
        Ok(LogPage { items: revisions, next, rev: view.rev() })
    }
}

/// Whether an author wrote a revision, or a review in it completed the author's task.
fn is_by(commit: &Commit<BoardEvent, BoardReply>, author: &str, state: &BoardState) -> bool {
    if commit.actor.principal == author {
        return true;
    }
    commit.events.iter().any(|event| match event {
        BoardEvent::TaskReviewed { task, verdict: ReviewVerdict::Approved, .. } => {
            let worker = state.task(*task).and_then(|task| task.assigned_to.as_ref());
            worker.is_some_and(|worker| worker.as_str() == author)
        }
        _ => false,
    })
}

impl fmt::Display for LogRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { board, from, to, author } = self;
        write!(f, "board/{board}#{from}..{to}")?;
        author.as_ref().map_or(Ok(()), |author| write!(f, "@{author}"))
    }
}

impl Serialize for LogRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for LogRef {
    type Err = NoLogRef;

    fn from_str(text: &str) -> Result<Self, NoLogRef> {
        // IDs may contain `#` too: the range begins after the first `#` that a range follows.
        let parsed = text.strip_prefix("board/").and_then(|rest| {
            rest.match_indices('#').find_map(|(at, _)| {
                let board = rest.get(..at).filter(|board| !board.is_empty())?;
                let (from, to, author) = range(rest.get(at + 1..)?)?;
                Some(Self { board: board.into(), from, to, author: author.map(Into::into) })
            })
        });
        parsed.ok_or_else(|| NoLogRef { text: text.into() })
    }
}

/// Parses `6..12@dev`, `6..12`, `6@dev` or `6`. Revisions start at 1, and the first is not after the last.
fn range(text: &str) -> Option<(u64, u64, Option<&str>)> {
    let (revisions, author) = match text.split_once('@') {
        Some((revisions, author)) => (revisions, Some(author)),
        None => (text, None),
    };
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let (from, to) = match revisions.split_once("..") {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (number(revisions)?, number(revisions)?),
    };
    (1 <= from && from <= to && author != Some("")).then_some((from, to, author))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn parses_a_board_revisions_and_an_optional_author() {
        for (text, board, from, to, author) in [
            ("board/login-1a2b#6..12@dev", "login-1a2b", 6, 12, Some("dev")),
            ("board/login#6..12", "login", 6, 12, None),
            ("board/login#6@a@b#7", "login", 6, 6, Some("a@b#7")),
            ("board/a/b#1#6", "a/b#1", 6, 6, None),
        ] {
            let parsed: LogRef = text.parse().unwrap();
            let expected = LogRef { board: board.into(), from, to, author: author.map(Into::into) };
            assert_eq!(parsed, expected, "{text}");
            assert_eq!(parsed.to_string().parse::<LogRef>().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn an_invalid_reference_gets_an_example() {
        for text in ["", "login#1", "board/#1", "board/login", "board/login#", "board/login#0", "board/login#7..6"]
            .into_iter()
            .chain([
                "board/login#+6",
                "board/login#6..",
                "board/login#6@",
                "agent/ada#1",
                "board/x#99999999999999999999",
            ])
        {
            let error = text.parse::<LogRef>().unwrap_err().to_string();
            let expected = format!("invalid log reference {text:?}: expected a form like board/ID#6..12@agent");
            assert_eq!(error, expected);
        }
    }
}
