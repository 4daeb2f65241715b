//! The live view: redraws when the board changes, when a key is pressed, and every second for the ages.

use std::time::{Duration, Instant};

use corkboard::{Board, Error, ErrorKind};

use super::keys::{self, KeyAction};
use super::screen::{EventLine, Screen};
use super::{Feed, WatchEnd, has_ended, is_over};
use crate::error::CliError;
use crate::event_text::event_text;
use crate::output::{one_line, time};

const HISTORY: u64 = 100;
/// The screen is redrawn at most this often.
const FRAME: Duration = Duration::from_millis(100);
/// The screen is redrawn at least this often, because it shows ages.
const AGE: Duration = Duration::from_secs(1);

/// The terminal in raw mode. Dropping this restores it.
struct RawTerminal;

impl RawTerminal {
    fn enter() -> Result<(Self, ratatui::DefaultTerminal), CliError> {
        let terminal = ratatui::try_init().map_err(CliError::Output)?;
        Ok((Self, terminal))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // If the terminal is gone there is nothing to restore.
        let _ = ratatui::try_restore();
    }
}

pub(super) async fn run(board: &Board, from: Option<u64>, until: WatchEnd) -> Result<(), CliError> {
    let view = board.view().await?;
    if until == WatchEnd::Ended && is_over(view.info()?.status) {
        return Ok(());
    }
    let mut feed = match Feed::open(board, from.unwrap_or_else(|| view.rev().saturating_sub(HISTORY))).await {
        // Retention dropped the older revisions: start with the newest one.
        Err(CliError::Library(Error::Store(error)))
            if from.is_none() && Error::from(error.clone()).kind() == ErrorKind::Gone =>
        {
            Feed::open(board, view.rev()).await?
        }
        other => other?,
    };
    let mut end = std::pin::pin!(asked_to_end().map_err(CliError::Output)?);
    let mut screen = Screen::new(view);
    let (_raw, mut terminal) = RawTerminal::enter()?;
    let mut actions = keys::listen();
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut is_stale, mut drawn, mut is_ended) = (false, Instant::now(), false);
    terminal.draw(|frame| screen.draw(frame)).map_err(CliError::Output)?;
    loop {
        tokio::select! {
            revision = feed.next(), if !is_ended => {
                let (rev, _, commit) = revision?;
                let who = one_line(&commit.actor.principal);
                screen.tell(commit.events.iter().map(|event| EventLine {
                    rev,
                    at: time(commit.at),
                    who: who.clone(),
                    words: event_text(event),
                }));
                is_stale = true;
                is_ended = until == WatchEnd::Ended && has_ended(&commit.events);
            }
            action = actions.recv() => match action {
                Some(KeyAction::Leave) | None => return Ok(()),
                Some(action) => {
                    screen.apply(action);
                    terminal.draw(|frame| screen.draw(frame)).map_err(CliError::Output)?;
                }
            },
            _ = frames.tick() => {
                if is_ended {
                    return Ok(());
                }
                if is_stale || drawn.elapsed() >= AGE {
                    match board.view().await {
                        Ok(view) => screen.show(view),
                        // The store may become available again; until then, the user can quit.
                        Err(error) if error.is_retryable() => screen.show_absence(&error),
                        Err(error) => return Err(error.into()),
                    }
                    terminal.draw(|frame| screen.draw(frame)).map_err(CliError::Output)?;
                    (is_stale, drawn) = (false, Instant::now());
                }
            }
            () = &mut end => return Ok(()),
        }
    }
}

/// Resolves when the process gets SIGTERM or SIGHUP, so that the terminal can be restored before the process exits.
#[cfg(unix)]
fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminated, mut hung_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = hung_up.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn asked_to_end() -> std::io::Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
}
