//! A board's events as lines: for pipes, logs and scripts.

use corkboard::boards::BoardState;
use corkboard::{Board, RevisionDocument, SpaceId};

use super::{Feed, LinesOutcome, WatchEnd, has_ended, is_over};
use crate::error::CliError;
use crate::event_text::event_text;
use crate::output::{Output, one_line, time};

pub(super) async fn run(
    board: &Board,
    output: Output,
    from: Option<u64>,
    until: WatchEnd,
) -> Result<LinesOutcome, CliError> {
    let view = board.view().await?;
    let from = from.unwrap_or_else(|| view.rev());
    if until == WatchEnd::Ended && is_over(view.info()?.status) && from == view.rev() {
        return Ok(if output.is_json() { LinesOutcome::Everything } else { LinesOutcome::Nothing });
    }
    // An ended board can have been archived since; print those events too.
    let last = is_over(view.info()?.status).then(|| view.rev());
    let mut feed = Feed::open(board, from).await?;
    loop {
        let (rev, commit_id, commit) = feed.next().await?;
        let (at, actor, events) = (commit.at, &commit.actor, commit.events.as_slice());
        if output.is_json() {
            let space = SpaceId::board(board.id());
            output.document(&RevisionDocument::of_commit::<BoardState>(&space, rev, commit_id, &commit)?)?;
        } else {
            let who = one_line(&actor.principal);
            let lines = events.iter().map(|event| format!("{rev:>6}  {}  {who}  {}", time(at), event_text(event)));
            let lines: Vec<String> = lines.collect();
            if !lines.is_empty() {
                output.line(&lines.join("\n"))?;
            }
        }
        let is_last = last.map_or_else(|| has_ended(events), |last| rev >= last);
        if until == WatchEnd::Ended && is_last {
            return Ok(LinesOutcome::Everything);
        }
    }
}
