//! `cork board watch`: a live view on a terminal, lines anywhere else.

mod keys;
mod lines;
mod live;
mod palette;
mod screen;
mod tree;

use std::io::IsTerminal;

use clap::Args;
use corkboard::boards::{BoardEvent, BoardStatus};
use corkboard::{Board, BoardWatch, Commit, Error, Watched};

use crate::board_args::BoardArgument;
use crate::board_view::progress;
use crate::command_session::Session;
use crate::error::CliError;

/// Follow all changes on a board
///
/// A terminal shows a live view: tasks with dependencies, who works on what, and the last events; q quits. Otherwise, each
/// event is a line with revision, time, author and change; with --json, each revision is an object. No revision is skipped.
/// Ends when the board ends.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board watch
  cork board watch --from-rev 0 --plain     # all events, one per line
  cork board watch --forever --json > board.jsonl")]
pub(crate) struct Watch {
    #[command(flatten)]
    board: BoardArgument,

    /// Start after this revision; 0 is the beginning [default: new revisions only]
    #[arg(long, alias = "from", value_name = "REVISION")]
    from_rev: Option<u64>,

    /// Print lines even on a terminal
    #[arg(long)]
    plain: bool,

    /// Continue after the board has ended
    #[arg(long)]
    forever: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WatchEnd {
    Ended,
    Forever,
}

impl Watch {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let board = self.board.open(session)?;
        let until = if self.forever { WatchEnd::Forever } else { WatchEnd::Ended };
        // Keys are read from stdin; a dumb terminal has no cursor to move.
        let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let is_live = std::io::stdout().is_terminal() && std::io::stdin().is_terminal() && !is_dumb;
        if is_live && !self.plain && !session.output.is_json() {
            live::run(&board, self.from_rev, until).await?;
        } else if lines::run(&board, session.output, self.from_rev, until).await? == LinesOutcome::Everything {
            return Ok(());
        }
        // The live view leaves nothing on the terminal, and `lines` prints nothing for an ended board.
        let view = board.view().await?;
        let info = view.info()?;
        session.output.line(&match info.outcome {
            Some(outcome) => format!("the board {}", outcome.in_words(info.status)),
            None => progress(view.state()),
        })
    }
}

/// Whether the lines told how the board ended.
#[derive(PartialEq, Eq)]
enum LinesOutcome {
    Everything,
    Nothing,
}

type Revision = (u64, corkboard::CommitId, Commit<BoardEvent, corkboard::boards::BoardReply>);

/// Every revision, in order. If this reader lags, the watch resumes where it stopped.
struct Feed<'a> {
    board: &'a Board,
    watch: BoardWatch,
}

impl<'a> Feed<'a> {
    async fn open(board: &'a Board, from: u64) -> Result<Self, CliError> {
        Ok(Self { board, watch: board.watch(from).await? })
    }

    /// Dropping the future loses nothing.
    async fn next(&mut self) -> Result<Revision, CliError> {
        loop {
            match self.watch.next().await {
                Ok(Watched::Revision { rev, commit_id, commit }) => return Ok((rev, commit_id, commit)),
                Ok(Watched::Bookmark { .. }) => {}
                Err(Error::Lagged { resume_from }) => self.watch = self.board.watch(resume_from).await?,
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn has_ended(events: &[BoardEvent]) -> bool {
    events.iter().any(|event| matches!(event, BoardEvent::Ended { .. }))
}

fn is_over(status: BoardStatus) -> bool {
    status != BoardStatus::Active
}
