//! A progress line on the terminal for long operations.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use corkboard::transfer::{Stage, TransferProgress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::error::CliError;
use crate::output::{Output, bytes, count};

/// Shorter operations show no progress.
const PATIENCE: Duration = Duration::from_secs(1);
const REFRESH: Duration = Duration::from_millis(100);

/// Shows progress on stderr, if that is a terminal and --json is not set. Dropping it clears the line.
pub(crate) struct ProgressLine {
    is_wanted: bool,
    bar: Option<ProgressBar>,
    next: Instant,
}

impl ProgressLine {
    pub(crate) fn new(output: Output) -> Self {
        let is_wanted = !output.is_json() && std::io::stderr().is_terminal();
        Self { is_wanted, bar: None, next: Instant::now() + PATIENCE }
    }

    pub(crate) fn tell(&mut self, progress: &TransferProgress) {
        let stage = match progress.stage {
            Stage::Copying => "copying",
            Stage::Verifying => "verifying",
            Stage::Exporting => "exporting",
            Stage::Importing => "importing",
        };
        let revisions = count(progress.revisions, "revision", "revisions");
        let rest = || format!("logs, {revisions}, {}", bytes(progress.bytes));
        self.show(stage, progress.spaces, progress.total, rest);
    }

    pub(crate) fn tell_count(&mut self, stage: &'static str, done: u64, total: u64, things: &str) {
        self.show(stage, done, total, || things.to_owned());
    }

    fn show(&mut self, stage: &'static str, done: u64, total: u64, rest: impl FnOnce() -> String) {
        if !self.is_wanted || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + REFRESH;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            // The template is constant and valid, so the fallback is never used.
            let style = ProgressStyle::with_template("{prefix} [{bar:20}] {pos} of {len} {msg}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_finish(ProgressFinish::AndClear)
        });
        bar.set_prefix(stage);
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(rest());
    }
}

/// Runs an operation that Ctrl-C may interrupt. `then` says what state remains.
pub(crate) async fn unless_interrupted<T>(
    then: &'static str,
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    tokio::select! {
        done = work => done,
        Ok(()) = tokio::signal::ctrl_c() => Err(CliError::Interrupted { then }),
    }
}
